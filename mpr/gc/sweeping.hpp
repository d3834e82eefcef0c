// SPDX-License-Identifier: MIT
/*
    sweeping.hpp - The end of dead blocks: their managers are called with MPR_MANAGE_FREE, then their memory is freed.
    Threads run meanwhile.

    All managers are called before anything is freed, so that a manager may still look at what dies with its own block.
    Only the collector's thread calls them, without any lock. The sweep proceeds in steps of some ten microseconds, from
    stage to stage. The cheapest stage comes first, for threads wait for its memory.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/gc/collector_stats.hpp"
#include "mpr/gc/cycle.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Sweeping {
public:
    Sweeping(heap::Heap& heap, const Cycle& cycle, CollectorStats& stats) : heap_(heap), cycle_(cycle), stats_(stats) {}

    /**
        Whether dead blocks have managers to call, or finding out takes long. Held blocks count: they may be released.
     */
    bool hasFinalizers() const MPR_REQUIRES(onDuty);
    /**
        Call the managers of dead blocks. @param everything Of held blocks, too, because the runtime ends.
        @return Nanoseconds that they have taken.
     */
    std::uint64_t finalize(bool everything) MPR_REQUIRES(onDuty);
    /** All managers have returned: prepare the sweep. */
    void begin() MPR_REQUIRES(onDuty);
    /** Sweep. @return Whether that is done; if not, `until` has passed. */
    bool advance(std::uint64_t until) MPR_REQUIRES(onDuty);
    /** End the sweep, which is done. @return How many blocks it has freed. */
    std::size_t end() MPR_REQUIRES(onDuty);

private:
    enum Stage { dead, kept, leftOver, lines };

    std::uint64_t finalizeIn(heap::Region* region, unsigned chunk, bool everything) MPR_REQUIRES(onDuty);
    bool step() MPR_REQUIRES(onDuty);
    bool sweepRegion(heap::Region* region) MPR_REQUIRES(onDuty);

    heap::Heap& heap_;
    const Cycle& cycle_;
    CollectorStats& stats_;
    Stage stage_ MPR_GUARDED_BY(onDuty) = dead;
    heap::Region* region_ MPR_GUARDED_BY(onDuty) = nullptr; // the next to be swept
    std::size_t at_ MPR_GUARDED_BY(onDuty) = 0;             // at stage `lines` the next granule in it
    heap::Heap::Swept swept_ MPR_GUARDED_BY(onDuty);
};

} // namespace mpr::gc
