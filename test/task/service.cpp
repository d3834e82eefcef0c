// SPDX-License-Identifier: MIT
/*
    test/task/service.cpp - Who services events: the program's own loop, the runtime's thread, threads that wait for events.
    Whoever it is, no dispatcher's events wait for the end of another's wait.
 */
#include "test/support/every_yield.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/service.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <list>
#include <memory>

using namespace test;

namespace {

void *proc(MprEventProc p) {
    return reinterpret_cast<void *>(p);
}

void answer(void *, MprEvent *) {}

/* On the main dispatcher: answer on the dispatcher that asks. */
void ask(void *data, MprEvent *) {
    mprCreateEvent(static_cast<MprDispatcher *>(data), "answer", 0, proc(answer), nullptr, 0);
}

/* Longer than any test: a thread that waits so long has been forgotten. */
constexpr MprTicks tooLong = 40000;

/* A dispatcher that the calling thread has claimed. */
class Claimed {
public:
    Claimed() : dispatcher(mprCreateDispatcher("claimed", 0)), root(dispatcher) { mprStartDispatcher(dispatcher); }
    ~Claimed() { mprStopDispatcher(dispatcher); }

    /* What is to happen on the main dispatcher does, and tells this one. @return Whether it did. */
    template <class Begin>
    bool happens(Begin begin) {
        const int64 mark = mprGetEventMark(dispatcher);
        begin();
        return mprWaitForEvent(dispatcher, tooLong, mark) == 0;
    }
    bool isAnswered(MprTicks period) {
        return happens([&] { mprCreateEvent(nullptr, "ask", period, proc(ask), dispatcher, 0); });
    }

    MprDispatcher *dispatcher;

private:
    Root root;
};

/* Each of several threads asks the main dispatcher again and again, and waits for the answer on its own. */
class Asking {
public:
    Asking(int threads, long each) : left(threads) {
        for (int i = 0; i < threads; i++) {
            asking.push_back(std::make_unique<Mutator>("asking", [this, each](Mutator &) {
                Claimed own;
                for (long round = 0; round < each && late == 0; round++) {
                    late += !own.isAnswered(round % 64 == 63);
                    answers++;
                }
                left--;
            }));
        }
    }
    bool isDone() const { return left == 0; }
    void join() {
        for (auto &thread : asking) {
            thread->join();
        }
    }

    std::atomic<long> answers{0}, late{0};

private:
    std::atomic<int> left;
    std::list<std::unique_ptr<Mutator>> asking;
};

/* Who else services, beside those that wait. */
struct Servicer {
    cchar *name;
    int flags;
    bool starts;
    void (*turn)();
};

const Servicer servicers[] = {
    {"nobody", 0, false, [] { sleepYielded(1); }},
    {"nobody, and the program should", MPR_USER_EVENTS_THREAD, true, [] { sleepYielded(1); }},
    {"the runtime's thread", 0, true, [] { sleepYielded(1); }},
    {"the program's loop", MPR_USER_EVENTS_THREAD, true, [] { mprServiceEvents(10, 0); }},
    {"the program's loop, one thing at a time", MPR_USER_EVENTS_THREAD, true,
     [] { mprServiceEvents(10, MPR_SERVICE_ONE_THING); }},
    {"the program's loop, which does not block", MPR_USER_EVENTS_THREAD, true,
     [] { mprServiceEvents(0, MPR_SERVICE_NO_BLOCK); }},
    {"now and then somebody", 0, false,
     [] {
         mprServiceEvents(1, 0);
         sleepYielded(3);
     }},
};

void waitBesideAll(long waits) {
    for (const Servicer &servicer : servicers) {
        for (int threads : {1, 2, 4, 8}) {
            INFO(servicer.name << ", " << threads << " threads wait");
            Runtime runtime("", servicer.flags, 120);
            REQUIRE(mprGetDispatcher());
            if (servicer.starts) {
                REQUIRE(mprStart() == 0);
            }
            Asking asking(threads, waits / 4 / threads);
            while (!asking.isDone()) {
                servicer.turn();
            }
            asking.join();
            CHECK(asking.late == 0);
            CHECK(asking.answers == waits / 4 / threads * threads);
        }
    }
}

} // namespace

TEST_CASE("no thread that waits for an answer of the main dispatcher is late, whichever thread services",
          "[task][service]") {
    waitBesideAll(static_cast<long>(inTrial() ? 400 : heavy(4000)));
}

TEST_CASE("a hundred thousand waits, none late", "[.][soak]") {
    waitBesideAll(100000);
}

TEST_CASE("a thread that services while it waits gives way to one in mprServiceEvents", "[task][service]") {
    for (int flags : {0, MPR_USER_EVENTS_THREAD}) {
        Runtime runtime("", flags);
        REQUIRE(mprGetDispatcher());
        std::atomic<bool> asked{false}, waits{false};
        Mutator waiter("waiter", [&](Mutator &) {
            Claimed own;
            waits = true;
            asked = own.happens([&] { mprCreateEvent(nullptr, "ask", 300, proc(ask), own.dispatcher, 0); });
        });
        REQUIRE(until([&] { return waits.load(); }));
        sleepYielded(30); // it services by now, or will
        REQUIRE(mprStart() == 0);
        if (flags) {
            CHECK(serviceUntil([&] { return asked.load(); }));
        }
        waiter.join();
        CHECK(asked);
    }
}

TEST_CASE("timers, descriptors, signals and posts of other dispatchers do not wait for the end of a wait",
          "[task][service]") {
    Runtime runtime;
    Claimed own;
    MprDispatcher *prompt = mprCreateDispatcher("prompt", MPR_DISPATCHER_IMMEDIATE);
    Root root(prompt);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const auto handle = [](void *data, MprSignal *) { ask(data, nullptr); };
    for (MprDispatcher *other : {mprGetDispatcher(), prompt}) {
        CHECK(own.happens([&] { mprCreateEvent(other, "timer", 5, proc(ask), own.dispatcher, 0); }));
        MprWaitHandler *handler =
            mprCreateWaitHandler(ends[0], MPR_READABLE, other, reinterpret_cast<void *>(ask), own.dispatcher, 0);
        Root ofHandler(handler); // which waits no more when it was called
        CHECK(own.happens([&] { CHECK(write(ends[1], "x", 1) == 1); }));
        mprDestroyWaitHandler(handler);
        MprSignal *signal = mprAddSignalHandler(SIGUSR1, reinterpret_cast<void *>(+handle), own.dispatcher, other, 0);
        CHECK(own.happens([] { kill(getpid(), SIGUSR1); }));
        mprRemoveSignalHandler(signal);
        CHECK(own.happens([&] {
            std::thread foreign([&] { mprCreateEventOutside(other, proc(ask), own.dispatcher); });
            foreign.join();
        }));
    }
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("an event that waits for another dispatcher lets others run, but none of its own", "[task][service]") {
    Runtime runtime;
    static MprDispatcher *first, *second;
    static std::atomic<int> wrong, ran;
    static bool inside;
    first = mprCreateDispatcher("first", MPR_DISPATCHER_IMMEDIATE);
    second = mprCreateDispatcher("second", MPR_DISPATCHER_IMMEDIATE);
    Root a(first), b(second);
    wrong = ran = 0;
    inside = false;
    mprCreateEvent(first, "outer", 0, proc([](void *, MprEvent *) {
                       inside = true;
                       const int64 mark = mprGetEventMark(second);
                       mprCreateEvent(first, "later", 0, proc([](void *, MprEvent *) { wrong += inside; }), nullptr, 0);
                       mprCreateEvent(nullptr, "ask", 3, proc(ask), second, 0);
                       wrong += mprWaitForEvent(second, tooLong, mark) != 0;
                       inside = false;
                       ran++;
                   }),
                   nullptr, 0);
    CHECK(serviceUntil([&] { return ran == 1; }));
    CHECK(serviceUntil([&] { return !mprDispatcherHasEvents(first); }));
    CHECK(wrong == 0);
}

TEST_CASE("an event that takes long in the thread that waits for it keeps no other from being served",
          "[task][service]") {
    Runtime runtime;
    REQUIRE(mprGetDispatcher());
    static std::atomic<bool> begun, served;
    begun = served = false;
    std::atomic<bool> waited{false};
    Mutator slow("slow", [&](Mutator &) {
        Claimed own;
        waited = own.happens([&] {
            mprCreateEvent(own.dispatcher, "slow", 0, proc([](void *, MprEvent *) {
                               begun = true;
                               until([] { return served.load(); });
                           }),
                           nullptr, 0);
        });
    });
    Mutator quick("quick", [&](Mutator &) {
        Claimed own;
        until([] { return begun.load(); });
        served = own.isAnswered(2);
    });
    quick.join();
    slow.join();
    CHECK(served);
    CHECK(waited);
}

TEST_CASE("a thread that ends is the program's loop no more, though another may have its number", "[task][service]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    REQUIRE(mprStart() == 0);
    std::atomic<bool> anew{false};
    Mutator other("loop", [&](Mutator &self) {
        mprServiceEvents(0, 0);
        mprDetachThread();
        mprAttachThread("other"); // as a new thread to which the system gives the same number
        anew = true;
        while (self.go()) {
            sleepYielded(1);
        }
    });
    REQUIRE(until([&] { return anew.load(); }));
    Claimed own;
    CHECK(own.isAnswered(0));
    other.end();
}

TEST_CASE("with MPR_USER_EVENTS_THREAD events of the main dispatcher run in the thread of the program's loop alone",
          "[task][service]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    REQUIRE(mprStart() == 0);
    static std::atomic<int> elsewhere;
    static MprOsThread self;
    elsewhere = 0;
    self = mprGetCurrentOsThread();
    mprServiceEvents(0, 0);
    std::atomic<bool> done{false};
    std::atomic<int> late{0};
    Mutator waiter("waiter", [&](Mutator &) {
        Claimed own;
        for (int i = 0; i < 50; i++) {
            late += !own.happens([&] {
                mprCreateEvent(nullptr, "ask", 0, proc([](void *data, MprEvent *) {
                                   elsewhere += mprGetCurrentOsThread() != self;
                                   ask(data, nullptr);
                               }),
                               own.dispatcher, 0);
            });
        }
        done = true;
    });
    while (!done) {
        sleepYielded(2); // the loop's thread does something else: the other services
        mprServiceEvents(0, 0);
    }
    waiter.join();
    CHECK(elsewhere == 0);
    CHECK(late == 0);
}

TEST_CASE("who waits, even for the main dispatcher, runs its events when the thread of the program's loop ends",
          "[task][service]") {
    for (bool forMain : {false, true}) {
        INFO(forMain);
        Runtime runtime("", MPR_USER_EVENTS_THREAD);
        REQUIRE(mprStart() == 0);
        static std::atomic<int> ran;
        ran = 0;
        MprDispatcher *own = mprCreateDispatcher("own", 0);
        Root root(own);
        Gate serviced, ends, waits;
        std::atomic<int> result{1};
        Mutator loop("loop", [&](Mutator &) {
            mprServiceEvents(0, 0);
            serviced.open();
            while (!ends.isOpen()) {
                mprSleep(1);
            }
        });
        Mutator waiter("waiter", [&](Mutator &) {
            waits.open();
            result = mprWaitForEvent(forMain ? nullptr : own, 60'000, -1);
        });
        CHECK(until([&] { return waits.isOpen() && serviced.isOpen(); }));
        mprCreateEvent(nullptr, "main", 0, proc([](void *data, MprEvent *) {
                           ran++;
                           mprCreateEvent(static_cast<MprDispatcher *>(data), "own", 0, proc([](void *, MprEvent *) {}),
                                          nullptr, 0);
                       }),
                       own, 0);
        sleepYielded(20); // the waiter waits by then, most likely; else less is tried
        CHECK(ran == 0);
        ends.open();
        loop.join();
        waiter.join();
        CHECK(ran == 1);
        CHECK(result == 0);
    }
}

TEST_CASE("when the thread of the program's loop has ended, others run the main dispatcher's events",
          "[task][service]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    REQUIRE(mprStart() == 0);
    Mutator loop("loop", [](Mutator &) { mprServiceEvents(0, 0); });
    loop.join();
    Claimed own;
    CHECK(own.isAnswered(0));
    CHECK(own.isAnswered(3));
}

TEST_CASE("a thread that waits in an event of a dispatcher which another claims meanwhile continues to service",
          "[task][service]") {
    Runtime runtime;
    static MprDispatcher *taken, *other;
    static std::atomic<int> step, result;
    taken = mprCreateDispatcher("taken", MPR_DISPATCHER_IMMEDIATE);
    other = mprCreateDispatcher("other", MPR_DISPATCHER_IMMEDIATE);
    Root takenRoot(taken), otherRoot(other);
    step = 0;
    result = 1;
    const auto reaches = [](int next) { return until([=] { return step == next; }); };
    Mutator claimant("claimant", [&](Mutator &) {
        if (reaches(1) && mprStartDispatcher(taken) == 0) {
            step = 2;
            if (reaches(3)) {
                mprStopDispatcher(taken);
                step = 4;
            }
        }
    });
    const auto begin = [](void *, MprEvent *) {
        step = 1;
        until([] { return step == 2; });
        const int64 mark = mprGetEventMark(taken);
        const auto release = [](void *, MprEvent *) {
            step = 3;
            until([] { return step == 4; });
        };
        mprCreateEvent(taken, "awaited", 0, proc(answer), nullptr, 0);
        mprCreateEvent(other, "release", 1, proc(release), nullptr, 0);
        result = mprWaitForEvent(taken, tooLong, mark);
    };
    mprCreateEvent(taken, "begin", 0, proc(begin), nullptr, 0);
    CHECK(serviceUntil([] { return result <= 0; }, 2 * static_cast<int>(tooLong)));
    CHECK(result == 0);
    claimant.join();
}

// ---- Procedures that end their thread ---------------------------------------------------------------------------

namespace {

std::atomic<int> ran;

void run(void *, MprEvent *) {
    ran++;
}

void leave(void *, MprEvent *) {
    pthread_exit(nullptr);
}

/* The end of a thread in an event of a dispatcher, and an event behind it. */
void queueEnd(MprDispatcher *dispatcher) {
    mprCreateEvent(dispatcher, "leave", 0, proc(leave), nullptr, 0);
    mprCreateEvent(dispatcher, "run", 0, proc(run), nullptr, 0);
}
} // namespace

TEST_CASE("when an event ends the thread of mprStart another takes its place", "[task][service]") {
    Runtime runtime;
    REQUIRE(mprStart() == 0);
    ran = 0;
    for (int i = 1; i <= 3; i++) {
        queueEnd(nullptr);
        CHECK(until([&] { return ran == i; }));
    }
    mprCreateEvent(nullptr, "later", 5, proc(run), nullptr, 0);
    CHECK(until([] { return ran == 4; }));
    CHECK(until([] { return stats().threads == 2; }));
    CHECK(runtime.log.count("event \"leave\": its procedure has ended its thread (pthread_exit)") == 3);
}

TEST_CASE("when an event ends a worker its dispatcher goes on, on another", "[task][service]") {
    Runtime runtime;
    REQUIRE(mprStart() == 0);
    mprSetMaxWorkers(1);
    ran = 0;
    MprDispatcher *dispatcher = mprCreateDispatcher("own", 0);
    Root root(dispatcher);
    for (int i = 1; i <= 3; i++) {
        queueEnd(dispatcher);
        CHECK(until([&] { return ran == i; }));
    }
    CHECK(mprGetBusyWorkers() <= 1);
    CHECK(runtime.log.count("(pthread_exit)") >= 3);
    CHECK_FALSE(mprDispatcherHasEvents(dispatcher));
}

TEST_CASE("a thread that is exempt and goes gives up its dispatcher as any other", "[task][service]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    const bool detaches = GENERATE(true, false);
    MprDispatcher *dispatcher = mprCreateDispatcher("claimed", 0);
    Root root(dispatcher);
    std::atomic<bool> claimed{false};
    Gate gate;
    std::thread thread([&] {
        mprAttachThread("exempt");
        claimed = mprStartDispatcher(dispatcher) == 0;
        mprSetThreadYield(nullptr, false);
        untilUnyielded([&] { return gate.isOpen(); });
        if (detaches) {
            mprDetachThread();
        }
    });
    CHECK(until([&] { return claimed.load(); }));
    collect();
    collect(); // what the room has is old, and its stores have been looked at
    gate.open();
    mprYield(MPR_YIELD_STICKY);
    thread.join();
    mprResetYield();
    CHECK(mprStartDispatcher(dispatcher) == 0);
    CHECK(mprStopDispatcher(dispatcher) == 0);
    CHECK_FALSE(runtime.log.has("mprSetRef"));
}

TEST_CASE("when an event ends the thread that services, or one that waits, others service and run its dispatcher",
          "[task][service]") {
    Runtime runtime;
    ran = 0;
    const auto service = [](void *, MprThread *) { mprServiceEvents(-1, 0); };
    const auto wait = [](void *, MprThread *) {
        MprDispatcher *own = mprCreateDispatcher("own", 0);
        mprStartDispatcher(own);
        mprAddRoot(own);
        // Inside of an event of another dispatcher, so that runs are nested.
        const auto inner = [](void *data, MprEvent *) {
            queueEnd(static_cast<MprDispatcher *>(data));
            mprWaitForEvent(static_cast<MprDispatcher *>(data), -1, -1);
        };
        mprCreateEvent(own, "inner", 0, proc(inner), own, 0);
        mprWaitForEvent(own, -1, -1);
    };
    REQUIRE(mprStartThread(mprCreateThread("serves", reinterpret_cast<void *>(+service), nullptr, 0)) == 0);
    queueEnd(nullptr);
    CHECK(until([] { return stats().threads == 1; }));
    REQUIRE(mprStartThread(mprCreateThread("waits", reinterpret_cast<void *>(+wait), nullptr, 0)) == 0);
    CHECK(until([] { return ran == 1; })); // its own dispatcher's: by a worker, for nobody has claimed it now
    collect();
    // This thread waits, and so services.
    Claimed own;
    CHECK(own.isAnswered(1));
    CHECK(own.isAnswered(0));
    CHECK(ran == 2);
    CHECK(runtime.log.count("(pthread_exit)") == 2);
}
