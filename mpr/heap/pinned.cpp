// SPDX-License-Identifier: MIT
/*
    pinned.cpp - What a heap of pinned blocks does otherwise than others: blocks begin at multiples of an alignment, are
    made several at a time, and are old from their birth, so that only the sweep of a major collection looks at them. No
    thread has a context or quick list here: each allocation is under the lock, in constant time.

    A block comes from a hole that has room for it at its alignment; what lies before it stays a hole. The first holes
    of the size's own queue are asked first, so that a place that was freed is taken again by a block of the same size and
    alignment; then a queue all of whose holes have room whatever their addresses.
 */
#include <algorithm>
#include <utility>

#include "mpr/heap/holes.hpp"

namespace mpr::heap {

namespace {
/** Holes of a queue that are asked whether they have room at the alignment. */
constexpr unsigned mostAsked = 4;
} // namespace

void Heap::bePinned(Heap* main) {
    serving_.begin(main);
    if (main) {
        table_.enterInto(main->table_);
    }
}

void Heap::skipTo(const void* address) {
    os::Locked locked(lock_);
    Region* region = regions_;
    unlink(region, region->firstGranule, region->endGranule - region->firstGranule);
    const auto first = static_cast<std::uint32_t>(region->granuleOf(address));
    totals_.overheadBytes += std::size_t{first - region->firstGranule} << granuleShift;
    region->firstGranule = first;
    commit(region, region->chunksTouched(0, first + 2), true);
    linkWhole(region);
}

// ---- Allocation ---------------------------------------------------------------------------------------------------

/** Find room in the first holes of a queue, from one on. */
bool Heap::findTight(const Hole* hole, const FreeQueues& queues, std::size_t n, std::size_t alignment, Fit& fit) {
    os::assertHeld(lock_);
    for (unsigned i = 0; hole && i < mostAsked; ++i) {
        const Place at = Place::of(regionOf(hole), hole);
        const std::size_t lead = leadOf(at, alignment);
        std::size_t size = 0;
        if (at.region->agreedHoleSize(at.granule, size) && size >= lead + n) {
            fit = {at, size, lead};
            return true;
        }
        hole = queues.next(hole, MayLead{*this, at.region});
    }
    return false;
}

bool Heap::findFit(std::size_t n, std::size_t alignment, bool privileged, Fit& fit, Shortage& shortage) {
    os::assertHeld(lock_);
    const FreeQueues& queues = queues_[0];
    const std::size_t enough = n + (alignment >> granuleShift) - (alignment >= granuleSize);
    // Where n granules stand; the smallest holes that have as many; what has room anywhere, if need be where the heap
    // grows; and what is left.
    for (unsigned turn = 0; turn < (os::hasPages ? 4 : 3); ++turn) {
        unsigned queue = turn == 0   ? FreeQueues::none
                         : turn == 1 ? queues.findWarm(n)
                         : turn == 2 ? queues.findWarm(enough)
                                     : queues.findCold(n);
        if (os::hasPages && turn == 2 && queue == FreeQueues::none) {
            queue = findFresh(Sort::small, enough, privileged, shortage);
        }
        const Hole* hole = turn == 0 ? queues.frontFor(n) : queue != FreeQueues::none ? queues.front(queue) : nullptr;
        if (findTight(hole, queues, n, alignment, fit)) {
            return true;
        }
    }
    shortage = shortage == Shortage::none ? Shortage::limit : shortage;
    return false;
}

void* Heap::allocateAlignedLarge(std::size_t n, Byte h, bool privileged, Shortage& shortage) {
    os::assertHeld(lock_);
    Region* region = reuseRetired(n);
    if (!region) {
        region = addLarge(n, privileged, shortage);
    }
    if (!region) {
        return nullptr;
    }
    region->map().setSizeElsewhere(region->firstGranule);
    region->map().set(region->firstGranule, h);
    took(n);
    ++totals_.blocksAllocated;
    void* block = region->address(region->firstGranule);
    if (poisons()) {
        poison::allow(block, n << granuleShift);
    }
    return block;
}

unsigned Heap::allocateAligned(void** blocks, unsigned count, std::size_t n, std::size_t alignment, Byte h,
                               bool privileged, Shortage& shortage) {
    constexpr std::size_t mostInRow = 64; // blocks made in one hold of the lock
    const Telling telling(*this);
    unsigned made = 0;
    while (made < count) {
        os::Locked locked(lock_);
        if (n + (alignment >> granuleShift) > greatestInRegion_) {
            // A page behind the start of a region.
            void* block = fixed() ? nullptr : allocateAlignedLarge(n, h, privileged, shortage);
            if (!block) {
                shortage = fixed() ? Shortage::limit : shortage;
                return made;
            }
            blocks[made++] = block;
            continue;
        }
        std::size_t row = 1;
        if (os::hasPages && count - made > 1 &&
            ((n << granuleShift) & (alignment - 1)) == 0) { // what lies side by side is aligned
            row = std::max<std::size_t>(1, std::min({std::size_t{count - made}, mostInRow, greatestInRegion_ / n - 1}));
        }
        Fit fit;
        const auto take = [&] {
            os::assertHeld(lock_);
            return (findFit(row * n, alignment, privileged, fit, shortage) && carveFit(fit, row * n, privileged)) ||
                   (os::hasPages && findScarce(queues_[0], row * n, alignment, privileged, fit) &&
                    carveFit(fit, row * n, privileged));
        };
        if (!take()) {
            row = std::exchange(row, 1) > 1 && take() ? 1 : 0;
            if (row == 0) {
                shortage = shortage == Shortage::none ? Shortage::limit : shortage;
                return made;
            }
        }
        took(row * n);
        totals_.blocksAllocated += row;
        const GranuleMap map = fit.at.region->map();
        for (std::size_t g = fit.at.granule + fit.lead; row > 0; --row, g += n) {
            map.setBlockSize(g, n);
            map.set(g, h);
            blocks[made] = fit.at.region->address(g);
            if (poisons()) [[unlikely]] {
                unearth(blocks[made], n);
            }
            ++made;
        }
    }
    return made;
}

void Heap::freePinned(Place at) {
    const std::size_t n = at.region->blockSize(at.granule);
    if (at.region->isLarge()) {
        return freeClaimed(at, n);
    }
    freeOrdinary(at.region, at.granule, n);
}

void Heap::freeClaimedRow(const Place* blocks, unsigned count) {
    const Telling telling(*this);
    constexpr unsigned mostInHold = 64;
    for (unsigned from = 0; from < count; from += mostInHold) {
        os::Locked locked(lock_);
        const unsigned end = std::min(count, from + mostInHold);
        for (unsigned i = from; i < end;) {
            const auto [region, g] = blocks[i];
            std::size_t n = region->blockSize(g);
            ++totals_.blocksFreed;
            ++i;
            if (region->isLarge() || poisons()) {
                gave(n);
                freeBlock({region, g}, n);
                continue;
            }
            region->map().clearBlock(g, n);
            // What lies side by side goes back as one.
            for (; i < end && blocks[i].region == region && blocks[i].granule == g + n; ++i) {
                const std::size_t m = region->blockSize(g + n);
                region->map().clearBlock(g + n, m);
                ++totals_.blocksFreed;
                n += m;
            }
            gave(n);
            giveBack({region, g}, n);
        }
    }
}

// ---- Collection ---------------------------------------------------------------------------------------------------

void Heap::beginPinnedSweep(Colours colours, bool retain) {
    {
        os::Locked locked(lock_);
        state_.adopt(colours);
        state_.setSweep(Sweep::all);
        state_.refresh();
    }
    if (retain) {
        retainDead();
    }
}

void Heap::endPinnedSweep(std::size_t leastTrigger) {
    os::Locked locked(lock_);
    state_.setSweep(Sweep::none);
    state_.refresh();
    if constexpr (!os::hasPages) {
        totals_.granulesAllocated += trigger_.since(); // see took
    }
    trigger_.begin();
    trigger_.set(std::max<std::size_t>(leastTrigger >> granuleShift, totals_.granulesInUse()));
}

} // namespace mpr::heap
