// SPDX-License-Identifier: MIT
/*
    test/gc/assists.cpp - Whether threads assist the collector at their yields.
 */
#include "mpr/gc/assists.hpp"

#include "test/catch.hpp"

using mpr::gc::Assists;
using mpr::gc::Major;

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

TEST_CASE("in trials threads never assist", "[gc][cycle]") {
    Assists assists;
    Major major;
    major.count();
    assists.open(1, true);
    assists.choose(major, 5, true);
    CHECK_FALSE(assists.with(Assists::marking | Assists::sweeping));
}
