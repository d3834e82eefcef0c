// SPDX-License-Identifier: MIT
/*
    test/gc/block_filter.cpp - Blocks that need not be looked at: no young or unmarked one is ever passed over.
 */
#include "mpr/gc/block_filter.hpp"

#include "test/support/pattern.hpp"
#include "test/support/stepped_heap.hpp"

#include <atomic>
#include <thread>
#include <vector>

using mpr::gc::BlockFilter;
using mpr::heap::Sweep;
using test::Random;
using test::SteppedHeap;

namespace {

/* Blocks of all sizes, of which every third is marked. */
struct Some {
    explicit Some(size_t count) {
        for (size_t i = 0; i < count; i++) {
            blocks.push_back(stepped.make(1 + random.below(random.chance(5) ? 3000 : 40)));
        }
    }
    void markSome() {
        for (size_t i = 0; i < blocks.size(); i += 3) {
            stepped.mark(blocks[i]);
        }
    }

    SteppedHeap stepped;
    Random random{1};
    std::vector<void *> blocks;
};

} // namespace

TEST_CASE("the filter of the marked passes over marked blocks and no others", "[gc][filter]") {
    Some some(3000);
    some.stepped.unmark(true);
    some.markSome();
    BlockFilter filter(BlockFilter::Kind::marked);
    CHECK_FALSE(filter);
    REQUIRE(filter.open());
    filter.fillMarked(some.stepped.heap());
    for (size_t i = 0; i < some.blocks.size(); i++) {
        REQUIRE(filter.passesOver(some.blocks[i]) == (i % 3 == 0));
    }
    filter.close();
    CHECK_FALSE(filter);
    some.stepped.sweep(Sweep::all);
}

TEST_CASE("the filter of the marked passes over no pinned block", "[gc][filter][pinned]") {
    Some some(10);
    some.stepped.unmark(true);
    some.markSome();
    BlockFilter filter(BlockFilter::Kind::marked);
    REQUIRE(filter.open());
    filter.fillMarked(some.stepped.heap());
    // An address that has its bit from a block far away.
    static mpr::heap::Byte *alias;
    auto marked = static_cast<mpr::heap::Byte *>(some.blocks[0]);
    alias = nullptr;
    for (unsigned shift = 24; shift < 31 && !alias; shift++) {
        auto other = reinterpret_cast<mpr::heap::Byte *>(reinterpret_cast<uintptr_t>(marked) ^ uintptr_t{1} << shift);
        alias = filter.passesOver(other) ? other : nullptr;
    }
    REQUIRE(alias);
    mpr::heap::Annex annex{};
    annex.forEachBlock = [](auto visit, void *context) { visit(context, alias, 1, mpr::heap::head::inUse); };
    some.stepped.heap().setAnnex(&annex);
    filter.fillMarked(some.stepped.heap());
    CHECK_FALSE(filter.passesOver(alias));
    CHECK(filter.passesOver(some.blocks[3]));
    some.stepped.heap().setAnnex(nullptr);
    filter.close();
    some.stepped.sweep(Sweep::all);
}

TEST_CASE("the filter of the old passes over no line with a young block", "[gc][filter]") {
    Some some(3000);
    some.stepped.unmark(true);
    some.markSome();
    some.stepped.sweep(Sweep::all);
    std::vector<void *> young;
    for (int i = 0; i < 50; i++) {
        young.push_back(some.stepped.make(1 + some.random.below(40)));
    }
    some.stepped.unmark(false);
    BlockFilter filter(BlockFilter::Kind::old);
    REQUIRE(filter.open());
    filter.fillOld(some.stepped.heap());
    for (void *block : young) {
        REQUIRE_FALSE(filter.passesOver(block));
    }
    size_t passed = 0;
    for (size_t i = 0; i < some.blocks.size(); i += 3) {
        passed += filter.passesOver(some.blocks[i]);
    }
    CHECK(passed > some.blocks.size() / 3 / 2); // most lines have nothing young
    for (size_t i = 0; i < some.blocks.size(); i += 3) {
        some.stepped.mark(some.blocks[i]);
    }
    some.stepped.sweep(Sweep::young);
    filter.close();
}

TEST_CASE("a large block is always looked at", "[gc][filter]") {
    SteppedHeap stepped;
    void *const large = stepped.make(100000);
    stepped.unmark(true);
    stepped.mark(large);
    for (const auto kind : {BlockFilter::Kind::old, BlockFilter::Kind::marked}) {
        BlockFilter filter(kind);
        REQUIRE(filter.open());
        kind == BlockFilter::Kind::old ? filter.fillOld(stepped.heap()) : filter.fillMarked(stepped.heap());
        CHECK_FALSE(filter.passesOver(large));
        filter.close();
    }
    stepped.sweep(Sweep::all);
}

TEST_CASE("of an address in no region nothing is known", "[gc][filter]") {
    SteppedHeap stepped;
    static uintptr_t outside[2];
    BlockFilter filter(BlockFilter::Kind::marked);
    REQUIRE(filter.open());
    stepped.make(1);
    filter.fillMarked(stepped.heap());
    CHECK_FALSE(filter.passesOver(outside));
    filter.close();
}

TEST_CASE("regions that a foreign thread adds while a filter is filled are not known to it", "[gc][filter]") {
    SteppedHeap stepped;
    mpr::heap::Heap &heap = stepped.heap();
    const size_t large = size_t{300'000} >> mpr::heap::granuleShift; // more than a region
    std::vector<void *> blocks;
    std::atomic<bool> over{false};
    std::thread adds([&] {
        for (int i = 0; i < 2000; i++) {
            mpr::heap::Shortage shortage = mpr::heap::Shortage::none;
            blocks.push_back(heap.allocateShared(large, 0, false, shortage));
        }
        over = true;
    });
    bool filled = true;
    do {
        BlockFilter filter(BlockFilter::Kind::marked);
        filled = filled && filter.open() && filter.fillMarked(heap);
        filter.close();
    } while (!over);
    adds.join();
    CHECK(filled);
    for (void *block : blocks) {
        REQUIRE(block);
        stepped.freeApart(block);
    }
}
