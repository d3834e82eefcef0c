// SPDX-License-Identifier: MIT
/*
    loop.hpp - The libuv loop: how the thread that services events waits, and is woken.

    That thread yields, polls libuv's descriptor, ends its yield, and only then lets libuv look what happened: callbacks
    never run while a collection may be marking. (Yielding in a prepare and a check callback would be unsound: others
    run between them.) Callbacks only queue events, so libuv is never entered twice.

    libuv's loop belongs to one thread at a time: whoever has the lock. Nobody waits inside.

    Handles other than the loop's own stand in permanent memory of their own, each at the start of its block. A callback may
    have fired what stands in that block as well, and libuv may close the handle in the same turn. So the loop keeps what
    has closed until freeClosed(), which is called when everything fired has been queued.

    libuv takes its memory from the heap while a Using exists (see memory.cpp): it counts against the limits.

    No code of the program is called while a Using exists, since it may want the loop itself: neither the notifier
    (memory.cpp) nor the log's handler (sayLater).
 */
#pragma once

#include <uv.h>

#include "mpr/os/lock.hpp"
#include "mpr/os/log.hpp"

namespace mpr::task {

class Loop {
public:
    /** @return 0, or libuv's error when memory or descriptors are short. */
    int open();
    /** Close all handles, then the loop. */
    void close();
    /** Close a handle of the loop in use. Its memory is freed after libuv has let go of it: freeClosed(). */
    static void discard(uv_handle_t* handle);
    /**
        Register a descriptor with the system in libuv's place, which ends the process when the system cannot. What it finds
        registered it only changes, for which the system needs no memory. The loop in use. @return 0 or libuv's error.
     */
    static int enroll(const uv_loop_t* loop, int fd);
    /** In a callback of libuv: log an error when libuv has returned. Of more than a few in a turn the last are left out. */
    static void sayLater(const uv_loop_t* loop, os::Message& message);

    /** Let libuv look, without waiting. */
    void turn();
    /** Free the memory of the handles that have closed. The thread that called turn(), after it. */
    void freeClosed();
    /** Wait, yielded, until something happens, wake() is called, or for milliseconds (negative: for ever). @return Whether to turn(). */
    bool wait(std::int64_t milliseconds, const void* site);
    /** End the wait that is or comes next. Any thread, also during a collection. */
    void wake() { uv_async_send(&async_); }

    /** The loop for the lifetime of this object; what is changed in it takes effect with the next turn. */
    class MPR_SCOPED_CAPABILITY Using {
    public:
        explicit Using(Loop& loop) MPR_ACQUIRES(loop.lock_);
        ~Using() MPR_RELEASES();
        Using(const Using&) = delete;
        Using& operator=(const Using&) = delete;
        uv_loop_t* operator*() const { return &loop_.loop_; }

    private:
        Loop& loop_;
    };

private:
    void sayNow();

    os::Lock lock_{os::outermost}; // libuv frees, and a free may find damage and name it
    uv_loop_t loop_{};
    uv_async_t async_{};
    uv_handle_t* closed_ = nullptr; // by data; belongs to the thread that turns, as the next two
    char later_[4][160] = {};
    unsigned laterCount_ = 0;
    int descriptor_ = -1;
};

/** Memory for libuv: see memory.cpp. Counted, so that it nests. */
void lendMemory(bool on);
/** Tell libuv, once a process. */
void replaceAllocator();

} // namespace mpr::task
