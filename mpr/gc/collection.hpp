// SPDX-License-Identifier: MIT
/*
    collection.hpp - A collection from its pause to its end, phase by phase (cycle.hpp).

    pause() is everything that is done while threads are stopped, reclaim() everything that follows while they run.
    duty.hpp says who calls these, and when.
 */
#pragma once

#include <cstdint>

#include "mpr/gc/budget.hpp"
#include "mpr/gc/collector_stats.hpp"
#include "mpr/gc/cycle.hpp"
#include "mpr/gc/fields.hpp"
#include "mpr/gc/giving_back.hpp"
#include "mpr/gc/globals.hpp"
#include "mpr/gc/late.hpp"
#include "mpr/gc/roots.hpp"
#include "mpr/gc/stacks.hpp"
#include "mpr/gc/sweeping.hpp"
#include "mpr/gc/tracing.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Collection {
public:
    /** @param own The collector's own thread. */
    Collection(heap::Heap& heap, Roots& roots, Cycle& cycle, Budget& budget, Late& late, Mutator& own,
               CollectorStats& stats)
        : heap_(heap), roots_(roots), cycle_(cycle), budget_(budget), late_(late), stats_(stats),
          tracing_(heap, roots, cycle, budget, late.mutators(), own, stats), sweeping_(heap, cycle, stats),
          givingBack_(heap, cycle, budget), fields_(heap), globals_(heap), stacks_(heap, late.mutators()) {}

    /** @param trial Every scope is tried in turn. @return false when memory is short. */
    bool open(const heap::Options& options, std::size_t fixedHeap, unsigned processors, bool trial);
    void close();

    /** A collection is requested and all threads have stopped: mark, and let them continue. Ends in idle or freeing. */
    void pause() MPR_REQUIRES(onDuty);
    /** Threads run again: free what was found dead. @return Whether that is done; always true without `until`. */
    bool reclaim(std::uint64_t until = os::forever) MPR_REQUIRES(onDuty);
    /** No slice should begin before this time. */
    std::uint64_t restUntil() const MPR_REQUIRES(onDuty) { return restUntil_; }
    /** Nanoseconds that an assisting thread may spend on an incremental step. */
    std::uint64_t stepTime() const { return pauseBudget_ / 4; }
    /** The runtime ends, and nobody is on duty any more: call the manager of every block with MPR_MANAGE_FREE. */
    void freeEverything() MPR_UNANALYSED;

    Tracing& tracing() { return tracing_; }
    const Tracing& tracing() const { return tracing_; }
    Sweeping& sweeping() { return sweeping_; }
    const Sweeping& sweeping() const { return sweeping_; }
    GivingBack& givingBack() { return givingBack_; }
    const GivingBack& givingBack() const { return givingBack_; }

    /** Whether each pause is checked: see check.hpp. */
    bool checks() const { return checks_; }

private:
    Scope decide(Wish wish) const MPR_REQUIRES(onDuty);
    void reopen(Phase phase, std::uint64_t stopped) MPR_REQUIRES(onDuty);
    void endReclaim() MPR_REQUIRES(onDuty);

    heap::Heap& heap_;
    Roots& roots_;
    Cycle& cycle_;
    Budget& budget_;
    Late& late_;
    CollectorStats& stats_;
    Tracing tracing_;
    Sweeping sweeping_;
    GivingBack givingBack_;
    Fields fields_;
    Globals globals_;
    Stacks stacks_;
    // Set before the collector's thread begins, except members that are guarded by the duty.
    bool checks_ = false; // every pause: see check.hpp
    bool trial_ = false;
    std::uint64_t pauseBudget_ = 0;                      // nanoseconds
    std::uint64_t restUntil_ MPR_GUARDED_BY(onDuty) = 0; // no slice before
    std::uint64_t ran_ MPR_GUARDED_BY(onDuty) = 0;       // processor time when the last pause that was no slice ended
    std::size_t allocated_ MPR_GUARDED_BY(onDuty) = 0;   // bytes between the last two pauses that were no slices
    os::Total freed_ MPR_GUARDED_BY(onDuty) = 0;         // granules, before the sweep
    std::uint64_t freeing_ MPR_GUARDED_BY(onDuty) = 0;   // nanoseconds that managers have taken to free
    std::uint64_t reclaimed_ MPR_GUARDED_BY(onDuty) = 0; // nanoseconds that reclaiming has taken so far
};

} // namespace mpr::gc
