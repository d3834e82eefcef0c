// SPDX-License-Identifier: MIT
/*
    holes.cpp - The choice of a hole for a block, and of where the heap grows; and the return of a block to the holes.
    Most of the worst case of an allocation or free is spent here.
*/
#include "mpr/heap/holes.hpp"

#include <algorithm>

namespace mpr::heap {

/**
    Find a hole by which the heap grows: a cold one, an empty region of another sort, or a new region. @return its queue
 */
unsigned Heap::findFresh(Sort sort, std::size_t n, bool privileged, Shortage& shortage) {
    os::assertHeld(lock_);
    const FreeQueues& queues = queues_[static_cast<unsigned>(sort)];
    unsigned queue = queues.findCold(n);
    if (queue == FreeQueues::none && !fixed() && (changeSort(sort) || addRegion(sort, privileged, shortage))) {
        queue = queues.findWarm(n);
        queue = queue != FreeQueues::none ? queue : queues.findCold(n);
    }
    return queue;
}

/** n granules of a block have been carved. */
MPR_INLINE void* Heap::makeCarved(Place at, NewBlock block) {
    at.region->young.add(at.granule);
    at.region->map().setBlockSize(at.granule, block.size);
    at.region->map().set(at.granule, block.head);
    if (head::wantsFree(block.head)) {
        at.region->noteWantsFree(at.granule);
    }
    return at.address();
}

/** Make a block at the start of a queue's front hole. @return nullptr: past the limit, or the hole was damaged. */
MPR_INLINE void* Heap::carveFront(const FreeQueues& queues, unsigned queue, NewBlock block, bool privileged) {
    const Place at = Place::of(regionOf(queues.front(queue)), queues.front(queue));
    std::size_t size = 0;
    if (!sizeOfFront(at, size) || !mayUse(block.size, privileged) || !carve(at, size, block.size, privileged, queue))
        [[unlikely]] {
        return nullptr;
    }
    return makeCarved(at, block);
}

/**
    Find the place for n granules in a cold hole for which the fewest chunks have to be committed, where the heap may
    commit so many. Chunks may be committed behind some that are not, which were given back: from its front the hole would
    be out of reach. Cold holes begin in a committed chunk each, so all are looked at where the heap has 16 MB or less.
 */
bool Heap::findScarce(const FreeQueues& queues, std::size_t n, std::size_t alignment, bool privileged, Fit& fit) const {
    os::assertHeld(lock_);
    std::size_t least = Limits::none;
    if constexpr (os::hasPages) {
        int looks = 256;
        for (unsigned q = queues.findCold(n); q != FreeQueues::none && looks > 0; q = queues.findFrom(q + 1)) {
            for (const Hole* hole = queues.front(q); hole && least > 0 && looks > 0; --looks) {
                const Place at = Place::of(regionOf(hole), hole);
                std::size_t size = 0;
                if (at.region->agreedHoleSize(at.granule, size)) {
                    findScarceIn({at, size}, n, alignment, privileged, least, fit);
                }
                hole = queues.next(hole, MayLead{*this, at.region});
            }
        }
    }
    return least != Limits::none;
}

/**
    Find such a place in one hole: at its front, and from where each of its chunks begins.
    @param least Bytes to be committed for the best place so far.
 */
void Heap::findScarceIn(Extent hole, std::size_t n, std::size_t alignment, bool privileged, std::size_t& least,
                        Fit& fit) const {
    os::assertHeld(lock_);
    const Region& region = *hole.at.region;
    const std::size_t end = hole.at.granule + hole.size;
    for (std::size_t from = hole.at.granule; from + n <= end;
         from = ((from >> region.chunkShift) + 1) << region.chunkShift) {
        const std::size_t first = from + leadOf({hole.at.region, from}, alignment);
        if (first + n > end) {
            return;
        }
        // The first granules of the rest will hold a hole's links.
        const std::uint64_t fresh = region.chunksTouched(first, std::min(first + n + 2, end)) & ~region.committed;
        const std::size_t bytes = region.bytesOf(fresh);
        if (bytes < least && (bytes == 0 || limits_.allows(bytes, privileged))) {
            least = bytes;
            fit = {hole.at, hole.size, first - hole.at.granule};
        }
    }
}

/**
    Take n granules from a hole that is just large enough, among the first few of a queue where searches by range do not
    look. @return nullptr: there is none.
 */
MPR_INLINE Hole* Heap::carveTight(const FreeQueues& queues, std::size_t n, bool privileged) {
    os::assertHeld(lock_);
    Hole* hole = n > 1 ? queues.frontFor(n) : nullptr;
    for (unsigned i = 0; hole && i < 8; ++i) {
        const Place at = Place::of(regionOf(hole), hole);
        std::size_t size = 0;
        if (at.region->agreedHoleSize(at.granule, size) && size >= n &&
            carve(at, size, n, privileged, FreeQueues::none)) {
            return hole;
        }
        hole = queues.next(hole, MayLead{*this, at.region});
    }
    return nullptr;
}

/** Take n granules out of a hole. They are zero in the map. @return false: past the limit. */
bool Heap::carveFit(const Fit& fit, std::size_t n, bool privileged) {
    os::assertHeld(lock_);
    const auto [region, g] = fit.at;
    const std::size_t first = g + fit.lead;
    const std::size_t rest = fit.size - fit.lead - n;
    if (os::hasPages && fit.lead == 0) {
        return carve(fit.at, fit.size, n, privileged, FreeQueues::none);
    }
    if constexpr (os::hasPages) {
        // The first granules of the rest will hold a hole's links; those of the hole are committed.
        const std::uint64_t touched = region->chunksTouched(first, first + n + std::min<std::size_t>(rest, 2));
        if (!commit(region, touched & ~region->committed, privileged)) {
            return false;
        }
    } else if (!mayUse(n, privileged)) {
        return false;
    }
    unlink(region, g, fit.size);
    if constexpr (!os::hasPages) { // by functions that are compiled already
        if (fit.lead > 0) {
            giveBack(fit.at, fit.lead);
        }
        if (rest > 0) {
            giveBack({region, first + n}, rest);
        }
        return true;
    }
    // Not joined with its neighbours, of which none is a hole.
    if (fit.lead > 0) {
        link({region, g}, fit.lead, isBacked({region, g}, fit.lead));
    }
    if (rest > 0) {
        link({region, first + n}, rest, isBacked({region, first + n}, rest));
    }
    return true;
}

/** Take n granules where searches by range have found none. @return nullptr: there are none. */
Hole* Heap::carveScarce(const FreeQueues& queues, std::size_t n, bool privileged) {
    os::assertHeld(lock_);
    Fit fit;
    if (Hole* hole = carveTight(queues, n, privileged)) {
        return hole;
    }
    const bool found = findScarce(queues, n, granuleSize, privileged, fit) && carveFit(fit, n, privileged);
    return found ? holeAt(fit.at + fit.lead) : nullptr;
}

/** Make a block where the heap need not grow: in holes of all sorts, first what is committed, then what just fits. */
void* Heap::carveAnywhere(NewBlock block, bool privileged) {
    void* made = nullptr;
    for (unsigned i = 0; !made && i < 2 * sorts; ++i) {
        const FreeQueues& queues = queues_[i % sorts];
        const unsigned queue = i < sorts ? queues.findWarm(block.size) : queues.findCold(block.size);
        made = queue != FreeQueues::none ? carveFront(queues, queue, block, privileged) : nullptr;
    }
    for (unsigned i = 0; !made && i < sorts; ++i) {
        Hole* hole = carveScarce(queues_[i], block.size, privileged);
        made = hole ? makeCarved(Place::of(regionOf(hole), hole), block) : nullptr;
    }
    return made;
}

/** Allocate a block straight from a hole. */
MPR_INLINE void* Heap::carveBlock(std::size_t n, Byte h, bool privileged, Shortage& shortage) {
    const Sort sort = fixed() ? Sort::small : sortOf(n);
    const FreeQueues& queues = queues_[static_cast<unsigned>(sort)];
    unsigned queue = queues.findWarm(n);
    if (queue == FreeQueues::none) [[unlikely]] {
        queue = findFresh(sort, n, privileged, shortage);
    }
    if (queue != FreeQueues::none) [[likely]] {
        if (void* made = carveFront(queues, queue, {n, h}, privileged)) [[likely]] {
            return made;
        }
    }
    if (shortage == Shortage::none) {
        shortage = Shortage::limit;
    }
    return os::hasPages ? carveAnywhere({n, h}, privileged) : nullptr; // without pages the one queue has been asked
}

void* Heap::allocateShared(std::size_t n, Byte flags, bool privileged, Shortage& shortage) {
    os::Locked locked(lock_);
    const Byte h = static_cast<Byte>(head::inUse | flags | state_.colours().newborn());
    void* block = nullptr;
    if (n <= greatestInRegion_) {
        block = carveBlock(n, h, privileged, shortage);
    } else if (fixed()) {
        shortage = Shortage::tooBig;
    } else {
        Region* region = reuseRetired(n);
        if (!region) {
            region = addLarge(n, privileged, shortage);
        }
        if (region) {
            block = region->address(region->firstGranule);
            region->map().setSizeElsewhere(region->firstGranule);
            region->map().set(region->firstGranule, h);
            if (head::wantsFree(h)) {
                region->noteWantsFree(0);
            }
        }
    }
    unearth(block, n);
    if (block) {
        took(n);
        ++totals_.blocksAllocated;
    }
    return block;
}

/**
    Size of the hole of two granules or more that begins at a place. When its two ends disagree the hole is named, and
    this is 0.
 */
std::size_t Heap::agreedSize(Place at) {
    if constexpr (!FreeQueues::checksLinks) {
        return at.region->wideHoleSize(at.granule);
    }
    std::size_t n = 0;
    if (!at.region->map().agreedHoleSize(at.granule, at.region->endGranule, n)) {
        nameMapDamage(at.address());
        return 0;
    }
    return n;
}

/**
    Size of the hole of two granules or more that ends before a place. When its two ends disagree the hole is named, and
    this is 0.
 */
std::size_t Heap::agreedSizeBefore(Place at) {
    if constexpr (!FreeQueues::checksLinks) {
        return at.region->map().wideHoleSizeBefore(at.granule - 1);
    }
    std::size_t n = 0;
    if (!at.region->map().agreedHoleSizeBefore(at.granule - 1, n)) {
        nameMapDamage(at.address());
        return 0;
    }
    return n;
}

/**
    Make [g, g + n) a hole, even if free memory is damaged or filled. A neighbour that cannot be joined is named and
    left.
 */
void Heap::giveBackAnyhow(Region* region, std::size_t g, std::size_t n) {
    os::assertHeld(lock_);
    MPR_ASSERT((Place{region, g}.hasRoom(n)));
    const GranuleMap map = region->map();
    if (const Byte b = map.get(g + n); GranuleMap::beginsHole(b)) {
        const std::size_t m = b == mark::hole1 ? 1 : agreedSize({region, g + n});
        if (!FreeQueues::checksLinks || m > 0) {
            dequeue(region, holeAt({region, g + n}));
            map.set(g + n, 0);
            if (b != mark::hole1) {
                map.clearSizeOfHole(g + n, m);
            }
            n += m;
        }
    }
    if (const Byte b = map.get(g - 1); GranuleMap::endsHole(b)) {
        const std::size_t m = b == mark::hole1 ? 1 : agreedSizeBefore({region, g});
        if (!FreeQueues::checksLinks || m > 0) {
            dequeue(region, holeAt({region, g - m}));
            if (b != mark::hole1) {
                map.clearWideHoleEnd(g - 1, m);
            }
            g -= m;
            n += m;
        }
    }
    link({region, g}, n, isBacked({region, g}, n));
}

/**
    A claimed block of an ordinary region becomes a hole or part of one. @return 0: the caller can return this call's
    result
 */
int Heap::freeOrdinary(Region* region, std::size_t g, std::size_t n) {
    const Telling telling(*this);
    os::Locked locked(lock_);
    MPR_ASSERT((!os::hasThreads || region->map().get(g) == mark::opaque) && !region->spans.isUncleared(g));
    ++totals_.blocksFreed;
    gave(n);
    if (poisons()) [[unlikely]] {
        bury({region, g}, n);
        return 0;
    }
    region->map().clearBlock(g, n);
    region->spans.pierce(g);
    if constexpr (FreeQueues::checksLinks) {
        giveBackIntact({region, g}, n, true);
    } else {
        giveBack({region, g}, n);
    }
    return 0;
}

} // namespace mpr::heap
