// SPDX-License-Identifier: MIT
/*
    loop.cpp - The libuv loop.
 */
#include "mpr/task/loop.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "mpr/memory.h"
#include "mpr/task/memory.hpp"
#include "mpr/task/waiting.hpp"

namespace mpr::task {

Loop::Using::Using(Loop& loop) : loop_(loop) {
    loop_.lock_.lock();
    lendMemory(true);
}

Loop::Using::~Using() {
    lendMemory(false);
    loop_.lock_.unlock();
}

/**
    Whether there are descriptors for a loop: two pipes, the last for the first loop of a process only, one to poll and one
    to be woken by. Where they run out in between, libuv 1.44 ends the process, or keeps some. @return 0 or libuv's error.
 */
static int tryDescriptors() {
    int ends[3][2];
    int pipes = 0;
    while (pipes < 3 && pipe2(ends[pipes], O_CLOEXEC) == 0) {
        ++pipes;
    }
    const int result = pipes == 3 ? 0 : -errno;
    while (pipes-- > 0) {
        ::close(ends[pipes][0]);
        ::close(ends[pipes][1]);
    }
    return result;
}

/**
    Take the places of standard input and output where they are closed. Else libuv's pipes may stand where the program
    writes its messages, and libuv ends a process that writes into its pipes. @return 0 or libuv's error.
 */
static int takeStandardPlaces() {
    int fd = 0;
    while (fd >= 0 && fd <= 2) {
        fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    }
    if (fd >= 0) {
        ::close(fd);
    }
    return fd < 0 && (errno == EMFILE || errno == ENFILE) ? -errno : 0;
}

/** The first loop of a process has libuv told of forks, which ends the process where there is no memory for that. */
static int tryForkHandler() {
    static bool tried = false; // with openings locked
    if (!tried && pthread_atfork(nullptr, nullptr, nullptr) != 0) {
        return UV_ENOMEM;
    }
    tried = true;
    return 0;
}

int Loop::enroll(const uv_loop_t* loop, int fd) {
    epoll_event nothing{};
    nothing.data.fd = fd;
    return epoll_ctl(uv_backend_fd(loop), EPOLL_CTL_ADD, fd, &nothing) == 0 || errno == EEXIST ? 0 : -errno;
}

/** Make libuv's loop, with its own descriptors enrolled. @return 0 or libuv's error. */
static int makeLoop(uv_loop_t* loop) {
    int result = uv_loop_init(loop);
    if (result != 0) {
        return result;
    }
    for (const int fd : {loop->async_io_watcher.fd, loop->signal_io_watcher.fd}) {
        if (fd >= 0 && result == 0) {
            result = Loop::enroll(loop, fd);
        }
    }
    if (result != 0) {
        uv_loop_close(loop);
    }
    return result;
}

int Loop::open() {
    replaceAllocator();
    if (!openLasting()) {
        return UV_ENOMEM;
    }
    Using using_(*this);
    int result = takeStandardPlaces();
    if (result == 0) {
        result = tryDescriptors();
    }
    if (result == 0) {
        result = tryForkHandler();
    }
    if (result == 0) {
        result = makeLoop(&loop_);
    }
    if (result == 0) {
        result = uv_async_init(&loop_, &async_, [](uv_async_t*) {});
        if (result == 0) {
            loop_.data = this;
            descriptor_ = uv_backend_fd(&loop_);
            uv_run(&loop_, UV_RUN_NOWAIT); // from here the descriptor tells of the async handle
            return 0;
        }
        uv_loop_close(&loop_);
    }
    return result;
}

void Loop::close() {
    laterCount_ = 0;
    Using using_(*this);
    uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr);
    uv_walk(
        &loop_,
        [](uv_handle_t* handle, void*) {
            if (!uv_is_closing(handle)) {
                discard(handle);
            }
        },
        nullptr);
    while (uv_run(&loop_, UV_RUN_NOWAIT) != 0) {}
    uv_loop_close(&loop_);
    freeClosed();
    descriptor_ = -1;
}

void Loop::discard(uv_handle_t* handle) {
    uv_close(handle, [](uv_handle_t* closed) {
        auto& loop = *static_cast<Loop*>(closed->loop->data);
        closed->data = loop.closed_;
        loop.closed_ = closed;
    });
}

void Loop::freeClosed() {
    while (uv_handle_t* handle = closed_) {
        closed_ = static_cast<uv_handle_t*>(handle->data);
        pfree(handle);
    }
}

void Loop::sayLater(const uv_loop_t* loop, os::Message& message) {
    auto& self = *static_cast<Loop*>(loop->data);
    if (self.laterCount_ < std::size(self.later_)) {
        char(&text)[sizeof(self.later_[0])] = self.later_[self.laterCount_++];
        std::strncpy(text, message.text(), sizeof(text) - 1);
    }
}

void Loop::sayNow() {
    for (unsigned i = 0; i < laterCount_; ++i) {
        os::Message message;
        os::log(os::Level::error, message << static_cast<const char*>(later_[i]));
    }
    laterCount_ = 0;
}

void Loop::turn() {
    {
        Using using_(*this);
        uv_run(&loop_, UV_RUN_NOWAIT);
    }
    sayNow();
}

bool Loop::wait(std::int64_t milliseconds, const void* site) {
    constexpr std::int64_t longest = 0x7FFFFFFF;
    pollfd descriptor{descriptor_, POLLIN, 0};
    Waiting waiting(site);
    return poll(&descriptor, 1, static_cast<int>(milliseconds < longest ? milliseconds : longest)) > 0;
}

} // namespace mpr::task
