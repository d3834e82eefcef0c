// SPDX-License-Identifier: MIT
/*
    context.hpp - Allocation that finds no room in the thread's context: it takes a block from a stale span or a
    hole, and the rest of that as the next context.

    This is the longest path of an allocation, so it is inlined where the C API allocates, as holes.hpp is. The rarer
    cases are in allocate.cpp: a context that was held up, cold holes, regions.
 */
#pragma once

#include <algorithm>
#include <iterator>

#include "mpr/heap/holes.hpp"

namespace mpr::heap {

/** Make a block at a place where the map is zero. */
MPR_INLINE Byte* Heap::makeBlock(Place at, NewBlock block) {
    Byte* map = at.mapByte();
    MPR_ASSERT(*map == 0 || GranuleMap::beginsHole(*map)); // the mark of the hole that is carved may still stand there
    MPR_ASSERT(at.hasRoom(block.size));
    GranuleMap::setSizeBehind(map, block.size);
    std::atomic_ref<Byte>(*map).store(block.head, std::memory_order_relaxed);
    if (head::wantsFree(block.head)) {
        at.region->noteWantsFree(at.granule);
    }
    return at.address();
}

/** Open a context over memory whose map is zero for the first `clear` granules. Its first n are a block. */
MPR_INLINE void AllocationContext::open(Extent memory, std::size_t n, std::size_t clear) {
    const auto [at, take] = memory;
    MPR_ASSERT(n <= clear && clear <= take && at.hasRoom(take));
    begin = at.address();
    bump = begin + (n << granuleShift);
    limit = cleared = begin + (clear << granuleShift);
    map = (at + n).mapByte();
    end = begin + (take << granuleShift);
    region = at.region;
    blocks.add(1);
    counts.opened();
}

/** Note the granules of blocks made in the part of a span that is the context. */
MPR_INLINE void AllocationContext::countTaken() {
    MPR_ASSERT(begin <= bump && bump <= end);
    span->taken += static_cast<std::uint32_t>(made());
    counts.made(made());
}

/** Leave the context if it is a span or a part of one, and note what was made there. */
MPR_INLINE void AllocationContext::leaveSpan() {
    if (os::hasPages && span) {
        countTaken();
        span->blocks = static_cast<std::uint32_t>(blocks.get() - blocksBefore);
        span = nullptr;
        gaps.clear();
        bump = end; // nothing is left over
    } else {
        counts.made(made());
    }
}

/** Leave the context before another is opened. What is left over becomes a hole later. */
MPR_INLINE void Heap::leaveContext(Local& local, AllocationContext& c) {
    c.check();
    c.leaveSpan();
    if (c.bump != c.end) {
        MPR_ASSERT(local.remainderCount < std::size(local.remainders));
        local.remainders[local.remainderCount++] = {c.bump, c.end, c.region};
    }
}

/** Hold the limit at bump if the next allocation has something to do first: see AllocationContext. */
MPR_INLINE void Heap::holdUp(const Local& local, AllocationContext& c) const {
    c.limit = local.remainderCount > 0 || steps() || poisons() ? c.bump : c.cleared;
}

/**
    Make a block at the start of memory that was taken. The rest, if any, becomes the thread's new context. The block is
    made before the lock is released, since no dead block may precede unused memory (map.hpp).
 */
MPR_INLINE void* Heap::settle(Local& local, AllocationContext& c, Taken taken, NewBlock block) {
    auto [at, take] = taken.memory;
    std::size_t clear = taken.clear;
    took(take);
    at.region->young.add(at.granule, at.granule + take);
    if (take == block.size) {
        local.blocks.add(1);
        local.counts.made(take);
        if (local.batch) [[unlikely]] {
            block.head |= head::referenced; // in no piece, though perhaps among the granules of one
        }
        return makeBlock(at, block);
    }
    if (Batch* batch = local.batch; batch && c.region) [[unlikely]] {
        batch->noteLeft(c);
    }
    leaveContext(local, c);
    if constexpr (os::hasPages) {
        Spans& spans = at.region->spans;
        if (spans.fits(at.granule, take) && spans_) {
            c.span = spans.take(at.granule, clear, &local, c.lane);
            at.region->map().set(at.granule, mark::opaque);
            ++at.granule, --take, --clear;
        }
    }
    c.blocksBefore = c.blocks.get();
    c.open({at, take}, block.size, clear);
    if (Batch* batch = local.batch) [[unlikely]] {
        batch->noteOpened(c);
    }
    holdUp(local, c);
    return makeBlock(at, block);
}

/**
    How much of a hole to take for a block of n granules and a context of about `want`. Taking ends where a span can
    begin, so that the next context is a span.
 */
MPR_INLINE std::size_t Heap::share(Place at, std::size_t size, std::size_t n, std::size_t want) const {
    if (size < 2 * n || want == n || at.region->spans.isWalked(at.granule)) {
        return n;
    }
    std::size_t take = want - (at.granule & (want - 1));
    if (take <= want / 4) {
        take += want;
    }
    return std::min(size, take);
}

/** Whether there is a span to go on in: another gap of this one, or one to be filled again. The lock is held. */
MPR_INLINE bool Heap::mayFillSpan(const AllocationContext& c) const {
    os::assertHeld(lock_);
    if constexpr (!os::hasPages) {
        return false;
    }
    return c.stale || c.sparse || spare_.hasRoomy(c.lane) || c.gaps.walked() != 0;
}

/**
    Allocate from a span of this thread, else from the smallest warm hole that serves, so that large holes stay
    whole. Small blocks skip tiny holes, which would serve only a few blocks each. From a hole that would serve only one
    such block just that block is taken, and the context stays.
 */
MPR_INLINE void* Heap::allocateInContext(Local& local, std::size_t n, Byte flags, Shortage& shortage) {
    if constexpr (!os::hasThreads) {
        return allocateShared(n, flags, local.privileged(), shortage); // straight from a hole: see open
    }
    local.counts.slow();
    const Byte h = newbornHead(local, flags);
    AllocationContext& c = contextFor(local, n);
    if (n <= QuickLists::greatest && local.quick.front(n)) [[unlikely]] {
        setDamagedAside(local, n);
    }
    if (n <= c.rest()) {
        return resumeContext(local, c, n, h);
    }
    if (local.batch && n <= contextGranules_ / 4) [[unlikely]] {
        if (void* block = allocateInRoom(local, c, n, h)) {
            return block;
        }
    }
    // The pieces of a batch lie in spans: from a hole it takes nothing back.
    std::size_t want = local.batch ? contextGranules_ : contextNow_.load(std::memory_order_relaxed);
    if (n > want / 4 || local.remainderCount == std::size(local.remainders)) [[unlikely]] {
        if (n > greatestInRegion_) {
            void* block = allocateShared(n, flags, local.privileged(), shortage);
            local.counts.made(block ? n : 0);
            return block;
        }
        want = n;
    }
    const bool takesSpans = want != n && want == contextGranules_;
    if constexpr (os::hasPages) {
        if (want != n && !c.gaps.isEmpty() && !local.batch) {
            if (void* block = allocateInGap(local, c, {n, h})) {
                return block;
            }
        }
    }
    const FreeQueues& queues = *c.queues;
    lock_.lock();
    if constexpr (os::hasPages) {
        if (takesSpans && mayFillSpan(c)) {
            if (void* block = allocateInSpan(local, c, {n, h})) {
                lock_.unlock();
                return block;
            }
        }
    }
    unsigned queue = FreeQueues::none;
    if (n <= c.least) {
        queue = queues.find(c.worth);
    }
    if (queue == FreeQueues::none) {
        if constexpr (os::hasPages) {
            SparseSpans& scanty = spare_.scanty(c.lane);
            if (takesSpans && scanty) {
                if (void* block = allocateInSparse(scanty, local, c, {n, h})) {
                    lock_.unlock();
                    return block;
                }
            }
        }
        if (limits_.isFull()) [[unlikely]] {
            noteScattered(c);
        }
        queue = queues.findWarm(n);
        if (queue == FreeQueues::none || FreeQueues::isOfSingles(queue)) [[unlikely]] {
            return allocateOtherwise(local, c, {n, h}, {want, queue}, shortage);
        }
    }
    const Hole* hole = queues.front(queue);
    const Place at = Place::of(regionOf(hole), hole);
    std::size_t size = 0;
    if (!sizeOfFront(at, size)) [[unlikely]] {
        lock_.unlock();
        return allocateSlow(local, n, flags, shortage);
    }
    const std::size_t take = share(at, size, n, want);
    carveWarm(at, size, take, queue);
    void* block = settle(local, c, {{at, take}, take}, {n, h});
    lock_.unlock();
    return block;
}

} // namespace mpr::heap
