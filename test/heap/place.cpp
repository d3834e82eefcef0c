// SPDX-License-Identifier: MIT
/*
    test/heap/place.cpp - A place is a granule of a region: its address, its byte in the map, and how far its region goes.
 */
#include "mpr/heap/place.hpp"

#include "test/support/stepped_heap.hpp"

using namespace mpr::heap;

TEST_CASE("a place is where a block is, and has its head", "[heap][place][port]") {
    test::SteppedHeap stepped;
    void *block = stepped.makeApart(3);
    const Place at = Place::of(stepped.regionOf(block), block);
    CHECK(at.granule == stepped.granuleOf(block));
    CHECK(at.address() == block);
    CHECK(at.head() == stepped.head(block));
    CHECK(at.mapByte() == at.region->map().at(at.granule));
    CHECK(stepped.free(block));
}

TEST_CASE("places are counted in granules", "[heap][place][port]") {
    test::SteppedHeap stepped;
    void *block = stepped.makeApart(3);
    const Place at = Place::of(stepped.regionOf(block), block), behind = at + 3;
    CHECK(behind.region == at.region);
    CHECK(behind.address() == static_cast<Byte *>(block) + 3 * granuleSize);
    CHECK(Place::of(at.region, behind.address() - 1).granule == at.granule + 2);
    CHECK(stepped.free(block));
}

TEST_CASE("there is room up to the end of the region, and none before its first granule", "[heap][place][port]") {
    test::SteppedHeap stepped;
    Region *region = stepped.heap().firstRegion();
    if (!region) {
        CHECK(stepped.free(stepped.makeApart(1)));
        region = stepped.heap().firstRegion();
    }
    REQUIRE(region);
    const Place first{region, region->firstGranule}, last{region, region->endGranule - 1u};
    const Place header{region, region->firstGranule - 1u};
    CHECK(first.hasRoom(1));
    CHECK(first.hasRoom(region->endGranule - region->firstGranule));
    CHECK_FALSE(first.hasRoom(region->endGranule - region->firstGranule + 1));
    CHECK_FALSE(first.hasRoom(0));
    CHECK_FALSE(header.hasRoom(1));
    CHECK(last.hasRoom(1));
    CHECK_FALSE(last.hasRoom(2));
}
