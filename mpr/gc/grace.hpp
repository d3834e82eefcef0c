// SPDX-License-Identifier: MIT
/*
    grace.hpp - How long threads that have stopped wait for those who are late. Arithmetic only; late.hpp uses it.

    The first wait for a collection is 5 ms. Each wait in vain doubles the next, since two threads that yield at long
    intervals must wait that long to meet. After the third wait in vain, threads run for `rest` times the next wait
    before anybody waits again. So threads that run on lose at most a ninth of their time, whatever the late ones do.
    Two waits are too few: two threads that each yield every ten or twenty milliseconds would fill 300 MB meanwhile.

    Programs have habits. Each collection that was late makes the first wait for the next a quarter as long; each that
    was on time doubles it, up to where it began.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "mpr/os/os.hpp"

namespace mpr::gc {

/** For any thread. Of two changes at once one may be lost, which costs one wait that is too short or too long. */
class Grace {
public:
    /** Nanoseconds: longer than a thread mostly waits for its processor. `bench/late` shows what it costs. */
    static constexpr std::uint64_t first = 5'000'000;
    /** Waits in vain take 1 / (1 + rest) of the time, a ninth. */
    static constexpr std::uint64_t rest = 8;

    /** How long the next wait may last, in nanoseconds. */
    std::uint64_t wait() const {
        const unsigned habit = habit_.load(std::memory_order_relaxed);
        return (first >> habit) << std::min(vain_.load(std::memory_order_relaxed), mostDoubled + habit);
    }
    /** Whether it is time to wait. */
    bool isDue(std::uint64_t now) const { return now >= due_.load(std::memory_order_relaxed); }

    /** Note that somebody has waited in vain. */
    void failed(std::uint64_t now) {
        const unsigned before = vain_.fetch_add(1, std::memory_order_relaxed);
        due_.store(static_cast<os::Total>(before < atOnce ? now : now + rest * wait()), std::memory_order_relaxed);
    }
    /** Note that all have stopped. @param took Nanoseconds since they were asked to. */
    void met(std::uint64_t took) {
        const bool late = vain_.exchange(0, std::memory_order_relaxed) > 0 && took >= first;
        const unsigned habit = habit_.load(std::memory_order_relaxed);
        habit_.store(late ? std::min(habit + 2, mostHabit) : habit - (habit > 0), std::memory_order_relaxed);
        due_.store(0, std::memory_order_relaxed);
    }

private:
    static constexpr unsigned atOnce = 2;                      // waits in vain that the next one follows at once
    static constexpr unsigned mostDoubled = 10, mostHabit = 4; // at most five seconds; at least 0.3 ms

    // Numbers, which order nothing.
    std::atomic<unsigned> vain_{0};  // waits since the last pause
    std::atomic<unsigned> habit_{0}; // how many times the first wait is halved
    os::Counter due_{0};
};

} // namespace mpr::gc
