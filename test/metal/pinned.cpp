// SPDX-License-Identifier: MIT
/*
    test/metal/pinned.cpp - Pinned memory without an operating system, in static buffers, together with handles. A program of its
    own: the others show that core takes no more code when it has none.
 */
#include <mpr.h>
#include <mpr/board.h>

#include <cstdint>
#include <cstring>

#include "test/metal/say.hpp"

namespace {

alignas(8) unsigned char memory[32 * 1024], first[16 * 1024], second[6 * 1024];

void manage(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(*static_cast<void **>(ptr));
    }
}

void collect() {
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
}

bool isIn(const void *ptr, const unsigned char *range, std::size_t size) {
    const auto at = static_cast<const unsigned char *>(ptr);
    return at >= range && at < range + size;
}

void testOwners() {
    auto owner = static_cast<void **>(mprAllocManaged(sizeof(void *), manage, MPR_ALLOC_ZERO));
    mprAddRoot(owner);
    *owner = mprAllocPinned(1000, 512, MPR_ALLOC_ZERO);
    void *held = mprAllocPinned(100, 32, MPR_ALLOC_HOLD), *root = mprAllocPinnedIn("second", 100, 16, 0);
    void *strong = mprAllocPinned(100, 16, 0), *lost = mprAllocPinned(100, 16, 0);
    mprAddRoot(root);
    const MprHandle handle = mprCreateHandle(MPR_HANDLE_STRONG, strong);
    const MprHandle weak = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, lost),
                    seen = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, held);
    expect(isIn(*owner, first, sizeof(first)) && isIn(root, second, sizeof(second)), "blocks lie in their ranges");
    expect(reinterpret_cast<std::uintptr_t>(*owner) % 512 == 0, "an alignment is kept");
    for (int i = 0; i < 3; i++) {
        std::memset(*owner, i, 1000);
        collect();
        expect(mprIsPinned(*owner) && mprIsPinned(held) && mprIsPinned(root) && mprIsPinned(strong),
               "what is reached lives");
        expect(static_cast<char *>(*owner)[999] == i, "and keeps its contents");
    }
    expect(!mprIsValid(lost) && !mprGetHandle(weak), "what is not reached is freed");
    expect(mprGetHandle(seen) == held && mprGetBlockSize(held) >= 100, "a held block is known");
    expect(mprBlockOf(static_cast<char *>(held) + 50) == held, "and found from an address inside");
    expect(mprFree(root) == MPR_ERR_BAD_ARGS && mprIsPinned(root), "a root is not freed by hand");
    expect(mprFree(held) == MPR_ERR_BAD_ARGS, "a held block is not freed by hand");
    mprRelease(held);
    expect(mprFree(held) == 0 && !mprGetHandle(seen) && !mprIsValid(held), "mprFree frees");
    expect(mprFree(held) == MPR_ERR_BAD_ARGS, "a double free is refused");
    expect(mprRealloc(strong, 2000) == nullptr && mprIsPinned(strong), "mprRealloc refuses");
    *owner = nullptr;
    mprRemoveRoot(owner);
    mprRemoveRoot(root);
    mprDestroyHandle(handle);
    collect();
    MprPinnedStats s;
    expect(!mprIsPinned(strong) && !mprIsPinned(root), "what was let go is freed");
    expect(mprReadPinnedStats("first", &s) == 0 && s.blocksAllocated == 4 && s.blocksFreed == 4 && s.bytesLive == 0,
           "the figures agree");
}

void testExhaustion() {
    void *blocks[64];
    const int made = mprAllocPinnedBatchIn("second", 64, 256, 64, 0, blocks);
    expect(made >= 16 && made < 24 && !blocks[made], "a range holds what it has room for");
    expect(!mprAllocPinnedIn("second", 256, 64, 0), "and then is full");
    expect(mprFreePinnedBatch(made, blocks) == 0, "a batch can be freed");
    const int again = mprAllocPinnedBatchIn("second", 64, 256, 64, 0, blocks);
    expect(again == made, "and allocated again");
    collect();
    expect(mprAllocPinnedBatchIn("second", 64, 256, 64, 0, blocks) == made, "also when it was collected");
    collect();
}
} // namespace

int main() {
    for (int round = 0; round < 3; round++) { // each runtime begins without ranges
        if (!mprCreateInBuffer(memory, sizeof(memory), 0)) {
            return 1;
        }
        expect(!mprAllocPinned(10, 16, 0), "without a range there is no memory");
        expect(mprAddPinnedRange("first", first, sizeof(first)) == 0, "a range can be added");
        expect(mprAddPinnedRange("second", second, sizeof(second)) == 0, "and another");
        expect(mprAddPinnedRange("third", second + 1024, 2048) == MPR_ERR_ALREADY_EXISTS, "but no part of one");
        testOwners();
        testExhaustion();
        expect(mprVerifyHeap() == 0, "the heap is in order");
        mprDestroy();
    }
    say(failures > 0 ? "pinned: failed\n" : "pinned: passed\n");
    return failures > 0;
}
