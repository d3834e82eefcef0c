/*
    nursery.cpp - Nurseries judged after a collection, and given up.
 */
#include <bit>
#include <utility>

#include "mpr/heap/holes.hpp"

namespace mpr::heap {

void Heap::noteHeld(void* block) {
    if constexpr (!os::hasPages) {
        return;
    }
    Region* region = find(block);
    region->nurseries.keep(region->granuleOf(block));
}

/** What a thread has not used again since the last collection, it does not need. */
void Heap::leaveOver(Local& local) {
    if constexpr (!os::hasPages) {
        return;
    }
    for (AllocationContext& c : local.contexts) {
        while (StaleNursery* stale = c.stale) {
            c.stale = stale->next;
            stale->next = leftOver_;
            leftOver_ = stale;
        }
    }
}

/** The thread leaves the heap. */
void Heap::disown(Local& local) {
    if constexpr (os::hasPages) {
        leaveOver(local);
        for (Region* region = regions_; region; region = region->next) {
            Nurseries& nurseries = region->nurseries;
            for (std::uint64_t some = nurseries.filling | nurseries.judged; some != 0; some &= some - 1) {
                auto& unit = nurseries.units[std::countr_zero(some)];
                unit.owner = unit.owner == &local ? nullptr : unit.owner;
            }
        }
    }
}

void Heap::releaseNurseries(Region* region, Swept& swept) {
    if constexpr (os::hasPages) {
        os::LockedFairly locked(lock_);
        Nurseries& nurseries = region->nurseries;
        for (std::uint64_t judged = std::exchange(nurseries.judged, 0); judged != 0; judged &= judged - 1) {
            judge(region, static_cast<std::size_t>(std::countr_zero(judged)), swept);
        }
    }
}

/** All that could be reached has been marked, and every manager of the dead called. */
void Heap::judge(Region* region, std::size_t i, Swept& swept) {
    Nurseries& nurseries = region->nurseries;
    const Nurseries::Unit& unit = nurseries.units[i];
    const std::size_t begin = nurseries.begin(i);
    const std::size_t end = nurseries.begin(i + 1);
    if (nurseries.kept.has(i)) {
        if (unit.used < end) {
            region->map().clear(unit.used, end);
            totals_.granulesFreed += end - unit.used;
            giveBack(region, unit.used, end - unit.used);
        }
        return;
    }
    swept.blocks += unit.blocks;
    totals_.blocksFreed += unit.blocks;
    totals_.granulesFreed += end - begin;
    region->sweepYoung.remove(begin, end);
    // Heads with managers must not stay: somebody might call these again.
    if (unit.owner && (region->wantsFree.get() & region->chunksTouched(begin, end)) == 0) {
        auto* stale = reinterpret_cast<StaleNursery*>(region->address(begin));
        StaleNursery*& list = unit.owner->contexts[static_cast<unsigned>(region->sort)].stale;
        stale->next = list;
        list = stale;
        nurseries.stale.add(i);
        return;
    }
    region->map().clear(begin, end);
    giveBack(region, begin, end - begin);
}

bool Heap::reclaimNursery(bool any) {
    if constexpr (!os::hasPages) {
        return false;
    }
    os::LockedFairly locked(lock_);
    for (Local* local = locals_; any && !leftOver_ && local; local = local->next) {
        leaveOver(*local);
    }
    StaleNursery* stale = leftOver_;
    if (!stale) {
        return false;
    }
    leftOver_ = stale->next;
    Region* region = table_.find(stale);
    const std::size_t g = region->granuleOf(stale);
    region->map().clear(g, g + contextGranules_);
    region->nurseries.stale.remove(region->nurseries.indexOf(g));
    giveBack(region, g, contextGranules_);
    return true;
}

} // namespace mpr::heap
