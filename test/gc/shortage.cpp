// SPDX-License-Identifier: MIT
/*
    test/gc/shortage.cpp - Memory is short while most of the heap is garbage, and a thread needs some that does not run.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/refusals.hpp"
#include "test/support/runtime.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using namespace test;

namespace {

constexpr size_t limit = 4 << 20;

/* Garbage up to the limit. */
void fillUp() {
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    mprSetMemLimits(0, limit, 0);
    while (mprAlloc(200)) {}
}

/* Of a thread that is not attached, try some work many times while this one makes garbage. @return How often it was done. */
template <class Work>
int beside(int times, Work work) {
    std::atomic<bool> done{false};
    std::atomic<int> successes{0};
    std::thread thread([&] {
        for (int i = 0; i < times; i++) {
            successes += work();
        }
        done = true;
    });
    while (!done) {
        for (size_t i = 0; i < 200; i++) {
            if (!mprAlloc(i)) {
                mprYield(MPR_YIELD_COMPLETE);
            }
        }
        mprYield(MPR_YIELD_DEFAULT);
    }
    thread.join();
    return successes;
}

} // namespace

TEST_CASE("permanent memory for a foreign thread is taken from garbage", "[gc][shortage][port]") {
    Runtime runtime("young=1m");
    fillUp();
    std::array<void *, 50> blocks{};
    Random random(3);
    const int done = beside(1000, [&] {
        void *&block = blocks[random.below(blocks.size())];
        pfree(block);
        block = palloc(random.below(20480));
        return block != nullptr;
    });
    CHECK(done > 990);
    for (void *block : blocks) {
        pfree(block);
    }
    CHECK(stats().misuses == 0);
}

TEST_CASE("permanent memory for a thread that has yielded is taken from garbage", "[gc][shortage][port]") {
    Runtime runtime("region=256k,young=1m");
    fillUp();
    int done = 0, refusedAtOnce = 0;
    for (int i = 0; i < 100; i++) {
        while (mprAlloc(200)) {}
        mprYield(MPR_YIELD_STICKY);
        const auto begin = std::chrono::steady_clock::now();
        void *const block = palloc(100'000);
        // It waits half a second for a collection, which may not do on a machine that is busy.
        const bool waited = std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(400);
        done += block != nullptr;
        refusedAtOnce += !block && !waited;
        pfree(block);
        mprResetYield();
    }
    CHECK(refusedAtOnce == 0);
    CHECK(done > 50);
    CHECK(stats().misuses == 0);
}

TEST_CASE("a thread attaches though the heap is full of garbage", "[gc][shortage][port]") {
    Runtime runtime("region=256k,young=1m");
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    for (size_t i = 0; i < 4 * limit / 200; i++) {
        mprAlloc(200);
        mprYield(MPR_YIELD_DEFAULT);
    }
    // All of this is committed already, so there is no reserve.
    mprSetMemLimits(0, static_cast<ssize>(stats().bytesLive + 64 * 1024), 0);
    constexpr int times = 20;
    int attachedTimes = 0;
    for (int i = 0; i < times; i++) {
        while (mprAlloc(200)) {}
        std::atomic<bool> begins{false}, done{false};
        std::thread thread([&] {
            begins = true;
            if (mprAttachThread("late") == 0) {
                attachedTimes++;
                mprDetachThread();
            }
            done = true;
        });
        untilUnyielded([&] { return begins.load(); });
        test::pause(2); // a single try is over
        while (!done) {
            mprYield(MPR_YIELD_DEFAULT);
        }
        thread.join();
    }
    CHECK(attachedTimes > times / 2);
}

TEST_CASE("without garbage a foreign thread is refused in the end, and that is counted", "[gc][shortage][port]") {
    Runtime runtime("region=256k,young=1m");
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    mprSetMemLimits(0, limit, 0);
    const uint64 before = stats().errors;
    void *block = runtime.mpr;
    std::thread([&] { block = palloc(2 * limit); }).join();
    CHECK_FALSE(block);
    CHECK(stats().errors == before + 1);
}

namespace {

/* Sizes of one kind, 0 to 2, as many as a thread asks for. */
size_t sizeOf(int kind, Random &random, size_t turn) {
    return kind == 0 ? 16 + random.below(4081) : kind == 1 ? 4096 + random.below(16385) : turn % 2 ? 4096 : 32;
}

/* Under a small limit, allocate and yield with little that lives. */
struct Crowd {
    Refusals refusals;
    std::atomic<size_t> done{0};

    void work(unsigned seed, int kind, size_t times) {
        const size_t keep = kind == 1 ? 2 : 8;
        Root root(makeTable(keep));
        Random random(seed);
        for (size_t i = 0; i < times; i++) {
            const size_t size = sizeOf(kind, random, i);
            if (void *block = refusals.allocate(size)) {
                memset(block, 1, size);
                if (random.below(3) == 0) {
                    root.as<Table>()->items[random.below(keep)] = block;
                }
            }
            if (i % 2) {
                mprYield(0);
            }
        }
        done++;
    }
};

} // namespace

TEST_CASE("threads that share a small limit are not refused again after a complete yield", "[gc][shortage]") {
    const int kind = GENERATE(0, 1, 2);
    Runtime runtime;
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    mprSetMemLimits(0, 2 << 20, -1);
    constexpr unsigned threads = 16;
    Crowd crowd;
    std::vector<std::unique_ptr<Mutator>> mutators;
    for (unsigned i = 0; i < threads; i++) {
        mutators.push_back(
            std::make_unique<Mutator>("one", [&crowd, kind, i](Mutator &) { crowd.work(i + 1, kind, heavy(4000)); }));
    }
    for (auto &each : mutators) {
        each->join();
    }
    CHECK(crowd.done == threads);
    CHECK(crowd.refusals.countAgain() == 0);
    CHECK(mprVerifyHeap() == 0);
    CHECK(stats().misuses == 0);
}

namespace {

/* Counts how often its thread blocks. */
class Blockings {
public:
    Blockings() { REQUIRE(mprAddSuspensionHandler(&handler) == 0); }
    ~Blockings() { mprRemoveSuspensionHandler(&handler); }
    Blockings(const Blockings &) = delete;
    Blockings &operator=(const Blockings &) = delete;

    int count() const { return times; }

private:
    static void blocks(void *data) {
        auto *self = static_cast<Blockings *>(data);
        self->times += std::this_thread::get_id() == self->thread;
    }

    const std::thread::id thread = std::this_thread::get_id();
    std::atomic<int> times{0};
    const MprSuspensionHandler handler{blocks, nullptr, nullptr, nullptr, this};
};

/* A dead block whose manager does not return before it is told to. */
class Stuck {
public:
    Stuck() {
        frees.close();
        inside = false;
        mprAllocManaged(100, manage, 0);
    }
    ~Stuck() { end(); }
    Stuck(const Stuck &) = delete;
    Stuck &operator=(const Stuck &) = delete;

    void await() const {
        until([] { return inside.load(); });
    }
    void end() { frees.open(); }

private:
    static void manage(void *, int flags) {
        if (flags & MPR_MANAGE_FREE) {
            inside = true;
            untilUnyielded([] { return frees.isOpen(); });
        }
    }
    static inline Gate frees;
    static inline std::atomic<bool> inside;
};

/*
    All is garbage up to the limit, a thread that was refused waits for memory, and a manager keeps the sweep from its end: this
    thread has to make way, and to do it once. Memory that it frees by hand it can have at once.
    @param couldGrow Whether the heap could when the other thread began to wait.
 */
void checkMakesWay(bool couldGrow) {
    Runtime runtime("everyyield=0,everyalloc=0");
    fillUp();
    mprYield(MPR_YIELD_COMPLETE);
    Root kept(mprAlloc(2000));
    Stuck stuck;
    while (mprAlloc(200)) {}
    std::atomic<const Blockings *> refused{nullptr};
    std::atomic<bool> goesOn{false};
    Mutator waits("waits", [&](Mutator &) {
        while (mprAlloc(5000)) {}
        const Blockings own;
        refused = &own;
        untilUnyielded([&] { return goesOn.load(); });
        mprYield(MPR_YIELD_COMPLETE);
    });
    untilUnyielded([&] { return refused.load() != nullptr; });
    if (couldGrow) {
        mprSetMemLimits(0, limit + limit / 4, 0);
    }
    goesOn = true;
    if (couldGrow) {
        untilUnyielded([&] { return refused.load()->count() > 0; });
        test::pause(20); // and what it asks of the heap in the next microseconds is asked
        mprSetMemLimits(0, limit, 0);
    }
    stuck.await();
    void *block = kept.as<void>();
    kept.set(nullptr);
    int turns = 0;
    Blockings blockings;
    untilUnyielded([&] {
        mprFree(block);
        block = mprAlloc(2000);
        turns += blockings.count() > 0;
        return !block || turns == 20;
    });
    const int blocked = blockings.count();
    stuck.end();
    waits.join();
    CHECK(block);
    CHECK(turns == 20);
    CHECK(blocked == 1);
}

} // namespace

TEST_CASE("nobody makes way for what nobody can give", "[gc][shortage]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    mprSetMemLimits(0, 64 << 20, -1);
    Stuck stuck;
    const size_t size = GENERATE(size_t{65} << 20, size_t{40} << 20);
    Root living(mprAlloc(30 << 20)); // so both sizes are refused, the second for want of memory
    std::atomic<bool> refused{false};
    Mutator waits("waits", [&](Mutator &) {
        refused = mprAlloc(size) == nullptr;
        mprYield(MPR_YIELD_COMPLETE);
    });
    stuck.await();
    until([&] { return refused.load(); });
    sleepYielded(20); // it waits now
    {
        Blockings blockings;
        for (int i = 0; i < 2000; i++) {
            mprAlloc(1000); // which takes many contexts
        }
        CHECK(blockings.count() == 0);
    }
    stuck.end();
    waits.join();
    CHECK(refused);
}

TEST_CASE("whoever makes way for others does it once in a sweep, though a manager keeps that from its end",
          "[gc][shortage]") {
    checkMakesWay(false);
}

TEST_CASE("whoever was refused is served first, though the heap could have grown when it began to wait",
          "[gc][shortage]") {
    checkMakesWay(true);
}

TEST_CASE("sixty threads have a context each though all may have but 2 MB", "[gc][shortage]") {
    Runtime runtime;
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    mprSetMemLimits(0, 2 << 20, -1);
    constexpr int threads = 60;
    std::atomic<int> came{0}, served{0};
    std::vector<std::unique_ptr<Mutator>> mutators;
    for (int i = 0; i < threads; i++) {
        mutators.push_back(std::make_unique<Mutator>("one", [&](Mutator &) {
            served += mprAlloc(100) && mprAlloc(2000);
            came++;
            untilUnyielded([&] { return came == threads; });
        }));
    }
    for (auto &each : mutators) {
        each->join();
    }
    CHECK(served == threads);
}

TEST_CASE("what was earmarked for a thread is free when the thread stops without having used it", "[gc][shortage]") {
    constexpr size_t size = sizeof(void *) == 8 ? 300'000 : 75'000; // less than half a region
    Runtime runtime;
    fillUp();
    const auto refuse = [] {
        while (mprAlloc(size)) {}
        mprYield(MPR_YIELD_COMPLETE);
    };
    SECTION("at its next yield") {
        refuse();
        const uint64 live = stats().bytesLive;
        sleepYielded(0);
        CHECK(stats().bytesLive + size <= live);
    }
    SECTION("when it leaves") {
        uint64 live = 0;
        Mutator other("refused", [&](Mutator &) {
            refuse();
            live = stats().bytesLive;
        });
        other.join();
        CHECK(stats().bytesLive + size <= live);
    }
    SECTION("or used by an allocation that is smaller") {
        refuse();
        const uint64 live = stats().bytesLive;
        while (mprAlloc(size - 1000)) {}
        CHECK(stats().bytesLive >= live);
        CHECK(stats().bytesLive <= limit);
    }
    CHECK(mprVerifyHeap() == 0);
    mprYield(MPR_YIELD_COMPLETE);
    CHECK(mprAlloc(size));
}
