// SPDX-License-Identifier: MIT
/*
    string_template.cpp - Values put into a text. See stemplate in mpr/string.h.
 */
#include <cstring>

#include "mpr/base/sink.hpp"
#include "mpr/hash.h"
#include "mpr/memory.h"
#include "mpr/string.h"

using namespace mpr::base;

namespace {

/** The value of a key that is part of a text. */
cchar* valueOf(MprHash* tokens, cchar* key, cchar* end) {
    char* copy = snclone(key, end - key);
    auto* value = copy ? static_cast<cchar*>(mprLookupKey(tokens, copy)) : nullptr;
    mprFree(copy);
    return value;
}
} // namespace

char* stemplate(cchar* str, struct MprHash* tokens) {
    if (!str || !tokens) {
        return str ? sclone(str) : nullptr;
    }
    StringSink out;
    for (cchar* start; (start = std::strstr(str, "${")) != nullptr;) {
        cchar* key = start + 2;
        cchar* end = std::strchr(key, '}');
        cchar* value = end ? valueOf(tokens, key, end) : nullptr;
        // What is no token stays, and another may begin inside.
        out.put(str, static_cast<std::size_t>((value ? start : key) - str));
        if (value) {
            out.put(value, std::strlen(value));
        }
        str = value ? end + 1 : key;
    }
    out.put(str, std::strlen(str));
    return out.finish();
}
