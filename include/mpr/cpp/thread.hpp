// SPDX-License-Identifier: MIT
/*
    mpr/cpp/thread.hpp - Attach a thread that was made elsewhere.
 */
#ifndef MPR_CPP_THREAD_HPP
#define MPR_CPP_THREAD_HPP

#include "mpr/cpp/detail/c_api.hpp"

namespace mpr {

/**
    Attaches the calling thread, so that it may use managed memory, and detaches it at the end of the scope.
    On a thread that is attached already it changes nothing, neither now nor at the end.

        std::thread worker([] {
            mpr::AttachedThread attached("worker");
            if (!attached) { ... }
        });

    Threads: construct and destroy on the same thread. Roots and Held of that thread must be gone before the end.
    Yields: the constructor waits while a collection marks; the destructor is a yield for good.
 */
class AttachedThread {
public:
    /** @param name Copied; for messages. */
    explicit AttachedThread(const char* name = "attached") noexcept : error_(mprAttachThread(name)) {}

    ~AttachedThread() {
        if (error_ == 0) {
            mprDetachThread();
        }
    }
    AttachedThread(const AttachedThread&) = delete;
    AttachedThread& operator=(const AttachedThread&) = delete;

    /** Whether this object attached the thread. */
    explicit operator bool() const noexcept { return error_ == 0; }

    /** 0; MPR_ERR_BAD_STATE when it was attached already or there is no runtime; MPR_ERR_MEMORY. */
    int error() const noexcept { return error_; }

private:
    int error_;
};

} // namespace mpr

#endif /* MPR_CPP_THREAD_HPP */
