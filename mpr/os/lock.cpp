// SPDX-License-Identifier: MIT
/*
    lock.cpp - Waiting for a lock, and waking who waits.
 */
#include "mpr/os/lock.hpp"

namespace mpr::os {

static_assert(hasThreads, "without threads nobody waits");

void WordLock::lockSlow() {
    waiting_.fetch_add(present, std::memory_order_relaxed);
    while (!takeSpinning() && !takeInheriting()) {
        sleep();
    }
    waiting_.fetch_sub(present, std::memory_order_relaxed);
    count_.taken();
}

bool WordLock::takeSpinning() {
    constexpr int most = 200;
    const std::uint32_t self = threadNumber();
    for (int spins = 0; spins < most; ++spins) {
        std::uint32_t expected = 0;
        if (word_.load(std::memory_order_relaxed) == 0 &&
            word_.compare_exchange_strong(expected, self, std::memory_order_acquire, std::memory_order_relaxed)) {
            return true;
        }
        relax();
    }
    return false;
}

/** @return false when this thread's wait is not to be inherited, or cannot be. */
bool WordLock::takeInheriting() {
    if (!waitsInherit() || !lockInheriting(word_)) {
        return false;
    }
    static_cast<void>(word_.load(std::memory_order_acquire)); // what handOver released
    return true;
}

void WordLock::sleep() {
    const std::uint32_t turn = turn_.load(std::memory_order_acquire);
    waiting_.fetch_add(asleep, std::memory_order_seq_cst);
    if (word_.load(std::memory_order_seq_cst) != 0) {
        wait(turn_, turn);
    }
}

/** A thread waits in the kernel: the lock becomes that one's. */
void WordLock::handOver() {
    word_.fetch_or(inheritBit, std::memory_order_release); // it is set
    unlockInheriting(word_);
}

/** Of those who sleep without inheritance. */
void WordLock::wakeSleeper() {
    std::uint32_t waiting = waiting_.load(std::memory_order_seq_cst);
    while (waiting >= asleep) {
        if (waiting_.compare_exchange_weak(waiting, waiting - asleep, std::memory_order_relaxed)) {
            turn_.fetch_add(1, std::memory_order_release);
            wakeOne(turn_);
            return;
        }
    }
}

} // namespace mpr::os
