// SPDX-License-Identifier: MIT
/*
    mpr/cpp/collect.hpp - Yield points, blocking regions, collections.
 */
#ifndef MPR_CPP_COLLECT_HPP
#define MPR_CPP_COLLECT_HPP

#include "mpr/cpp/detail/c_api.hpp"

namespace mpr {

/**
    A yield point: the collector may work here. What the thread needs afterwards must be rooted or held before.
    Returns at once when no collection waits, else when marking has ended.
    @param flags MPR_YIELD_DEFAULT, or MPR_YIELD_COMPLETE to wait until memory has been freed, too. For a sticky yield
    use BlockingRegion.
    Threads: does nothing on a thread that is not attached. Cost: one load when no collection waits.
 */
inline void yield(int flags = MPR_YIELD_DEFAULT) noexcept {
    mprYield(flags);
}

/** Whether yield() would wait. Threads: any. Yields: no. Cost: one load; for inner loops. */
inline bool needYield() noexcept {
    return mprNeedYield();
}

/**
    Collect garbage.
    @param flags MPR_GC_*. The default waits until the memory of everything that is neither rooted nor held has been
    freed and the destructors have run.
    @return Blocks freed by the collection waited for (MPR_GC_COMPLETE), else 0.
    Yields: yes, unless MPR_GC_NO_BLOCK.
 */
inline int collect(int flags = MPR_GC_FORCE | MPR_GC_COMPLETE) noexcept {
    return mprGC(flags);
}

/**
    A scope in which the thread is yielded: put it around calls that block (read, wait, join, sleep), so that no
    collection waits for this thread.

        {
            mpr::BlockingRegion blocking;
            received = recv(socket, buffer, size, 0);
        }

    Inside, the thread must neither touch managed memory nor call the runtime. A buffer for the call must be held or
    rooted: blocks never move. Regions do not nest: the end of the inner one ends the yield of both.

    Yields: from construction to destruction; the destructor waits while a collection marks.
    Threads: construct and destroy on the same, attached, thread. On others it does nothing.
 */
class BlockingRegion {
public:
    BlockingRegion() noexcept { mprYield(MPR_YIELD_STICKY); }
    ~BlockingRegion() { mprResetYield(); }
    BlockingRegion(const BlockingRegion&) = delete;
    BlockingRegion& operator=(const BlockingRegion&) = delete;
};

} // namespace mpr

#endif /* MPR_CPP_COLLECT_HPP */
