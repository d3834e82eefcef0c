// SPDX-License-Identifier: MIT
/*
    gc_host.cpp - The collector by request of a host: one generation, and figures. mpr/host.h. On boards, too.
 */
#include <algorithm>
#include <cstdint>

#include "mpr/collect.h"
#include "mpr/gc/guard.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/host.h"

using mpr::gc::runtime;
using mpr::heap::granuleShift;

namespace {

void readCounts(MprGCStats& stats) {
    const auto& collector = runtime().collector.stats();
    const mpr::heap::Totals totals = runtime().heap.totals();
    stats.collections[0] = collector.minorCollections();
    stats.collections[1] = collector.majorCollections();
    stats.induced = collector.inducedCollections();
    stats.blocks = totals.blocksAllocated - totals.blocksFreed;
    stats.freed = totals.blocksFreed;
}

void readMemory(MprGCStats& stats) {
    mpr::heap::Heap& heap = runtime().heap;
    const mpr::heap::Heap::Usage usage = heap.usage();
    const mpr::heap::Totals totals = heap.totals();
    stats.reserved = usage.reserved;
    stats.large = usage.large;
    stats.committed = heap.limits().committed();
    stats.tables = totals.overheadBytes;
    stats.inBlocks = std::uint64_t{totals.granulesInUse()} << granuleShift;
    stats.young = std::min<std::uint64_t>(heap.allocatedSince(), stats.inBlocks);
    stats.old = stats.inBlocks - stats.young;
}
} // namespace

int mprGCCollect(int generation) {
    if (!mpr::gc::admitYielding("mprGCCollect")) {
        return MPR_ERR_BAD_STATE;
    }
    if (generation < -1 || generation > 1) {
        mpr::gc::misuse("mprGCCollect", nullptr, "no generation: 0 for young blocks, 1 or -1 for all");
        return MPR_ERR_BAD_ARGS;
    }
    mprGC(MPR_GC_COMPLETE | (generation == 0 ? MPR_GC_MINOR : MPR_GC_MAJOR));
    return 0;
}

int mprReadGCStats(int flags, MprGCStats* stats) {
    if (!mpr::gc::mayFill("mprReadGCStats", stats)) {
        return MPR_ERR_BAD_ARGS;
    }
    *stats = {};
    if ((flags & ~(MPR_GC_STATS_COUNTS | MPR_GC_STATS_MEMORY)) != 0) {
        mpr::gc::misuse("mprReadGCStats", nullptr, "flags that there are not");
        return MPR_ERR_BAD_ARGS;
    }
    const mpr::gc::Stay stay("mprReadGCStats");
    if (!stay) {
        return MPR_ERR_BAD_STATE;
    }
    if (flags & MPR_GC_STATS_COUNTS) {
        readCounts(*stats);
    }
    if (flags & MPR_GC_STATS_MEMORY) {
        readMemory(*stats);
    }
    return 0;
}
