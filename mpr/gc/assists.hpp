// SPDX-License-Identifier: MIT
/*
    assists.hpp - What threads do for the collector at their yields, until the next pause. duty.hpp says why.
 */
#pragma once

#include <atomic>

#include "mpr/gc/major.hpp"
#include "mpr/gc/on_duty.hpp"

namespace mpr::gc {

class Assists {
public:
    enum : unsigned { marking = 1, sweeping = 2 };
    /**
        Of marking, in which threads assist, per budget. `gc_mpr service`: 262 MB resident with 2, 236 with 4, 226 with
        16.
     */
    static constexpr unsigned steps = 4;

    /** @param trial Every scope is tried in turn, and threads never assist. */
    void open(unsigned processors, bool trial) {
        processors_ = processors;
        trial_ = trial;
    }

    /** Whether threads assist with something. Any thread may ask: a hint, to be looked at again on duty. */
    bool with(unsigned what) const { return (now_.load(std::memory_order_relaxed) & what) != 0; }
    void endSweeping() { now_.fetch_and(~unsigned{sweeping}, std::memory_order_relaxed); }
    void end() { now_.store(0, std::memory_order_relaxed); }

    /** Count an incremental step of marking. */
    void count() MPR_REQUIRES(onDuty) { ++steps_; }
    /**
        Choose at the end of a pause. Threads do not assist if there is a processor for the collector's thread, or if
        somebody waits for the end of the whole collection. They do not mark if they have yielded too rarely for it.
        @param waiting Threads that wait for the pause to end. @param begins No major collection was tracing before.
     */
    void choose(const Major& major, unsigned waiting, bool begins) MPR_REQUIRES(onDuty) {
        const bool keptUp = begins || steps_ >= steps / 2;
        steps_ = 0;
        unsigned chosen = 0;
        if (waiting >= processors_ && !trial_ && !major.isUrgent() && !major.isForced() && !major.mustBegin()) {
            chosen = major.isTracing() && !major.isTraced() && keptUp ? marking | sweeping : sweeping;
        }
        now_.store(chosen, std::memory_order_relaxed);
    }

private:
    std::atomic<unsigned> now_{0};
    // Set before the collector's thread begins.
    unsigned processors_ = 1;
    bool trial_ = false;
    unsigned steps_ MPR_GUARDED_BY(onDuty) = 0; // since the last pause
};

} // namespace mpr::gc
