/*
    holes.cpp - Holes: linked into their queue, joined with their neighbours, carved.

    Every function runs under the heap's lock, in constant time.
*/
#include <new>

#include "mpr/heap/heap.hpp"

namespace mpr::heap {

/** Which queue a hole stands in follows from its chunks; they change only while the hole is in neither. */
FreeQueues& Heap::queueOf(Region* region, std::size_t g, std::size_t n) {
    const bool warm = (region->chunksTouched(g, g + n) & ~region->committed) == 0;
    return (warm ? warm_ : cold_)[static_cast<unsigned>(region->sort)];
}

/** [g, g + n) is all zero in the map and has no hole beside it: make it a hole. */
void Heap::link(Region* region, std::size_t g, std::size_t n) {
    region->map().setHole(g, n);
    queueOf(region, g, n).push(new (region->address(g)) Hole, n);
}

void Heap::unlink(Region* region, std::size_t g, std::size_t n) {
    queueOf(region, g, n).remove(reinterpret_cast<Hole*>(region->address(g)), n);
    region->map().clearHole(g, n);
}

/** [g, g + n) is all zero in the map: make it a hole, joined with the holes on either side. */
void Heap::giveBack(Region* region, std::size_t g, std::size_t n) {
    const GranuleMap map = region->map();
    if (GranuleMap::endsHole(map.get(g - 1))) {
        const std::size_t m = map.holeSizeBefore(g - 1);
        g -= m;
        n += m;
        unlink(region, g, m);
    }
    if (GranuleMap::beginsHole(map.get(g + n))) {
        const std::size_t m = map.holeSize(g + n);
        unlink(region, g + n, m);
        n += m;
    }
    link(region, g, n);
}

/** Take n granules from the front of a queued hole; they are all zero in the map. @return false: past the limit. */
bool Heap::carve(Region* region, std::size_t g, std::size_t size, std::size_t n, bool privileged) {
    const std::size_t rest = size - n;
    FreeQueues& queue = queueOf(region, g, size);
    // The rest's first granule will hold queue links.
    if (!commit(region, region->chunksTouched(g, g + n + (rest > 0)), privileged)) {
        return false;
    }
    queue.remove(reinterpret_cast<Hole*>(region->address(g)), size);
    region->map().clearHole(g, size);
    if (rest > 0) {
        link(region, g + n, rest);
    }
    return true;
}

/** A hole with which the heap grows: a cold one, an empty region of another sort, or a new region. */
Hole* Heap::findFresh(Sort sort, std::size_t n, bool privileged, Shortage& shortage) {
    const auto own = static_cast<unsigned>(sort);
    Hole* hole = cold_[own].find(n);
    if (!hole && !fixed() && (changeSort(sort) || addRegion(sort, privileged, shortage))) {
        hole = warm_[own].find(n);
        hole = hole ? hole : cold_[own].find(n);
    }
    return hole;
}

/** A block straight from a hole. */
void* Heap::carveBlock(std::size_t n, Byte h, bool privileged, Shortage& shortage) {
    const Sort sort = fixed() ? Sort::small : sortOf(n);
    const auto own = static_cast<unsigned>(sort);
    Hole* hole = warm_[own].find(n);
    if (!hole) {
        hole = findFresh(sort, n, privileged, shortage);
    }
    for (unsigned queue = 0; !hole && queue < 2 * sorts; ++queue) {
        hole = (queue % 2 == 0 ? warm_ : cold_)[queue / 2].find(n); // whatever there is
    }
    if (!hole) {
        return nullptr;
    }
    Region* region = table_.find(hole);
    const std::size_t g = region->granuleOf(hole);
    if (!carve(region, g, region->map().holeSize(g), n, privileged)) {
        shortage = Shortage::limit;
        return nullptr;
    }
    region->map().setBlockSize(g, n);
    region->map().set(g, h);
    if (swar::wantFree(h)) {
        region->noteWantsFree(g);
    }
    return hole;
}

} // namespace mpr::heap
