// SPDX-License-Identifier: MIT
/*
    file.cpp - Files, buffered or not.

    A file knows its own position and says it with each read and write, where the system's file has positions at all: so
    a buffer that was read ahead is simply dropped, and nothing seeks. One buffer serves both directions: it holds
    either bytes read ahead, [next, end), or bytes not yet written, [0, end) with `dirty`.
 */
#include "mpr/file.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

#include "mpr/barrier.h"
#include "mpr/base/log_file.hpp"
#include "mpr/base/string.hpp"
#include "mpr/format.h"
#include "mpr/gc/census.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/io/descriptor.hpp"
#include "mpr/io/plain_file.hpp"
#include "mpr/io/rom.hpp"
#include "mpr/io/waiting.hpp"
#include "mpr/log.h"
#include "mpr/os/broken_pipe.hpp"
#include "mpr/os/log.hpp"
#include "mpr/base/retain.hpp"

using mpr::base::Hold;
using mpr::io::PathCopy;
using mpr::io::Request;
namespace gc = mpr::gc;
namespace os = mpr::os;

namespace {

/** The private part of a file. Its path stands behind that in the same block. */
struct File : MprFile {
    char* buffer; // a leaf, or nullptr. Held: a finalizer writes what is in it, and no other block may be there then
    std::size_t size, next, end;
    bool dirty;
    bool hasPositions; // a regular file or a device of blocks
    bool appends;
    bool atEnd;   // after appending: the position is where the file ends, which only the system knows
    bool managed; // all but standard output and error
    bool keepsFd; // the descriptor is not its own: standard input
    int mode;
    uv_file fd;      // -1: closed, or a file of the program
    MprOff position; // of the system's file: behind what was read ahead, before what is not yet written
    const MprRomInode* rom;
};

constexpr std::size_t usualBuffer = 4096;                      // a page
constexpr std::size_t greatestTransfer = std::size_t{1} << 30; // bytes in one system call

bool isOpen(const File* file) {
    return file && (file->fd >= 0 || file->rom);
}

// ---- One system call --------------------------------------------------------------------------------------------

void findPosition(File* file);

/** @return Bytes read, or a negative error. */
ssize transferIn(File* file, char* to, std::size_t count) {
    count = std::min(count, greatestTransfer);
    if (file->rom) {
        const MprOff left = std::max(file->rom->size - file->position, MprOff{0});
        if (static_cast<MprOff>(count) > left) {
            count = static_cast<std::size_t>(left);
        }
        std::memcpy(to, file->rom->data + file->position, count);
        file->position += static_cast<MprOff>(count);
        return static_cast<ssize>(count);
    }
    findPosition(file);
    uv_buf_t buffer = uv_buf_init(to, static_cast<unsigned>(count));
    Request request(!file->hasPositions);
    const auto done =
        request(uv_fs_read, file->fd, &buffer, 1u, file->hasPositions ? file->position : std::int64_t{-1});
    if (done > 0) {
        file->position += done;
    }
    return done;
}

/** In a manager: how many bytes a pipe or the like takes at once. On the collector's thread nobody may wait for its reader. */
std::size_t roomNow(const File* file) {
    if (!gc::current->isCollector) {
        return greatestTransfer;
    }
    pollfd ready{file->fd, POLLOUT, 0};
    return poll(&ready, 1, 0) > 0 && ready.revents == POLLOUT ? std::size_t{PIPE_BUF} : 0;
}

/** Write to what may be a pipe that nobody reads any more: that is an error, as of other files, and no signal. */
template <class Write>
auto withoutSignal(Write write) -> decltype(write()) {
    os::BrokenPipe broken;
    const auto done = write();
    broken.set(done < 0 ? -done : 0, true); // perhaps: how much there was to write is not known here
    return done;
}

/** Write all. @param mayWait false: in a manager. @return Bytes written, fewer than count after an error. */
std::size_t transferOut(File* file, const char* from, std::size_t count, bool mayWait = true) {
    std::size_t written = 0;
    while (written < count) {
        const std::size_t most = mayWait || file->hasPositions ? greatestTransfer : roomNow(file);
        const auto part = static_cast<unsigned>(std::min(count - written, most));
        if (part == 0) {
            break;
        }
        uv_buf_t buffer = uv_buf_init(const_cast<char*>(from) + written, part);
        Request request(mayWait && !file->hasPositions);
        const bool placed = file->hasPositions && !file->appends;
        const auto write = [&] {
            return request(uv_fs_write, file->fd, &buffer, 1u, placed ? file->position : std::int64_t{-1});
        };
        const auto done = file->hasPositions ? write() : withoutSignal(write);
        if (done <= 0) {
            break;
        }
        written += static_cast<std::size_t>(done);
        if (file->managed) { // of standard output several threads know nothing of one another
            file->position += done;
            file->atEnd = file->appends && file->hasPositions;
        }
    }
    return written;
}

/** Where a file ends, or a negative error. */
MprOff endOf(const File* file) {
    if (file->rom) {
        return static_cast<MprOff>(file->rom->size);
    }
    Request request;
    const int error = request(uv_fs_fstat, file->fd);
    return error < 0 ? error : static_cast<MprOff>(request->statbuf.st_size);
}

void findPosition(File* file) {
    if (file->atEnd) {
        file->position = std::max(endOf(file), MprOff{0});
        file->atEnd = false;
    }
}

/** Whether the collector may run during a call with a file: where that may wait, or the thread has yielded before. */
bool needsHold(const File* file) {
    return mpr::io::mayWait(file) || !gc::current;
}

/** Keeps a file, its buffer and a program's during a call, if that is needed. */
class InUse {
public:
    explicit InUse(const File* file, const void* of = nullptr)
        : file_(needsHold(file) && file->managed ? file : nullptr), buffer_(needsHold(file) ? file->buffer : nullptr),
          of_(needsHold(file) ? of : nullptr) {}

private:
    Hold file_, buffer_, of_;
};

// ---- The buffer -------------------------------------------------------------------------------------------------

bool flush(File* file, bool mayWait = true) {
    if (file->dirty) {
        const std::size_t written = transferOut(file, file->buffer, file->end, mayWait);
        std::memmove(file->buffer, file->buffer + written, file->end - written);
        file->end -= written;
        file->dirty = file->end > 0;
    }
    return !file->dirty;
}

/** Forget what was read ahead. A pipe cannot read it again, so there it stays. */
void dropReadAhead(File* file) {
    if (!file->dirty && (file->hasPositions || file->rom)) {
        file->position -= static_cast<MprOff>(file->end - file->next);
        file->next = file->end = 0;
    }
}

bool hasAhead(const File* file) {
    return !file->dirty && file->next < file->end;
}

/** Read ahead when nothing is left. @return Above zero when there are bytes, 0 at the end, or a negative error. */
ssize fill(File* file) {
    if (hasAhead(file)) {
        return 1;
    }
    if (!flush(file)) {
        return MPR_ERR_CANT_WRITE;
    }
    file->next = file->end = 0;
    const ssize count = transferIn(file, file->buffer, file->size);
    file->end = static_cast<std::size_t>(std::max(count, ssize{0}));
    return count;
}

bool ensureBuffer(File* file) {
    return file->buffer || mprEnableFileBuffering(file, 0, 0) == 0;
}

bool mayRead(const File* file) {
    return isOpen(file) && (file->mode & O_ACCMODE) != O_WRONLY;
}

bool mayWrite(const File* file) {
    return isOpen(file) && !file->rom && (file->mode & O_ACCMODE) != O_RDONLY;
}

// ---- Life -------------------------------------------------------------------------------------------------------

/** Let the buffer go. Calls that wait hold it on their own: see InUse. */
void dropBuffer(File* file) {
    mprRelease(std::exchange(file->buffer, nullptr));
    file->size = file->next = file->end = 0;
}

/** @return false when data was lost. */
bool finish(File* file, bool mayWait) {
    bool kept = flush(file, mayWait);
    if (file->fd >= 0 && !file->keepsFd) {
        Request request;
        kept = request(uv_fs_close, file->fd) == 0 && kept; // disks of others tell here that they are full
    }
    file->fd = -1;
    file->rom = nullptr;
    file->dirty = false;
    dropBuffer(file);
    return kept;
}

void manageFile(void* ptr, int flags) {
    if ((flags & MPR_MANAGE_FREE) && !finish(static_cast<File*>(ptr), false)) {
        os::Message message;
        os::log(os::Level::error, message << "mprOpenFile: a file was collected with data that cannot be written");
    }
}
const mpr::gc::ManagerName namedFile(manageFile, "MprFile");

File* allocateFile(int mode, cchar* path) {
    path = path ? path : "";
    const std::size_t size = std::strlen(path) + 1;
    auto* file = static_cast<File*>(
        mprAllocManaged(sizeof(File) + size, manageFile, MPR_ALLOC_MANAGER | MPR_ALLOC_BARRIER | MPR_ALLOC_ZERO));
    if (file) {
        file->path = static_cast<char*>(std::memcpy(file + 1, path, size));
        file->fd = -1;
        file->mode = mode;
        file->appends = (mode & O_APPEND) != 0;
        file->managed = true;
    }
    return file;
}

/** Whether the system's file has positions: pipes and terminals have not. */
bool askPositions(uv_file fd) {
    Request request;
    if (request(uv_fs_fstat, fd) < 0) {
        return false;
    }
    const auto kind = request->statbuf.st_mode & S_IFMT;
    return kind == S_IFREG || kind == S_IFBLK;
}
} // namespace

MprFile* mprOpenFile(cchar* filename, int omode, int perms) {
    const PathCopy path(filename);
    if (!path.valid()) {
        return nullptr;
    }
    File* file = allocateFile(omode, path.text());
    if (!file) {
        return nullptr;
    }
    if (const MprRomInode* rom = mpr::io::findRomFile(path.text())) {
        file->rom = (omode & O_ACCMODE) == O_RDONLY ? rom : nullptr;
        return file->rom ? file : nullptr;
    }
    const Hold hold(file);
    Request request(mpr::io::mayWait(path));
    file->fd = request(uv_fs_open, path.text(), omode | O_CLOEXEC, perms);
    if (file->fd < 0) {
        file->fd = -1;
        return nullptr;
    }
    file->hasPositions = askPositions(file->fd);
    return file;
}

bool mpr::io::mayWait(const MprFile* ptr) {
    const auto* file = static_cast<const File*>(ptr);
    return file && !file->hasPositions && !file->rom;
}

namespace {

constexpr int plainly = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/** Open a path without following links. @return -1 with errno: ELOOP where there are some; ENOSYS: cannot be said. */
int openStraight([[maybe_unused]] const char* path) {
#ifdef SYS_openat2
    static constinit std::atomic<bool> unknown{false}; // to the system, or forbidden; set once
    if (!unknown.load(std::memory_order_relaxed)) {
        open_how how{};
        how.flags = plainly;
        how.resolve = RESOLVE_NO_SYMLINKS;
        const auto fd = static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
        if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) {
            return fd;
        }
        unknown.store(errno == ENOSYS, std::memory_order_relaxed);
    }
#endif
    errno = ENOSYS;
    return -1;
}

/** Of a descriptor that is no file's. */
MprFile* notPlain(int fd, int error) {
    const mpr::io::Descriptor other(fd);
    errno = error;
    return nullptr;
}
} // namespace

MprFile* mpr::io::openPlainFile(const char* filename, struct stat& is, bool& straight) {
    is = {};
    const PathCopy path(filename);
    File* file = path.valid() ? allocateFile(O_RDONLY, path.text()) : nullptr;
    if (!file) {
        return notPlain(-1, path.valid() ? ENOMEM : ENOENT);
    }
    int fd = openStraight(path.text());
    straight = fd >= 0;
    while (fd < 0 && (errno == ELOOP || errno == ENOSYS || errno == EINTR || errno == EAGAIN)) {
        fd = open(path.text(), plainly);
        if (fd < 0 && errno != EINTR) {
            break;
        }
    }
    if (fd < 0 || fstat(fd, &is) != 0) {
        return notPlain(fd, errno);
    }
    if (!S_ISREG(is.st_mode)) {
        return notPlain(fd, S_ISDIR(is.st_mode) ? EISDIR : EINVAL);
    }
    file->fd = fd;
    file->hasPositions = true;
    return file;
}

namespace {

File* attach(int fd, cchar* name, int omode) {
    File* file = fd >= 0 ? allocateFile(omode, name) : nullptr;
    if (file) {
        file->fd = fd;
        const auto position = lseek(fd, 0, SEEK_CUR);
        file->hasPositions = position >= 0 && askPositions(fd);
        file->position = file->hasPositions ? position : 0;
    }
    return file;
}

// Retained by the runtime: standard input, which has a buffer, and the file of mprSetLogFile.
std::atomic<File*> input{nullptr};
std::atomic<MprFile*> logFile{nullptr};
gc::Service room{[] {
                     mprMark(input.load());
                     mprMark(logFile.load());
                 },
                 [](std::uint64_t) { return true; },
                 [] {
                     input.store(nullptr);
                     logFile.store(nullptr);
                 }};
} // namespace

MprFile* mprAttachFileFd(int fd, cchar* name, int omode) {
    return attach(fd, name, omode);
}

int mprCloseFile(MprFile* ptr) {
    auto* file = static_cast<File*>(ptr);
    if (!isOpen(file) || !file->managed || file->keepsFd) {
        return MPR_ERR_BAD_STATE;
    }
    const InUse use(file);
    return finish(file, true) ? 0 : MPR_ERR_CANT_WRITE;
}

int mprGetFileFd(MprFile* ptr) {
    auto* file = static_cast<File*>(ptr);
    return file ? file->fd : -1;
}

MprFile* mprGetStdout(void) {
    static constinit File standard{
        {"stdout"}, nullptr, 0, 0, 0, false, false, true, false, false, true, O_WRONLY, 1, 0, nullptr,
    };
    return &standard;
}

MprFile* mprGetStderr(void) {
    static constinit File standard{
        {"stderr"}, nullptr, 0, 0, 0, false, false, true, false, false, true, O_WRONLY, 2, 0, nullptr,
    };
    return &standard;
}

MprFile* mprGetStdin(void) {
    if (!gc::admitRunning("mprGetStdin")) {
        return nullptr;
    }
    File* file = input.load();
    if (file || !gc::mayMake("mprGetStdin")) {
        return file;
    }
    gc::runtime().services.add(room);
    File* made = attach(STDIN_FILENO, "stdin", O_RDONLY);
    if (!made) {
        return nullptr;
    }
    made->keepsFd = true;
    mprPublish(made);
    return input.compare_exchange_strong(file, made) ? made : file;
}

// ---- Buffering --------------------------------------------------------------------------------------------------

int mprEnableFileBuffering(MprFile* ptr, ssize size, ssize maxSize) {
    auto* file = static_cast<File*>(ptr);
    (void) maxSize;
    if (!isOpen(file) || size < 0 || static_cast<std::size_t>(size) > greatestTransfer) {
        return MPR_ERR_BAD_ARGS;
    }
    if (!file->managed) {
        return MPR_ERR_BAD_STATE;
    }
    if (file->buffer) {
        return 0;
    }
    const std::size_t capacity = size > 0 ? static_cast<std::size_t>(size) : usualBuffer;
    auto* buffer = static_cast<char*>(mprAllocMem(capacity, MPR_ALLOC_HOLD));
    if (!buffer) {
        return MPR_ERR_MEMORY;
    }
    file->buffer = buffer;
    file->size = capacity;
    file->next = file->end = 0;
    return 0;
}

int mprDisableFileBuffering(MprFile* ptr) {
    auto* file = static_cast<File*>(ptr);
    const int error = mprFlushFile(file);
    if (error == 0 && file->buffer) {
        dropReadAhead(file);
        if (file->next < file->end) {
            return MPR_ERR_BAD_STATE; // a pipe: what was read ahead would be lost
        }
        dropBuffer(file);
    }
    return error;
}

int mprFlushFile(MprFile* ptr) {
    auto* file = static_cast<File*>(ptr);
    if (!isOpen(file)) {
        return MPR_ERR_BAD_ARGS;
    }
    const InUse use(file);
    return flush(file) ? 0 : MPR_ERR_CANT_WRITE;
}

// ---- Reading ----------------------------------------------------------------------------------------------------

ssize mprReadFile(MprFile* ptr, void* buf, ssize size) {
    auto* file = static_cast<File*>(ptr);
    if (!mayRead(file) || !buf || size < 0) {
        return MPR_ERR_BAD_ARGS;
    }
    auto left = static_cast<std::size_t>(size);
    if (hasAhead(file) && left <= file->end - file->next) { // nothing waits, so nothing needs a hold
        std::memcpy(buf, file->buffer + file->next, left);
        file->next += left;
        return size;
    }
    const InUse use(file, buf);
    auto* to = static_cast<char*>(buf);
    ssize count = 1;
    while (left > 0 && count > 0) {
        if (!hasAhead(file) && left >= file->size) {
            // The buffer would gain nothing. What comes at once is all: to wait for more is the caller's to decide.
            count = flush(file) ? transferIn(file, to, left) : ssize{MPR_ERR_CANT_WRITE};
            left -= static_cast<std::size_t>(std::max(count, ssize{0}));
            break;
        }
        if (!hasAhead(file) && to != buf && !file->hasPositions && !file->rom) {
            break;
        }
        if ((count = fill(file)) > 0) {
            const std::size_t part = std::min(left, file->end - file->next);
            std::memcpy(to, file->buffer + file->next, part);
            file->next += part;
            to += part;
            left -= part;
        }
    }
    const ssize done = size - static_cast<ssize>(left);
    return done == 0 && count < 0 ? ssize{MPR_ERR_CANT_READ} : done;
}

int mprPeekFileChar(MprFile* ptr) {
    auto* file = static_cast<File*>(ptr);
    if (!mayRead(file) || !ensureBuffer(file)) {
        return -1;
    }
    if (!hasAhead(file)) {
        const InUse use(file);
        if (fill(file) <= 0) {
            return -1;
        }
    }
    return static_cast<uchar>(file->buffer[file->next]);
}

int mprGetFileChar(MprFile* ptr) {
    auto* file = static_cast<File*>(ptr);
    const int c = mprPeekFileChar(file);
    if (c >= 0) {
        ++file->next;
    }
    return c;
}

namespace {

/** The newline that ends the next line, if that has been read ahead, in at most so many bytes; else nullptr. */
const char* newlineAhead(const File* file, std::size_t most) {
    return hasAhead(file) ? static_cast<const char*>(
                                std::memchr(file->buffer + file->next, '\n', std::min(file->end - file->next, most)))
                          : nullptr;
}

/** A line that has been read ahead: nothing waits, so nothing needs a hold. */
char* takeLine(File* file, const char* newline, ssize* len) {
    const char* from = file->buffer + file->next;
    const auto length = static_cast<std::size_t>(newline - from);
    char* line = mpr::base::newString(from, length);
    if (line) {
        file->next = std::min(file->next + length + 1, file->end); // a notifier may have closed the file
        if (len) {
            *len = static_cast<ssize>(length);
        }
    }
    return line;
}

} // namespace

char* mprReadLine(MprFile* ptr, ssize size, ssize* len) {
    auto* file = static_cast<File*>(ptr);
    if (len) {
        *len = 0;
    }
    if (!mayRead(file) || !ensureBuffer(file)) {
        return nullptr;
    }
    const std::size_t most = size > 0 ? static_cast<std::size_t>(size) : SIZE_MAX / 2;
    if (const char* newline = newlineAhead(file, most)) {
        return takeLine(file, newline, len);
    }
    const InUse use(file);
    char* line = nullptr; // held while it grows
    std::size_t length = 0;
    bool ended = false;
    while (!ended && length < most && fill(file) > 0) {
        const char* from = file->buffer + file->next;
        const std::size_t ahead = std::min(file->end - file->next, most - length);
        const auto* newline = static_cast<const char*>(std::memchr(from, '\n', ahead));
        const std::size_t part = newline ? static_cast<std::size_t>(newline - from) : ahead;
        // The usual line is one part: it gets what it needs. A longer one doubles.
        const std::size_t needed = length + part + 1;
        if (!line || mprGetBlockSize(line) < needed) {
            char* larger = static_cast<char*>(line ? mprRealloc(line, std::max(needed, 2 * length))
                                                   : mprAllocMem(needed, MPR_ALLOC_HOLD));
            if (!larger) {
                mprRelease(line);
                return nullptr;
            }
            line = larger;
        }
        std::memcpy(line + length, from, part);
        length += part;
        ended = newline != nullptr;
        file->next += part + ended;
    }
    if (line) {
        // A line of exactly the longest size ends here, too.
        if (!ended && length == most && fill(file) > 0 && file->buffer[file->next] == '\n') {
            ++file->next;
        }
        line[length] = '\0';
        mprRelease(line);
        if (len) {
            *len = static_cast<ssize>(length);
        }
    }
    return line;
}

// ---- Writing ----------------------------------------------------------------------------------------------------

ssize mprWriteFile(MprFile* ptr, cvoid* buf, ssize count) {
    auto* file = static_cast<File*>(ptr);
    if (!mayWrite(file) || !buf || count < 0) {
        return MPR_ERR_BAD_ARGS;
    }
    const auto length = static_cast<std::size_t>(count);
    dropReadAhead(file);
    if (!file->dirty && !hasAhead(file)) {
        file->next = file->end = 0;
    }
    const bool buffered = file->buffer && !hasAhead(file); // what a pipe has read ahead stays in the buffer
    if (buffered && length <= file->size - file->end) {
        if (length > 0) {
            std::memcpy(file->buffer + file->end, buf, length);
            file->end += length;
            file->dirty = true;
        }
        return count;
    }
    const InUse use(file, buf);
    if (!flush(file)) {
        return MPR_ERR_CANT_WRITE;
    }
    if (buffered && length < file->size) {
        std::memcpy(file->buffer, buf, length);
        file->end = length;
        file->dirty = true;
        return count;
    }
    return transferOut(file, static_cast<const char*>(buf), length) == length ? count : ssize{MPR_ERR_CANT_WRITE};
}

ssize mprWriteFileString(MprFile* ptr, cchar* str) {
    auto* file = static_cast<File*>(ptr);
    return str ? mprWriteFile(file, str, static_cast<ssize>(std::strlen(str))) : MPR_ERR_BAD_ARGS;
}

ssize mprPutFileString(MprFile* ptr, cchar* str) {
    auto* file = static_cast<File*>(ptr);
    return mprWriteFileString(file, str);
}

ssize mprPutFileChar(MprFile* ptr, int c) {
    auto* file = static_cast<File*>(ptr);
    const char byte = static_cast<char>(c);
    return mprWriteFile(file, &byte, 1);
}

namespace {
ssize writeFmt(MprFile* file, cchar* fmt, va_list args) {
    const char* text = fmt ? sfmtv(fmt, args) : nullptr;
    return text ? mprWriteFileString(file, text) : ssize{fmt ? MPR_ERR_MEMORY : MPR_ERR_BAD_ARGS};
}
} // namespace

ssize mprWriteFileFmt(MprFile* file, cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const ssize count = writeFmt(file, fmt, args);
    va_end(args);
    return count;
}

__attribute__((alias("mprWriteFileFmt"))) ssize mprFprintf(MprFile* file, cchar* fmt, ...);

// ---- Position ---------------------------------------------------------------------------------------------------

MprOff mprGetFilePosition(MprFile* ptr) {
    auto* file = static_cast<File*>(ptr);
    if (!isOpen(file)) {
        return MPR_ERR_BAD_ARGS;
    }
    const InUse use(file);
    if (file->appends && file->hasPositions && flush(file)) {
        findPosition(file);
    }
    return file->dirty ? file->position + static_cast<MprOff>(file->end)
                       : file->position - static_cast<MprOff>(file->end - file->next);
}

namespace {
/** @return 0, or why nobody can say where in a file something stands. */
int checkPositions(const File* file) {
    return !isOpen(file) ? MPR_ERR_BAD_ARGS : !file->hasPositions && !file->rom ? MPR_ERR_BAD_STATE : 0;
}
} // namespace

MprOff mprGetFileSize(MprFile* ptr) {
    auto* file = static_cast<File*>(ptr);
    if (const int error = checkPositions(file)) {
        return error;
    }
    const InUse use(file);
    if (!flush(file)) {
        return MPR_ERR_CANT_WRITE;
    }
    const MprOff end = endOf(file);
    return end < 0 ? MPR_ERR_BAD_STATE : end;
}

MprOff mprSeekFile(MprFile* ptr, int seekType, MprOff distance) {
    auto* file = static_cast<File*>(ptr);
    if (const int error = checkPositions(file)) {
        return error;
    }
    const InUse use(file);
    if (!flush(file)) {
        return MPR_ERR_CANT_WRITE;
    }
    MprOff base = 0;
    if (seekType == SEEK_CUR) {
        base = mprGetFilePosition(file);
    } else if (seekType == SEEK_END) {
        base = endOf(file);
        if (base < 0) {
            return MPR_ERR_BAD_STATE;
        }
    } else if (seekType != SEEK_SET) {
        return MPR_ERR_BAD_ARGS;
    }
    MprOff target;
    if (__builtin_add_overflow(base, distance, &target) || target < 0) {
        return MPR_ERR_BAD_ARGS;
    }
    dropReadAhead(file);
    file->position = target;
    file->atEnd = false;
    return target;
}

// ---- The log ----------------------------------------------------------------------------------------------------

void mprSetLogFile(MprFile* file) {
    if (!gc::admitMaking("mprSetLogFile", file)) {
        return;
    }
    const Hold hold(file);
    const int fd = file && mprFlushFile(file) == 0 ? fcntl(mprGetFileFd(file), F_DUPFD_CLOEXEC, 3) : -1;
    if (file && fd < 0) {
        os::Message message;
        os::log(os::Level::error, message << "mprSetLogFile: the file is not open; the log stays where it is");
        return;
    }
    if (file) {
        mpr::base::openLog(fd, file->path);
    } else {
        mpr::base::openLog("stderr", mpr::base::LineForm::common, false);
    }
    gc::runtime().services.add(room);
    mprPublish(file);
    logFile.store(file);
}

MprFile* mprGetLogFile(void) {
    return logFile.load();
}

// ---- Descriptors ------------------------------------------------------------------------------------------------

void mprSetFilesLimit(int limit) {
    rlimit now{};
    getrlimit(RLIMIT_NOFILE, &now);
    const auto wanted = limit > 0 ? static_cast<rlim_t>(limit) : now.rlim_max;
    now.rlim_cur = std::min(wanted, now.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur < wanted) {
        os::Message message;
        os::log(os::Level::warning, message << "mprSetFilesLimit: " << std::uint64_t{wanted}
                                            << " descriptors are not to be had; the limit is "
                                            << std::uint64_t{now.rlim_cur});
    }
}
