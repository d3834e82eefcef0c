// SPDX-License-Identifier: MIT
/*
    test/gc/giving_back.cpp - When free memory goes back to the system, on a heap without threads.
 */
#include "mpr/gc/giving_back.hpp"

#include "test/support/stepped_collection.hpp"

#include <chrono>
#include <thread>

using mpr::gc::GivingBack;
using mpr::gc::Wish;
using test::SteppedCollection;

namespace {

constexpr size_t MB = 1 << 20;

struct Giving : SteppedCollection {
    GivingBack &giving() { return collection.givingBack(); }
    size_t committed() { return stepped.heap().limits().committed(); }
    /* Blocks of a kilobyte that nothing refers to. */
    void litter(size_t bytes) {
        for (size_t i = 0; i < bytes / 1024; i++) {
            stepped.make(1024 / mpr::heap::granuleSize);
        }
    }
    /* A large block that is freed by hand at once. */
    void freeLarge(size_t bytes) { stepped.freeApart(stepped.makeApart(bytes / mpr::heap::granuleSize)); }
};

} // namespace

TEST_CASE("a collection that somebody has asked for gives back all but the cache", "[gc][purge]") {
    Giving g;
    g.litter(16 * MB);
    const size_t before = g.committed();
    g.budget.pacer().setCache(4 * MB);
    g.collect(Wish::urgent);
    CHECK(g.committed() < before - 10 * MB);
    CHECK(g.committed() > 3 * MB);
    g.budget.pacer().setCache(0);
    g.collect(Wish::urgent);
    CHECK(g.committed() < 3 * MB);
}

TEST_CASE("what was free when each collection of a second began goes back, what was needed stays", "[gc][purge]") {
    Giving g;
    g.litter(16 * MB);
    g.collect(); // gives back, as the first; but next to nothing was free when it began
    CHECK(g.committed() > 14 * MB);
    std::this_thread::sleep_for(std::chrono::nanoseconds(GivingBack::decayTime));
    g.litter(MB);
    g.collect(); // when this began the rest was free
    CHECK(g.committed() < 8 * MB);
    CHECK(g.committed() > MB);
}

TEST_CASE("a thread that is the collector leaves it to the collector's own", "[gc][purge]") {
    Giving g;
    g.litter(16 * MB);
    g.cycle.setStandsIn(true);
    g.pause();
    g.reclaim();
    CHECK(g.giving().isLeft());
    CHECK(g.committed() > 14 * MB);
    g.cycle.setStandsIn(false);
    g.giving().catchUp();
    CHECK_FALSE(g.giving().isLeft());
}

TEST_CASE("large blocks freed by hand go back when enough have gathered", "[gc][purge]") {
    Giving g;
    g.budget.pacer().setCache(3 * MB);
    const uint32_t heard = g.cycle.heard();
    g.freeLarge(2 * MB);
    g.giving().freedLarge();
    CHECK(g.cycle.heard() == heard);
    const size_t before = g.committed();
    g.giving().catchUp();
    CHECK(g.committed() == before);
    g.freeLarge(4 * MB); // too much for the other's place
    g.giving().freedLarge();
    CHECK(g.cycle.heard() != heard);
    g.giving().catchUp();
    CHECK(g.committed() < 2 * MB);
    CHECK(g.stepped.heap().retiredBytes() == 0);
}

TEST_CASE("free memory decays when there is a good deal more of it than the cache", "[gc][purge]") {
    Giving g;
    g.litter(8 * MB);
    g.cycle.setStandsIn(true); // nothing is given back
    g.collect();
    g.cycle.setStandsIn(false);
    const size_t free = g.stepped.heap().freeBytes();
    REQUIRE(free > 4 * MB);
    g.budget.pacer().setCache(free);
    CHECK_FALSE(g.giving().decays());
    g.budget.pacer().setCache(free / 2);
    CHECK(g.giving().decays());
    g.giving().decay();
    CHECK(g.stepped.heap().freeBytes() <= free / 2 + MB / 2);
    CHECK_FALSE(g.giving().decays());
}
