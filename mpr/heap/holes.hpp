/*
    holes.hpp - Holes: linked into their queue, joined with their neighbours, carved.

    Every function runs under the heap's lock, in constant time. All are inlined where they are used: allocation and free
    are a chain of them with one caller for each link, and the worst case is the length of that chain.
 */
#pragma once

#include "mpr/heap/heap.hpp"

namespace mpr::heap {

/** [g, g + n) is all zero in the map and has no hole beside it: make it a hole. */
[[gnu::always_inline]] inline void Heap::link(Region* region, std::size_t g, std::size_t n, bool warm) {
    auto* hole = reinterpret_cast<WideHole*>(region->address(g));
    region->map().setHole(g, n);
    if (n > 1) {
        hole->size = static_cast<std::uint32_t>(n);
        hole->place = static_cast<std::uint32_t>(g);
    }
    queuesOf(region).push(hole, n, warm);
}

[[gnu::always_inline]] inline void Heap::link(Region* region, std::size_t g, std::size_t n) {
    link(region, g, n, region->allCommitted(g, g + n));
}

[[gnu::always_inline]] inline void Heap::unlink(Region* region, std::size_t g, std::size_t n) {
    queuesOf(region).remove(reinterpret_cast<Hole*>(region->address(g)));
    region->map().clearHole(g, n);
}

/** [g, g + n) is all zero in the map: make it a hole, joined with the holes on either side. */
[[gnu::always_inline]] inline void Heap::giveBack(Region* region, std::size_t g, std::size_t n) {
    const GranuleMap map = region->map();
    if (GranuleMap::beginsHole(map.get(g + n))) {
        const std::size_t m = region->holeSize(g + n);
        unlink(region, g + n, m);
        n += m;
    }
    if (GranuleMap::endsHole(map.get(g - 1))) {
        const std::size_t m = map.holeSizeBefore(g - 1);
        g -= m;
        n += m;
        unlink(region, g, m);
    }
    link(region, g, n);
}

/**
    Take n granules from the front of a queued hole; they are all zero in the map.
    @param queue Where the hole is the front one, or FreeQueues::none: it may stand anywhere. @return false: past the limit.
 */
[[gnu::always_inline]] inline bool Heap::carve(Region* region, std::size_t g, std::size_t size, std::size_t n,
                                               bool privileged, unsigned queue) {
    const std::size_t rest = size - n;
    bool warm = queue != FreeQueues::none && FreeQueues::isWarm(queue);
    if (!warm) [[unlikely]] {
        // The first granules of the rest will be a hole's.
        if (!commit(region, region->chunksTouched(g, g + n + (rest < 2 ? rest : 2)), privileged)) {
            return false;
        }
        warm = rest == 0 || region->allCommitted(g + n, g + size);
    }
    if (queue != FreeQueues::none) {
        queuesOf(region).removeFront(queue);
    } else {
        queuesOf(region).remove(reinterpret_cast<Hole*>(region->address(g)));
    }
    region->map().clearHole(g, size);
    if (rest > 0) {
        link(region, g + n, rest, warm);
    }
    return true;
}

/** Where the front hole of a queue is. */
[[gnu::always_inline]] inline Region* Heap::regionOf(Hole* hole, unsigned queue) {
    if (FreeQueues::isOfSingles(queue)) [[unlikely]] {
        return table_.find(hole);
    }
    return reinterpret_cast<Region*>(reinterpret_cast<Byte*>(hole) -
                                     (std::size_t{static_cast<WideHole*>(hole)->place} << granuleShift));
}

} // namespace mpr::heap
