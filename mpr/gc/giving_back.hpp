// SPDX-License-Identifier: MIT
/*
    giving_back.hpp - When free memory goes back to the system.

    Memory that was free whenever a collection of the last second began was not needed in that second. It is given back
    after a sweep. So a heap whose use goes up and down keeps what it needs. This takes long, so a thread that stands in
    for the collector leaves it to the collector's own thread. If no collection comes, free memory goes back down to the
    size of the cache. Large blocks freed by hand go back as soon as enough of them have gathered.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/gc/budget.hpp"
#include "mpr/gc/cycle.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class GivingBack {
public:
    /**
        Nanoseconds after which free memory that has not been needed is given back. `gc_mpr service` is the same with a
        tenth and ten times of it.
     */
    static constexpr std::uint64_t decayTime = 1'000'000'000;

    GivingBack(heap::Heap& heap, Cycle& cycle, const Budget& budget) : heap_(heap), cycle_(cycle), budget_(budget) {}

    /** Note that a large block was freed by hand. Any thread. */
    void freedLarge();
    /** The machine is short of memory: after the next sweep all that is free goes back, but the cache. Any thread. */
    void memoryIsLow();

    // ---- On duty ----
    /** Note what is free as a collection begins. */
    void noteFree() MPR_REQUIRES(onDuty) { unneeded_ = std::min(unneeded_, heap_.freeBytes()); }
    /** A collection has swept. @param forced Somebody asked for a major one, and waits for it. */
    void swept(bool forced) MPR_REQUIRES(onDuty);
    /** Whether a thread has left something to the collector's own. */
    bool isLeft() const MPR_REQUIRES(onDuty) { return left_; }
    /** No collection runs: give back what was left to do, or asked for. */
    void catchUp() MPR_REQUIRES(onDuty);
    /** Whether enough is free that some of it is given back if nothing happens for decayTime. */
    bool decays() const { return heap_.freeBytes() > cache() + cache() / 4; }
    void decay() MPR_REQUIRES(onDuty) { heap_.purge(cache()); }

private:
    void giveBack(bool forced) MPR_REQUIRES(onDuty);
    std::size_t cache() const { return budget_.pacer().cache(); }

    heap::Heap& heap_;
    Cycle& cycle_;
    const Budget& budget_;
    std::atomic<bool> asked_{false}; // a wish, stored before the bell rings
    std::atomic<bool> low_{false};   // another, stored before a collection is requested
    bool left_ MPR_GUARDED_BY(onDuty) = false;
    /** Least free memory at any rendezvous since purgedAt_. */
    std::size_t unneeded_ MPR_GUARDED_BY(onDuty) = ~std::size_t{0};
    std::uint64_t purgedAt_ MPR_GUARDED_BY(onDuty) = 0;
};

} // namespace mpr::gc
