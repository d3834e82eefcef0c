// SPDX-License-Identifier: MIT
/*
    test/gc/yield.cpp - Yield points: what is safe until one, who waits at one, and for what.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <string>
#include <vector>

using namespace test;

TEST_CASE("what a thread allocated is safe until it yields", "[gc][yield]") {
    Runtime runtime("young=64k,region=256k");
    static std::atomic<uint64_t> requests;
    requests = 0;
    Mutator requester("requester", [](Mutator &self) {
        while (self.go()) {
            mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
            requests++;
            mprYield(0);
        }
    });
    CHECK(until([] { return requests > 0; }));
    const size_t count = heavy(10000);
    for (int round = 0; round < 10; round++) {
        std::vector<void *> blocks;
        for (size_t i = 0; i < count; i++) {
            size_t size = i % 200;
            void *block = i % 3 ? mprAlloc(size)
                                : mprAllocManaged(
                                      size, [](void *, int) {}, 0);
            fill(block, size, i);
            blocks.push_back(block);
        }
        pause(5);
        size_t intact = 0;
        for (size_t i = 0; i < count; i++) {
            intact += mprIsValid(blocks[i]) && filled(blocks[i], i % 200, i);
        }
        REQUIRE(intact == count);
        mprYield(0);
    }
    CHECK(stats().collections > 0);
    requester.end();
}

TEST_CASE("what a thread read from the heap is safe until it yields", "[gc][yield]") {
    Runtime runtime;
    Root root(makeNode(makeNode(nullptr, nullptr, 42)));
    Mutator requester("requester", [](Mutator &self) {
        while (self.go()) {
            mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
            mprYield(0);
        }
    });
    for (int i = 0; i < 50; i++) {
        Node *node = root.as<Node>()->next;
        root.as<Node>()->next = nullptr;
        pause(2);
        REQUIRE(mprIsValid(node));
        REQUIRE(node->value == 42);
        root.as<Node>()->next = makeNode(nullptr, nullptr, 42);
        mprYield(0);
    }
    requester.end();
}

TEST_CASE("an unrooted block is gone after a yield to a waiting collection", "[gc][yield]") {
    Runtime runtime;
    calls.reset();
    makeNode();
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    CHECK(calls.frees == 0);
    CHECK(until([] { return calls.frees == 1; }));
}

TEST_CASE("everyyield=1 collects before sticky yields, too", "[gc][yield]") {
    Runtime runtime("everyyield=1");
    calls.reset();
    makeNode();
    for (int i = 0; i < 10; i++) {
        mprYield(MPR_YIELD_STICKY);
        mprResetYield();
    }
    CHECK(untilUnyielded([] { return calls.frees == 1; }, 60000));
}

TEST_CASE("mprYield returns at once when no collection waits", "[gc][yield]") {
    Runtime runtime("everyyield=0");
    auto before = stats().collections;
    for (int i = 0; i < 100000; i++) {
        mprYield(0);
    }
    CHECK(stats().collections == before);
    CHECK(stats().pause.count == 0);
}

TEST_CASE("mprYield(COMPLETE) waits until the memory is free", "[gc][yield]") {
    Runtime runtime;
    for (int i = 0; i < 50; i++) {
        calls.reset();
        Node *node = makeNode();
        void *leaf = mprAlloc(100);
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        mprYield(MPR_YIELD_COMPLETE);
        REQUIRE(calls.frees == 1);
        REQUIRE_FALSE(mprIsValid(node));
        REQUIRE_FALSE(mprIsValid(leaf));
    }
}

TEST_CASE("mprNeedYield tells that a collection waits", "[gc][yield]") {
    Runtime runtime("everyyield=0");
    CHECK_FALSE(mprNeedYield());
    for (int i = 0; i < 20; i++) {
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        REQUIRE(untilUnyielded([] { return mprNeedYield(); }));
        mprYield(MPR_YIELD_COMPLETE);
        REQUIRE_FALSE(mprNeedYield());
    }
}

TEST_CASE("everyalloc=N asks for a collection at every Nth allocation, whatever serves it", "[gc][yield]") {
    const int turn = GENERATE(1, 7, 100);
    CAPTURE(turn);
    Runtime runtime(("everyyield=0,young=1g,everyalloc=" + std::to_string(turn)).c_str());
    const size_t sizes[] = {16, 16, 100, 3000, 70000, 2 << 20};
    int since = 0, early = 0;
    bool known = false; // since when
    for (int i = 0; i < 20 * turn; i++) {
        REQUIRE(mprAlloc(sizes[i % 6]));
        since++;
        if (known && since == turn) {
            REQUIRE(mprNeedYield());
        }
        if (mprNeedYield()) {
            early += known && since < turn; // for the end of a major one
            since = !known || since == turn ? 0 : since;
            known = true;
            mprYield(MPR_YIELD_COMPLETE);
        }
    }
    CHECK((turn < 100 || early <= 10 * turn)); // half of all there could be
    CHECK(stats().collections >= 18);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("mprNeedYield may be asked from a foreign thread", "[gc][yield]") {
    Runtime runtime;
    std::atomic<bool> seen{false};
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    std::thread foreign([&] { seen = untilUnyielded([] { return mprNeedYield(); }); });
    foreign.join();
    CHECK(seen);
    mprYield(MPR_YIELD_COMPLETE);
}

TEST_CASE("a collection proceeds while a thread sleeps in a sticky yield", "[gc][yield]") {
    Runtime runtime("deadline=60000");
    calls.reset();
    Gate gate;
    std::atomic<bool> asleep{false};
    Mutator sleeper("sleeper", [&](Mutator &) {
        mprYield(MPR_YIELD_STICKY);
        asleep = true;
        while (!gate.isOpen()) {
            pause(1);
        }
        mprResetYield();
    });
    REQUIRE(until([&] { return asleep.load(); }));
    for (int i = 1; i <= 10; i++) {
        makeNode();
        collect();
        CHECK(calls.frees == i);
    }
    CHECK(stats().late == 0);
    gate.open();
    sleeper.join();
}

TEST_CASE("a sticky yield gives up what is not rooted", "[gc][yield]") {
    Runtime runtime;
    static Node *kept, *lost;
    Gate gate;
    std::atomic<bool> asleep{false};
    Mutator sleeper("sleeper", [&](Mutator &) {
        kept = makeNode();
        lost = makeNode();
        mprHold(kept);
        mprYield(MPR_YIELD_STICKY);
        asleep = true;
        while (!gate.isOpen()) {
            pause(1);
        }
        mprResetYield();
    });
    REQUIRE(until([&] { return asleep.load(); }));
    collect();
    CHECK(mprIsValid(kept));
    CHECK_FALSE(mprIsValid(lost));
    mprRelease(kept);
    gate.open();
    sleeper.join();
}

namespace {

std::atomic<bool> marking, returnedWhileMarking;
std::atomic<int> slowMarks;

void manageSlowly(void *, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        marking = true;
        pause(20);
        marking = false;
        slowMarks++;
    }
}

} // namespace

TEST_CASE("mprResetYield waits while a collection marks", "[gc][yield]") {
    Runtime runtime;
    slowMarks = 0;
    returnedWhileMarking = false;
    Root root(mprAllocManaged(8, manageSlowly, 0));
    Mutator sleeper("sleeper", [&](Mutator &self) {
        while (self.go()) {
            mprYield(MPR_YIELD_STICKY);
            pause(3);
            mprResetYield();
            if (marking) {
                returnedWhileMarking = true;
            }
        }
    });
    for (int i = 0; i < 30; i++) {
        collect();
    }
    sleeper.end();
    CHECK(slowMarks >= 2);
    CHECK_FALSE(returnedWhileMarking);
}

TEST_CASE("mprYield waits while a collection marks", "[gc][yield]") {
    Runtime runtime;
    slowMarks = 0;
    returnedWhileMarking = false;
    Root root(mprAllocManaged(8, manageSlowly, 0));
    Mutator worker("worker", [&](Mutator &self) {
        while (self.go()) {
            mprYield(0);
            if (marking) {
                returnedWhileMarking = true;
            }
        }
    });
    for (int i = 0; i < 30; i++) {
        collect();
    }
    worker.end();
    CHECK(slowMarks >= 2);
    CHECK_FALSE(returnedWhileMarking);
}

TEST_CASE("sticky yields may be repeated and reset without one", "[gc][yield]") {
    Runtime runtime;
    mprResetYield();
    mprYield(MPR_YIELD_STICKY);
    mprYield(MPR_YIELD_STICKY);
    mprResetYield();
    mprResetYield();
    CHECK(mprAlloc(10));
    collect();
}

TEST_CASE("mprYield on a foreign thread does nothing", "[gc][yield]") {
    Runtime runtime;
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    std::atomic<bool> returned{false};
    std::thread foreign([&] {
        mprYield(0);
        mprYield(MPR_YIELD_COMPLETE);
        mprYield(MPR_YIELD_STICKY);
        mprResetYield();
        returned = true;
    });
    CHECK(untilUnyielded([&] { return returned.load(); }));
    foreign.join();
    mprYield(0);
}
