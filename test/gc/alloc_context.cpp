// SPDX-License-Identifier: MIT
/*
    test/gc/alloc_context.cpp - mpr/context.h: what is allocated without a call is a block like any other, whatever the
    heap and the collector do meanwhile; and threads know what they have allocated.
 */
#include "test/support/every_yield.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <cstring>
#include <random>
#include <set>
#include <vector>

using test::Gate;
using test::Log;
using test::Mutator;
using test::Root;
using test::Runtime;

namespace {

struct Cell {
    Cell *head, *tail;
    uintptr_t value, check;
};

void manageCell(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, 2);
    }
}

constexpr int inlined = MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE;

MprBlockKind kindOf(MprManager manager, int flags = 0) {
    MprBlockKind kind;
    CHECK(mprSetBlockKind(&kind, manager, flags) == 0);
    return kind;
}

/* A list of cells in front of another. Fills each with what `value` and its place say. */
Cell *grow(MprContext *context, const MprBlockKind *kind, Cell *tail, uintptr_t value, int length) {
    for (int i = 0; i < length; i++) {
        auto cell = static_cast<Cell *>(mprAllocInContext(context, sizeof(Cell), kind));
        if (!cell) {
            return nullptr;
        }
        *cell = {nullptr, tail, value + static_cast<uintptr_t>(i), ~(value + static_cast<uintptr_t>(i))};
        tail = cell;
    }
    return tail;
}

bool isSound(const Cell *cell, int &length) {
    length = 0;
    for (; cell; cell = cell->tail, length++) {
        if (cell->check != ~cell->value || !mprIsValid(cell)) {
            return false;
        }
    }
    return true;
}

MprAllocStats own() {
    MprAllocStats all[64] = {};
    const int count = mprGetAllocStats(all, 64);
    for (int i = 0; i < count && i < 64; i++) {
        if (strcmp(all[i].thread, mprGetCurrentThreadName()) == 0) {
            return all[i];
        }
    }
    return {};
}

} // namespace

TEST_CASE("a block made in the context is one like that of the call", "[gc][context]") {
    Runtime runtime;
    MprContext *const context = mprGetContext();
    REQUIRE(context);
    CHECK(mprGetContext() == context);
    const MprBlockKind leaf = kindOf(nullptr), cells = kindOf(manageCell, inlined), plain = kindOf(manageCell);
    CHECK(leaf.most == (size_t{MPR_CONTEXT_GRANULES} << MPR_GRANULE_SHIFT));
    CHECK(cells.most == leaf.most - sizeof(MprManager));
    CHECK(plain.most == 0);
    for (const MprBlockKind *kind : {&leaf, &cells, &plain}) {
        for (size_t size = 0; size <= leaf.most + 100; size++) {
            auto block = static_cast<unsigned char *>(mprAllocInContext(context, size, kind));
            auto called = mprAllocManaged(size, kind->manager, kind->flags);
            REQUIRE(block);
            REQUIRE(called);
            if (mprGetBlockSize(block) != mprGetBlockSize(called) || !mprIsValid(block)) {
                FAIL(size << " bytes: " << mprGetBlockSize(block) << " and " << mprGetBlockSize(called));
            }
            memset(block, 0, mprGetBlockSize(block));
            memset(called, 0, mprGetBlockSize(called));
        }
    }
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("most blocks are made without a call", "[gc][context]") {
    Runtime runtime;
    MprContext *const context = mprGetContext();
    const MprBlockKind leaf = kindOf(nullptr);
    MprBump *const bump = context->bumps[context->lanes[2]];
    int inside = 0;
    for (int i = 0; i < 10000; i++) {
        const unsigned char *const before = bump->bump;
        auto block = static_cast<unsigned char *>(mprAllocInContext(context, 2u << MPR_GRANULE_SHIFT, &leaf));
        inside += before && block == before && bump->bump == before + (2u << MPR_GRANULE_SHIFT);
    }
    const std::string common = getenv("MPR_TEST_OPTIONS") ? getenv("MPR_TEST_OPTIONS") : "";
    if (!test::everyAlloc() && common.find("everyalloc") == std::string::npos &&
        common.find("poison") == std::string::npos) {
        CHECK(inside > 9000);
    }
}

TEST_CASE("cells made in the context live and die as others do", "[gc][context]") {
    const char *const options = GENERATE("", "check=1", "everyyield=1,check=1", "everyalloc=5", "young=65536,check=1");
    Runtime runtime(options);
    MprContext *const context = mprGetContext();
    const MprBlockKind kind = kindOf(manageCell, inlined);
    Root root;
    int length = 0;
    for (int round = 0; round < 200; round++) {
        root.set(grow(context, &kind, round % 16 == 0 ? nullptr : root.as<Cell>(), static_cast<uintptr_t>(round), 100));
        REQUIRE(root.as<Cell>());
        grow(context, &kind, nullptr, 0, 300); // garbage
        mprYield(0);
        REQUIRE(isSound(root.as<Cell>(), length));
        REQUIRE(length == (round % 16 + 1) * 100);
    }
    test::collect();
    CHECK(mprVerifyHeap() == 0);
    CHECK(test::stats().bytesLive < 4u << 20);
}

TEST_CASE("several threads make cells in their contexts, and exchange them", "[gc][context]") {
    Runtime runtime(GENERATE("", "young=65536,check=1"));
    auto *const shared = test::makeRow<Cell>(3);
    Root root(shared);
    std::atomic<int> next{0}, wrong{0};
    test::doInThreeThreads([&](Mutator &) {
        MprContext *const context = mprGetContext();
        MprBlockKind kind;
        wrong += !context || mprSetBlockKind(&kind, manageCell, inlined) != 0;
        std::minstd_rand random(static_cast<unsigned>(next++) + 1);
        for (int i = 0; i < 500 && wrong == 0; i++) {
            Cell *const list = grow(context, &kind, nullptr, random(), 50);
            mprSetRef(shared, shared + random() % 3, list);
            int length = 0;
            auto seen = static_cast<Cell *>(
                __atomic_load_n(reinterpret_cast<void **>(shared + random() % 3), __ATOMIC_ACQUIRE));
            wrong += !list || (seen && !isSound(seen, length));
            wrong += seen && length != 50;
            mprYield(0);
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("batches take back what was made in the context, and keep what was published", "[gc][context][batch]") {
    Runtime runtime(GENERATE("", "check=1"));
    MprContext *const context = mprGetContext();
    const MprBlockKind kind = kindOf(manageCell, inlined);
    auto *const row = test::makeRow<Cell>(8);
    Root root(row);
    mprSetBatches(true);
    mprYield(0);
    MprBatchStats before, after;
    mprReadBatchStats(&before);
    int length = 0;
    for (int round = 0; round < 300; round++) {
        grow(context, &kind, nullptr, 0, 50); // garbage
        mprSetRef(row, row + round % 8, grow(context, &kind, nullptr, static_cast<uintptr_t>(round), 20));
        mprYield(0);
        for (int i = 0; i < 8 && i <= round; i++) {
            REQUIRE(isSound(row[i], length));
            REQUIRE(length == 20);
        }
    }
    mprSetBatches(false);
    mprReadBatchStats(&after);
    // In a trial each yield waits, which keeps a batch.
    const bool trial = getenv("MPR_TEST_OPTIONS") && strstr(getenv("MPR_TEST_OPTIONS"), "every");
    CHECK((trial || test::inTrial() || after.takenBack > before.takenBack));
}

TEST_CASE("a thread that has stopped makes nothing in its context", "[gc][context][misuse]") {
    Runtime runtime;
    MprContext *const context = mprGetContext();
    const MprBlockKind kind = kindOf(nullptr);
    REQUIRE(mprAllocInContext(context, 16, &kind));
    mprYield(MPR_YIELD_STICKY);
    CHECK(mprAllocInContext(context, 16, &kind) == nullptr);
    CHECK(Log::has("mprAlloc"));
    mprResetYield();
    CHECK(mprAllocInContext(context, 16, &kind));
    const uint64 misuses = test::stats().misuses;
    MprBlockKind other;
    CHECK(mprSetBlockKind(&other, manageCell, MPR_ALLOC_HOLD) == MPR_ERR_BAD_ARGS);
    CHECK(test::stats().misuses == misuses + 1);
    CHECK(other.most == 0);
}

TEST_CASE("threads know what they have allocated", "[gc][context][stats]") {
    Runtime runtime(GENERATE("", "young=65536"));
    MprContext *const context = mprGetContext();
    const MprBlockKind kind = kindOf(nullptr);
    constexpr size_t size = 4u << MPR_GRANULE_SHIFT;
    MprAllocStats before = own();
    for (int i = 0; i < 100000; i++) {
        REQUIRE(mprAllocInContext(context, size, &kind));
        if (i % 1000 == 999) {
            mprYield(0);
        }
    }
    MprAllocStats after = own();
    CHECK(after.bytes - before.bytes == 100000 * size);
    CHECK(after.contexts > before.contexts);
    CHECK(after.slowPaths > before.slowPaths);
    CHECK(after.slowPaths - before.slowPaths <= 100000);

    before = own();
    REQUIRE(mprAlloc(100 << 10));
    REQUIRE(mprAlloc(20 << 20)); // in a region of its own
    REQUIRE(mprFree(mprAlloc(size)) == 0);
    REQUIRE(mprAlloc(size)); // from a quick list
    after = own();
    CHECK(after.bytes - before.bytes == (100 << 10) + (20 << 20) + 2 * size);

    Gate made;
    Mutator other("other", [&](Mutator &m) {
        for (int i = 0; i < 1000; i++) {
            mprAlloc(1000);
        }
        made.open();
        test::until([&] { return !m.go(); });
    });
    CHECK(test::until([&] { return made.isOpen(); }));
    test::collect(); // which closes its contexts
    MprAllocStats all[16] = {};
    const int count = mprGetAllocStats(all, 16);
    bool found = false;
    for (int i = 0; i < count; i++) {
        if (strcmp(all[i].thread, "other") == 0) {
            found = true;
            CHECK(all[i].bytes ==
                  1000 * ((1000 + (1u << MPR_GRANULE_SHIFT) - 1) >> MPR_GRANULE_SHIFT << MPR_GRANULE_SHIFT));
            CHECK(all[i].contexts > 0);
        }
    }
    CHECK(found);
    CHECK(mprGetAllocStats(nullptr, 0) == count);
}

TEST_CASE("room that a block is given to grow into is not counted as allocated", "[gc][context][stats][port]") {
    Runtime runtime;
    void *block = mprAlloc(3 << 20);
    const unsigned long long before = own().bytes;
    block = mprRealloc(block, 4 << 20);
    REQUIRE(block);
    CHECK(own().bytes - before >= 4 << 20);
    CHECK(own().bytes - before < (4 << 20) + 100);
}

TEST_CASE("what a thread is told of itself while it has yielded is never more than it has allocated",
          "[gc][context][stats]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    std::atomic<bool> ends{false};
    Mutator other("other", [&](Mutator &) {
        while (!ends) {
            mprGC(MPR_GC_MINOR);
        }
    });
    long wrong = 0;
    for (int round = 0; round < 4000; round++) {
        for (int i = 0; i < 20; i++) {
            mprAlloc(100);
        }
        const MprAllocStats exact = own();
        mprYield(MPR_YIELD_STICKY); // in which a pause closes its contexts
        for (int i = 0; i < 50; i++) {
            wrong += own().bytes > exact.bytes;
        }
        mprResetYield();
    }
    ends = true;
    other.join();
    CHECK(wrong == 0);
}
