// SPDX-License-Identifier: MIT
/*
    test/task/names.cpp - Calls and members of threads, workers, conditions, events and the runtime's state that older programs
    have besides the usual ones.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/service.hpp"

#include "mpr/task/workers.hpp"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

using namespace test;

namespace {

std::atomic<int> runs, wrong;
std::atomic<size_t> stackSize;
Gate gate;

void reset() {
    runs = wrong = 0;
    stackSize = 0;
    gate.close();
}

size_t ownStack() {
    pthread_attr_t attributes;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &size);
        pthread_attr_destroy(&attributes);
    }
    return size;
}

void noteStack(void *, MprThread *) {
    stackSize = ownStack();
    runs++;
}

void countEvent(void *, MprEvent *) {
    runs++;
}

void waitAtGate(void *, MprWorker *) {
    runs++;
    while (!gate.isOpen()) {
        sleepYielded(1);
    }
}

/* The text of an event's data, or nothing. */
void look(void *data, MprWorker *) {
    wrong += !data || strcmp(static_cast<char *>(data), "work") != 0;
    runs++;
}

} // namespace

// ---- Threads ----------------------------------------------------------------------------------------------------

TEST_CASE("a thread shows its data and name, and has the stack that was set for all", "[task][thread]") {
    Runtime runtime;
    reset();
    mprSetThreadStackSize(16 << 20); // more than usual: the system keeps stacks for later threads
    MprThread *thread = mprCreateThread("a name that is longer than thirty-one letters", noteStack, &runs, 0);
    Root root(thread);
    CHECK(std::string(thread->name) == "a name that is longer than thir");
    CHECK(thread->data == &runs);
    CHECK(mprStartThread(thread) == 0);
    CHECK(until([] { return runs == 1; }));
    CHECK(stackSize >= 16 << 20);
    mprSetThreadStackSize(0);
}

TEST_CASE("a thread that the runtime does not know", "[task][thread]") {
    Runtime runtime;
    reset();
    MprThread *model = mprCreateThread("model", noteStack, nullptr, 500 * 1024);
    Root root(model);
    const auto foreign = [](void *data) -> void * {
        wrong += data != &runs || mprGetCurrentThread() != nullptr || *mprGetCurrentThreadName() != '\0';
        stackSize = ownStack();
        runs++;
        return nullptr;
    };
    CHECK(mprStartOsThread("foreign", +foreign, &runs, model) == 0);
    CHECK(until([] { return runs == 1; }));
    CHECK(mprStartOsThread(nullptr, +foreign, &runs, nullptr) == 0);
    CHECK(until([] { return runs == 2; }));
    CHECK(wrong == 0);
    CHECK(mprStartOsThread("none", static_cast<void *>(nullptr), nullptr, nullptr) == MPR_ERR_BAD_ARGS);
    CHECK(stats().threads == 1);
}

TEST_CASE("a nap is no yield", "[task][thread]") {
    Runtime runtime("everyyield=1");
    char *mine = sclone("mine");
    const MprTicks begin = mprGetTicks();
    mprNap(30);
    CHECK(mprGetElapsedTicks(begin) >= 29);
    mprNap(-1);
    CHECK((mprIsValid(mine) && strcmp(mine, "mine") == 0));
    collect();
    CHECK_FALSE(mprIsValid(mine));
}

TEST_CASE("other threads are waited for until they have yielded", "[task][thread]") {
    Runtime runtime;
    reset();
    CHECK(mprSyncThreads(-1) == 1);
    {
        std::atomic<bool> holds{false};
        Mutator busy("busy", [&holds](Mutator &self) {
            while (self.go()) {
                while (gate.isOpen() && self.go()) { // not to yield
                    holds = true;
                }
                runs++;
                mprYield(0);
            }
        });
        char *mine = sclone("mine"); // which none of what follows lets be taken
        CHECK(mprSyncThreads(20000) == 1);
        gate.open();
        CHECK(untilUnyielded([&holds] { return holds.load(); }));
        CHECK(mprSyncThreads(30) == 0);
        CHECK(Log::has("busy"));
        gate.close();
        CHECK(mprSyncThreads(20000) == 1);
        CHECK(mprIsValid(mine));
    }
}

// ---- Conditions -------------------------------------------------------------------------------------------------

TEST_CASE("a condition for many wakes all of them, and stays", "[task][cond]") {
    Runtime runtime;
    reset();
    MprCond *cond = mprCreateCond();
    Root root(cond);
    CHECK(cond->triggered == 0);
    CHECK(mprWaitForMultiCond(cond, 0) == MPR_ERR_TIMEOUT);
    CHECK(mprWaitForMultiCond(cond, 1) == MPR_ERR_TIMEOUT);
    CHECK(mprWaitForMultiCond(nullptr, 1) == MPR_ERR_BAD_ARGS);
    {
        const auto body = [&](Mutator &) { runs += mprWaitForMultiCond(cond, 20000) == 0; };
        Mutator a("a", body), b("b", body), c("c", body);
        sleepYielded(20);
        mprSignalMultiCond(cond);
        CHECK(until([] { return runs == 3; }));
    }
    CHECK(cond->triggered);
    CHECK(mprWaitForMultiCond(cond, 0) == 0);
    CHECK(mprWaitForCond(cond, 0) == 0);
    mprSignalCond(cond);
    CHECK(mprWaitForCond(cond, 0) == 0);
    CHECK(mprWaitForCond(cond, 0) == 0);
    mprResetCond(cond);
    CHECK(cond->triggered == 0);
    mprSignalCond(cond);
    CHECK(cond->triggered);
    mprResetCond(cond);
    CHECK(cond->triggered == 0);
    mprSignalMultiCond(nullptr);
}

TEST_CASE("a signal for all wakes threads that wait by either call", "[task][cond]") {
    Runtime runtime;
    reset();
    MprCond *cond = mprCreateCond();
    Root root(cond);
    const auto one = [&](Mutator &) { runs += mprWaitForCond(cond, 20000) == 0; };
    const auto all = [&](Mutator &) { runs += mprWaitForMultiCond(cond, 20000) == 0; };
    Mutator a("a", one), b("b", all), c("c", one), d("d", all), e("e", one);
    sleepYielded(20);
    mprSignalMultiCond(cond);
    CHECK(until([] { return runs == 5; }));
}

TEST_CASE("a signal for one reaches the one that it is for behind those that leave it", "[task][cond]") {
    Runtime runtime;
    for (int round = 0; round < 10; round++) {
        reset();
        MprCond *cond = mprCreateCond();
        Root root(cond);
        const auto all = [&](Mutator &) { mprWaitForMultiCond(cond, 20000); };
        Mutator a("a", all), b("b", all);
        sleepYielded(5);
        Mutator one("one", [&](Mutator &) { runs += mprWaitForCond(cond, 20000) == 0; });
        sleepYielded(5);
        mprSignalCond(cond);
        CHECK(until([] { return runs == 1; }));
        mprSignalMultiCond(cond); // those that may have looked after it was taken
    }
}

TEST_CASE("a lock whose owner has ended is not another thread's, and is named", "[task][lock]") {
    Runtime runtime;
    MprMutex *lock = mprCreateLock();
    MprSpin *spin = mprCreateSpinLock();
    Root root(lock), rootSpin(spin);
    for (int round = 0; round < 3; round++) { // the system names the next thread like the one that has ended
        Mutator("owner", [&](Mutator &) {
            mprTryLock(lock);
            mprTrySpinLock(spin);
        }).join();
        CHECK(Log::has(round == 0 ? "leaves 2 of its locks locked" : "leaves 1 of its locks locked") == (round == 0));
        bool taken = true;
        Mutator("other", [&](Mutator &) { taken = mprTryLock(lock) || mprTrySpinLock(spin); }).join();
        CHECK_FALSE(taken);
    }
    CHECK_FALSE(mprTryLock(lock));
}

TEST_CASE("a dispatcher is unclaimed when the thread that has claimed it ends", "[task][event]") {
    Runtime runtime;
    REQUIRE(mprStart() == 0);
    for (bool detaches : {true, false}) {
        reset();
        MprDispatcher *dispatcher = mprCreateDispatcher("claimed", 0);
        Root root(dispatcher);
        mprYield(MPR_YIELD_STICKY);
        std::thread([&] {
            mprAttachThread("claimer");
            CHECK(mprStartDispatcher(dispatcher) == 0);
            if (detaches) {
                mprDetachThread();
            }
        }).join();
        mprResetYield();
        CHECK(mprCreateEvent(dispatcher, "count", 0, MPR_PROC(countEvent), nullptr, 0));
        CHECK(until([] { return runs == 1; }));
        CHECK(mprStartDispatcher(dispatcher) == 0);
        CHECK(mprStopDispatcher(dispatcher) == 0);
    }
}

// ---- Workers ----------------------------------------------------------------------------------------------------

TEST_CASE("a dedicated worker runs what it is given, and nothing else", "[task][worker]") {
    Runtime runtime("everyyield=1");
    reset();
    static std::atomic<MprWorker *> mine;
    mine = nullptr;
    mprSetMaxWorkers(2);
    const auto dedicate = [](void *, MprWorker *worker) {
        mprDedicateWorker(worker);
        mine = worker;
    };
    REQUIRE(mprStartWorker(dedicate, nullptr) == 0);
    REQUIRE(until([] { return mine != nullptr; }));
    MprWorkerStats pool;
    mprGetWorkerStats(&pool);
    CHECK((pool.max == 2 && pool.min == 0 && pool.busy == 1 && mprGetBusyWorkerCount() == 1));
    CHECK(mprStartWorker(waitAtGate, nullptr) == 0);
    CHECK(mprStartWorker(waitAtGate, nullptr) == MPR_ERR_BUSY);
    CHECK(until([] { return runs == 1; }));
    for (int i = 0; i < 20; i++) {
        mprActivateWorker(mine, look, sclone("work")); // parked, or about to be
        CHECK(until([&] { return runs == i + 2; }));
    }
    // While it is busy it takes one more.
    mprActivateWorker(mine, waitAtGate, nullptr);
    CHECK(until([] { return runs == 22; }));
    mprActivateWorker(mine, look, sclone("work"));
    CHECK(stats().misuses == 0);
    mprActivateWorker(mine, look, nullptr);
    CHECK(Log::has("it has other work to begin"));
    gate.open();
    CHECK(until([] { return runs == 23; }));
    CHECK(wrong == 0);
    CHECK(until([] { return mprGetBusyWorkers() == 1; }));
    mprReleaseWorker(mine);
    CHECK(until([] { return mprGetBusyWorkers() == 0; }));
    mprDedicateWorker(mine); // while it is idle
    CHECK(mprGetBusyWorkers() == 1);
    mprActivateWorker(mine, look, sclone("work"));
    CHECK(until([] { return runs == 24; }));
    mprReleaseWorker(mine);
    CHECK(until([] { return mprGetBusyWorkers() == 0; }));
    mprGetWorkerStats(&pool);
    CHECK((pool.idle == 2 && pool.busy == 0));
    mprActivateWorker(mine, look, nullptr);
    CHECK(Log::has("it is not dedicated"));
    CHECK(stats().misuses == 2);
    mprStopWorkers();
    CHECK(until([] { return mpr::task::workers().count() == 0; }));
    CHECK(mprStartWorker(look, sclone("work")) == 0);
    CHECK(until([] { return runs == 25; }));
    CHECK(wrong == 0);
}

TEST_CASE("a dedicated worker does not keep the runtime from its end", "[task][worker]") {
    Runtime runtime;
    reset();
    REQUIRE(mprStartWorker(
                [](void *, MprWorker *worker) {
                    mprDedicateWorker(worker);
                    runs++;
                },
                nullptr) == 0);
    CHECK(until([] { return runs == 1; }));
}

TEST_CASE("what new workers call first, and their stack", "[task][worker]") {
    Runtime runtime;
    reset();
    static std::atomic<bool> begun;
    begun = false;
    mprSetWorkerStartCallback([](void *data, MprWorker *worker) { begun = !data && worker == mprGetCurrentWorker(); });
    mprSetWorkerStackSize(24 << 20);
    const auto note = [](void *, MprWorker *) {
        stackSize = begun ? ownStack() : 0;
        runs++;
    };
    CHECK(mprStartWorker(note, nullptr) == 0);
    CHECK(until([] { return runs == 1; }));
    CHECK(begun);
    CHECK(stackSize >= 24 << 20);
    mprSetWorkerStartCallback(nullptr);
    mprSetWorkerStackSize(0);
}

// ---- Events -----------------------------------------------------------------------------------------------------

TEST_CASE("a dispatcher shows its name, and how many events it has", "[task][event]") {
    Runtime runtime;
    reset();
    MprDispatcher *dispatcher = mprCreateDispatcher("counted", MPR_DISPATCHER_IMMEDIATE | MPR_DISPATCHER_AUTO);
    Root root(dispatcher);
    CHECK(std::string(dispatcher->name) == "counted");
    CHECK(dispatcher->flags == (MPR_DISPATCHER_IMMEDIATE | MPR_DISPATCHER_AUTO));
    CHECK(std::string(mprGetDispatcher()->name) == "main");
    CHECK((mprGetEventCount(dispatcher) == 0 && mprDispatchersAreIdle() == 1));
    mprCreateEvent(dispatcher, "now", 0, countEvent, nullptr, MPR_EVENT_QUICK);
    CHECK(mprDispatchersAreIdle() == 0);
    mprCreateEvent(dispatcher, "later", 3600000, countEvent, nullptr, 0);
    MprEvent *again = mprCreateTimerEvent(dispatcher, "again", 3600000, countEvent, nullptr, 0);
    CHECK(mprGetEventCount(dispatcher) == 3);
    CHECK(mprGetEventCount(nullptr) == 0);
    CHECK(serviceUntil([] { return runs == 1; }));
    CHECK((mprGetEventCount(dispatcher) == 2 && mprDispatchersAreIdle() == 1));
    mprEnableContinuousEvent(again, 0);
    CHECK((again->flags & MPR_EVENT_CONTINUOUS) == 0);
    mprRescheduleEvent(again, 0);
    CHECK(serviceUntil([] { return runs == 2; }));
    CHECK(mprGetEventCount(dispatcher) == 1);
    mprEnableContinuousEvent(again, 1);
    mprRescheduleEvent(again, 1);
    CHECK(serviceUntil([] { return runs >= 4; }));
    mprStopContinuousEvent(again);
    mprEnableContinuousEvent(nullptr, 1);
    mprSignalDispatcher(dispatcher);
}

TEST_CASE("the services are at rest when nothing is under way", "[task][shutdown]") {
    Runtime runtime;
    reset();
    CHECK((mprIsIdle(false) && mprServicesAreIdle(true)));
    static std::atomic<int> idleInEvent;
    idleInEvent = -1;
    mprCreateEvent(
        nullptr, "asks", 0, +[](void *, MprEvent *) { idleInEvent = mprIsIdle(false); }, nullptr, 0);
    CHECK_FALSE(mprIsIdle(false));
    CHECK(serviceUntil([] { return idleInEvent == 1; })); // not for its own sake
    CHECK(mprStartWorker(waitAtGate, nullptr) == 0);
    CHECK_FALSE(mprServicesAreIdle(true));
    CHECK(Log::has("1 workers and 0 commands, no events are due"));
    gate.open();
    CHECK(until([] { return mprServicesAreIdle(false); }));
    CHECK(mprSetIdleCallback([](bool) { return false; }) == mprServicesAreIdle);
    CHECK_FALSE(mprIsIdle(false));
    mprSetIdleCallback(nullptr);
    CHECK(mprIsIdle(false));
}

// ---- The state of the runtime -----------------------------------------------------------------------------------

TEST_CASE("a shutdown is cancelled, and events are serviced as before", "[task][shutdown]") {
    {
        Runtime runtime;
        reset();
        CHECK((mprGetState() == MPR_CREATED && !mprIsDestroyed() && !mprIsDestroying()));
        CHECK_FALSE(mprCancelShutdown());
        REQUIRE(mprStart() == 0);
        CHECK(mprGetState() == MPR_STARTED);
        for (int i = 1; i <= 20; i++) {
            mprShutdown(MPR_EXIT_NORMAL, 0, i % 2 ? 100000 : 0);
            CHECK((mprGetState() == MPR_STOPPING && mprShouldDenyNewRequests()));
            CHECK(mprShouldAbortRequests() == (i % 2 == 0));
            if (i % 3 == 0) {
                CHECK(until([] { return stats().threads == 1; })); // else it may not have ended yet
            }
            CHECK(mprCancelShutdown());
            CHECK((mprGetState() == MPR_STARTED && !mprShouldAbortRequests() && !mprCancelShutdown()));
            mprCreateEvent(nullptr, "after", 0, countEvent, nullptr, 0);
            CHECK(until([&] { return runs == i; }));
        }
        CHECK(until([] { return stats().threads == 2; }));
        static std::atomic<int> seen;
        seen = 0;
        void *last = mprAllocManaged(
            16,
            [](void *, int flags) {
                if (flags & MPR_MANAGE_FREE) {
                    seen = mprIsDestroying() && !mprIsDestroyed() && mprGetState() == MPR_STOPPED ? 1 : 2;
                }
            },
            0);
        mprAddRoot(last);
        runtime.end();
        CHECK(seen == 1);
    }
    CHECK((mprIsDestroyed() && !mprIsDestroying() && mprGetState() == MPR_DESTROYED));
}

TEST_CASE("a program goes to the background before it makes a runtime", "[task][shutdown]") {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        if (mprDaemon() != 0) {
            _exit(1);
        }
        char state =
            getsid(0) == getpid() && mprCreate(0, nullptr, 0) && mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE) >= 0 ? 'y' : 'n';
        _exit(write(ends[1], &state, 1) == 1 ? 0 : 1);
    }
    close(ends[1]);
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    char state = 0;
    CHECK(read(ends[0], &state, 1) == 1);
    CHECK(state == 'y');
    close(ends[0]);
    Runtime runtime;
    CHECK(mprDaemon() == MPR_ERR_BAD_STATE);
    CHECK(Log::has("call it before mprCreate"));
}

TEST_CASE("a program is executed again at once", "[task][shutdown]") {
    if (emulator()) {
        WARN("not tried: an emulated program that executes /proc/self/exe executes the emulator");
        return;
    }
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        dup2(ends[1], 1);
        char name[] = "anew", option[] = "--list-reporters"; // of this test program
        char *argv[] = {name, option, nullptr};
        mprCreate(2, argv, 0);
        mprRestart();
        _exit(1);
    }
    close(ends[1]);
    std::string text;
    char part[100];
    for (ssize count; (count = read(ends[0], part, sizeof(part))) > 0;) {
        text.append(part, static_cast<size_t>(count));
    }
    CHECK(text.find("junit") != std::string::npos);
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    close(ends[0]);
    Runtime runtime;
    mprRestart(); // there are no arguments
    CHECK(Log::has("mprRestart: the program could not be executed anew"));
}
