// SPDX-License-Identifier: MIT
/*
    test/task/postponement.cpp - A collection that keeps nobody waiting comes when the queue has been run, others do not wait.
*/
#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"

#include "mpr/task/postponement.hpp"

using namespace test;
using mpr::task::Postponement;
using mpr::task::Waiting;

namespace {

constexpr size_t budget = 1 << 20;
cchar *const options = "everyyield=0,young=1m";

/* Allocate garbage without a yield. */
void litter(size_t bytes) {
    for (size_t made = 0; made < bytes; made += 1000) {
        mprAlloc(1000);
    }
}

/* Whether a yield may be put off for more than a few events. */
bool allowed(Postponement &postponement) {
    for (int i = 0; i < 100; i++) {
        if (!postponement.allowed()) {
            return false;
        }
    }
    return true;
}

/* allowed, when a budget is spent. Tried again, since a thread that gets no processor for 50 ms may not put it off. */
bool allowedWhenSpent(Postponement &postponement) {
    for (int tries = 0; tries < 20; tries++) {
        litter(5 * budget);
        if (allowed(postponement)) {
            return true;
        }
        mprYield(MPR_YIELD_COMPLETE);
    }
    return false;
}

/* A thread that waits in a call of the runtime until the signal. */
struct Waiter {
    Waiter() {
        mprAddRoot(cond);
        const int before = Waiting::threads();
        mutator = std::make_unique<Mutator>("waiter", [this](Mutator &) { mprWaitForCond(cond, -1); });
        waits = until([before] { return Waiting::threads() == before + 1; });
    }
    ~Waiter() {
        mprSignalCond(cond);
        mutator.reset();
        mprRemoveRoot(cond);
    }
    MprCond *cond = mprCreateCond();
    std::unique_ptr<Mutator> mutator;
    bool waits = false;
};

struct Burst {
    long total = 0, runs = 0;
    uint64 pauses = 0;    // before it
    long undisturbed = 0; // of the first events, those that ran before a pause
} burst;

void run(void *, MprEvent *) {
    if (burst.runs++ < 100) { // reading takes a while, and time is limited
        burst.undisturbed += stats().pause.count == burst.pauses;
    }
}

/* Queue more events than the budget allows, and run them. */
void runBurst() {
    burst = {};
    burst.total = 20000;
    burst.pauses = stats().pause.count;
    for (long i = 0; i < burst.total; i++) {
        mprCreateEvent(nullptr, "run", 0, reinterpret_cast<void *>(run), nullptr, 0);
    }
    CHECK(mprNeedYield());
    while (burst.runs < burst.total) {
        mprServiceEvents(-1, MPR_SERVICE_ONE_THING);
    }
}

} // namespace

TEST_CASE("a burst of events is run before the collection that it asks for", "[task][event][postpone]") {
    Runtime runtime(options);
    mprGetDispatcher();
    collect();
    runBurst();
    CHECK(burst.undisturbed > 10); // all, unless the machine stood still meanwhile
    mprYield(MPR_YIELD_COMPLETE);
    CHECK(stats().pause.count > burst.pauses);
}

TEST_CASE("while another thread runs no yield is put off", "[task][event][postpone]") {
    Runtime runtime(options);
    mprGetDispatcher();
    collect();
    Mutator other("other", [](Mutator &mutator) {
        while (mutator.go()) {
            mprYield(0);
        }
    });
    runBurst();
    CHECK(burst.undisturbed <= 1); // 0 if the other has waited for this thread and gone on without it before
}

TEST_CASE("a yield is put off for a spent budget only", "[task][postpone]") {
    Runtime runtime(options);
    Postponement postponement;
    collect();
    CHECK_FALSE(postponement.allowed());
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    CHECK_FALSE(postponement.allowed());
    mprYield(MPR_YIELD_COMPLETE);
    CHECK(allowedWhenSpent(postponement));
}

TEST_CASE("a postponement ends when a thread wants to go on", "[task][postpone]") {
    Runtime runtime(options);
    Waiter waiter;
    REQUIRE(waiter.waits);
    Postponement postponement;
    CHECK(allowedWhenSpent(postponement));
    const auto ended = Waiting::ended();
    mprSignalCond(waiter.cond);
    CHECK(untilUnyielded([&] { return Waiting::ended() != ended; }));
    CHECK_FALSE(postponement.allowed());
}

TEST_CASE("a postponement ends when a thread is attached", "[task][postpone]") {
    Runtime runtime(options);
    Postponement postponement;
    CHECK(allowedWhenSpent(postponement));
    std::atomic<bool> attached{false};
    std::thread thread([&] {
        if (mprAttachThread("new") == 0) {
            attached = true;
            mprDetachThread();
        }
    });
    CHECK(untilUnyielded([&] { return attached || !allowed(postponement); }));
    mprYield(MPR_YIELD_STICKY);
    thread.join();
    mprResetYield();
    CHECK(attached);
}

TEST_CASE("a postponement ends when more is allocated", "[task][postpone]") {
    Runtime runtime(options);
    Postponement postponement;
    CHECK(allowedWhenSpent(postponement));
    litter(5 * budget);
    CHECK_FALSE(allowed(postponement));
}

TEST_CASE("a postponement ends when an allocation fails", "[task][postpone]") {
    Runtime runtime(options);
    mprSetMemLimits(0, 64 << 20, 0);
    Postponement postponement;
    CHECK(allowedWhenSpent(postponement));
    CHECK_FALSE(mprAlloc(100 << 20));
    CHECK_FALSE(allowed(postponement));
}

TEST_CASE("a postponement ends when it lasts too long", "[task][postpone]") {
    Runtime runtime(options);
    Postponement postponement;
    CHECK(allowedWhenSpent(postponement));
    test::pause(60);
    CHECK_FALSE(allowed(postponement));
}
