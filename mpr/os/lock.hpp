// SPDX-License-Identifier: MIT
/*
    lock.hpp - A mutual exclusion lock that knows its owner.

    Its word is 0 while it is free, else the owner's thread number. A short spin comes first, because what these locks guard
    is short. Then a thread sleeps, in one of two ways:

    - A thread of real-time priority waits in the kernel on the word itself, which runs the owner at the waiter's
      priority meanwhile and hands the lock over (priority inheritance, futex(2)). The word then has inheritBit, too.
    - Any other sleeps on a word beside it, `turn_`. Nothing is handed over: a thread that unlocks wakes one and may take
      the lock again before that one runs. To hand over costs two switches of threads each time, and threads that meet
      at a lock once would go on meeting there.

    Who goes to sleep counts itself as asleep and then looks at the word once more; who unlocks clears the word and then
    looks at the count, all sequentially consistent: one of the two sees the other. Only who unlocks takes off that count,
    one for each wake. It may be too great, when somebody counted itself and did not sleep, which costs a wake too many; it
    is never too small.

    Without threads there is nothing to lock. In checked builds a lock of either kind asserts that nobody locks what he holds
    nor unlocks what he does not; and a thread knows how many it holds, since it may call no code of the program's with any
    (assertUnlocked). A lock that is made `outermost` is not counted: no function that such code may call waits for it.
 */
#pragma once

#include "mpr/os/capability.hpp"
#include "mpr/os/check.hpp"
#include "mpr/os/os.hpp"

namespace mpr::os {

/** See above. */
struct Outermost {};
inline constexpr Outermost outermost;

/** Counts a lock that is taken, where somebody will ask. */
class CountedLock {
public:
    constexpr CountedLock() = default;
    constexpr explicit CountedLock(Outermost) : counts_(false) {}
    void taken() { locksHeld += counts_; }
    void given() {
        MPR_ASSERT(!counts_ || locksHeld > 0);
        locksHeld -= counts_;
    }

private:
    bool counts_ = true; // in zeroed memory, a list's or hash's, it is not: they allocate with their lock held
};
struct UncountedLock {
    constexpr UncountedLock() = default;
    constexpr explicit UncountedLock(Outermost) {}
    void taken() {}
    void given() {}
};

class MPR_CAPABILITY("lock") WordLock {
public:
    constexpr WordLock() = default;
    constexpr explicit WordLock(Outermost) : count_(outermost) {}

    /** A thread, by its number. */
    using Owner = std::uint32_t;

    /** @return The calling thread: who remembers that until the lock is given up need not ask again. */
    Owner lock() MPR_ACQUIRES() {
        const Owner self = threadNumber();
        if (!tryLock(self)) {
            lockSlow();
        }
        return self;
    }

    bool tryLock() MPR_TRIES(true) { return tryLock(threadNumber()); }

    void unlock() MPR_RELEASES() { unlock(threadNumber()); }
    void unlock(Owner self) MPR_RELEASES() {
        MPR_ASSERT(isHeld());
        count_.given();
        std::uint32_t expected = self;
        const bool gave =
            word_.compare_exchange_strong(expected, 0, std::memory_order_seq_cst, std::memory_order_relaxed);
        if (!gave) [[unlikely]] {
            handOver();
        }
        if (waiting_.load(std::memory_order_seq_cst) >= asleep) [[unlikely]] {
            wakeSleeper();
        }
    }

    /** For whoever will lock again at once: a thread that waits gets the lock first, if it is awake. */
    void unlockFairly() MPR_RELEASES() { unlockFairly(threadNumber()); }
    void unlockFairly(Owner self) MPR_RELEASES() {
        unlock(self);
        for (int pauses = 0; waiting_.load(std::memory_order_relaxed) % asleep != 0 && pauses < 100 &&
                             word_.load(std::memory_order_relaxed) == 0;
             ++pauses) {
            relax();
        }
    }

    /** Whether the calling thread holds it. */
    bool isHeld() const { return (word_.load(std::memory_order_relaxed) & ~inheritBit) == threadNumber(); }

private:
    /** Of waiting_: the lower half counts threads in lockSlow, the upper half those who sleep without inheritance. */
    static constexpr std::uint32_t present = 1;
    static constexpr std::uint32_t asleep = 1U << 16;

    bool tryLock(Owner self) MPR_TRIES(true) {
        MPR_ASSERT(!isHeld());
        std::uint32_t expected = 0;
        const bool took =
            word_.compare_exchange_strong(expected, self, std::memory_order_acquire, std::memory_order_relaxed);
        if (checked && took) {
            count_.taken();
        }
        return took;
    }

    // lock.cpp
    void lockSlow();
    void handOver();
    void wakeSleeper();
    bool takeSpinning();
    bool takeInheriting();
    void sleep();

    // Relaxed looks are hints: whether a thread gets the lock, or may sleep, the operations named above decide.
    Word word_{0};
    Word waiting_{0};
    Word turn_{0};
    [[no_unique_address]] std::conditional_t<checked, CountedLock, UncountedLock> count_;
};

/** Where there is one thread. */
class MPR_CAPABILITY("lock") NoLock {
public:
    constexpr NoLock() = default;
    constexpr explicit NoLock(Outermost) {}

    struct Owner {};

    Owner lock() MPR_ACQUIRES() {
        MPR_ASSERT(!isHeld());
        held_.set(true);
        return {};
    }
    bool tryLock() MPR_TRIES(true) {
        lock();
        return true;
    }
    void unlock(Owner = {}) MPR_RELEASES() {
        MPR_ASSERT(isHeld());
        held_.set(false);
    }
    void unlockFairly(Owner = {}) MPR_RELEASES() { unlock(); }
    bool isHeld() const { return held_.get(); }

private:
    class Flag {
    public:
        bool get() const { return is_; }
        void set(bool is) { is_ = is; }

    private:
        bool is_ = false;
    };
    struct Unknown {
        bool get() const { return true; }
        void set(bool) {}
    };
    [[no_unique_address]] std::conditional_t<checked, Flag, Unknown> held_;
};

using Lock = std::conditional_t<hasThreads, WordLock, NoLock>;

/** The calling thread holds the lock. */
inline void assertHeld([[maybe_unused]] const Lock& lock, [[maybe_unused]] const char* file = __builtin_FILE(),
                       [[maybe_unused]] int line = __builtin_LINE()) MPR_ASSERTS(lock) {
    if constexpr (checked) {
        check(lock.isHeld(), "the lock is held by this thread", file, line);
    }
}

class MPR_SCOPED_CAPABILITY Locked {
public:
    explicit Locked(Lock& lock) MPR_ACQUIRES(lock) : lock_(lock), owner_(lock.lock()) {}
    ~Locked() MPR_RELEASES() { lock_.unlock(owner_); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

private:
    Lock& lock_;
    [[no_unique_address]] const Lock::Owner owner_;
};

/** Locked, for one of many short holds in a row. */
class MPR_SCOPED_CAPABILITY LockedFairly {
public:
    explicit LockedFairly(Lock& lock) MPR_ACQUIRES(lock) : lock_(lock), owner_(lock.lock()) {}
    ~LockedFairly() MPR_RELEASES() { lock_.unlockFairly(owner_); }
    LockedFairly(const LockedFairly&) = delete;
    LockedFairly& operator=(const LockedFairly&) = delete;

private:
    Lock& lock_;
    [[no_unique_address]] const Lock::Owner owner_;
};

} // namespace mpr::os
