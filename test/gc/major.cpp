// SPDX-License-Identifier: MIT
/*
    test/gc/major.cpp - How far a major collection has come.
 */
#include "mpr/gc/major.hpp"

#include "test/catch.hpp"

using mpr::gc::Major;

TEST_CASE("a major collection is traced when nothing is left, nothing waits and all roots are marked",
          "[gc][cycle][port]") {
    Major major;
    CHECK_FALSE(major.isTracing());
    major.count();
    major.start(true);
    CHECK(major.isTracing());
    CHECK_FALSE(major.isTraced());
    major.advanced(true, true);
    CHECK_FALSE(major.isTraced());
    major.advanced(false, true);
    CHECK_FALSE(major.isTraced());
    major.advanced(false, false);
    CHECK_FALSE(major.isTraced());
    CHECK(major.takeRootsLeft());
    CHECK_FALSE(major.takeRootsLeft());
    major.advanced(false, false);
    CHECK(major.isTraced());
    CHECK(major.isTracing());
    major.advanced(true, false); // a minor collection has reached more
    CHECK_FALSE(major.isTraced());
    major.end();
    CHECK_FALSE(major.isTracing());
}

TEST_CASE("a major collection is forced when somebody asked for it before it began", "[gc][cycle][port]") {
    Major major;
    CHECK_FALSE(major.isForced()); // none has begun
    CHECK_FALSE(major.mustBegin());
    major.count();
    CHECK_FALSE(major.isForced());
    CHECK_FALSE(major.mustBegin());
    major.force(false);
    CHECK_FALSE(major.isForced());
    CHECK(major.mustBegin());
    major.count();
    CHECK(major.isForced());
    CHECK_FALSE(major.mustBegin());
    major.count();
    CHECK_FALSE(major.isForced());
}

TEST_CASE("nobody waits for the sweep of a major collection that nobody asked for", "[gc][cycle][port]") {
    Major major;
    const auto isSwept = [&] { return static_cast<int32_t>(major.swept().load() - major.forced()) >= 0; };
    CHECK(isSwept());
    major.force(false);
    CHECK_FALSE(isSwept());
    major.count();
    CHECK_FALSE(isSwept());
    major.countMarked();
    major.countSwept();
    CHECK(isSwept());
}

TEST_CASE("minor collections starve a major one that they keep from marking", "[gc][cycle][port]") {
    Major major;
    const auto passBy = [&](int times) {
        for (int i = 0; i < times; i++) {
            major.passBy();
        }
    };
    passBy(10);
    CHECK_FALSE(major.isStarved());
    major.start(false);
    passBy(3);
    CHECK_FALSE(major.isStarved());
    passBy(1);
    CHECK(major.isStarved());
    major.sliced();
    CHECK_FALSE(major.isStarved());
    passBy(4);
    major.advanced(false, true); // nothing could be marked
    CHECK(major.isStarved());
    major.advanced(true, true);
    CHECK_FALSE(major.isStarved());
    passBy(4);
    major.advanced(false, false);
    CHECK_FALSE(major.isStarved());
}

TEST_CASE("a major collection gets a share of the time that the pauses of minor ones take", "[gc][cycle][port]") {
    constexpr std::uint64_t millisecond = 1'000'000;
    Major major;
    major.start(false);
    for (int i = 0; i < 3; i++) { // few, but long, with a step between each two
        major.passBy();
        major.heldUp(40 * millisecond);
        major.worked(millisecond / 100);
        major.advanced(true, false);
        CHECK(major.isStarved());
    }
    const std::uint64_t owed = major.owed();
    CHECK(owed > 14 * millisecond);
    CHECK(owed <= 15 * millisecond);
    major.worked(owed);
    major.sliced();
    CHECK_FALSE(major.isStarved());
    major.worked(millisecond); // what it has had beyond its share is not held against it
    major.heldUp(8 * millisecond);
    CHECK(major.owed() == millisecond);
    major.end();
    CHECK_FALSE(major.isStarved());
    major.start(false);
    CHECK(major.owed() == 0);
}
