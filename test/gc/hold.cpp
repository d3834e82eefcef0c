// SPDX-License-Identifier: MIT
/*
    test/gc/hold.cpp - Holds retain one block, nest, and are checked.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"

#include <vector>

using namespace test;

TEST_CASE("a held block is kept until it is released", "[gc][hold]") {
    Runtime runtime;
    void *leaf = mprAlloc(30);
    mprHold(leaf);
    collect();
    CHECK(mprIsValid(leaf));
    mprRelease(leaf);
    collect();
    CHECK_FALSE(mprIsValid(leaf));
}

TEST_CASE("holds nest", "[gc][hold]") {
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

TEST_CASE("a hold retains that block alone: its child is collected", "[gc][hold]") {
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
                collect(); // it is found dead, but for the hold
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

TEST_CASE("a held block that is also marked marks its children", "[gc][hold]") {
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

TEST_CASE("MPR_ALLOC_HOLD is one hold from birth", "[gc][hold]") {
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

TEST_CASE("mprHoldBlocks and mprReleaseBlocks take several", "[gc][hold]") {
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

TEST_CASE("holding and releasing NULL is fine", "[gc][hold]") {
    Runtime runtime;
    mprHold(nullptr);
    mprRelease(nullptr);
    mprHoldBlocks(nullptr, NULL);
    CHECK(stats().misuses == 0);
    CHECK(runtime.log.size() == 0);
}

TEST_CASE("releasing a block that is not held is named in the log", "[gc][hold]") {
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

TEST_CASE("many held blocks survive among garbage with their contents", "[gc][hold]") {
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
