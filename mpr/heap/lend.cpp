// SPDX-License-Identifier: MIT
/*
    lend.cpp - What a thread is told of its allocation contexts: mpr/context.h.
 */
#include <cstddef>

#include "mpr/heap/heap.hpp"

namespace mpr::heap {

static_assert(sizeof(Lane) == 1 && lanes <= 3 && (lanes == 1 || static_cast<unsigned>(Lane::lasting) == 1));
static_assert(offsetof(MprBump, begin) == offsetof(AllocationContext, begin));
static_assert(offsetof(MprBump, bump) == offsetof(AllocationContext, bump));
static_assert(offsetof(MprBump, limit) == offsetof(AllocationContext, limit));
static_assert(offsetof(MprBump, map) == offsetof(AllocationContext, map));
static_assert(offsetof(MprBump, blocks) == offsetof(AllocationContext, blocks));
static_assert(sizeof(Counter) == sizeof(std::size_t) && MPR_GRANULE_SHIFT == granuleShift);
static_assert(MPR_CONTEXT_GRANULES == greatestSmall && greatestSmall < mark::hole); // so one byte has the size

const MprContext& Heap::lend(Local& local) {
    if constexpr (os::hasThreads) {
        static constexpr Byte oneLane[greatestSmall + 1] = {};
        local.lent.newborn = &local.newborn;
        for (unsigned lane = 0; lane < 2; ++lane) {
            local.lent.bumps[lane] = reinterpret_cast<MprBump*>(&local.contexts[lane < lanes ? lane : 0]);
        }
        local.lent.lanes = lanes > 1 ? reinterpret_cast<const Byte*>(lifetimes_.table()) : oneLane;
    }
    return local.lent;
}

void Heap::recall(Local& local) {
    if (local.lent.lanes) {
        for (AllocationContext& c : local.contexts) {
            c.limit = c.bump;
        }
    }
}

MprAllocStats Heap::allocationStats(const Local& local, bool calling) {
    MprAllocStats stats{};
    const auto get = [](const os::Counter& count) { return count.load(std::memory_order_relaxed); };
    std::uint64_t granules = get(local.counts.granules) + local.takenGranules.get();
    stats.slowPaths = get(local.counts.slowPaths);
    for (const AllocationContext& c : local.contexts) {
        granules += get(c.counts.granules) + (calling ? c.made() : 0);
        stats.contexts += get(c.counts.contexts);
    }
    stats.bytes = granules << granuleShift;
    return stats;
}

} // namespace mpr::heap
