// SPDX-License-Identifier: MIT
/*
    lost_time.hpp - Sums of the time that threads lose, by cause. suspension.hpp measures it.
 */
#pragma once

#include <cstdint>

#include "mpr/os/target.hpp"
#include "mpr/suspend.h"

namespace mpr::gc {

class Suspension;

/** Why a thread has stopped. Time while the world is stopped counts as marking, whatever the cause. */
enum class Loss : std::uint8_t { others, assisting, memory };

/** For any thread; the numbers of a sum that is being read may be of different moments. */
class LostTime {
public:
    void add(const MprLostTime& lost) {
        count_.fetch_add(1, std::memory_order_relaxed);
        others_.fetch_add(lost.others, std::memory_order_relaxed);
        marking_.fetch_add(lost.marking, std::memory_order_relaxed);
        assisting_.fetch_add(lost.assisting, std::memory_order_relaxed);
        memory_.fetch_add(lost.memory, std::memory_order_relaxed);
    }
    void read(MprLostTime& lost) const {
        lost.count = count_.load(std::memory_order_relaxed);
        lost.others = others_.load(std::memory_order_relaxed);
        lost.marking = marking_.load(std::memory_order_relaxed);
        lost.assisting = assisting_.load(std::memory_order_relaxed);
        lost.memory = memory_.load(std::memory_order_relaxed);
        lost.total = lost.others + lost.marking + lost.assisting + lost.memory;
    }
    void forget() {
        count_.store(0, std::memory_order_relaxed);
        others_.store(0, std::memory_order_relaxed);
        marking_.store(0, std::memory_order_relaxed);
        assisting_.store(0, std::memory_order_relaxed);
        memory_.store(0, std::memory_order_relaxed);
    }

private:
    // Statistics: nothing is ordered by them.
    os::TimeSum count_{0}, others_{0}, marking_{0}, assisting_{0}, memory_{0};
};

/** Whose callback runs on a thread. Until it returns, that thread may call next to nothing. */
enum class Told : std::uint8_t { nobody, handler, embedder };

/** A thread's part in this. */
struct Suspended {
    Suspension* in = nullptr; // the one that lasts; the thread's own
    Told told = Told::nobody; // its own
    LostTime lost;
};

/** Where there is nobody to wait for. */
struct NeverSuspended {
    Told told = Told::nobody;
};

} // namespace mpr::gc
