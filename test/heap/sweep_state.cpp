// SPDX-License-Identifier: MIT
/*
    test/heap/sweep_state.cpp - What is dead, what may be traced and what may be freed by hand, by head and step of a collection.
 */
#include "mpr/heap/sweep_state.hpp"

#include "test/catch.hpp"

using namespace mpr::heap;
using mpr::os::Lock;
using mpr::os::Locked;

namespace {

/* The state, and the heap's lock. */
struct Stepped {
    Stepped() { state.refresh(); }

    Byte newborn(Kind kind) const {
        return static_cast<Byte>(head::inUse | static_cast<Byte>(kind) | state.colours().newborn());
    }
    Byte survivor(Byte h) const { return state.colours().survivor(h); }
    /* Every block becomes unmarked. */
    void unmark() {
        state.unmarkYoung();
        state.unmarkOld();
    }
    void beginSweep(Sweep sweep) {
        state.setSweep(sweep);
        state.refresh();
    }

    Lock lock;
    Locked locked{lock};
    SweepState state{lock};
};

Byte with(Byte h, Byte flag) {
    return static_cast<Byte>(h | flag);
}
} // namespace

TEST_CASE("no block is dead while nothing sweeps", "[heap][sweep]") {
    Stepped step;
    const Byte young = step.newborn(Kind::leaf), old = step.survivor(young);
    step.unmark();
    CHECK_FALSE(step.state.dead(young));
    CHECK_FALSE(step.state.dead(old));
}

TEST_CASE("a sweep of the young finds those dead that were not marked, and leaves the old", "[heap][sweep]") {
    Stepped step;
    const Byte young = step.newborn(Kind::leaf), old = step.survivor(young);
    step.unmark();
    step.beginSweep(Sweep::young);
    CHECK(step.state.dead(young) == mpr::os::hasGenerations);
    CHECK_FALSE(step.state.dead(old));
    CHECK_FALSE(step.state.dead(step.survivor(young)));
    CHECK_FALSE(step.state.dead(step.newborn(Kind::leaf)));
}

TEST_CASE("a sweep of all finds dead whatever was not marked", "[heap][sweep]") {
    Stepped step;
    const Byte young = step.newborn(Kind::plain), old = step.survivor(young);
    step.unmark();
    step.beginSweep(Sweep::all);
    CHECK(step.state.dead(young));
    CHECK(step.state.dead(old));
    CHECK_FALSE(step.state.dead(step.survivor(old)));
    CHECK_FALSE(step.state.dead(step.newborn(Kind::plain)));
}

TEST_CASE("the old stay marked when only the young are unmarked", "[heap][sweep]") {
    Stepped step;
    const Byte young = step.newborn(Kind::leaf), old = step.survivor(young);
    step.state.unmarkYoung();
    step.beginSweep(Sweep::all);
    CHECK(step.state.dead(young));
    CHECK(step.state.dead(old) == !mpr::os::hasGenerations); // both ages have one parity there
}

TEST_CASE("a word's dead heads are those that are dead one by one, in every colour", "[heap][sweep]") {
    Stepped step;
    for (int flips = 0; flips < 4; flips++) {
        step.state.unmarkYoung();
        if (flips % 2 == 1 || !mpr::os::hasGenerations) {
            step.state.unmarkOld();
        }
        for (Sweep sweep : {Sweep::young, Sweep::all}) {
            if (sweep == Sweep::young && !mpr::os::hasGenerations) {
                continue;
            }
            step.beginSweep(sweep);
            const SweepState::DeadHeads deadHeads(step.state);
            for (int i = 0; i < 256; i++) {
                const auto h = static_cast<Byte>(i);
                INFO("head " << i << ", flips " << flips);
                const bool dead = (h & head::inUse) && step.state.dead(h);
                CHECK(deadHeads(swar::spread(h)) == (dead ? swar::ones : 0));
            }
        }
    }
}

TEST_CASE("by hand nothing is freed that is held, referenced or not in use", "[heap][free]") {
    Stepped step;
    for (Kind kind : {Kind::leaf, Kind::plain, Kind::barrier, Kind::barrierNoFree}) {
        const Byte h = step.newborn(kind);
        CHECK(step.state.freeable(h) == (head::wantsFree(h) ? Freeable::withoutManager : Freeable::yes));
        CHECK(step.state.freeable(with(h, head::held)) == Freeable::no);
        CHECK(step.state.freeable(with(h, head::referenced)) == Freeable::no);
    }
    CHECK(step.state.freeable(mark::opaque) == Freeable::no);
    CHECK(step.state.freeable(0) == Freeable::no);
}

TEST_CASE("by hand nothing is freed that was found dead, until the sweep has ended", "[heap][free]") {
    Stepped step;
    const Byte h = step.newborn(Kind::leaf);
    step.unmark();
    step.beginSweep(Sweep::all);
    CHECK(step.state.freeable(h) == Freeable::no);
    CHECK(step.state.freeable(step.survivor(h)) == Freeable::yes);
    CHECK(step.state.freeable(step.newborn(Kind::leaf)) == Freeable::yes);
    step.beginSweep(Sweep::none);
    CHECK(step.state.freeable(h) == Freeable::yes);
}

TEST_CASE("by hand nothing is freed that the collector may be about to trace", "[heap][free]") {
    if (!mpr::os::hasGenerations) {
        return; // nothing is traced while threads run
    }
    Stepped step;
    const Byte young = step.newborn(Kind::barrierNoFree), old = step.survivor(young);
    const auto grey = static_cast<Byte>(young ^ head::parity);
    for (bool tracing : {true, false}) {
        step.state.setTracing(tracing);
        CHECK(step.state.mayBeTraced(old) == tracing);
        CHECK(step.state.mayBeTraced(grey) == tracing);
        CHECK_FALSE(step.state.mayBeTraced(young));
        CHECK(step.state.freeable(old) == (tracing ? Freeable::no : Freeable::yes));
        CHECK(step.state.freeable(grey) == (tracing ? Freeable::no : Freeable::yes));
        CHECK(step.state.freeable(young) == Freeable::yes);
        // What references nothing is marked, and never traced.
        CHECK(step.state.freeable(step.survivor(step.newborn(Kind::leaf))) == Freeable::yes);
    }
}
