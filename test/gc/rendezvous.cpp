// SPDX-License-Identifier: MIT
/*
    test/gc/rendezvous.cpp - The word of the rendezvous, step by step. Its orders among threads are checked in test/model.
 */
#include "mpr/gc/rendezvous.hpp"

#include "test/catch.hpp"

using mpr::gc::Rendezvous;

namespace {

struct Meeting {
    ~Meeting() { rendezvous.setWanted(false); }
    /* Go on, or have the gate opened by the first look. @return Whether it had to wait. */
    bool enter() {
        return rendezvous.enter([] { return uint64_t(5); },
                                [this](uint64_t time) {
                                    CHECK(time == 5);
                                    looks++;
                                    CHECK(rendezvous.waiting() == 1);
                                    rendezvous.open();
                                },
                                [](mpr::os::Word &, uint32_t, uint64_t) { return false; });
    }

    Rendezvous rendezvous;
    int looks = 0;
};

} // namespace

TEST_CASE("the last thread that leaves is told so", "[gc][rendezvous]") {
    Meeting m;
    CHECK(m.rendezvous.empty());
    CHECK_FALSE(m.enter());
    CHECK_FALSE(m.enter());
    CHECK(m.rendezvous.running() == 2);
    CHECK_FALSE(m.rendezvous.leave());
    CHECK_FALSE(m.rendezvous.empty());
    CHECK(m.rendezvous.leave());
    CHECK(m.rendezvous.empty());
    CHECK(m.looks == 0);
}

TEST_CASE("all have stopped when the gate is closed and nobody runs", "[gc][rendezvous]") {
    Meeting m;
    m.enter();
    CHECK_FALSE(m.rendezvous.stopped());
    m.rendezvous.close();
    CHECK_FALSE(m.rendezvous.stopped());
    CHECK(m.rendezvous.leave());
    CHECK(m.rendezvous.stopped());
    m.rendezvous.open();
    CHECK_FALSE(m.rendezvous.stopped());
    CHECK(m.rendezvous.empty());
}

TEST_CASE("a thread waits at a closed gate, and looks each time that it has waited in vain", "[gc][rendezvous]") {
    Meeting m;
    m.rendezvous.close();
    CHECK(m.enter());
    CHECK(m.looks == 1);
    CHECK(m.rendezvous.running() == 1);
    CHECK(m.rendezvous.waiting() == 0);
}

TEST_CASE("a gate is given up as long as somebody runs", "[gc][rendezvous]") {
    Meeting m;
    m.enter();
    m.rendezvous.close();
    CHECK(m.rendezvous.giveUp());
    CHECK_FALSE(m.enter());
    m.rendezvous.close();
    m.rendezvous.leave();
    m.rendezvous.leave();
    CHECK_FALSE(m.rendezvous.giveUp());
    CHECK(m.rendezvous.stopped());
}

TEST_CASE("a closed gate matters to threads that run and to threads that want to", "[gc][rendezvous]") {
    Meeting m;
    CHECK_FALSE(m.rendezvous.matters());
    m.rendezvous.want();
    CHECK(m.rendezvous.matters());
    m.rendezvous.wantNoMore();
    CHECK_FALSE(m.rendezvous.matters());
    m.enter();
    CHECK(m.rendezvous.matters());
}

TEST_CASE("in trials threads are always wanted", "[gc][rendezvous]") {
    Meeting m;
    m.rendezvous.setWanted(false);
    CHECK_FALSE(m.rendezvous.wanted());
    m.rendezvous.setAlways(true);
    CHECK(m.rendezvous.wanted());
    m.rendezvous.setWanted(false);
    CHECK(m.rendezvous.wanted());
    m.rendezvous.setAlways(false);
    CHECK_FALSE(m.rendezvous.wanted());
}
