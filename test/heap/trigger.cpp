// SPDX-License-Identifier: MIT
/*
    test/heap/trigger.cpp - When threads are called: the arithmetic.
 */
#include "mpr/heap/trigger.hpp"

#include "test/catch.hpp"

using mpr::heap::Trigger;

TEST_CASE("a budget is spent once", "[heap][trigger][port]") {
    Trigger trigger;
    CHECK_FALSE(trigger.take(1000)); // nobody has set one
    trigger.set(1500);
    CHECK_FALSE(trigger.take(499));
    REQUIRE(trigger.take(1));
    trigger.spend();
    CHECK(trigger.takeSpent());
    CHECK_FALSE(trigger.takeSpent());
    CHECK_FALSE(trigger.take(100000));
    trigger.set(1000); // what was taken counts
    CHECK(trigger.take(0));
}

TEST_CASE("what is given back counts as not taken", "[heap][trigger][port]") {
    Trigger trigger;
    trigger.set(100);
    trigger.take(60);
    trigger.giveBack(50);
    CHECK(trigger.since() == 10);
    CHECK_FALSE(trigger.take(89));
    CHECK(trigger.take(1));
    trigger.giveBack(1000);
    CHECK(trigger.since() == 0);
}

TEST_CASE("a budget can be hastened", "[heap][trigger][port]") {
    Trigger trigger;
    trigger.set(100);
    trigger.advance(40);
    CHECK_FALSE(trigger.take(59));
    CHECK(trigger.take(1));
    trigger.set(100);
    trigger.hasten();
    CHECK(trigger.take(0));
    trigger.advance(1000);
    CHECK(trigger.take(0));
}

TEST_CASE("what is advanced counts as spent until the next collection begins", "[heap][trigger][port]") {
    Trigger trigger;
    trigger.set(100);
    trigger.take(10);
    trigger.advance(40);
    CHECK(trigger.spent() == 50);
    CHECK(trigger.since() == 10);
    trigger.set(60, 100); // a part of it
    CHECK_FALSE(trigger.take(9));
    CHECK(trigger.take(1));
    trigger.begin();
    CHECK(trigger.spent() == 0);
    trigger.set(60, 100);
    CHECK_FALSE(trigger.take(59));
}

TEST_CASE("a part of a budget says nothing about whether a collection is late", "[heap][trigger][port]") {
    Trigger trigger;
    trigger.set(10, 100);
    trigger.take(20);
    CHECK_FALSE(trigger.isLate(0));
    CHECK(trigger.isLate(180));
    trigger.set(300, 100); // while a sweep lasts
    CHECK_FALSE(trigger.isLate(180));
}

TEST_CASE("a budget that was spent before is spent again when it is hastened", "[heap][trigger][port]") {
    Trigger trigger;
    trigger.set(10);
    REQUIRE(trigger.take(10));
    trigger.spend();
    REQUIRE(trigger.takeSpent());
    trigger.watch(trigger.since() + 5);
    trigger.hasten();
    REQUIRE(trigger.take(0));
    trigger.spend();
    CHECK(trigger.takeSpent());
}

TEST_CASE("the redline is watched for between a spent budget and the next collection", "[heap][trigger][port]") {
    Trigger trigger;
    trigger.set(10);
    REQUIRE(trigger.take(10));
    trigger.spend();
    trigger.watch(trigger.since() + 5);
    CHECK(trigger.reason() == Trigger::For::redline);
    CHECK_FALSE(trigger.take(4));
    REQUIRE(trigger.take(1));
    CHECK(trigger.takeSpent()); // still the budget's
    trigger.spend();
    CHECK_FALSE(trigger.takeSpent()); // a redline is no budget
    trigger.watch(trigger.since() + 5);
    trigger.begin();
    CHECK(trigger.reason() == Trigger::For::nothing);
    CHECK_FALSE(trigger.take(1000));
}

TEST_CASE("a budget that is not spent when a collection begins stays", "[heap][trigger][port]") {
    Trigger trigger;
    trigger.set(10);
    trigger.take(9);
    trigger.begin();
    CHECK(trigger.reason() == Trigger::For::budget);
    CHECK_FALSE(trigger.take(9));
    CHECK(trigger.take(1));
}

TEST_CASE("a collection is late when two budgets are spent", "[heap][trigger][port]") {
    Trigger trigger;
    trigger.set(10);
    trigger.take(15);
    CHECK_FALSE(trigger.isLate(4));
    CHECK(trigger.isLate(5));
    trigger.begin();
    CHECK_FALSE(trigger.isLate(5));
}
