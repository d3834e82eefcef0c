// SPDX-License-Identifier: MIT
/*
    document.cpp - Documents. See document.hpp.
 */
#include "mpr/http/document.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "mpr/file.h"
#include "mpr/http/condition.hpp"
#include "mpr/http/grammar.hpp"
#include "mpr/http/route.hpp"
#include "mpr/io/plain_file.hpp"
#include "mpr/io/rom.hpp"
#include "mpr/log.h"
#include "mpr/string.h"

namespace mpr::http {

namespace {

/** Whether files of the program are below a path. */
bool isRomFolder(std::string_view path) {
    for (const MprRomInode* inode = mprGetRomFiles(); inode && inode->path; ++inode) {
        if (begins(inode->path, path) && inode->path[path.size()] == '/') {
            return true;
        }
    }
    return false;
}

/** The tag of a file of the program: of its bytes, for it has no time of change, and another program has others. */
char* tagOf(const MprRomInode& inode) {
    const uLong sum = crc32(0, inode.data, static_cast<uInt>(inode.size));
    char text[etagSize];
    formatFileTag(text, 0, inode.size, static_cast<long long>(sum));
    return sclone(text);
}

/** The tag of a file as it is. @return nullptr when memory is short. */
char* tagOf(const struct stat& is) {
    constexpr long long second = 1'000'000'000;
    char text[etagSize];
    const auto when = static_cast<unsigned long long>(is.st_mtim.tv_sec) * second +
                      static_cast<unsigned long long>(is.st_mtim.tv_nsec);
    formatFileTag(text, static_cast<long long>(is.st_ino), static_cast<long long>(is.st_size),
                  static_cast<long long>(when));
    return sclone(text);
}

/** Whether a path is in a folder. Neither has links. */
bool isBelow(std::string_view path, std::string_view folder) {
    return folder == "/" || (begins(path, folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

/** Whether a path without links is one of a route's documents. Their folder may be a link, and be set to another. */
bool isOfRoute(HttpRoute& route, const char* path) {
    const char* known = __atomic_load_n(&route.realDocuments, __ATOMIC_ACQUIRE); // other lanes look, too
    if (known && isBelow(path, known)) {
        return true;
    }
    char* folder = route.documents ? realpath(route.documents, nullptr) : nullptr;
    char* found = folder ? sclone(folder) : nullptr;
    std::free(folder);
    setRef(&route, route.realDocuments, found);
    return found && isBelow(path, found);
}

/** Whether a route may send an open file. */
bool maySend(HttpRoute* route, int fd, const char* filename) {
    if (!route || route->follows) {
        return true;
    }
    char buffer[PATH_MAX];
    const char* path = realPathOf(fd, filename, buffer);
    if (path && isOfRoute(*route, path)) {
        return true;
    }
    mprLog("error http", 0, "%s is not sent: it leads to %s, out of the documents in %s", filename,
           path ? path : "another file", route->documents ? route->documents : "no folder");
    errno = ENOENT;
    return false;
}
} // namespace

bool isHidden(const char* path) {
    std::string_view rest = viewOf(path);
    while (!rest.empty()) {
        const std::string_view part = take(rest, '/');
        if (begins(part, ".") && part != ".well-known") {
            return true;
        }
    }
    return false;
}

char* documentPath(const char* folder, const char* path) {
    if (!folder || !path || isHidden(path)) { // which .. is, too
        return nullptr;
    }
    return mprJoinPath(folder, path + (*path == '/'));
}

bool describe(const char* filename, MprPath& info) {
    const MprRomInode* inode = io::findRomFile(filename);
    if (!inode && !isRomFolder(filename)) {
        return mprGetPathInfo(filename, &info) == 0;
    }
    info = {};
    info.exists = info.valid = info.checked = true;
    info.isReg = inode != nullptr;
    info.isDir = !inode;
    info.size = inode ? inode->size : 0;
    return true;
}

const char* realPathOf(int fd, const char* filename, char (&path)[PATH_MAX], const char* opened) {
    char link[64];
    std::snprintf(link, sizeof(link), "%s/%d", opened, fd);
    const ssize length = readlink(link, path, sizeof(path) - 1);
    if (length > 0) {
        path[length] = '\0';
        return path;
    }
    struct stat is, named;
    const bool same = realpath(filename, path) && fstat(fd, &is) == 0 && stat(path, &named) == 0 &&
                      is.st_dev == named.st_dev && is.st_ino == named.st_ino;
    return same ? path : nullptr;
}

MprFile* openDocument(HttpRoute* route, const char* filename, MprPath& info, char*& etag) {
    if (const MprRomInode* inode = io::findRomFile(filename)) {
        describe(filename, info);
        etag = tagOf(*inode);
        return mprOpenFile(filename, O_RDONLY, 0);
    }
    struct stat is;
    bool straight = false; // then it is where its path says, below the documents
    MprFile* file = io::openPlainFile(filename, is, straight);
    if (file && !straight && !maySend(route, mprGetFileFd(file), filename)) {
        const int error = errno;
        mprCloseFile(file);
        info.exists = true;
        errno = error;
        return nullptr;
    }
    if (file) {
        info.exists = info.valid = info.checked = info.isReg = true;
        info.size = static_cast<MprOff>(is.st_size);
        info.mtime = static_cast<MprTime>(is.st_mtim.tv_sec);
        info.inode = static_cast<long long>(is.st_ino);
        etag = tagOf(is);
    }
    return file;
}

char* readDocument(HttpRoute* route, const char* path, ptrdiff_t most, ptrdiff_t& length) {
    char* safe = route ? httpValidateUriPath(path) : nullptr;
    char* filename = safe ? documentPath(route->documents, safe) : nullptr;
    MprPath info{};
    if (!filename || !describe(filename, info) || !info.isReg || info.size > most) {
        return nullptr;
    }
    char* etag = nullptr;
    MprFile* file = openDocument(route, filename, info, etag);
    char* text =
        file && info.size <= most ? static_cast<char*>(mprAlloc(static_cast<std::size_t>(info.size) + 1)) : nullptr;
    length = text ? mprReadFile(file, text, static_cast<ssize>(info.size)) : -1;
    mprCloseFile(file);
    if (length < 0) {
        return nullptr;
    }
    text[length] = '\0';
    return text;
}

} // namespace mpr::http
