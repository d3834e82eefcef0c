// SPDX-License-Identifier: MIT
/*
    test/gc/hold.cpp - Holds retain one block, nest, and are checked.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"

#include <atomic>
#include <vector>

using namespace test;

TEST_CASE("a held block is kept until it is released", "[gc][hold][board]") {
    Runtime runtime;
    void *leaf = mprAlloc(30);
    mprHold(leaf);
    collect();
    CHECK(mprIsValid(leaf));
    mprRelease(leaf);
    collect();
    CHECK_FALSE(mprIsValid(leaf));
}

TEST_CASE("holds nest", "[gc][hold][board]") {
    Runtime runtime;
    void *leaf = mprAlloc(30);
    for (int i = 0; i < 1000; i++) {
        mprHold(leaf);
    }
    for (int i = 0; i < 999; i++) {
        mprRelease(leaf);
    }
    collect();
    CHECK(mprIsValid(leaf));
    mprRelease(leaf);
    collect();
    CHECK_FALSE(mprIsValid(leaf));
    CHECK(stats().misuses == 0);
}

namespace {
void holdItself(void *block, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        mprHold(block);
        mprHold(block);
    }
}
} // namespace

TEST_CASE("holds that a manager takes of its own block, while that is freed by hand, end with the block",
          "[gc][hold]") {
    Runtime runtime("everyyield=0,everyalloc=0,batches=0,poison=0"); // else the place rests, or is found much later
    const bool wasRoot = GENERATE(false, true);
    void *const block = mprAllocManaged(40, holdItself, 0);
    if (wasRoot) {
        mprAddRoot(block);
        mprRemoveRoot(block);
    }
    CHECK(mprFree(block) == 0);
    CHECK_FALSE(mprIsValid(block));
    CHECK(Log::has("its manager has held the block, which ends"));
    const uint64 misuses = stats().misuses;
    void *next = nullptr; // in the same place: a hold of the one before would be one of this
    for (int i = 0; i < 100000 && next != block; i++) {
        next = mprAllocManaged(40, nullptr, MPR_ALLOC_MANAGER);
    }
    REQUIRE(next == block);
    mprHold(next);
    mprRelease(next);
    collect();
    CHECK_FALSE(mprIsValid(next));
    CHECK(stats().misuses == misuses);
}

namespace {
enum class Keeping { release, hold, root };
Keeping keeping;
void *peer;
std::atomic<int> deaths;
/* In FREE its block and its peer are dead, and neither is held. */
void keepWhatIsDead(void *, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        deaths++;
        switch (keeping) {
        case Keeping::release: mprRelease(peer); break;
        case Keeping::hold: mprHold(peer); break;
        case Keeping::root: mprAddRoot(peer); break;
        }
    }
}
} // namespace

TEST_CASE("what a collection has found dead stays dead, whoever would release, hold or root it", "[gc][hold]") {
    Runtime runtime("everyyield=0,everyalloc=0,batches=0");
    keeping = GENERATE(Keeping::release, Keeping::hold, Keeping::root);
    const size_t size = GENERATE(24, 3000, 10000000);
    const bool itself = GENERATE(true, false);
    deaths = 0;
    mprAllocManaged(24, keepWhatIsDead, 0);
    peer = mprAllocManaged(size, keepWhatIsDead, 0);
    if (!itself) {
        peer = mprAlloc(size);
    }
    collect();
    CHECK(deaths == 2);
    CHECK(stats().misuses == 2);
    CHECK_FALSE(mprIsValid(peer));
    collect();
    CHECK(deaths == 2); // its manager would be called again, and read what it references
    CHECK(mprVerifyHeap() == 0);
}

namespace {
std::atomic<int> ends;
/* Its block has no hold but that of mprFree, which keeps it while the manager yields. */
void releaseItself(void *block, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        ends++;
        mprHold(block);
        mprRelease(block);
        mprRelease(block);
        collect();
    }
}
} // namespace

TEST_CASE("a manager cannot release the block that is being freed by hand", "[gc][hold]") {
    Runtime runtime("everyyield=0,everyalloc=0,batches=0");
    const size_t size = GENERATE(24, 3000, 10000000);
    const bool wasRoot = GENERATE(false, true);
    ends = 0;
    void *const block = mprAllocManaged(size, releaseItself, 0);
    if (wasRoot) {
        mprAddRoot(block);
        mprRemoveRoot(block);
    }
    CHECK(mprFree(block) == 0);
    CHECK(ends == 1); // another call would be the collector's
    CHECK_FALSE(mprIsValid(block));
    CHECK(stats().misuses == 1);
    CHECK(Log::names(block) == 1);
}

TEST_CASE("permanent memory that is held besides is not given back", "[gc][hold][board]") {
    Runtime runtime;
    const bool runs = GENERATE(true, false);
    void *const memory = palloc(40);
    fill(memory, 40, 7);
    mprHold(memory);
    if (!runs) {
        mprYield(MPR_YIELD_STICKY);
    }
    pfree(memory);
    CHECK(prealloc(memory, 4000) == nullptr);
    if (!runs) {
        mprResetYield();
    }
    CHECK(stats().misuses == 2);
    CHECK(Log::has("held besides"));
    CHECK(filled(memory, 40, 7));
    mprRelease(memory);
    pfree(memory);
    CHECK_FALSE(mprIsValid(memory));
    CHECK(stats().misuses == 2);
}

TEST_CASE("holds for which the limit leaves no memory are counted, and the collector goes on", "[gc][hold][port]") {
    constexpr size_t size = 40;
    Runtime runtime("region=256k,young=1m");
    mprSetMemLimits(0, 4 << 20, 0);
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    std::vector<void *> blocks;
    while (void *block = mprAlloc(size)) {
        fill(block, size, blocks.size());
        blocks.push_back(block);
    }
    for (void *block : blocks) {
        mprHold(block);
        mprHold(block);
    }
    CHECK_FALSE(Log::has("mprHold"));
    for (void *block : blocks) {
        mprRelease(block);
    }
    collect();
    size_t lost = 0;
    for (size_t i = 0; i < blocks.size(); i++) { // each of them is held once yet
        lost += !mprIsValid(blocks[i]) || !filled(blocks[i], size, i);
    }
    CHECK(lost == 0);
    for (void *block : blocks) {
        mprRelease(block);
    }
    CHECK(stats().misuses == 0);
    collect();
    for (size_t i = 0; i < blocks.size() / 2; i++) {
        REQUIRE(mprAlloc(size));
    }
    mprSetMemNotifier(nullptr);
}

TEST_CASE("a hold retains that block alone: its child is collected", "[gc][hold][board]") {
    Runtime runtime;
    calls.reset();
    Node *child = makeNode();
    Node *node = makeNode(child);
    mprHold(node);
    collect();
    CHECK(mprIsValid(node));
    CHECK_FALSE(mprIsValid(child));
    CHECK(calls.frees == 1);
    node->next = nullptr;
    mprRelease(node);
}

/* What it refers to may have died. */
TEST_CASE("the manager of a block that only its hold keeps is never called to mark", "[gc][hold]") {
    static std::atomic<int> marks;
    const auto manage = [](void *, int flags) { marks += (flags & MPR_MANAGE_MARK) != 0; };
    for (const int kind : {0, MPR_ALLOC_BARRIER}) {
        for (const size_t size : {size_t(16), size_t(5000), size_t(3) << 20}) {
            for (const bool wasOld : {false, true}) {
                Runtime runtime("region=4m");
                void *block = mprAllocManaged(size, manage, kind);
                if (wasOld) {
                    mprAddRoot(block);
                    collect();
                    mprGC(MPR_GC_FORCE | MPR_GC_MINOR | MPR_GC_COMPLETE);
                    mprHold(block);
                    mprRemoveRoot(block);
                } else {
                    mprHold(block);
                }
                collect(); // only the hold keeps it
                marks = 0;
                for (int turn = 0; turn < 3; turn++) {
                    mprGC(MPR_GC_FORCE | MPR_GC_MINOR | MPR_GC_COMPLETE);
                    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
                }
                INFO(size << " bytes, kind " << kind << (wasOld ? ", was old" : ""));
                CHECK(marks == 0);
                CHECK(mprIsValid(block));
                mprRelease(block);
            }
        }
    }
}

TEST_CASE("a held block that is also marked marks its children", "[gc][hold][board]") {
    Runtime runtime;
    Node *child = makeNode();
    Node *node = makeNode(child);
    mprHold(node);
    mprAddRoot(node);
    collect();
    CHECK(mprIsValid(child));
    mprRemoveRoot(node);
    collect();
    CHECK(mprIsValid(node));
    CHECK_FALSE(mprIsValid(child));
    node->next = nullptr;
    mprRelease(node);
}

TEST_CASE("MPR_ALLOC_HOLD is one hold from birth", "[gc][hold][board]") {
    Runtime runtime;
    void *leaf = mprAllocMem(30, MPR_ALLOC_HOLD);
    Node *node = mprAllocObjWithFlags(Node, manageNode, MPR_ALLOC_ZERO | MPR_ALLOC_HOLD);
    collect();
    CHECK(mprIsValid(leaf));
    CHECK(mprIsValid(node));
    mprReleaseBlocks(leaf, node, NULL);
    collect();
    CHECK_FALSE(mprIsValid(leaf));
    CHECK_FALSE(mprIsValid(node));
    CHECK(stats().misuses == 0);
}

TEST_CASE("mprHoldBlocks and mprReleaseBlocks take several", "[gc][hold][board]") {
    Runtime runtime;
    void *a = mprAlloc(10), *b = mprAlloc(1000), *c = mprAlloc(100000);
    mprHoldBlocks(a, b, c, NULL);
    collect();
    CHECK(mprIsValid(a));
    CHECK(mprIsValid(b));
    CHECK(mprIsValid(c));
    mprReleaseBlocks(c, a, b, NULL);
    collect();
    CHECK_FALSE(mprIsValid(a));
    CHECK_FALSE(mprIsValid(b));
    CHECK_FALSE(mprIsValid(c));
}

TEST_CASE("holding and releasing NULL is fine", "[gc][hold][board]") {
    Runtime runtime;
    mprHold(nullptr);
    mprRelease(nullptr);
    mprHoldBlocks(nullptr, NULL);
    CHECK(stats().misuses == 0);
    CHECK(runtime.log.size() == 0);
}

TEST_CASE("releasing a block that is not held is named in the log", "[gc][hold][board]") {
    Runtime runtime;
    void *leaf = mprAlloc(30);
    mprHold(leaf);
    mprRelease(leaf);
    CHECK(runtime.log.names(leaf) == 0);
    mprRelease(leaf);
    CHECK(runtime.log.names(leaf) == 1);
    CHECK(stats().misuses == 1);
    mprHold(leaf);
    collect();
    CHECK(mprIsValid(leaf));
    mprRelease(leaf);
}

TEST_CASE("many held blocks survive among garbage with their contents", "[gc][hold][board]") {
    Runtime runtime("young=256k");
    std::vector<void *> held;
    for (size_t i = 0; i < 20000; i++) {
        void *block = mprAlloc(16 + i % 300);
        fill(block, 16 + i % 300, i);
        if (i % 10 == 0) {
            mprHold(block);
            held.push_back(block);
        }
        mprYield(0);
    }
    collect();
    size_t intact = 0;
    for (size_t i = 0; i < held.size(); i++) {
        intact += mprIsValid(held[i]) && filled(held[i], 16 + (i * 10) % 300, i * 10);
        mprRelease(held[i]);
    }
    CHECK(intact == held.size());
}

TEST_CASE("a block that is released before the sweep reaches it is safe until its thread yields", "[gc][hold]") {
    Runtime runtime;
    static Gate gate;
    gate.close();
    size_t size = GENERATE(24, 3000, 10000000);
    auto leaf = static_cast<unsigned char *>(mprAllocMem(size, MPR_ALLOC_HOLD));
    fill(leaf, size, 1);
    mprAllocManaged(
        8,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_FREE) {
                untilUnyielded([] { return gate.isOpen(); });
            }
        },
        0);
    mprGC(MPR_GC_FORCE);
    mprRelease(leaf);
    gate.open();
    REQUIRE(untilUnyielded([] { return stats().collections == 1; }));
    CHECK(mprIsValid(leaf));
    CHECK(filled(leaf, size, 1));
    CHECK(mprFree(leaf) == 0);
    CHECK_FALSE(mprIsValid(leaf));
}
