// SPDX-License-Identifier: MIT
/*
    rendezvous.hpp - How all threads come to a stop, and go on.

    One word holds all the state: bit 0 is the gate (1: closed), the bits above count the running threads. A thread that
    yields takes itself out of the count. To continue it counts itself in, which it may do only while the gate is open.
    The thread on duty for the collector (duty.hpp) closes the gate, and has the heap to itself when the word is exactly
    1. Every change is one atomic operation on this word, so in no order of events does a thread run while the collector
    believes it stopped.

        running --leave--> out            word -= 2; the last one out makes sure that somebody collects
        out     --enter--> running        word += 2, only if bit 0 is clear, else sleep until the gate opens
        on duty: close (bit 0 := 1), word == 1? then work, open (bit 0 := 0, wake all)
        on duty: giveUp                   bit 0 := 0 and wake all, unless word == 1

    A thread that is out costs the collector nothing, however long it stays.
    Memory order: leaving releases and the collector's look acquires; opening releases and entering acquires.
    test/model/rendezvous.pml is the same protocol in Promela, late.pml how threads give up.
 */
#pragma once

#include "mpr/collect.h"
#include "mpr/os/check.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

class Rendezvous {
public:
    /** Whether threads should yield: mprYieldWanted. For polling; relaxed, since the yield itself orders. */
    bool wanted() const { return mprNeedYield(); }
    void setWanted(bool on) { __atomic_store_n(&mprYieldWanted, on || always_, __ATOMIC_SEQ_CST); }
    /** @param always From now on threads should always yield. */
    void setAlways(bool always) {
        always_ = always;
        setWanted(false);
    }

    /** The calling thread stops. @return Whether nobody runs now. */
    bool leave() {
        if constexpr (!os::hasThreads) {
            return true; // nobody to meet
        }
        const std::uint32_t word = word_.fetch_sub(step, std::memory_order_acq_rel);
        MPR_ASSERT(word >= step); // somebody ran
        return (word & ~closedBit) == step;
    }

    /** Count a stopped thread that wants to continue as soon as it may, until it has entered. */
    void want() { eager_.fetch_add(1, std::memory_order_seq_cst); }
    void wantNoMore() {
        const std::uint32_t eager = eager_.fetch_sub(1, std::memory_order_seq_cst);
        MPR_ASSERT(eager > 0);
        static_cast<void>(eager);
    }

    /**
        The calling thread runs again, as soon as the gate is open.
        @param nap Returns nanoseconds; whenever the thread has waited that long in vain, look(nanoseconds) is called.
        @param sleep os::wait, or a function that returns as that does and no later than when the gate opens.
        @return Whether the thread had to wait.
     */
    template <typename Nap, typename Look, typename Sleep>
    bool enter(Nap&& nap, Look&& look, Sleep&& sleep) {
        if constexpr (!os::hasThreads) {
            return false;
        }
        bool waited = false;
        for (;;) {
            const std::uint32_t opened = openings_.load(std::memory_order_acquire);
            std::uint32_t word = word_.load(std::memory_order_relaxed);
            while ((word & closedBit) == 0) {
                if (word_.compare_exchange_weak(word, word + step, std::memory_order_acq_rel,
                                                std::memory_order_relaxed)) {
                    if (waited) {
                        wantNoMore();
                    }
                    return waited;
                }
            }
            if (!waited) {
                want();
                waited = true;
            }
            // If the gate opens between the two loads above and here, openings_ has changed, so this returns at once.
            if (const std::uint64_t time = nap(); !sleep(openings_, opened, time)) {
                look(time);
            }
        }
    }

    /**
        Open a gate that was closed for threads that do not come. If all have stopped, the collector may be at work, and
        the gate stays closed. Otherwise the word is written in any case: a thread that leaves later sees what the
        caller wrote, and the caller sees what threads wrote that left before. @return Whether the gate is open.
     */
    bool giveUp() {
        std::uint32_t word = word_.load(std::memory_order_relaxed);
        do {
            if (word == closedBit) {
                return false;
            }
        } while (!word_.compare_exchange_weak(word, word & ~closedBit, std::memory_order_acq_rel,
                                              std::memory_order_relaxed));
        openings_.fetch_add(1, std::memory_order_release);
        os::wakeAll(openings_);
        return true;
    }

    // ---- On duty for the collector ----
    /** Whether a thread runs or waits for the gate: a closed gate costs somebody time. */
    bool matters() const {
        return eager_.load(std::memory_order_seq_cst) != 0 || word_.load(std::memory_order_seq_cst) >= step;
    }
    void close() { word_.fetch_or(closedBit, std::memory_order_acq_rel); }
    /** Whether the gate is closed and nobody runs. */
    bool stopped() const { return word_.load(std::memory_order_acquire) == closedBit; }
    /** Whether nobody runs. */
    bool empty() const { return (word_.load(std::memory_order_acquire) & ~closedBit) == 0; }
    /** How many threads run. */
    unsigned running() const { return word_.load(std::memory_order_acquire) / step; }
    /** How many threads wait to go on. */
    unsigned waiting() const { return eager_.load(std::memory_order_relaxed); }

    void open() {
        if constexpr (!os::hasThreads) {
            return;
        }
        word_.fetch_and(~closedBit, std::memory_order_acq_rel);
        openings_.fetch_add(1, std::memory_order_release);
        os::wakeAll(openings_);
    }

private:
    static constexpr std::uint32_t closedBit = 1;
    static constexpr std::uint32_t step = 2;

    alignas(os::cacheLine) os::Word word_{0};
    os::Word openings_{0};                // releases the open gate: after the new count nobody sees the gate closed
    std::atomic<std::uint32_t> eager_{0}; // a count for pacing; orders nothing
    bool always_ = false;                 // changes when there is one thread
};

} // namespace mpr::gc
