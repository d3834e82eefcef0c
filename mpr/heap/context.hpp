/*
    context.hpp - Allocation that finds no room in the thread's context: a block from a hole, and what else of the hole
    serves as the next context.

    Inlined where the C API allocates, for the same reason as holes.hpp: this is the longest path of an allocation. What
    it leaves to others - a context that was held up, cold holes, regions - is in allocate.cpp.
 */
#pragma once

#include <algorithm>
#include <iterator>

#include "mpr/heap/holes.hpp"

namespace mpr::heap {

/**
    `take` granules of a region were taken from a hole: make a block of the first n. The rest, if any, is the thread's new
    context. It is made before the lock is released: no dead block may precede unused memory (map.hpp).
 */
[[gnu::always_inline]] inline void* Heap::settle(Local& local, AllocationContext& c, Region* region, std::size_t g,
                                                 std::size_t take, std::size_t n, Byte h) {
    took(take);
    region->young.add(g, g + take);
    Byte* block = region->address(g);
    Byte* map = region->map().at(g);
    GranuleMap::setSizeBehind(map, n);
    std::atomic_ref<Byte>(*map).store(h, std::memory_order_relaxed);
    if (swar::wantFree(h)) {
        region->noteWantsFree(g);
    }
    local.blocks.add(1);
    if (take > n) {
        Byte* bump = block + (n << granuleShift);
        Byte* end = block + (take << granuleShift);
        Byte* limit = end;
        if (c.bump != c.end) {
            local.remainders[local.remainderCount++] = {c.bump, c.end, c.region};
            limit = bump;
        }
        c.bump = bump;
        c.limit = limit;
        c.map = map + n;
        c.end = end;
        c.region = region;
    }
    return block;
}

/**
    From the smallest warm hole that serves, so that large ones stay whole; for small blocks not the crumbs, each of which
    would serve a few blocks only. A hole that would serve only one such block gives that, and the context stays.
 */
[[gnu::always_inline]] inline void* Heap::allocateInContext(Local& local, std::size_t n, Byte flags,
                                                            Shortage& shortage) {
    const Byte h = static_cast<Byte>(head::inUse | flags | local.newborn);
    AllocationContext& c = local.contextFor(n);
    if (n <= c.rest()) {
        return resumeContext(local, c, n, h);
    }
    std::size_t want = contextGranules_;
    if (n > greatestFromContext_ || local.remainderCount == std::size(local.remainders)) [[unlikely]] {
        if (n > greatestInRegion_) {
            return allocateShared(n, flags, local.privileged, shortage);
        }
        want = n;
    }
    const FreeQueues& queues = *c.queues;
    lock_.lock();
    unsigned queue = FreeQueues::none;
    if (n <= c.least) {
        queue = queues.find(c.worth);
    }
    if (queue == FreeQueues::none) {
        queue = queues.findWarm(n);
        if (queue == FreeQueues::none || FreeQueues::isOfSingles(queue)) [[unlikely]] {
            return allocateOtherwise(local, c, n, want, h, queue, shortage);
        }
    }
    const auto* hole = static_cast<WideHole*>(queues.front(queue));
    const std::size_t size = hole->size;
    const std::size_t g = hole->placement;
    auto* region = reinterpret_cast<Region*>(reinterpret_cast<std::uintptr_t>(hole) - (g << granuleShift));
    const std::size_t take = size < 2 * n ? n : std::min(size, want);
    carveWarm(region, g, size, take, queue);
    void* block = settle(local, c, region, g, take, n, h);
    lock_.unlock();
    return block;
}

} // namespace mpr::heap
