// SPDX-License-Identifier: MIT
/*
    test/gc/others.cpp - A thread that stops all others has them stopped while it works, and one at a time does.
 */
#include "mpr/gc/others.hpp"

#include "mpr/gc/runtime.hpp"
#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"

#include <atomic>

using namespace test;

namespace {

std::atomic<int> runs;  /* threads between two of their yield points */
std::atomic<int> works; /* threads that have stopped the others */
std::atomic<long> met;  /* work that met another thread */

/* One turn of a thread: it runs for a while, and yields. */
void run() {
    runs++;
    for (int i = 0; i < 100; i++) {
        mprNop(&runs);
    }
    runs--;
    mprYield(0);
}

/* The caller runs, too, but is not counted. @return Whether the others stopped. */
bool work() {
    return mpr::gc::runtime().collector.stopOthers([] {
        met += runs.load() + works.fetch_add(1);
        for (int i = 0; i < 100; i++) {
            mprNop(&works);
            met += runs.load();
        }
        works--;
    });
}

} // namespace

TEST_CASE("while one works all others are stopped, those that want to do so, too", "[gc][others]") {
    Runtime runtime;
    runs = works = 0;
    met = 0;
    const auto body = [](Mutator &self) {
        while (self.go()) {
            run();
            work();
        }
    };
    Mutator a("a", body), b("b", body), c("c", [](Mutator &self) {
        while (self.go()) {
            run();
        }
    });
    int worked = 0;
    for (int i = 0; i < 200; i++) {
        worked += work();
        if (i % 10 == 0) {
            collect();
        }
        mprYield(0);
    }
    a.end();
    b.end();
    c.end();
    CHECK(worked == 200);
    CHECK(met == 0);
}

TEST_CASE("work is not done when another thread does not stop in time, and that thread is named", "[gc][others]") {
    Runtime runtime;
    Gate busy, end;
    Mutator lazy("lazy-one", [&](Mutator &) {
        busy.open();
        while (!end.isOpen()) {
            mprNop(&busy);
        }
    });
    REQUIRE(until([&] { return busy.isOpen(); }));
    bool done = false;
    CHECK(
        until([&] { // nobody is asked to stop as long as the collector's thread is at work, which may have no processor
            CHECK_FALSE(mpr::gc::runtime().collector.stopOthers([&] { done = true; }, 1'000'000));
            return Log::has("lazy-one");
        }));
    CHECK_FALSE(done);
    end.open();
    lazy.end();
    CHECK(mpr::gc::runtime().collector.stopOthers([&] { done = true; }));
    CHECK(done);
}
