// SPDX-License-Identifier: MIT
/*
    test/checked/core.cpp - The assertions of heap and collector fire. Core has MPR_CHECKED here, whatever the build.
 */
#include "mpr/gc/manager.hpp"
#include "mpr/gc/runtime.hpp"
#include "test/support/dies.hpp"
#include "test/support/runtime.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

using namespace mpr;
using test::failsWith;
using test::Runtime;

namespace {
gc::Collector &collector() {
    return gc::runtime().collector;
}
} // namespace

TEST_CASE("a runtime with all assertions collects", "[checked]") {
    Runtime runtime;
    for (int i = 0; i < 100; i++) {
        mprAddRoot(mprAlloc(100));
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    }
}

TEST_CASE("assertOnDuty fires outside the collector", "[checked]") {
    Runtime runtime;
    CHECK(failsWith("the lock is held by this thread (", [] { collector().assertOnDuty(); }));
}

TEST_CASE("assertStopped fires while threads run", "[checked]") {
    Runtime runtime;
    CHECK(failsWith("assertion failed: ", [] { collector().assertStopped(); }));
}

TEST_CASE("assertRunning fires for another thread, and for one that has yielded", "[checked]") {
    Runtime runtime;
    gc::Mutator &self = *gc::attached;
    // A child of fork is attached to nothing: it is told that it runs.
    const auto firesFor = [&](const gc::Mutator &m) {
        return failsWith("the thread runs, and is the calling one", [&] {
            gc::current = &self;
            gc::assertRunning(m);
        });
    };
    CHECK_FALSE(firesFor(self));
    CHECK(firesFor(gc::Mutator()));
    mprYield(MPR_YIELD_STICKY);
    CHECK(firesFor(self));
    mprResetYield();
    CHECK_FALSE(firesFor(self));
}

TEST_CASE("a mark stack is not popped when empty", "[checked]") {
    static gc::MarkEntry entries[4];
    CHECK(failsWith("!empty()", [] {
        gc::MarkStack stack;
        stack.open(entries, sizeof(entries));
        static_cast<void>(stack.pop());
    }));
}

TEST_CASE("no more is given back than was committed", "[checked]") {
    CHECK(failsWith("bytes <= committed_", [] {
        heap::Limits limits;
        limits.commit(10);
        limits.uncommit(11);
    }));
}

TEST_CASE("parts of the heap are not used without its lock", "[checked]") {
    static os::Lock lock;
    CHECK(failsWith("the lock is held by this thread", [] { heap::SweepState(lock).setTracing(true); }));
    CHECK(failsWith("the lock is held by this thread", [] { heap::SweepState(lock).unmarkYoung(); }));
    CHECK(failsWith("the lock is held by this thread", [] { heap::RetiredRegions(lock).take(1); }));
}

TEST_CASE("a piece of a region is in one set of spans at most", "[checked]") {
    const auto checks = [](std::uint64_t filling, std::uint64_t sparse) {
        static heap::Spans spans;
        spans.filling = filling;
        spans.sparse = sparse;
        spans.check();
    };
    checks(1, 0);
    CHECK(failsWith("(any & set) == 0", [&] { checks(1, 1); }));
}

TEST_CASE("a span that is not in one set is not moved to another", "[checked]") {
    CHECK(failsWith("(from & bit) != 0", [] {
        std::uint64_t from = 0;
        std::uint64_t to = 0;
        heap::Spans::move(3, from, to);
    }));
}

TEST_CASE("no hole is taken from an empty queue", "[checked]") {
    static heap::FreeQueues queues;
    queues.open(12345);
    queues.check();
    CHECK(failsWith("assertion failed: hole (", [] { queues.removeFront(5, [](const void *) { return true; }); }));
}

TEST_CASE("an allocation context lies in order", "[checked]") {
    static heap::Byte memory[64];
    heap::AllocationContext context;
    context.check();
    context.begin = context.bump = context.limit = context.cleared = memory + 32;
    context.end = memory;
    CHECK(failsWith("assertion failed: ", [&] { context.check(); }));
}

TEST_CASE("no thread leaves a rendezvous that it did not enter", "[checked]") {
    static gc::Rendezvous rendezvous;
    CHECK(failsWith("word >= step", [] { rendezvous.leave(); }));
}

// ---- Locks and what is called with them -----------------------------------------------------------------------------

namespace {
void say() {
    os::Message message;
    os::log(os::Level::info, message << "said");
}
} // namespace

TEST_CASE("nothing is logged by a thread that holds a lock", "[checked]") {
    CHECK(failsWith("the thread holds no lock", [] {
        os::Lock lock;
        lock.lock();
        say();
    }));
    CHECK(failsWith("the thread holds no lock", [] {
        os::Lock first, second;
        first.lock();
        second.tryLock();
        first.unlock();
        say();
    }));
    CHECK_FALSE(failsWith("", [] {
        os::Lock counted, outermost{os::outermost};
        counted.lock();
        counted.unlock();
        outermost.lock();
        say();
        outermost.unlock();
        say();
    }));
}

TEST_CASE("a thread that names findings of the heap holds no lock", "[checked]") {
    Runtime runtime;
    CHECK(failsWith("the thread holds no lock", [] {
        os::Lock lock;
        lock.lock();
        gc::runtime().heap.endQuarantine(true);
    }));
}

TEST_CASE("a thread that gives up stopping the others stays stopped while one of them has stopped all", "[checked]") {
    Runtime runtime("deadline=1");
    std::atomic<int> refused{0}, wentOn{0}, ready{0};
    const auto stops = [&] {
        mprAttachThread("stops");
        ready++;
        while (ready < 2) {
            mprYield(0);
        }
        const bool did = collector().stopOthers([&] {
            const int before = refused;
            for (int ms = 0; ms < 60; ms++) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            wentOn += refused != before;
        });
        refused += !did;
        if (did) {
            // It runs on without a yield, so that the other, whose time is up, finds it running.
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        mprDetachThread();
    };
    mprYield(MPR_YIELD_STICKY);
    for (int turn = 0; turn < 20 && refused < 3; turn++) {
        ready = 0;
        std::thread first(stops), second(stops);
        first.join();
        second.join();
    }
    mprResetYield();
    CHECK(refused > 0);
    CHECK(wentOn == 0);
}

TEST_CASE("a thread that waits at the gate is asked before each nap how long", "[checked]") {
    gc::Rendezvous rendezvous;
    rendezvous.close();
    std::uint64_t naps[] = {1'000'000, 2'000'000, 3'000'000}, napped[3] = {};
    std::atomic<unsigned> looks{0};
    std::thread waits([&] {
        rendezvous.enter([&] { return naps[std::min(looks.load(), 2u)]; },
                         [&](std::uint64_t time) {
                             napped[std::min(looks.load(), 2u)] = time;
                             looks++;
                         },
                         os::wait);
    });
    while (looks < 3) {
        std::this_thread::yield();
    }
    rendezvous.open();
    waits.join();
    CHECK(std::equal(naps, naps + 3, napped));
}

TEST_CASE("there is a number for the manager of overwritten blocks, however many others there are", "[checked]") {
    Runtime runtime;
    static gc::Managers managers;
    managers.open();
    std::uintptr_t address = 0x10000;
    unsigned given = 0;
    while (managers.numberOf(reinterpret_cast<MprManager>(address)) != gc::Managers::none) {
        address += 16;
        given++;
    }
    CHECK(given == gc::Managers::most - 2);
    CHECK(test::Log::has("no number for"));
    CHECK(managers.numberOf(gc::manageOverwritten) != gc::Managers::none);
}
