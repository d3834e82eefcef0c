// SPDX-License-Identifier: MIT
/*
    test/task/misuse.cpp - What threads in the wrong state call of locks, threads, workers and events is named, and does
    nothing.
 */
#include "test/support/wrong_state.hpp"

#include <cstring>

using namespace test;

namespace {

MprMutex mutex;
MprSpin spin;
MprCond cond;
alignas(64) char none[256]; // a worker or an event that no admitted call looks at
void event(void *, MprEvent *) {}
void work(void *, MprWorker *) {}
void thread(void *, MprThread *) {}

const Call table[] = {
    // mpr/lock.h
    {"mprAlloc", running, [] { mprCreateLock(); }},
    {"mprAlloc", running, [] { mprCreateSpinLock(); }},
    {"mprAllocZeroed", running, [] { mprCreateCond(); }},
    {"mprLock", locking, [] { mprLock(&mutex); }, true},
    {"mprTryLock", locking, [] { mprTryLock(&mutex); }, true},
    {"mprGlobalLock", locking, [] { mprGlobalLock(); }, true},
    {"mprSpinLock", locking, [] { mprSpinLock(&spin); }, true},
    {"mprTrySpinLock", locking, [] { mprTrySpinLock(&spin); }, true},
    {"mprWaitForCond", locking, [] { mprWaitForCond(&cond, 0); }},
    {"mprWaitForMultiCond", locking, [] { mprWaitForMultiCond(&cond, 0); }},
    // mpr/thread.h, mpr/worker.h, mpr/shutdown.h
    {"mprAllocMem", running, [] { mprCreateThread("thread", MPR_PROC(thread), nullptr, 0); }},
    {"mprStartThread", making, [] { mprStartThread(mprCreateThread("thread", MPR_PROC(thread), nullptr, 0)); }, true},
    {"mprStartThread", makingOfDying,
     [] { mprStartThread(mprCreateThread("thread", MPR_PROC(thread), things.dying, 0)); }, true},
    {"mprStartWorker", making, [] { mprStartWorker(work, nullptr); }, true},
    {"mprStartWorker", makingOfDying, [] { mprStartWorker(work, things.dying); }, true},
    {"mprDedicateWorker", running, [] { mprDedicateWorker(reinterpret_cast<MprWorker *>(none)); }, true},
    {"mprActivateWorker", making, [] { mprActivateWorker(reinterpret_cast<MprWorker *>(none), work, nullptr); }, true},
    {"mprActivateWorker", makingOfDying,
     [] { mprActivateWorker(reinterpret_cast<MprWorker *>(none), work, things.dying); }, true},
    {"mprReleaseWorker", running, [] { mprReleaseWorker(reinterpret_cast<MprWorker *>(none)); }, true},
    {"mprSyncThreads", running, [] { mprSyncThreads(1000); }},
    {"mprCancelShutdown", running, [] { mprCancelShutdown(); }},
    {"mprStart", running, [] { mprStart(); }, true},
    {"mprShutdown", running, [] { mprShutdown(0, 0, 0); }, true},
    {"mprStartEventsThread", making, [] { mprStartEventsThread(); }, true},
    // mpr/event.h
    {"mprCreateEvent", making, [] { mprCreateEvent(nullptr, "event", 0, MPR_PROC(event), nullptr, 0); }, true},
    {"mprCreateEvent", makingOfDying, [] { mprCreateEvent(nullptr, "event", 0, MPR_PROC(event), things.dying, 0); },
     true},
    {"mprCreateTimerEvent", making, [] { mprCreateTimerEvent(nullptr, "event", 1000, MPR_PROC(event), nullptr, 0); },
     true},
    {"mprCreateDispatcher", making, [] { mprCreateDispatcher("dispatcher", 0); }, true},
    {"mprGetEventCount", running, [] { mprGetEventCount(nullptr); }, true},
    {"mprEnableContinuousEvent", running, [] { mprEnableContinuousEvent(reinterpret_cast<MprEvent *>(none), 1); },
     true},
    {"mprServiceEvents", serving, [] { mprServiceEvents(0, MPR_SERVICE_NO_BLOCK); }, true},
    {"mprWaitForEvent", serving, [] { mprWaitForEvent(nullptr, 0, -1); }, true},
    {"mprCreateEventOutside", locking | closing, [] { mprCreateEventOutside(nullptr, MPR_PROC(event), nullptr); }},
    {"mprCreateEventOutside", locking | finalizing | closing,
     [] { mprCreateEventOutside(nullptr, MPR_PROC(event), things.dying); }, true},
    // mpr/cache.h
    {"mprCreateCache", making, [] { mprCreateCache(0); }, true},
    // Waits by threads that run: they would yield.
    {"a call that waits", notified, [] { mprSleep(1); }},
};
} // namespace

TEST_CASE("a call of locks or events by a thread in the wrong state is named and does nothing", "[task][misuse]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
        CHECK(mutex.word == 0);
        CHECK(spin.word == 0);
    }
}

TEST_CASE("events from outside are posted by threads that have yielded, while collections run", "[task][misuse]") {
    Runtime runtime;
    REQUIRE(mprStart() == 0);
    static std::atomic<long> posted, done;
    posted = done = 0;
    {
        const auto posts = [](Mutator &self) {
            mprYield(MPR_YIELD_STICKY);
            while (self.go()) {
                const auto count = [](void *, MprEvent *) { done++; };
                if (mprCreateEventOutside(nullptr, MPR_PROC(+count), nullptr) == 0) {
                    posted++;
                }
                while (posted - done > 1000 && self.go()) {
                    pause(1);
                }
            }
            mprResetYield();
        };
        Mutator one("one", posts), two("two", posts);
        for (int i = 0; i < 1000; i++) {
            for (int k = 0; k < 50; k++) {
                memset(mprAlloc(64), 0xEE, 64);
            }
            mprGC(MPR_GC_MINOR);
        }
    }
    CHECK(until([] { return done == posted; }));
    INFO(Log::text());
    CHECK(mprGetMemStats()->misuses == 0);
}

namespace {

int refusedInEvent = 0;

void leaveInEvent(void *, MprEvent *) {
    refusedInEvent = !mprDestroy() + (mprDetachThread() == MPR_ERR_BAD_STATE);
}
} // namespace

TEST_CASE("an event may neither end the runtime nor detach its thread", "[task][misuse]") {
    Log log;
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    refusedInEvent = 0;
    mprCreateEvent(nullptr, "leaves", 0, leaveInEvent, nullptr, 0);
    for (int turns = 0; turns < 20 && refusedInEvent == 0; turns++) {
        mprServiceEvents(10, MPR_SERVICE_NO_BLOCK);
    }
    CHECK(refusedInEvent == 2);
    CHECK(log.has("called by an event"));
}
