// SPDX-License-Identifier: MIT
/*
    others.hpp - A thread that runs stops all others without a collection.

    It stays counted as running, so that no collection begins. So do others that want the same at the same time; they are
    stopped as well while they wait here, and, if they wait no longer, until the first of them has done what it wanted.
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

    /** @return false when the others did not stop within some deadlines: it was not done. */
    template <typename Work>
    bool stop(Work&& work) {
        const bool stopped = awaitOthers();
        if (stopped) {
            work();
            letOthersGo();
        }
        return stopped;
    }
    /**
        The calling thread, which runs, waits for the duty, while no collection is under way. It counts as stopped meanwhile, for
        who stops the others, and as long as it has the duty. @return false when the end has passed.
     */
    bool park(std::uint64_t end) MPR_TRIES(true, onDuty);
    void unpark() MPR_RELEASES(onDuty);

private:
    /** Who waits for what nobody rings for looks so often. */
    static constexpr std::uint64_t poll = 100'000;

    bool awaitDuty(std::uint64_t end) MPR_TRIES(true, onDuty);
    bool awaitOthers() MPR_TRIES(true, onDuty);
    void letOthersGo() MPR_RELEASES(onDuty);

    Cycle& cycle_;
    Late& late_;
    std::uint64_t deadline_ = 0;
    // Threads that count as running, but wait for their turn. To park releases what they did; who compares this with the
    // rendezvous' word, on duty, acquires.
    std::atomic<unsigned> parked_{0};
    std::atomic<bool> stopsOthers_{false};   // one of them has the duty: a hint, which one that follows may miss
    std::atomic<bool> othersStopped_{false}; // one of them is at work, or sees whether it may be: see awaitOthers
};

} // namespace mpr::gc
