// SPDX-License-Identifier: MIT
/*
    path_files.cpp - What paths name: asked, made, copied, deleted; and paths that depend on the current directory.
 */
#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "mpr/base/part.hpp"
#include "mpr/file.h"
#include "mpr/io/glob.hpp"
#include "mpr/io/waiting.hpp"
#include "mpr/os/broken_pipe.hpp"
#include "mpr/path.h"
#include "mpr/base/retain.hpp"

using mpr::base::Hold;
using mpr::base::part;
using mpr::io::PathCopy;
using mpr::io::Request;
using mpr::io::secondsOf;

namespace {

using std::string_view;

bool isKind(const uv_stat_t& stat, std::uint64_t kind) {
    return (stat.st_mode & S_IFMT) == kind;
}

bool isSame(const uv_stat_t& one, const uv_stat_t& two) {
    return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

char* cloneText(const char* text) {
    return static_cast<char*>(mprMemdup(text, std::strlen(text) + 1));
}

/** @return false when the system says that data was lost. */
bool closeFile(uv_file file) {
    Request request;
    return request(uv_fs_close, file) == 0;
}

/** Whether the text of one absolute normalised path begins with another and a separator. */
bool isBelow(string_view path, string_view dir) {
    return dir == "/" || path == dir ||
           (path.size() > dir.size() && part(path, 0, dir.size()) == dir && path[dir.size()] == '/');
}

/** The way from one absolute normalised path to another. */
char* wayBetween(string_view origin, string_view dest) {
    std::size_t common = 0; // up to and with the last separator of the parts in common
    for (std::size_t i = 0;; ++i) {
        const bool endOne = i >= origin.size() || origin[i] == '/';
        const bool endTwo = i >= dest.size() || dest[i] == '/';
        if (endOne && endTwo) {
            common = i + 1;
        }
        if (i >= origin.size() || i >= dest.size() || origin[i] != dest[i]) {
            break;
        }
    }
    const string_view up = part(origin, std::min(common, origin.size()));
    const string_view down = part(dest, std::min(common, dest.size()));
    const auto ups = up.empty() ? 0 : std::count(up.begin(), up.end(), '/') + 1;
    auto* text = static_cast<char*>(mprAlloc(static_cast<std::size_t>(ups) * 3 + down.size() + 2));
    if (!text) {
        return nullptr;
    }
    char* at = text;
    for (auto i = ups; i > 0; --i) {
        std::memcpy(at, "../", 3);
        at += 3;
    }
    std::memcpy(at, down.data(), down.size());
    at += down.size();
    if (at == text) {
        *at++ = '.';
    } else if (at[-1] == '/') {
        --at;
    }
    *at = '\0';
    return text;
}

/** Make one directory; one that exists is fine. */
int makeOne(const char* path, int perms, int owner, int group) {
    Request request;
    const auto result = request(uv_fs_mkdir, path, perms);
    if (result == UV_EEXIST) {
        return request(uv_fs_stat, path) == 0 && isKind(request->statbuf, S_IFDIR) ? 0 : MPR_ERR_CANT_CREATE;
    }
    if (result < 0) {
        return MPR_ERR_CANT_CREATE;
    }
    if (owner >= 0 || group >= 0) {
        // -1 leaves the one that is not given.
        const auto changed = request(uv_fs_chown, path, static_cast<uv_uid_t>(std::max(owner, -1)),
                                     static_cast<uv_gid_t>(std::max(group, -1)));
        return changed < 0 ? MPR_ERR_CANT_CREATE : 0;
    }
    return 0;
}
} // namespace

// ---- Paths that depend on the current directory -----------------------------------------------------------------

cchar* mprGetCurrentPath(void) {
    char buffer[PathCopy::room];
    std::size_t size = sizeof(buffer);
    return uv_cwd(buffer, &size) == 0 ? cloneText(buffer) : nullptr;
}

char* mprGetAbsPath(cchar* path) {
    if (mprIsPathAbs(path)) {
        return mprNormalizePath(path);
    }
    const PathCopy copy(path && *path ? path : ".");
    const char* current = copy.valid() ? mprGetCurrentPath() : nullptr;
    return current ? mprJoinPath(current, copy.text()) : nullptr;
}

char* mprGetRelPath(cchar* dest, cchar* origin) {
    const PathCopy to(dest && *dest ? dest : ".");
    const PathCopy from(origin && *origin ? origin : ".");
    if (!to.valid() || !from.valid()) {
        return nullptr;
    }
    const char* first = mprGetAbsPath(to.text());
    const char* second = mprGetAbsPath(from.text());
    return first && second ? wayBetween(second, first) : nullptr;
}

char* mprTransformPath(cchar* path, int flags) {
    if (flags & MPR_PATH_ABS) {
        return mprGetAbsPath(path);
    }
    return flags & MPR_PATH_REL ? mprGetRelPath(path, nullptr) : mprNormalizePath(path);
}

bool mprIsPathContained(cchar* path, cchar* dir) {
    const PathCopy other(dir && *dir ? dir : ".");
    const char* absolute = mprGetAbsPath(path);
    const char* base = other.valid() ? mprGetAbsPath(other.text()) : nullptr;
    return absolute && base && isBelow(absolute, base);
}

int mprSamePath(cchar* path1, cchar* path2) {
    if (!path1 || !path2) {
        return 0;
    }
    const PathCopy one(path1);
    const PathCopy two(path2);
    if (!one.valid() || !two.valid()) {
        return 0;
    }
    Request first;
    Request second;
    if (first(uv_fs_stat, one.text()) == 0 && second(uv_fs_stat, two.text()) == 0) {
        return isSame(first->statbuf, second->statbuf);
    }
    const char* absolute = mprGetAbsPath(one.text());
    const char* other = mprGetAbsPath(two.text());
    return absolute && other && std::strcmp(absolute, other) == 0;
}

// ---- Asking -----------------------------------------------------------------------------------------------------

bool mprPathExists(cchar* path, int omode) {
    const PathCopy copy(path);
    Request request;
    return copy.valid() && request(uv_fs_access, copy.text(), omode) == 0;
}

int mprGetPathInfo(cchar* path, MprPath* info) {
    const PathCopy copy(path);
    if (!info) {
        return MPR_ERR_BAD_ARGS;
    }
    *info = {};
    Request request;
    if (!copy.valid()) {
        return MPR_ERR_BAD_ARGS;
    }
    if (request(uv_fs_lstat, copy.text()) < 0) {
        return MPR_ERR_CANT_ACCESS;
    }
    uv_stat_t stat = request->statbuf;
    MprPath found{};
    found.isLink = isKind(stat, S_IFLNK);
    if (found.isLink && request(uv_fs_stat, copy.text()) == 0) {
        stat = request->statbuf;
    }
    found.exists = found.valid = found.checked = true;
    found.isDir = isKind(stat, S_IFDIR);
    found.isReg = isKind(stat, S_IFREG);
    found.atime = secondsOf(stat.st_atim);
    found.ctime = secondsOf(stat.st_ctim);
    found.mtime = secondsOf(stat.st_mtim);
    found.size = static_cast<MprOff>(stat.st_size);
    found.inode = static_cast<int64>(stat.st_ino);
    found.perms = static_cast<int>(stat.st_mode & 07777);
    found.owner = static_cast<int>(stat.st_uid);
    found.group = static_cast<int>(stat.st_gid);
    *info = found;
    return 0;
}

bool mprIsPathDir(cchar* path) {
    MprPath info;
    return mprGetPathInfo(path, &info) == 0 && info.isDir;
}

bool mprMatchPath(cchar* path, cchar* pattern) {
    return path && pattern && mpr::io::matchesGlob(pattern, path);
}

char* mprGetPathLink(cchar* path) {
    const PathCopy copy(path);
    Request request;
    return copy.valid() && request(uv_fs_readlink, copy.text()) == 0 ? cloneText(static_cast<char*>(request->ptr))
                                                                     : nullptr;
}

namespace {

/** Whether a file is what mprSearchPath looks for. */
bool isWanted(cchar* path, int flags) {
    MprPath info;
    return path && mprGetPathInfo(path, &info) == 0 && info.isDir == ((flags & MPR_SEARCH_DIR) != 0) &&
           (!(flags & MPR_SEARCH_EXE) || mprPathExists(path, X_OK));
}

/** Look for a file in folders that are separated by colons. */
char* searchFolders(cchar* path, int flags, string_view folders) {
    for (;;) {
        const std::size_t colon = folders.find(':');
        const string_view folder = part(folders, 0, colon);
        char name[PathCopy::room];
        if (folder.size() < sizeof(name)) {
            std::memcpy(name, folder.data(), folder.size());
            name[folder.size()] = '\0';
            char* found = mprJoinPath(name, path);
            if (isWanted(found, flags)) {
                return found;
            }
        }
        if (colon == string_view::npos) {
            return nullptr;
        }
        folders.remove_prefix(colon + 1);
    }
}
} // namespace

char* mprSearchPath(cchar* path, int flags, cchar* search, ...) {
    if (!path || !*path) {
        return nullptr;
    }
    if (mprIsPathAbs(path)) {
        return isWanted(path, flags) ? mprNormalizePath(path) : nullptr;
    }
    char* found = nullptr;
    va_list args;
    va_start(args, search);
    for (; search && !found; search = va_arg(args, cchar*)) {
        found = searchFolders(path, flags, search);
    }
    va_end(args);
    return found;
}

// ---- Making and removing ----------------------------------------------------------------------------------------

int mprMakeDir(cchar* path, int perms, int owner, int group, bool makeMissing) {
    PathCopy copy(path);
    if (!copy.valid()) {
        return MPR_ERR_BAD_ARGS;
    }
    if (makeMissing) {
        // From the top down: each separator ends a directory for a moment.
        for (char* at = copy.text() + 1; *at != '\0'; ++at) {
            if (*at == '/' && at[1] != '\0') {
                *at = '\0';
                const int error = makeOne(copy.text(), perms, owner, group);
                *at = '/';
                if (error != 0) {
                    return error;
                }
            }
        }
    }
    return makeOne(copy.text(), perms, owner, group);
}

int mprMakeLink(cchar* path, cchar* target, bool hard) {
    const PathCopy existing(path);
    const PathCopy link(target);
    if (!existing.valid() || !link.valid()) {
        return MPR_ERR_BAD_ARGS;
    }
    Request request;
    const int result = hard ? request(uv_fs_link, existing.text(), link.text())
                            : request(uv_fs_symlink, existing.text(), link.text(), 0);
    return result < 0 ? MPR_ERR_CANT_CREATE : 0;
}

int mprTruncateFile(cchar* path, MprOff size) {
    const PathCopy copy(path);
    if (!copy.valid() || size < 0) {
        return MPR_ERR_BAD_ARGS;
    }
    Request request;
    const int file = request(uv_fs_open, copy.text(), O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (file < 0) {
        return MPR_ERR_CANT_OPEN;
    }
    const bool done = request(uv_fs_ftruncate, file, static_cast<std::int64_t>(size)) == 0;
    return closeFile(file) && done ? 0 : MPR_ERR_CANT_WRITE;
}

int mprDeletePath(cchar* path) {
    const PathCopy copy(path);
    if (!copy.valid()) {
        return MPR_ERR_CANT_ACCESS;
    }
    Request request;
    if (request(uv_fs_lstat, copy.text()) < 0) {
        return MPR_ERR_CANT_ACCESS;
    }
    const bool isDir = isKind(request->statbuf, S_IFDIR);
    const auto result = isDir ? request(uv_fs_rmdir, copy.text()) : request(uv_fs_unlink, copy.text());
    return result < 0 ? MPR_ERR_CANT_DELETE : 0;
}

namespace {

/** A file to be read or written from its begin to its end. Closed at the end, at the latest. */
class Stream {
public:
    Stream() = default;
    ~Stream() { close(); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    /** @return Whether the system opened it. */
    bool open(const PathCopy& path, int omode, int perms) {
        waits_ = path.valid() && mpr::io::mayWait(path);
        Request request(waits_);
        file_ = path.valid() ? request(uv_fs_open, path.text(), omode | O_CLOEXEC, perms) : -1;
        return file_ >= 0;
    }
    /** @return false when the system says that data was lost. */
    bool close() {
        const uv_file file = std::exchange(file_, -1);
        return file < 0 || closeFile(file);
    }
    uv_file file() const { return file_; }
    /** Whether to read from it or write to it may wait for others. */
    bool waits() const { return waits_; }

private:
    uv_file file_ = -1;
    bool waits_ = false;
};

/** @return Whether all was written. */
bool copyContents(const Stream& from, const Stream& to) {
    mpr::os::BrokenPipe broken; // what is written to may be one
    std::int64_t offset = 0;
    for (;;) {
        Request request(from.waits() || to.waits());
        const auto count = request(uv_fs_sendfile, to.file(), from.file(), offset, std::size_t{1} << 30);
        if (count <= 0) {
            broken.set(-count, true);
            return count == 0;
        }
        offset += count;
    }
}

/** Open what is copied to. It has its mode before it has contents: nobody may read them who may not later. */
bool openTarget(Stream& target, const PathCopy& path, int perms) {
    Request request;
    if (!target.open(path, O_WRONLY | O_CREAT, perms & 0600) || request(uv_fs_fstat, target.file()) < 0) {
        return false;
    }
    if (!isKind(request->statbuf, S_IFREG)) {
        return true; // a device or pipe stays as it is
    }
    return request(uv_fs_fchmod, target.file(), perms) == 0 && request(uv_fs_ftruncate, target.file(), 0) == 0;
}
} // namespace

int mprCopyPath(cchar* from, cchar* to, int omode) {
    const PathCopy source(from);
    const PathCopy target(to);
    Stream in;
    Stream out;
    Request request;
    if (!in.open(source, O_RDONLY, 0) || request(uv_fs_fstat, in.file()) < 0 || isKind(request->statbuf, S_IFDIR)) {
        return MPR_ERR_CANT_OPEN;
    }
    Request there;
    if (target.valid() && there(uv_fs_stat, target.text()) == 0 && isSame(request->statbuf, there->statbuf)) {
        return 0;
    }
    const bool isNew = target.valid() && there(uv_fs_lstat, target.text()) == UV_ENOENT;
    const int perms = (omode > 0 ? omode : static_cast<int>(request->statbuf.st_mode)) & 0777;
    const bool opened = openTarget(out, target, perms);
    const bool made = isNew && out.file() >= 0;
    if (opened && copyContents(in, out) && out.close()) {
        return 0;
    }
    if (made) {
        request(uv_fs_unlink, target.text());
    }
    return MPR_ERR_CANT_CREATE;
}

char* mprGetTempPath(cchar* tmpDir) {
    char system[1024];
    std::size_t size = sizeof(system);
    if (!tmpDir || *tmpDir == '\0') {
        tmpDir = uv_os_tmpdir(system, &size) == 0 ? system : "/tmp";
    }
    const PathCopy pattern(mprJoinPath(tmpDir, "mpr-XXXXXX"));
    Request request;
    const auto file = pattern.valid() ? request(uv_fs_mkstemp, pattern.text()) : -1;
    if (file < 0) {
        return nullptr;
    }
    char* path = closeFile(static_cast<uv_file>(file)) ? cloneText(request->path) : nullptr;
    if (!path) {
        unlink(request->path); // nobody else knows of it
    }
    return path;
}

// ---- Contents ---------------------------------------------------------------------------------------------------

namespace {

/** Read until the end: a file of /proc says that it is empty. @return A held block with a NUL behind the contents. */
char* readAll(const Stream& file, std::size_t expected, std::size_t& length) {
    std::size_t room = expected + 1;
    auto* text = static_cast<char*>(mprAllocMem(room, MPR_ALLOC_HOLD));
    length = 0;
    while (text) {
        Request request(file.waits());
        // One byte more than expected, so that the end is seen without another round; it makes place for the NUL.
        uv_buf_t buffer =
            uv_buf_init(text + length, static_cast<unsigned>(std::min(room - length, std::size_t{1} << 30)));
        const auto count = request(uv_fs_read, file.file(), &buffer, 1u, std::int64_t{-1});
        if (count <= 0) {
            if (count < 0) {
                mprRelease(text);
                return nullptr;
            }
            text[length] = '\0'; // length < room: see below
            return text;
        }
        length += static_cast<std::size_t>(count);
        if (length == room) {
            // A block that moves takes its holds along.
            auto* larger = static_cast<char*>(mprRealloc(text, room = std::max(room * 2, std::size_t{4096})));
            if (!larger) {
                mprRelease(text);
            }
            text = larger;
        }
    }
    return nullptr;
}
} // namespace

char* mprReadPathContents(cchar* path, ssize* lenp) {
    const PathCopy copy(path);
    if (lenp) {
        *lenp = 0;
    }
    Stream file;
    if (!file.open(copy, O_RDONLY, 0)) {
        return nullptr;
    }
    std::size_t length = 0;
    char* text = nullptr;
    Request request;
    if (request(uv_fs_fstat, file.file()) == 0 && request->statbuf.st_size < SIZE_MAX / 2) {
        text = readAll(file, static_cast<std::size_t>(request->statbuf.st_size), length);
    }
    if (text) {
        mprRelease(text);
        if (lenp) {
            *lenp = static_cast<ssize>(length);
        }
    }
    return text;
}

ssize mprWritePathContents(cchar* path, cchar* buf, ssize len, int mode) {
    const PathCopy copy(path);
    if (!copy.valid() || !buf || len < -1) {
        return MPR_ERR_BAD_ARGS;
    }
    if (len == -1) {
        len = static_cast<ssize>(std::strlen(buf));
    }
    const Hold hold(buf);
    Stream file;
    if (!file.open(copy, O_WRONLY | O_CREAT | O_TRUNC, mode > 0 ? mode : 0644)) {
        return MPR_ERR_CANT_OPEN;
    }
    mpr::os::BrokenPipe broken; // it may be one
    ssize written = 0;
    while (written < len) {
        const auto count = static_cast<unsigned>(std::min(len - written, ssize{1} << 30));
        uv_buf_t buffer = uv_buf_init(const_cast<char*>(buf) + written, count);
        Request request(file.waits());
        const auto done = request(uv_fs_write, file.file(), &buffer, 1u, std::int64_t{-1});
        if (done <= 0) {
            broken.set(-done, true);
            break;
        }
        written += done;
    }
    return file.close() && written == len ? len : MPR_ERR_CANT_WRITE;
}
