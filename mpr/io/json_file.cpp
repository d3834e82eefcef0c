// SPDX-License-Identifier: MIT
/*
    json_file.cpp - JSON in files. See mpr/json.h.

    A file is written beside the one that it replaces: to the disk first, then under its name, then the folder to the
    disk.
*/
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpr/app.h"
#include "mpr/base/replacing.hpp"
#include "mpr/base/retain.hpp"
#include "mpr/format.h"
#include "mpr/json.h"
#include "mpr/log.h"
#include "mpr/path.h"
#include "mpr/string.h"

namespace {

constexpr std::size_t longestPath = 4096;

bool writeAll(int file, const char* text, std::size_t length) {
    while (length > 0) {
        const ssize_t done = write(file, text, length);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return false;
        }
        text += done;
        length -= static_cast<std::size_t>(done);
    }
    return fsync(file) == 0;
}

/** Make a new file beside another. @param name Gets its name. @return Its descriptor, or -1. */
int makeBeside(const char* path, mode_t mode, char (&name)[longestPath + 16]) {
    constexpr int tries = 100;
    constexpr std::size_t longestOwn = NAME_MAX - 10; // what follows has ten bytes
    const char* const slash = std::strrchr(path, '/');
    const auto folder = static_cast<std::size_t>(slash ? slash + 1 - path : 0);
    const auto kept = static_cast<int>(folder + std::min(std::strlen(path + folder), longestOwn));
    int file = -1;
    errno = EEXIST;
    for (int i = 0; i < tries && file < 0 && (errno == EEXIST || errno == EINTR); ++i) {
        mprSprintf(name, sizeof(name), "%.*s.%08x~", kept, path, static_cast<unsigned>(mprRandom()));
        file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }
    return file;
}

/** Have the system write a folder's entries to the disk. Where a file system cannot, it does so in its own time. */
void syncFolderOf(char* path) {
    char* slash = std::strrchr(path, '/');
    if (slash) {
        slash[slash == path ? 1 : 0] = '\0';
    }
    const int folder = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
}

/** Write a text in place of a file of the disk. @param old What is there; nullptr: nothing. */
int replaceFile(const char* path, const struct stat* old, const char* text) {
    char name[longestPath + 16];
    // Nobody may open it before it has the permissions of the old one.
    const int file = makeBeside(path, old ? 0600 : 0644, name);
    if (file < 0) {
        return MPR_ERR_CANT_CREATE;
    }
    const bool written = (!old || mpr::base::takeOver(file, *old)) && writeAll(file, text, std::strlen(text));
    if ((close(file) != 0) | !written || rename(name, path) != 0) {
        const int error = errno;
        unlink(name);
        errno = error;
        return MPR_ERR_CANT_WRITE;
    }
    syncFolderOf(name);
    return 0;
}

/** Put what a symbolic link says in its place. @return false when that is too long, or it cannot be read. */
bool readLink(char (&path)[longestPath]) {
    char target[longestPath];
    const ssize length = readlink(path, target, sizeof(target));
    const char* slash = std::strrchr(path, '/');
    const std::size_t folder = length > 0 && target[0] != '/' && slash ? static_cast<std::size_t>(slash + 1 - path) : 0;
    if (length <= 0 || folder + static_cast<std::size_t>(length) >= longestPath) {
        errno = length < 0 ? errno : ENAMETOOLONG;
        return false;
    }
    std::memcpy(path + folder, target, static_cast<std::size_t>(length));
    path[folder + static_cast<std::size_t>(length)] = '\0';
    return true;
}

/** Replace a path by what it leads to through symbolic links, whether or not that is there: they stay. @return false: nowhere. */
bool follow(char (&path)[longestPath]) {
    constexpr int most = 40; // as Linux
    struct stat info;
    for (int links = 0; lstat(path, &info) == 0 && S_ISLNK(info.st_mode); ++links) {
        if (links == most) {
            errno = ELOOP;
            return false;
        }
        if (!readLink(path)) {
            return false;
        }
    }
    return true;
}

int writeText(const char* path, const char* text) {
    char real[longestPath];
    std::memcpy(real, path, std::strlen(path) + 1);
    if (!follow(real)) {
        return MPR_ERR_CANT_CREATE;
    }
    struct stat info;
    const bool exists = stat(real, &info) == 0;
    if (!exists && errno != ENOENT) { // it may be there, with owner and permissions
        return MPR_ERR_CANT_CREATE;
    }
    if (exists && !S_ISREG(info.st_mode)) {
        return mprWritePathContents(path, text, -1, 0) < 0 ? MPR_ERR_CANT_WRITE : 0;
    }
    return replaceFile(real, exists ? &info : nullptr, text);
}
} // namespace

MprJson* mprLoadJson(cchar* path) {
    ssize length = 0;
    char* const name = sclone(path); // reading may yield, which ends an unrooted path
    const mpr::base::Hold held(name);
    const char* text = mprReadPathContents(path, &length);
    const char* message = nullptr;
    MprJson* tree = text ? mprParseJsonText(text, length, nullptr, &message) : nullptr;
    if (!tree) {
        mprError("mprLoadJson: \"%s\": %s", name, message ? message : text ? "memory is short" : "cannot be read");
    }
    return tree;
}

int mprSaveJson(MprJson* obj, cchar* path, int flags) {
    const ssize length = slen(path);
    if (!obj || length == 0 || length >= static_cast<ssize>(longestPath)) {
        return MPR_ERR_BAD_ARGS;
    }
    char* text = mprJsonToString(obj, flags);
    if (text && (flags & MPR_JSON_PRETTY)) {
        text = srejoin(text, "\n", nullptr);
    }
    return text ? writeText(path, text) : MPR_ERR_MEMORY;
}
