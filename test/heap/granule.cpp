// SPDX-License-Identifier: MIT
/*
    test/heap/granule.cpp - Bytes to granules, and the bounds that the map's bits give.
 */
#include "mpr/heap/granule.hpp"

#include "test/catch.hpp"

using namespace mpr::heap;

TEST_CASE("bytes are rounded up to granules", "[heap][granule][port]") {
    CHECK(granulesFor(0) == 0);
    CHECK(granulesFor(1) == 1);
    CHECK(granulesFor(granuleSize) == 1);
    CHECK(granulesFor(granuleSize + 1) == 2);
    for (size_t bytes = 1; bytes < 2000; bytes++) {
        const size_t n = granulesFor(bytes);
        REQUIRE(n * granuleSize >= bytes);
        REQUIRE((n - 1) * granuleSize < bytes);
    }
    CHECK(granulesFor(SIZE_MAX / 2) == (SIZE_MAX / 2 >> granuleShift) + 1);
}

TEST_CASE("values are rounded up to powers of two", "[heap][granule][port]") {
    CHECK(roundUp(0, 8) == 0);
    CHECK(roundUp(1, 8) == 8);
    CHECK(roundUp(8, 8) == 8);
    CHECK(roundUp(9, 8) == 16);
    CHECK(roundUp(5, 1) == 5);
}

TEST_CASE("a granule has room for two links, and the greatest region no more granules than the map can say",
          "[heap][granule][port]") {
    CHECK(granuleSize >= 2 * sizeof(void *));
    CHECK(leastRegionShift < defaultRegionShift);
    CHECK(defaultRegionShift < greatestRegionShift);
    CHECK(((size_t{1} << greatestRegionShift) >> granuleShift) <= greatestGranules);
}
