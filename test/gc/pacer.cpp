// SPDX-License-Identifier: MIT
/*
    test/gc/pacer.cpp - When to collect next: the arithmetic.
 */
#include "mpr/gc/pacer.hpp"

#include "test/catch.hpp"

using mpr::gc::Pacer;
using mpr::heap::Limits;
using mpr::heap::Options;

namespace {

constexpr size_t KB = 1024, MB = 1024 * KB;

struct Paced {
    explicit Paced(size_t fixed = 0) {
        options.young = MB;
        pacer.open(options, 0, fixed);
    }
    Pacer::Usage usage(size_t live) const { return {live, 0, limits}; }
    void limit(size_t warn, size_t maximum) { limits.set(warn, maximum); }

    Options options;
    Pacer pacer;
    Limits limits;
};

} // namespace

TEST_CASE("a full collection waits for growth in proportion, a minor one for the young budget", "[gc][pace][port]") {
    Paced paced;
    CHECK(paced.pacer.trigger(paced.usage(100 * MB), false) == 100 * MB / 100 * 100);
    CHECK(paced.pacer.trigger(paced.usage(100 * MB), true) == MB);
    CHECK(paced.pacer.trigger(paced.usage(0), false) == MB);
}

TEST_CASE("a young budget that nobody has chosen begins with half, since all of the young may live",
          "[gc][pace][port]") {
    Paced usual;
    usual.pacer.open(Options(), 0, 0);
    REQUIRE(usual.pacer.young() == MB);
    const auto minor = [&] { return usual.pacer.trigger(usual.usage(100 * MB), true); };
    CHECK(minor() == MB / 2);
    for (int i = 0; i < 30; i++) {
        usual.pacer.observe({MB, 1'000'000'000, 1, 1, 1}); // none does
    }
    CHECK(minor() > MB - 16);
    CHECK(minor() <= MB);
}

TEST_CASE("where all of the young live a minor collection takes the pause budget", "[gc][pace][port]") {
    Paced paced;
    const auto minor = [&] { return paced.pacer.trigger(paced.usage(100 * MB), true); };
    // A budget of the young would take 2.5 pause budgets.
    const auto cost = [&](size_t bytes) { return paced.options.pauseBudget * bytes / MB * 5 / 2; };
    for (int i = 0; i < 30; i++) {
        paced.pacer.observe({minor(), 1'000'000'000, 1, cost(minor()), 1});
    }
    CHECK(cost(minor()) < paced.options.pauseBudget * 11 / 10);
    CHECK(cost(minor()) > paced.options.pauseBudget * 9 / 10);
}

TEST_CASE("the usual young budget comes from the cache, within bounds", "[gc][pace][port]") {
    const auto young = [](size_t cache, size_t fixed) {
        Pacer pacer;
        pacer.open(Options(), cache, fixed);
        return pacer.young();
    };
    CHECK(young(256 * 1024, 0) == 2 * MB);
    CHECK(young(0, 0) == MB);
    CHECK(young(64 * MB, 0) == 8 * MB);
    CHECK(young(64 * MB, 64 * 1024) == 16 * 1024);
}

TEST_CASE("near a limit half of what is left stays for threads that have not yielded", "[gc][pace][port]") {
    Paced paced;
    paced.limit(Limits::none, 64 * MB);
    const size_t room = paced.pacer.room(paced.usage(60 * MB));
    CHECK(room < 4 * MB);
    CHECK(paced.pacer.trigger(paced.usage(60 * MB), false) == std::max(room / 2, MB / 16));
    CHECK(paced.pacer.trigger(paced.usage(64 * MB), false) == MB / 16);
    CHECK(paced.pacer.room(paced.usage(64 * MB)) == 0);
    CHECK(paced.pacer.tight(paced.usage(62 * MB)));
    CHECK_FALSE(paced.pacer.tight(paced.usage(10 * MB)));
}

TEST_CASE("there is room up to the redline as long as it has not been reached", "[gc][pace][port]") {
    Paced paced;
    paced.limit(32 * MB, Limits::none);
    CHECK(paced.pacer.room(paced.usage(30 * MB)) == 2 * MB);
    CHECK(paced.pacer.room(paced.usage(40 * MB)) > 100 * MB);
}

TEST_CASE("close below the redline there is room up to half of what the limit leaves", "[gc][pace]") {
    Paced paced;
    paced.limit(32 * MB, 64 * MB);
    CHECK(paced.pacer.room(paced.usage(MB)) <= 31 * MB);
    paced.limit(Limits::none, 64 * MB);
    const size_t all = paced.pacer.room(paced.usage(30 * MB));
    paced.limit(32 * MB, 64 * MB);
    CHECK(paced.pacer.room(paced.usage(30 * MB)) == all / 2);
    CHECK(paced.pacer.room(paced.usage(33 * MB)) > all - 4 * MB);
}

TEST_CASE("under a small limit it takes less than a young budget to be short of room", "[gc][pace]") {
    Paced paced;
    const size_t young = paced.pacer.young();
    const size_t limit = 8 * young;
    paced.limit(Limits::none, limit);
    const auto isTightFrom = [&] {
        size_t live = 0;
        while (live < limit && !paced.pacer.tight(paced.usage(live))) {
            live += young / 64;
        }
        return live;
    };
    const size_t from = isTightFrom();
    CHECK(from > limit / 2);
    CHECK(paced.pacer.room(paced.usage(from)) < young);
    paced.limit(Limits::none, 64 * young);
    CHECK(paced.pacer.tight(paced.usage(63 * young)));
}

TEST_CASE("memory that was of no use is forgotten slowly", "[gc][pace][port]") {
    Pacer pacer;
    pacer.noteScattered(64 * MB);
    pacer.noteScattered(0);
    CHECK(pacer.scattered() == 62 * MB);
    pacer.noteScattered(63 * MB);
    CHECK(pacer.scattered() == 63 * MB);
}

TEST_CASE("the budget of minor collections follows their cost, half the way at a time and within bounds",
          "[gc][pace][port]") {
    Paced paced;
    const auto minor = [&](size_t old = 0) { return paced.pacer.trigger(paced.usage(100 * MB), true, old); };
    // To trace old blocks takes as long as what is between them: a tenth of the time is reached with nine times as much.
    paced.pacer.observe({MB, 1'000'000, 1'000'000, 1, 1});
    CHECK(minor() > 9 * MB / 2);
    CHECK(minor() < 11 * MB / 2);
    // They take much longer, but next to nothing for the young.
    const Pacer::Cost costly{MB, 100'000, 10 * paced.options.pauseBudget, 1, 1};
    for (int i = 0; i < 30; i++) {
        paced.pacer.observe(costly);
    }
    // What old garbage leaves of four fifths of fifty percent.
    CHECK(minor() == 100 * MB / 100 * 50 / 5 * 4);
    CHECK(minor(20 * MB) == 80 * MB / 100 * 50 / 5 * 4 - 20 * MB);
    // And where that is nothing, enough for their cost to be borne.
    CHECK(minor(50 * MB) == MB);
    // The young alone take ten times the pause budget.
    for (int i = 0; i < 30; i++) {
        paced.pacer.observe({MB, 1'000'000'000, 1, 10 * paced.options.pauseBudget, 1});
    }
    CHECK(minor() >= MB / 4);
    CHECK(minor() < MB / 3);
    CHECK(minor(50 * MB) == MB / 8);
    const size_t before = minor();
    paced.pacer.observe({MB / 32, 1, 1'000'000, 1, 1}); // somebody asked for it
    CHECK(minor() == before);
}

TEST_CASE("garbage may take a share of what lives, and a little more than the young budget at least",
          "[gc][pace][port]") {
    Paced paced;
    CHECK(paced.pacer.allowance(0) == MB + MB / 4);
    CHECK(paced.pacer.allowance(2 * MB) == MB + MB / 4);
    CHECK(paced.pacer.allowance(100 * MB) == 100 * MB / 100 * 50);
    paced.options.extra = 10;
    paced.pacer.open(paced.options, 0, 0);
    CHECK(paced.pacer.allowance(100 * MB) == 10 * MB);
    // A small heap has small budgets, whatever the cache size would allow.
    CHECK(paced.pacer.trigger(paced.usage(2 * MB), true, MB) == MB / 4);
}

TEST_CASE("a sweep that threads assist leaves them less to allocate meanwhile", "[gc][pace][port]") {
    Paced paced;
    CHECK(paced.pacer.slack(MB, paced.usage(64 * MB), false, 99 * MB) == 64 * MB / 100 * 50 / 2);
    CHECK(paced.pacer.slack(MB, paced.usage(64 * MB), true, 99 * MB) == 8 * MB);
    CHECK(paced.pacer.slack(16 * MB, paced.usage(64 * MB), true, 99 * MB) == 16 * MB);
}

TEST_CASE("while a sweep lasts threads take what is there, or little more", "[gc][pace][port]") {
    Paced paced;
    CHECK(paced.pacer.slack(16 * MB, paced.usage(64 * MB), false, 3 * MB) == 3 * MB);
    CHECK(paced.pacer.slack(16 * MB, paced.usage(64 * MB), false, 0) == MB / 8);
    CHECK(paced.pacer.extent(64 * MB, MB, 3 * MB) == 64 * MB + 64 * MB / 100 * 50 + 4 * MB);
    CHECK(paced.pacer.extent(~size_t{0}, MB, MB) == mpr::heap::Limits::none);
}

TEST_CASE("the longer a sweep lasts the less threads take each time that they have waited", "[gc][pace][port]") {
    Paced paced;
    size_t sum = 0;
    for (unsigned waits = 0; waits < 20; waits++) {
        const size_t more = paced.pacer.mayTake(0, waits);
        CHECK(more > 0);
        CHECK(more <= paced.pacer.mayTake(0, waits - (waits > 0)));
        sum += more;
    }
    CHECK(sum < MB / 3);
}

TEST_CASE("where managers take long a budget is what they free in 128 pause budgets", "[gc][pace][port]") {
    Paced paced;
    const size_t before = paced.pacer.trigger(paced.usage(100 * MB), true);
    const uint64_t longest = 128 * paced.options.pauseBudget;
    paced.pacer.observeFreeing(MB, 0);
    CHECK(paced.pacer.trigger(paced.usage(100 * MB), true) == before);
    for (int i = 0; i < 10; i++) {
        paced.pacer.observeFreeing(MB, 4 * longest);
    }
    CHECK(paced.pacer.freeable() > MB / 4 - KB);
    CHECK(paced.pacer.freeable() < MB / 4 + KB);
    for (const bool minor : {false, true}) {
        CHECK(paced.pacer.trigger(paced.usage(100 * MB), minor) == paced.pacer.freeable());
    }
    // Nor do threads allocate more while they do.
    CHECK(paced.pacer.slack(MB / 8, paced.usage(64 * MB), false, 99 * MB) == paced.pacer.freeable());
    paced.pacer.observeFreeing(MB / 64, 1000 * longest); // somebody asked for it
    CHECK(paced.pacer.freeable() > MB / 4 - KB);
    for (int i = 0; i < 30; i++) {
        paced.pacer.observeFreeing(MB, 1000 * longest);
    }
    CHECK(paced.pacer.freeable() == MB / 16); // however long they take
    for (int i = 0; i < 8; i++) {             // by half each time
        paced.pacer.observeFreeing(MB, 0);
    }
    CHECK(paced.pacer.trigger(paced.usage(100 * MB), true) == before);
}
