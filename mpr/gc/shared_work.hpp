// SPDX-License-Identifier: MIT
/*
    shared_work.hpp - How markers that work in parallel share what has to be traced.

    Each marker has its own stacks. One that has run dry sets a flag. The others see it as they go on, and give part of
    what they have to a common store under a lock, which is rarely taken: each gives a hundred blocks at a time. One
    gift waits for each marker that is dry, no more: one that the system lets wait stays dry for milliseconds, and
    whoever gives takes its gifts back when it runs dry itself. When all have run dry and the store is empty, nothing is
    left. Source: load balancing by giving rather than stealing as
    in T. Endo, K. Taura, A. Yonezawa, "A Scalable Mark-Sweep Garbage Collector on Large-Scale Shared-Memory Machines",
    SC 1997; C. Flood et al., "Parallel Garbage Collection for Shared Memory Multiprocessors", JVM 2001, for the end.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/gc/mark_stack.hpp"
#include "mpr/os/lock.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

class SharedWork {
public:
    /** The first marker begins. @param others How many more may join. */
    void begin(unsigned others) {
        os::Locked locked(lock_);
        MPR_ASSERT(!open_ && present_.load(std::memory_order_relaxed) == 0);
        store_.open(entries_, sizeof(entries_));
        gifts_.store(0, std::memory_order_relaxed);
        open_ = true;
        active_ = 1;
        places_ = others;
    }
    /** Join the others. @return false when the job is closed, or enough have joined. */
    bool join() {
        os::Locked locked(lock_);
        const bool joins = open_ && places_ > 0;
        active_ += joins;
        places_ -= joins;
        present_.fetch_add(joins, std::memory_order_relaxed);
        return joins;
    }
    /** A marker that has joined goes. */
    void leave() {
        MPR_ASSERT(present_.load(std::memory_order_relaxed) > 0);
        present_.fetch_sub(1, std::memory_order_release);
        os::wakeAll(present_);
    }
    /** Close the job: nobody may continue, and what is left stays. */
    void close() {
        {
            os::Locked locked(lock_);
            open_ = false;
            closed_.store(true, std::memory_order_relaxed);
        }
        ring();
    }
    bool closed() const { return closed_.load(std::memory_order_relaxed); }
    /** For the first marker, after close(): wait until all have left. @return What nobody took. */
    MarkStack& end() MPR_UNANALYSED {
        for (std::uint32_t present; (present = present_.load(std::memory_order_acquire)) != 0;) {
            os::wait(present_, present);
        }
        closed_.store(false, std::memory_order_relaxed);
        return store_;
    }

    /** Whether somebody has run dry for whom no gift waits. */
    bool wanted() const {
        const std::uint32_t hungry = hungry_.load(std::memory_order_relaxed);
        return hungry != 0 && hungry > gifts_.load(std::memory_order_relaxed);
    }
    /** Give half of a stack, at most a helping. A row is not cut, so it may be up to five entries more. */
    void give(MarkStack& stack);
    /** Give a row. @return false when there is no room. */
    bool giveRow(const Row& row);
    /**
        The marker's own work has run out: take more, or wait until there is some.
        @return false when none is left anywhere, or time is up.
     */
    bool take(MarkStack& stack);

    /** Time is up: go, although work is left. */
    void quit() {
        {
            os::Locked locked(lock_);
            MPR_ASSERT(active_ > 0);
            --active_;
        }
        ring();
    }

private:
    static constexpr std::size_t helping = 128; // entries; `gc_mpr pause_1m_plain` is the same with 16 and 512

    bool takeNow(MarkStack& stack) MPR_REQUIRES(lock_);
    void ring() {
        bell_.fetch_add(1, std::memory_order_seq_cst);
        if (asleep_.load(std::memory_order_seq_cst) != 0) {
            os::wakeAll(bell_);
        }
    }

    os::Lock lock_;
    MarkStack store_ MPR_GUARDED_BY(lock_);
    unsigned active_ MPR_GUARDED_BY(lock_) = 0; // markers that have work, and so can give
    unsigned places_ MPR_GUARDED_BY(lock_) = 0; // how many more may join
    bool open_ MPR_GUARDED_BY(lock_) = false;
    std::atomic<bool> closed_{false};                             // a hint: open_ decides
    alignas(os::cacheLine) std::atomic<std::uint32_t> hungry_{0}; // a hint
    std::atomic<std::uint32_t> gifts_{0};  // that wait in the store, about; changed under the lock, else a hint
    os::Word bell_{0};                     // markers without work sleep on it; why it rings stands under the lock
    std::atomic<std::uint32_t> asleep_{0}; // sequentially consistent with the bell: a sleeper is seen, or hears it
    os::Word present_{0}; // markers that joined (under the lock) and have not left (which releases what they marked)
    MarkEntry entries_[1024]; // under the lock
};

} // namespace mpr::gc
