// SPDX-License-Identifier: MIT
/*
    holes.cpp - The choice of a hole for a block, and of where the heap grows; and the return of a block to the holes.
    Most of the worst case of an allocation or free is spent here.
*/
#include "mpr/heap/holes.hpp"

#include <algorithm>

namespace mpr::heap {

namespace {

/** The first n committed granules of a cold hole behind which a hole can begin or none has to. @return 0: there are none. */
std::size_t findBacked(Place at, std::size_t size, std::size_t n) {
    const Region& region = *at.region;
    const std::size_t end = at.granule + size;
    std::size_t found = 0;
    forRuns(region.chunksTouched(at.granule, end) & region.committed, [&](unsigned first, unsigned count) {
        const std::size_t from = std::max(at.granule, std::size_t{first} << region.chunkShift);
        const std::size_t to = std::min(end, std::size_t{first + count} << region.chunkShift);
        if (found == 0 && to - from >= n + (to < end ? 2 : 0)) {
            found = from;
        }
    });
    return found;
}
} // namespace

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
    Take n granules from the middle of a cold hole, where chunks are committed behind some that are not. The heap may grow
    no more, so those would be out of reach until the ones in front of them were in use. Looks at a few holes.
    @return nullptr: there is none.
 */
Hole* Heap::carveBacked(const FreeQueues& queues, std::size_t n) {
    os::assertHeld(lock_);
    if constexpr (os::hasPages) {
        int looks = 16;
        for (unsigned q = queues.findCold(n); q != FreeQueues::none && looks > 0; q = queues.findFrom(q + 1)) {
            for (Hole* hole = queues.front(q); hole && looks > 0; --looks) {
                const Place at = Place::of(regionOf(hole), hole);
                std::size_t size = 0;
                const bool sound = at.region->agreedHoleSize(at.granule, size);
                if (const std::size_t g = sound ? findBacked(at, size, n) : 0; g != 0) {
                    return split(at, size, {at.region, g}, n);
                }
                hole = queues.next(hole, MayLead{*this, at.region});
            }
        }
    }
    return nullptr;
}

/** Take n granules out of a hole. What is before and behind them stays. */
Hole* Heap::split(Place hole, std::size_t size, Place taken, std::size_t n) {
    os::assertHeld(lock_);
    const std::size_t before = taken.granule - hole.granule;
    const std::size_t behind = size - before - n;
    unlink(hole.region, hole.granule, size);
    if (before > 0) {
        link(hole, before, isBacked(hole, before));
    }
    if (behind > 0) {
        link(taken + n, behind, isBacked(taken + n, behind));
    }
    return holeAt(taken);
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

/** Take n granules where a search by range has found none and the heap may grow no more. @return nullptr: there are none. */
Hole* Heap::carveScarce(const FreeQueues& queues, std::size_t n, bool privileged) {
    Hole* hole = carveTight(queues, n, privileged);
    return hole ? hole : carveBacked(queues, n);
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
        unearth(block, n);
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
