// SPDX-License-Identifier: MIT
/*
    gc_host.cpp - The collector by request of a host: one generation, figures, limits of the start. mpr/host.h.
 */
#include <algorithm>
#include <bit>

#include "mpr/collect.h"
#include "mpr/gc/guard.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/host.h"
#include "mpr/os/lock.hpp"

namespace os = mpr::os;
using mpr::gc::runtime;
using mpr::heap::granuleShift;

namespace {

constinit os::Lock limitsLock{os::outermost};

int reject(const char* function, int error, const char* why) {
    os::Message message;
    os::log(os::Level::error, message << function << ": " << why);
    return error;
}

void readCounts(MprGCStats& stats) {
    const auto get = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
    const auto& collector = runtime().collector.stats();
    const mpr::heap::Totals totals = runtime().heap.totals();
    stats.collections[0] = get(collector.minors);
    stats.collections[1] = get(collector.majors);
    stats.induced = get(collector.induced);
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

const char* whyNot(std::size_t region, std::size_t young) {
    using namespace mpr::heap;
    if (region != 0 && (!std::has_single_bit(region) || region < std::size_t{1} << leastRegionShift ||
                        region > std::size_t{1} << greatestRegionShift)) {
        return "a region is a power of two from 64k to 64m";
    }
    return young > ~std::size_t{0} / 2 ? "no machine has so much memory for a young budget" : nullptr;
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
        return reject("mprReadGCStats", MPR_ERR_BAD_ARGS, "flags that there are not");
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

int mprSetGCStartupLimits(size_t regionSize, size_t youngBudget) {
    if (mpr::gc::running() || mpr::gc::isForked()) {
        return reject("mprSetGCStartupLimits", MPR_ERR_BAD_STATE, "there is a runtime; call it before mprCreate");
    }
    if (const char* why = whyNot(regionSize, youngBudget)) {
        return reject("mprSetGCStartupLimits", MPR_ERR_BAD_VALUE, why);
    }
    {
        const os::Locked locked(limitsLock);
        mpr::gc::StartupLimits& limits = mpr::gc::startupLimits;
        if (!limits.set) {
            limits = {true, regionSize != 0 ? static_cast<unsigned>(std::bit_width(regionSize)) - 1 : 0, youngBudget};
            return 0;
        }
    }
    return reject("mprSetGCStartupLimits", MPR_ERR_ALREADY_EXISTS, "they are set once in a process, and have been");
}
