// SPDX-License-Identifier: MIT
/*
    test/gc/safepoint.cpp - A budget that is spent: threads are called again whatever becomes of the call.
 */
#include "mpr/gc/safepoint.hpp"

#include "test/support/budgeted.hpp"

using mpr::gc::Phase;
using mpr::gc::Wish;

namespace {

constexpr size_t MB = test::Budgeted::MB;

struct Called : test::Budgeted {
    /* @return Whether threads are called for a budget before so many bytes have been allocated. */
    bool allocate(size_t most) {
        Budgeted::allocate(most);
        return heap().needsAttention() && heap().takeAttention().budgetSpent;
    }
    bool isRequested() { return cycle.phase() == Phase::requested || cycle.isPending(); }

    mpr::gc::Waits waits{cycle, collection.tracing(), stats};
    mpr::gc::Duty duty{cycle, budget, late, collection, waits, writer, stats};
    mpr::gc::Safepoint safepoint{stepped.heap(), cycle, budget, late, duty, waits, stats};
};

} // namespace

TEST_CASE("where no thread comes to mark a part, the budget is spent all the same", "[gc][pace]") {
    Called c;
    c.beginAssisting();
    c.budget.rearm();
    REQUIRE(c.allocate(MB / 2));
    c.safepoint.budgetSpent();
    CHECK(c.cycle.rendezvous().wanted());
    CHECK_FALSE(c.isRequested());
    // The collector's thread takes over what threads do not get on with, and the flag is cleared: see clearWanted.
    c.cycle.assists().end();
    c.cycle.rendezvous().setWanted(false);
    REQUIRE(c.allocate(2 * MB));
    c.safepoint.budgetSpent();
    CHECK(c.isRequested());
    c.cycle.major().end();
}

TEST_CASE("a wait for a sweep that is over before it begins is no reason for a collection, and leaves the budget",
          "[gc][pace]") {
    Called c;
    c.allocate(MB / 2);
    c.pause();
    c.heap().setTrigger(MB / 4); // what may be allocated while it sweeps
    REQUIRE(c.allocate(MB / 2));
    c.safepoint.budgetSpent();
    CHECK(c.cycle.rendezvous().wanted());
    CHECK_FALSE(c.isRequested());
    c.reclaim();
    CHECK_FALSE(c.isRequested());
    CHECK_FALSE(c.cycle.rendezvous().wanted());
    REQUIRE(c.allocate(2 * MB));
    c.safepoint.budgetSpent();
    CHECK(c.isRequested());
}

TEST_CASE("who lags behind a sweep by a whole budget asks for the next collection", "[gc][pace]") {
    Called c;
    c.allocate(MB / 2);
    c.pause();
    for (int i = 0; i < 100 && !c.isRequested(); i++) {
        REQUIRE(c.allocate(2 * MB));
        c.safepoint.budgetSpent();
    }
    CHECK(c.heap().allocatedSince() >= c.budget.trigger());
    CHECK(c.isRequested());
    c.reclaim();
}

TEST_CASE("what is kept outside of the heap while it sweeps is spent as well", "[gc][pace]") {
    Called c;
    c.allocate(MB / 2);
    c.pause();
    c.heap().setOutside(2 * MB, 2 * MB);
    REQUIRE(c.heap().takeAttention().budgetSpent);
    c.safepoint.budgetSpent();
    CHECK(c.isRequested());
    c.reclaim();
    CHECK(c.budget.isSpent());
}

TEST_CASE("a slice leaves what was asked for before it, whatever else is asked for", "[gc][pace]") {
    const auto wish = GENERATE(Wish::budget, Wish::minor, Wish::full);
    Called c;
    c.cycle.major().count();
    c.cycle.major().start(false);
    c.cycle.major().heldUp(3'600'000'000'000); // nanoseconds: the slice comes first
    REQUIRE(c.cycle.major().isStarved());
    c.cycle.request(Wish::budget);
    c.pause(wish);
    CHECK(c.stats.slices == 1);
    CHECK(c.isRequested());
    c.cycle.major().end();
}
