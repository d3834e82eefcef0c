// SPDX-License-Identifier: MIT
/*
    test/heap/limits.cpp - The arithmetic of the redline, the hard limit and the reserve.
 */
#include "test/catch.hpp"

#include "mpr/heap/limits.hpp"

using mpr::heap::Limits;

TEST_CASE("limits: the last bytes below the hard limit are for the privileged", "[heap][limits]") {
    Limits limits;
    CHECK(limits.allows(size_t{1} << 30, false));
    limits.set(Limits::none, 1000);
    CHECK(limits.ceiling() == 750); // of a tiny heap a quarter
    CHECK(limits.allows(750, false));
    CHECK_FALSE(limits.allows(751, false));
    CHECK(limits.allows(1000, true));
    CHECK_FALSE(limits.allows(1001, true));

    limits.commit(700);
    CHECK(limits.allows(50, false));
    CHECK_FALSE(limits.allows(51, false));
    CHECK(limits.allows(300, true));
    CHECK_FALSE(limits.allows(301, true));

    limits.set(Limits::none, size_t{64} << 20);
    CHECK(limits.ceiling() == size_t{62} << 20);
    limits.set(Limits::none, size_t{1} << 20);
    CHECK(limits.ceiling() == size_t{960} << 10);
}

TEST_CASE("limits: a limit below what is committed allows nothing, and no sum overflows", "[heap][limits]") {
    Limits limits;
    limits.commit(1000);
    limits.set(Limits::none, 800);
    CHECK_FALSE(limits.allows(0, true));
    CHECK_FALSE(limits.allows(Limits::none, true));
    CHECK_FALSE(limits.take(1, true));
    CHECK(limits.committed() == 1000);
    limits.uncommit(400);
    CHECK(limits.allows(200, true));
    CHECK_FALSE(limits.allows(201, true));
}

TEST_CASE("limits: what is refused changes nothing", "[heap][limits]") {
    Limits limits;
    limits.set(Limits::none, 1000);
    CHECK_FALSE(limits.take(751, false));
    CHECK(limits.committed() == 0);
    CHECK(limits.take(750, false));
    CHECK_FALSE(limits.take(1, false));
    CHECK(limits.take(250, true));
    CHECK(limits.committed() == 1000);
}

TEST_CASE("limits: the redline is crossed once, until a sixteenth of it has been given back", "[heap][limits]") {
    Limits limits;
    limits.set(1600, Limits::none);
    limits.commit(1600);
    CHECK_FALSE(limits.warned());
    limits.commit(1);
    CHECK(limits.warned());
    CHECK(limits.crossings() == 1);
    limits.setWarned(false);
    limits.commit(1);
    CHECK_FALSE(limits.warned());

    limits.uncommit(101); // to 1501
    limits.commit(200);
    CHECK(limits.crossings() == 1);
    limits.uncommit(201); // to 1500
    limits.setWarned(true);
    CHECK_FALSE(limits.warned()); // it is below: there is nothing to be said again
    limits.commit(101);
    CHECK(limits.crossings() == 2);
    CHECK(limits.warned());
}

TEST_CASE("limits: a redline that is set below what is committed is crossed at once", "[heap][limits]") {
    Limits limits;
    limits.commit(1000);
    limits.set(900, Limits::none);
    CHECK(limits.warned());
    CHECK(limits.crossings() == 1);
}

TEST_CASE("limits: the peak stays when memory is given back", "[heap][limits]") {
    Limits limits;
    limits.commit(500);
    limits.uncommit(400);
    CHECK(limits.peak() == 500);
    limits.commit(300);
    CHECK(limits.peak() == 500);
    limits.commit(200);
    CHECK(limits.peak() == 600);
}
