// SPDX-License-Identifier: MIT
/*
    shared_work.hpp - How markers at work at the same time share what is to be traced.

    Each has stacks of its own. Who has run dry says so; the others see the flag as they go on and lay down part of what
    they have, on a common heap of entries under a lock, which is rarely taken: a helping is a hundred blocks. When
    everybody has run dry at the same time and nothing lies there, nothing is left.
    Source: load balancing by giving rather than stealing as in T. Endo, K. Taura, A. Yonezawa, "A Scalable Mark-Sweep
    Garbage Collector on Large-Scale Shared-Memory Machines", SC 1997; C. Flood et al., "Parallel Garbage Collection for
    Shared Memory Multiprocessors", JVM 2001, for the end.
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
    /** One marker, the first, begins; so many others may join. */
    void begin(unsigned others) {
        os::Locked locked(lock_);
        MPR_ASSERT(!open_ && present_.load(std::memory_order_relaxed) == 0);
        store_.open(entries_, sizeof(entries_));
        open_ = true;
        active_ = 1;
        places_ = others;
    }
    /** @return false when all is done, or done by enough: too late. */
    bool join() {
        os::Locked locked(lock_);
        const bool joins = open_ && places_ > 0;
        active_ += joins;
        places_ -= joins;
        present_.fetch_add(joins, std::memory_order_relaxed);
        return joins;
    }
    /** Who has joined goes. */
    void leave() {
        MPR_ASSERT(present_.load(std::memory_order_relaxed) > 0);
        present_.fetch_sub(1, std::memory_order_release);
        os::wakeAll(present_);
    }
    /** Nobody may go on: whatever is left is left. */
    void close() {
        {
            os::Locked locked(lock_);
            open_ = false;
            closed_.store(true, std::memory_order_relaxed);
        }
        ring();
    }
    bool closed() const { return closed_.load(std::memory_order_relaxed); }
    /** The first, when it has closed: wait until all have left. @return What nobody took. */
    MarkStack& end() MPR_UNANALYSED {
        for (std::uint32_t present; (present = present_.load(std::memory_order_acquire)) != 0;) {
            os::wait(present_, present);
        }
        closed_.store(false, std::memory_order_relaxed);
        return store_;
    }

    /** Whether somebody has run dry. */
    bool wanted() const { return hungry_.load(std::memory_order_relaxed) != 0; }
    /** Lay down half of a stack, or a helping; a row is not cut, so it may be up to five entries more. */
    void give(MarkStack& stack);
    /** The same with a row. @return false: there is no room. */
    bool giveRow(const Row& row);
    /**
        Own work has run out: get more, or wait until there is some.
        @return false when there is none left anywhere, or time is up.
     */
    bool take(MarkStack& stack);

    /** Time is up: go with work left. */
    void quit() {
        {
            os::Locked locked(lock_);
            MPR_ASSERT(active_ > 0);
            --active_;
        }
        ring();
    }

private:
    static constexpr std::size_t helping = 128;

    bool takeNow(MarkStack& stack) MPR_REQUIRES(lock_);
    void ring() {
        bell_.fetch_add(1, std::memory_order_seq_cst);
        if (asleep_.load(std::memory_order_seq_cst) != 0) {
            os::wakeAll(bell_);
        }
    }

    os::Lock lock_;
    MarkStack store_ MPR_GUARDED_BY(lock_);
    unsigned active_ MPR_GUARDED_BY(lock_) = 0; // markers that have work: only they can give
    unsigned places_ MPR_GUARDED_BY(lock_) = 0; // for others
    bool open_ MPR_GUARDED_BY(lock_) = false;
    std::atomic<bool> closed_{false};                             // a hint: open_ decides
    alignas(os::cacheLine) std::atomic<std::uint32_t> hungry_{0}; // a hint
    os::Word bell_{0};                     // the hungry sleep on it; what it is rung for stands under the lock
    std::atomic<std::uint32_t> asleep_{0}; // sequentially consistent with the bell: who sleeps is seen, or hears
    os::Word present_{0}; // who joined, under the lock, and has not left, which releases all that it has marked
    MarkEntry entries_[1024];
};

} // namespace mpr::gc
