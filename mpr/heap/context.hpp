/*
    context.hpp - Allocation that finds no room in the thread's context: a block from a stale nursery or a hole, and what
    else of it serves as the next context.

    Inlined where the C API allocates, for the same reason as holes.hpp: this is the longest path of an allocation. What
    it leaves to others - a context that was held up, cold holes, regions - is in allocate.cpp.
 */
#pragma once

#include <algorithm>
#include <iterator>

#include "mpr/heap/holes.hpp"

namespace mpr::heap {

/** A thread has filled a nursery, or has to leave it. */
[[gnu::always_inline]] inline void Heap::leaveNursery(AllocationContext& c) {
    if constexpr (os::hasPages) {
        Nurseries& nurseries = c.region->nurseries;
        auto& unit = nurseries.units[nurseries.indexOf(c.region->granuleOf(c.end - granuleSize))];
        unit.used = static_cast<std::uint32_t>(c.region->granuleOf(c.bump));
        unit.blocks = static_cast<std::uint32_t>(c.blocks.get() - c.blocksBefore);
    }
}

/**
    `take` granules of a region were taken, of whose map the first `clear` are zero: make a block of the first n. The rest, if
    any, is the thread's new context. It is made before the lock is released: no dead block may precede unused memory (map.hpp).
 */
[[gnu::always_inline]] inline void* Heap::settle(Local& local, AllocationContext& c, Region* region, std::size_t g,
                                                 std::size_t take, std::size_t n, Byte h, std::size_t clear) {
    took(take);
    region->young.add(g, g + take);
    Byte* block = region->address(g);
    Byte* map = region->map().at(g);
    GranuleMap::setSizeBehind(map, n);
    std::atomic_ref<Byte>(*map).store(h, std::memory_order_relaxed);
    if (swar::wantFree(h)) {
        region->noteWantsFree(g);
    }
    if (take == n) {
        local.blocks.add(1);
        return block;
    }
    Byte* bump = block + (n << granuleShift);
    c.cleared = block + (clear << granuleShift);
    c.limit = c.cleared;
    if (c.nursery) {
        leaveNursery(c);
    } else if (c.bump != c.end) {
        local.remainders[local.remainderCount++] = {c.bump, c.end, c.region};
        c.limit = bump;
    }
    c.bump = bump;
    c.map = map + n;
    c.end = block + (take << granuleShift);
    c.region = region;
    c.blocksBefore = c.blocks.get();
    c.blocks.add(1);
    c.nursery = region->nurseries.fits(g, take);
    if constexpr (os::hasPages) {
        if (c.nursery) {
            region->nurseries.take(g, &local);
        }
    }
    return block;
}

/**
    How much of a hole to take for a block of n granules and a context of about `want`: up to where the next nursery can
    begin, so that the next context is one.
 */
[[gnu::always_inline]] inline std::size_t Heap::share(std::size_t g, std::size_t size, std::size_t n,
                                                      std::size_t want) const {
    if (size < 2 * n || want == n) {
        return n;
    }
    std::size_t take = want - (g & (want - 1));
    if (take <= greatestFromContext_) {
        take += want;
    }
    return std::min(size, take);
}

/** A block from the nursery that this thread has filled last and in which everything has died. The lock is held, and released. */
[[gnu::always_inline]] inline void* Heap::allocateInStale(Local& local, AllocationContext& c, std::size_t n, Byte h) {
    StaleNursery* stale = c.stale;
    c.stale = stale->next;
    const auto at = reinterpret_cast<std::uintptr_t>(stale);
    auto* region = reinterpret_cast<Region*>(at & (~std::uintptr_t{0} << regionShift_));
    const std::size_t g = region->granuleOf(stale);
    const std::size_t clear = std::max(n, Nurseries::step);
    region->map().clear(g, g + std::min(clear + swar::bytes, contextGranules_));
    void* block = settle(local, c, region, g, contextGranules_, n, h, std::min(clear, contextGranules_));
    lock_.unlock();
    return block;
}

/**
    From a stale nursery of this thread; else from the smallest warm hole that serves, so that large ones stay whole; for
    small blocks not the crumbs, each of which would serve a few blocks only. A hole that would serve only one such block
    gives that, and the context stays.
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
    if constexpr (os::hasPages) {
        if (c.stale && want != n) {
            return allocateInStale(local, c, n, h);
        }
    }
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
    const std::size_t take = share(g, size, n, want);
    carveWarm(region, g, size, take, queue);
    void* block = settle(local, c, region, g, take, n, h, take);
    lock_.unlock();
    return block;
}

} // namespace mpr::heap
