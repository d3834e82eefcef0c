// SPDX-License-Identifier: MIT
/*
    test/metal/handle.cpp - Handles without an operating system. A program of its own: the others show that core takes no
    more code when it has none.
 */
#include <mpr.h>
#include <mpr/board.h>

#include <cstring>

#include "test/metal/say.hpp"

namespace {

alignas(8) unsigned char memory[32 * 1024];
int seenLong = 0, metOther = 0; // blocks that managers have met by the handle `watched`: theirs, and others
MprHandle watched;

void manage(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(*static_cast<void **>(ptr));
    } else {
        void *const met = mprGetHandle(watched);
        seenLong += met == ptr;
        metOther += met && met != ptr;
    }
}

void **make(void *ref = nullptr) {
    auto block = static_cast<void **>(mprAllocManaged(sizeof(void *), manage, 0));
    *block = ref;
    return block;
}

void collect() {
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
}

void testTypes() {
    const int strong[] = {MPR_HANDLE_STRONG, MPR_HANDLE_PINNED, MPR_HANDLE_ASYNC_PINNED, MPR_HANDLE_SIZED};
    for (int type : strong) {
        void **child = make(), **block = make(child);
        const MprHandle handle = mprCreateHandle(type, block);
        collect();
        expect(mprGetHandle(handle) == block && mprIsValid(block) && mprIsValid(child), "a strong handle keeps");
        expect(mprDestroyHandle(handle) == 0, "a handle can be destroyed");
        collect();
        expect(!mprIsValid(block) && !mprIsValid(child), "a destroyed handle keeps nothing");
        expect(!mprContainsHandle(handle) && !mprGetHandle(handle), "a stale handle is recognised");
    }
    void **block = make();
    const MprHandle weak = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, block);
    watched = mprCreateHandle(MPR_HANDLE_WEAK_LONG, block);
    seenLong = 0;
    collect();
    expect(!mprGetHandle(weak) && !mprGetHandle(watched), "weak handles are cleared");
    expect(seenLong == 1, "a manager finds its block by a long weak handle");
    block = make();
    mprSetHandle(weak, block);
    mprFree(block);
    expect(!mprGetHandle(weak), "mprFree clears a weak handle");
    void *leaf = mprAlloc(8);
    mprSetHandle(weak, leaf);
    void *between = mprAlloc(8), *moved = mprRealloc(leaf, 400);
    expect(moved != leaf && mprGetHandle(weak) == moved && mprFree(between) == 0, "mprRealloc moves a handle");
    expect(mprFree(moved) == 0 && !mprGetHandle(weak), "mprFree of a leaf clears a weak handle");
    const MprHandle keeper = mprCreateHandle(MPR_HANDLE_STRONG, make());
    expect(mprFree(mprGetHandle(keeper)) == MPR_ERR_BAD_ARGS, "mprFree refuses what a strong handle keeps");
    mprDestroyHandle(keeper);
    mprDestroyHandle(weak);
    mprDestroyHandle(watched);
    watched = 0;
}

void testDependent() {
    constexpr int length = 40; // more than a segment
    MprHandle chain[length], dead[length];
    void **first = make(), **last = first;
    mprAddRoot(first);
    for (int i = 0; i < length; i++) {
        void **next = make();
        chain[length - 1 - i] = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, last, next, 0);
        last = next;
        void **key = make();
        dead[i] = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, key, make(key), 0);
    }
    collect();
    expect(mprIsValid(last), "a chain of dependent handles keeps its end");
    int cleared = 0;
    for (MprHandle handle : dead) {
        cleared += !mprGetHandle(handle) && !mprGetHandleValue(handle);
        mprDestroyHandle(handle);
    }
    expect(cleared == length, "a value that leads to its key keeps neither");
    mprRemoveRoot(first);
    collect();
    expect(!mprIsValid(last), "without its first key the chain is dead");
    for (MprHandle handle : chain) {
        mprDestroyHandle(handle);
    }
    expect(mprCountHandles(MPR_HANDLE_ANY, MPR_HANDLE_ANY, nullptr) == 0, "no handle is left");
}

/* A long weak handle follows its block for one collection's managers, and not what lies there later. */
void testReuse() {
    void **block = make();
    watched = mprCreateHandle(MPR_HANDLE_WEAK_LONG, block);
    collect();
    void **same = make();
    for (int i = 0; i < 1000 && same != block; i++) {
        same = make();
    }
    expect(same == block, "a block lies where the dead one lay");
    mprHold(same);
    seenLong = 0;
    metOther = 0;
    make();
    collect();
    expect(metOther == 0, "a manager does not meet another block by a long weak handle");
    mprRelease(same);
    mprDestroyHandle(watched);
    watched = 0;
}

/* Two handles of the runtime before, as numbers. */
MprHandle ended, endedWeak;
int seenWeak = 0;

void manageEnd(void *, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        seenWeak += mprGetHandle(endedWeak) != nullptr;
    }
}

void prepareEnd() {
    void *block = mprAllocManaged(16, manageEnd, MPR_ALLOC_HOLD);
    ended = mprCreateHandle(MPR_HANDLE_STRONG, block);
    endedWeak = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, block);
    seenWeak = 0;
}

void testAfterEnd() {
    expect(seenWeak == 0, "a weak handle has lost its block when the managers of the end are called");
    expect(mprCountHandles(MPR_HANDLE_ANY, MPR_HANDLE_ANY, nullptr) == 0, "a runtime begins without handles");
    expect(!mprContainsHandle(ended), "handles end with their runtime");
    const MprHandle next = mprCreateHandle(MPR_HANDLE_STRONG, make());
    expect(next != ended && next != endedWeak, "no handle is one of the runtime before");
    mprDestroyHandle(next);
}

} // namespace

int main() {
    for (int round = 0; round < 3; round++) { // each runtime begins without handles
        expect(mprCreateInBuffer(memory, sizeof(memory), 0), "a runtime");
        testTypes();
        testDependent();
        testReuse();
        if (round > 0) {
            testAfterEnd();
        }
        prepareEnd();
        expect(mprDestroy(), "its end");
        memset(memory, 0x55, sizeof(memory)); // it is the program's again
    }
    say(failures > 0 ? "handles: failed\n" : "handles: passed\n");
    return failures > 0;
}
