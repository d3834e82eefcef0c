// SPDX-License-Identifier: MIT
/*
    test/task/event.cpp - Dispatchers and events: order, threads, timers, removal, foreign threads, and the end.
 */
#include "test/support/dying.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/service.hpp"
#include "test/support/value.hpp"

#include "mpr/task/events.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

using namespace test;

namespace {

std::atomic<long> runs, wrong;
std::mutex orderMutex;
std::vector<long> order;

void reset() {
    runs = wrong = 0;
    order.clear();
    calls.reset();
}

void count(void *, MprEvent *) {
    runs++;
}

void note(void *data, MprEvent *) {
    std::lock_guard guard(orderMutex);
    order.push_back(static_cast<long>(reinterpret_cast<intptr_t>(data)));
    runs++;
}

void *proc(MprEventProc p) {
    return reinterpret_cast<void *>(p);
}

bool inOrder(long total) {
    for (long i = 0; i < total; i++) {
        if (order[size_t(i)] != i) {
            return false;
        }
    }
    return long(order.size()) == total;
}

long now() {
    auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<long>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

/* Allocate garbage without a yield. */
void litter(size_t bytes) {
    for (size_t made = 0; made < bytes; made += 1000) {
        mprAlloc(1000);
    }
}

} // namespace

TEST_CASE("events of the main dispatcher run in order on the thread that services", "[task][event]") {
    Runtime runtime;
    reset();
    static MprOsThread self;
    self = mprGetCurrentOsThread();
    for (long i = 0; i < 1000; i++) {
        MprEvent *event = mprCreateEvent(nullptr, "note", 0, proc(note), number(i), 0);
        REQUIRE(event);
        if (i == 0) {
            CHECK(strcmp(event->name, "note") == 0);
            CHECK(event->dispatcher == mprGetDispatcher());
            CHECK(event->data == number(0));
        }
    }
    mprCreateEvent(mprGetDispatcher(), "self", 0, proc([](void *, MprEvent *event) {
                       wrong += mprGetCurrentOsThread() != self || !mprIsValid(event);
                   }),
                   nullptr, 0);
    CHECK(runs == 0);
    CHECK(mprDispatcherHasEvents(nullptr));
    CHECK(mprServiceEvents(0, 0) == 1001);
    CHECK(inOrder(1000));
    CHECK(wrong == 0);
    CHECK_FALSE(mprDispatcherHasEvents(nullptr));
    CHECK(mprServiceEvents(0, MPR_SERVICE_NO_BLOCK) == 0);
}

TEST_CASE("check=fields does not accuse events of what they hold when they are in no list", "[task][event][fields]") {
    Runtime runtime("check=fields+globals,everyyield=0");
    const auto none = proc([](void *, MprEvent *) {});
    const auto collects = proc([](void *, MprEvent *) { collect(); });
    for (int i = 0; i < 3; i++) { // each of the last stands behind an event that is garbage when it collects
        mprCreateEvent(nullptr, "before", 0, none, nullptr, 0);
        mprCreateEvent(nullptr, "collects", 0, collects, nullptr, 0);
    }
    CHECK(mprServiceEvents(0, 0) == 6);
    const Root kept(mprCreateEvent(nullptr, "kept", 1000000, none, nullptr, 0));
    for (MprEvent *timer : {kept.as<MprEvent>(), mprCreateEvent(nullptr, "stopped", 1000000, none, nullptr, 0)}) {
        mprRemoveEvent(timer);
    }
    collect();
    INFO(Log::text());
    CHECK(Log::count("check:") == 0);
}

TEST_CASE("with poison an event that the runtime uses is not freed by hand, which is named", "[task][event][misuse]") {
    Runtime runtime("poison=1,everyyield=0");
    reset();
    MprEvent *event = nullptr;
    SECTION("one that is due") {
        event = mprCreateEvent(nullptr, "due", 0, proc(count), nullptr, 0);
    }
    SECTION("a timer") {
        event = mprCreateTimerEvent(nullptr, "timer", 1, proc(count), nullptr, 0);
    }
    CHECK(mprFree(event) == MPR_ERR_BAD_ARGS);
    INFO(Log::text());
    CHECK(Log::count("the event is queued; mprRemoveEvent takes it out") == 1);
    while (runs == 0) {
        mprServiceEvents(1000, MPR_SERVICE_ONE_THING);
    }
    mprRemoveEvent(event);
    CHECK(mprFree(event) == 0);
    collect();
    CHECK(mprServiceEvents(0, MPR_SERVICE_NO_BLOCK) == 0);
    CHECK(Log::size() == 1);
}

TEST_CASE("with poison nor is an event that runs, or a dispatcher that has some", "[task][event][misuse]") {
    Runtime runtime("poison=1,everyyield=0");
    static int freed;
    freed = 0;
    mprCreateEvent(nullptr, "itself", 0, proc([](void *, MprEvent *event) { freed = mprFree(event); }), nullptr, 0);
    mprServiceEvents(0, MPR_SERVICE_NO_BLOCK);
    CHECK(freed == MPR_ERR_BAD_ARGS);
    CHECK(Log::count("the event is running") == 1);
    const Root kept(mprCreateDispatcher("busy", 0));
    auto dispatcher = kept.as<MprDispatcher>();
    mprCreateEvent(dispatcher, "waits", 1000000, proc([](void *, MprEvent *) {}), nullptr, 0);
    mprServiceEvents(0, MPR_SERVICE_NO_BLOCK); // whoever services counts what is due later
    CHECK(mprFree(dispatcher) == MPR_ERR_BAD_ARGS);
    INFO(Log::text());
    CHECK(Log::count("the dispatcher has events; see mprDestroyDispatcher") == 1);
    CHECK(Log::size() == 2);
}

TEST_CASE("a million queued events cost no more each than a thousand, and all run", "[task][event]") {
    Runtime runtime("deadline=10000", 0, 120);
    reset();
    const long total = static_cast<long>(heavy(1000000));
    for (long i = 0; i < total; i++) {
        REQUIRE(mprCreateEvent(nullptr, "count", 0, proc(count), nullptr, 0));
        if (i % 1000 == 0) {
            mprYield(0);
        }
    }
    collect();
    CHECK(mprServiceEvents(0, MPR_SERVICE_NO_BLOCK) == total);
    CHECK(runs == total);
    collect();
    CHECK(stats().late == 0);
}

TEST_CASE("an event and its data are retained until it has run", "[task][event]") {
    Runtime runtime;
    reset();
    for (MprTicks period : {0, 20}) {
        mprCreateEvent(nullptr, "data", period, proc([](void *data, MprEvent *event) {
                           for (int i = 0; i < 3; i++) {
                               mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
                               auto node = static_cast<Node *>(data);
                               wrong += !mprIsValid(event) || event->data != data || !mprIsValid(node) ||
                                        node->value != 7 || !mprIsValid(node->next);
                           }
                           runs++;
                       }),
                       makeNode(makeNode(), nullptr, 7), 0);
    }
    collect();
    CHECK(calls.frees == 0);
    CHECK(serviceUntil([] { return runs == 2; }));
    CHECK(wrong == 0);
    collect();
    CHECK(calls.frees == 4);
}

TEST_CASE("events of a dispatcher run one at a time on workers, in order", "[task][event]") {
    Runtime runtime;
    reset();
    static std::atomic<int> inside;
    inside = 0;
    static MprOsThread self;
    self = mprGetCurrentOsThread();
    MprDispatcher *dispatcher = mprCreateDispatcher("serial", 0);
    mprAddRoot(dispatcher);
    const long total = static_cast<long>(heavy(20000));
    for (long i = 0; i < total; i++) {
        REQUIRE(mprCreateEvent(dispatcher, "serial", 0, proc([](void *data, MprEvent *event) {
                                   wrong += inside.fetch_add(1) != 0 || mprGetCurrentOsThread() == self;
                                   note(data, event);
                                   inside--;
                               }),
                               number(i), 0));
        if (i % 500 == 0) {
            mprYield(0);
        }
    }
    CHECK(until([total] { return runs == total; }));
    CHECK(wrong == 0);
    CHECK(inOrder(total));
    mprRemoveRoot(dispatcher);
}

TEST_CASE("several dispatchers run at the same time", "[task][event]") {
    Runtime runtime;
    reset();
    static std::atomic<int> inside, most;
    inside = most = 0;
    for (int i = 0; i < 4; i++) {
        mprCreateEvent(mprCreateDispatcher("parallel", 0), "parallel", 0, proc([](void *, MprEvent *) {
                           int now = ++inside;
                           for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {}
                           for (int i = 0; i < 2000 && inside < 4 && most < 4; i++) {
                               mprSleep(1);
                           }
                           inside--;
                           runs++;
                       }),
                       nullptr, 0);
    }
    CHECK(until([] { return runs == 4; }));
    CHECK(most == 4);
}

TEST_CASE("more dispatchers than workers: all get their turn", "[task][event]") {
    Runtime runtime;
    reset();
    mprSetMaxWorkers(2);
    const int dispatchers = 50, each = 40;
    for (int i = 0; i < dispatchers; i++) {
        MprDispatcher *dispatcher = mprCreateDispatcher("many", 0);
        for (int n = 0; n < each; n++) {
            mprCreateEvent(dispatcher, "many", 0, proc(count), nullptr, 0);
        }
        collect(); // nobody but its events retains the dispatcher
    }
    CHECK(until([&] { return runs == dispatchers * each; }));
}

TEST_CASE("timers run no earlier than asked for, in the order of their times", "[task][event][timer]") {
    Runtime runtime;
    reset();
    const long periods[] = {40, 0, 5, 130, 70, 1, 64, 65, 63, 100};
    static long begin;
    static std::vector<MprTicks> dues;
    dues.clear();
    begin = now();
    for (long period : periods) {
        mprCreateEvent(nullptr, "timer", period, proc([](void *data, MprEvent *event) {
                           wrong += now() - begin < event->period * 1000;
                           dues.push_back(event->due);
                           note(data, event);
                       }),
                       number(period), 0);
    }
    CHECK(serviceUntil([] { return runs == 10; }));
    CHECK(wrong == 0);
    CHECK(std::is_sorted(dues.begin(), dues.end())); // on a busy machine one of 63 may be made later than one of 65 is
    std::sort(order.begin(), order.end());
    CHECK(order == std::vector<long>{0, 1, 5, 40, 63, 64, 65, 70, 100, 130});
}

TEST_CASE("a continuous event repeats until it is stopped", "[task][event][timer]") {
    Runtime runtime;
    reset();
    MprEvent *event = mprCreateTimerEvent(nullptr, "tick", 2, proc([](void *, MprEvent *self) {
                                              if (++runs == 5) {
                                                  mprStopContinuousEvent(self);
                                              }
                                          }),
                                          nullptr, 0);
    mprAddRoot(event);
    CHECK(serviceUntil([] { return runs == 5; }));
    mprServiceEvents(15, 0);
    CHECK(runs == 5);
    CHECK_FALSE(mprDispatcherHasEvents(nullptr));
    mprRestartContinuousEvent(event);
    CHECK(serviceUntil([] { return runs == 8; }));
    mprRemoveEvent(event);
    mprServiceEvents(15, 0);
    CHECK(runs == 8);
    mprRemoveRoot(event);
}

TEST_CASE("mprCreateLocalEvent is mprCreateEvent", "[task][event][timer]") {
    Runtime runtime;
    reset();
    REQUIRE(mprCreateLocalEvent(nullptr, "note", 0, proc(note), number(0), 0));
    REQUIRE(mprCreateLocalEvent(nullptr, "note", 10, proc(note), number(1), 0));
    MprEvent *repeated = mprCreateLocalEvent(nullptr, "count", 1, proc(count), nullptr, MPR_EVENT_CONTINUOUS);
    REQUIRE(repeated);
    Root root(repeated);
    CHECK(serviceUntil([] { return order.size() == 2 && runs >= 5; }));
    mprStopContinuousEvent(repeated);
    CHECK(order == std::vector<long>{0, 1});
    CHECK_FALSE(mprCreateLocalEvent(nullptr, "none", 0, static_cast<void *>(nullptr), nullptr, 0));
}

TEST_CASE("a removed event never runs and is collected", "[task][event]") {
    Runtime runtime;
    reset();
    MprEvent *queued = mprCreateEvent(nullptr, "queued", 0, proc(count), makeNode(), 0);
    MprEvent *timed = mprCreateEvent(nullptr, "timed", 5, proc(count), makeNode(), 0);
    MprEvent *far = mprCreateEvent(nullptr, "far", MprTicks(1) << 60, proc(count), makeNode(), 0);
    mprRemoveEvent(queued);
    mprRemoveEvent(timed);
    mprRemoveEvent(far);
    mprRemoveEvent(far);
    mprRemoveEvent(nullptr);
    mprServiceEvents(20, 0);
    CHECK(runs == 0);
    collect();
    CHECK(calls.frees == 3);
    CHECK_FALSE(mprIsValid(queued));
}

TEST_CASE("a rescheduled event runs when it was last told to, also from its own procedure", "[task][event]") {
    Runtime runtime;
    reset();
    MprEvent *event = mprCreateEvent(nullptr, "later", 100000, proc([](void *, MprEvent *self) {
                                         if (++runs < 4) {
                                             mprRescheduleEvent(self, runs == 2 ? 0 : 1);
                                         }
                                     }),
                                     nullptr, 0);
    mprRescheduleEvent(event, 200000);
    mprRescheduleEvent(event, 1);
    CHECK(serviceUntil([] { return runs == 4; }));
    mprServiceEvents(5, 0);
    CHECK(runs == 4);

    MprEvent *idle = mprCreateEvent(nullptr, "idle", 0, proc(count), nullptr, MPR_EVENT_DONT_QUEUE);
    mprAddRoot(idle);
    mprServiceEvents(0, 0);
    CHECK(runs == 4);
    mprRescheduleEvent(idle, 0);
    mprServiceEvents(0, 0);
    CHECK(runs == 5);
    mprRemoveRoot(idle);
}

TEST_CASE("many timers in random order, many of them removed", "[task][event][timer]") {
    Runtime runtime("", 0, 120);
    reset();
    const int total = static_cast<int>(heavy(100000));
    static std::atomic<long> last;
    last = 0;
    uint32_t random = 1;
    int kept = 0;
    std::vector<MprEvent *> some;
    for (int i = 0; i < total; i++) {
        random = random * 1664525 + 1013904223;
        MprEvent *event = mprCreateEvent(nullptr, "random", 1 + (random >> 8) % 300, proc([](void *, MprEvent *self) {
                                             wrong += self->due < last;
                                             last = self->due;
                                             runs++;
                                         }),
                                         nullptr, 0);
        REQUIRE(event);
        if (random >> 31) {
            mprHold(event);
            some.push_back(event);
        } else {
            kept++;
        }
        if (i % 1000 == 999) {
            mprYield(0);
        }
    }
    for (MprEvent *event : some) {
        mprRemoveEvent(event);
        mprRelease(event);
    }
    CHECK(serviceUntil([&] { return runs >= kept; }));
    mprServiceEvents(0, 0);
    CHECK(runs == kept);
    CHECK(wrong == 0);
    CHECK_FALSE(mprDispatcherHasEvents(nullptr));
}

TEST_CASE("a destroyed dispatcher drops its events and takes no more", "[task][event]") {
    Runtime runtime;
    reset();
    MprDispatcher *dispatcher = mprCreateDispatcher("doomed", MPR_DISPATCHER_IMMEDIATE);
    mprAddRoot(dispatcher);
    MprDispatcher *late = mprCreateDispatcher("late", 0);
    mprAddRoot(late);
    CHECK(mprCreateEventOutside(late, proc(count), nullptr) == 0); // accepted before it is destroyed, and dropped
    mprDestroyDispatcher(late);
    for (int i = 0; i < 100; i++) {
        mprCreateEvent(dispatcher, "queued", 0, proc(count), makeNode(), 0);
        mprCreateEvent(dispatcher, "timed", 1 + i, proc(count), makeNode(), 0);
    }
    CHECK(mprDispatcherHasEvents(dispatcher));
    mprDestroyDispatcher(dispatcher);
    CHECK_FALSE(mprDispatcherHasEvents(dispatcher));
    CHECK(mprCreateEvent(dispatcher, "late", 0, proc(count), nullptr, 0) == nullptr);
    CHECK(mprCreateEvent(dispatcher, "kept", 0, proc(count), nullptr, MPR_EVENT_DONT_QUEUE) == nullptr);
    CHECK(mprCreateEventOutside(dispatcher, proc(count), nullptr) == MPR_ERR_BAD_STATE);
    CHECK(mprStartDispatcher(dispatcher) == MPR_ERR_BAD_STATE);
    CHECK(mprWaitForEvent(dispatcher, 10, -1) == MPR_ERR_BAD_STATE);
    mprServiceEvents(10, 0);
    CHECK(runtime.log.has("\"late\" was destroyed"));
    CHECK(runs == 0);
    mprDestroyDispatcher(mprGetDispatcher());
    CHECK(runtime.log.has("the main dispatcher ends with the runtime"));
    CHECK(mprCreateEvent(nullptr, "main", 0, proc(count), nullptr, 0));
    mprRemoveRoot(late);
    CHECK(serviceUntil([] { return runs == 1; }));
    collect();
    CHECK(calls.frees == 200);
    mprRemoveRoot(dispatcher);
    collect();
    CHECK_FALSE(mprIsValid(dispatcher));
}

TEST_CASE("events that became timers later go with their dispatcher, too, and no others", "[task][event][timer]") {
    Runtime runtime;
    reset();
    MprDispatcher *doomed = mprCreateDispatcher("doomed", MPR_DISPATCHER_IMMEDIATE);
    mprAddRoot(doomed);
    for (int i = 0; i < 100; i++) {
        for (MprDispatcher *dispatcher : {doomed, mprGetDispatcher()}) {
            MprEvent *event = mprCreateEvent(dispatcher, "moved", 0, proc(count), makeNode(), 0);
            mprRescheduleEvent(event, 1 + i % 50);
            if (i % 10 == 0) {
                mprRemoveEvent(event);
            }
        }
    }
    CHECK(mprDispatcherHasEvents(doomed));
    mprDestroyDispatcher(doomed);
    CHECK_FALSE(mprDispatcherHasEvents(doomed));
    collect();
    CHECK(calls.frees == 110);
    CHECK(serviceUntil([] { return runs == 90; }));
    CHECK_FALSE(mprDispatcherHasEvents(nullptr));
    mprRemoveRoot(doomed);
}

TEST_CASE("a disabled dispatcher keeps its events until it is enabled", "[task][event]") {
    Runtime runtime;
    reset();
    for (int flags : {0, MPR_DISPATCHER_IMMEDIATE}) {
        MprDispatcher *dispatcher = mprCreateDispatcher("pausing", flags);
        mprAddRoot(dispatcher);
        mprDisableDispatcher(dispatcher);
        runs = 0;
        for (int i = 0; i < 10; i++) {
            mprCreateEvent(dispatcher, "pausing", 0, proc(count), nullptr, 0);
        }
        mprServiceEvents(10, 0);
        CHECK(runs == 0);
        mprEnableDispatcher(dispatcher);
        CHECK(serviceUntil([] { return runs == 10; }));
        mprRemoveRoot(dispatcher);
    }
}

TEST_CASE("a claimed dispatcher that its thread destroys is retained by nothing", "[task][event]") {
    Runtime runtime;
    const auto live = [] {
        collect();
        return stats().blocksAllocated - stats().blocksFreed;
    };
    const uint64 before = live();
    for (int i = 0; i < 1000; i++) {
        MprDispatcher *dispatcher = mprCreateDispatcher("mine", 0);
        REQUIRE(mprStartDispatcher(dispatcher) == 0);
        mprDestroyDispatcher(dispatcher);
        CHECK(mprStopDispatcher(dispatcher) == MPR_ERR_BAD_STATE);
    }
    CHECK(live() < before + 100);
}

TEST_CASE("a claimed dispatcher runs its events on the thread that claimed it", "[task][event]") {
    Runtime runtime;
    reset();
    static MprOsThread self;
    self = mprGetCurrentOsThread();
    MprDispatcher *dispatcher = mprCreateDispatcher("mine", 0);
    mprAddRoot(dispatcher);
    REQUIRE(mprStartDispatcher(dispatcher) == 0);
    CHECK(mprStartDispatcher(dispatcher) == 0);
    std::atomic<int> claimed{1}, stopped{1};
    {
        Mutator other("other", [&](Mutator &) {
            claimed = mprStartDispatcher(dispatcher);
            stopped = mprStopDispatcher(dispatcher);
        });
    }
    CHECK(claimed == MPR_ERR_BAD_STATE);
    CHECK(stopped == MPR_ERR_BAD_STATE);
    auto check = proc([](void *, MprEvent *) {
        wrong += mprGetCurrentOsThread() != self;
        runs++;
    });
    for (int i = 0; i < 10; i++) {
        mprCreateEvent(dispatcher, "mine", i, check, nullptr, 0);
    }
    mprServiceEvents(5, 0);
    CHECK(runs == 0);
    for (int i = 1; i <= 10; i++) {
        CHECK(mprWaitForEvent(dispatcher, 20000, -1) == 0);
        CHECK(runs == i);
    }
    CHECK(wrong == 0);
    CHECK(mprWaitForEvent(dispatcher, 5, -1) == MPR_ERR_TIMEOUT);
    // Another thread makes the event.
    Mutator maker("maker", [&](Mutator &) {
        mprSleep(5);
        mprCreateEvent(dispatcher, "mine", 0, check, nullptr, 0);
    });
    CHECK(mprWaitForEvent(dispatcher, 20000, -1) == 0);
    CHECK(wrong == 0);
    CHECK(mprStopDispatcher(dispatcher) == 0);
    mprCreateEvent(dispatcher, "theirs", 0, proc(count), nullptr, 0);
    CHECK(until([] { return runs == 12; }));
    mprRemoveRoot(dispatcher);
}

TEST_CASE("an event that ran since the mark ends the wait at once", "[task][event]") {
    Runtime runtime;
    reset();
    MprDispatcher *dispatcher = mprCreateDispatcher("marked", 0);
    mprAddRoot(dispatcher);
    int64 mark = mprGetEventMark(dispatcher);
    mprCreateEvent(dispatcher, "marked", 0, proc(count), nullptr, 0);
    REQUIRE(until([] { return runs == 1; }));
    CHECK(mprWaitForEvent(dispatcher, -1, mark) == 0);
    CHECK(mprGetEventMark(dispatcher) == mark + 1);
    CHECK(mprWaitForEvent(dispatcher, 5, mark + 1) == MPR_ERR_TIMEOUT);
    mprRemoveRoot(dispatcher);
}

TEST_CASE("mprWaitForEvent waits for what a worker runs", "[task][event]") {
    Runtime runtime;
    reset();
    MprDispatcher *dispatcher = mprCreateDispatcher("slow", 0);
    mprAddRoot(dispatcher);
    for (int i = 0; i < 20; i++) {
        int64 mark = mprGetEventMark(dispatcher);
        mprCreateEvent(dispatcher, "slow", i % 3, proc([](void *, MprEvent *) {
                           mprSleep(2);
                           runs++;
                       }),
                       nullptr, 0);
        REQUIRE(mprWaitForEvent(dispatcher, 20000, mark) == 0);
        REQUIRE(runs == i + 1);
    }
    mprRemoveRoot(dispatcher);
}

TEST_CASE("an event may wait for the next of its dispatcher: they nest", "[task][event]") {
    Runtime runtime;
    reset();
    MprDispatcher *worker = mprCreateDispatcher("nesting", 0);
    Root root(worker);
    for (MprDispatcher *dispatcher : {mprGetDispatcher(), worker}) {
        runs = 0;
        mprCreateEvent(dispatcher, "outer", 0, proc([](void *, MprEvent *event) {
                           mprCreateEvent(event->dispatcher, "inner", 3, proc(count), nullptr, 0);
                           wrong +=
                               mprWaitForEvent(event->dispatcher, 20000, -1) != 0 || runs != 1 || !mprIsValid(event);
                           mprGC(MPR_GC_FORCE);
                           wrong += !mprIsValid(event) || calls.frees != 0; // nor its data
                           runs++;
                       }),
                       makeNode(), 0);
        CHECK(serviceUntil([] { return runs == 2; }));
        collect();
        CHECK(calls.frees == 1);
        calls.reset();
    }
    CHECK(wrong == 0);
}

TEST_CASE("a procedure that waits on a worker is woken by the next event, whoever queues it", "[task][event]") {
    Runtime runtime;
    reset();
    REQUIRE(mprStart() == 0); // another thread services; only the next event gives it a reason to wake who waits
    MprDispatcher *worker = mprCreateDispatcher("waits", 0);
    Root root(worker);
    static std::atomic<bool> waits, ended;
    waits = ended = false;
    mprCreateEvent(worker, "outer", 0, proc([](void *, MprEvent *event) {
                       waits = true;
                       wrong += mprWaitForEvent(event->dispatcher, -1, -1) != 0;
                       ended = true;
                   }),
                   nullptr, 0);
    while (!waits) {
        mprSleep(1);
    }
    mprSleep(50); // until it sleeps
    SECTION("another thread") {
        mprCreateEvent(worker, "next", 0, proc(count), nullptr, 0);
    }
    SECTION("a timer") {
        mprCreateEvent(worker, "next", 10, proc(count), nullptr, 0);
    }
    SECTION("a foreign thread") {
        std::thread([worker] { mprCreateEventOutside(worker, proc(count), nullptr); }).join();
    }
    CHECK(until([] { return ended.load(); }));
    CHECK(runs == 1);
    CHECK(wrong == 0);
    mprShutdown(MPR_EXIT_NORMAL, 0, -1);
}

TEST_CASE("an event that reschedules itself and nests in itself", "[task][event]") {
    Runtime runtime;
    reset();
    mprCreateEvent(nullptr, "self", 0, proc([](void *, MprEvent *event) {
                       if (++runs < 5) {
                           mprRescheduleEvent(event, runs % 2);
                           wrong += mprWaitForEvent(event->dispatcher, 20000, -1) != 0;
                           mprGC(MPR_GC_FORCE);
                           wrong += !mprIsValid(event);
                       }
                   }),
                   nullptr, 0);
    CHECK(serviceUntil([] { return runs == 5; }));
    CHECK(wrong == 0);
}

TEST_CASE("mprServiceEvents returns when the time is up, one thing has run, or the runtime stops", "[task][event]") {
    Runtime runtime;
    reset();
    long begin = now();
    CHECK(mprServiceEvents(30, 0) == 0);
    CHECK(now() - begin >= 30000);
    mprCreateTimerEvent(nullptr, "tick", 1, proc(count), nullptr, 0);
    const auto several = [] { // unless the machine gave it no time for a second
        const long start = now();
        const int events = mprServiceEvents(20, 0);
        CHECK(now() - start >= 20000);
        return events >= 2;
    };
    CHECK(until(several, 100));
    CHECK(mprServiceEvents(-1, MPR_SERVICE_ONE_THING) >= 1);
    mprCreateEvent(nullptr, "stop", 10, proc([](void *, MprEvent *) { mprShutdown(MPR_EXIT_NORMAL, 3, -1); }), nullptr,
                   0);
    CHECK_FALSE(mprIsStopping());
    mprServiceEvents(-1, 0);
    CHECK(mprIsStopping());
    CHECK(mprGetExitStatus() == 3);
    CHECK(mprWaitForEvent(nullptr, -1, -1) == MPR_ERR_ABORTED);
}

TEST_CASE("a second thread that services waits, and takes over", "[task][event]") {
    Runtime runtime;
    reset();
    std::atomic<bool> stop{false};
    Mutator first("first", [&](Mutator &) {
        while (!stop) {
            mprServiceEvents(5, 0);
        }
    });
    REQUIRE(until([] {
        mprCreateEvent(nullptr, "count", 0, proc(count), nullptr, 0);
        return runs > 0;
    }));
    long before = runs;
    for (int i = 0; i < 50; i++) {
        mprCreateEvent(nullptr, "count", 0, proc(count), nullptr, 0);
        mprServiceEvents(1, 0);
    }
    CHECK(until([&] { return runs >= before + 50; }));
    stop = true;
    first.join();
    mprCreateEvent(nullptr, "count", 0, proc(count), nullptr, 0);
    CHECK(mprServiceEvents(0, 0) == 1);
}

TEST_CASE("a thread that services or waits lets collections pass", "[task][event]") {
    Runtime runtime("deadline=10000");
    reset();
    std::atomic<bool> stop{false};
    MprDispatcher *dispatcher = mprCreateDispatcher("waited", 0);
    mprAddRoot(dispatcher);
    Mutator servicer("servicer", [&](Mutator &) { mprServiceEvents(-1, 0); });
    Mutator waiter("waiter", [&](Mutator &) {
        while (!stop) {
            mprWaitForEvent(dispatcher, 30000, -1);
        }
    });
    for (int i = 0; i < 30; i++) {
        collect();
        mprCreateEvent(dispatcher, "waited", i % 2, proc(count), nullptr, 0);
    }
    CHECK(until([] { return runs == 30; }));
    CHECK(stats().late == 0);
    stop = true;
    mprShutdown(MPR_EXIT_NORMAL, 0, -1);
    servicer.join();
    waiter.join();
    mprRemoveRoot(dispatcher);
}

TEST_CASE("foreign threads post, in their order, during collections", "[task][event][outside]") {
    Runtime runtime;
    reset();
    const long each = static_cast<long>(heavy(20000));
    REQUIRE(mprCreateEventOutside(nullptr, proc(count), nullptr) == MPR_ERR_BAD_STATE);
    MprDispatcher *dispatcher = mprCreateDispatcher("outside", 0);
    mprAddRoot(dispatcher);
    static std::atomic<long> last[4];
    for (auto &l : last) {
        l = -1;
    }
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (long t = 0; t < 4; t++) {
        threads.emplace_back([&, t] {
            for (long i = 0; i < each; i++) {
                // Half of them to the dispatcher of the workers, which serialises: order within a thread is checked there.
                refused += mprCreateEventOutside(t % 2 ? dispatcher : nullptr, proc([](void *data, MprEvent *) {
                                                     auto value = static_cast<long>(reinterpret_cast<intptr_t>(data));
                                                     wrong += last[value % 4].exchange(value / 4) != value / 4 - 1;
                                                     runs++;
                                                 }),
                                                 number(i * 4 + t)) != 0;
            }
        });
    }
    CHECK(serviceUntil([&] {
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        return runs == 4 * each;
    }));
    mprYield(MPR_YIELD_STICKY);
    for (auto &thread : threads) {
        thread.join();
    }
    mprResetYield();
    CHECK(refused == 0);
    CHECK(wrong == 0);
    mprRemoveRoot(dispatcher);
}

TEST_CASE("a post from outside wakes a thread that waits for ever", "[task][event][outside]") {
    Runtime runtime;
    reset();
    REQUIRE(mprGetDispatcher());
    for (int i = 0; i < 50; i++) {
        std::thread foreign([i] {
            if (i % 2) {
                pause(1);
            }
            mprCreateEventOutside(nullptr, proc(count), nullptr);
        });
        CHECK(mprServiceEvents(-1, MPR_SERVICE_ONE_THING) == 1);
        foreign.join();
    }
    CHECK(runs == 50);
}

namespace {

/* What blocks stand for: a table that one thread looks after. */
struct Wards {
    std::thread::id owner = std::this_thread::get_id();
    std::atomic<int> closed{0}, elsewhere{0};
};
Wards *wards;

void closeEntry(void *, MprEvent *) {
    wards->elsewhere += std::this_thread::get_id() != wards->owner;
    wards->closed++;
}

/* The manager of a block that stands for an entry of it. */
void manageEntry(void *, int flags) {
    if ((flags & MPR_MANAGE_FREE) && mprCreateEventOutside(nullptr, proc(closeEntry), nullptr) != 0) {
        closeEntry(nullptr, nullptr); // the runtime ends: nobody services any more
    }
}
} // namespace

TEST_CASE("what a dead block stood for is closed by an event, on the thread that looks after it",
          "[task][event][outside]") {
    Wards mine;
    wards = &mine;
    {
        Runtime runtime;
        REQUIRE(mprGetDispatcher());
        for (int i = 0; i < 3000; i++) {
            mprAllocManaged(100, manageEntry, 0);
            mprYield(0);
        }
        CHECK(serviceUntil([&] {
            mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
            return mine.closed == 3000;
        }));
        CHECK(mine.elsewhere == 0);
        const Root root(mprAllocManaged(100, manageEntry, 0));
    }
    CHECK(mine.closed == 3001);
}

TEST_CASE("posts are made events as events run, and all that were there before a call run in it",
          "[task][event][outside]") {
    Runtime runtime;
    reset();
    const int total = 5000;
    MprDispatcher *mine = mprCreateDispatcher("mine", 0);
    Root root(mine);
    REQUIRE(mprStartDispatcher(mine) == 0);
    int refused = 0;
    const auto flood = [&](MprDispatcher *last) {
        std::thread foreign([&] {
            for (int i = 0; i < total; i++) {
                refused += mprCreateEventOutside(i == total - 1 ? last : nullptr, proc(note), number(i)) != 0;
            }
        });
        mprYield(MPR_YIELD_STICKY);
        foreign.join();
        mprResetYield();
    };
    flood(nullptr);
    const int ran = mprServiceEvents(0, MPR_SERVICE_ONE_THING);
    CHECK(ran > 0);
    CHECK(ran + mprGetEventCount(nullptr) < 1000);
    CHECK(mprServiceEvents(0, MPR_SERVICE_NO_BLOCK) == total - ran);
    CHECK(inOrder(total));

    reset();
    flood(mine);
    CHECK(mprWaitForEvent(mine, 0, -1) == 0);
    CHECK(order == std::vector<long>{total - 1});
    CHECK(mprServiceEvents(0, MPR_SERVICE_NO_BLOCK) == total - 1);
    CHECK(refused == 0);
}

TEST_CASE("foreign threads post while runtimes come and go", "[task][event][outside]") {
    reset();
    std::atomic<bool> stop{false};
    std::atomic<long> accepted{0}, refused{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++) {
        threads.emplace_back([&] {
            while (!stop) {
                int result = mprCreateEventOutside(nullptr, proc(count), nullptr);
                (result == 0 ? accepted : refused)++;
                if (inTrial() && accepted % 16 == 0) {
                    pause(1); // or more comes than runs, with a collection after each
                } else if (result != 0 || accepted % 64 == 0) {
                    std::this_thread::yield();
                }
            }
        });
    }
    const auto both = [&] { return accepted > 0 && refused > 0; };
    for (int i = 0; i < 60 || (i < 2000 && !both()); i++) { // the threads may not have run yet
        Runtime runtime;
        mprGetDispatcher();
        mprServiceEvents(1, 0);
        if (i % 3 == 0) {
            collect();
        }
    }
    stop = true;
    for (auto &thread : threads) {
        thread.join();
    }
    CHECK(accepted > 0);
    CHECK(refused > 0);
    CHECK(runs <= accepted);
    CHECK(mprCreateEventOutside(nullptr, proc(count), nullptr) == MPR_ERR_BAD_STATE);
}

TEST_CASE("posts that find no memory are made events later", "[task][event][outside]") {
    Runtime runtime;
    reset();
    mprGetDispatcher();
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    for (int i = 0; i < 100; i++) {
        REQUIRE(mprCreateEventOutside(nullptr, proc(note), number(i)) == 0);
    }
    std::vector<void *> hoard;
    mprSetMemLimits(0, 1 << 20, 0);
    // Again after a collection, which gives back what was left over of larger pieces of memory.
    for (size_t size : {8192, 256, 16, 0, 256, 16}) {
        if (size == 0) {
            collect();
            continue;
        }
        while (void *block = mprAllocMem(size, MPR_ALLOC_HOLD)) {
            hoard.push_back(block);
        }
    }
    mprServiceEvents(5, 0);
    CHECK(runs < 100);
    CHECK(mprCreateEvent(nullptr, "none", 0, proc(note), nullptr, 0) == nullptr);
    for (void *block : hoard) {
        mprRelease(block);
    }
    mprSetMemLimits(0, 0, -1);
    collect();
    CHECK(serviceUntil([] { return runs == 100; }));
    CHECK(inOrder(100));
}

TEST_CASE("wrong calls are refused", "[task][event]") {
    {
        Runtime runtime;
        reset();
        CHECK(mprCreateEvent(nullptr, "none", 0, nullptr, nullptr, 0) == nullptr);
        CHECK(mprCreateEventOutside(nullptr, nullptr, nullptr) == MPR_ERR_BAD_ARGS);
        CHECK(mprStartDispatcher(nullptr) == MPR_ERR_BAD_ARGS);
        mprDestroyDispatcher(nullptr);
        mprRescheduleEvent(nullptr, 1);
        mprStopContinuousEvent(nullptr);
        mprRestartContinuousEvent(nullptr);
        CHECK(Log::size() == 0);
        std::atomic<bool> null{false};
        std::atomic<int> serviced{1};
        std::thread foreign([&] {
            null = mprCreateEvent(nullptr, "foreign", 0, proc(count), nullptr, 0) == nullptr;
            serviced = mprServiceEvents(0, 0);
        });
        foreign.join();
        CHECK(null);
        CHECK(serviced == 0);
        CHECK(runtime.log.has("mprCreateEvent"));
        CHECK(mprServiceEvents(0, 0) == 0);
    }
    CHECK(mprGetDispatcher() == nullptr);
    CHECK(runs == 0);
}

TEST_CASE("events made and removed by many threads at once", "[task][event]") {
    Runtime runtime;
    reset();
    std::atomic<bool> stop{false};
    std::atomic<long> made{0};
    static MprDispatcher *dispatchers[3];
    dispatchers[0] = mprGetDispatcher();
    dispatchers[1] = mprCreateDispatcher("one", 0);
    dispatchers[2] = mprCreateDispatcher("two", 0);
    mprAddRoot(dispatchers[1]);
    mprAddRoot(dispatchers[2]);
    {
        std::vector<std::unique_ptr<Mutator>> threads;
        for (unsigned t = 0; t < 3; t++) {
            threads.push_back(std::make_unique<Mutator>("maker", [&, t](Mutator &) {
                unsigned random = t;
                for (size_t i = 0; i < heavy(20000) && !stop; i++) {
                    random = random * 1664525 + 1013904223;
                    MprEvent *event = mprCreateEvent(dispatchers[(random >> 8) % 3], "any", (random >> 12) % 4,
                                                     proc(count), makeNode(), 0);
                    made++;
                    if (random >> 31) {
                        mprRescheduleEvent(event, (random >> 16) % 3);
                    }
                    if ((random >> 29) % 4 == 0) {
                        mprRemoveEvent(event);
                    }
                    mprYield(0);
                }
            }));
        }
        for (int i = 0; i < 60; i++) {
            mprServiceEvents(2, 0);
            mprGC(MPR_GC_FORCE);
        }
        stop = true;
    }
    CHECK(serviceUntil([] {
        return !mprDispatcherHasEvents(dispatchers[0]) && !mprDispatcherHasEvents(dispatchers[1]) &&
               !mprDispatcherHasEvents(dispatchers[2]);
    }));
    CHECK(runs > 0);
    mprRemoveRoot(dispatchers[1]);
    mprRemoveRoot(dispatchers[2]);
}

TEST_CASE("a thread that has to wait for events lets a collection begin when half a budget is spent", "[task][event]") {
    Runtime runtime("everyyield=0,young=4m");
    collect();
    const uint64 before = stats().collections;
    mprServiceEvents(20, 0);
    CHECK(stats().collectionsIdle == 0); // nothing to collect
    litter(3 << 20);
    mprServiceEvents(1, 0);
    CHECK(stats().collectionsIdle == 0); // no time
    CHECK(stats().collections == before);
    for (int tries = 0; tries < 50 && stats().collectionsIdle == 0; tries++) {
        mprServiceEvents(20, 0); // no time either if the processor is had only after most of it
    }
    CHECK(stats().collectionsIdle == 1);
    CHECK(until([&] { return stats().collections == before + 1; }));
    litter(3 << 20);
    mprEnableGC(false);
    mprServiceEvents(20, 0);
    CHECK(stats().collectionsIdle == 1);
    mprEnableGC(true);
}

namespace {
std::atomic<int> ran;
void *const noProc = reinterpret_cast<void *>(static_cast<MprEventProc>([](void *, MprEvent *) {}));
void *const noteRun = reinterpret_cast<void *>(static_cast<MprEventProc>([](void *, MprEvent *) { ran++; }));
} // namespace

TEST_CASE("managers queue nothing that is dead", "[task][event]") {
    Runtime runtime("poison=1");
    REQUIRE(mprGetDispatcher());
    static std::atomic<int> made;
    made = 0;
    useWhileDying([] { return mprCreateDispatcher("dead", MPR_DISPATCHER_IMMEDIATE); },
                  [](void *ptr) {
                      auto *dispatcher = static_cast<MprDispatcher *>(ptr);
                      made += mprCreateEvent(dispatcher, "late", 0, noProc, nullptr, 0) != nullptr;
                      made += mprCreateEvent(dispatcher, "late", 5, noProc, nullptr, 0) != nullptr;
                      made += mprCreateEventOutside(dispatcher, noProc, nullptr) == 0;
                      mprStartDispatcher(dispatcher);
                  });
    useWhileDying([] { return mprAlloc(40); },
                  [](void *ptr) {
                      made += mprCreateEvent(nullptr, "late", 0, noProc, ptr, 0) != nullptr;
                      made += mprCreateEventOutside(nullptr, noProc, ptr) == 0;
                  });
    useWhileDying([] { return mprCreateEvent(nullptr, "late", 0, noProc, nullptr, MPR_EVENT_DONT_QUEUE); },
                  [](void *ptr) {
                      mprRescheduleEvent(static_cast<MprEvent *>(ptr), 5);
                      mprRescheduleEvent(static_cast<MprEvent *>(ptr), 0);
                      mprRemoveEvent(static_cast<MprEvent *>(ptr));
                  });
    CHECK(made == 0);
    CHECK(stats().misuses == 8 * Dying::users);
    CHECK(mprGetEventCount(nullptr) == 0);
    collect();
    mprServiceEvents(0, 0);
    // What is alive is theirs to use.
    ran = 0;
    useWhileDying([] { return mprAlloc(40); },
                  [](void *) { mprCreateEvent(nullptr, "farewell", 0, noteRun, nullptr, 0); });
    CHECK(serviceUntil([] { return ran == Dying::users; }));
    CHECK(stats().misuses == 8 * Dying::users);
}

TEST_CASE("an event that was cancelled is not queued any more, whoever does so at that moment", "[task][event]") {
    Runtime runtime;
    reset();
    mpr::task::Events &all = mpr::task::events();
    MprDispatcher *dispatcher = mprCreateDispatcher("disabled", 0);
    Root root(dispatcher);
    mprDisableDispatcher(dispatcher); // what is queued stays where it can be seen
    for (int round = 0; round < 3000; round++) {
        auto *event = static_cast<mpr::task::Event *>(
            mprCreateEvent(dispatcher, "handler", 0, proc(count), nullptr, MPR_EVENT_DONT_QUEUE));
        REQUIRE(event);
        Root kept(event);
        std::atomic<int> begun{0};
        std::atomic<bool> over{false};
        {
            Mutator queues("queues", [&](Mutator &) {
                for (begun = 1; !over; begun++) {
                    all.queue(*event, MPR_READABLE);
                }
            });
            while (begun < 10) {
                mprYield(0); // a pause may keep the other from being attached
            }
            all.cancel(*event);
            over = true;
        }
        const bool queued = mprDispatcherHasEvents(dispatcher);
        REQUIRE_FALSE(queued);
    }
    mprEnableDispatcher(dispatcher);
    CHECK(runs == 0);
}

TEST_CASE("a thread that waits for an event ends its wait when the dispatcher is destroyed", "[task][event]") {
    const bool started = GENERATE(false, true); // else the thread itself services
    const bool claims = GENERATE(false, true);
    Runtime runtime;
    reset();
    if (started) {
        REQUIRE(mprStart() == 0);
    }
    MprDispatcher *dispatcher = mprCreateDispatcher("going", 0);
    Root root(dispatcher);
    std::atomic<int> result{0};
    std::atomic<bool> waits{false};
    Mutator waiter("waiter", [&](Mutator &) {
        if (claims) {
            mprStartDispatcher(dispatcher);
        }
        waits = true;
        result = mprWaitForEvent(dispatcher, -1, -1);
    });
    REQUIRE(until([&] { return waits.load(); }));
    sleepYielded(20); // most often it sleeps by then
    mprDestroyDispatcher(dispatcher);
    waiter.join();
    CHECK(result == MPR_ERR_BAD_STATE);
}
