// SPDX-License-Identifier: MIT
/*
    test/task/callback.cpp - What a procedure of the program leaves behind on its thread is named and put right before the
    next one runs.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <pthread.h>
#include <signal.h>

using namespace test;

namespace {

/* What a procedure does to its thread, and how the log names it. nullptr: that is put right and not named. */
struct Mess {
    const char *says;
    void (*make)();
};

MprMutex mutex;

void yields() {
    mprYield(MPR_YIELD_STICKY);
}
void exempts() {
    mprSetThreadYield(nullptr, false);
}
void detaches() {
    mprDetachThread();
}
void locks() {
    mprLock(&mutex);
}

const Mess messes[] = {
    {"yielded (MPR_YIELD_STICKY", yields},
    {"exempt (mprSetThreadYield)", exempts},
    {"mprDetachThread", detaches},
    {"with a lock", locks},
};

/* Tried by the procedure in question, and by the next one on the same thread. */
struct Trial {
    void (*make)();
    std::atomic<int> done{0};
    std::atomic<bool> runs{false};
    std::atomic<MprOsThread> threads[2];
};
Trial trial;

void begin(const Mess &mess) {
    mprInitLock(&mutex);
    trial.make = mess.make;
    trial.done = 0;
    trial.runs = false;
}
void makeMess() {
    trial.threads[0] = mprGetCurrentOsThread();
    trial.make();
    trial.done = 1;
}
void lookAfter() {
    trial.threads[1] = mprGetCurrentOsThread();
    trial.runs = mprAlloc(100) != nullptr && mprGetCurrentThreadName()[0] != '\0';
    trial.done = 2;
}
bool isDone(int steps) {
    return until([=] { return trial.done >= steps; });
}

/* @param kind How the log names the procedure. */
void check(const Mess &mess, const char *kind) {
    INFO(Log::text());
    CHECK(trial.runs);
    CHECK(trial.threads[0] == trial.threads[1]);
    CHECK(Log::has(mess.says));
    CHECK((Log::has(kind) || mess.make == detaches));
    CHECK(stats().misuses > 0);
}
} // namespace

TEST_CASE("what a worker's procedure leaves behind is not there for the next", "[task][callback]") {
    const Mess &mess = GENERATE(from_range(std::begin(messes), std::end(messes)));
    Runtime runtime;
    begin(mess);
    mprSetMaxWorkers(1);
    REQUIRE(mprStartWorker([](void *, MprWorker *) { makeMess(); }, nullptr) == 0);
    REQUIRE(isDone(1));
    REQUIRE(until([] { return mprStartWorker([](void *, MprWorker *) { lookAfter(); }, nullptr) == 0; }));
    REQUIRE(isDone(2));
    check(mess, "worker: its procedure");
}

TEST_CASE("what an event leaves behind is not there for the next", "[task][callback]") {
    const Mess &mess = GENERATE(from_range(std::begin(messes), std::end(messes)));
    const bool onWorker = GENERATE(false, true);
    Runtime runtime;
    begin(mess);
    REQUIRE(mprStart() == 0);
    mprSetMaxWorkers(1);
    MprDispatcher *dispatcher = mprCreateDispatcher("dispatcher", onWorker ? 0 : MPR_DISPATCHER_IMMEDIATE);
    Root root(dispatcher);
    mprCreateEvent(
        dispatcher, "messy", 0, +[](void *, MprEvent *) { makeMess(); }, nullptr, 0);
    mprCreateEvent(
        dispatcher, "next", 0, +[](void *, MprEvent *) { lookAfter(); }, nullptr, 0);
    REQUIRE(isDone(2));
    check(mess, "event \"messy\": its procedure");
}

TEST_CASE("what a timer leaves behind is not there for its next run", "[task][callback]") {
    const Mess &mess = GENERATE(from_range(std::begin(messes), std::end(messes)));
    Runtime runtime;
    begin(mess);
    REQUIRE(mprStart() == 0);
    MprEvent *timer = mprCreateTimerEvent(
        nullptr, "tick", 1, +[](void *, MprEvent *) { trial.done == 0 ? makeMess() : lookAfter(); }, nullptr, 0);
    Root root(timer);
    REQUIRE(isDone(2));
    mprRemoveEvent(timer);
    check(mess, "event \"tick\": its procedure");
}

TEST_CASE("an event that waits finds its thread running after an event inside has left it yielded",
          "[task][callback]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    begin(messes[0]);
    mprCreateEvent(
        nullptr, "outer", 0,
        +[](void *, MprEvent *event) {
            mprCreateEvent(
                nullptr, "inner", 0, +[](void *, MprEvent *) { makeMess(); }, nullptr, 0);
            mprWaitForEvent(event->dispatcher, -1, -1);
            lookAfter();
        },
        nullptr, 0);
    while (trial.done < 2) {
        mprServiceEvents(10, 0);
    }
    check(messes[0], "event \"inner\": its procedure");
}

TEST_CASE("what a callback of a cache leaves behind is not there for its caller", "[task][callback]") {
    Runtime runtime;
    begin(messes[0]);
    MprCache *cache = mprCreateCache(0);
    Root root(cache);
    mprSetCacheNotify(
        cache, +[](MprCache *, cchar *, cchar *, int) { makeMess(); });
    mprWriteCache(cache, "key", "value", 0, 0, 0, MPR_CACHE_SET);
    mprRemoveCache(cache, "key");
    lookAfter();
    check(messes[0], "cache callback: its procedure");
}

TEST_CASE("the first procedure of a worker leaves nothing behind either", "[task][callback]") {
    Runtime runtime;
    begin(messes[0]);
    mprSetWorkerStartCallback([](void *, MprWorker *) { makeMess(); });
    CHECK(mprStartWorker([](void *, MprWorker *) { lookAfter(); }, nullptr) == 0);
    CHECK(isDone(2));
    mprSetWorkerStartCallback(nullptr);
    check(messes[0], "worker: its procedure");
}

TEST_CASE("signals that a procedure unblocks in a worker or the events' thread are blocked again", "[task][callback]") {
    const bool event = GENERATE(false, true);
    Runtime runtime;
    REQUIRE(mprStart() == 0);
    mprSetMaxWorkers(1);
    static std::atomic<int> blocked, done;
    blocked = done = 0;
    const auto unblock = [](void *, MprWorker *) {
        sigset_t usr;
        sigemptyset(&usr);
        sigaddset(&usr, SIGUSR1);
        pthread_sigmask(SIG_UNBLOCK, &usr, nullptr);
        done = 1;
    };
    const auto look = [](void *, MprWorker *) {
        sigset_t now;
        pthread_sigmask(SIG_BLOCK, nullptr, &now);
        blocked = sigismember(&now, SIGUSR1);
        done = 2;
    };
    const auto run = [&](MprWorkerProc proc, int step) {
        if (event) { // by address: an event has the same parameters for what is done here
            mprCreateEvent(nullptr, "event", 0, reinterpret_cast<void *>(proc), nullptr, 0);
        } else {
            REQUIRE(until([=] { return mprStartWorker(proc, nullptr) == 0; }));
        }
        REQUIRE(until([=] { return done == step; }));
    };
    run(unblock, 1);
    REQUIRE(until([] { return Log::has("with signals unblocked"); }));
    run(look, 2);
    CHECK(blocked == 1);
}

TEST_CASE("a signal mask that the program changes on a thread of its own stays", "[task][callback]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    sigset_t usr, before, now;
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr, &before);
    mprCreateEvent(
        nullptr, "unblocks", 0,
        +[](void *data, MprEvent *) { pthread_sigmask(SIG_UNBLOCK, static_cast<sigset_t *>(data), nullptr); }, &usr, 0);
    mprServiceEvents(0, 0);
    pthread_sigmask(SIG_SETMASK, &before, &now);
    CHECK(sigismember(&now, SIGUSR1) == 0);
    CHECK(stats().misuses == 0);
}

TEST_CASE("a dispatcher that a worker has claimed is nobody's when its procedure has returned", "[task][callback]") {
    Runtime runtime;
    REQUIRE(mprStart() == 0);
    MprDispatcher *dispatcher = mprCreateDispatcher("claimed", 0);
    Root root(dispatcher);
    static std::atomic<int> runs;
    runs = 0;
    REQUIRE(mprStartWorker(
                [](void *data, MprWorker *) {
                    auto *mine = static_cast<MprDispatcher *>(data);
                    mprStartDispatcher(mine);
                    mprCreateEvent(
                        mine, "event", 0, +[](void *, MprEvent *) { runs++; }, nullptr, 0);
                },
                dispatcher) == 0);
    CHECK(until([] { return runs == 1; }));
    CHECK(runtime.log.has("with a claimed dispatcher"));
}

TEST_CASE("batches that a worker's procedure asks for end with it", "[task][callback]") {
    Runtime runtime;
    mprSetMaxWorkers(1);
    static std::atomic<int> done;
    static std::atomic<bool> left;
    done = 0;
    REQUIRE(mprStartWorker([](void *, MprWorker *) { mprSetBatches(true), done = 1; }, nullptr) == 0);
    REQUIRE(until([] { return done == 1; }));
    REQUIRE(until([] {
        return mprStartWorker([](void *, MprWorker *) { left = mprSetBatches(false), done = 2; }, nullptr) == 0;
    }));
    REQUIRE(until([] { return done == 2; }));
    CHECK_FALSE(left);
}

TEST_CASE("a thread's procedure may detach its thread", "[task][callback]") {
    Runtime runtime;
    MprThread *thread =
        mprCreateThread("leaves", MPR_PROC(+[](void *, MprThread *) { mprDetachThread(); }), nullptr, 0);
    REQUIRE(mprStartThread(thread) == 0);
    CHECK(until([] { return stats().threads == 1; }));
    runtime.end();
    CHECK_FALSE(runtime.log.has("mprDetachThread"));
}
