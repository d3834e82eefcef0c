// SPDX-License-Identifier: MIT
/*
    test/gc/request.cpp - When a collection happens: mprGC and its flags, budgets, mprEnableGC, MPR_DISABLE_GC.

    What is said of budgets is said of collections that are due; so everyyield=0, whatever the environment asks for.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

using namespace test;

namespace {

/* Allocate garbage at a pace that lets the collector in. */
void litter(size_t bytes) {
    for (size_t done = 0; done < bytes; done += 128) {
        mprAlloc(112);
        mprYield(0);
    }
}

} // namespace

TEST_CASE("allocation starts collections", "[gc][request]") {
    Runtime runtime("young=256k");
    litter(8 << 20);
    CHECK(until([] { return stats().collections >= 3; }));
}

TEST_CASE("garbage does not pile up", "[gc][request]") {
    // Threads wait a hundredth of a second for a collector that gets no processor, and allocate another budget then.
    uint64 peak = ~uint64(0);
    for (int tries = 0; tries < 10 && peak >= 32 << 20; tries++) {
        Runtime runtime("everyyield=0,young=1m,region=256k");
        litter(200 << 20);
        peak = stats().heapPeak;
    }
    CHECK(peak < 32 << 20);
}

TEST_CASE("young is the least allocation between two collections", "[gc][request]") {
    Runtime runtime("everyyield=0,young=4m");
    CHECK(stats().youngBudget >= 4 << 20);
    litter(1 << 20);
    sleepYielded(50);
    CHECK(stats().collections == 0);
}

TEST_CASE("mprGC without FORCE does nothing until half of the budget was allocated", "[gc][request]") {
    Runtime runtime("everyyield=0,young=4m");
    litter(64 << 10);
    CHECK(mprGC(MPR_GC_COMPLETE) == 0);
    CHECK(mprGC(0) == 0);
    CHECK(stats().collections == 0);
    litter(3 << 20);
    CHECK(stats().collections == 0);
    CHECK(mprGC(MPR_GC_COMPLETE) > 0);
    CHECK(stats().collections == 1);
}

TEST_CASE("mprGC(FORCE) collects however little was allocated", "[gc][request]") {
    Runtime runtime("everyyield=0");
    for (uint64 i = 1; i <= 10; i++) {
        collect();
        CHECK(stats().collections == i);
    }
}

TEST_CASE("mprGC(FORCE) waits until marking has ended", "[gc][request]") {
    Runtime runtime;
    calls.reset();
    Root root(makeNode());
    CHECK(mprGC(MPR_GC_FORCE) == 0);
    CHECK(calls.marks == 1);
}

TEST_CASE("mprGC(NO_BLOCK) only asks", "[gc][request]") {
    Runtime runtime;
    calls.reset();
    Node *node = makeNode();
    CHECK(mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK) == 0);
    CHECK(mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK | MPR_GC_COMPLETE) == 0);
    pause(50);
    CHECK(mprIsValid(node));
    CHECK(calls.frees == 0);
    CHECK(stats().collections == 0);
    CHECK(until([] { return calls.frees == 1; }));
}

TEST_CASE("mprGC(COMPLETE) returns the blocks freed", "[gc][request]") {
    Runtime runtime;
    collect();
    for (int i = 0; i < 1000; i++) {
        makeNode();
        mprAlloc(500);
    }
    int freed = collect();
    CHECK(freed >= 2000);
    CHECK(freed < 2100);
    CHECK(collect() < 100);
}

TEST_CASE("mprGC(COMPLETE) by several threads at once returns to each", "[gc][request]") {
    Runtime runtime;
    calls.reset();
    std::atomic<int> rounds{0};
    auto work = [&](Mutator &) {
        for (int i = 0; i < 100; i++) {
            makeNode();
            collect();
            rounds++;
        }
    };
    doInThreeThreads(work);
    CHECK(rounds == 300);
    collect();
    CHECK(calls.frees == 300);
}

TEST_CASE("mprRequestGC is mprGC", "[gc][request]") {
    Runtime runtime;
    mprRequestGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(stats().collections == 1);
}

TEST_CASE("mprEnableGC(false) stops collections by allocation", "[gc][request]") {
    Runtime runtime("everyyield=0,young=64k");
    CHECK(mprEnableGC(false) == true);
    CHECK(mprEnableGC(false) == false);
    sleepYielded(50);
    auto before = stats().collections;
    calls.reset();
    makeNode();
    litter(8 << 20);
    sleepYielded(50);
    CHECK(stats().collections == before);
    CHECK(calls.frees == 0);
    collect();
    CHECK(stats().collections == before + 1);
    CHECK(calls.frees == 1);
    CHECK(mprEnableGC(true) == false);
    litter(1 << 20);
    CHECK(until([&] { return stats().collections > before + 1; }));
}

TEST_CASE("MPR_DISABLE_GC starts with collection off", "[gc][request]") {
    Runtime runtime("young=64k", MPR_DISABLE_GC);
    calls.reset();
    makeNode();
    litter(4 << 20);
    sleepYielded(50);
    CHECK(stats().collections == 0);
    CHECK(calls.frees == 0);
    CHECK(mprEnableGC(true) == false);
    litter(1 << 20);
    CHECK(until([] { return stats().collections > 0; }));
}

TEST_CASE("with collection off mprFree keeps the heap small", "[gc][request]") {
    Runtime runtime("region=256k", MPR_DISABLE_GC);
    for (size_t i = 0; i < 1000000; i++) {
        void *block = mprAlloc(i % 1000);
        REQUIRE(block);
        mprFree(block);
    }
    CHECK(stats().heapPeak <= 2 << 20);
    CHECK(stats().collections == 0);
}

TEST_CASE("mprGC in a sticky yield collects and leaves the thread yielded", "[gc][request]") {
    Runtime runtime;
    calls.reset();
    makeNode();
    mprYield(MPR_YIELD_STICKY);
    collect();
    CHECK(calls.frees == 1);
    CHECK(stats().collections >= 1);
    Mutator other("other", [](Mutator &) { collect(); });
    other.join();
    CHECK(stats().collections >= 2);
    mprResetYield();
}
