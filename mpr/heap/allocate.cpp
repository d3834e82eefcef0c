/*
    allocate.cpp - Allocation that takes the lock: contexts, larger blocks, large regions.
*/
#include <algorithm>

#include "mpr/heap/heap.hpp"

namespace mpr::heap {

namespace {
/** By sort, the granules of a hole that is worth a context: tails of old ones would serve a few blocks only. */
constexpr std::size_t leastContext[] = {64, 256};
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

/** Account for granules that left the queues for a context or a block. */
void Heap::took(std::size_t granules) {
    totals_.granulesAllocated += granules;
    since_ += granules << granuleShift;
    // Once a trigger: the next one is set when the collection that this one starts has swept.
    if (since_ >= trigger_) {
        trigger_ = ~std::size_t{0};
        budgetSpent_ = true;
    }
    if (budgetSpent_ || limits_.warned()) {
        attention_.store(true, std::memory_order_relaxed);
    }
}

void Heap::closeContext(AllocationContext& c) {
    if (const std::size_t rest = c.region ? c.room() : 0; rest > 0) {
        giveBack(c.region, c.region->granuleOf(c.bump), rest);
        totals_.granulesAllocated -= rest;
        since_ -= rest << granuleShift;
    }
    c = {};
}

void Heap::closeContexts(Local& local) {
    for (AllocationContext& context : local.contexts) {
        closeContext(context);
    }
}

/** Make (a part of) a queued hole the thread's context: `want` granules, or n when the limit allows no more. */
bool Heap::openIn(Local& local, Hole* hole, std::size_t want, std::size_t n) {
    Region* region = table_.find(hole);
    const std::size_t g = region->granuleOf(hole);
    const std::size_t size = region->map().holeSize(g);
    std::size_t take = size < want ? size : want;
    if (!carve(region, g, size, take, local.privileged)) {
        take = n;
        if (take == size || !carve(region, g, size, take, local.privileged)) {
            return false;
        }
    }
    auto* begin = reinterpret_cast<Byte*>(hole);
    local.contexts[static_cast<unsigned>(sortOf(n))] = {begin, begin + (take << granuleShift), region->map().at(g),
                                                        region};
    took(take);
    return true;
}

/**
    Give the thread a context with room for n granules: the smallest warm hole that serves, so that large ones stay whole;
    for small blocks not the crumbs, each of which would serve a few blocks only. Then the heap grows. When it may not,
    anything goes.
 */
bool Heap::openContext(Local& local, std::size_t n, Shortage& shortage) {
    const Sort sort = fixed() ? Sort::small : sortOf(n);
    const auto own = static_cast<unsigned>(sort);
    const std::size_t want = n < contextGranules_ ? contextGranules_ : n;
    const std::size_t least = std::max(n, leastContext[own]);
    Hole* hole = warm_[own].find(least);
    if (!hole) {
        hole = warm_[own].find(n);
    }
    if (hole && openIn(local, hole, want, n)) {
        return true;
    }
    hole = findFresh(sort, want, local.privileged, shortage);
    if (hole && openIn(local, hole, want, n)) {
        return true;
    }
    for (unsigned queue = 0; queue < 2 * sorts; ++queue) {
        FreeQueues& holes = (queue % 2 == 0 ? warm_ : cold_)[queue / 2];
        hole = holes.find(n);
        if (hole && openIn(local, hole, n, n)) {
            return true;
        }
        // The smallest cold hole may lie in memory that the limit forbids; the largest is mostly memory once used.
        hole = hole ? holes.largest() : nullptr;
        if (hole && openIn(local, hole, n, n)) {
            return true;
        }
    }
    if (shortage == Shortage::none) {
        shortage = Shortage::limit;
    }
    return false;
}

void* Heap::allocateSlow(Local& local, std::size_t n, Byte flags, Shortage& shortage) {
    // A block that would use up much of a context comes straight from a hole.
    if (n > contextGranules_ / 4) {
        return allocateShared(n, flags, local.privileged, shortage);
    }
    os::Locked locked(lock_);
    closeContext(local.contexts[static_cast<unsigned>(sortOf(n))]);
    // The first block is made before the lock is released: no dead block may precede unused memory (map.hpp).
    return openContext(local, n, shortage) ? allocateFast(local, n, flags) : nullptr;
}

void* Heap::allocateShared(std::size_t n, Byte flags, bool privileged, Shortage& shortage) {
    os::Locked locked(lock_);
    const Byte h = static_cast<Byte>(head::inUse | flags | colours_.newborn());
    void* block = nullptr;
    if (n <= greatestInRegion_) {
        block = carveBlock(n, h, privileged, shortage);
    } else if (fixed()) {
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
