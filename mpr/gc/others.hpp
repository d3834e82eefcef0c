// SPDX-License-Identifier: MIT
/*
    others.hpp - A thread that runs stops all others without a collection.

    It stays counted as running, so that no collection begins. Other threads that want to do so at the same time stay
    counted, too. They are stopped while they wait here; if their wait ends early, they still wait until the first one
    has finished.
 */
#pragma once

#include <atomic>
#include <cstdint>

#include "mpr/gc/cycle.hpp"
#include "mpr/gc/late.hpp"

namespace mpr::gc {

class Others {
public:
    Others(Cycle& cycle, Late& late) : cycle_(cycle), late_(late) {}
    void open(std::uint64_t deadline) { deadline_ = deadline; }

    /**
        Do work while all other threads are stopped. @param within Nanoseconds; 0: some deadlines.
        @return false when they did not stop in that time: it was not done.
     */
    template <typename Work>
    bool stop(Work&& work, std::uint64_t within) {
        const bool stopped = awaitOthers(within);
        if (stopped) {
            tellStopped();
            work();
            tellGoesOn();
            letOthersGo();
        }
        return stopped;
    }
    /**
        The calling thread runs, and waits for the duty while no collection is under way. Until unpark, a thread that
        stops the others counts it as stopped. @return false when the end has passed.
     */
    bool park(std::uint64_t end) MPR_TRIES(true, onDuty);
    void unpark() MPR_RELEASES(onDuty);

private:
    /** Nanoseconds between two looks for what nobody announces: a few times what a look and a sleep cost. */
    static constexpr std::uint64_t poll = 100'000;

    bool awaitDuty(std::uint64_t end) MPR_TRIES(true, onDuty);
    bool awaitOthers(std::uint64_t within) MPR_TRIES(true, onDuty);
    void letOthersGo() MPR_RELEASES(onDuty);
    void tellStopped() MPR_REQUIRES(onDuty);
    void tellGoesOn() MPR_REQUIRES(onDuty);

    Cycle& cycle_;
    Late& late_;
    std::uint64_t deadline_ = 0; // set before the collector's thread begins
    // Threads that count as running, but wait for their turn. Parking releases what they did; the comparison with the
    // rendezvous' word, on duty, acquires it.
    std::atomic<unsigned> parked_{0};
    std::atomic<bool> stopsOthers_{false};   // one of them has the duty: a hint, which one that follows may miss
    std::atomic<bool> othersStopped_{false}; // one of them is at work, or sees whether it may be: see awaitOthers
};

} // namespace mpr::gc
