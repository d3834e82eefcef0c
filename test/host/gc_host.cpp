// SPDX-License-Identifier: MIT
/*
    test/host/gc_host.cpp - The collector by request: generations, figures against a walk of the heap, limits of the start.
 */
#include "mpr/host.h"
#include "test/support/node.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"

#include "mpr/gc/runtime.hpp"

using namespace test;

namespace {

/* What a walk of the heap finds. */
struct Walk {
    unsigned long long blocks = 0, bytes = 0;
};
Walk walk() {
    Walk found;
    mpr::gc::runtime().heap.forEachBlock(
        [](void *context, mpr::heap::Byte *, size_t n, mpr::heap::Byte) {
            auto &all = *static_cast<Walk *>(context);
            all.blocks++;
            all.bytes += n << mpr::heap::granuleShift;
        },
        &found);
    return found;
}

MprGCStats read(int flags = MPR_GC_STATS_COUNTS | MPR_GC_STATS_MEMORY) {
    MprGCStats stats;
    REQUIRE(mprReadGCStats(flags, &stats) == 0);
    return stats;
}
} // namespace

TEST_CASE("a generation is collected by request", "[host][generations]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    void *kept = mprAllocMem(100, MPR_ALLOC_HOLD);
    const MprGCStats before = read();
    CHECK(mprGCCollect(0) == 0);
    const MprGCStats minor = read();
    CHECK(minor.collections[0] > before.collections[0]);
    CHECK(minor.collections[1] == before.collections[1]);
    CHECK(minor.induced == before.induced + 1);
    for (int i = 0; i < 100; i++) {
        mprAlloc(50);
    }
    CHECK(mprGCCollect(1) == 0);
    const MprGCStats major = read();
    CHECK(major.collections[1] > minor.collections[1]);
    CHECK(major.freed >= minor.freed + 100);
    mprRelease(kept);
    CHECK(mprIsValid(kept));
    CHECK(mprGCCollect(-1) == 0);
    CHECK(!mprIsValid(kept)); // it had grown old
    CHECK(read().collections[1] > major.collections[1]);
    CHECK(mprGCCollect(2) == MPR_ERR_BAD_ARGS);
    CHECK(mprGCCollect(-2) == MPR_ERR_BAD_ARGS);
    CHECK(Log::count("mprGCCollect") == 2);
}

TEST_CASE("the collector's figures are those of a walk of the heap", "[host][generations]") {
    Runtime runtime("everyyield=0,everyalloc=0,region=256k");
    mprEnableGC(false); // but by request
    constexpr size_t largeSize = 1000000;
    void *large = mprAllocMem(largeSize, MPR_ALLOC_HOLD);
    void *kept[500];
    for (void *&block : kept) {
        block = mprAllocMem(200, MPR_ALLOC_HOLD);
        mprAlloc(100);
    }
    mprGCCollect(-1);
    const Walk settled = walk();
    const MprGCStats old = read();
    CHECK(old.blocks == settled.blocks);
    CHECK(old.inBlocks == settled.bytes);
    CHECK(old.young == 0);
    CHECK(old.old == settled.bytes);
    CHECK(old.large == mprGetBlockSize(large));
    CHECK(old.large >= largeSize);
    CHECK(old.committed >= old.inBlocks + old.tables);
    CHECK(old.reserved >= old.committed);
    CHECK(old.tables > 0);

    for (int i = 0; i < 1000; i++) {
        mprAlloc(100);
    }
    const MprGCStats more = read();
    const Walk grown = walk();
    CHECK(more.blocks == grown.blocks);
    CHECK(grown.blocks == settled.blocks + 1000);
    CHECK(more.young >= grown.bytes - settled.bytes);
    CHECK(more.young <= grown.bytes - settled.bytes + 64 * 1024 * 2); // what the thread holds ready
    CHECK(more.old + more.young == more.inBlocks);
    CHECK(more.old <= old.old);

    for (void *block : kept) {
        mprRelease(block);
    }
    mprRelease(large);
    mprGCCollect(-1);
    const MprGCStats last = read();
    const Walk end = walk();
    CHECK(last.blocks == end.blocks);
    CHECK(last.inBlocks == end.bytes);
    CHECK(last.large == 0);
    CHECK(last.freed == old.freed + 1000 + 501);
}

TEST_CASE("what is committed for pinned blocks is part of what is reserved", "[host][generations][pinned]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    const MprGCStats before = read();
    constexpr size_t size = 30 << 20;
    REQUIRE(mprAllocPinned(size, 0, 0));
    const MprGCStats after = read();
    CHECK(after.committed >= before.committed + size);
    CHECK(after.reserved >= before.reserved + size);
    CHECK(after.reserved >= after.committed);
    CHECK(after.inBlocks - before.inBlocks < size);
}

TEST_CASE("figures that were not asked for are not given", "[host][generations]") {
    MprGCStats stats;
    {
        const Log log;
        CHECK(mprReadGCStats(MPR_GC_STATS_COUNTS, &stats) == MPR_ERR_BAD_STATE);
    }
    Runtime runtime;
    stats = read(MPR_GC_STATS_COUNTS);
    CHECK(stats.blocks > 0);
    CHECK(stats.committed + stats.inBlocks + stats.reserved == 0);
    stats = read(MPR_GC_STATS_MEMORY);
    CHECK(stats.committed > 0);
    CHECK(stats.blocks == 0);
    CHECK(mprReadGCStats(4, &stats) == MPR_ERR_BAD_ARGS);
    CHECK(stats.committed == 0);
}

TEST_CASE("child: limits of the start", "[.]") { // which a process sets once
    const Log log;
    CHECK(mprSetGCStartupLimits(100000, 0) == MPR_ERR_BAD_VALUE);
    CHECK(mprSetGCStartupLimits(size_t{1} << 28, 0) == MPR_ERR_BAD_VALUE);
    CHECK(mprSetGCStartupLimits(0, ~size_t{0}) == MPR_ERR_BAD_VALUE);
    CHECK(mprConfigure("region=1m,young=8m") == 0);
    CHECK(mprSetGCStartupLimits(512 * 1024, 300 * 1024) == 0);
    CHECK(mprSetGCStartupLimits(512 * 1024, 300 * 1024) == MPR_ERR_ALREADY_EXISTS);
    CHECK(Log::has("once in a process"));
    REQUIRE(mprCreate(0, nullptr, 0));
    CHECK(mprSetGCStartupLimits(0, 0) == MPR_ERR_BAD_STATE);
    CHECK(Log::has("before mprCreate"));
    MprGCStats stats;
    CHECK(mprReadGCStats(MPR_GC_STATS_MEMORY, &stats) == 0);
    CHECK(stats.reserved % (512 * 1024) == 0);
    CHECK(stats.reserved < 1024 * 1024 * 2);
    MprMemStats mem;
    mprReadMemStats(&mem);
    CHECK(mem.youngBudget == 300 * 1024);
    CHECK(mprDestroy());
}

TEST_CASE("limits of the start are set once", "[host][generations]") {
    const Ended ended = runChild("child: limits of the start");
    INFO(ended.output);
    CHECK(ended.exited(0));
}
