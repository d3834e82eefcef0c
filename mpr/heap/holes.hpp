/*
    holes.hpp - Holes: linked into their queue, joined with their neighbours, carved.

    Every function runs under the heap's lock, in constant time. All are inlined where they are used: allocation and free
    are a chain of them with one caller for each link, and the worst case is the length of that chain.
 */
#pragma once

#include "mpr/heap/heap.hpp"

namespace mpr::heap {

MPR_INLINE bool Heap::commit(Region* region, std::uint64_t fresh, bool privileged) {
    fresh &= ~region->committed;
    if (fresh != 0) {
        const std::size_t bytes = region->bytesOf(fresh);
        if (!limits_.allows(bytes, privileged)) {
            return false;
        }
        noteCommitted(bytes);
        region->committed |= fresh;
    }
    return true;
}

/** [g, g + n) is all zero in the map but for marks of a hole that begins at g, or ends where it ends: make it a hole. */
[[gnu::always_inline]] inline void Heap::link(Region* region, std::size_t g, std::size_t n, Cold cold) {
    auto* hole = reinterpret_cast<WideHole*>(region->address(g));
    if (n == 1) {
        region->map().setHole1(g);
    } else {
        region->map().setWideHole(g, n);
        hole->size = static_cast<std::uint32_t>(n);
        hole->placement = static_cast<std::uint32_t>(g) | cold;
    }
    queuesOf(region).push(hole, n, cold == 0);
}

/** Take a hole out of its queue and off the map. @return whether it was cold. */
MPR_INLINE Heap::Cold Heap::unlink(Region* region, std::size_t g, std::size_t n) {
    auto* hole = reinterpret_cast<WideHole*>(region->address(g));
    queuesOf(region).remove(hole);
    region->map().clearHole(g, n);
    return os::hasPages && n > 1 ? hole->placement & WideHole::coldBit : 0;
}

/**
    [g, g + n) is all zero in the map: make it a hole, joined with the holes on either side.
    @param cold Whether it has chunks that are not committed.
 */
MPR_INLINE void Heap::giveBack(Region* region, std::size_t g, std::size_t n, Cold cold) {
    const GranuleMap map = region->map();
    FreeQueues& queues = queuesOf(region);
    // The marks at the far ends of its neighbours stay: those of the whole replace them.
    if (const Byte b = map.get(g + n); GranuleMap::beginsHole(b)) {
        auto* right = reinterpret_cast<WideHole*>(region->address(g + n));
        queues.remove(right);
        map.set(g + n, 0);
        if (b == mark::hole1) {
            ++n;
        } else {
            map.set(g + n + 1, 0);
            cold |= os::hasPages ? right->placement : 0;
            n += right->size;
        }
    }
    if (const Byte b = map.get(g - 1); GranuleMap::endsHole(b)) {
        if (b == mark::hole1) {
            --g;
            ++n;
            queues.remove(reinterpret_cast<Hole*>(region->address(g)));
        } else {
            const std::size_t m = map.takeWideHoleEnd(g - 1);
            g -= m;
            n += m;
            auto* left = reinterpret_cast<WideHole*>(region->address(g));
            cold |= os::hasPages ? left->placement : 0;
            queues.remove(left);
        }
    }
    link(region, g, n, os::hasPages ? cold & WideHole::coldBit : 0);
}

/** Take n granules of a warm hole, of two granules or more, that is the front one of its queue. The first byte is not zero yet. */
MPR_INLINE void Heap::carveWarm(Region* region, std::size_t g, std::size_t size, std::size_t n, unsigned queue) {
    queuesOf(region).removeFront(queue);
    region->map().narrowHole(g, size, n);
    if (size > n) {
        link(region, g + n, size - n, 0);
    }
}

/**
    Take n granules from the front of a queued hole; they are all zero in the map.
    @param queue Where the hole is the front one, or FreeQueues::none: it may stand anywhere. @return false: past the limit.
 */
MPR_INLINE bool Heap::carve(Region* region, std::size_t g, std::size_t size, std::size_t n, bool privileged,
                            unsigned queue) {
    const std::size_t rest = size - n;
    Cold cold = 0;
    if (os::hasPages && (queue == FreeQueues::none || !FreeQueues::isWarm(queue))) {
        // The first granules of the rest will be a hole's.
        const std::uint64_t missing = region->chunksTouched(g, g + size) & ~region->committed;
        const std::uint64_t fresh = missing & region->chunksUpTo(g + n + (rest < 2 ? rest : 2));
        if (!commit(region, fresh, privileged)) {
            return false;
        }
        cold = missing != fresh ? WideHole::coldBit : 0;
    }
    if (queue != FreeQueues::none) {
        queuesOf(region).removeFront(queue);
    } else {
        queuesOf(region).remove(reinterpret_cast<Hole*>(region->address(g)));
    }
    region->map().set(g, 0);
    if (size > 1) {
        region->map().narrowHole(g, size, n);
    }
    if (rest > 0) {
        link(region, g + n, rest, cold);
    }
    return true;
}

/** Where the front hole of a queue is. */
MPR_INLINE Region* Heap::regionOf(Hole* hole, unsigned queue) {
    if (!os::hasPages || FreeQueues::isOfSingles(queue)) [[unlikely]] {
        return table_.candidate(hole);
    }
    return reinterpret_cast<Region*>(reinterpret_cast<Byte*>(hole) -
                                     (static_cast<WideHole*>(hole)->place() << granuleShift));
}

} // namespace mpr::heap
