// SPDX-License-Identifier: MIT
/*
    test/metal/worst_private.cpp - The worst case of mprHeapAlloc and mprHeapFree on a Cortex-M, in instructions: as
    those of mprAlloc and mprFree, and what it takes to know the heap.
 */
#include <mpr.h>

#include "test/metal/worst.hpp"

namespace {
Cost allocation{"mprHeapAlloc"}, release{"mprHeapFree"};
MprPrivateHeap* heap = nullptr;
std::size_t heapSize = 0;
alignas(16) char buffer[1024 * 1024];
} // namespace

void* allocate(std::size_t size) {
    void* block = nullptr;
    allocation.note(instructions([&] { block = mprHeapAlloc(heap, size, MPR_CRITICAL_TASK); }));
    return block;
}

void give(void* block) {
    release.note(instructions([&] { mprHeapFree(heap, block); }));
}

bool hasRoom() {
    MprHeapStats stats;
    mprReadHeapStats(heap, &stats);
    return stats.bytes < heapSize - heapSize / 4;
}

int main() {
    if (!calibrate()) {
        return 1;
    }
    for (const std::size_t size : {std::size_t{16}, std::size_t{32}, std::size_t{128}, std::size_t{1024}}) {
        heapSize = size * 1024;
        heap = mprCreateHeapIn("worst", buffer, heapSize, 0);
        if (!heap) {
            return 1;
        }
        seek();
        if (mprDestroyHeap(heap) != 0) {
            return 1;
        }
    }
    allocation.report();
    release.report();
    constexpr std::uint32_t more = bound / 6; // to know the heap, and its lock
    return allocation.worst <= bound + more && release.worst <= bound + more ? 0 : 1;
}
