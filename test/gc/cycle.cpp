// SPDX-License-Identifier: MIT
/*
    test/gc/cycle.cpp - The phases of a collection, its requests and counters, without a collector.
 */
#include "mpr/gc/cycle.hpp"

#include "test/catch.hpp"

using mpr::gc::Cycle;
using mpr::gc::Phase;
using mpr::gc::Scope;
using mpr::gc::Wish;

namespace {

/* A cycle whose duty is the calling thread's. No thread runs, so that each gate is closed in vain. */
struct OnDuty {
    OnDuty() { cycle.takeDuty(); }
    ~OnDuty() {
        cycle.giveUpDuty();
        cycle.rendezvous().setWanted(false);
    }
    /* From requested to the end of the pause. */
    void pause(Scope scope, Phase next = Phase::freeing) {
        CHECK(cycle.closeGate());
        cycle.beginMarking();
        cycle.takeWish();
        cycle.setScope(scope);
        if (scope == Scope::full || scope == Scope::last) {
            cycle.major().count();
        }
        if (scope != Scope::slice) {
            cycle.countMarked();
        }
        cycle.reopen(next);
    }
    void reclaim() {
        cycle.beginSweeping();
        cycle.countSwept();
        cycle.endSweeping();
    }
    Phase phase() const { return cycle.phase(); }
    bool wanted() const { return cycle.rendezvous().wanted(); }

    Cycle cycle;
};

} // namespace

TEST_CASE("a collection goes from phase to phase, and threads are to stop until its pause is over", "[gc][cycle]") {
    OnDuty on;
    CHECK(on.phase() == Phase::idle);
    CHECK_FALSE(on.wanted());
    on.cycle.request(Wish::minor);
    CHECK(on.phase() == Phase::requested);
    CHECK(on.wanted());
    CHECK(on.cycle.closeGate());
    on.cycle.beginMarking();
    CHECK(on.phase() == Phase::marking);
    CHECK(on.cycle.takeWish() == Wish::minor);
    CHECK(on.wanted());
    on.cycle.reopen(Phase::freeing);
    CHECK(on.phase() == Phase::freeing);
    CHECK_FALSE(on.wanted());
    CHECK_FALSE(on.cycle.rendezvous().stopped());
    on.cycle.beginSweeping();
    CHECK(on.phase() == Phase::sweeping);
    on.cycle.endSweeping();
    CHECK(on.phase() == Phase::idle);
    on.cycle.beginNext();
    CHECK(on.phase() == Phase::idle);
}

TEST_CASE("a slice ends in idle, and counts as a pause only", "[gc][cycle]") {
    OnDuty on;
    on.cycle.request(Wish::slice);
    on.pause(Scope::slice, Phase::idle);
    CHECK(on.phase() == Phase::idle);
    CHECK(on.cycle.pauses() == 1);
    CHECK(on.cycle.marked() == 0);
    CHECK(on.cycle.swept() == 0);
}

TEST_CASE("each change of phase, the bell and the end wake waiting threads", "[gc][cycle]") {
    OnDuty on;
    const uint32_t heard = on.cycle.heard();
    on.cycle.request(Wish::budget);
    CHECK(on.cycle.heard() != heard);
    const uint32_t before = on.cycle.progress();
    on.pause(Scope::minor);
    CHECK(on.cycle.progress() == before + 2);
    on.reclaim();
    CHECK(on.cycle.progress() == before + 4);
    CHECK(on.cycle.awaitProgress(before, mpr::os::forever));
    CHECK(on.cycle.awaitBell(heard, mpr::os::forever));
}

TEST_CASE("a request while a collection runs is remembered, and becomes the next", "[gc][cycle]") {
    OnDuty on;
    on.cycle.request(Wish::minor);
    on.pause(Scope::minor);
    on.cycle.request(Wish::budget);
    CHECK(on.phase() == Phase::freeing);
    CHECK(on.cycle.isPending());
    CHECK(on.wanted());
    on.reclaim();
    CHECK(on.phase() == Phase::idle);
    CHECK(on.wanted());
    on.cycle.beginNext();
    CHECK(on.phase() == Phase::requested);
    CHECK_FALSE(on.cycle.isPending());
    CHECK(on.cycle.closeGate());
    on.cycle.beginMarking();
    CHECK(on.cycle.takeWish() == Wish::budget);
    on.cycle.reopen(Phase::idle);
}

TEST_CASE("the greatest wish counts", "[gc][cycle]") {
    OnDuty on;
    for (const Wish wish : {Wish::minor, Wish::full, Wish::budget}) {
        on.cycle.request(wish);
    }
    CHECK(on.cycle.closeGate());
    on.cycle.beginMarking();
    CHECK(on.cycle.takeWish() == Wish::full);
    CHECK(on.cycle.takeWish() == Wish::slice);
    on.cycle.reopen(Phase::idle);
}

TEST_CASE("a request for everything that is dead waits for a major collection that begins later", "[gc][cycle]") {
    OnDuty on;
    auto &major = on.cycle.major();
    const uint32_t target = major.begun() + 1;
    on.cycle.request(Wish::full);
    on.pause(Scope::minor);
    CHECK(major.mustBegin());
    CHECK_FALSE(major.isForced());
    CHECK_FALSE(Cycle::reached(major.marked(), target));
    on.reclaim();
    on.cycle.beginNext();
    CHECK(on.phase() == Phase::requested); // although nobody has asked again
    on.pause(Scope::full);
    CHECK_FALSE(major.mustBegin());
    CHECK(major.isForced());
    CHECK(Cycle::reached(major.marked(), target));
    CHECK_FALSE(Cycle::reached(major.swept(), target));
    on.reclaim();
    CHECK(Cycle::reached(major.swept(), target));
    on.cycle.beginNext();
    CHECK(on.phase() == Phase::idle);
}

TEST_CASE("what is urgent stays so until the major collection has swept", "[gc][cycle]") {
    OnDuty on;
    on.cycle.request(Wish::urgent);
    on.pause(Scope::minor);
    CHECK(on.cycle.major().isUrgent());
    on.reclaim();
    on.cycle.beginNext();
    on.pause(Scope::full);
    CHECK(on.cycle.major().isUrgent());
    on.reclaim();
    CHECK_FALSE(on.cycle.major().isUrgent());
}

TEST_CASE("a thread that clears the flag sets it again when a collection is requested", "[gc][cycle]") {
    OnDuty on;
    on.cycle.rendezvous().setWanted(true);
    on.cycle.clearWanted();
    CHECK_FALSE(on.wanted());
    on.cycle.request(Wish::minor);
    on.cycle.clearWanted();
    CHECK(on.wanted());
}

TEST_CASE("the collector's thread does not rest while a collection is requested", "[gc][cycle]") {
    OnDuty on;
    CHECK(on.cycle.mayRest(true));
    on.cycle.request(Wish::minor);
    CHECK_FALSE(on.cycle.mayRest(false));
}

TEST_CASE("once the runtime ends nothing is requested any more", "[gc][cycle]") {
    OnDuty on;
    const uint32_t heard = on.cycle.heard(), progress = on.cycle.progress();
    on.cycle.end();
    CHECK(on.cycle.ends());
    CHECK(on.cycle.heard() != heard);
    CHECK(on.cycle.progress() != progress);
    on.cycle.request(Wish::urgent);
    CHECK(on.phase() == Phase::idle);
}

TEST_CASE("numbers of collections may run over", "[gc][cycle]") {
    const Cycle::Number number{3};
    CHECK(Cycle::reached(number, 3));
    CHECK(Cycle::reached(number, 0xFFFFFFF0));
    CHECK_FALSE(Cycle::reached(number, 4));
    CHECK_FALSE(Cycle::reached(Cycle::Number{0xFFFFFFF0}, 3));
}
