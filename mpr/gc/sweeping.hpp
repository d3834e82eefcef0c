// SPDX-License-Identifier: MIT
/*
    sweeping.hpp - What was found dead: its managers are called with MPR_MANAGE_FREE, then its memory is free again. Threads run
    meanwhile.

    Managers come first, all of them, so that a manager may still look at what dies with its own block. They are called by the
    collector's thread alone, without any lock. The sweep goes on in steps of some ten microseconds, from stage to stage:
    what costs nothing comes first, for threads wait for it.
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

    /** Whether managers of dead blocks are to be called, held ones included, which may be released; or it takes long to see. */
    bool hasFinalizers() const MPR_REQUIRES(onDuty);
    /** Call the managers of dead blocks. @param everything And of all that is held: the runtime ends. */
    void finalize(bool everything) MPR_REQUIRES(onDuty);
    /** They have returned: the sweep is to come. */
    void begin() MPR_REQUIRES(onDuty);
    /** @return Whether the sweep is done; if not, `until` has passed. */
    bool advance(std::uint64_t until) MPR_REQUIRES(onDuty);
    /** @return Blocks that the sweep, which is done, has freed. */
    std::size_t end() MPR_REQUIRES(onDuty);

private:
    enum Stage { dead, kept, leftOver, lines };

    void finalizeIn(heap::Region* region, unsigned chunk, bool everything) MPR_REQUIRES(onDuty);
    bool step() MPR_REQUIRES(onDuty);
    bool sweepRegion(heap::Region* region) MPR_REQUIRES(onDuty);

    heap::Heap& heap_;
    const Cycle& cycle_;
    CollectorStats& stats_;
    Stage stage_ MPR_GUARDED_BY(onDuty) = dead;
    heap::Region* region_ MPR_GUARDED_BY(onDuty) = nullptr; // at this
    std::size_t at_ MPR_GUARDED_BY(onDuty) = 0;             // and with `lines` in a large sweep at this granule
    heap::Heap::Swept swept_ MPR_GUARDED_BY(onDuty);
};

} // namespace mpr::gc
