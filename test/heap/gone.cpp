// SPDX-License-Identifier: MIT
/*
    test/heap/gone.cpp - Addresses of regions that were given up stay readable until nobody can be looking.
 */
#include "mpr/heap/gone.hpp"

#include "test/catch.hpp"
#include "test/support/pattern.hpp"

#include <cstring>
#include <unistd.h>
#include <vector>

using mpr::heap::GoneRegions;
namespace os = mpr::os;

namespace {

/* Whether the page that begins at an address can be read: asked of a call that fails if not, under an emulator, too. */
bool isMapped(void *page) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const bool mapped = write(ends[1], page, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return mapped;
}

struct Gone {
    ~Gone() { regions.releaseAll(); }
    /* Give up two pages, of which the first stays readable. */
    char *add() {
        auto region = static_cast<char *>(os::reserve(2 * os::pageSize(), os::pageSize()));
        REQUIRE(region);
        memset(region, 0xFF, 2 * os::pageSize());
        regions.add(region, os::pageSize(), 2 * os::pageSize());
        return region;
    }

    GoneRegions regions;
};

} // namespace

TEST_CASE("a thread that still looks at a region that is gone reads zeros, and no further than the header",
          "[heap][gone]") {
    Gone gone;
    char *const region = gone.add();
    CHECK(isMapped(region));
    CHECK(test::zeros(region, os::pageSize()));
    CHECK_FALSE(isMapped(region + os::pageSize()));
}

TEST_CASE("addresses go when threads have been stopped since", "[heap][gone]") {
    Gone gone;
    char *const before = gone.add();
    gone.regions.releaseSealed();
    CHECK(isMapped(before));
    gone.regions.seal();
    char *const behind = gone.add();
    CHECK(isMapped(before));
    gone.regions.releaseSealed();
    CHECK_FALSE(isMapped(before));
    CHECK(isMapped(behind));
    gone.regions.releaseSealed();
    CHECK(isMapped(behind));
    gone.regions.releaseAll();
    CHECK_FALSE(isMapped(behind));
}

TEST_CASE("without a collection the oldest addresses go when many have gathered", "[heap][gone]") {
    Gone gone;
    std::vector<char *> all;
    while (all.size() < 1000 && (all.empty() || isMapped(all[0]))) {
        all.push_back(gone.add());
    }
    REQUIRE(all.size() == 129);
    for (size_t i = 1; i < all.size(); i++) {
        REQUIRE(isMapped(all[i]));
    }
    gone.regions.releaseAll();
    for (char *region : all) {
        REQUIRE_FALSE(isMapped(region));
    }
}

TEST_CASE("sealed ones that had to go early do not take later ones with them", "[heap][gone]") {
    Gone gone;
    for (int i = 0; i < 128; i++) {
        gone.add();
    }
    gone.regions.seal();
    std::vector<char *> later;
    for (int i = 0; i < 100; i++) {
        later.push_back(gone.add());
    }
    gone.regions.releaseSealed();
    for (char *region : later) {
        REQUIRE(isMapped(region));
    }
}
