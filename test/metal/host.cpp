// SPDX-License-Identifier: MIT
/*
    test/metal/host.cpp - What a host asks of the runtime without an operating system: collections by request, and figures.
 */
#include <mpr.h>
#include <mpr/board.h>

#include "test/metal/say.hpp"

namespace {

alignas(8) unsigned char memory[32 * 1024];

MprGCStats figures() {
    MprGCStats stats;
    expect(mprReadGCStats(MPR_GC_STATS_COUNTS | MPR_GC_STATS_MEMORY, &stats) == 0, "figures can be read");
    return stats;
}

void testFigures() {
    const MprGCStats before = figures();
    void *kept = mprAllocMem(1000, MPR_ALLOC_HOLD);
    expect(kept && mprAlloc(2000), "there is memory");
    expect(figures().blocks == before.blocks + 2 && figures().inBlocks >= before.inBlocks + 3000, "blocks are counted");
    expect(mprGCCollect(-1) == 0, "a collection can be asked for");
    const MprGCStats after = figures();
    expect(after.blocks == before.blocks + 1 && after.freed == before.freed + 1, "it frees what is dead");
    expect(after.collections[1] == before.collections[1] + 1 && after.collections[0] == 0, "and is counted");
    expect(after.young + after.old == after.inBlocks && after.committed >= after.inBlocks, "the figures agree");
    expect(mprGCCollect(2) == MPR_ERR_BAD_ARGS, "there are two generations");
    mprRelease(kept);
}
} // namespace

int main() {
    MprGCStats none;
    expect(mprReadGCStats(MPR_GC_STATS_COUNTS, &none) == MPR_ERR_BAD_STATE && none.blocks == 0,
           "there is no runtime yet");
    for (int round = 0; round < 2; round++) {
        if (!mprCreateInBuffer(memory, sizeof(memory), 0)) {
            return 1;
        }
        testFigures();
        expect(mprVerifyHeap() == 0, "the heap is in order");
        mprDestroy();
    }
    say(failures > 0 ? "host: failed\n" : "host: passed\n");
    return failures > 0;
}
