// SPDX-License-Identifier: MIT
/*
    test/heap/lane.cpp - Which lane a size has, by what became of its blocks.
 */
#include "mpr/heap/lane.hpp"

#include "test/catch.hpp"

using namespace mpr::heap;

namespace {

struct Counted {
    void count(size_t n, int lived, int died) {
        for (int i = 0; i < lived + died; i++) {
            lifetimes.count(n, i < lived);
        }
    }
    Lane judge(size_t n) {
        lifetimes.judge();
        return lifetimes.laneOf(n);
    }

    Lifetimes lifetimes;
};

} // namespace

TEST_CASE("small blocks are expected to die young, and large ones have a lane of their own", "[heap][lane]") {
    Counted counted;
    CHECK(counted.lifetimes.laneOf(1) == Lane::passing);
    CHECK(counted.lifetimes.laneOf(greatestSmall) == Lane::passing);
    CHECK(counted.lifetimes.laneOf(greatestSmall + 1) == Lane::big);
    CHECK(sortOf(Lane::big) == Sort::big);
    CHECK(sortOf(Lane::lasting) == Sort::small);
    CHECK(sortOf(greatestSmall) == Sort::small);
    CHECK(sortOf(greatestSmall + 1) == Sort::big);
}

TEST_CASE("one survivor among sixteen makes a size lasting, and no other size", "[heap][lane]") {
    Counted counted;
    counted.count(4, 1, 15);
    counted.count(5, 1, 16);
    CHECK(counted.judge(4) == Lane::lasting);
    CHECK(counted.lifetimes.laneOf(5) == Lane::passing);
    CHECK(counted.lifetimes.laneOf(3) == Lane::passing);
}

TEST_CASE("nothing is said of a size of which few were seen", "[heap][lane]") {
    Counted counted;
    counted.count(4, 15, 0);
    CHECK(counted.judge(4) == Lane::passing);
    counted.count(4, 9, 0); // and half of those before
    CHECK(counted.judge(4) == Lane::lasting);
}

TEST_CASE("a lasting size stays so until less than one in 64 lives", "[heap][lane]") {
    Counted counted;
    counted.count(4, 16, 0);
    REQUIRE(counted.judge(4) == Lane::lasting);
    counted.count(4, 0, 500); // eight of 516 are remembered
    CHECK(counted.judge(4) == Lane::lasting);
    counted.count(4, 0, 600); // four of 850
    CHECK(counted.judge(4) == Lane::passing);
}

TEST_CASE("half of what was counted is forgotten each time", "[heap][lane]") {
    Counted counted;
    counted.count(4, 16, 0);
    CHECK(counted.judge(4) == Lane::lasting);
    for (int i = 0; i < 5; i++) {
        counted.judge(4);
    }
    counted.count(4, 0, 16);
    CHECK(counted.judge(4) == Lane::passing);
}

TEST_CASE("a few spans of a lane are looked at after each collection", "[heap][lane]") {
    Counted counted;
    CHECK_FALSE(counted.lifetimes.wants(Lane::passing));
    for (int round = 0; round < 2; round++) {
        counted.lifetimes.judge();
        for (const Lane lane : {Lane::passing, Lane::lasting}) {
            int wanted = 0;
            while (counted.lifetimes.wants(lane) && wanted < 100) {
                wanted++;
            }
            CHECK(wanted == 3);
        }
        CHECK_FALSE(counted.lifetimes.wants(Lane::big));
    }
}

TEST_CASE("large blocks are not counted", "[heap][lane]") {
    Counted counted;
    counted.count(greatestSmall + 1, 100, 0);
    CHECK(counted.judge(greatestSmall + 1) == Lane::big);
    CHECK(counted.lifetimes.laneOf(greatestSmall) == Lane::passing);
}
