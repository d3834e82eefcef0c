// SPDX-License-Identifier: MIT
/*
    test/metal/whole.hpp - What calls all of core but what is for looking inside: statistics, the heap walk, options.
    toolchains/metal/check measures what that takes of code memory, alone and together with handles and pinned memory.
 */
#pragma once

#include <mpr.h>
#include <mpr/board.h>

#include <cstring>

struct Pair {
    void *left, *right; // Managed
};

inline void managePair(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<Pair*>(ptr)->left);
        mprMarkRefs(&static_cast<Pair*>(ptr)->right, 1);
    }
}

inline void managePlain(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(*static_cast<void**>(ptr));
    }
}

alignas(16) inline char buffer[32 * 1024];
inline int wrong = 0;

inline void check(bool right) {
    wrong += !right;
}

inline void memory() {
    void* block = mprAlloc(20);
    check(block && mprIsValid(block) && mprGetBlockSize(block) >= 20);
    block = mprRealloc(block, 200);
    void* copy = mprMemdup(block, 200);
    check(copy && mprMemcmp(block, 200, copy, 200) == 0 && mprMemcpy(copy, 200, block, 200) == 200);
    check(mprFree(copy) == 0 && mprFree(block) == 0 && mprFree(block) != 0);
    auto* zeros = static_cast<char*>(mprAllocZeroed(10));
    check(zeros && zeros[9] == 0);
    void* permanent = prealloc(palloc(10), 100);
    check(psize(permanent) >= 100);
    pfree(permanent);
}

inline void collection() {
    auto* pair = static_cast<Pair*>(mprAllocManaged(sizeof(Pair), managePair, MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER));
    mprAddRoot(pair);
    void* plain = mprSetManager(mprAllocMem(sizeof(void*), MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO), managePlain);
    mprSetRef(pair, &pair->left, plain);
    mprSetRefAt(&pair->right, plain);
    mprSetRefs(pair, &pair->left, &pair->right, 1);
    MprRootRef ref = {};
    mprLinkRootRef(&ref);
    ref.ptr = mprAlloc(8);
    void* held = mprAlloc(8);
    mprHoldBlocks(held, nullptr);
    check(mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE) >= 0 && mprIsValid(plain) && mprIsValid(ref.ptr) && mprIsValid(held));
    mprReleaseBlocks(held, nullptr);
    mprUnlinkRootRef(&ref);
    mprRemoveRoot(pair);
    mprYield(MPR_YIELD_STICKY);
    mprResetYield();
    check(mprEnableGC(false) && !mprEnableGC(true) && mprSetThreadYield(nullptr, true));
    check(mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE) >= 4 && !mprNeedYield());
}

inline void limits() {
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    mprSetMemPolicy(MPR_ALLOC_POLICY_PRUNE);
    check(mprAddPruner([](void*, int) {}, nullptr) == 0);
    mprSetMemLimits(8 * 1024, 16 * 1024, -1);
    while (mprAlloc(100)) {}
    check(mprHasMemError());
    mprResetMemError();
    mprRemovePruner([](void*, int) {}, nullptr);
}

/** @param more Further calls, made while there is a runtime. @return The number of checks that failed. */
template <typename More>
int callWhole(More&& more) {
    mprSetLogHandler([](cchar*, int, cchar*) {});
    check(mprCreateInBuffer(buffer, sizeof(buffer), 0) != nullptr);
    mprAddTerminator([](int, int, int) {});
    check(std::strcmp(mprGetCurrentThreadName(), "main") == 0);
    memory();
    collection();
    more();
    limits();
    check(mprDestroy());
    return wrong;
}
