// SPDX-License-Identifier: MIT
/*
    waiting.hpp - System calls of the file system: made by libuv, without a loop, on the calling thread.

    Calls for regular files and directories do not yield: programs keep unrooted blocks over them. Where the system may
    wait for somebody who writes into a pipe or types at a terminal, the thread is yielded meanwhile. That ends
    what keeps unrooted blocks alive, so what such a call needs is copied (paths) or held (buffers) before it.
 */
#pragma once

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <uv.h>

#include "mpr/task/waiting.hpp"
#include "mpr/types.h"

namespace mpr::io {

/** A path outside the heap. */
class PathCopy {
public:
    static constexpr std::size_t room = 4096; // PATH_MAX

    explicit PathCopy(const char* path) : length_(path ? strnlen(path, room) : room) {
        if (valid()) {
            std::memcpy(text_, path, length_);
            text_[length_] = '\0';
        }
    }
    /** Whether there was a path, not empty, and not longer than the system takes. */
    bool valid() const { return length_ > 0 && length_ < room; }
    const char* text() const { return text_; }
    char* text() { return text_; }
    std::size_t length() const { return length_; }

private:
    std::size_t length_;
    char text_[room];
};

/** One libuv file request, and what is to be given back after it. */
class Request {
public:
    /** @param waits The system may wait for others: yield meanwhile. Not in a manager. */
    explicit Request(bool waits = false) : waits_(waits) {}
    ~Request() {
        if (made_) {
            uv_fs_req_cleanup(&request_);
        }
    }
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    /**
        Make a call: call(uv_loop_t*, uv_fs_t*, arguments..., uv_fs_cb).
        @return What the call returns: a result or an error of libuv, below zero.
     */
    template <class Call, class... Arguments>
    int operator()(Call call, Arguments... arguments) {
        if (!waits_) {
            return make(call, arguments...);
        }
        const task::Waiting waiting(__builtin_return_address(0));
        return make(call, arguments...);
    }

    uv_fs_t* operator->() { return &request_; }
    uv_fs_t& get() { return request_; }

private:
    /**
        Again when a signal came in between: libuv does not repeat reading. It sets errno to 0; here it is the error, or, as
        after calls of the system, what it was before, so that closing what failed leaves it.
     */
    template <class Call, class... Arguments>
    int make(Call call, Arguments... arguments) {
        const int before = errno;
        int result = UV_EINTR;
        while (result == UV_EINTR) {
            if (made_) {
                uv_fs_req_cleanup(&request_);
            }
            made_ = true;
            result = call(nullptr, &request_, arguments..., nullptr);
        }
        errno = result < 0 ? -result : before;
        return result;
    }

    uv_fs_t request_;
    bool made_ = false;
    bool waits_;
};

/** Whether what a path names may let the system wait for others when it is opened: pipes, terminals, devices. */
inline bool mayWait(const PathCopy& path) {
    Request request;
    if (request(uv_fs_stat, path.text()) < 0) {
        return false;
    }
    const auto kind = request->statbuf.st_mode & S_IFMT;
    return kind != S_IFREG && kind != S_IFDIR && kind != S_IFBLK;
}

/** Milliseconds are not what programs for the MPR expect here. */
inline MprTime secondsOf(const uv_timespec_t& time) {
    return time.tv_sec;
}

} // namespace mpr::io
