/*
    waiting.hpp - System calls of the file system: made by libuv, without a loop, on the calling thread, which is yielded
    meanwhile.

    A yield ends what keeps unrooted blocks alive, so what a call needs is copied (paths) or held (buffers) before it.
 */
#pragma once

#include <cstring>
#include <uv.h>

#include "mpr/task/waiting.hpp"
#include "mpr/types.h"

namespace mpr::io {

/** A path outside the heap. */
class PathCopy {
public:
    static constexpr std::size_t room = 4096;

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
    /** @param yields false: in a manager, whose block must not be collected meanwhile. */
    explicit Request(bool yields = true) : yields_(yields) {}
    ~Request() {
        if (made_) {
            uv_fs_req_cleanup(&request_);
        }
    }
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    /**
        Make a call while this thread is yielded, if it is not already: call(uv_loop_t*, uv_fs_t*, arguments..., uv_fs_cb).
        @return What the call returns: a result or an error of libuv, below zero.
     */
    template <class Call, class... Arguments>
    int operator()(Call call, Arguments... arguments) {
        if (made_) {
            uv_fs_req_cleanup(&request_);
        }
        made_ = true;
        if (!yields_) {
            return call(nullptr, &request_, arguments..., nullptr);
        }
        const task::Waiting waiting(__builtin_return_address(0));
        return call(nullptr, &request_, arguments..., nullptr);
    }

    uv_fs_t* operator->() { return &request_; }
    uv_fs_t& get() { return request_; }

private:
    uv_fs_t request_;
    bool made_ = false;
    bool yields_;
};

/** Milliseconds are not what programs for the MPR expect here. */
inline MprTime secondsOf(const uv_timespec_t& time) {
    return time.tv_sec;
}

} // namespace mpr::io
