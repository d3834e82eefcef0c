// SPDX-License-Identifier: MIT
/*
    giving_back.hpp - When free memory goes back to the system.

    What was free when each collection of the last second began was not needed in that second: it is given back when a
    collection has swept. So a heap that breathes keeps what it breathes with. A thread that is the collector leaves that to
    the collector's own, since it takes long. What stays free while no collection comes goes back down to the cache; what was
    freed by hand as soon as enough has gathered.
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
    /** Free memory is given back when it has not been needed for so long: nanoseconds. */
    static constexpr std::uint64_t decayTime = 1'000'000'000;

    GivingBack(heap::Heap& heap, Cycle& cycle, const Budget& budget) : heap_(heap), cycle_(cycle), budget_(budget) {}

    /** A large block was freed by hand. Any thread. */
    void freedLarge();

    // ---- On duty ----
    /** A collection begins. */
    void noteFree() MPR_REQUIRES(onDuty) { unneeded_ = std::min(unneeded_, heap_.freeBytes()); }
    /** A collection has swept. @param forced Somebody asked for a major one, and waits for it. */
    void swept(bool forced) MPR_REQUIRES(onDuty);
    /** Whether a thread has left it to the collector's. */
    bool isLeft() const MPR_REQUIRES(onDuty) { return left_; }
    /** No collection runs: do what was left, or asked for. */
    void catchUp() MPR_REQUIRES(onDuty);
    /** Whether so much is free that it will go when nothing happens for decayTime. */
    bool decays() const { return heap_.freeBytes() > cache() + cache() / 4; }
    void decay() MPR_REQUIRES(onDuty) { heap_.purge(cache()); }

private:
    void giveBack(bool forced) MPR_REQUIRES(onDuty);
    std::size_t cache() const { return budget_.pacer().cache(); }

    heap::Heap& heap_;
    Cycle& cycle_;
    const Budget& budget_;
    std::atomic<bool> asked_{false}; // a wish, before the bell
    bool left_ MPR_GUARDED_BY(onDuty) = false;
    /** Least free memory at the rendezvous since purgedAt_. */
    std::size_t unneeded_ MPR_GUARDED_BY(onDuty) = ~std::size_t{0};
    std::uint64_t purgedAt_ MPR_GUARDED_BY(onDuty) = 0;
};

} // namespace mpr::gc
