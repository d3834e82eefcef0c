// SPDX-License-Identifier: MIT
/*
    test/gc/collector_stats.cpp - What collections have cost, as mpr/stats.h has it.
 */
#include "mpr/gc/collector_stats.hpp"

#include "test/support/stepped_collection.hpp"

#include <memory>

using mpr::gc::CollectorStats;
using mpr::gc::Wish;
using test::SteppedCollection;

TEST_CASE("each number is reported in its own place", "[gc][stats]") {
    auto stats = std::make_unique<CollectorStats>();
    stats->minors = 1;
    stats->majors = 20;
    stats->idle = 3;
    stats->shared = 4;
    stats->beside = 5;
    stats->slices = 6;
    stats->stoodIn = 7;
    stats->assists = 8;
    stats->defects = 9;
    stats->freeCalls = 21; // ten have ended, and one runs
    stats->late = 11;
    stats->marked = 12;
    stats->pause.record(1000);
    stats->mark.record(3000);
    MprMemStats s{};
    stats->report(s);
    CHECK(s.collectionsMinor == 1);
    CHECK(s.collectionsMajor == 20);
    CHECK(s.collections == 21);
    CHECK(s.collectionsIdle == 3);
    CHECK(s.marksShared == 4);
    CHECK(s.marksBeside == 5);
    CHECK(s.marksSliced == 6);
    CHECK(s.pausesByThreads == 7);
    CHECK(s.assists == 8);
    CHECK(s.checkDefects == 9);
    CHECK(s.managersFreed == 10);
    CHECK(s.late == 11);
    CHECK(s.bytesMarked == 12);
    CHECK(s.pause.count == 1);
    CHECK(s.mark.count == 1);
    CHECK(s.mark.max == 3000);
    CHECK(s.stall.count == 0);
    CHECK(s.rendezvous.count == 0);
    CHECK(s.sweep.count == 0);
}

TEST_CASE("a collection by hand counts as what it was", "[gc][stats]") {
    SteppedCollection c;
    c.collect();
    c.collect();
    c.collect(Wish::urgent);
    MprMemStats s{};
    c.stats.report(s);
    CHECK(s.collectionsMinor == 2);
    CHECK(s.collectionsMajor == 1);
    CHECK(s.mark.count == 3);
    CHECK(s.rendezvous.count == 3);
    CHECK(s.sweep.count == 3);
}
