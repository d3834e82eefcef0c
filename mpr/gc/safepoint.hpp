// SPDX-License-Identifier: MIT
/*
    safepoint.hpp - A thread at its yield: it stops, lets a collection mark, or does that itself, and goes on; or it stops for
    longer, until it goes on of its own accord.

    Whoever stops takes itself out of the rendezvous' count, whoever goes on counts itself in (rendezvous.hpp). Mutator::state
    says the same of one thread, for others to read.
 */
#pragma once

#include <cstdint>

#include "mpr/gc/budget.hpp"
#include "mpr/gc/collector_stats.hpp"
#include "mpr/gc/cycle.hpp"
#include "mpr/gc/duty.hpp"
#include "mpr/gc/late.hpp"
#include "mpr/gc/mutator.hpp"
#include "mpr/gc/waits.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Safepoint {
public:
    Safepoint(heap::Heap& heap, Cycle& cycle, Budget& budget, Late& late, Duty& duty, Waits& waits,
              CollectorStats& stats)
        : heap_(heap), cycle_(cycle), budget_(budget), late_(late), duty_(duty), waits_(waits), stats_(stats) {}

    /** @param everyYield Collect at each yield point. */
    void open(bool everyYield) { everyYield_ = everyYield; }

    /** The calling thread yields: mprYield. */
    void yield(Mutator& m, int flags, const void* site);
    /** It goes on, if it does not run. */
    void resume(Mutator& m);
    /** @return Whether it was exempt. */
    bool setExempt(Mutator& m, bool exempt);
    /** It stops until resume, to wait for the collector. */
    void stopToWait(Mutator& m);
    /** It is counted among those who run, whatever its state; until leave. @return Whether a pause had to be waited for. */
    bool enter();
    void leave();

    /** Allocation has used up the budget, or what is left of memory is scattered. */
    void budgetSpent();

private:
    static void stop(Mutator& m, Mutator::State state);
    void stepOut(Mutator& m);
    void afterLeaving(bool last);
    void awaitSwept(Mutator& m);
    void waitOut(Mutator& m);
    void stall();
    bool sleepAtGate(os::Word& openings, std::uint32_t seen, std::uint64_t nap);

    heap::Heap& heap_;
    Cycle& cycle_;
    Budget& budget_;
    Late& late_;
    Duty& duty_;
    Waits& waits_;
    CollectorStats& stats_;
    bool everyYield_ = false;
};

} // namespace mpr::gc
