// SPDX-License-Identifier: MIT
/*
    test/task/worker.cpp - The pool: how many workers run, which are refused, which rest and end.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include "mpr/task/workers.hpp"

#include <cerrno>
#include <cstring>
#include <pthread.h>
#include <vector>

using namespace test;
using mpr::task::workers;

namespace {

std::atomic<int> running, done, wrong;
Gate gate;

void reset() {
    running = done = wrong = 0;
    gate.close();
}

/* Busy until the gate opens. */
void wait(void *, MprWorker *) {
    running++;
    while (!gate.isOpen()) {
        sleepYielded(1);
    }
    running--;
    done++;
}

void count(void *, MprWorker *) {
    done++;
}

/* Whether the system has no thread. */
std::atomic<bool> noThreads;
} // namespace

extern "C" int __real_pthread_create(pthread_t *thread, const pthread_attr_t *traits, void *(*entry)(void *),
                                     void *data);
extern "C" int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *traits, void *(*entry)(void *),
                                     void *data) {
    return noThreads ? EAGAIN : __real_pthread_create(thread, traits, entry, data);
}

TEST_CASE("a worker runs a procedure with its data", "[task][worker]") {
    Runtime runtime;
    reset();
    static int unmanaged;
    unmanaged = 0;
    CHECK(mprGetCurrentWorker() == nullptr);
    REQUIRE(mprStartWorker(
                [](void *data, MprWorker *worker) {
                    wrong += data != &unmanaged || worker != mprGetCurrentWorker() || !mprIsValid(worker) ||
                             mprGetCurrentThread() == nullptr || strcmp(mprGetCurrentThreadName(), "worker") != 0;
                    done++;
                },
                &unmanaged) == 0);
    CHECK(until([] { return done == 1; }));
    CHECK(wrong == 0);
}

TEST_CASE("data of a worker is retained until its procedure returns, and no longer", "[task][worker]") {
    Runtime runtime;
    reset();
    calls.reset();
    REQUIRE(mprStartWorker(
                [](void *data, MprWorker *) {
                    running++;
                    auto node = static_cast<Node *>(data);
                    while (!gate.isOpen()) {
                        wrong += !mprIsValid(node) || node->value != 1 || !mprIsValid(node->next);
                        sleepYielded(1);
                    }
                    done++;
                },
                makeNode(makeNode(), nullptr, 1)) == 0);
    for (int i = 0; i < 10; i++) {
        collect();
    }
    CHECK(calls.frees == 0);
    gate.open();
    REQUIRE(until([] { return done == 1 && mprGetBusyWorkers() == 0; }));
    collect();
    CHECK(wrong == 0);
    CHECK(calls.frees == 2);
}

TEST_CASE("when all workers are busy the next is refused, and accepted later", "[task][worker]") {
    Runtime runtime;
    reset();
    mprSetMaxWorkers(3);
    CHECK(mprGetMaxWorkers() == 3);
    CHECK(mprAvailableWorkers() == 3);
    for (int i = 0; i < 3; i++) {
        REQUIRE(mprStartWorker(wait, nullptr) == 0);
    }
    CHECK(mprAvailableWorkers() == 0);
    CHECK(mprGetBusyWorkers() == 3);
    CHECK(mprStartWorker(count, nullptr) == MPR_ERR_BUSY);
    REQUIRE(until([] { return running == 3; }));
    gate.open();
    REQUIRE(until([] { return done == 3 && mprAvailableWorkers() == 3; }));
    CHECK(mprStartWorker(count, nullptr) == 0);
    CHECK(until([] { return done == 4; }));
    CHECK(workers().count() == 3);
}

TEST_CASE("workers are used again rather than made", "[task][worker]") {
    Runtime runtime;
    reset();
    for (int i = 0; i < 200; i++) {
        REQUIRE(mprStartWorker(count, nullptr) == 0);
        REQUIRE(until([i] { return done == i + 1 && mprGetBusyWorkers() == 0; }));
    }
    CHECK(workers().count() == 1);
}

TEST_CASE("one worker runs all that a dispatcher has queued", "[task][worker][event]") {
    Runtime runtime;
    reset();
    MprDispatcher *dispatcher = mprCreateDispatcher("long", 0);
    Root root(dispatcher);
    mprCreateEvent(
        dispatcher, "first", 0, +[](void *, MprEvent *) { wait(nullptr, nullptr); }, nullptr, 0);
    const int total = 2000; // many turns of a worker
    for (int i = 0; i < total; i++) {
        mprCreateEvent(
            dispatcher, "count", 0, +[](void *, MprEvent *) { done++; }, nullptr, 0);
    }
    gate.open();
    CHECK(until([] { return done == total + 1; }));
    CHECK(workers().count() == 1);
}

TEST_CASE("idle workers end after their time, except the least number", "[task][worker]") {
    Runtime runtime;
    reset();
    for (int i = 0; i < 6; i++) {
        REQUIRE(mprStartWorker(wait, nullptr) == 0);
    }
    REQUIRE(until([] { return running == 6; }));
    gate.open();
    REQUIRE(until([] { return mprGetBusyWorkers() == 0; }));
    CHECK(workers().count() == 6);
    mprSetMinWorkers(2);
    workers().setIdleTime(1'000'000);
    CHECK(until([] { return workers().count() == 2; }));
    sleepYielded(20);
    CHECK(workers().count() == 2);
    mprSetMinWorkers(0);
    CHECK(until([] { return workers().count() == 0 && stats().threads == 1; }));
    CHECK(mprStartWorker(count, nullptr) == 0);
    CHECK(until([] { return done == 7; }));
}

TEST_CASE("check=fields does not accuse a worker of its neighbour among the idle ones", "[task][worker][fields]") {
    Runtime runtime("check=fields");
    reset();
    REQUIRE(mprStartWorker(wait, nullptr) == 0);
    REQUIRE(mprStartWorker(wait, nullptr) == 0);
    REQUIRE(until([] { return running == 2; }));
    gate.open();
    REQUIRE(until([] { return mprGetBusyWorkers() == 0; }));
    gate.close();
    REQUIRE(mprStartWorker(wait, nullptr) == 0); // the last that became idle: the other stands behind it
    workers().setIdleTime(1'000'000);
    REQUIRE(until([] { return workers().count() == 1 && stats().threads == 2; }));
    collect();
    INFO(Log::text());
    CHECK(Log::count("check:") == 0);
    gate.open();
}

TEST_CASE("a lower maximum ends idle workers at once and busy ones when they are done", "[task][worker]") {
    Runtime runtime;
    reset();
    for (int i = 0; i < 4; i++) {
        REQUIRE(mprStartWorker(wait, nullptr) == 0);
    }
    REQUIRE(until([] { return running == 4; }));
    mprSetMaxWorkers(1);
    CHECK(mprAvailableWorkers() == 0);
    CHECK(mprStartWorker(count, nullptr) == MPR_ERR_BUSY);
    gate.open();
    CHECK(until([] { return workers().count() == 1; }));
    mprSetMaxWorkers(-1);
    CHECK(mprGetMaxWorkers() == 0);
    CHECK(until([] { return workers().count() == 0; }));
    CHECK(mprStartWorker(count, nullptr) == MPR_ERR_BUSY);
}

TEST_CASE("wrong starts are refused", "[task][worker]") {
    {
        Runtime runtime;
        reset();
        CHECK(mprStartWorker(nullptr, nullptr) == MPR_ERR_BAD_ARGS);
        std::atomic<int> result{0};
        std::thread foreign([&] { result = mprStartWorker(count, nullptr); });
        foreign.join();
        CHECK(result == MPR_ERR_BAD_STATE);
        CHECK(runtime.log.has("mprStartWorker"));
    }
    CHECK(mprStartWorker(count, nullptr) == MPR_ERR_BAD_STATE);
    CHECK(done == 0);
}

TEST_CASE("when memory is short a worker is refused, and nothing is lost", "[task][worker]") {
    Runtime runtime;
    reset();
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    std::vector<void *> hoard;
    mprSetMemLimits(0, 1 << 20, 0);
    while (void *block = mprAllocMem(4000, MPR_ALLOC_HOLD)) {
        hoard.push_back(block);
    }
    while (void *block = mprAllocMem(16, MPR_ALLOC_HOLD)) {
        hoard.push_back(block);
    }
    CHECK(mprStartWorker(count, nullptr) == MPR_ERR_MEMORY);
    CHECK(mprGetBusyWorkers() == 0);
    for (void *block : hoard) {
        mprRelease(block);
    }
    mprSetMemLimits(0, 0, -1);
    collect();
    CHECK(mprStartWorker(count, nullptr) == 0);
    CHECK(until([] { return done == 1; }));
}

TEST_CASE("without threads work waits, which is logged once, and continues when there are threads", "[task][worker]") {
    Runtime runtime;
    reset();
    REQUIRE(mprStart() == 0);
    noThreads = true;
    CHECK(mprStartWorker(count, nullptr) == MPR_ERR_CANT_CREATE);
    MprDispatcher *dispatcher = mprCreateDispatcher("own", 0);
    Root root(dispatcher);
    const auto run = [](void *, MprEvent *) { done++; };
    REQUIRE(mprCreateEvent(dispatcher, "run", 0, reinterpret_cast<void *>(static_cast<MprEventProc>(run)), nullptr, 0));
    sleepYielded(100);
    CHECK(done == 0);
    CHECK(runtime.log.count("workers: the system gives no thread") == 1);
    CHECK(mprStartThread(mprCreateThread("odd", reinterpret_cast<void *>(count), nullptr, 0)) == MPR_ERR_CANT_CREATE);
    CHECK(runtime.log.has("no thread for \"odd\""));
    noThreads = false;
    CHECK(until([] { return done == 1; }));
}

TEST_CASE("a worker's procedure that ends its thread costs no worker", "[task][worker]") {
    Runtime runtime;
    reset();
    mprSetMaxWorkers(1);
    for (int i = 1; i <= 3; i++) {
        REQUIRE(mprStartWorker(
                    [](void *, MprWorker *) {
                        done++;
                        pthread_exit(nullptr);
                    },
                    nullptr) == 0);
        CHECK(until([] { return workers().count() == 0; }));
        CHECK(done == i);
    }
    CHECK(until([] { return stats().threads == 1; }));
    CHECK(runtime.log.count("a worker's procedure has ended its thread") == 3);
    CHECK(mprStartWorker(count, nullptr) == 0);
    CHECK(until([] { return done == 4; }));
}

TEST_CASE("mprDestroy waits for busy workers, and refuses when they take too long", "[task][worker]") {
    Runtime runtime;
    reset();
    REQUIRE(mprStartWorker(wait, nullptr) == 0);
    REQUIRE(until([] { return running == 1; }));
    mprSetExitTimeout(20);
    CHECK_FALSE(mprDestroy());
    CHECK(runtime.log.has("\"worker\" is attached"));
    CHECK(mprIsStopping());
    CHECK(mprStartWorker(count, nullptr) == MPR_ERR_BAD_STATE);
    mprSetExitTimeout(20000);
    std::thread opener([] {
        pause(30);
        gate.open();
    });
    runtime.end();
    opener.join();
    CHECK(done == 1);
}

TEST_CASE("many procedures, collections meanwhile", "[task][worker]") {
    Runtime runtime;
    reset();
    const int total = static_cast<int>(heavy(3000));
    for (int i = 0; i < total;) {
        Node *node = makeNode(nullptr, nullptr, 42);
        int result = mprStartWorker(
            [](void *data, MprWorker *) {
                auto node = static_cast<Node *>(data);
                for (int n = 0; n < 20; n++) {
                    makeNode();
                }
                mprYield(0);
                wrong += !mprIsValid(node) || node->value != 42;
                done++;
            },
            node);
        i += result == 0;
        if (result != 0) {
            mprSleep(1);
        }
        if (i % 200 == 0) {
            collect();
        }
    }
    CHECK(until([total] { return done == total; }));
    CHECK(wrong == 0);
}

namespace {
/* Make a dispatcher's event run on a worker. */
void makeEvent(MprDispatcher *dispatcher) {
    const auto run = [](void *, MprEvent *) { done++; };
    REQUIRE(mprCreateEvent(dispatcher, "run", 0, MPR_PROC(static_cast<MprEventProc>(run)), nullptr, 0));
}
} // namespace

TEST_CASE("events get a worker when the one that they counted on is dedicated", "[task][worker]") {
    Runtime runtime;
    reset();
    static std::atomic<int> rounds;
    static std::atomic<MprWorker *> mine;
    rounds = 0;
    mine = nullptr;
    REQUIRE(mprStart() == 0);
    MprDispatcher *dispatcher = mprCreateDispatcher("own", 0);
    Root root(dispatcher);
    // The dispatcher goes on after its first event, on the same worker, which has other plans.
    const auto dedicate = [](void *, MprEvent *) {
        mine = mprGetCurrentWorker();
        mprDedicateWorker(mine);
        rounds++;
    };
    const bool busy = GENERATE(false, true), idle = GENERATE(false, true);
    CAPTURE(busy, idle);
    if (idle) { /* There are others, which nobody would wake */
        for (int i = 0; i < 3; i++) {
            REQUIRE(mprStartWorker(wait, nullptr) == 0);
        }
        gate.open();
        REQUIRE(until([] { return mprGetBusyWorkers() == 0; }));
        reset();
    }
    const auto activate = [](void *, MprEvent *) {
        mine = mprGetCurrentWorker();
        mprDedicateWorker(mine);
        mprActivateWorker(mine, wait, nullptr);
        rounds++;
    };
    MprEventProc proc = busy ? static_cast<MprEventProc>(activate) : static_cast<MprEventProc>(dedicate);
    mprDisableDispatcher(dispatcher);
    REQUIRE(mprCreateEvent(dispatcher, "dedicate", 0, MPR_PROC(proc), nullptr, 0));
    for (int i = 0; i < 200; i++) { /* more than it runs at once */
        makeEvent(dispatcher);
    }
    mprEnableDispatcher(dispatcher);
    CHECK(until([] { return done == 200; }, 3000));
    CHECK(rounds == 1);
    gate.open();
    mprReleaseWorker(mine);
}

TEST_CASE("events that wait because all workers are dedicated are named, and run when there is another",
          "[task][worker]") {
    Runtime runtime;
    reset();
    static std::atomic<MprWorker *> mine;
    mine = nullptr;
    mprSetMaxWorkers(1);
    REQUIRE(mprStart() == 0);
    MprDispatcher *dispatcher = mprCreateDispatcher("own", 0);
    Root root(dispatcher);
    const auto dedicate = [](void *, MprWorker *worker) {
        mprDedicateWorker(worker);
        mine = worker;
    };
    REQUIRE(mprStartWorker(dedicate, nullptr) == 0);
    REQUIRE(until([] { return mine != nullptr; }));
    makeEvent(dispatcher);
    sleepYielded(50);
    CHECK(done == 0);
    CHECK(until([&] { return runtime.log.has("all that may exist are dedicated"); })); // another thread says it
    SECTION("the worker is released") {
        mprReleaseWorker(mine);
    }
    SECTION("there may be more workers") {
        mprSetMaxWorkers(2);
    }
    SECTION("there may be more, another thread says") {
        std::thread([] { mprSetMaxWorkers(2); }).join();
    }
    CHECK(until([] { return done == 1; }));
    mprReleaseWorker(mine);
}

TEST_CASE("more workers run what waits, at once", "[task][worker]") {
    Runtime runtime;
    reset();
    mprSetMaxWorkers(1);
    REQUIRE(mprStart() == 0);
    REQUIRE(mprStartWorker(wait, nullptr) == 0);
    MprDispatcher *dispatcher = mprCreateDispatcher("own", 0);
    Root root(dispatcher);
    makeEvent(dispatcher);
    sleepYielded(50);
    CHECK(done == 0);
    mprSetMaxWorkers(2);
    CHECK(until([] { return done == 1; }));
    gate.open();
}

TEST_CASE("a worker that has ended cannot be dedicated", "[task][worker]") {
    Runtime runtime;
    reset();
    static std::atomic<MprWorker *> mine;
    mine = nullptr;
    REQUIRE(mprStartWorker([](void *, MprWorker *worker) { mine = worker; }, nullptr) == 0);
    REQUIRE(until([] { return mine != nullptr; }));
    MprWorker *worker = mine;
    Root root(worker);
    REQUIRE(until([] { return mprGetBusyWorkers() == 0; }));
    mprStopWorkers();
    REQUIRE(until([] { return workers().count() == 0; }));
    mprDedicateWorker(worker);
    CHECK(Log::has("the worker has ended"));
    mprActivateWorker(worker, count, nullptr);
    CHECK(Log::has("it is not dedicated"));
    mprReleaseWorker(worker);
    REQUIRE(mprStartWorker(count, nullptr) == 0);
    CHECK(until([] { return done == 1; }));
}
