// SPDX-License-Identifier: MIT
/*
    test/gc/major.cpp - How far a major collection has come, and what threads do for it.
 */
#include "mpr/gc/major.hpp"

#include "mpr/gc/assists.hpp"
#include "test/catch.hpp"

using mpr::gc::Assists;
using mpr::gc::Major;

TEST_CASE("a major collection is traced when nothing is left, nothing waits and all roots are marked", "[gc][cycle]") {
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

TEST_CASE("a major collection is forced when somebody asked for it before it began", "[gc][cycle]") {
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

TEST_CASE("nobody waits for the sweep of a major collection that nobody asked for", "[gc][cycle]") {
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

TEST_CASE("minor collections starve a major one that they keep from marking", "[gc][cycle]") {
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

TEST_CASE("threads assist when more wait than there are processors, and nobody waits for the end", "[gc][cycle]") {
    Assists assists;
    Major major;
    major.count();
    major.end();
    assists.open(2, false);
    assists.choose(major, 1, true);
    CHECK_FALSE(assists.with(Assists::marking | Assists::sweeping));
    assists.choose(major, 2, true);
    CHECK(assists.with(Assists::sweeping));
    CHECK_FALSE(assists.with(Assists::marking));
    major.count();
    major.start(false);
    assists.choose(major, 2, true);
    CHECK(assists.with(Assists::marking));
    assists.endSweeping();
    CHECK_FALSE(assists.with(Assists::sweeping));
    CHECK(assists.with(Assists::marking));
    assists.end();
    CHECK_FALSE(assists.with(Assists::marking));
    major.force(false);
    assists.choose(major, 2, true);
    CHECK_FALSE(assists.with(Assists::marking | Assists::sweeping));
}

TEST_CASE("threads that yield too rarely to mark do not", "[gc][cycle]") {
    Assists assists;
    Major major;
    assists.open(1, false);
    major.count();
    major.start(false);
    assists.count();
    assists.choose(major, 1, false);
    CHECK_FALSE(assists.with(Assists::marking));
    for (unsigned i = 0; i < Assists::steps / 2; i++) {
        assists.count();
    }
    assists.choose(major, 1, false);
    CHECK(assists.with(Assists::marking));
    assists.choose(major, 1, false); // which has counted from nought
    CHECK_FALSE(assists.with(Assists::marking));
}
