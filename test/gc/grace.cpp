// SPDX-License-Identifier: MIT
/*
    test/gc/grace.cpp - How long threads wait for late ones.
 */
#include "mpr/gc/grace.hpp"

#include "test/catch.hpp"

using mpr::gc::Grace;

namespace {

constexpr uint64_t ms = 1'000'000;

/* A collection that threads gave up for so often, all at the same time. */
void beLate(Grace &grace, int times) {
    for (int i = 0; i < times; i++) {
        grace.failed(0);
    }
    grace.met(times > 0 ? 100 * ms : 0);
}

} // namespace

TEST_CASE("each wait for a late thread in vain doubles the next, up to seconds", "[gc][late]") {
    Grace grace;
    CHECK(grace.wait() == 5 * ms);
    grace.failed(0);
    CHECK(grace.wait() == 10 * ms);
    grace.failed(0);
    CHECK(grace.wait() == 20 * ms);
    for (int i = 0; i < 100; i++) {
        grace.failed(0);
    }
    CHECK(grace.wait() == 5120 * ms);
    grace.met(0);
    CHECK(grace.wait() == 5 * ms);
}

TEST_CASE("waits in vain take a ninth of the time at most", "[gc][late]") {
    for (int lates : {0, 1, 5}) {
        Grace grace;
        for (int i = 0; i < lates; i++) {
            beLate(grace, 1);
        }
        uint64_t now = 1000 * ms, waited = 0;
        const uint64_t begin = now;
        for (int i = 0; i < 12; i++) {
            while (!grace.isDue(now)) {
                now += ms / 10;
            }
            waited += grace.wait();
            now += grace.wait();
            grace.failed(now);
            // The first follows upon a request. Two more are at once, as a thread that was late but once comes soon.
            CHECK((i < 3 || waited < (now - begin) / 8 + 7 * Grace::first));
            CHECK((i > 2 || waited == now - begin));
        }
        CHECK(waited < (now - begin) / 8);
        grace.met(now - begin);
        CHECK(grace.isDue(now));
    }
}

TEST_CASE("where threads are late again and again the first wait is short", "[gc][late]") {
    Grace grace;
    beLate(grace, 1);
    CHECK(grace.wait() < 2 * ms);
    for (int i = 0; i < 10; i++) {
        beLate(grace, 1);
    }
    CHECK(grace.wait() < ms / 2);
    // In a program whose habits are such two that yield at long intervals meet, too.
    for (int i = 0; i < 100; i++) {
        grace.failed(0);
    }
    CHECK(grace.wait() == 5120 * ms);
    for (int i = 0; i < 10; i++) {
        beLate(grace, 0);
    }
    CHECK(grace.wait() == 5 * ms);
    grace.failed(0);
    grace.met(4 * ms); // short of a processor, perhaps
    CHECK(grace.wait() == 5 * ms);
}
