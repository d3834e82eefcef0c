// SPDX-License-Identifier: MIT
/*
    purge.cpp - Giving memory back to the system: retired large regions, empty regions, chunks inside holes.

    The holder of the collector's duty does this after a sweep, when idle, and at the redline. It never happens inside a
    free, and inside an allocation only when that would fail. The lock is not held across a system call: what is being
    purged is out of its queue and marked 7D.
*/
#include <algorithm>

#include "mpr/heap/holes.hpp"

namespace mpr::heap {

std::size_t Heap::freeBytesLocked() const {
    os::assertHeld(lock_);
    if constexpr (!os::hasPages) {
        return regions_->length - limits_.committed();
    }
    const std::size_t other = (totals_.granulesInUse() << granuleShift) + totals_.overheadBytes + serving_.lent;
    return limits_.committed() > other ? limits_.committed() - other : 0;
}

std::size_t Heap::freeBytes() {
    os::Locked locked(lock_);
    return freeBytesLocked();
}

void Heap::purge(std::size_t keep) {
    if constexpr (!os::hasPages) {
        return;
    }
    const Telling telling(*this);
    endQuarantine(keep == 0);
    while (reclaimSpan(true)) {}
    for (const bool wholeRegions : {true, false}) {
        Region* next = nullptr;
        for (Region* region = firstRegion(); region; region = next) {
            next = nextRegion(region);
            if (wholeRegions) {
                releaseIfEmpty(region, keep);
            } else if (!region->isLarge()) {
                purgeRegion(region, keep);
            }
        }
    }
}

/** Give up a large region whose block is gone, or an ordinary one that is a single hole. */
bool Heap::releaseIfEmpty(Region* region, std::size_t keep) {
    const bool large = region->isLarge();
    {
        os::Locked locked(lock_);
        const std::size_t first = region->firstGranule;
        const Byte b = region->map().get(first);
        if (large) {
            if (b != 0) {
                if (Region::isBlock(b) && freeBytesLocked() >= keep + slackOf(region)) {
                    releaseSlack(region);
                }
                return false;
            }
            forgetCommitted(region);
        } else {
            const std::size_t all = region->endGranule - first;
            const std::size_t bytes = region->bytesOf(region->committed);
            const bool only = regions_ == region && !region->next;
            if (region->origin == Origin::buffer || only || !GranuleMap::beginsHole(b) ||
                region->holeSize(first) != all || limits_.committed() - bytes < reserve_ ||
                freeBytesLocked() < keep + bytes) {
                return false;
            }
            unlink(region, first, all);
            limits_.uncommit(bytes);
            discharge(bytes);
            forgetSpans(region);
        }
        totals_.purgedBytes += region->length;
        table_.remove(region);
        delist(region);
        if (LinkRange::suffices && !large && linkRange_.endsWith(region, region->length)) {
            fitLinkRange();
        }
    }
    poison::allow(region, region->length);
    // A large region stays readable in its first page, which has the map; others as a whole, so that no address is
    // reused.
    gone_.add(region, large ? os::pageSize() : region->length, region->length);
    return true;
}

/** Decommit chunks inside the holes of a region until little enough is kept. */
void Heap::purgeRegion(Region* region, std::size_t keep) {
    const GranuleMap map = region->map();
    std::size_t at = region->firstGranule & ~std::size_t{swar::bytes - 1};
    while (at < region->endGranule) {
        std::size_t g = 0;
        std::size_t n = 0;
        std::uint64_t chunks = 0;
        {
            os::Locked locked(lock_);
            const std::size_t sliceEnd = std::min(at + sliceGranules, std::size_t{region->endGranule});
            while (at < sliceEnd && chunks == 0) {
                // Holes are boundaries that are not heads.
                const swar::Word word = map.word(at);
                swar::Word marks = swar::boundaries(word) & ~swar::heads(word);
                std::size_t next = at + swar::bytes;
                for (; marks != 0 && chunks == 0; marks &= marks - 1) {
                    g = at + swar::first(marks);
                    if (map.get(g) != mark::hole || g >= region->endGranule || !region->agreedHoleSize(g, n)) {
                        continue;
                    }
                    // The first two granules stay: see Region.
                    chunks = region->chunksInside(g + 2, g + n) & region->committed;
                    next = (g + n) & ~std::size_t{swar::bytes - 1};
                    if (next <= at) {
                        next = at + swar::bytes;
                    }
                }
                at = next;
            }
            if (chunks == 0) {
                continue;
            }
            if (freeBytesLocked() <= keep || limits_.committed() <= reserve_) {
                return;
            }
            unlink(region, g, n);
            map.setBlockSize(g, n);
            map.set(g, mark::opaque);
        }
        const std::size_t bytes = region->bytesOf(chunks);
        if (region->origin == Origin::system) {
            forRuns(chunks, [&](unsigned first, unsigned count) {
                os::decommit(reinterpret_cast<Byte*>(region) + first * region->chunkBytes(),
                             count * region->chunkBytes());
            });
        }
        os::Locked locked(lock_);
        totals_.purgedBytes += region->origin == Origin::system ? bytes : 0;
        map.clearBlock(g, n);
        region->committed &= ~chunks;
        limits_.uncommit(bytes);
        discharge(bytes);
        giveBack({region, g}, n);
    }
}

// ---- Pacing, limits, totals -------------------------------------------------------------------------------------

void Heap::setTrigger(std::size_t bytes) {
    os::Locked locked(lock_);
    trigger_ = budget_ = bytes >> granuleShift;
    wellPast_ = ~std::size_t{0};
    budgetSpent_ = false;
    took(0);
}

/**
    There are pages, and the trigger is passed: a budget is spent, or what is in use may be well past the redline. A budget is spent once, since
    the next one is set when the collection that this one starts has swept. Until then memory may fill without growing.
 */
void Heap::spend() {
    os::assertHeld(lock_);
    budgetSpent_ = budgetSpent_ || trigger_ != wellPast_;
    trigger_ = wellPast_ = whenWellPast();
    attention_.store(true, std::memory_order_relaxed);
}

/** The next trigger, after a budget's; if that much is in use now, it is noted. */
std::size_t Heap::whenWellPast() {
    os::assertHeld(lock_);
    const std::size_t from = limits_.wellPast();
    if (from == Limits::none) {
        return Limits::none;
    }
    const std::size_t used = limits_.counted() - freeBytesLocked();
    if (used >= from) {
        limits_.crosses(freeBytesLocked());
        return Limits::none;
    }
    constexpr std::size_t least = 1024; // granules: what is in use may fall as fast as it rises
    return since_ + std::max((from - used) >> granuleShift, least);
}

Heap::Attention Heap::takeAttention() {
    os::Locked locked(lock_);
    const bool stepped = steps() && ++step_ % stepping_ == 0;
    const Attention result{budgetSpent_ || stepped, limits_.takeNews(), limits_.state()};
    budgetSpent_ = false;
    attention_.store(steps(), std::memory_order_relaxed);
    return result;
}

void Heap::setStepping(unsigned turn) {
    if constexpr (!os::cooperative) {
        stepping_ = turn;
        attention_.store(turn > 0, std::memory_order_relaxed);
    }
}

void Heap::repeatRedline() {
    os::Locked locked(lock_);
    limits_.repeatNews();
    haveTold();
}

Limits::State Heap::memoryState() {
    os::Locked locked(lock_);
    limits_.falls(os::hasPages ? freeBytesLocked() : 0);
    haveTold();
    return limits_.state();
}

void Heap::noteRefused(std::size_t bytes) {
    os::Locked locked(lock_);
    limits_.refuse(bytes, freeBytesLocked());
}

std::size_t Heap::allocatedSince() {
    os::Locked locked(lock_);
    return since_ << granuleShift;
}

std::size_t Heap::takeScattered() {
    os::Locked locked(lock_);
    return scattered_.take();
}

bool Heap::isScattered() {
    os::Locked locked(lock_);
    return scattered_.any();
}

void Heap::setLimits(std::size_t warn, std::size_t maximum) {
    os::Locked locked(lock_);
    limits_.set(warn, maximum, os::hasPages ? freeBytesLocked() : 0);
    haveTold();
}

void Heap::moveRedline(std::size_t warn) {
    os::Locked locked(lock_);
    limits_.moveRedline(warn, freeBytesLocked());
    haveTold();
}

Limits Heap::limits() {
    os::Locked locked(lock_);
    return limits_;
}

Totals Heap::totals() {
    os::Locked locked(lock_);
    Totals result = totals_;
    if constexpr (!os::hasPages) {
        const std::size_t inUse = limits_.committed() - result.overheadBytes;
        result.granulesAllocated += since_;
        result.granulesFreed = result.granulesAllocated - (inUse >> granuleShift);
        return result;
    }
    for (const Local* local = locals_; local; local = local->next) {
        result.blocksAllocated += local->blocks.get();
        for (const AllocationContext& c : local->contexts) {
            result.blocksAllocated += c.blocks.get();
        }
        result.blocksFreed += local->freedBlocks.get();
        result.granulesFreed += local->freedGranules.get();
        result.granulesAllocated += local->takenGranules.get();
    }
    return result;
}

std::uint64_t Heap::granulesInUse() {
    const Totals t = totals();
    return t.granulesAllocated - t.granulesFreed;
}

std::size_t Heap::largestFree() {
    os::Locked locked(lock_);
    std::size_t largest = 0;
    for (const FreeQueues& queues : queues_) {
        if (Hole* hole = queues.largest(true)) {
            Region* region = table_.find(hole);
            largest = std::max(largest, region->holeSize(region->granuleOf(hole)) << granuleShift);
        }
    }
    return largest;
}

} // namespace mpr::heap
