// SPDX-License-Identifier: MIT
/*
    usage.cpp - How much is in use and how much is free: figures, without a look into maps.
 */
#include <algorithm>

#include "mpr/heap/heap.hpp"

namespace mpr::heap {

Heap::Usage Heap::usage() {
    Usage result;
    if (const Annex* others = annex(); os::hasThreads && others) {
        result.reserved = others->reserved();
    }
    os::Locked locked(lock_);
    for (Region* region = regions_; region; region = region->next) {
        result.reserved += region->length;
        if (region->isLarge() && region->map().get(region->firstGranule) != 0) { // else its block is gone
            result.large += std::uint64_t{region->largeGranules} << granuleShift;
        }
    }
    return result;
}

std::size_t Heap::freeBytesLocked() const {
    os::assertHeld(lock_);
    if constexpr (!os::hasPages) {
        return regions_->length - limits_.committed();
    }
    const std::size_t other = (totals_.granulesInUse() << granuleShift) + totals_.overheadBytes + serving_.lent;
    return limits_.committed() > other ? limits_.committed() - other : 0;
}

std::size_t Heap::freeBytes() {
    os::Locked locked(lock_);
    return freeBytesLocked();
}

Totals Heap::totals() {
    os::Locked locked(lock_);
    Totals result = totals_;
    if constexpr (!os::hasPages) {
        const std::size_t inUse = limits_.committed() - result.overheadBytes;
        result.granulesAllocated += trigger_.since();
        result.granulesFreed = result.granulesAllocated - (inUse >> granuleShift);
        return result;
    }
    for (const Local* local = locals_; local; local = local->next) {
        result.blocksAllocated += local->blocks.get();
        for (const AllocationContext& c : local->contexts) {
            result.blocksAllocated += c.blocks.get();
        }
        result.blocksFreed += local->freedBlocks.get();
        result.granulesFreed += local->freedGranules.get();
        result.granulesAllocated += local->takenGranules.get();
    }
    return result;
}

std::uint64_t Heap::granulesInUse() {
    const Totals t = totals();
    return t.granulesAllocated - t.granulesFreed;
}

std::size_t Heap::largestFree() {
    os::Locked locked(lock_);
    std::size_t largest = 0;
    for (const FreeQueues& queues : queues_) {
        if (Hole* hole = queues.largest(true)) {
            Region* region = table_.find(hole);
            largest = std::max(largest, region->holeSize(region->granuleOf(hole)) << granuleShift);
        }
    }
    return largest;
}

} // namespace mpr::heap
