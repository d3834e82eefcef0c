// SPDX-License-Identifier: MIT
/*
    test/gc/lost_time.cpp - Sums of what threads have lost, by cause.
 */
#include "mpr/gc/lost_time.hpp"

#include "test/catch.hpp"

#include <memory>

using mpr::gc::LostTime;

TEST_CASE("lost times add up by cause, and the total is their sum", "[gc][suspension]") {
    LostTime time;
    MprLostTime once{};
    once.others = 1;
    once.marking = 20;
    once.assisting = 300;
    once.memory = 4000;
    once.total = 77; // is computed, not added
    time.add(once);
    time.add(once);
    MprLostTime lost{};
    time.read(lost);
    CHECK(lost.count == 2);
    CHECK(lost.others == 2);
    CHECK(lost.marking == 40);
    CHECK(lost.assisting == 600);
    CHECK(lost.memory == 8000);
    CHECK(lost.total == 8642);
    time.forget();
    time.read(lost);
    CHECK(lost.count == 0);
    CHECK(lost.total == 0);
}
