// SPDX-License-Identifier: MIT
/*
    test/gc/late.cpp - A thread that keeps a collection waiting is named in the log.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <chrono>
#include <functional>
#include <utility>

using namespace test;

namespace {

/* Computes without a yield while the gate is closed. */
struct Lazy {
    Gate begin, end;
    std::atomic<bool> busy{false};

    void operator()(Mutator &) {
        while (!begin.isOpen()) {
            sleepYielded(1);
        }
        busy = true;
        while (!end.isOpen()) {
            mprNop(this);
        }
        mprYield(0);
    }
};

/*
    Ask for a collection and watch, out of its way, until something has happened. The caller has stopped before it asks:
    it is not late itself, however long it gets no processor. Ends the sticky yield only with mprResetYield, which waits
    for the late thread.
 */
template <class Condition>
bool watch(Condition condition) {
    mprYield(MPR_YIELD_STICKY);
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    return untilUnyielded(condition, 60000);
}

/*
    A thread that never yields keeps a forced collection waiting until it is named, and ms milliseconds more.
    @return How many were late meanwhile. The caller and those that have yielded stickily are not, whatever the machine does.
 */
uint64 keepWaiting(cchar *name, int ms) {
    Lazy lazy;
    Mutator mutator(name, std::ref(lazy));
    mprYield(MPR_YIELD_COMPLETE); // for an earlier collection the lazy one would be late already
    mprYield(MPR_YIELD_STICKY); // others may have asked for a collection already, for which the lazy one does not come
    lazy.begin.open();
    untilUnyielded([&] { return lazy.busy.load(); });
    const uint64 before = stats().late;
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    untilUnyielded([&] { return stats().late > before; });
    pause(ms);
    const uint64 late = stats().late - before;
    lazy.end.open();
    mprResetYield();
    mutator.end();
    return late;
}

} // namespace

TEST_CASE("a thread that does not yield is named after the deadline", "[gc][late]") {
    Runtime runtime("deadline=200,everyyield=0"); // this thread's time to yield in, on a busy machine, too
    Lazy lazy;
    Mutator mutator("lazy-bones", std::ref(lazy));
    lazy.begin.open();
    REQUIRE(until([&] { return lazy.busy.load(); }));
    CHECK_FALSE(runtime.log.has("lazy-bones"));
    CHECK(watch([&] { return runtime.log.has("lazy-bones"); }));
    CHECK(stats().late == 1);
    CHECK(stats().collections == 0);
    lazy.end.open();
    mutator.end();
    CHECK(until([] { return stats().collections >= 1; }));
}

TEST_CASE("a thread that never yielded is named so", "[gc][late]") {
    Runtime runtime("deadline=50");
    Gate end;
    Mutator mutator("lazy-newcomer", [&](Mutator &) {
        while (!end.isOpen()) {
            mprNop(nullptr);
        }
    });
    CHECK(watch([&] { return runtime.log.has("lazy-newcomer"); }));
    INFO(runtime.log.text());
    CHECK(runtime.log.has("never"));
    end.open();
    mutator.end();
}

TEST_CASE("the message names the last yield site when there was one", "[gc][late]") {
    Runtime runtime("deadline=50");
    Gate end;
    std::atomic<bool> busy{false};
    Mutator mutator("lazy-veteran", [&](Mutator &) {
        mprYield(0);
        mprGC(MPR_GC_FORCE);
        busy = true;
        while (!end.isOpen()) {
            mprNop(nullptr);
        }
    });
    REQUIRE(until([&] { return busy.load(); }));
    CHECK(watch([&] { return runtime.log.has("lazy-veteran"); }));
    INFO(runtime.log.text());
    CHECK_FALSE(runtime.log.has("never"));
    end.open();
    mutator.end();
}

TEST_CASE("the message comes while the thread is late, and the others live on", "[gc][late]") {
    Runtime runtime("deadline=50");
    Lazy lazy;
    Mutator mutator("lazy-bones", std::ref(lazy));
    std::atomic<uint64_t> blocking{0};
    Mutator blocker("blocker", [&](Mutator &self) {
        mprYield(MPR_YIELD_STICKY);
        while (self.go()) {
            blocking++;
            pause(1);
        }
        mprResetYield();
    });
    lazy.begin.open();
    REQUIRE(until([&] { return lazy.busy.load(); }));
    CHECK(watch([&] { return runtime.log.has("lazy-bones"); }));
    uint64_t before = blocking;
    CHECK(untilUnyielded([&] { return blocking > before + 10; }));
    lazy.end.open();
    mutator.end();
    uint64_t collections = stats().collections;
    collect();
    CHECK(stats().collections > collections);
    blocker.end();
}

TEST_CASE("the creating thread is named, too, when it is late", "[gc][late]") {
    Runtime runtime("deadline=50");
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    CHECK(untilUnyielded([] { return stats().late == 1; }, 60000));
    CHECK(untilUnyielded([&] { return runtime.log.size() >= 1; })); // it is counted first
    mprYield(MPR_YIELD_COMPLETE);
    CHECK(stats().collections == 1);
}

TEST_CASE("a thread is named after collections that the collector's thread has slept through", "[gc][late]") {
    Runtime runtime("deadline=50,young=64k");
    for (int i = 0; i < 1000 && stats().pausesByThreads < 20; i++) {
        for (int k = 0; k < 1000; k++) {
            mprAlloc(64);
            mprYield(0);
        }
    }
    CHECK(stats().pausesByThreads >= 20);
    for (int i = 0; i < 100 && !mprNeedYield(); i++) {
        mprAlloc(4096); // the request is this thread's, which then does not come
    }
    const uint64 before = stats().late; // on a busy machine this thread may have been late before
    CHECK(untilUnyielded([&] { return stats().late > before; }, 60000));
    mprYield(0);
}

TEST_CASE("one lateness is counted once", "[gc][late]") {
    Runtime runtime("deadline=100");
    CHECK(keepWaiting("lazy-once", 300) == 1);
    CHECK(runtime.log.count("lazy-once") >= 1);
    CHECK(runtime.log.count("lazy-once") <= 10);
    CHECK(keepWaiting("lazy-again", 0) == 1);
    CHECK(runtime.log.has("lazy-again"));
}

TEST_CASE("a thread that waits for a late one is left asleep", "[gc][late]") {
    Runtime runtime("deadline=20000,everyyield=0");
    std::atomic<long> woken{-1};
    Gate begin;
    Mutator waiter("waiter", [&](Mutator &) {
        while (!begin.isOpen()) {
            sleepYielded(1);
        }
        rusage before, after;
        getrusage(RUSAGE_THREAD, &before);
        mprGC(MPR_GC_FORCE);
        getrusage(RUSAGE_THREAD, &after);
        woken = after.ru_nvcsw - before.ru_nvcsw;
    });
    begin.open();
    pause(1000); // this thread is the late one
    CHECK(woken == -1);
    CHECK(until([&] { return woken >= 0; }));
    CHECK(woken < 30); // by phases, of which there are some
}

TEST_CASE("only the late thread is named", "[gc][late]") {
    Runtime runtime("deadline=300");
    Mutator diligent("diligent-one", [](Mutator &self) {
        while (self.go()) {
            mprYield(0);
        }
    });
    Gate asleep; // before, it may be late as any other
    Mutator sleeper("sleeping-one", [&](Mutator &self) {
        mprYield(MPR_YIELD_STICKY);
        asleep.open();
        while (self.go()) {
            pause(1);
        }
        mprResetYield();
    });
    CHECK(until([&] { return asleep.isOpen(); }));
    // A machine that is busy, or stops the whole process for a while, may make any thread late that is not asleep.
    bool alone = false;
    for (int tries = 0; tries < 10 && !alone; tries++) {
        const int before = runtime.log.count("diligent-one");
        keepWaiting("lazy-bones", 100);
        alone = runtime.log.count("diligent-one") == before;
    }
    INFO(runtime.log.text());
    CHECK(alone);
    CHECK(runtime.log.has("lazy-bones"));
    CHECK_FALSE(runtime.log.has("sleeping-one"));
    diligent.end();
    sleeper.end();
}

namespace {

/* The calling thread runs on the first processor that it may have, from here on. */
void stayOnOneProcessor() {
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof(allowed), &allowed);
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

} // namespace

TEST_CASE("a thread that gets no processor is waited for much longer than one that computes", "[gc][late]") {
    Runtime runtime("deadline=60000,everyyield=0");
    Gate end;
    std::thread greedy([&] { // leaves hardly anything to a thread that only runs where nobody else would
        stayOnOneProcessor();
        while (!end.isOpen()) {}
    });
    std::atomic<int> idles{-1};
    std::atomic<uint64_t> turns{0};
    Mutator starved("starved", [&](Mutator &) {
        stayOnOneProcessor();
        const sched_param none{};
        idles = pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
        while (!end.isOpen()) {
            turns++;
            mprYield(0);
        }
    });
    REQUIRE(until([&] { return idles >= 0; }));
    CHECK(idles == 0);
    const uint64_t before = turns;
    const bool runs = until([&] { return turns > before; });
    CHECK(runs);
    sleepYielded(20); // by then it mostly has no processor any more
    mprYield(MPR_YIELD_COMPLETE);
    const uint64 pauses = stats().rendezvous.count, collections = stats().collections;
    const auto begin = std::chrono::steady_clock::now();
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    mprYield(0);
    const auto waited = std::chrono::steady_clock::now() - begin;
    // Or this thread has run on without the starved one.
    CHECK((stats().rendezvous.count > pauses || waited >= std::chrono::milliseconds(200)));
    CHECK(until([&] { return stats().collections > collections; })); // it comes at last
    end.open();
    greedy.join();
    starved.end();
}

TEST_CASE("nothing is logged when all yield", "[gc][late]") {
    Runtime runtime("deadline=60000");
    auto work = [](Mutator &self) {
        while (self.go()) {
            mprAlloc(100);
            mprYield(0);
        }
    };
    Mutator first("first", work), second("second", work);
    for (int i = 0; i < 50; i++) {
        collect();
    }
    first.end();
    second.end();
    INFO(runtime.log.text());
    CHECK(stats().late == 0);
    CHECK(runtime.log.size() == 0);
}

namespace {

/* Does not yield until it is told to end. */
class Busy {
public:
    Busy() {
        REQUIRE(until([this] { return begun.isOpen(); }));
    }
    void end() {
        done.open();
        thread.join();
    }

private:
    Gate begun, done;
    Mutator thread{"busy", [this](Mutator &) {
                       begun.open();
                       untilUnyielded([this] { return done.isOpen(); }, 60000);
                   }};
};

/* Allocate and yield until a condition holds. @return Whether it came to hold. */
template <class Condition>
bool workUntil(Condition condition, long turns) {
    for (long turn = 0; turn < turns && !condition(); turn++) {
        for (int i = 0; i < 100; i++) {
            fill(mprAlloc(64), 64, 1);
        }
        mprYield(0);
    }
    return condition();
}

} // namespace

TEST_CASE("threads run on although one does not yield, and collect when it does", "[gc][late]") {
    Runtime runtime;
    mprSetMemLimits(400 << 20, 0, -1);
    const uint64 before = stats().collections;
    Busy busy;
    // Many young budgets: the first of them asks for a collection, which cannot begin.
    const uint64 budget = stats().youngBudget;
    const uint64 start = stats().bytesAllocated;
    CHECK(workUntil([&] { return stats().bytesAllocated > start + 20 * budget; }, 1'000'000));
    CHECK(stats().collections <= before + 1);
    CHECK(stats().heap > 10 * budget);
    busy.end();
    CHECK(workUntil([&] { return stats().collections > before + 2; }, 1'000'000));
    collect();
    CHECK(stats().bytesLive < budget);
}

TEST_CASE("threads run on until memory is used up, however often a collection is called for", "[gc][late]") {
    Runtime runtime("everyalloc=500");
    mprSetMemLimits(400 << 20, 0, -1);
    Busy busy;
    const uint64 before = stats().collections;
    const uint64 start = stats().blocksAllocated;
    CHECK(workUntil([&] { return stats().blocksAllocated > start + 100'000; }, 1'000'000));
    CHECK(stats().collections <= before + 1);
    busy.end();
}

constexpr uint64 redline = 48 << 20;

static void runOnToRedline(void (*meanwhile)(), ssize redlineBefore = redline) {
    Runtime runtime;
    mprSetMemLimits(redlineBefore, 0, -1);
    Busy busy;
    Gate halfway, goOn; // the worker is not past the redline before meanwhile() has been, however late this thread is
    Gate rested;        // it has stopped where it should: a sweep that gets no processor may let it go further now
    Mutator worker("worker", [&](Mutator &self) {
        workUntil([&] { return stats().heap > redline / 2; }, 10'000'000);
        halfway.open();
        untilUnyielded([&] { return goOn.isOpen(); });
        workUntil([&] { return !self.go() || (!rested.isOpen() && stats().heap > 2 * redline); }, 10'000'000);
    });
    mprYield(MPR_YIELD_STICKY);
    CHECK(untilUnyielded([&] { return halfway.isOpen(); }));
    CHECK(stats().heap > redline / 2);
    meanwhile();
    goOn.open();
    uint64 seen = 0;
    CHECK(untilUnyielded([&] { // it has come to rest
        pause(100);
        return std::exchange(seen, stats().bytesAllocated) == stats().bytesAllocated;
    }));
    CHECK(stats().heap < redline + (8 << 20));
    const uint64 before = stats().bytesAllocated;
    rested.open();
    busy.end(); // this thread goes on then, too
    CHECK(until([&] { return stats().bytesAllocated > before + 2 * redline; }));
    worker.end();
}

TEST_CASE("threads that run on stop at the redline", "[gc][late]") {
    runOnToRedline([] {});
}

TEST_CASE("threads that run on stop at the redline, even when budgets are set again meanwhile", "[gc][late]") {
    runOnToRedline([] {
        mprEnableGC(false);
        mprEnableGC(true);
    });
}

TEST_CASE("threads that run on stop at a redline that is set meanwhile", "[gc][late]") {
    runOnToRedline([] { mprSetMemLimits(redline, 0, -1); }, 4 * redline);
}

TEST_CASE("threads that yield at long intervals, each at times of its own, meet for a collection", "[gc][late]") {
    Runtime runtime;
    mprSetMemLimits(400 << 20, 0, -1); // where they would wait for each other in any case
    const auto works = [](Mutator &self) {
        while (self.go()) {
            for (int i = 0; i < 2000; i++) {
                fill(mprAlloc(64), 64, 1);
            }
            pause(15); // computes
            mprYield(0);
        }
    };
    const uint64 before = stats().collections;
    Mutator one("one", works);
    sleepYielded(8);
    Mutator two("two", works);
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    mprYield(MPR_YIELD_STICKY);
    CHECK(untilUnyielded([&] { return stats().collections > before + 1; }));
    CHECK(stats().redlines == 0);
    mprResetYield();
}

TEST_CASE("late threads that never yield at the same time hold up nobody but themselves", "[gc][late]") {
    Runtime runtime("everyyield=0");
    mprSetMemLimits(400 << 20, 0, -1);
    std::atomic<int> computing{0}, turn{-1};
    std::atomic<uint64_t> came{0};
    const auto yieldsInTurn = [&](int self) {
        computing++;
        for (; came < 6; came += turn == self, turn = 1 - self) {
            untilUnyielded([&] { return turn == self || came >= 6; });
            mprYield(0);
        }
    };
    Mutator first("first", [&](Mutator &) { yieldsInTurn(0); });
    Mutator second("second", [&](Mutator &) { yieldsInTurn(1); });
    CHECK(until([&] { return computing == 2; }));
    Mutator worker("worker", [](Mutator &self) {
        while (self.go()) {
            mprYield(0);
        }
    });
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    mprYield(MPR_YIELD_STICKY);
    CHECK(untilUnyielded([] { return stats().pause.count > 0; })); // the worker has waited, and runs on without the two
    const uint64_t waits = stats().pause.count;
    turn = 0;
    CHECK(untilUnyielded([&] { return came >= 6; }));
    CHECK(stats().pause.count <= waits + 6 + 1); // each time by the one that came
    mprResetYield();
}

TEST_CASE("a late thread may verify the heap while the others run on without it", "[gc][late]") {
    Runtime runtime;
    mprSetMemLimits(400 << 20, 0, -1);
    Mutator worker("worker", [](Mutator &self) { workUntil([&] { return !self.go(); }, 100'000'000); });
    const uint64 budget = stats().youngBudget;
    const uint64 start = stats().bytesAllocated;
    CHECK(untilUnyielded([&] { return stats().bytesAllocated > start + 4 * budget; }));
    CHECK(mprVerifyHeap() == 0);
    worker.end();
}

TEST_CASE("a thread that verifies the heap in vain names the late thread, and not itself", "[gc][late]") {
    Runtime runtime("deadline=50");
    Busy busy;
    CHECK(mprVerifyHeap() == MPR_ERR_TIMEOUT);
    CHECK(runtime.log.text().find("thread \"busy\" keeps") != std::string::npos);
    CHECK(runtime.log.text().find("thread \"main\" keeps") == std::string::npos);
    CHECK(stats().late == 1);
    busy.end();
}

/*
    Verify the heap in vain, as one thread does not stop; another thread waits for its turn meanwhile. The first lets the
    busy one go before that turn ends, or not. @return What the other got.
 */
static int verifyByTurns(bool endsBusy) {
    Busy busy;
    std::atomic<int> result{1};
    Mutator next("next", [&](Mutator &) {
        untilUnyielded([] { return mprNeedYield(); }, 2000); // the other has its turn
        pause(20);
        result = mprVerifyHeap();
    });
    CHECK(mprVerifyHeap() == MPR_ERR_TIMEOUT);
    if (endsBusy) {
        pause(50); // running, so that the next finds two that have not stopped
        mprYield(MPR_YIELD_STICKY);
        busy.end();
        mprResetYield();
    }
    next.join();
    if (!endsBusy) {
        busy.end();
    }
    return result;
}

TEST_CASE("a thread that waits for its turn to verify the heap is not named as late by one that verifies it in vain",
          "[gc][late]") {
    Runtime runtime("deadline=100,everyyield=0");
    // A thread that gets no processor before it waits is late as any other.
    bool alone = false;
    for (int tries = 0; tries < 20 && !alone; tries++) {
        const int before = runtime.log.count("thread \"next\" keeps");
        verifyByTurns(false);
        alone = runtime.log.count("thread \"next\" keeps") == before;
    }
    INFO(runtime.log.text());
    CHECK(alone);
    CHECK(runtime.log.text().find("thread \"busy\" keeps") != std::string::npos);
}

TEST_CASE("a thread that has waited for its turn to verify the heap waits for the others as long as the one before it",
          "[gc][late]") {
    Runtime runtime("deadline=100,everyyield=0");
    // Threads that get no processor for that time do not stop in it.
    int result = MPR_ERR_TIMEOUT;
    for (int tries = 0; tries < 20 && result == MPR_ERR_TIMEOUT; tries++) {
        result = verifyByTurns(true);
    }
    INFO(runtime.log.text());
    CHECK(result == 0);
}

TEST_CASE("threads that come and go touch nothing that another has been given", "[gc][late]") {
    Runtime runtime;
    static std::atomic<long> changed;
    changed = 0;
    const auto attaches = [](Mutator &) {
        for (size_t i = 0; i < heavy(200); i++) {
            std::thread([] {
                mprAttachThread("guest");
                mprDetachThread();
            }).join();
        }
    };
    const auto fills = [](Mutator &self) {
        while (self.go()) {
            for (size_t size : {1100u, 1150u, 1168u, 1200u}) {
                void *block = mprAlloc(size);
                fill(block, size, 255);
                changed += !filled(block, size, 255);
                mprFree(block);
            }
            mprYield(0);
        }
    };
    {
        Mutator filling("filling", fills);
        Mutator one("one", attaches), two("two", attaches);
        one.join();
        two.join();
    }
    CHECK(changed == 0);
}
