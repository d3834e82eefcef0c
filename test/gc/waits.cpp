// SPDX-License-Identifier: MIT
/*
    test/gc/waits.cpp - Whether one call of a manager runs on, told by looks and not by the clock.
 */
#include "mpr/gc/waits.hpp"

#include "test/catch.hpp"

using mpr::gc::CallWatch;

TEST_CASE("a call is seen to run on for as many looks as were waited out in a row", "[gc][waits]") {
    CallWatch watch;
    CHECK(watch.seen(7, true) == 0); // it may just have begun
    CHECK(watch.seen(7, true) == 1);
    CHECK(watch.seen(7, true) == 2);
    CHECK(watch.seen(7, false) == 2); // waked: no time has passed
    CHECK(watch.seen(9, true) == 0);
    CHECK(watch.seen(9, true) == 1);
    CHECK(watch.seen(7, true) == 0);
}

TEST_CASE("time between calls is none", "[gc][waits]") {
    CallWatch watch;
    watch.seen(7, true);
    watch.seen(7, true);
    for (int i = 0; i < 5; i++) {
        CHECK(watch.seen(CallWatch::none, true) == 0);
    }
    CHECK(watch.seen(7, true) == 0);
}
