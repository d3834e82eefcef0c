// SPDX-License-Identifier: MIT
/*
    mime_file.cpp - MIME types in files. See mpr/mime.h.
 */
#include <cerrno>
#include <cstring>

#include "mpr/base/mime.hpp"
#include "mpr/base/retain.hpp"
#include "mpr/gc/guard.hpp"
#include "mpr/log.h"
#include "mpr/memory.h"
#include "mpr/mime.h"
#include "mpr/path.h"
#include "mpr/string.h"

MprHash* mprCreateMimeTypes(cchar* path) {
    if (!mpr::gc::admitRunning("mprCreateMimeTypes")) {
        return nullptr;
    }
    if (!path) {
        return mpr::base::makeMimeTypes();
    }
    char* const name = sclone(path); // reading may yield, which ends an unrooted path
    const mpr::base::Hold held(name);
    errno = 0;
    const char* text = mprReadPathContents(path, nullptr);
    MprHash* table = nullptr;
    if (!text) {
        mprError("mprCreateMimeTypes: \"%s\": %s", name, errno ? std::strerror(errno) : "cannot be read");
    } else if ((table = mpr::base::makeMimeTypes()) != nullptr && !mpr::base::addMimeTypes(table, text, name)) {
        table = nullptr;
    }
    return table;
}
