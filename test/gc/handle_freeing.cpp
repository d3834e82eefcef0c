// SPDX-License-Identifier: MIT
/*
    test/gc/handle_freeing.cpp - Handles when their block is freed by hand, or moves.
 */
#include "mpr.h"
#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"

#include <random>
#include <vector>

using test::Log;
using test::Runtime;

TEST_CASE("mprFree clears weak handles to its block and refuses what a strong one keeps", "[gc][handle]") {
    Runtime runtime;
    void *const block = mprAlloc(16);
    const MprHandle weak = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, block);
    const MprHandle longer = mprCreateHandle(MPR_HANDLE_WEAK_LONG, block);
    const MprHandle value = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, mprAlloc(16), block, 0);
    const MprHandle key = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, block, mprAlloc(16), 0);
    const MprHandle strong = mprCreateHandle(MPR_HANDLE_STRONG, block);
    CHECK(mprFree(block) == MPR_ERR_BAD_ARGS);
    CHECK(Log::has("a strong handle"));
    CHECK(mprGetHandle(weak) == block);
    mprDestroyHandle(strong);
    CHECK(mprFree(block) == 0);
    CHECK_FALSE(mprIsValid(block));
    CHECK(mprGetHandle(weak) == nullptr);
    CHECK(mprGetHandle(longer) == nullptr);
    CHECK(mprGetHandle(key) == nullptr);
    CHECK(mprGetHandleValue(key) == nullptr);
    CHECK(mprGetHandle(value) != nullptr);
    CHECK(mprGetHandleValue(value) == nullptr);
    void *const permanent = palloc(16);
    mprSetHandle(weak, permanent);
    pfree(permanent);
    CHECK(mprGetHandle(weak) == nullptr);
}

namespace {
MprHandle watched[2];
void *seenWhileFreed[2];
void manageWatched(void *, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        seenWhileFreed[0] = mprGetHandle(watched[0]);
        seenWhileFreed[1] = mprGetHandle(watched[1]);
    }
}
} // namespace

TEST_CASE("a manager finds its block by a long weak handle, and not by a short one", "[gc][handle]") {
    Runtime runtime;
    const bool byHand = GENERATE(false, true);
    void *const block = mprAllocManaged(16, manageWatched, 0);
    watched[0] = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, block);
    watched[1] = mprCreateHandle(MPR_HANDLE_WEAK_LONG, block);
    seenWhileFreed[0] = seenWhileFreed[1] = watched;
    byHand ? mprFree(block) : mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(seenWhileFreed[0] == nullptr);
    CHECK(seenWhileFreed[1] == block);
    CHECK(mprGetHandle(watched[0]) == nullptr);
    CHECK(mprGetHandle(watched[1]) == nullptr);
    CHECK(mprSetHandle(watched[1], mprAlloc(16)) == 0);
    CHECK(mprGetHandle(watched[1]) != nullptr);
}

TEST_CASE("mprRealloc moves handles with their block", "[gc][handle]") {
    Runtime runtime;
    void *const block = mprAlloc(16);
    const MprHandle weak = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, block);
    const MprHandle strong = mprCreateHandle(MPR_HANDLE_STRONG, block);
    mprAlloc(16); // so that it cannot grow where it is
    void *const moved = mprRealloc(block, 10000);
    CHECK(moved != block);
    CHECK(mprGetHandle(weak) == moved);
    CHECK(mprGetHandle(strong) == moved);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprIsValid(moved));
    CHECK(mprGetHandle(weak) == moved);
}

namespace {
MprHandle own, madeToSelf[4];
void *keyOfSelf;
void makeHandlesToSelf(void *block, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        madeToSelf[0] = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, block);
        madeToSelf[1] = mprCreateHandle(MPR_HANDLE_STRONG, block);
        madeToSelf[2] = mprCreateHandle(MPR_HANDLE_WEAK_LONG, block);
        madeToSelf[3] = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, keyOfSelf, block, 0);
        mprSetHandle(own, block);
        mprAddRoot(block);
    }
}
} // namespace

TEST_CASE("what a manager has refer to its block while that is freed by hand ends with the block", "[gc][handle]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    const bool handleBefore = GENERATE(false, true);
    keyOfSelf = mprAlloc(16);
    void *const block = mprAllocManaged(16, makeHandlesToSelf, 0);
    own = mprCreateHandle(MPR_HANDLE_STRONG, nullptr);
    const MprHandle before = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, handleBefore ? block : nullptr);
    CHECK(mprFree(block) == 0);
    CHECK_FALSE(mprIsValid(block));
    CHECK(mprGetHandle(own) == nullptr);
    CHECK(mprGetHandle(before) == nullptr);
    for (int i = 0; i < 3; i++) {
        CHECK(mprGetHandle(madeToSelf[i]) == nullptr);
    }
    CHECK(mprGetHandle(madeToSelf[3]) == keyOfSelf);
    CHECK(mprGetHandleValue(madeToSelf[3]) == nullptr);
    CHECK(Log::has("has a strong handle refer to the block"));
    CHECK(Log::has("a root, which ends"));
}

namespace {
MprHandle outer, inner;
void *outerBlock, *innerBlock;
void freeInner(void *block, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        CHECK(mprGetHandle(block == outerBlock ? outer : inner) == block);
        if (block == outerBlock) {
            CHECK(mprFree(innerBlock) == 0);
            CHECK(mprGetHandle(inner) == nullptr);
            CHECK(mprGetHandle(outer) == block);
        }
    }
}
} // namespace

TEST_CASE("a manager that frees another block still finds its own by a long weak handle", "[gc][handle]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    outerBlock = mprAllocManaged(16, freeInner, 0);
    innerBlock = mprAllocManaged(16, freeInner, 0);
    outer = mprCreateHandle(MPR_HANDLE_WEAK_LONG, outerBlock);
    inner = mprCreateHandle(MPR_HANDLE_WEAK_LONG, innerBlock);
    CHECK(mprFree(outerBlock) == 0);
    CHECK(mprGetHandle(outer) == nullptr);
}

TEST_CASE("a key that comes after another was freed has no value of that one", "[gc][handle]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    void *const key = mprAlloc(16), *const value = mprAlloc(16);
    const MprHandle handle = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, key, value, 0);
    CHECK(mprFree(key) == 0);
    CHECK(mprSetHandleIfNull(handle, mprAlloc(16)));
    CHECK(mprGetHandleValue(handle) == nullptr);
    CHECK(mprSetHandleValue(handle, value) == 0);
    CHECK(mprSetHandle(handle, mprAlloc(16)) == 0);
    CHECK(mprGetHandleValue(handle) == value);
    CHECK(mprCompareExchangeHandle(handle, nullptr, mprGetHandle(handle)) != nullptr);
    CHECK(mprSetHandle(handle, mprAlloc(16)) == 0);
    CHECK(mprGetHandleValue(handle) == nullptr);
}

namespace {
/* Blocks, and handles to them, of which the test knows as much as the store. */
struct Known {
    static constexpr int types[] = {MPR_HANDLE_WEAK_SHORT, MPR_HANDLE_WEAK_LONG, MPR_HANDLE_DEPENDENT,
                                    MPR_HANDLE_REFCOUNTED};
    struct Handle {
        MprHandle handle;
        size_t block, value; // indexes; 0: NULL
    };

    Known(unsigned seed, size_t blockCount, size_t handleCount) : random(seed), blocks(blockCount) {
        for (size_t i = 1; i < blocks.size(); i++) {
            blocks[i] = palloc(16);
        }
        for (size_t i = 0; i < handleCount; i++) {
            add();
        }
    }
    ~Known() {
        for (const Handle &h : handles) {
            mprDestroyHandle(h.handle);
        }
        for (size_t i = 1; i < blocks.size(); i++) {
            pfree(blocks[i]);
        }
    }
    Known(const Known &) = delete;
    Known &operator=(const Known &) = delete;

    size_t any() { return random() % blocks.size(); }
    void add() {
        const int type = types[random() % 4];
        const size_t block = any(), value = type == MPR_HANDLE_DEPENDENT && block ? any() : 0;
        handles.push_back({mprCreateHandleFor(type, blocks[block], blocks[value], 0), block, value});
    }
    /* Some handle is destroyed, made, or has another block. */
    void step() {
        Handle &h = handles[random() % handles.size()];
        switch (random() % 3) {
        case 0:
            mprDestroyHandle(h.handle);
            h = handles.back();
            handles.pop_back();
            return add();
        case 1:
            h.block = any();
            h.value = h.block ? h.value : 0;
            mprSetHandle(h.handle, blocks[h.block]);
            return;
        default:
            if (h.block && mprGetHandleType(h.handle) == MPR_HANDLE_DEPENDENT) {
                h.value = any();
                mprSetHandleValue(h.handle, blocks[h.value]);
            }
        }
    }
    /* Free a block by hand, or have it move, and put another in its place. */
    void end(size_t block) {
        if (random() % 3 == 0) {
            blocks[block] = mprRealloc(blocks[block], 16 + random() % 300);
            return;
        }
        pfree(blocks[block]);
        blocks[block] = palloc(16);
        for (Handle &h : handles) {
            h.value = h.block == block || h.value == block ? 0 : h.value;
            h.block = h.block == block ? 0 : h.block;
        }
    }
    /* @return How many handles refer to something else than they should. */
    int wrong() const {
        int count = 0;
        for (const Handle &h : handles) {
            count += mprGetHandle(h.handle) != blocks[h.block];
            count +=
                mprGetHandleType(h.handle) == MPR_HANDLE_DEPENDENT && mprGetHandleValue(h.handle) != blocks[h.value];
        }
        return count;
    }

    std::minstd_rand random;
    std::vector<void *> blocks;
    std::vector<Handle> handles;
};
} // namespace

TEST_CASE("a free by hand finds all handles to its block, however many others there are", "[gc][handle]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    Known known(static_cast<unsigned>(GENERATE(1, 2)), 300, 9000);
    for (int round = 0; round < 60; round++) {
        for (unsigned steps = known.random() % (round % 10 ? 20 : 9000); steps > 0; steps--) {
            known.step();
        }
        for (int i = 0; i < 3; i++) {
            known.end(1 + known.random() % (known.blocks.size() - 1));
        }
        REQUIRE(known.wrong() == 0);
        if (round % 20 == 7) {
            mprGC(round % 40 == 7 ? MPR_GC_MINOR : MPR_GC_FORCE);
            REQUIRE(known.wrong() == 0);
        }
    }
}

TEST_CASE("threads free by hand what they and others have handles to", "[gc][handle]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    std::atomic<int> wrong{0};
    test::doInThreeThreads([&](test::Mutator &self) {
        Known known(static_cast<unsigned>(reinterpret_cast<uintptr_t>(&self) >> 4), 50, 500);
        for (int i = 0; i < 3000; i++) {
            known.step();
            if (i % 4 == 0) {
                known.end(1 + known.random() % (known.blocks.size() - 1));
                wrong += known.wrong();
            }
            mprYield(0);
        }
    });
    CHECK(wrong == 0);
}
