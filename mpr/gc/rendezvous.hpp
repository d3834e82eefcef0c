/*
    rendezvous.hpp - How all threads come to a stop, and go on.

    One word says everything: bit 0 is the gate (1: closed), the bits above count the running threads. A thread that
    yields takes itself out of the count; when it wants to go on it counts itself in, which it may only while the gate is
    open. The collector closes the gate and has the heap to itself when the word is exactly 1. Every change is one atomic
    operation on this word, so there is no order of events in which a thread runs while the collector believes it stopped.

        running --leave--> out            word -= 2; the last one out of a closed gate wakes the collector
        out     --enter--> running        word += 2, only if bit 0 is clear, else sleep until the gate opens
        collector: close (bit 0 := 1), await word == 1, work, open (bit 0 := 0, wake all)

    A thread that is out costs the collector nothing, however long it stays.
    Memory order: leaving releases and the collector's look acquires; opening releases and entering acquires.
    test/model/rendezvous.pml is the same protocol in Promela.
 */
#pragma once

#include "mpr/collect.h"
#include "mpr/os/os.hpp"

namespace mpr::gc {

class Rendezvous {
public:
    /** Whether threads should yield. For polling; the public header reads the same flag, mprYieldWanted. */
    bool wanted() const { return mprNeedYield(); }
    void setWanted(bool on) { __atomic_store_n(&mprYieldWanted, on || always_, __ATOMIC_SEQ_CST); }
    /** @param always Threads should always yield. */
    void setAlways(bool always) {
        always_ = always;
        setWanted(false);
    }

    void leave() {
        if constexpr (!os::hasThreads) {
            return; // nobody to meet
        }
        if (word_.fetch_sub(step, std::memory_order_acq_rel) == step + closedBit) {
            os::wakeAll(word_);
        }
    }

    /** A thread that leaves wants to go on as soon as it may; when it has entered it wants no more. */
    void want() { eager_.fetch_add(1, std::memory_order_seq_cst); }
    void wantNoMore() { eager_.fetch_sub(1, std::memory_order_seq_cst); }

    /** @return Whether it had to wait. */
    bool enter() {
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
            // A gate that opens between the two loads above and here has changed openings_, so this returns at once.
            os::wait(openings_, opened);
        }
    }

    // ---- The collector's side ----
    /** Whether a thread runs or waits for the gate: a closed gate costs somebody time. */
    bool matters() const {
        return eager_.load(std::memory_order_seq_cst) != 0 || word_.load(std::memory_order_seq_cst) >= step;
    }
    void close() { word_.fetch_or(closedBit, std::memory_order_acq_rel); }

    /** Wait until nobody runs. @return false when the time, in nanoseconds, ran out first. */
    bool awaitStopped(std::uint64_t timeout) {
        const std::uint64_t begin = os::now();
        for (;;) {
            const std::uint32_t word = word_.load(std::memory_order_acquire);
            if (word == closedBit) {
                return true;
            }
            const std::uint64_t spent = os::now() - begin;
            if (spent >= timeout) {
                return false;
            }
            os::wait(word_, word, timeout - spent);
        }
    }

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
    os::Word openings_{0};
    std::atomic<std::uint32_t> eager_{0};
    bool always_ = false;
};

} // namespace mpr::gc
