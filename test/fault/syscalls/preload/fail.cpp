// SPDX-License-Identifier: MIT
/*
    test/fault/syscalls/preload/fail.cpp - A library to be preloaded: the nth call of a kind fails, as the system would let
    it fail.

    It sees the calls of the program and of libraries by their dynamic symbols, not those that the C library makes for
    itself. Headers that declare what is defined here are left out: they say noexcept of some, and have inline forms of
    others. Counting begins before main. Children of the program are left alone.
 */
#include "test/fault/syscalls/calls.hpp"

#include <cerrno>
#include <cstdarg>
#include <dlfcn.h>
#include <sys/stat.h>

using namespace syscalls;

extern "C" {
char* getenv(const char* name);
int unsetenv(const char* name);
struct dirent;
struct epoll_event;
struct pollfd;
}

namespace {

constexpr int failed = -1;
constexpr int readWrite = 2, createFile = 0100, temporaryFile = 020000000;
constexpr int shared = 1, mayReadWrite = 3;
constexpr int duplicate = 0, duplicateClosed = 1030; // F_DUPFD, F_DUPFD_CLOEXEC
constexpr int controlAdd = 1, controlDelete = 2;     // EPOLL_CTL_ADD, EPOLL_CTL_DEL
#if __SIZEOF_POINTER__ == 8
constexpr long futexNumber =
#ifdef __x86_64__
    202;
#else
    98;
#endif
#else
constexpr long futexNumber = 240;
#endif
constexpr long futexOperation = 0x7F, futexWait = 0;

Report* report = nullptr;

/** The C library's own function. @param known Remembers it. */
template <class Result, class... Arguments>
Result next(void*& known, const char* name, Arguments... arguments) {
    void* function = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!function) {
        function = dlsym(RTLD_NEXT, name);
        __atomic_store_n(&known, function, __ATOMIC_RELAXED);
    }
    return reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...);
}

/** @return The error of this call, 0 when it is not to fail. */
int due(Call call) {
    if (!report) {
        return 0;
    }
    const std::uint64_t number = __atomic_add_fetch(&report->calls[call], 1, __ATOMIC_RELAXED);
    if (report->call != call || number < report->nth || (number > report->nth && !report->on)) {
        return 0;
    }
    __atomic_add_fetch(&report->failed, 1, __ATOMIC_RELAXED);
    return report->error;
}

template <class Result = int>
Result refuse(int error) {
    errno = error;
    return static_cast<Result>(failed);
}

/** Fail with an error; 0: do what the C library does. */
template <class Result, class... Arguments>
Result tried(int error, void*& known, const char* name, Arguments... arguments) {
    return error ? refuse<Result>(error) : next<Result>(known, name, arguments...);
}

/** Whether a descriptor can have errors of a disk. Those of pipes, events and sockets are others. */
bool isFile(int fd) {
    const int before = errno;
    struct stat status;
    const bool file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    errno = before;
    return file;
}

/** The error due for a read or write: an interruption may come anywhere. Only calls that may fail are counted. */
int dueFor(Call call, int fd) {
    if (!report || report->call != call || report->error == EINTR || isFile(fd)) {
        return due(call);
    }
    return 0;
}
bool isLibuv(const char* file) {
    for (const char* at = file; at && *at; ++at) {
        if (at[0] == 'l' && at[1] == 'i' && at[2] == 'b' && at[3] == 'u' && at[4] == 'v') {
            return true;
        }
    }
    return false;
}

/** The argument that is there only when a file is made. */
unsigned modeOf(int flags, va_list list) {
    return flags & (createFile | temporaryFile) ? va_arg(list, unsigned) : 0;
}
} // namespace

[[gnu::constructor]] static void begin() {
    const char* path = getenv("MPR_FAULT");
    static void *open, *map, *close;
    const int fd = path ? next<int>(open, "open", path, readWrite) : failed;
    if (fd >= 0) {
        void* memory =
            next<void*>(map, "mmap", static_cast<void*>(nullptr), sizeof(Report), mayReadWrite, shared, fd, 0L);
        next<int>(close, "close", fd);
        report = memory != reinterpret_cast<void*>(-1) ? static_cast<Report*>(memory) : nullptr;
    }
    unsetenv("MPR_FAULT");
    unsetenv("LD_PRELOAD");
}

// NOLINTBEGIN: these are declared elsewhere, by the C library
extern "C" {

// ---- Descriptors ------------------------------------------------------------------------------------------------

int open(const char* path, int flags, ...) {
    static void* real;
    va_list list;
    va_start(list, flags);
    const unsigned mode = modeOf(flags, list);
    va_end(list);
    return tried<int>(due(callOpen), real, "open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    static void* real;
    va_list list;
    va_start(list, flags);
    const unsigned mode = modeOf(flags, list);
    va_end(list);
    return tried<int>(due(callOpen), real, "open64", path, flags, mode);
}

int __open64_2(const char* path, int flags) {
    static void* real;
    return tried<int>(due(callOpen), real, "__open64_2", path, flags);
}

int openat(int folder, const char* path, int flags, ...) {
    static void* real;
    va_list list;
    va_start(list, flags);
    const unsigned mode = modeOf(flags, list);
    va_end(list);
    return tried<int>(due(callOpen), real, "openat", folder, path, flags, mode);
}

int mkstemp64(char* path) {
    static void* real;
    return tried<int>(due(callOpen), real, "mkstemp64", path);
}

void* opendir(const char* path) {
    static void* real;
    if (const int error = due(callOpendir)) {
        errno = error;
        return nullptr;
    }
    return next<void*>(real, "opendir", path);
}

int socket(int family, int type, int protocol) {
    static void* real;
    return tried<int>(due(callSocket), real, "socket", family, type, protocol);
}

int accept4(int fd, void* address, unsigned* length, int flags) {
    static void* real;
    return tried<int>(due(callAccept), real, "accept4", fd, address, length, flags);
}

int pipe(int* ends) {
    static void* real;
    return tried<int>(due(callPipe), real, "pipe", ends);
}

int pipe2(int* ends, int flags) {
    static void* real;
    return tried<int>(due(callPipe), real, "pipe2", ends, flags);
}

int epoll_create1(int flags) {
    static void* real;
    return tried<int>(due(callEpollCreate), real, "epoll_create1", flags);
}

/** Only what is not registered yet needs memory. */
int epoll_ctl(int set, int operation, int fd, epoll_event* event) {
    static void* real;
    const int result = next<int>(real, "epoll_ctl", set, operation, fd, event);
    const int error = operation == controlAdd && result == 0 ? due(callEpollCtl) : 0;
    if (error) {
        next<int>(real, "epoll_ctl", set, controlDelete, fd, event);
    }
    return error ? refuse(error) : result;
}

int eventfd(unsigned value, int flags) {
    static void* real;
    return tried<int>(due(callEventfd), real, "eventfd", value, flags);
}

static int control(void*& real, const char* name, int fd, int command, long argument) {
    return tried<int>(command == duplicate || command == duplicateClosed ? due(callDup) : 0, real, name, fd, command,
                      argument);
}

int fcntl(int fd, int command, ...) {
    static void* real;
    va_list list;
    va_start(list, command);
    const long argument = va_arg(list, long);
    va_end(list);
    return control(real, "fcntl", fd, command, argument);
}

int fcntl64(int fd, int command, ...) {
    static void* real;
    va_list list;
    va_start(list, command);
    const long argument = va_arg(list, long);
    va_end(list);
    return control(real, "fcntl64", fd, command, argument);
}

int dup2(int fd, int other) {
    static void* real;
    return tried<int>(due(callDup), real, "dup2", fd, other);
}

int dup3(int fd, int other, int flags) {
    static void* real;
    return tried<int>(due(callDup), real, "dup3", fd, other, flags);
}

int close(int fd) {
    static void* real;
    const int error = dueFor(callClose, fd);
    const int result = next<int>(real, "close", fd); // the descriptor is gone, whatever is said of its data
    return error ? refuse(error) : result;
}

// ---- Bytes ------------------------------------------------------------------------------------------------------

long read(int fd, void* to, unsigned long size) {
    static void* real;
    return tried<long>(dueFor(callRead, fd), real, "read", fd, to, size);
}

long pread64(int fd, void* to, unsigned long size, long long at) {
    static void* real;
    return tried<long>(dueFor(callRead, fd), real, "pread64", fd, to, size, at);
}

long readv(int fd, const void* pieces, int count) {
    static void* real;
    return tried<long>(dueFor(callRead, fd), real, "readv", fd, pieces, count);
}

long recv(int fd, void* to, unsigned long size, int flags) {
    static void* real;
    return tried<long>(due(callRecv), real, "recv", fd, to, size, flags);
}

long recvmsg(int fd, void* message, int flags) {
    static void* real;
    return tried<long>(due(callRecv), real, "recvmsg", fd, message, flags);
}

long write(int fd, const void* from, unsigned long size) {
    static void* real;
    return tried<long>(fd == 2 ? 0 : dueFor(callWrite, fd), real, "write", fd, from,
                       size); // where messages go, that are what is looked for
}

long pwrite64(int fd, const void* from, unsigned long size, long long at) {
    static void* real;
    return tried<long>(dueFor(callWrite, fd), real, "pwrite64", fd, from, size, at);
}

long writev(int fd, const void* pieces, int count) {
    static void* real;
    return tried<long>(fd == 2 ? 0 : dueFor(callWrite, fd), real, "writev", fd, pieces, count);
}

long send(int fd, const void* from, unsigned long size, int flags) {
    static void* real;
    return tried<long>(due(callSend), real, "send", fd, from, size, flags);
}

long sendmsg(int fd, const void* message, int flags) {
    static void* real;
    return tried<long>(due(callSend), real, "sendmsg", fd, message, flags);
}

// ---- Files ------------------------------------------------------------------------------------------------------

int fsync(int fd) {
    static void* real;
    return tried<int>(due(callFsync), real, "fsync", fd);
}

int rename(const char* from, const char* to) {
    static void* real;
    return tried<int>(due(callRename), real, "rename", from, to);
}

int unlink(const char* path) {
    static void* real;
    return tried<int>(due(callUnlink), real, "unlink", path);
}

int mkdir(const char* path, unsigned mode) {
    static void* real;
    return tried<int>(due(callMkdir), real, "mkdir", path, mode);
}

// ---- Processes and threads --------------------------------------------------------------------------------------

int posix_spawn(int* pid, const char* path, const void* actions, const void* traits, char** arguments,
                char** environment) {
    static void* real;
    const int error = due(callSpawn);
    return error ? error : next<int>(real, "posix_spawn", pid, path, actions, traits, arguments, environment);
}

[[noreturn]] void abort() {
    static void* real;
    Dl_info info{};
    if (report && dladdr(__builtin_return_address(0), &info) != 0) {
        report->abortedByLibuv = isLibuv(info.dli_fname);
    }
    next<void>(real, "abort");
    __builtin_unreachable();
}

int waitid(int which, unsigned id, void* how, int options) {
    static void* real;
    return tried<int>(due(callWaitid), real, "waitid", which, id, how, options);
}

int pthread_create(unsigned long* thread, const void* traits, void* (*entry)(void*), void* argument) {
    static void* real;
    const int error = due(callThread);
    return error ? error : next<int>(real, "pthread_create", thread, traits, entry, argument);
}

int pthread_key_create(unsigned* key, void (*end)(void*)) {
    static void* real;
    const int error = due(callKey);
    return error ? error : next<int>(real, "pthread_key_create", key, end);
}

int pthread_setspecific(unsigned key, const void* value) {
    static void* real;
    const int error = due(callSetspecific);
    return error ? error : next<int>(real, "pthread_setspecific", key, value);
}

int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(), void* library) {
    static void* real;
    const int error = due(callAtfork);
    return error ? error : next<int>(real, "__register_atfork", prepare, parent, child, library);
}

// ---- Memory -----------------------------------------------------------------------------------------------------

void* mmap(void* at, unsigned long size, int protection, int flags, int fd, long offset) {
    static void* real;
    const int error = due(callMmap);
    return error ? reinterpret_cast<void*>(refuse<long>(error))
                 : next<void*>(real, "mmap", at, size, protection, flags, fd, offset);
}

void* mmap64(void* at, unsigned long size, int protection, int flags, int fd, long long offset) {
    static void* real;
    const int error = due(callMmap);
    return error ? reinterpret_cast<void*>(refuse<long>(error))
                 : next<void*>(real, "mmap64", at, size, protection, flags, fd, offset);
}

int munmap(void* at, unsigned long size) {
    static void* real;
    return tried<int>(due(callMunmap), real, "munmap", at, size);
}

int madvise(void* at, unsigned long size, int advice) {
    static void* real;
    return tried<int>(due(callMadvise), real, "madvise", at, size, advice);
}

int mprotect(void* at, unsigned long size, int protection) {
    static void* real;
    return tried<int>(due(callMprotect), real, "mprotect", at, size, protection);
}

// ---- Waiting ----------------------------------------------------------------------------------------------------

int poll(pollfd* descriptors, unsigned long count, int time) {
    static void* real;
    return tried<int>(due(callPoll), real, "poll", descriptors, count, time);
}

int epoll_pwait(int set, epoll_event* events, int most, int time, const void* mask) {
    static void* real;
    return tried<int>(due(callEpollWait), real, "epoll_pwait", set, events, most, time, mask);
}

int epoll_wait(int set, epoll_event* events, int most, int time) {
    static void* real;
    return tried<int>(due(callEpollWait), real, "epoll_wait", set, events, most, time);
}

long syscall(long number, ...) {
    static void* real;
    long a[6];
    va_list list;
    va_start(list, number);
    for (long& each : a) {
        each = va_arg(list, long);
    }
    va_end(list);
    return tried<long>(number == futexNumber && (a[1] & futexOperation) == futexWait ? due(callFutex) : 0, real,
                       "syscall", number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

// ---- The network, and the rest ----------------------------------------------------------------------------------

int getaddrinfo(const char* host, const char* service, const void* hints, void** found) {
    static void* real;
    const int error = due(callGetaddrinfo);
    return error ? error : next<int>(real, "getaddrinfo", host, service, hints, found);
}

int bind(int fd, const void* address, unsigned length) {
    static void* real;
    return tried<int>(due(callBind), real, "bind", fd, address, length);
}

int listen(int fd, int backlog) {
    static void* real;
    return tried<int>(due(callListen), real, "listen", fd, backlog);
}

int connect(int fd, const void* address, unsigned length) {
    static void* real;
    return tried<int>(due(callConnect), real, "connect", fd, address, length);
}

int getsockname(int fd, void* address, unsigned* length) {
    static void* real;
    return tried<int>(due(callGetsockname), real, "getsockname", fd, address, length);
}

int setsockopt(int fd, int level, int option, const void* value, unsigned length) {
    static void* real;
    return tried<int>(due(callSetsockopt), real, "setsockopt", fd, level, option, value, length);
}

long getrandom(void* to, unsigned long size, unsigned flags) {
    static void* real;
    return tried<long>(due(callGetrandom), real, "getrandom", to, size, flags);
}

} // extern "C"
// NOLINTEND
