// SPDX-License-Identifier: MIT
/*
    test/cpp/setting.hpp - A runtime for one test case of the C++ API, and objects that count what happens to them.
 */
#pragma once

#include "mpr.hpp"
#include "test/catch.hpp"
#include "test/support/log.hpp"
#include "test/support/watchdog.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace test {

/* Counts constructions and destructions of all its objects together; begun anew by each Setting. */
class Counted {
public:
    Counted() noexcept { made.fetch_add(1); }
    explicit Counted(int initial) noexcept : value(initial) { made.fetch_add(1); }
    Counted(const Counted& other) noexcept : value(other.value) { made.fetch_add(1); }
    Counted& operator=(const Counted&) = default;
    ~Counted() {
        // A second run, or one over memory that is no object, shows.
        wrong.fetch_add(seal != good);
        seal = 0;
        destroyed.fetch_add(1);
    }

    static int alive() { return made.load() - destroyed.load(); }
    static void reset() { made = destroyed = wrong = 0; }

    static inline std::atomic<int> made{0};
    static inline std::atomic<int> destroyed{0};
    static inline std::atomic<int> wrong{0};

    int value = 0;

private:
    static constexpr unsigned good = 0x5EA1ED00;
    unsigned seal = good;
};

/* A traceable, counted node. */
struct Node : Counted {
    Node() noexcept = default;
    explicit Node(int initial, Node* next_ = nullptr) noexcept : Counted(initial), next(next_) {}
    void trace(mpr::Marker& marker) { marker(next, other); }

    mpr::Member<Node> next;
    mpr::Member<Node> other;
};

/* A traceable node with nothing to destroy. */
struct Link {
    mpr::Member<Counted> target;
    mpr::Member<Link> next;
    void trace(mpr::Marker& marker) const { marker(target, next); }
};

/* The runtime of a case. At its end the heap must be in order, no call wrong, and no destructor run twice. */
class Setting {
public:
    Setting() {
        Counted::reset();
        REQUIRE(runtime);
    }
    ~Setting() {
        if (runtime) {
            MprMemStats stats;
            mprReadMemStats(&stats);
            UNSCOPED_INFO(Log::text());
            CHECK(stats.misuses == static_cast<uint64>(misuses));
            CHECK(mprVerifyHeap() == 0);
            CHECK(runtime.destroy());
        }
        CHECK(Counted::wrong == 0);
        CHECK(Counted::alive() == 0);
    }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

    int misuses = 0; // expected
    Log log;
    Watchdog watchdog{60};
    mpr::Runtime runtime;
};

/* Leave no zeros for later objects to find, and nothing of lost ones: free memory is filled with a pattern. Yields. */
inline void soil() {
    constexpr size_t sizes = 32, each = 64;
    const auto fill = [](size_t size) {
        void* block = mprAlloc(size);
        return block ? std::memset(block, 0xA5, size) : nullptr;
    };
    for (size_t i = 0; i < sizes * each; i++) {
        fill(8 + i % sizes * 16);
    }
    mpr::collect();
    // What is freed by hand is the first to be used again.
    void* blocks[4 * sizes];
    for (size_t i = 0; i < 4 * sizes; i++) {
        blocks[i] = fill(8 + i % sizes * 16);
    }
    for (void* block : blocks) {
        mprFree(block);
    }
}

/* Wait, without yielding, until a condition holds. @return Whether it came true in time. */
template <class Condition>
bool spin(Condition condition, int ms = 60000) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

} // namespace test
