// SPDX-License-Identifier: MIT
/*
    test/fault/syscalls/calls.hpp - The calls that can be made to fail, and what the program that fails and the one that
    looks on say to each other.

    The library of preload/ stands between a program and the C library. MPR_FAULT names a file of one Report, which both
    map: the one who looks on has written the fault, the library counts.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace syscalls {

/** Calls of one kind are counted together: open, open64 and openat are all `open`. */
enum Call : std::uint32_t {
    callOpen,
    callOpendir,
    callSocket,
    callAccept,
    callPipe,
    callEpollCreate,
    callEpollCtl,
    callEventfd,
    callDup,
    callRead,
    callRecv,
    callWrite,
    callSend,
    callFsync,
    callClose,
    callRename,
    callUnlink,
    callMkdir,
    callSpawn,
    callThread,
    callMmap,
    callMunmap,
    callMadvise,
    callMprotect,
    callKey,
    callSetspecific,
    callAtfork,
    callGetaddrinfo,
    callPoll,
    callEpollWait,
    callWaitid,
    callFutex,
    callBind,
    callListen,
    callConnect,
    callGetsockname,
    callSetsockopt,
    callGetrandom,
    callCount
};

inline constexpr const char* callNames[callCount] = {
    "open",   "opendir",     "socket",  "accept",      "pipe",       "epoll_create", "epoll_ctl", "eventfd",
    "dup",    "read",        "recv",    "write",       "send",       "fsync",        "close",     "rename",
    "unlink", "mkdir",       "spawn",   "thread",      "mmap",       "munmap",       "madvise",   "mprotect",
    "key",    "setspecific", "atfork",  "getaddrinfo", "poll",       "epoll_wait",   "waitid",    "futex",
    "bind",   "listen",      "connect", "getsockname", "setsockopt", "getrandom"};

struct Report {
    // The fault: the nth call of a kind fails with an error, and with `on` all that follow.
    std::uint32_t call = callCount; // callCount: none
    std::int32_t error = 0;
    std::uint64_t nth = 0;
    bool on = false;
    // What the program did. Other threads of it count, too: by atomic builtins.
    std::uint64_t calls[callCount] = {};
    std::uint64_t failed = 0;
    bool abortedByLibuv = false;
};

} // namespace syscalls
