// SPDX-License-Identifier: MIT
/*
    test/heap/damage.cpp - The heap's own data changed by a stray pointer: named, and made good where something else says what
    it was.
*/
#include "mpr/gc/runtime.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"

#include <cstring>

using namespace test;
using namespace mpr::heap;

namespace {

Heap &heap() {
    return mpr::gc::runtime().heap;
}

/* A block that lives, straight from a hole: not in a span, which is cleared in another way. */
struct Lone {
    static constexpr size_t size = 20000;
    void *block = mprAlloc(size);
    Region *region = heap().find(block);
    size_t g = region->granuleOf(block);

    Lone() {
        mprAddRoot(block);
        fill(block, size, 1);
    }
    bool isWhole() const { return mprIsValid(block) && filled(block, size, 1); }
};

constexpr const char *headerName = "a region's header was overwritten, and is made good";
constexpr const char *listName = "the list of regions was overwritten, and is made anew";

/* After some damage, to a heap of several regions: one collection names and mends it. */
void checkMended(const char *name) {
    collect();
    CHECK(Log::count(name) == 1);
    collect();
    CHECK(Log::count("heap defect") == 1);
    CHECK(mprVerifyHeap() == 0);
}
} // namespace

TEST_CASE("a header that was overwritten is named and made good", "[heap][damage]") {
    Runtime runtime("region=1m");
    const Lone lone;
    Region &region = *lone.region;
    SECTION("end") {
        region.endGranule ^= 64;
    }
    SECTION("first") {
        region.firstGranule ^= 2;
    }
    SECTION("length") {
        region.length ^= 4096;
    }
    SECTION("chunks") {
        region.chunkShift ^= 1;
    }
    SECTION("origin") {
        region.origin = Origin::large;
    }
    SECTION("sort") {
        region.sort = static_cast<Sort>(static_cast<unsigned>(region.sort) ^ 1);
    }
    SECTION("no sort") {
        region.sort = static_cast<Sort>(129);
    }
    SECTION("queues") {
        region.queues = reinterpret_cast<FreeQueues *>(lone.block);
    }
    SECTION("lines") {
        region.young.open(lone.block);
    }
    checkMended(headerName);
    CHECK(lone.isWhole());
}

TEST_CASE("the list of regions is rebuilt when a link of it was overwritten", "[heap][damage]") {
    Runtime runtime("region=1m");
    const Lone lone;
    void *large = mprAlloc(3000000);
    mprAddRoot(large);
    Region *region = heap().firstRegion();
    REQUIRE(region->next);
    SECTION("it ends early") {
        region->next = nullptr;
    }
    SECTION("it leads elsewhere") {
        region->next = reinterpret_cast<Region *>(lone.block);
    }
    SECTION("it leads back") {
        region->next->next = region;
    }
    SECTION("one way only") {
        region->next->previous = nullptr;
    }
    checkMended(listName);
    CHECK(lone.isWhole());
    CHECK(mprIsValid(large));
}

TEST_CASE("a head inside a block is named and removed, not swept", "[heap][damage]") {
    Runtime runtime;
    const Lone lone;
    const GranuleMap map = lone.region->map();
    map.set(lone.g + 100, map.get(lone.g)); // of the colour that is dead after the next collection
    checkMended("a dead block ends where nothing begins");
    CHECK(map.get(lone.g + 100) == 0);
    CHECK(lone.isWhole());
}

TEST_CASE("verifying the heap finds what stands inside a block in the map", "[heap][damage]") {
    Runtime runtime;
    const Lone lone;
    const GranuleMap map = lone.region->map();
    for (size_t at : {2, 8, 20, 300}) {
        const Byte before = map.get(lone.g + at);
        map.set(lone.g + at, before ^ 0x20);
        CHECK(mprVerifyHeap() > 0);
        map.set(lone.g + at, before);
        CHECK(mprVerifyHeap() == 0);
    }
}

TEST_CASE("a span in which a block has lost its size is named and left alone", "[heap][damage]") {
    Runtime runtime("poison=0");
    constexpr size_t size = 20 * granuleSize;
    constexpr size_t count = 1000;
    Root root(makeTable(count));
    auto table = root.as<Table>();
    for (size_t i = 0; i < count; i++) {
        table->items[i] = mprAlloc(size);
        fill(table->items[i], size, i);
        mprAlloc(2 * size);
    }
    collect();
    Region *region = heap().find(table->items[count / 2]);
    const size_t g = region->granuleOf(table->items[count / 2]);
    REQUIRE((region->spans.sparse >> region->spans.indexOf(g) & 1) != 0);
    const int digit = GENERATE(0, 0x0F); // no size, too large a size
    CAPTURE(digit);
    Byte *const digits = region->map().at((g + 5) & ~size_t(3));
    region->map().set(g + 1, 1); // they follow
    memset(digits, digit, 8);
    heap().retireSpans();
    for (size_t i = 0; i < count; i++) {
        void *block = mprAlloc(2 * size);
        REQUIRE(block);
        fill(block, 2 * size, i);
    }
    for (size_t i = 0; i < count; i++) {
        CHECK(filled(table->items[i], size, i));
    }
    CHECK(Log::count("a size in a span was overwritten") == 1);
    memset(digits, 0, 8);
    region->map().set(g + 1, Byte{size / granuleSize});
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("nothing is made of a hole whose two ends disagree", "[heap][damage]") {
    Runtime runtime("region=1m,poison=0", MPR_DISABLE_GC);
    constexpr size_t size = 20000;
    const Lone before;
    auto *block = static_cast<char *>(mprAlloc(size));
    auto *next = static_cast<char *>(mprAlloc(size));
    REQUIRE((before.g + size / granuleSize == before.region->granuleOf(block) && next == block + size));
    Region *region = heap().find(block);
    const size_t g = region->granuleOf(block);
    mprFree(block);
    const int place = GENERATE(0, 1, -2, -1); // of the hole, or from its end
    CAPTURE(place);
    const size_t at = g + static_cast<size_t>(place) + (place < 0 ? size / granuleSize : 0);
    const Byte was = region->map().get(at);
    region->map().set(at, was ^ 0x10);
    for (int i = 0; i < 20; i++) {
        const size_t smaller = size - 160 * static_cast<size_t>(i);
        auto *other = static_cast<char *>(mprAlloc(smaller));
        REQUIRE(other);
        CHECK((other >= next || other + smaller <= block));
    }
    CHECK(Log::count("a queue does not begin with free memory") == 1);
    region->map().set(at, was);
    mprFree(next); // joins the hole, which no queue has
    CHECK(mprVerifyHeap() == 0);
}
