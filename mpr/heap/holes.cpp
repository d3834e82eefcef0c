// SPDX-License-Identifier: MIT
/*
    holes.cpp - The choice of a hole for a block, and of where the heap grows; and the return of a block to the holes.
    Most of the worst case of an allocation or free is spent here.
*/
#include "mpr/heap/holes.hpp"

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

/** Find a hole of any sort. @return false when there is none. */
bool Heap::findAny(std::size_t n, Sort& sort, unsigned& queue) const {
    os::assertHeld(lock_);
    if constexpr (!os::hasPages) {
        return false; // the one queue has been asked
    }
    for (const bool warm : {true, false}) {
        for (unsigned s = 0; s < sorts; ++s) {
            const FreeQueues& queues = queues_[s];
            queue = warm ? queues.findWarm(n) : queues.findCold(n);
            if (queue != FreeQueues::none) {
                sort = static_cast<Sort>(s);
                return true;
            }
        }
    }
    return false;
}

/** Allocate a block straight from a hole. */
void* Heap::carveBlock(std::size_t n, Byte h, bool privileged, Shortage& shortage) {
    Sort sort = fixed() ? Sort::small : sortOf(n);
    unsigned queue = queues_[static_cast<unsigned>(sort)].findWarm(n);
    if (queue == FreeQueues::none) [[unlikely]] {
        queue = findFresh(sort, n, privileged, shortage);
        if (queue == FreeQueues::none && !findAny(n, sort, queue)) {
            return nullptr;
        }
    }
    if (!mayUse(n, privileged)) {
        shortage = Shortage::limit;
        return nullptr;
    }
    Hole* hole = queues_[static_cast<unsigned>(sort)].front(queue);
    const Place at = Place::of(regionOf(hole), hole);
    const auto [region, g] = at;
    std::size_t size = 0;
    if (!sizeOfFront(at, size)) [[unlikely]] {
        return carveBlock(n, h, privileged, shortage);
    }
    if (!carve(at, size, n, privileged, queue)) {
        shortage = Shortage::limit;
        return nullptr;
    }
    region->young.add(g);
    region->map().setBlockSize(g, n);
    region->map().set(g, h);
    if (head::wantsFree(h)) {
        region->noteWantsFree(g);
    }
    return hole;
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
    MPR_ASSERT(region->map().get(g) == mark::opaque && !region->spans.isUncleared(g));
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
