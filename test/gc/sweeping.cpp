// SPDX-License-Identifier: MIT
/*
    test/gc/sweeping.cpp - The end of dead blocks, step by step: all managers before any memory goes, and the stages of the sweep.
 */
#include "mpr/gc/sweeping.hpp"

#include "test/support/stepped_collection.hpp"

#include <algorithm>
#include <vector>

using mpr::gc::Phase;
using mpr::gc::Sweeping;
using mpr::gc::Wish;
using mpr::heap::Kind;
using test::Refs;
using test::SteppedCollection;

TEST_CASE("there are finalizers when a dead block has a manager that wants to know, or a block is held",
          "[gc][sweep]") {
    SteppedCollection c;
    const Kind kind = GENERATE(Kind::leaf, Kind::barrierNoFree, Kind::barrier, Kind::plain);
    const bool dies = GENERATE(true, false);
    if (kind == Kind::leaf) {
        c.stepped.make(4);
    } else {
        c.make(kind, !dies);
    }
    c.pause();
    CHECK(c.collection.sweeping().hasFinalizers() == (dies && (kind == Kind::barrier || kind == Kind::plain)));
    c.reclaim();
}

TEST_CASE("every manager is called before memory goes, so that each sees what dies with its own block", "[gc][sweep]") {
    SteppedCollection c;
    static SteppedCollection *stepped;
    static std::vector<bool> sawWhole;
    stepped = &c;
    sawWhole.clear();
    constexpr size_t n = mpr::heap::granulesFor(sizeof(Refs) + sizeof(MprManager));
    Refs *before = nullptr;
    for (int i = 0; i < 1000; i++) {
        Refs *const refs = c.make();
        mpr::gc::setManager(refs, n, mpr::gc::codeOf([](void *block, int flags) {
                                if (flags & MPR_MANAGE_FREE) {
                                    const Refs *other = static_cast<Refs *>(block)->refs[0];
                                    sawWhole.push_back(!other || (stepped->lives(other) && other->refs[1] == other));
                                }
                            }));
        refs->refs[0] = before;
        refs->refs[1] = refs;
        before = refs;
    }
    CHECK(c.collect() == 1000);
    CHECK(sawWhole.size() == 1000);
    CHECK(std::count(sawWhole.begin(), sawWhole.end(), true) == 1000);
    CHECK(c.stats.freeCalls.load() == 2000); // begun and ended
}

TEST_CASE("managers that take long make budgets smaller", "[gc][sweep][pace]") {
    SteppedCollection c;
    static uint64_t lasts; // nanoseconds
    const size_t young = c.budget.pacer().young();
    const auto allocate = [&](uint64_t managerLasts) {
        lasts = managerLasts;
        constexpr size_t n = mpr::heap::granulesFor(sizeof(Refs) + sizeof(MprManager));
        for (size_t bytes = 0; bytes < young; bytes += 1024) {
            c.stepped.make(1024 / mpr::heap::granuleSize);
        }
        Refs *const refs = c.make();
        mpr::gc::setManager(refs, n, mpr::gc::codeOf([](void *, int flags) {
                                if (flags & MPR_MANAGE_FREE) {
                                    for (const uint64_t begin = mpr::os::now(); mpr::os::now() - begin < lasts;) {}
                                }
                            }));
    };
    allocate(0);
    c.collect();
    const size_t before = c.budget.trigger();
    for (int i = 0; i < 2; i++) {
        allocate(4 * 128 * c.stepped.options.pauseBudget); // four times what is allowed to all together
        c.collect();
    }
    CHECK(c.budget.trigger() < before / 2);
    CHECK(c.budget.pacer().freeable() <= c.budget.trigger());
}

TEST_CASE("a sweep that has no time proceeds a step at a time, and frees as much", "[gc][sweep]") {
    SteppedCollection c;
    std::vector<Refs *> kept;
    for (int i = 0; i < 3000; i++) {
        Refs *const refs = c.make(Kind::barrierNoFree);
        if (i % 7 == 0) {
            c.addRoot(refs);
            kept.push_back(refs);
        }
    }
    c.stepped.make(100000);
    c.pause();
    Sweeping &sweeping = c.collection.sweeping();
    CHECK_FALSE(sweeping.hasFinalizers());
    size_t steps = 1;
    while (!c.collection.reclaim(0)) {
        CHECK(c.cycle.phase() == Phase::sweeping);
        steps++;
    }
    CHECK(steps > 4); // there are as many stages
    CHECK(c.cycle.phase() == Phase::idle);
    CHECK(c.cycle.freedBlocks() == 3001 - kept.size());
    CHECK(std::all_of(kept.begin(), kept.end(), [&](Refs *refs) { return c.lives(refs); }));
}

TEST_CASE("a survivor whose manager wants to know is looked at in later collections", "[gc][sweep]") {
    SteppedCollection c;
    Refs *const block = c.make(Kind::plain, true);
    for (int i = 0; i < 3; i++) {
        c.collect(Wish::urgent);
    }
    CHECK(Refs::freed.empty());
    c.removeRoot(block);
    c.collect(Wish::urgent);
    CHECK(Refs::freed == std::vector<void *>{block});
}
