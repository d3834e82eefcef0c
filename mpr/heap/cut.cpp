// SPDX-License-Identifier: MIT
/*
    cut.cpp - A block that references nothing is cut up into others, in place: pieces of memory in which an embedder
    allocates by itself, and of which it says later what stands where (mpr/embed.h).

    To the collector a piece is one leaf until then. What is cut off is as if it had been allocated just now: young, and of
    the newborn colour. The rest stays a leaf of the age that the whole had, and begins elsewhere. An old one is marked: while
    threads run, a marker may have read the whole's address where the rest's is stored now, and not looked at it yet.
 */
#include "mpr/heap/heap.hpp"

namespace mpr::heap {

bool Heap::mayCut(Place at) const {
    const Byte h = at.head();
    return !at.region->isLarge() && head::isLeaf(h) && !head::isGone(h) && !dead(h) && (h & head::held) == 0;
}

bool Heap::cutFront(Place at, std::size_t n, const Cut* cuts, unsigned count) {
    // The dead are cleared from a span's map without the heap's lock: not while blocks appear in it.
    const os::Locked clearing(clearing_);
    const os::Locked locked(lock_);
    const GranuleMap map = at.region->map();
    const Byte whole = at.head();
    if (!Region::isBlock(whole) || !mayCut(at) || map.blockSize(at.granule) != n) [[unlikely]] {
        return false;
    }
    const auto cut = [&](std::size_t size, Byte h) {
        os::assertHeld(lock_);
        MPR_ASSERT(size <= n);
        if (size == 0) {
            return;
        }
        map.setBlockSize(at.granule, size);
        map.set(at.granule, h);
        if ((h & head::old) == 0) {
            at.region->young.add(at.granule);
        }
        if (head::wantsFree(h)) {
            at.region->noteWantsFree(at.granule);
        }
        ++totals_.blocksAllocated;
        at = at + size;
        n -= size;
    };
    at.region->spans.keep(at.granule); // a span that is given back as a whole would count the whole as one block
    if (whole & head::referenced) {
        at.region->spans.pierce(at.granule); // a batch may have noted it, and what is named in it is not that thread's
    }
    map.clearBlock(at.granule, n);
    --totals_.blocksAllocated; // which the first of those that it becomes counts again
    const auto newborn = static_cast<Byte>(head::inUse | state_.colours().newborn());
    for (unsigned i = 0; i < count; ++i) {
        cut(cuts[i].before, newborn); // nothing leads to it, so the next collection frees it
        cut(cuts[i].block.size, static_cast<Byte>(newborn | cuts[i].block.head));
    }
    const auto kept = static_cast<Byte>(whole & ~head::referenced); // nothing knows its address yet
    cut(n, (kept & head::old) ? state_.colours().survivor(kept) : kept);
    return true;
}

} // namespace mpr::heap
