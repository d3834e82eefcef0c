/*
    test/checked/core.cpp - The assertions of heap and collector fire. Core has MPR_CHECKED here, whatever the build.
 */
#include "mpr/gc/runtime.hpp"
#include "test/support/dies.hpp"
#include "test/support/runtime.hpp"

#include <thread>

using namespace mpr;
using test::failsWith;
using test::Runtime;

namespace {
gc::Collector &collector() {
    return gc::runtime().collector;
}
} // namespace

TEST_CASE("a runtime with all assertions collects", "[checked]") {
    Runtime runtime;
    for (int i = 0; i < 100; i++) {
        mprAddRoot(mprAlloc(100));
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    }
}

TEST_CASE("assertOnDuty fires outside the collector", "[checked]") {
    Runtime runtime;
    CHECK(failsWith("the lock is held by this thread (", [] { collector().assertOnDuty(); }));
}

TEST_CASE("assertStopped fires while threads run", "[checked]") {
    Runtime runtime;
    CHECK(failsWith("assertion failed: ", [] { collector().assertStopped(); }));
}

TEST_CASE("assertRunning fires for another thread, and for one that has yielded", "[checked]") {
    Runtime runtime;
    gc::Mutator &self = *gc::attached;
    // A child of fork is attached to nothing: it is told that it runs.
    const auto firesFor = [&](const gc::Mutator &m) {
        return failsWith("the thread runs, and is the calling one", [&] {
            gc::current = &self;
            gc::assertRunning(m);
        });
    };
    CHECK_FALSE(firesFor(self));
    CHECK(firesFor(gc::Mutator()));
    mprYield(MPR_YIELD_STICKY);
    CHECK(firesFor(self));
    mprResetYield();
    CHECK_FALSE(firesFor(self));
}

TEST_CASE("a mark stack is not popped when empty", "[checked]") {
    static gc::MarkEntry entries[4];
    CHECK(failsWith("!empty()", [] {
        gc::MarkStack stack;
        stack.open(entries, sizeof(entries));
        static_cast<void>(stack.pop());
    }));
}

TEST_CASE("no more is given back than was committed", "[checked]") {
    CHECK(failsWith("bytes <= committed_", [] {
        heap::Limits limits;
        limits.commit(10);
        limits.uncommit(11);
    }));
}
