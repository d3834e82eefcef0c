// SPDX-License-Identifier: MIT
/*
    test/gc/shortage.cpp - Memory is short while most of the heap is garbage, and a thread needs some that does not run.
 */
#include "test/support/mutator.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"

#include <array>
#include <atomic>
#include <thread>

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
    int done = 0;
    for (int i = 0; i < 100; i++) {
        while (mprAlloc(200)) {}
        mprYield(MPR_YIELD_STICKY);
        void *const block = palloc(100'000);
        done += block != nullptr;
        pfree(block);
        mprResetYield();
    }
    CHECK(done == 100);
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
