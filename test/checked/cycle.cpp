// SPDX-License-Identifier: MIT
/*
    test/checked/cycle.cpp - Only who may moves a collection on: the assertions of cycle.hpp and its like fire.
 */
#include "mpr/gc/cycle.hpp"

#include "mpr/gc/mutator_list.hpp"
#include "test/catch.hpp"
#include "test/support/dies.hpp"

using mpr::gc::Cycle;
using mpr::gc::Major;
using mpr::gc::Mutator;
using mpr::gc::MutatorList;
using mpr::gc::Phase;
using mpr::gc::Wish;
using test::failsWith;

namespace {

constexpr const char *notOnDuty = "the lock is held by this thread (";
constexpr const char *notStopped = "threads are stopped";
constexpr const char *outOfOrder = "follows(phase";

/* @return Whether a call with a cycle fails, by a thread that has the duty or has not. A thread runs or not. */
template <class Call>
bool firesFor(const char *text, bool duty, bool running, Call call) {
    return failsWith(text, [&] {
        static Cycle cycle;
        if (duty) {
            cycle.takeDuty();
        }
        if (running) {
            cycle.rendezvous().enter([] { return 1; }, [](auto) {}, mpr::os::wait);
        }
        call(cycle);
    });
}
template <class Call>
bool firesOffDuty(Call call) {
    return firesFor(notOnDuty, false, false, call) && !firesFor("", true, false, call);
}

} // namespace

TEST_CASE("only the holder of the duty advances a collection", "[checked]") {
    CHECK(firesOffDuty([](Cycle &c) { c.closeGate(); }));
    CHECK(firesOffDuty([](Cycle &c) { c.beginNext(); }));
    CHECK(firesOffDuty([](Cycle &c) { c.mayRest(true); }));
    CHECK(firesOffDuty([](Cycle &c) { c.countSwept(); }));
    const auto toMarking = [](Cycle &c) {
        c.takeDuty();
        c.request(Wish::minor);
        c.closeGate();
        c.beginMarking();
    };
    const auto fires = [&](auto call) {
        return firesFor(notOnDuty, false, false, [&](Cycle &c) {
            toMarking(c);
            c.giveUpDuty();
            call(c);
        });
    };
    CHECK(fires([](Cycle &c) { c.beginMarking(); }));
    CHECK(fires([](Cycle &c) { c.takeWish(); }));
    CHECK(fires([](Cycle &c) { c.countMarked(); }));
    CHECK(fires([](Cycle &c) { c.reopen(Phase::freeing); }));
    CHECK(fires([](Cycle &c) { c.beginSweeping(); }));
    CHECK(fires([](Cycle &c) { c.endSweeping(); }));
    CHECK_FALSE(firesFor("", false, false, [&](Cycle &c) {
        toMarking(c);
        c.takeWish();
        c.countMarked();
        c.reopen(Phase::freeing);
        c.beginSweeping();
        c.countSwept();
        c.endSweeping();
        c.beginNext();
    }));
}

TEST_CASE("no phase is left out", "[checked]") {
    CHECK(firesFor(outOfOrder, true, false, [](Cycle &c) { c.beginSweeping(); }));
    CHECK(firesFor(outOfOrder, true, false, [](Cycle &c) { c.endSweeping(); }));
    CHECK(firesFor(outOfOrder, true, false, [](Cycle &c) {
        c.closeGate();
        c.beginMarking(); // which nobody has requested
    }));
    CHECK(firesFor(outOfOrder, true, false, [](Cycle &c) {
        c.request(Wish::minor);
        c.closeGate();
        c.beginMarking();
        c.reopen(Phase::sweeping);
    }));
}

TEST_CASE("nothing is marked while a thread runs, and nothing counts as marked outside a pause", "[checked]") {
    CHECK(firesFor("rendezvous_.stopped()", true, true, [](Cycle &c) {
        c.request(Wish::minor);
        c.closeGate();
        c.beginMarking();
    }));
    CHECK(firesFor(notStopped, true, false, [](Cycle &c) { c.reopen(Phase::idle); }));
    CHECK(firesFor(notStopped, true, false, [](Cycle &c) { c.takeWish(); }));
    CHECK(firesFor(notStopped, true, false, [](Cycle &c) { c.countMarked(); }));
}

TEST_CASE("one major collection is under way at a time, and only that goes on", "[checked]") {
    CHECK(failsWith("state_ == State::none", [] {
        Major major;
        major.start(false);
        major.start(false);
    }));
    CHECK(failsWith("state_ != State::none", [] {
        Major major;
        major.advanced(false, false);
    }));
}

TEST_CASE("a thread that is not listed is not taken off the list", "[checked]") {
    static Mutator listed, other;
    static MutatorList list;
    MutatorList::Locked(list).add(listed);
    CHECK(failsWith("assertion failed: ", [] {
        MutatorList::Locked locked(list);
        locked.remove(other);
    }));
    CHECK_FALSE(failsWith("", [] {
        MutatorList::Locked locked(list);
        locked.remove(listed);
    }));
}
