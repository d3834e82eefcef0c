// SPDX-License-Identifier: MIT
/*
    test/gc/doubts.cpp - A reference to what is no block is named when its owner can be reached, at the latest by the next
    major collection; and never when the owner is dead, whichever pause traces it nevertheless.
 */
#include "mpr/gc/doubts.hpp"

#include "mpr/gc/guard.hpp"
#include "test/support/runtime.hpp"
#include "test/support/stepped_collection.hpp"

#include <vector>

using mpr::gc::Doubt;
using mpr::gc::Doubts;
using mpr::gc::MarkEntry;
using mpr::gc::Scope;
using mpr::gc::Wish;
using mpr::heap::Kind;
using test::Log;
using test::Refs;
using test::SteppedCollection;

namespace {

uint64_t misuses(SteppedCollection &c) {
    return c.collection.tracing().marker().misuses();
}

/*
    An old block on a root that refers to a young one, which is freed by hand then. (A minor collection does not look at
    references to places where nothing is young.)
*/
Refs *makeWrong(SteppedCollection &c) {
    mpr::gc::forgetMisuses(); // addresses are the same in each case, and the log names one once in a second
    Refs *const owner = c.make(Kind::plain, true);
    c.collect();
    Refs *const child = c.make();
    owner->refs[0] = child;
    c.stepped.freeApart(child);
    return owner;
}

/* Blocks on a root, so many that a major collection marks beside the threads. */
Refs *makeMuch(SteppedCollection &c) {
    Refs *const root = c.make(Kind::barrier, true);
    for (int i = 0; i < 20000; i++) {
        Refs *const next = c.make();
        next->refs[0] = root->refs[0];
        root->refs[0] = next;
    }
    c.collect();
    return root;
}

/* The pause that starts a major collection, and the sweep of the young that follows. */
void startMajor(SteppedCollection &c) {
    c.pause(Wish::full);
    c.cycle.beginNext();
    c.reclaim();
    if (!c.cycle.major().isTracing()) {
        REQUIRE(c.cycle.closeGate());
        c.collection.pause();
        c.reclaim();
    }
    REQUIRE(c.cycle.major().isTracing());
}

/* Mark beside the threads, and in slices, until nothing is left to mark. */
void markOn(SteppedCollection &c) {
    while (!c.cycle.major().isTraced()) {
        c.collection.tracing().advance();
        if (!c.cycle.major().isTraced()) {
            c.pause(Wish::slice);
        }
    }
}

void endMajor(SteppedCollection &c) {
    markOn(c);
    c.pause(Wish::slice);
    REQUIRE(c.cycle.scope() == Scope::last);
    c.reclaim();
}

} // namespace

TEST_CASE("what a dead old block refers to may be freed by whoever has it", "[gc][doubts]") {
    SteppedCollection c;
    Refs *const owner = makeWrong(c);
    c.removeRoot(owner);
    for (int i = 0; i < 3; i++) {
        c.collect();
        CHECK(c.lives(owner));
    }
    CHECK(c.collect(Wish::urgent) == 1);
    CHECK(misuses(c) == 0);
    CHECK(Log::count("is not the start of a block") == 0);
}

TEST_CASE("so may what a young block refers to, which only a dead old one leads to", "[gc][doubts]") {
    SteppedCollection c;
    Refs *const old = c.make(Kind::plain, true);
    c.collect();
    Refs *const young = c.make(), *const child = c.make();
    old->refs[0] = young;
    young->refs[0] = child;
    c.removeRoot(old);
    c.stepped.freeApart(child);
    CHECK(c.collect() == 0);
    CHECK(c.collect(Wish::urgent) == 2);
    CHECK(misuses(c) == 0);
}

TEST_CASE("what a living block should not refer to is named by the next full collection", "[gc][doubts]") {
    SteppedCollection c;
    Refs *const owner = makeWrong(c);
    const void *const child = owner->refs[0];
    c.collect();
    CHECK(c.collection.tracing().hasDoubts());
    c.collect(Wish::urgent);
    CHECK(misuses(c) == 1);
    CHECK(Log::names(child) == 1);
    CHECK(Log::names(owner) == 1);
    CHECK_FALSE(c.collection.tracing().hasDoubts());
    owner->refs[0] = nullptr;
}

TEST_CASE("by option check it is named in the pause that finds it", "[gc][doubts]") {
    SteppedCollection c(1 << 20, mpr::heap::Options::marking);
    Refs *const owner = makeWrong(c);
    c.collect();
    CHECK(c.cycle.isMinor());
    CHECK(misuses(c) == 1);
    CHECK(Log::names(owner) == 1);
    owner->refs[0] = nullptr;
    Refs *const dead = makeWrong(c);
    c.removeRoot(dead);
    c.collect();
    CHECK(misuses(c) == 1);
}

TEST_CASE("a major collection beside the threads names what was in doubt when it began", "[gc][doubts]") {
    SteppedCollection c;
    makeMuch(c);
    const bool lives = GENERATE(true, false);
    Refs *const owner = makeWrong(c);
    if (!lives) {
        c.removeRoot(owner);
    }
    startMajor(c);
    CHECK(c.collection.tracing().hasDoubts());
    CHECK(misuses(c) == 0);
    endMajor(c);
    CHECK(misuses(c) == (lives ? 1 : 0));
    CHECK_FALSE(c.collection.tracing().hasDoubts());
    owner->refs[0] = nullptr;
}

TEST_CASE("a block that dies when a major collection has reached it is not blamed by its last pause", "[gc][doubts]") {
    SteppedCollection c;
    makeMuch(c);
    Refs *const owner = c.make(Kind::plain, true), *const child = c.make();
    owner->refs[0] = child;
    c.collect();
    startMajor(c);
    markOn(c);
    c.removeRoot(owner);
    c.stepped.freeApart(child);
    endMajor(c);
    CHECK(c.lives(owner));
    CHECK(c.collection.tracing().hasDoubts());
    startMajor(c);
    endMajor(c);
    CHECK_FALSE(c.lives(owner));
    CHECK(misuses(c) == 0);
}

TEST_CASE("what marking beside the threads finds is looked at again, and named when it is still there",
          "[gc][doubts]") {
    SteppedCollection c;
    makeMuch(c);
    mpr::gc::forgetMisuses();
    Refs *const owner = c.make(Kind::barrier, true), *const child = c.make();
    owner->refs[0] = child;
    c.collect();
    c.collect();
    c.stepped.freeApart(child);
    startMajor(c);
    markOn(c);
    CHECK_FALSE(c.collection.tracing().hasDoubts());
    SECTION("the owner lives") {
        endMajor(c);
        CHECK(c.collection.tracing().hasDoubts());
        CHECK(misuses(c) == 0); // the owner may have died since it was marked
        startMajor(c);
        endMajor(c);
        CHECK(misuses(c) == 1);
        CHECK(Log::names(child) == 1);
        CHECK(Log::names(owner) == 1);
    }
    SECTION("the field was about to be cleared") {
        owner->refs[0] = nullptr;
        endMajor(c);
        CHECK_FALSE(c.collection.tracing().hasDoubts());
        CHECK(misuses(c) == 0);
    }
    SECTION("the owner dies") {
        c.removeRoot(owner);
        endMajor(c);
        startMajor(c);
        endMajor(c);
        CHECK_FALSE(c.lives(owner));
        CHECK_FALSE(c.collection.tracing().hasDoubts());
        CHECK(misuses(c) == 0);
        return;
    }
    owner->refs[0] = nullptr;
}

TEST_CASE("another block in its owner's place is not blamed for a reference", "[gc][doubts]") {
    SteppedCollection c;
    Refs *const owner = makeWrong(c);
    c.collect();
    REQUIRE(c.collection.tracing().hasDoubts());
    c.removeRoot(owner);
    c.stepped.freeApart(owner);
    Refs *other = nullptr;
    std::vector<Refs *> others;
    while (other != owner && others.size() < 100'000) {
        others.push_back(other = c.make(Kind::plain));
    }
    if (other == owner) {
        c.addRoot(owner);
    }
    c.collect();
    CHECK_FALSE(c.collection.tracing().hasDoubts());
    c.collect(Wish::urgent);
    CHECK(misuses(c) == 0);
}

TEST_CASE("a root that is no block is named at once", "[gc][doubts]") {
    SteppedCollection c;
    c.collect();
    Doubts doubts;
    doubts.add(&c, MarkEntry());
    unsigned said = 0;
    doubts.settle([](const Doubt &doubt) { return doubt.owner ? Doubts::Verdict::open : Doubts::Verdict::right; },
                  [&](const Doubt &doubt) { said += doubt.pointer == &c; });
    CHECK(said == 1);
    CHECK_FALSE(doubts.any());
    doubts.setRoots(false);
    doubts.add(&c, MarkEntry());
    CHECK_FALSE(doubts.any());
}

TEST_CASE("a reference is in doubt once, and what finds no room is counted", "[gc][doubts]") {
    Doubts doubts;
    char owners[Doubts::most + 8][16];
    for (int round = 0; round < 2; round++) {
        for (auto &owner : owners) {
            doubts.add(&doubts, MarkEntry(owner, 0));
        }
    }
    CHECK(doubts.missed() == 2 * 8);
    unsigned count = 0;
    doubts.settle(
        [&](const Doubt &) {
            count++;
            return Doubts::Verdict::open;
        },
        [](const Doubt &) { FAIL(); });
    CHECK(count == Doubts::most);
    doubts.begin(1, [](MarkEntry) { return false; });
    CHECK_FALSE(doubts.any());
    CHECK(doubts.missed() == 0);
}

namespace {

struct Table {
    void *row[8];
};

void manageTable(void *table, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(static_cast<Table *>(table)->row, 8);
    }
}

Table *makeTable(int flags) {
    return static_cast<Table *>(mprAllocManaged(sizeof(Table), manageTable, MPR_ALLOC_ZERO | flags));
}

/* A table grows: its contents move into another, and what was moved is freed by hand. What the old one says is nobody's. */
void growTable(int flags) {
    MprRootRef ref{};
    mprLinkRootRef(&ref);
    auto *old = makeTable(flags);
    ref.ptr = old;
    mprSetRef(old, &old->row[0], mprAlloc(32));
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    mprSetRef(old, &old->row[1], mprAlloc(32)); // remembered, so that the next pause traces it
    auto *fresh = makeTable(flags);
    mprSetRef(fresh, &fresh->row[0], old->row[0]);
    ref.ptr = fresh;
    void *const item = fresh->row[0];
    mprSetRef(fresh, &fresh->row[0], nullptr);
    mprFree(item);
    for (int i = 0; i < 3; i++) {
        mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
    }
    mprUnlinkRootRef(&ref);
}

} // namespace

TEST_CASE("a table that has grown is not blamed for what was in the old one", "[gc][doubts]") {
    test::Runtime runtime(GENERATE("", "check=1", "everyyield=1"));
    const int flags = GENERATE(0, MPR_ALLOC_BARRIER);
    for (int i = 0; i < 20; i++) {
        growTable(flags);
    }
    CHECK(test::stats().misuses == 0);
    CHECK(runtime.log.size() == 0);
}

TEST_CASE("under stress an old owner that nobody writes to is named, too", "[gc][doubts]") {
    test::Runtime runtime("everyyield=1");
    auto *table = makeTable(MPR_ALLOC_BARRIER);
    mprAddRoot(table);
    void *const item = mprAlloc(32);
    mprSetRef(table, &table->row[0], item);
    test::collect();
    mprFree(item);
    for (int i = 0; i < 3; i++) {
        test::collect();
    }
    CHECK(test::stats().misuses >= 1);
    CHECK(runtime.log.names(item) >= 1);
    mprSetRef(table, &table->row[0], nullptr);
    mprRemoveRoot(table);
}

TEST_CASE("under stress a living table is named by the next yield", "[gc][doubts]") {
    test::Runtime runtime("everyyield=1");
    auto *table = makeTable(GENERATE(0, MPR_ALLOC_BARRIER));
    mprAddRoot(table);
    void *const item = mprAlloc(32);
    mprSetRef(table, &table->row[0], item);
    mprFree(item);
    mprYield(0);
    CHECK(test::stats().misuses == 1);
    CHECK(runtime.log.names(item) == 1);
    mprSetRef(table, &table->row[0], nullptr);
    mprRemoveRoot(table);
}
