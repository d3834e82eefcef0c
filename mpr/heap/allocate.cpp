/*
    allocate.cpp - Allocation that takes the lock: contexts, larger blocks, large regions.
*/
#include <algorithm>

#include "mpr/heap/holes.hpp"

namespace mpr::heap {

namespace {
/** By sort, the granules of a hole that is worth a context: tails of old ones would serve a few blocks only. */
constexpr std::size_t leastContext[sorts] = {64, 256};
constexpr FreeQueues::Words warmContexts[sorts] = {FreeQueues::warmWordsFrom(leastContext[0]),
                                                   FreeQueues::warmWordsFrom(leastContext[1])};
} // namespace

void Heap::attach(Local& local) {
    os::Locked locked(lock_);
    local.newborn = colours_.newborn();
    local.next = locals_;
    local.previous = nullptr;
    if (locals_) {
        locals_->previous = &local;
    }
    locals_ = &local;
}

void Heap::detach(Local& local) {
    flushQuickLists(local);
    os::Locked locked(lock_);
    closeContexts(local);
    totals_.blocksAllocated += local.blocks.take();
    totals_.blocksFreed += local.freedBlocks.take();
    totals_.granulesFreed += local.freedGranules.take();
    totals_.granulesAllocated += local.takenGranules.take();
    (local.previous ? local.previous->next : locals_) = local.next;
    if (local.next) {
        local.next->previous = local.previous;
    }
}

void Heap::close(const Remainder& r) {
    const std::size_t n = static_cast<std::size_t>(r.end - r.begin) >> granuleShift;
    giveBack(r.region, r.region->granuleOf(r.begin), n);
    totals_.granulesAllocated -= n;
    since_ -= n;
}

void Heap::closeContexts(Local& local) {
    while (local.remainderCount > 0) {
        close(local.remainders[--local.remainderCount]);
    }
    for (AllocationContext& c : local.contexts) {
        if (c.rest() > 0) {
            close({c.bump, c.end, c.region});
        }
        c = {};
    }
}

/**
    Make the front hole of a queue a context: `want` granules of it or some more, but n when it would serve only one such
    block, or when the limit allows no more. @return false: past the limit.
 */
[[gnu::always_inline]] inline bool Heap::openIn(unsigned queue, Sort sort, std::size_t n, std::size_t want,
                                                bool privileged, AllocationContext& context) {
    Hole* hole = queues_[static_cast<unsigned>(sort)].front(queue);
    Region* region = regionOf(hole, queue);
    const std::size_t g = region->granuleOf(hole);
    const std::size_t size = FreeQueues::isOfSingles(queue) ? 1 : static_cast<WideHole*>(hole)->size;
    std::size_t take = std::min(size, want);
    if (size < 2 * n) {
        take = n;
    } else if (!FreeQueues::isWarm(queue) && size < 2 * want) {
        take = size; // a tail with an uncommitted chunk would stay cold, and so the whole region when it is empty again
    }
    while (!carve(region, g, size, take, privileged, queue)) {
        if (take == n) {
            return false;
        }
        take = n;
    }
    auto* begin = reinterpret_cast<Byte*>(hole);
    Byte* end = begin + (take << granuleShift);
    context = {begin, end, region->map().at(g), end, region};
    took(take);
    return true;
}

/** No warm hole serves: the heap grows. When it may not, anything goes. */
[[gnu::cold, gnu::noinline]] bool Heap::openScarce(Sort sort, std::size_t n, std::size_t want, bool privileged,
                                                   AllocationContext& context, Shortage& shortage) {
    unsigned queue = findFresh(sort, want, privileged, shortage);
    if (queue != FreeQueues::none && openIn(queue, sort, n, want, privileged, context)) {
        return true;
    }
    for (const bool warm : {true, false}) {
        for (const Sort s : {Sort::small, Sort::big}) {
            const FreeQueues& queues = queues_[static_cast<unsigned>(s)];
            queue = warm ? queues.findWarm(n) : queues.findCold(n);
            if (queue != FreeQueues::none && openIn(queue, s, n, n, privileged, context)) {
                return true;
            }
        }
    }
    if (shortage == Shortage::none) {
        shortage = Shortage::limit;
    }
    return false;
}

/**
    A block from a new context of the thread: the smallest warm hole that serves, so that large ones stay whole; for small
    blocks not the crumbs, each of which would serve a few blocks only.
 */
void* Heap::allocateSlow(Local& local, std::size_t n, Byte flags, Shortage& shortage) {
    // A block that would use up much of a context comes straight from a hole.
    if (n > contextGranules_ / 4) {
        return allocateShared(n, flags, local.privileged, shortage);
    }
    const Byte h = static_cast<Byte>(head::inUse | flags | local.newborn);
    AllocationContext& c = local.contexts[static_cast<unsigned>(sortOf(n))];
    os::Locked locked(lock_);
    if (n <= c.rest()) {
        // Held up: see AllocationContext.
        if (local.remainderCount > 0) {
            close(local.remainders[--local.remainderCount]);
        }
        c.limit = c.end;
        void* block = bump(c, n, h);
        c.limit = local.remainderCount > 0 ? c.bump : c.end;
        local.blocks.add(1);
        return block;
    }
    const Sort sort = buffer_ ? Sort::small : sortOf(n);
    const FreeQueues& queues = queues_[static_cast<unsigned>(sort)];
    const bool full = local.remainderCount == std::size(local.remainders);
    const std::size_t want = full ? n : contextGranules_;
    unsigned queue = FreeQueues::none;
    if (n <= leastContext[static_cast<unsigned>(sort)]) {
        queue = queues.find(warmContexts[static_cast<unsigned>(sort)]);
    }
    if (queue == FreeQueues::none) {
        queue = queues.findWarm(n, coldContexts_);
    }
    AllocationContext context;
    if (queue == FreeQueues::none || !openIn(queue, sort, n, want, local.privileged, context)) [[unlikely]] {
        if (!openScarce(sort, n, want, local.privileged, context, shortage)) {
            return nullptr;
        }
    }
    // The first block is made before the lock is released: no dead block may precede unused memory (map.hpp).
    void* block = bump(context, n, h);
    local.blocks.add(1);
    if (context.bump != context.end) {
        if (c.bump != c.end) {
            local.remainders[local.remainderCount++] = {c.bump, c.end, c.region};
            context.limit = context.bump;
        }
        c = context;
    }
    return block;
}

void* Heap::allocateShared(std::size_t n, Byte flags, bool privileged, Shortage& shortage) {
    os::Locked locked(lock_);
    const Byte h = static_cast<Byte>(head::inUse | flags | colours_.newborn());
    void* block = nullptr;
    if (n <= greatestInRegion_) {
        block = carveBlock(n, h, privileged, shortage);
    } else if (buffer_) {
        shortage = Shortage::tooBig;
    } else {
        Region* region = reuseRetired(n);
        if (!region) {
            region = addLarge(n, privileged, shortage);
        }
        if (region) {
            block = region->address(region->firstGranule);
            region->map().setSizeElsewhere(region->firstGranule);
            region->map().set(region->firstGranule, h);
            if (swar::wantFree(h)) {
                region->noteWantsFree(0);
            }
        }
    }
    if (block) {
        took(n);
        ++totals_.blocksAllocated;
    }
    return block;
}

} // namespace mpr::heap
