/*
    lock.hpp - A mutual exclusion lock of one word.

    States: 0 free, 1 taken, 2 taken and somebody may sleep. Source: U. Drepper, "Futexes Are Tricky" (2011), mutex 2.
    A short spin comes first, because what these locks guard is short. Without threads there is nothing to lock.
 */
#pragma once

#include "mpr/os/os.hpp"

namespace mpr::os {

class WordLock {
public:
    void lock() {
        if (!tryLock()) {
            lockSlow();
        }
    }

    bool tryLock() {
        std::uint32_t expected = 0;
        return word_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed);
    }

    void unlock() {
        if (word_.exchange(0, std::memory_order_release) == 2) {
            wakeOne(word_);
        }
    }

    /** For whoever will lock again at once: a thread that waits gets the lock first, if it is awake. */
    void unlockFairly() {
        unlock();
        for (int pauses = 0; waiting_.load(std::memory_order_relaxed) != 0 && pauses < 100 &&
                             word_.load(std::memory_order_relaxed) == 0;
             ++pauses) {
            relax();
        }
    }

private:
    void lockSlow() {
        std::uint32_t taken = 1; // 2 when this thread has slept, since others may still do so
        waiting_.fetch_add(1, std::memory_order_relaxed);
        while (!take(taken)) {
            wait(word_, 2);
            taken = 2;
        }
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }

    /** Spin, then mark the lock as one that somebody sleeps for. @return whether it was got. */
    bool take(std::uint32_t taken) {
        for (int spins = 0; spins < 200; ++spins) {
            std::uint32_t expected = 0;
            if (word_.load(std::memory_order_relaxed) == 0 &&
                word_.compare_exchange_strong(expected, taken, std::memory_order_acquire, std::memory_order_relaxed)) {
                return true;
            }
            relax();
        }
        return word_.exchange(2, std::memory_order_acquire) == 0;
    }

    Word word_{0};
    Word waiting_{0}; // threads in lockSlow
};

/** Where there is one thread. */
struct NoLock {
    void lock() {}
    bool tryLock() { return true; }
    void unlock() {}
    void unlockFairly() {}
};

using Lock = std::conditional_t<hasThreads, WordLock, NoLock>;

class Locked {
public:
    explicit Locked(Lock& lock) : lock_(lock) { lock_.lock(); }
    ~Locked() { lock_.unlock(); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

private:
    Lock& lock_;
};

/** The same for one of many short holds in a row. */
class LockedFairly {
public:
    explicit LockedFairly(Lock& lock) : lock_(lock) { lock_.lock(); }
    ~LockedFairly() { lock_.unlockFairly(); }
    LockedFairly(const LockedFairly&) = delete;
    LockedFairly& operator=(const LockedFairly&) = delete;

private:
    Lock& lock_;
};

} // namespace mpr::os
