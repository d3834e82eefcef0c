// SPDX-License-Identifier: MIT
/*
    test/gc/collection.cpp - A collection step by step, without threads: what each scope and phase does.
 */
#include "test/support/stepped_collection.hpp"

#include <algorithm>

using mpr::gc::Phase;
using mpr::gc::Scope;
using mpr::gc::Wish;
using mpr::heap::Kind;
using test::Refs;
using test::SteppedCollection;

namespace {

constexpr size_t granulesForMuch = 5000; /* of a leaf */

bool wasFreed(const void *block) {
    return std::find(Refs::freed.begin(), Refs::freed.end(), block) != Refs::freed.end();
}

} // namespace

TEST_CASE("what roots reach lives, and the rest is freed when the sweep has passed", "[gc][collection]") {
    SteppedCollection c;
    Refs *const root = c.make(Kind::barrier, true), *const child = c.make(), *const dead = c.make();
    root->refs[1] = child;
    c.pause();
    CHECK(c.cycle.phase() == Phase::freeing);
    CHECK(c.lives(dead)); // its manager is still to be called
    CHECK(Refs::freed.empty());
    CHECK(c.reclaim() == 1);
    CHECK(c.cycle.phase() == Phase::idle);
    CHECK(Refs::freed == std::vector<void *>{dead});
    CHECK(c.lives(root));
    CHECK(c.lives(child));
    CHECK_FALSE(c.lives(dead));
    CHECK(c.cycle.isMinor());
}

TEST_CASE("a minor collection leaves old garbage, a full one frees it", "[gc][collection]") {
    SteppedCollection c;
    Refs *const block = c.make(Kind::barrier, true);
    c.collect();
    c.removeRoot(block);
    CHECK(c.collect() == 0);
    CHECK(c.lives(block));
    CHECK(c.collect(Wish::urgent) == 1);
    CHECK(c.cycle.scope() == Scope::full);
    CHECK(wasFreed(block));
    CHECK_FALSE(c.lives(block));
}

TEST_CASE("a young block in an old one lives if the store was remembered, or the old one is plain",
          "[gc][collection]") {
    SteppedCollection c;
    const Kind kind = GENERATE(Kind::barrier, Kind::plain);
    Refs *const old = c.make(kind, true);
    c.collect();
    Refs *const young = c.make(), *const grandchild = c.make();
    young->refs[0] = grandchild;
    if (kind == Kind::plain) {
        old->refs[0] = young;
    } else {
        c.store(old, 0, young);
    }
    CHECK(c.collect() == 0);
    CHECK(c.lives(young));
    CHECK(c.lives(grandchild));
    old->refs[0] = nullptr;
    CHECK(c.collect(Wish::urgent) == 2);
}

TEST_CASE("a store that was not remembered is overlooked by a minor collection, and found by one that looks at all",
          "[gc][collection]") {
    SteppedCollection c;
    Refs *const old = c.make(Kind::barrier, true);
    c.collect();
    Refs *const young = c.make();
    old->refs[0] = young;
    const bool lost = GENERATE(true, false);
    if (lost) {
        c.collection.tracing().loseWrites();
    }
    CHECK(c.collect() == (lost ? 0 : 1));
    CHECK(c.lives(young) == lost);
    old->refs[0] = nullptr;
}

TEST_CASE("a held block lives, and what it references does not", "[gc][collection]") {
    SteppedCollection c;
    Refs *const held = c.make(), *const child = c.make();
    held->refs[0] = child;
    c.stepped.heap().changeHead(c.stepped.regionOf(held), held, mpr::heap::head::held, 0);
    CHECK(c.collect() == 1);
    CHECK(c.lives(held));
    CHECK_FALSE(wasFreed(held));
    CHECK(wasFreed(child));
    c.stepped.heap().changeHead(c.stepped.regionOf(held), held, 0, mpr::heap::head::held);
    CHECK(c.collect(Wish::urgent) == 1);
    CHECK(wasFreed(held));
}

TEST_CASE("an allocation while the sweep is under way is not swept", "[gc][collection]") {
    SteppedCollection c;
    for (int i = 0; i < 1000; i++) {
        c.make();
    }
    c.pause();
    Refs *const early = c.make();
    size_t steps = 0;
    std::vector<Refs *> born = {early};
    while (!c.collection.reclaim(0)) {
        born.push_back(c.make());
        steps++;
    }
    CHECK(steps > 3);
    CHECK(c.cycle.freedBlocks() == 1000);
    for (Refs *block : born) {
        CHECK(c.lives(block));
    }
    CHECK(c.collect() == born.size());
}

TEST_CASE("when nothing can be known of roots nothing dies", "[gc][collection]") {
    SteppedCollection c;
    Refs *const block = c.make();
    c.roots.giveUp();
    CHECK(c.collect() == 0);
    CHECK(c.collect(Wish::urgent) == 0);
    CHECK(c.lives(block));
    CHECK(Refs::freed.empty());
}

TEST_CASE("a major collection is begun by a minor one, marks between pauses, and frees with its last",
          "[gc][collection]") {
    SteppedCollection c(64 * 1024);
    // Enough for marking to take longer than a pause may.
    Refs *const root = c.make(Kind::barrier, true);
    for (int i = 0; i < 20000; i++) {
        Refs *const next = c.make();
        next->refs[0] = root->refs[0];
        root->refs[0] = next;
    }
    Refs *const dies = c.make(), *const stays = c.make();
    root->refs[1] = dies;
    root->refs[2] = stays;
    c.collect();
    CHECK_FALSE(c.cycle.major().isTracing());
    c.pause(Wish::full);
    CHECK(c.cycle.isMinor());
    c.cycle.beginNext();
    c.reclaim();
    // What somebody waits for begins with the next pause; with nothing else to do that one is full or begins it.
    c.store(root, 1, nullptr);
    c.cycle.beginNext();
    if (!c.cycle.major().isTracing()) {
        REQUIRE(c.cycle.closeGate());
        c.collection.pause();
        c.reclaim();
    }
    REQUIRE(c.cycle.major().isTracing());
    CHECK(c.lives(dies));
    while (!c.cycle.major().isTraced()) {
        REQUIRE(c.collection.tracing().advance());
    }
    c.cycle.request(Wish::slice);
    REQUIRE(c.cycle.closeGate());
    c.collection.pause();
    CHECK(c.cycle.scope() == Scope::last);
    CHECK(c.reclaim() == 1);
    CHECK_FALSE(c.lives(dies));
    CHECK(c.lives(stays));
    CHECK(c.lives(root));
    CHECK_FALSE(c.cycle.major().isTracing());
}

TEST_CASE("what the collector's thread gets no processor for is marked in slices", "[gc][collection][pace]") {
    SteppedCollection c(64 * 1024, 0, SteppedCollection::Pace::fixed);
    Refs *const root = c.make(Kind::barrier, true);
    for (int i = 0; i < 1000; i++) { // more than a step of marking
        Refs *const next = c.make();
        next->refs[0] = root->refs[0];
        root->refs[0] = next;
    }
    c.collect();
    c.budget.generations().setTrial(true);
    c.collect();
    c.budget.generations().setTrial(false);
    REQUIRE(c.cycle.major().isTracing());
    REQUIRE_FALSE(c.cycle.major().isTraced());
    c.pause(Wish::slice);
    REQUIRE(c.cycle.scope() == Scope::slice);
    REQUIRE_FALSE(c.cycle.major().isTraced()); // a slice is for plain blocks
    REQUIRE_FALSE(c.cycle.phase() == Phase::requested);
    c.cycle.major().heldUp(3'600'000'000'000); // nanoseconds, by pauses of others
    REQUIRE(c.cycle.major().isStarved());
    c.pause(Wish::budget);
    REQUIRE(c.cycle.scope() == Scope::slice);
    CHECK(c.cycle.major().isTraced());
    REQUIRE(c.cycle.phase() == Phase::requested); // its last pause, for which nobody else would ask
    REQUIRE(c.cycle.closeGate());
    c.collection.pause();
    CHECK(c.cycle.scope() == Scope::last);
    CHECK(c.reclaim() == 0);
}

TEST_CASE("at the end of the runtime every manager is called, of held blocks, too", "[gc][collection]") {
    SteppedCollection c;
    Refs *const root = c.make(Kind::barrier, true), *const held = c.make();
    c.stepped.heap().changeHead(c.stepped.regionOf(held), held, mpr::heap::head::held, 0);
    c.collect();
    c.collection.freeEverything();
    CHECK(wasFreed(root));
    CHECK(wasFreed(held));
    CHECK(Refs::freed.size() == 2);
    c.stepped.heap().endSweep();
}

TEST_CASE("large blocks and leaves die with the rest", "[gc][collection]") {
    SteppedCollection c;
    void *const large = c.stepped.make(200000), *const leaf = c.stepped.make(granulesForMuch);
    void *const kept = c.stepped.make(200000);
    c.addRoot(kept);
    CHECK(c.collect() == 2);
    CHECK_FALSE(c.lives(large));
    CHECK_FALSE(c.lives(leaf));
    CHECK(c.lives(kept));
    c.removeRoot(kept);
    CHECK(c.collect(Wish::urgent) == 1);
}
