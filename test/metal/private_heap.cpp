// SPDX-License-Identifier: MIT
/*
    test/metal/private_heap.cpp - Private heaps without an operating system, in static buffers, with and without a runtime.
 */
#include <mpr.h>
#include <mpr/board.h>

#include <cstdint>
#include <cstring>

#include "test/metal/say.hpp"

namespace {

alignas(8) unsigned char memory[32 * 1024], first[8 * 1024], second[6 * 1024 + 3];
int lines = 0;
char lastLine[200];

void note(cchar *, int, cchar *text) {
    lines++;
    std::strncpy(lastLine, text, sizeof(lastLine) - 1);
}

/* Whether the last line names something, of those since the last call. */
bool named(cchar *what) {
    const bool found = lines > 0 && std::strstr(lastLine, what);
    lines = 0;
    return found;
}

bool isIn(const void *ptr, const unsigned char *range, std::size_t size) {
    const auto at = static_cast<const unsigned char *>(ptr);
    return at >= range && at < range + size;
}

void testMaking() {
    expect(!mprCreateHeapIn("small", first, 700, 0) && named("too small"), "a heap needs memory");
    expect(!mprCreateHeapIn("none", nullptr, 10000, 0) && named("too small"), "which is there");
    expect(!mprCreateHeapIn("flags", first, sizeof(first), 0x40) && named("flags"), "unknown flags are refused");
    // Memory that is aligned to nothing.
    MprPrivateHeap *heap = mprCreateHeapIn("odd", second + 1, sizeof(second) - 1, MPR_HEAP_ONE_THREAD);
    auto block = static_cast<unsigned char *>(mprHeapAlloc(heap, 100, MPR_CRITICAL_TASK));
    expect(block && isIn(block, second, sizeof(second)) && mprGetHeapBlockSize(heap, block) >= 100, "a block is in it");
    expect(reinterpret_cast<std::uintptr_t>(block) % 8 == 0, "and aligned");
    expect(mprDestroyHeap(heap) == 1, "what is left is counted");
    expect(mprDestroyHeap(heap) == MPR_ERR_BAD_ARGS && named("no heap"), "a heap is destroyed once");
    expect(!mprHeapAlloc(heap, 10, MPR_CRITICAL_TASK) && named("no heap"), "and has no blocks afterwards");
}

void testBlocks() {
    MprPrivateHeap *heap = mprCreateHeapIn("blocks", first, sizeof(first), MPR_HEAP_TRACKED);
    unsigned char *blocks[200];
    int made = 0;
    while (made < 200 &&
           (blocks[made] = static_cast<unsigned char *>(mprHeapAllocAt(heap, 40, MPR_CRITICAL_TASK, "here.c", made)))) {
        std::memset(blocks[made], made, 40);
        made++;
    }
    expect(made > 80 && made < 150, "a heap holds what it has room for");
    bool intact = true;
    for (int i = 0; i < made; i++) {
        intact = intact && blocks[i][0] == i && blocks[i][39] == i;
    }
    expect(intact, "blocks do not overlap");
    MprHeapStats stats;
    expect(mprReadHeapStats(heap, &stats) == 0 && stats.refused == 1 && stats.blocks == static_cast<unsigned>(made),
           "the figures agree");
    expect(mprHeapFree(heap, blocks[3] + 8) == MPR_ERR_BAD_ARGS && named("not the start"), "inside is no block");
    expect(mprHeapFree(heap, blocks[3]) == 0 && mprHeapFree(heap, blocks[3]) == MPR_ERR_BAD_ARGS &&
               named("not the start"),
           "a block is freed once");
    auto moved = static_cast<unsigned char *>(mprHeapRealloc(heap, blocks[0], 20, MPR_CRITICAL_TASK));
    expect(moved && moved[0] == 0 && moved[19] == 0, "a block can shrink");
    expect(!mprHeapRealloc(heap, blocks[1], 6000, MPR_CRITICAL_TASK) && blocks[1][39] == 1,
           "and stays when it cannot grow");
    for (int i = 1; i < made; i++) {
        if (i != 3 && i != 7) {
            intact = mprHeapFree(heap, blocks[i]) == 0 && intact;
        }
    }
    expect(intact && mprHeapFree(heap, moved) == 0, "all are freed");
    void *large = mprHeapAlloc(heap, 4000, MPR_CRITICAL_TASK);
    expect(large && mprHeapFree(heap, large) == 0, "and what was free is one again");
    expect(mprSetHeapLimit(heap, 0) == 0 && mprTrimHeap(heap) == 0, "there is nothing to give back");
    expect(mprDestroyHeap(heap) == 1 && named("made at here.c:7"), "what is left is named");
}

void testBeside() {
    mprCreateInBuffer(memory, sizeof(memory), 0);
    MprPrivateHeap *heap = mprCreateHeapIn("beside", first, sizeof(first), 0);
    void *block = mprHeapAlloc(heap, 100, MPR_CRITICAL_TASK), *managed = mprAllocMem(100, MPR_ALLOC_HOLD);
    expect(isIn(block, first, sizeof(first)) && isIn(managed, memory, sizeof(memory)), "each block is in its heap");
    expect(mprFree(block) == MPR_ERR_BAD_ARGS && mprHeapFree(heap, managed) == MPR_ERR_BAD_ARGS,
           "and no other frees it");
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    expect(mprGetHeapBlockSize(heap, block) >= 100 && !mprIsValid(block), "the collector does not know it");
    expect(mprDestroy() && mprHeapFree(heap, block) == 0 && mprDestroyHeap(heap) == 0, "it outlives the runtime");
}
} // namespace

int main() {
    mprSetLogHandler(note);
    testMaking();
    testBlocks();
    testBeside();
    say(failures > 0 ? "private heaps: failed\n" : "private heaps: passed\n");
    return failures > 0;
}
