// SPDX-License-Identifier: MIT
/*
    holes.hpp - Holes: linked into their queue, joined with their neighbours, carved.

    Every function runs under the heap's lock, in constant time. All are inlined: allocation and free are chains of
    these functions in which each has one caller, and the length of the chain is the worst case.
 */
#pragma once

#include "mpr/heap/heap.hpp"
#include "mpr/os/pages.hpp"

namespace mpr::heap {

/**
    Whether a link may lead to a given address, any address. Where LinkRange suffices it decides; elsewhere a hole must
    begin there. The address most likely lies in region `likely`, for which the answer takes a few instructions.
 */
struct Heap::MayLead {
    const Heap& heap;
    Region* likely;
    [[gnu::always_inline]] bool operator()(const void* address) const {
        if constexpr (LinkRange::suffices) {
            return heap.linkRange_.holds(address);
        }
        const std::size_t g = likely->indexOf(address);
        if (g < likely->endGranule) [[likely]] {
            return GranuleMap::beginsHole(likely->map().get(g));
        }
        return heap.isHole(address);
    }
};

/** A hole, and how many of its granules lie before the block. */
struct Heap::Fit {
    Place at{};
    std::size_t size = 0;
    std::size_t lead = 0;
};

/** Granules from a place to the next one with an alignment, a power of two, in bytes. */
inline std::size_t leadOf(Place at, std::size_t alignment) {
    return (-reinterpret_cast<std::uintptr_t>(at.address()) & (alignment - 1)) >> granuleShift;
}

[[gnu::always_inline]] inline Hole* Heap::holeAt(Place at) {
    return reinterpret_cast<Hole*>(at.address());
}

/** Take a hole out of its queue, without filling poisoned memory. @return false: see FreeQueues::remove. */
MPR_INLINE bool Heap::takeOut(Region* region, Hole* hole) {
    os::assertHeld(lock_);
    return queuesOf(region).remove(hole, MayLead{*this, region});
}

/** Take a hole out of its queue. If links were overwritten, all queues are rebuilt without it. */
MPR_INLINE void Heap::dequeue(Region* region, Hole* hole) {
    os::assertHeld(lock_);
    if (!queuesOf(region).remove(hole, MayLead{*this, region})) [[unlikely]] {
        requeue(hole);
    }
    if (poisons()) [[unlikely]] {
        poison::fill(hole, granuleSize);
    }
}

/** Take the front hole out of a queue. If links were overwritten, all queues are rebuilt without it. */
MPR_INLINE void Heap::dequeueFront(Region* region, unsigned queue) {
    os::assertHeld(lock_);
    FreeQueues& queues = queuesOf(region);
    Hole* hole = queues.front(queue);
    if (!queues.removeFront(queue, MayLead{*this, region})) [[unlikely]] {
        requeue(hole);
    }
    if (poisons()) [[unlikely]] {
        poison::fill(hole, granuleSize);
    }
}

/**
    Size of the front hole of a queue. @return false when its two ends disagree: it is named, queues are rebuilt without
    it.
 */
MPR_INLINE bool Heap::sizeOfFront(Place at, std::size_t& size) {
    os::assertHeld(lock_);
    if constexpr (FreeQueues::checksLinks) {
        if (!GranuleMap::beginsHole(at.head()) || !at.region->agreedHoleSize(at.granule, size)) [[unlikely]] {
            requeueWithoutUnsound(at.address());
            return false;
        }
        return true;
    }
    size = at.region->holeSize(at.granule);
    return true;
}

MPR_INLINE bool Heap::commit(Region* region, std::uint64_t fresh, bool privileged) {
    os::assertHeld(lock_);
    fresh &= ~region->committed;
    if (fresh != 0) {
        const std::size_t bytes = region->bytesOf(fresh);
        if (!limits_.allows(bytes, privileged) || !charge(bytes, privileged)) {
            return false;
        }
        if (os::isHosted() && !commitChunks(region, fresh)) [[unlikely]] {
            discharge(bytes);
            return false;
        }
        noteCommitted(bytes);
        region->committed |= fresh;
        if (poisons()) [[unlikely]] {
            fillChunks(region, fresh);
        }
    }
    return true;
}

/** Make n granules a hole. They are zero in the map, except for marks of a hole that begins or ends with them. */
[[gnu::always_inline]] inline void Heap::link(Place at, std::size_t n, bool warm) {
    os::assertHeld(lock_);
    MPR_ASSERT(at.hasRoom(n));
    if (n == 1) {
        at.region->map().setHole1(at.granule);
    } else {
        at.region->setWideHole(at.granule, n);
    }
    queuesOf(at.region).push(holeAt(at), n, warm);
}

/** Take a hole out of its queue and off the map. */
MPR_INLINE void Heap::unlink(Region* region, std::size_t g, std::size_t n) {
    os::assertHeld(lock_);
    dequeue(region, holeAt({region, g}));
    region->map().clearHole(g, n);
}

/** The map of n granules is all zero: make them a hole, joined with the holes on either side. */
MPR_INLINE void Heap::giveBack(Place at, std::size_t n) {
    os::assertHeld(lock_);
    if (!FreeQueues::checksLinks || poisons()) [[unlikely]] {
        return giveBackAnyhow(at.region, at.granule, n);
    }
    giveBackIntact(at, n, false);
}

/**
    Make n granules a hole, joined with its neighbours, where free memory is not filled. Once a neighbour is found
    damaged, giveBackAnyhow does the rest. @param committed All of them are known to be committed, because they were a
    block.
 */
MPR_INLINE void Heap::giveBackIntact(Place at, std::size_t n, bool committed) {
    os::assertHeld(lock_);
    MPR_ASSERT(at.hasRoom(n));
    auto [region, g] = at;
    const GranuleMap map = region->map();
    // The marks at the far ends of the neighbours stay: the marks of the joined hole replace them.
    if (const Byte b = map.get(g + n); GranuleMap::beginsHole(b)) {
        std::size_t m = 1;
        if ((b != mark::hole1 && !map.agreedHoleSize(g + n, region->endGranule, m)) ||
            !takeOut(region, holeAt({region, g + n}))) [[unlikely]] {
            return giveBackAnyhow(region, g, n);
        }
        map.set(g + n, 0);
        if (b != mark::hole1) {
            map.clearSizeOfHole(g + n, m);
        }
        n += m;
        committed = false;
    }
    if (const Byte b = map.get(g - 1); GranuleMap::endsHole(b)) {
        std::size_t m = 1;
        if ((b != mark::hole1 && !map.agreedHoleSizeBefore(g - 1, m)) || !takeOut(region, holeAt({region, g - m})))
            [[unlikely]] {
            return giveBackAnyhow(region, g, n);
        }
        if (b != mark::hole1) {
            map.clearWideHoleEnd(g - 1, m);
        }
        g -= m;
        n += m;
        committed = false;
    }
    link({region, g}, n, committed || isBacked({region, g}, n));
}

/**
    Take n granules of a warm hole of two or more granules, the front one of its queue. The first byte is not zero yet.
 */
MPR_INLINE void Heap::carveWarm(Place at, std::size_t size, std::size_t n, unsigned queue) {
    os::assertHeld(lock_);
    MPR_ASSERT(n > 0 && n <= size && at.hasRoom(size));
    dequeueFront(at.region, queue);
    at.region->map().narrowHole(at.granule, size, n);
    if (size > n) {
        link(at + n, size - n, true);
    }
}

/**
    Take n granules from the start of a queued hole. They are zero in the map.
    @param queue The queue whose front hole it is, or FreeQueues::none: it may stand anywhere. @return false: past the
    limit.
 */
MPR_INLINE bool Heap::carve(Place at, std::size_t size, std::size_t n, bool privileged, unsigned queue) {
    os::assertHeld(lock_);
    MPR_ASSERT(n > 0 && n <= size && at.hasRoom(size));
    const auto [region, g] = at;
    const std::size_t rest = size - n;
    bool warm = true;
    if (os::hasPages && (queue == FreeQueues::none || !FreeQueues::isWarm(queue))) {
        // The first granules of the rest will hold a hole's links.
        const std::uint64_t missing = region->chunksTouched(g, g + size) & ~region->committed;
        const std::uint64_t fresh = missing & region->chunksUpTo(g + n + (rest < 2 ? rest : 2));
        if (!commit(region, fresh, privileged)) {
            return false;
        }
        warm = missing == fresh;
    }
    if (queue != FreeQueues::none) {
        dequeueFront(region, queue);
    } else {
        dequeue(region, holeAt(at));
    }
    region->map().set(g, 0);
    if (size > 1) {
        region->map().narrowHole(g, size, n);
    }
    if (rest > 0) {
        link(at + n, rest, warm);
    }
    return true;
}

/** The region of a hole. Large regions have no holes, and all others are aligned to their size. */
MPR_INLINE Region* Heap::regionOf(const Hole* hole) const {
    if constexpr (!os::hasPages) {
        return table_.candidate(hole);
    }
    const std::uintptr_t offset = (reinterpret_cast<std::uintptr_t>(hole) - regionOrigin_) & regionMask_;
    return reinterpret_cast<Region*>(regionOrigin_ + offset);
}

} // namespace mpr::heap
