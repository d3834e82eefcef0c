// SPDX-License-Identifier: MIT
/*
    test/metal/whole_pinned.cpp - A firmware that uses all of core, all calls of handles but those for looking inside, and pinned
    memory.
 */
#include "test/metal/whole.hpp"

#include <cstdint>
#include <initializer_list>

namespace {

alignas(16) unsigned char range[8 * 1024];

void handles() {
    void *block = mprAlloc(8), *other = mprAlloc(8);
    const MprHandle handle = mprCreateHandle(MPR_HANDLE_STRONG, block), extra = mprDuplicateHandle(handle);
    const MprHandle weak = mprCreateHandleFor(MPR_HANDLE_WEAK_LONG, block, nullptr, 1);
    const MprHandle dependent = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, block, other, 0);
    const MprHandle counted = mprCreateHandle(MPR_HANDLE_REFCOUNTED, other);
    check(mprAddHandleCount(counted, 1) == 1 && mprAddHandleCount(counted, -1) == 0);
    check(mprSetHandleValue(dependent, other) == 0 && mprGetHandleValue(dependent) == other);
    check(mprSetHandleExtra(weak, other) == 0 && mprGetHandleExtra(weak) == other);
    check(mprGetHandle(weak) == block && mprGetHandleType(weak) == MPR_HANDLE_WEAK_LONG);
    check(mprCompareExchangeHandle(handle, other, block) == block && !mprSetHandleIfNull(handle, block));
    check(mprSetHandle(handle, block) == 0 && mprContainsHandle(extra));
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    check(mprIsValid(block) && mprIsValid(other) && mprGetHandle(counted) == other);
    for (const MprHandle each : {handle, extra, weak, dependent, counted}) {
        check(mprDestroyHandle(each) == 0);
    }
}

void pinned() {
    check(mprAddPinnedRange("range", range, sizeof(range)) == 0);
    void *block = mprAllocPinned(1000, 256, MPR_ALLOC_HOLD), *batch[4];
    check(reinterpret_cast<std::uintptr_t>(block) % 256 == 0 && mprIsPinned(block));
    check(mprAllocPinnedBatchIn("range", 4, 100, 16, 0, batch) == 4 && mprFreePinnedBatch(4, batch) == 0);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    check(mprIsPinned(block));
    mprRelease(block);
    check(mprFree(block) == 0);
}
} // namespace

int main() {
    return callWhole([] {
        handles();
        pinned();
    });
}
