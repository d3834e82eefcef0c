// SPDX-License-Identifier: MIT
/*
    test/gc/suspension.cpp - Handlers hear of each stop, and every nanosecond of lost time has its cause.
 */
#include "test/catch.hpp"

#include "mpr.h"
#include "test/support/every_yield.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/one_processor.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

using namespace test;

namespace {

/* A handler that writes down what it hears, in the order in which it hears it. Memory is reserved before. */
class Observer {
public:
    enum What { blocks, begins, ends, resumes };
    struct Event {
        What what;
        std::thread::id thread;
        int generation;
        MprSuspension suspension;
        std::string name;
    };

    Observer() { REQUIRE(mprAddSuspensionHandler(&handler) == 0); }
    ~Observer() { mprRemoveSuspensionHandler(&handler); }
    Observer(const Observer &) = delete;
    Observer &operator=(const Observer &) = delete;

    std::vector<Event> taken() {
        const std::lock_guard<std::mutex> locked(mutex);
        return events;
    }
    void clear() {
        const std::lock_guard<std::mutex> locked(mutex);
        events.clear();
    }
    /* What was lost altogether, by a thread of that name or by all. */
    MprLostTime lost(const std::string &name = "") {
        MprLostTime sum{};
        for (const Event &event : taken()) {
            if (event.what == resumes && (name.empty() || event.name == name)) {
                sum.count += event.suspension.lost.count;
                sum.total += event.suspension.lost.total;
                sum.others += event.suspension.lost.others;
                sum.marking += event.suspension.lost.marking;
                sum.assisting += event.suspension.lost.assisting;
                sum.memory += event.suspension.lost.memory;
            }
        }
        return sum;
    }
    size_t count(What what, int generation) {
        const auto all = taken();
        return static_cast<size_t>(std::count_if(all.begin(), all.end(), [=](const Event &event) {
            return event.what == what && event.generation == generation;
        }));
    }

    const MprSuspensionHandler handler{
        [](void *self) { static_cast<Observer *>(self)->note(blocks, 0, nullptr); },
        [](void *self) { static_cast<Observer *>(self)->note(begins, 0, nullptr); },
        [](void *self, int generation) { static_cast<Observer *>(self)->note(ends, generation, nullptr); },
        [](void *self, const MprSuspension *suspension) {
            static_cast<Observer *>(self)->note(resumes, suspension->generation, suspension);
        },
        this};

private:
    void note(What what, int generation, const MprSuspension *suspension) {
        const std::lock_guard<std::mutex> locked(mutex);
        events.push_back({what, std::this_thread::get_id(), generation, suspension ? *suspension : MprSuspension{},
                          suspension ? suspension->thread : ""});
    }

    std::mutex mutex;
    std::vector<Event> events;
};

bool same(const MprLostTime &a, const MprLostTime &b) {
    return a.count == b.count && a.total == b.total && a.others == b.others && a.marking == b.marking &&
           a.assisting == b.assisting && a.memory == b.memory;
}

/* Each beginning has its end, on its thread, and nothing lies between those of one thread but what belongs there. */
void checkPairs(const std::vector<Observer::Event> &events) {
    std::set<std::thread::id> blocked;
    std::thread::id stopper;
    bool stopped = false;
    size_t wrong = 0;
    for (const auto &event : events) {
        switch (event.what) {
        case Observer::blocks: wrong += !blocked.insert(event.thread).second; break;
        case Observer::resumes: wrong += blocked.erase(event.thread) != 1; break;
        case Observer::begins:
            wrong += stopped;
            stopped = true;
            stopper = event.thread;
            break;
        case Observer::ends:
            wrong += !stopped || stopper != event.thread;
            stopped = false;
            break;
        }
    }
    CHECK(wrong == 0);
    CHECK(!stopped);
    CHECK(blocked.empty());
}

/* The parts are the whole, and suspensions of one thread follow one another. */
void checkTimes(const std::vector<Observer::Event> &events) {
    size_t wrong = 0;
    std::vector<std::pair<std::string, unsigned long long>> last;
    for (const auto &event : events) {
        if (event.what != Observer::resumes) {
            continue;
        }
        const MprLostTime &lost = event.suspension.lost;
        wrong += lost.count != 1 || lost.total != lost.others + lost.marking + lost.assisting + lost.memory;
        const std::string key = event.name + std::to_string(event.suspension.number);
        auto found = std::find_if(last.begin(), last.end(), [&](const auto &entry) { return entry.first == key; });
        if (found == last.end()) {
            found = last.insert(last.end(), {key, 0});
        }
        wrong += event.suspension.begin < found->second;
        found->second = event.suspension.begin + lost.total;
    }
    CHECK(wrong == 0);
}

constexpr unsigned long long ms = 1'000'000;

void sleepInMark(void *, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        pause(20);
    }
}

void sleepInFree(void *, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        pause(20);
    }
}

void allocateAndYield(Mutator &self) {
    while (self.go()) {
        for (int i = 0; i < 100; i++) {
            mprAlloc(200);
        }
        mprYield(0);
    }
}
} // namespace

TEST_CASE("each stop is told from its beginning to its end, and its time is accounted without a gap",
          "[gc][suspension]") {
    Observer observer;
    {
        Runtime runtime("young=64k");
        {
            Mutator one("one", allocateAndYield), two("two", allocateAndYield);
            Mutator three("three", [](Mutator &self) {
                while (self.go()) {
                    mprYield(MPR_YIELD_STICKY);
                    mprResetYield();
                    mprSetThreadYield(nullptr, false);
                    mprSetThreadYield(nullptr, true);
                }
            });
            for (int i = 0; i < 20; i++) {
                mprGC(i % 2 ? MPR_GC_FORCE : MPR_GC_MINOR);
                mprVerifyHeap();
                mprYield(i % 3 ? MPR_YIELD_COMPLETE : MPR_YIELD_DEFAULT);
            }
        }
        const auto events = observer.taken();
        checkPairs(events);
        checkTimes(events);
        CHECK(events.size() > 80);
        MprLostTime total;
        mprGetLostTime(&total);
        CHECK(same(total, observer.lost()));
        MprThreadLostTime threads[4];
        REQUIRE(mprGetLostTimes(threads, 4) == 1);
        CHECK(std::string(threads[0].thread) == "main");
        CHECK(same(threads[0].lost, observer.lost("main")));
        CHECK(mprGetLostTimes(nullptr, 0) == 1);
    }
    checkPairs(observer.taken()); // and so is the end of the runtime
    CHECK(observer.taken().back().what == Observer::resumes);
    CHECK(observer.taken().back().generation == MPR_GENERATION_NONE);
}

TEST_CASE("a stop is told with what it has collected", "[gc][suspension]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    std::atomic<bool> waits{true};
    Mutator other("other", [&](Mutator &self) {
        while (self.go()) {
            mprYield(0);
        }
        while (waits) {
            mprYield(0);
        }
    });
    collect();
    Observer observer;
    SECTION("the young") {
        mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
        CHECK(observer.count(Observer::ends, MPR_GENERATION_YOUNG) == 1);
        CHECK(observer.count(Observer::resumes, MPR_GENERATION_YOUNG) >= 1);
    }
    SECTION("all") {
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        CHECK(observer.count(Observer::ends, MPR_GENERATION_ALL) >= 1);
        CHECK(observer.count(Observer::resumes, MPR_GENERATION_ALL) >= 1);
    }
    SECTION("nothing") {
        CHECK(mprVerifyHeap() == 0);
        CHECK(observer.count(Observer::ends, MPR_GENERATION_NONE) == 1);
        CHECK(observer.count(Observer::ends, MPR_GENERATION_YOUNG) == 0);
        CHECK(observer.count(Observer::ends, MPR_GENERATION_ALL) == 0);
    }
    CHECK(observer.count(Observer::begins, 0) >= 1);
    waits = false;
}

TEST_CASE("time in which the collector marks is marking, for the thread that marks and for those that wait",
          "[gc][suspension]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    void *block = mprAllocManaged(16, sleepInMark, 0);
    mprAddRoot(block);
    Observer observer;
    {
        Mutator other("other", [](Mutator &self) {
            while (self.go()) {
                mprYield(0);
            }
        });
        mprGC(MPR_GC_FORCE);
    }
    CHECK(observer.lost("main").marking >= 20 * ms);
    CHECK(observer.lost("other").marking >= 20 * ms);
    mprRemoveRoot(block);
}

TEST_CASE("so it is for a thread that ends a yield in the midst of a pause", "[gc][suspension]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    static std::atomic<bool> marks, waits;
    marks = waits = false;
    static std::thread::id late;
    late = {};
    void *block = mprAllocManaged(
        16,
        [](void *, int flags) {
            if ((flags & MPR_MANAGE_MARK) && !marks.exchange(true)) {
                untilUnyielded([] { return waits.load(); }); // however late the other thread is
                pause(20);
            }
        },
        0);
    mprAddRoot(block);
    const MprSuspensionHandler tells{[](void *) { waits = waits || std::this_thread::get_id() == late; }, nullptr,
                                     nullptr, nullptr, nullptr};
    Observer observer;
    REQUIRE(mprAddSuspensionHandler(&tells) == 0);
    {
        Mutator other("other", [](Mutator &self) {
            mprYield(MPR_YIELD_STICKY);
            untilUnyielded([] { return marks.load(); });
            late = std::this_thread::get_id();
            mprResetYield();
            while (self.go()) {
                mprYield(0);
            }
        });
        mprGC(MPR_GC_FORCE);
    }
    CHECK(mprRemoveSuspensionHandler(&tells) == 0);
    const MprLostTime lost = observer.lost("other");
    CHECK(lost.marking > 0);
    CHECK(lost.memory == 0);
    mprRemoveRoot(block);
}

TEST_CASE("time in which others do not stop is waiting for others", "[gc][suspension]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    std::atomic<int> stage{0};
    Observer observer;
    {
        Mutator other("other", [&](Mutator &self) {
            stage = 1;
            untilUnyielded([&] { return stage.load() == 2 || mprNeedYield(); });
            pause(30);
            while (self.go()) {
                mprYield(0);
            }
        });
        mprGC(MPR_GC_FORCE);
        stage = 2;
    }
    CHECK(observer.lost("main").others >= 20 * ms);
}

TEST_CASE("time until memory is swept is waiting for memory", "[gc][suspension]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    mprAllocManaged(16, sleepInFree, 0);
    Observer observer;
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(observer.lost("main").memory >= 20 * ms);
}

TEST_CASE("steps of the collector's work are assisting", "[gc][suspension]") {
    const OneProcessor here;
    Runtime runtime("everyyield=0,everyalloc=0,young=256k,pausebudget=200");
    constexpr size_t many = 50000;
    Root root(makeTable(many));
    Observer observer;
    for (size_t i = 0; i < 100 * many && stats().assists < 20 && !inTrial(); i++) {
        root.as<Table>()->items[i % many] = mprAlloc(100);
        mprYield(0);
    }
    CHECK((stats().assists >= 20 || inTrial()));
    CHECK((observer.lost("main").assisting > 0 || inTrial()));
    MprLostTime lost;
    mprGetLostTime(&lost);
    CHECK(same(lost, observer.lost()));
}

TEST_CASE("a handler that comes or goes in the midst of a stop is told of no half", "[gc][suspension]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    static MprSuspensionHandler late, early;
    static int resumed;
    resumed = 0;
    early = {nullptr, nullptr, nullptr, [](void *, const MprSuspension *) { resumed++; }, nullptr};
    late = early;
    MprSuspensionHandler adds{[](void *) { mprAddSuspensionHandler(&late); }, nullptr, nullptr, nullptr, nullptr};
    REQUIRE(mprAddSuspensionHandler(&adds) == 0);
    mprGC(MPR_GC_FORCE);
    CHECK(resumed == 0);
    CHECK(mprRemoveSuspensionHandler(&adds) == 0);
    mprGC(MPR_GC_FORCE);
    CHECK(resumed == 1);
    CHECK(mprRemoveSuspensionHandler(&late) == 0);
    mprGC(MPR_GC_FORCE);
    CHECK(resumed == 1);
}

namespace {
/* A handler that comes back: what it is told, and how far that is. */
struct Returned {
    std::atomic<int> blocks{0}, begins{0}, ends{0}, resumes{0};
    std::atomic<int> step{0}; // 1: marking, 2: the handler has come back
};
Returned returned;
} // namespace

TEST_CASE("a handler that goes and comes back in the midst of a stop is told of no half", "[gc][suspension]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    static MprSuspensionHandler handler;
    handler = {[](void *) { returned.blocks++; }, [](void *) { returned.begins++; },
               [](void *, int) { returned.ends++; }, [](void *, const MprSuspension *) { returned.resumes++; },
               nullptr};
    returned.step = 0;
    void *block = mprAllocManaged(
        16,
        [](void *, int flags) {
            if ((flags & MPR_MANAGE_MARK) && returned.step == 0) {
                returned.step = 1;
                untilUnyielded([] { return returned.step == 2; });
            }
        },
        0);
    mprAddRoot(block);
    REQUIRE(mprAddSuspensionHandler(&handler) == 0);
    std::thread returns([] {
        untilUnyielded([] { return returned.step == 1; });
        mprRemoveSuspensionHandler(&handler);
        returned.blocks = returned.begins = returned.ends = returned.resumes = 0;
        mprAddSuspensionHandler(&handler);
        returned.step = 2;
    });
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    mprYield(MPR_YIELD_STICKY);
    returns.join();
    mprResetYield();
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprRemoveSuspensionHandler(&handler) == 0);
    CHECK(returned.resumes == returned.blocks);
    CHECK(returned.ends == returned.begins);
    CHECK(returned.begins > 0);
    mprRemoveRoot(block);
}

TEST_CASE("without a handler nothing is measured", "[gc][suspension]") {
    Runtime runtime("young=64k");
    for (int i = 0; i < 10; i++) {
        mprGC(MPR_GC_FORCE);
    }
    MprLostTime lost;
    mprGetLostTime(&lost);
    CHECK(lost.count == 0);
    CHECK(lost.total == 0);
}

TEST_CASE("four handlers can be added, each once", "[gc][suspension]") {
    const MprSuspensionHandler handlers[5] = {};
    CHECK(mprAddSuspensionHandler(nullptr) == MPR_ERR_BAD_ARGS);
    CHECK(mprRemoveSuspensionHandler(nullptr) == MPR_ERR_CANT_FIND);
    for (int i = 0; i < 4; i++) {
        CHECK(mprAddSuspensionHandler(handlers + i) == 0);
        CHECK(mprAddSuspensionHandler(handlers + i) == MPR_ERR_ALREADY_EXISTS);
    }
    CHECK(mprAddSuspensionHandler(handlers + 4) == MPR_ERR_TOO_MANY);
    CHECK(mprRemoveSuspensionHandler(handlers + 4) == MPR_ERR_CANT_FIND);
    for (int i = 0; i < 4; i++) {
        CHECK(mprRemoveSuspensionHandler(handlers + i) == 0);
        CHECK(mprRemoveSuspensionHandler(handlers + i) == MPR_ERR_CANT_FIND);
    }
}

TEST_CASE("a pause whose handler goes is counted to its end", "[gc][suspension]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    static MprSuspensionHandler handler;
    handler = {};
    static std::atomic<bool> removes;
    removes = false;
    void *block = mprAllocManaged(
        16,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_MARK) {
                removes = true;
                pause(30);
            }
        },
        0);
    mprAddRoot(block);
    REQUIRE(mprAddSuspensionHandler(&handler) == 0);
    {
        std::thread remover([] {
            untilUnyielded([] { return removes.load(); });
            mprRemoveSuspensionHandler(&handler);
        });
        mprGC(MPR_GC_FORCE);
        mprYield(MPR_YIELD_STICKY);
        remover.join();
        mprResetYield();
    }
    mprRemoveRoot(block);
    // Were the pause still counted, all later time would be marking.
    Observer observer;
    mprAllocManaged(16, sleepInFree, 0);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(observer.lost("main").memory >= 20 * ms);
}
