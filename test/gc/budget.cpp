// SPDX-License-Identifier: MIT
/*
    test/gc/budget.cpp - When threads are called for the next collection, by what the heap holds.
 */
#include "mpr/gc/budget.hpp"

#include "test/support/budgeted.hpp"

using mpr::gc::Wish;
using test::Budgeted;

namespace {
constexpr size_t KB = Budgeted::KB, MB = Budgeted::MB;
}

TEST_CASE("attention is called for when the young budget is spent, once", "[gc][pace][port]") {
    Budgeted b;
    CHECK(b.budget.trigger() <= MB);
    CHECK(b.budget.trigger() >= MB - 128 * KB);
    const size_t spent = b.allocate(4 * MB);
    CHECK(spent >= MB - 128 * KB);
    CHECK(spent <= MB + 128 * KB);
    CHECK(b.heap().takeAttention().budgetSpent);
    CHECK_FALSE(b.heap().needsAttention());
    b.allocate(MB);
    CHECK_FALSE(b.heap().needsAttention());
}

TEST_CASE("half of the budget is spent when it is", "[gc][pace][port]") {
    Budgeted b;
    b.allocate(400 * KB);
    CHECK_FALSE(b.budget.halfSpent());
    b.allocate(200 * KB);
    CHECK(b.budget.halfSpent());
}

TEST_CASE("a collection renews the budget, and what was allocated before it does not count", "[gc][pace][port]") {
    Budgeted b;
    b.allocate(900 * KB);
    b.collect();
    CHECK_FALSE(b.budget.halfSpent());
    CHECK(b.allocate(4 * MB) >= MB - 128 * KB);
}

TEST_CASE("what counts as spent counts on when the budget is set again", "[gc][pace][port]") {
    Budgeted b;
    b.allocate(900 * KB);
    b.budget.rearm();
    const size_t left = b.allocate(4 * MB);
    CHECK(left <= 200 * KB);
}

TEST_CASE("threads that mark are called for each part of a budget", "[gc][pace][port]") {
    Budgeted b;
    b.beginAssisting();
    for (int i = 0; i < 3; i++) {
        b.budget.rearm();
        const size_t part = b.allocate(4 * MB);
        CHECK(b.heap().takeAttention().budgetSpent);
        CHECK(part >= 100 * KB);
        CHECK(part <= 300 * KB);
    }
    b.cycle.major().end();
}

TEST_CASE("while a sweep goes on more may be allocated where much lives", "[gc][pace][port]") {
    Budgeted b;
    for (int i = 0; i < 8; i++) {
        b.allocate(MB, true);
        b.heap().takeAttention();
    }
    b.collect();
    // As at the end of a pause: half of what garbage may take, which is half of what lives.
    b.budget.setSlack(b.budget.usage());
    const size_t most = b.allocate(20 * MB);
    CHECK(most >= 3 * MB / 2);
    CHECK(most <= 5 * MB / 2);
}

TEST_CASE("while a sweep goes on a heap whose free memory is scattered hardly grows", "[gc][pace]") {
    Budgeted b;
    b.budget.pacer().setCache(64 * MB);
    for (int i = 0; i < 16 * 1024; i++) {
        void *const block = b.stepped.make(512 / mpr::heap::granuleSize);
        if (i % 8 == 0) {
            b.addRoot(block);
        }
    }
    b.collect(Wish::full); // an eighth lives, in each span
    const size_t free = b.heap().freeBytes();
    const size_t committed = b.heap().limits().committed();
    CHECK(free > 4 * MB);
    b.heap().takeAttention();
    b.pause(Wish::full);
    const size_t left = b.heap().freeBytes(); // the spans wait for the sweep
    CHECK(left < free / 4);
    CHECK(b.allocate(20 * MB) <= left + MB / 8 + 128 * KB);
    CHECK(b.heap().limits().committed() <= committed + MB);
    b.reclaim();
}

TEST_CASE("while managers free for long, all that threads allocate is bounded", "[gc][pace]") {
    Budgeted b;
    b.allocate(MB);
    b.heap().takeAttention();
    b.pause(Wish::full);
    size_t bytes = 0;
    for (int waits = 0; waits < 50; waits++) { // in vain
        bytes += b.allocate(100 * MB);
        b.heap().takeAttention();
        b.budget.extendSlack();
    }
    CHECK(bytes < 3 * MB);
    b.reclaim();
    CHECK(b.budget.isSpent());
}

TEST_CASE("while managers free, threads allocate what the next ones free in time", "[gc][pace]") {
    Budgeted b;
    b.allocate(MB);
    b.heap().takeAttention();
    b.pause(Wish::full);
    REQUIRE(b.budget.hasSupply());
    for (int i = 0; i < 10; i++) {
        b.budget.pacer().observeFreeing(MB, 512 * b.stepped.options.pauseBudget);
    }
    REQUIRE(b.budget.hasSupply()); // a quarter of a megabyte
    b.allocate(200 * KB);
    CHECK_FALSE(b.budget.hasSupply());
    b.reclaim();
}

TEST_CASE("with a limit there is room for what it leaves", "[gc][pace][port]") {
    Budgeted b;
    b.heap().setLimits(mpr::heap::Limits::none, 8 * MB);
    b.budget.repace();
    const size_t before = b.budget.roomLeft();
    CHECK(before < 8 * MB);
    CHECK(before > 4 * MB);
    b.allocate(500 * KB, true);
    CHECK(b.budget.roomLeft() <= before - 400 * KB);
}

TEST_CASE("what was allocated since the last pause does not count as living", "[gc][pace][port]") {
    Budgeted b;
    const auto living = [&] {
        b.budget.repace();
        return b.stats.marked.load();
    };
    const size_t before = living();
    b.allocate(600 * KB, true);
    CHECK(living() < before + 200 * KB);
    b.collect();
    CHECK(living() > before + 500 * KB);
}
