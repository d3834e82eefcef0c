/*
    lock.hpp - A mutual exclusion lock of one word.

    States: 0 free, 1 taken, 2 taken and somebody may sleep. Source: U. Drepper, "Futexes Are Tricky" (2011), mutex 2.
    A short spin comes first, because what these locks guard is short.
 */
#pragma once

#include "mpr/os/os.hpp"

namespace mpr::os {

class Lock {
public:
    void lock() {
        if constexpr (!hasThreads) {
            return;
        }
        std::uint32_t expected = 0;
        if (!word_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed)) {
            lockSlow();
        }
    }

    void unlock() {
        if constexpr (!hasThreads) {
            return;
        }
        if (word_.exchange(0, std::memory_order_release) == 2) {
            wakeOne(word_);
        }
    }

private:
    void lockSlow() {
        for (int spins = 0; spins < 100; ++spins) {
            std::uint32_t expected = 0;
            if (word_.load(std::memory_order_relaxed) == 0 &&
                word_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed)) {
                return;
            }
            relax();
        }
        while (word_.exchange(2, std::memory_order_acquire) != 0) {
            wait(word_, 2);
        }
    }

    Word word_{0};
};

class Locked {
public:
    explicit Locked(Lock& lock) : lock_(lock) { lock_.lock(); }
    ~Locked() { lock_.unlock(); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

private:
    Lock& lock_;
};

} // namespace mpr::os
