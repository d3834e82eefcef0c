// SPDX-License-Identifier: MIT
/* worst_path_heap.cpp - The longest path of mprHeapAlloc and mprHeapFree in instructions: a shared private heap. */
#include "freed_by_hand.h"
#include "mpr.h"

static MprPrivateHeap *heap;

static void *allocate(size_t size, int) {
    return mprHeapAlloc(heap, size, MPR_CRITICAL_TASK);
}
static void release(void *ptr) {
    mprHeapFree(heap, ptr);
}

struct Alloc : FreedByHand {
    static void begin() {
        heap = mprCreateHeap("measured", 0);
        if (!heap) {
            bench::fail("mprCreateHeap failed");
        }
    }
    static void end() { mprDestroyHeap(heap); }
    static void *allocFunction(unsigned) { return (void *) allocate; }
    static void *alloc(size_t size, unsigned) { return allocate(size, 0); }
    static void *freeFunction() { return (void *) release; }
    static void free(void *ptr) { release(ptr); }
    static void purge() { mprTrimHeap(heap); }
};

#include "worst_path.h"
