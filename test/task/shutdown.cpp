// SPDX-License-Identifier: MIT
/*
    test/task/shutdown.cpp - Start and end of the services: threads, strategies, a thousand lives.
 */
#include "test/support/dying.hpp"
#include "test/support/mutator.hpp"
#include "test/support/process.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <pthread.h>
#include <signal.h>

#include <set>
#include <string>

using namespace test;

namespace {

std::atomic<int> runs;

void count(void *, MprEvent *) {
    runs++;
}
void *proc(MprEventProc p) {
    return reinterpret_cast<void *>(p);
}

} // namespace

TEST_CASE("mprStart makes a thread that services events", "[task][shutdown]") {
    Runtime runtime;
    runs = 0;
    CHECK(mprStart() == 0);
    CHECK(mprStart() == 0);
    CHECK(until([] { return stats().threads == 2; }));
    static std::atomic<bool> named;
    named = false;
    const int64 mark = mprGetEventMark(nullptr);
    mprCreateEvent(nullptr, "named", 2, proc([](void *, MprEvent *) {
                       named = strcmp(mprGetCurrentThreadName(), "events") == 0;
                       runs++;
                   }),
                   nullptr, 0);
    CHECK(until([&] { return mprGetEventMark(nullptr) == mark + 1; })); // it has ended, not only run
    CHECK(runs == 1);
    CHECK(named);
    CHECK(mprWaitForEvent(nullptr, 1, -1) == MPR_ERR_TIMEOUT);
}

TEST_CASE("with MPR_USER_EVENTS_THREAD mprStart makes none", "[task][shutdown]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    runs = 0;
    CHECK(mprStart() == 0);
    mprCreateEvent(nullptr, "mine", 0, proc(count), nullptr, 0);
    sleepYielded(10);
    CHECK(runs == 0);
    CHECK(stats().threads == 1);
    CHECK(mprServiceEvents(0, 0) == 1);
}

TEST_CASE("states on the way to the end", "[task][shutdown]") {
    CHECK(mprIsStopping());
    CHECK(mprIsStopped());
    CHECK(mprStart() == MPR_ERR_BAD_STATE);
    Runtime runtime;
    CHECK_FALSE(mprIsStopping());
    CHECK_FALSE(mprShouldDenyNewRequests());
    CHECK(mprGetExitStatus() == 0);
    mprSetExitStatus(9);
    CHECK(mprGetExitStatus() == 9);
    mprShutdown(MPR_EXIT_NORMAL, -1, 100);
    CHECK(mprGetExitStatus() == 9);
    CHECK(mprIsStopping());
    CHECK(mprShouldDenyNewRequests());
    CHECK_FALSE(mprIsStopped());
    mprShutdown(MPR_EXIT_NORMAL, 4, 100);
    CHECK(mprGetExitStatus() == 9);
    CHECK(mprStart() == MPR_ERR_BAD_STATE);
    CHECK(mprStartEventsThread() == MPR_ERR_BAD_STATE);
}

TEST_CASE("a safe shutdown happens only when workers come to rest", "[task][shutdown]") {
    Runtime runtime;
    static Gate gate;
    gate.close();
    REQUIRE(mprStartWorker(
                [](void *, MprWorker *) {
                    while (!gate.isOpen()) {
                        mprSleep(1);
                    }
                },
                nullptr) == 0);
    mprShutdown(MPR_EXIT_SAFE, 1, 10);
    CHECK_FALSE(mprIsStopping());
    CHECK(runtime.log.has("workers are busy"));
    gate.open();
    mprShutdown(MPR_EXIT_SAFE, 1, 20000);
    CHECK(mprIsStopping());
    CHECK(mprGetExitStatus() == 1);
}

TEST_CASE("an event may shut the runtime down; the thread that created it sees it", "[task][shutdown]") {
    Runtime runtime;
    REQUIRE(mprStart() == 0);
    mprCreateEvent(nullptr, "end", 5, proc([](void *, MprEvent *) { mprShutdown(MPR_EXIT_NORMAL, 2, -1); }), nullptr,
                   0);
    mprServiceEvents(-1, 0);
    CHECK(mprIsStopping());
    CHECK(mprGetExitStatus() == 2);
}

TEST_CASE("terminators learn the strategy and status", "[task][shutdown]") {
    static int how, status;
    how = status = -1;
    {
        Runtime runtime;
        mprAddTerminator([](int, int strategy, int s) {
            how = strategy;
            status = s;
        });
        mprShutdown(MPR_EXIT_NORMAL, 6, -1);
        CHECK(status == -1);
    }
    CHECK(how == MPR_EXIT_NORMAL);
    CHECK(status == 6);
}

TEST_CASE("child: abort", "[.]") {
    mprCreate(0, nullptr, 0);
    mprStart();
    mprAddTerminator([](int, int how, int) { (void) !write(1, how == MPR_EXIT_ABORT ? "terminated" : "?", 10); });
    mprShutdown(MPR_EXIT_ABORT, 7, -1);
    (void) !write(1, "still here", 10);
}

TEST_CASE("an abort runs the terminators and exits with the status", "[task][shutdown]") {
    Ended ended = runChild("child: abort");
    CHECK(ended.exited(7));
    CHECK(ended.wrote("terminated"));
    CHECK_FALSE(ended.wrote("still here"));
}

TEST_CASE("child: shut down to restart", "[.]") {
    std::string self = selfPath();
    static char second[] = "child: begun anew";
    char *argv[] = {self.data(), second, nullptr};
    mprCreate(2, argv, 0);
    mprStart();
    static Gate busy, said;
    mprStartWorker(
        [](void *, MprWorker *) {
            busy.open();
            until([] { return said.isOpen(); });
            sleepYielded(20); // others have time to restart too early
            mark("work is finished first");
        },
        nullptr);
    until([] { return busy.isOpen(); });
    mprShutdown(MPR_EXIT_RESTART, 5, -1);
    mark("not yet");
    said.open();
    mprDestroy();
    mark("still here");
}

TEST_CASE("child: begun anew", "[.]") {
    if (getenv("MPR_TEST_CHILD")) {
        mark("anew");
        _exit(mprCreate(0, nullptr, 0) && mprStart() == 0 && mprDestroy() ? 9 : 1);
    }
}

TEST_CASE("a shutdown to restart finishes work, then executes the program again", "[task][shutdown]") {
    if (emulator()) {
        WARN("not tried: an emulated program that executes /proc/self/exe executes the emulator");
        return;
    }
    const Ended ended = runChild("child: shut down to restart");
    INFO(ended.output);
    CHECK(ended.exited(9));
    CHECK(ended.output.find("not yet\n") < ended.output.find("work is finished first\n"));
    CHECK(ended.output.find("work is finished first\n") < ended.output.find("anew\n"));
    CHECK(ended.wrote("anew\n"));
    CHECK_FALSE(ended.wrote("still here"));
}

TEST_CASE("a thousand runtimes with threads, workers, events: nothing is left", "[task][shutdown]") {
    int threads = threadCount();
    int files = 0, mappings = 0;
    const int total = std::max(static_cast<int>(heavy(1000)), 100);
    for (int i = 0; i < total; i++) {
        Runtime runtime;
        runs = 0;
        REQUIRE(mprStart() == 0);
        REQUIRE(mprCreateEvent(nullptr, "count", i % 2, proc(count), nullptr, 0));
        REQUIRE(mprCreateEvent(mprCreateDispatcher("other", 0), "count", 0, proc(count), nullptr, 0));
        REQUIRE(mprCreateEvent(nullptr, "never", 100000, proc(count), nullptr, 0));
        REQUIRE(mprCreateEventOutside(nullptr, proc(count), nullptr) == 0);
        if (i % 4 != 0) {
            REQUIRE(until([] { return runs == 3; }));
        }
        runtime.end();
        if (i == 20) {
            files = countEntries("/proc/self/fd");
            mappings = countLines("/proc/self/maps");
        }
    }
    CHECK(untilUnyielded([&] { return threadCount() == threads; }));
    CHECK(countEntries("/proc/self/fd") == files);
    // The C library's own allocator maps now and then; what each life left would be ten times as much.
    CHECK(countLines("/proc/self/maps") <= mappings + total / 10);
}

TEST_CASE("mprDestroy waits for the threads of mprCreateThread, which see that it does", "[task][shutdown]") {
    Runtime runtime;
    static std::atomic<int> ended;
    ended = 0;
    for (int i = 0; i < 3; i++) {
        MprThread *thread = mprCreateThread(
            "worker",
            +[](void *, MprThread *) {
                while (!mprIsStopping()) {
                    mprSleep(1);
                }
                mprSleep(20);
                ended++;
            },
            nullptr, 0);
        REQUIRE(mprStartThread(thread) == 0);
    }
    runtime.end();
    CHECK(ended == 3);
}

TEST_CASE("mprDestroy ends what workers wait for, whichever of events and workers was used first", "[task][shutdown]") {
    for (bool workersFirst : {false, true}) {
        Runtime runtime("", MPR_USER_EVENTS_THREAD);
        static MprDispatcher *own;
        static std::atomic<int> result;
        static std::atomic<bool> waits;
        result = 0;
        waits = false;
        if (workersFirst) {
            REQUIRE(mprStartWorker(
                        +[](void *, MprWorker *) {}, nullptr) == 0);
        }
        own = mprCreateDispatcher("own", 0);
        Root root(own);
        REQUIRE(mprStartWorker(
                    +[](void *, MprWorker *) {
                        waits = true;
                        result = mprWaitForEvent(own, -1, -1);
                    },
                    nullptr) == 0);
        CHECK(until([] { return waits.load(); }));
        mprSetExitTimeout(5000); // and mprDestroy would refuse after it
        root.set(nullptr);
        INFO(workersFirst);
        runtime.end();
        CHECK(result == MPR_ERR_ABORTED);
    }
}

TEST_CASE("a terminator of mprDestroy cannot cancel it", "[task][shutdown]") {
    Runtime runtime;
    static bool cancelled;
    cancelled = false;
    REQUIRE(mprStart() == 0);
    mprShutdown(MPR_EXIT_NORMAL, 0, -1);
    mprAddTerminator([](int, int, int) { cancelled = mprCancelShutdown(); });
    runtime.end();
    CHECK_FALSE(cancelled);
}

TEST_CASE("child: abort after a shutdown", "[.]") {
    mprCreate(0, nullptr, 0);
    mprShutdown(MPR_EXIT_NORMAL, 3, -1);
    mprShutdown(MPR_EXIT_NORMAL, 4, -1);
    CHECK(mprGetExitStatus() == 3);
    mprShutdown(MPR_EXIT_ABORT, 7, -1);
    (void) !write(1, "still here", 10);
}

TEST_CASE("an abort counts after a shutdown, too", "[task][shutdown]") {
    Ended ended = runChild("child: abort after a shutdown");
    CHECK(ended.exited(7));
    CHECK_FALSE(ended.wrote("still here"));
}

TEST_CASE("mprDestroy names a thread of mprCreateThread that does not end in time", "[task][shutdown]") {
    Runtime runtime;
    static Gate gate;
    MprThread *thread = mprCreateThread(
        "stubborn",
        +[](void *, MprThread *) {
            while (!gate.isOpen()) {
                mprSleep(1);
            }
        },
        nullptr, 0);
    REQUIRE(mprStartThread(thread) == 0);
    mprSetExitTimeout(50);
    CHECK_FALSE(mprDestroy());
    CHECK(runtime.log.has("stubborn"));
    CHECK_FALSE(mprCancelShutdown()); // the services have stopped
    CHECK(mprIsStopping());
    gate.open();
    mprSetExitTimeout(20000);
    runtime.end();
}

TEST_CASE("the longest time that work in progress may be given is no time at all to come", "[task][shutdown]") {
    for (const MprTicks time : {INT64_MAX, INT64_C(18446744073710)}) { // nanoseconds of it are more than 64 bits
        Runtime runtime;
        Gate busy;
        mprStartWorker(
            [](void *data, MprWorker *) {
                static_cast<Gate *>(data)->open();
                mprSleep(20);
            },
            &busy);
        while (!busy.isOpen()) {
            mprSleep(1);
        }
        mprSetExitTimeout(time);
        runtime.end(); /* which checks that mprDestroy was not refused */
    }
}

TEST_CASE("each error code has a text of its own", "[task][error]") {
    std::set<std::string> texts;
    for (int code = MPR_ERR_WOULD_BLOCK; code <= 0; code++) {
        const std::string text = mprGetErrorText(code);
        INFO(code << " " << text);
        CHECK(text.starts_with(code == 0 ? "MPR_ERR_OK: " : "MPR_ERR"));
        texts.insert(text);
    }
    CHECK(texts.size() == 1 - MPR_ERR_WOULD_BLOCK);
    CHECK(std::string(mprGetErrorText(MPR_ERR_BUSY)) == "MPR_ERR_BUSY: in use; it may be free later");
    CHECK(std::string(mprGetErrorText(MPR_ERR_WOULD_BLOCK - 1)) == "no error code of mpr");
    CHECK(std::string(mprGetErrorText(1)) == "no error code of mpr");
}

TEST_CASE("errors of the system have codes", "[task][error]") {
    static const struct {
        int number, code;
    } errors[] = {
        {0, 0},
        {EAGAIN, MPR_ERR_WOULD_BLOCK},
        {EACCES, MPR_ERR_CANT_ACCESS},
        {EPERM, MPR_ERR_CANT_ACCESS},
        {EBADF, MPR_ERR_BAD_HANDLE},
        {EBUSY, MPR_ERR_BUSY},
        {ECONNREFUSED, MPR_ERR_CANT_CONNECT},
        {EHOSTUNREACH, MPR_ERR_CANT_CONNECT},
        {ENETUNREACH, MPR_ERR_CANT_CONNECT},
        {ECONNRESET, MPR_ERR_NETWORK},
        {EPIPE, MPR_ERR_NETWORK},
        {EEXIST, MPR_ERR_ALREADY_EXISTS},
        {EINVAL, MPR_ERR_BAD_ARGS},
        {EMFILE, MPR_ERR_TOO_MANY},
        {ENFILE, MPR_ERR_TOO_MANY},
        {ENOENT, MPR_ERR_CANT_FIND},
        {ENOMEM, MPR_ERR_MEMORY},
        {EROFS, MPR_ERR_READ_ONLY},
        {ETIMEDOUT, MPR_ERR_TIMEOUT},
        {EXDEV, MPR_ERR},
    };
    for (const auto &error : errors) {
        INFO(strerror(error.number));
        errno = error.number;
        const int number = mprGetOsError(), code = mprGetError();
        CHECK(number == error.number);
        CHECK(code == error.code);
    }
}

namespace {

MprMutex *ofManager;

/* What a manager may try while the runtime ends. */
void openRooms(void *) {
    mprCreateEvent(nullptr, "late", 0, proc(count), nullptr, 0);
    mprCreateEventOutside(nullptr, proc(count), nullptr);
    mprCreateCache(MPR_CACHE_SHARED);
    mprStartWorker([](void *, MprWorker *) { runs++; }, nullptr);
    mprStartThread(mprCreateThread("late", proc(count), nullptr, 0));
    mprWatchMemoryLoad(10);
    mprLock(ofManager);
    mprUnlock(ofManager);
}
} // namespace

TEST_CASE("managers that mprDestroy calls open nothing for the next runtime", "[task][shutdown]") {
    runs = 0;
    MprMutex lock;
    ofManager = mprInitLock(&lock);
    for (bool opened : {false, true}) {
        INFO(opened);
        {
            Runtime runtime;
            CHECK((!opened || mprGetDispatcher()));
            useAtEnd(
                runtime, [] { return mprAlloc(40); }, openRooms);
        }
        Runtime runtime("poison=1");
        REQUIRE(mprGetDispatcher());
        MprCache *cache = mprCreateCache(MPR_CACHE_SHARED);
        CHECK(mprWriteCache(cache, "key", "value", 0, 0, 0, 0) == 5);
        MprEvent *timer = mprCreateTimerEvent(nullptr, "timer", 1, proc(count), nullptr, 0);
        const int before = runs;
        CHECK(before == 0);
        collect(); // retained by their rooms
        CHECK(mprReadCache(mprCreateCache(MPR_CACHE_SHARED), "key", nullptr, nullptr));
        while (runs == 0) {
            mprServiceEvents(10, MPR_SERVICE_ONE_THING);
        }
        mprRemoveEvent(timer);
        runs = 0;
        MprMutex left;
        mprInitLock(&left);
        Mutator forgetful("forgetful", [&](Mutator &) { mprLock(&left); });
        forgetful.join();
        CHECK(Log::has("of its locks locked"));
    }
}

namespace {

int terminated;
Gate busyUntil;
} // namespace

TEST_CASE("a terminator runs once, however often the end of the runtime is refused", "[task][shutdown]") {
    Runtime runtime;
    terminated = 0;
    busyUntil.close();
    mprAddTerminator([](int, int, int) { terminated++; });
    static std::atomic<bool> begun;
    begun = false;
    REQUIRE(mprStartWorker(
                [](void *, MprWorker *) {
                    begun = true;
                    while (!busyUntil.isOpen()) {
                        sleepYielded(1);
                    }
                },
                nullptr) == 0);
    REQUIRE(until([] { return begun.load(); }));
    mprSetExitTimeout(0);
    CHECK_FALSE(mprDestroy());
    CHECK_FALSE(mprDestroy());
    CHECK(terminated == 1);
    mprAddTerminator([](int, int, int) { terminated += 10; });
    busyUntil.open();
    mprSetExitTimeout(60000);
    runtime.end();
    CHECK(terminated == 11); // one that was added since runs, too
}

TEST_CASE("child: restart from a thread of the runtime", "[.]") {
    static char name[] = "test", second[] = "child: masks after a restart";
    static char *argv[] = {name, second, nullptr};
    sigset_t usr;
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR2); // which the program blocks itself, and so keeps
    pthread_sigmask(SIG_BLOCK, &usr, nullptr);
    REQUIRE(mprCreate(2, argv, 0));
    REQUIRE(mprStart() == 0);
    if (getenv("MPR_TEST_BY_WORKER")) {
        mprStartWorker([](void *, MprWorker *) { mprRestart(); }, nullptr);
    } else {
        mprCreateEvent(nullptr, "restart", 0, proc([](void *, MprEvent *) { mprRestart(); }), nullptr, 0);
    }
    sleepYielded(60000);
}

TEST_CASE("child: masks after a restart", "[.]") {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    int blocked = 0;
    for (int signal = 1; signal < 32; signal++) {
        blocked += sigismember(&now, signal);
    }
    mark(blocked == 1 && sigismember(&now, SIGUSR2) ? "only its own is blocked" : "others are blocked");
}

TEST_CASE("a program that restarts from a thread of the runtime begins with its own signal mask", "[task][shutdown]") {
    if (emulator()) {
        WARN("not tried: an emulated program that executes /proc/self/exe executes the emulator");
        return;
    }
    for (cchar *byWorker : {static_cast<cchar *>(nullptr), "1"}) {
        byWorker ? setenv("MPR_TEST_BY_WORKER", byWorker, 1) : unsetenv("MPR_TEST_BY_WORKER");
        const Ended ended = runChild("child: restart from a thread of the runtime");
        INFO(ended.output);
        CHECK(ended.wrote("only its own is blocked"));
    }
    unsetenv("MPR_TEST_BY_WORKER");
}
