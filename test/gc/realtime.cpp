// SPDX-License-Identifier: MIT
/*
    test/gc/realtime.cpp - Threads of real-time priority wait for a pause only, and lend their priority to who marks.
 */
#include "test/support/realtime.hpp"
#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"

#include <sys/syscall.h>
#include <unistd.h>

using namespace test;

namespace {

/* Its manager waits until it is told to go on. */
struct Slow {
    static inline std::atomic<uint32_t> marker{0}; // the thread in MPR_MANAGE_MARK
    static inline std::atomic<bool> frees{false};  // one is in MPR_MANAGE_FREE
    static inline Gate marked, freed;

    static void manage(void *, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            marker = static_cast<uint32_t>(syscall(SYS_gettid));
            untilUnyielded([] { return marked.isOpen(); }, 60000);
        } else {
            frees = true;
            untilUnyielded([] { return freed.isOpen(); }, 60000);
        }
    }
    static void *make() {
        marker = 0;
        frees = false;
        marked.close();
        freed.close();
        return mprAllocManaged(16, manage, 0);
    }
};

enum class May { unknown, yes, no };

} // namespace

TEST_CASE("a thread of real-time priority lends it to the thread that marks in a pause", "[gc][realtime]") {
    Runtime runtime("markers=1,everyyield=0");
    std::atomic<May> may{May::unknown};
    Gate pausing;
    Mutator high("high", [&](Mutator &) {
        mprYield(MPR_YIELD_STICKY);
        may = becomeRealtime(30) ? May::yes : May::no;
        untilUnyielded([&] { return pausing.isOpen(); }, 60000);
        mprResetYield();
    });
    void *slow = Slow::make();
    mprAddRoot(slow);
    CHECK(until([&] { return may != May::unknown; }));
    if (may == May::yes) {
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        mprYield(MPR_YIELD_STICKY);
        CHECK(untilUnyielded([] { return Slow::marker != 0; }));
        CHECK(priorityOf(Slow::marker) > 0);
        pausing.open();
        CHECK(untilUnyielded([] { return priorityOf(Slow::marker) < 0; }));
        Slow::marked.open();
        CHECK(untilUnyielded([] { return priorityOf(Slow::marker) > 0; })); // no longer than that
        mprResetYield();
    } else {
        WARN("real-time priority is not allowed here: not tested");
    }
    Slow::marked.open();
    Slow::freed.open();
    pausing.open();
    mprRemoveRoot(slow);
}

TEST_CASE("a thread of real-time priority does not wait for a sweep", "[gc][realtime]") {
    Runtime runtime("everyyield=0");
    std::atomic<May> may{May::unknown};
    std::atomic<bool> yielded{false};
    Gate wanted;
    Mutator high("high", [&](Mutator &) {
        may = becomeRealtime(30) ? May::yes : May::no;
        mprYield(MPR_YIELD_STICKY);
        untilUnyielded([&] { return wanted.isOpen(); }, 60000);
        mprResetYield();
        mprYield(0);
        yielded = true;
    });
    Slow::make();
    Slow::marked.open();
    CHECK(until([&] { return may != May::unknown; }));
    if (may == May::yes) {
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        mprYield(0);
        CHECK(untilUnyielded([] { return Slow::frees.load(); }));
        for (int i = 0; i < 10'000'000 && !mprNeedYield(); i++) {
            mprAlloc(1024);
        }
        REQUIRE(mprNeedYield());
        const uint64_t stalls = stats().stall.count;
        wanted.open();
        CHECK(untilUnyielded([&] { return yielded.load(); }));
        CHECK(stats().stall.count == stalls);
        mprYield(0); // one of normal priority waits for a while
        CHECK(stats().stall.count == stalls + 1);
    } else {
        WARN("real-time priority is not allowed here: not tested");
    }
    wanted.open();
    Slow::freed.open();
}
