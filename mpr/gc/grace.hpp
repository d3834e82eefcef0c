// SPDX-License-Identifier: MIT
/*
    grace.hpp - How long threads that have stopped wait for those who are late. Arithmetic only; late.hpp uses it.

    The first wait for a collection is 5 ms. Each one in vain doubles the next, since two threads that yield at long
    intervals must wait for as long to meet. After the second in vain threads run for `rest` times the next wait before
    anybody waits again: so whoever runs on loses a ninth of its time at most, whatever the late ones do.

    Programs have habits. After a collection that was late the first wait for the next is a quarter as long, and less again
    after each further one; after each that was not it is twice as long as before.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "mpr/os/os.hpp"

namespace mpr::gc {

/** Any thread. Several at a time may lose a change by another, which costs one wait that is too short or too long. */
class Grace {
public:
    static constexpr std::uint64_t first = 5'000'000; // nanoseconds
    static constexpr std::uint64_t rest = 8;

    /** Nanoseconds. */
    std::uint64_t wait() const {
        const unsigned habit = habit_.load(std::memory_order_relaxed);
        return (first >> habit) << std::min(vain_.load(std::memory_order_relaxed), mostDoubled + habit);
    }
    /** Whether it is time to wait. */
    bool isDue(std::uint64_t now) const { return now >= due_.load(std::memory_order_relaxed); }

    /** Somebody has waited in vain. */
    void failed(std::uint64_t now) {
        const unsigned before = vain_.fetch_add(1, std::memory_order_relaxed);
        due_.store(static_cast<os::Total>(before == 0 ? now : now + rest * wait()), std::memory_order_relaxed);
    }
    /** All have stopped, so long after they were asked to. */
    void met(std::uint64_t took) {
        const bool late = vain_.exchange(0, std::memory_order_relaxed) > 0 && took >= first;
        const unsigned habit = habit_.load(std::memory_order_relaxed);
        habit_.store(late ? std::min(habit + 2, mostHabit) : habit - (habit > 0), std::memory_order_relaxed);
        due_.store(0, std::memory_order_relaxed);
    }

private:
    static constexpr unsigned mostDoubled = 10, mostHabit = 4;

    // Numbers: they order nothing.
    std::atomic<unsigned> vain_{0};  // waits since the last pause
    std::atomic<unsigned> habit_{0}; // so often the first wait is halved
    os::Counter due_{0};
};

} // namespace mpr::gc
