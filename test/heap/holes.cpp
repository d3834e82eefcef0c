// SPDX-License-Identifier: MIT
/*
    test/heap/holes.cpp - Holes: joined with their neighbours, carved, and backed by memory no further than they are used.
 */
#include "mpr/heap/holes.hpp"

#include "test/support/pattern.hpp"
#include "test/support/stepped_heap.hpp"

#include <algorithm>
#include <utility>
#include <vector>

using namespace mpr::heap;
using test::PagewiseHeap;
using test::SteppedHeap;

namespace {

/* Blocks side by side, with one at either end that stays. */
struct Row {
    explicit Row(std::vector<size_t> granules) : sizes(std::move(granules)) {
        stepped.makeApart(100);
        for (const size_t n : sizes) {
            blocks.push_back(stepped.makeApart(n));
        }
        stepped.makeApart(100);
        region = stepped.regionOf(blocks[0]);
        for (size_t i = 1; i < blocks.size(); i++) {
            REQUIRE(at(i) == at(i - 1) + sizes[i - 1]);
        }
    }
    size_t at(size_t i) const { return region->granuleOf(blocks[i]); }
    bool holeAt(size_t g, size_t n) {
        size_t found = 0;
        return GranuleMap::beginsHole(region->map().get(g)) && region->agreedHoleSize(g, found) && found == n;
    }

    PagewiseHeap stepped;
    std::vector<size_t> sizes;
    std::vector<void *> blocks;
    Region *region;
};

/* Make a hole of two blocks: the pages of the first have gone back to the system, those of the second have not. */
void freeColdThenWarm(Row &row) {
    row.stepped.freeApart(row.blocks[0]);
    row.stepped.heap().purge(0);
    row.stepped.freeApart(row.blocks[1]);
}

/* Let ordinary allocation commit so many bytes and hardly more. */
void limitTo(Heap &heap, size_t bytes) {
    Limits limits;
    size_t maximum = bytes;
    for (; limits.set(Limits::none, maximum), limits.ceiling() < bytes; maximum += 256) {}
    heap.setLimits(Limits::none, maximum);
}

/* Whether n granules that are committed are free, and what follows can be a hole, without being asked of any queue. */
bool hasBacked(Region &region, size_t n) {
    for (size_t g = region.firstGranule, size = 0; g < region.endGranule; g += size) {
        size = region.extentAt(g);
        REQUIRE(size > 0);
        const size_t end = g + size;
        size_t run = 0;
        for (size_t at = g; GranuleMap::beginsHole(region.map().get(g)) && at < end; at++) {
            run = region.allCommitted(at, at + 1) ? run + 1 : 0;
            if (run >= n + 2 || (run == n && at + 1 == end)) {
                return true;
            }
        }
    }
    return false;
}

} // namespace

TEST_CASE("what is freed becomes one hole with its neighbours, in whichever order they are freed",
          "[heap][holes][port]") {
    std::vector<size_t> order = {0, 1, 2};
    do {
        Row row({70, 500, 90});
        for (const size_t i : order) {
            row.stepped.freeApart(row.blocks[i]);
            REQUIRE(row.stepped.heap().verify() == 0);
        }
        CAPTURE(order);
        CHECK(row.holeAt(row.at(0), 660));
        CHECK(row.region->map().get(row.at(1)) < mark::hole);
        CHECK(row.region->map().get(row.at(2)) < mark::hole);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("holes of one, two and three granules join, too", "[heap][holes][port]") {
    SteppedHeap stepped;
    const size_t a = GENERATE(1, 2, 3), b = GENERATE(1, 2, 3);
    CAPTURE(a, b);
    stepped.makeApart(1);
    void *const first = stepped.makeApart(a), *const second = stepped.makeApart(b);
    stepped.makeApart(1);
    Region *const region = stepped.regionOf(first);
    const size_t g = region->granuleOf(first);
    REQUIRE(region->granuleOf(second) == g + a);
    stepped.freeApart(first);
    CHECK(region->holeSize(g) == a);
    CHECK((region->map().get(g) == mark::hole1) == (a == 1));
    CHECK(stepped.heap().verify() == 0);
    stepped.freeApart(second);
    CHECK(region->holeSize(g) == a + b);
    CHECK(stepped.heap().verify() == 0);
}

TEST_CASE("a block is carved from the front of the hole that fits best, and the rest stays a hole",
          "[heap][holes][port]") {
    Row row({400, 100, 2000, 100, 200});
    row.stepped.freeApart(row.blocks[0]);
    row.stepped.freeApart(row.blocks[2]);
    row.stepped.freeApart(row.blocks[4]);
    CHECK(row.stepped.makeApart(180) == row.blocks[4]);
    CHECK(row.holeAt(row.at(4) + 180, 20));
    CHECK(row.stepped.makeApart(300) == row.blocks[0]);
    CHECK(row.holeAt(row.at(0) + 300, 100));
    CHECK(row.stepped.makeApart(100) == row.region->address(row.at(0) + 300)); // exactly
    CHECK(row.stepped.makeApart(700) == row.blocks[2]);
    CHECK(row.stepped.heap().verify() == 0);
}

TEST_CASE("memory is committed as far as blocks reach, and a hole that was a block is warm", "[heap][holes][port]") {
    PagewiseHeap stepped;
    stepped.makeApart(100);
    const size_t before = stepped.heap().limits().committed();
    const size_t chunk = stepped.heap().chunkBytes();
    void *const block = stepped.makeApart(10 * chunk / granuleSize);
    const size_t with = stepped.heap().limits().committed();
    CHECK(with >= before + 9 * chunk);
    CHECK(with <= before + 11 * chunk);
    stepped.makeApart(100);
    stepped.freeApart(block);
    CHECK(stepped.heap().limits().committed() == with);
    CHECK(stepped.heap().largestFree() >= 9 * chunk);
    CHECK(stepped.makeApart(9 * chunk / granuleSize) == block); // the heap need not grow for it
    CHECK(stepped.heap().limits().committed() == with);
}

TEST_CASE("a hole that would exceed the limit is not carved", "[heap][holes][port]") {
    PagewiseHeap stepped;
    stepped.makeApart(100);
    Heap &heap = stepped.heap();
    const size_t committed = heap.limits().committed(), many = 20 * heap.chunkBytes() / granuleSize;
    heap.setLimits(Limits::none, committed + 4 * heap.chunkBytes());
    Shortage shortage = Shortage::none;
    CHECK(heap.allocateShared(many, 0, false, shortage) == nullptr);
    CHECK(shortage == Shortage::limit);
    CHECK(heap.limits().committed() == committed);
    CHECK(heap.verify() == 0);
    heap.setLimits(Limits::none, Limits::none);
    CHECK(heap.allocateShared(many, 0, false, shortage));
}

TEST_CASE("what is committed behind memory that is not serves when the heap may grow no more", "[heap][holes][port]") {
    const size_t rest = GENERATE(0, 1, 2, 3, 300); // granules of it that are left
    const bool inContext = GENERATE(false, true);
    CAPTURE(rest, inContext);
    const size_t chunk = PagewiseHeap().heap().chunkBytes() / granuleSize;
    Row row({3 * chunk, 4 * chunk});
    Heap &heap = row.stepped.heap();
    freeColdThenWarm(row);
    REQUIRE(row.holeAt(row.at(0), 7 * chunk));
    size_t from = row.at(1); // of what is committed to the end of the hole
    while (row.region->allCommitted(from - 1, from)) {
        from--;
    }
    REQUIRE(from > row.at(0) + chunk);
    const size_t committed = heap.limits().committed(), n = row.at(1) + 4 * chunk - from - rest;
    limitTo(heap, committed);
    void *const block = inContext ? row.stepped.makeSlowly(n) : row.stepped.makeApart(n);
    CHECK(block == row.region->address(from));
    CHECK(heap.limits().committed() == committed);
    CHECK(heap.verify() == 0);
    Shortage shortage = Shortage::none;
    CHECK(heap.allocateShared(n, 0, false, shortage) == nullptr);
    row.stepped.freeApart(block);
    CHECK(row.holeAt(row.at(0), 7 * chunk));
}

TEST_CASE("where one more chunk may be committed, a place that needs no more than one is found",
          "[heap][holes][port]") {
    const size_t chunk = PagewiseHeap().heap().chunkBytes() / granuleSize;
    Row row({4 * chunk, 4 * chunk});
    Heap &heap = row.stepped.heap();
    freeColdThenWarm(row);
    const size_t committed = heap.limits().committed();
    limitTo(heap, committed + heap.chunkBytes());
    row.stepped.makeApart(5 * chunk - 2); // at the front it would need three, or four
    CHECK(heap.limits().committed() == committed + heap.chunkBytes());
    CHECK(heap.verify() == 0);
}

TEST_CASE("nothing is refused that fits into committed memory", "[heap][holes][port]") {
    constexpr unsigned rounds = 40;
    for (unsigned round = 1; round <= rounds; round++) {
        CAPTURE(round);
        test::Random random(round);
        PagewiseHeap stepped;
        Heap &heap = stepped.heap();
        const size_t chunk = heap.chunkBytes() / granuleSize;
        std::vector<void *> blocks;
        Region *const region = stepped.regionOf(stepped.makeApart(chunk));
        for (size_t left = 40 * chunk; left > 3 * chunk;) {
            const size_t n = chunk / 2 + 1 + random.below(5 * chunk / 2);
            blocks.push_back(stepped.makeApart(n));
            REQUIRE(stepped.regionOf(blocks.back()) == region);
            left -= n;
        }
        for (const size_t share : {2, 3}) { // what is free then goes back, and what is free only afterwards does not
            for (void *&block : blocks) {
                if (block && random.below(share) == 0) {
                    stepped.freeApart(std::exchange(block, nullptr));
                }
            }
            if (share == 2) {
                heap.purge(0);
            }
        }
        limitTo(heap, heap.limits().committed());
        for (size_t n = chunk - 2; n > chunk / 4; n -= chunk / 8) {
            Shortage shortage = Shortage::none;
            while (heap.allocateShared(n, 0, false, shortage)) {}
            CHECK_FALSE(hasBacked(*region, n));
            REQUIRE(heap.verify() == 0);
        }
    }
}
