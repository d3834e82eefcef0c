// SPDX-License-Identifier: MIT
/*
    safepoint.hpp - A thread at its yield point. It stops, lets a collection mark or does that itself, and continues; or
    it stops for longer, until it continues of its own accord.

    A thread that stops takes itself out of the rendezvous' count, and one that continues counts itself in
    (rendezvous.hpp). Mutator::state tells others the state of a single thread.
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

    /** @param everyYield Collect at each yield point. @param stacks Note where the stacks of threads that stop are. */
    void open(bool everyYield, bool stacks) {
        everyYield_ = everyYield;
        stacks_ = stacks;
    }
    bool collectsAtYields() const { return everyYield_; }

    /** The calling thread yields: mprYield. */
    void yield(Mutator& m, int flags, const void* site);
    /** The calling thread continues, if it does not run. */
    void resume(Mutator& m);
    /** Make the calling thread exempt, or end that. @return Whether it was exempt. */
    bool setExempt(Mutator& m, bool exempt);
    /** The calling thread stops until resume(), to wait for the collector. */
    void stopToWait(Mutator& m, bool forMemory);
    /**
        Count the calling thread as running, whatever its state, until leave(). @return Whether it had to wait for a
        pause.
     */
    bool enter();
    void leave();

    /**
        Allocation has used up the budget, or what is left of memory is scattered; or there is another reason to ask for a
        collection.
     */
    void budgetSpent(Wish wish = Wish::budget);

private:
    void stop(Mutator& m, Mutator::State state);
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
    bool everyYield_ = false; // set before the collector's thread begins, as the next
    bool stacks_ = false;
};

} // namespace mpr::gc
