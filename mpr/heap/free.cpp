// SPDX-License-Identifier: MIT
/*
    free.cpp - Blocks given back by hand, resized in place, and their heads changed.
*/
#include "mpr/heap/holes.hpp"

namespace mpr::heap {

/** The bits that are cleared when a block is gone. Its handles and roots have ended, and no batch has discarded it. */
static constexpr int sayings = head::kindMask | head::remembered | head::referenced;

/** Under the lock: a block in use becomes a hole or part of one, or its large region is retired. */
void Heap::freeBlock(Place at, std::size_t n) {
    os::assertHeld(lock_);
    const auto [region, g] = at;
    if (region->isLarge()) {
        retire(region);
        return;
    }
    if (poisons()) [[unlikely]] {
        return bury(at, n);
    }
    region->map().clearBlock(g, n);
    region->spans.pierce(g);
    giveBack(at, n);
}

bool Heap::free(Local& local, Region* region, void* block) {
    const std::size_t g = region->granuleOf(block);
    const bool wasReferenced = os::hasThreads && (region->map().get(g) & head::referenced) != 0;
    // Whoever turns the head into 7D frees the block. If two threads try, the loser must not look at a large region any
    // more.
    if (!region->map().claim(g)) [[unlikely]] {
        return false;
    }
    const std::size_t n = region->blockSize(g);
    if (region->isLarge()) {
        freeClaimed({region, g}, n);
    } else {
        if (wasReferenced) {
            region->spans.pierce(g); // a batch may have noted it, and a quick list has it be another block soon
        }
        freeClaimed(local, region, block, region->map().at(g), n);
    }
    return true;
}

bool Heap::freeTraced(Place at) {
    bool traced = false;
    at.region->map().update(at.granule, [&](Byte h) {
        traced = mayBeTraced(h);
        // The colour of old blocks; unmarked, if the block was grey.
        const int colour =
            (h & head::old) ? h & head::colourMask : head::old | (state_.colours().oldParity ^ head::parity);
        const int clear = sayings | head::colourMask;
        return traced ? static_cast<Byte>((h & ~clear) | colour) : Byte{0};
    });
    return traced;
}

void Heap::leaveDead(Place at) {
    at.region->map().update(at.granule, [](Byte h) { return static_cast<Byte>(h & ~sayings); });
}

void Heap::freeShared(Region* region, void* block) {
    const std::size_t g = region->granuleOf(block);
    os::Locked clearing(clearing_); // as in changeHead: a hold alone keeps it, mostly
    os::Locked locked(lock_);
    if (region->map().claim(g)) {
        takeClaimed({region, g}, region->blockSize(g));
    }
}

bool Heap::freeHeld(Region* region, void* block) {
    const Telling telling(*this);
    os::Locked clearing(clearing_); // as in changeHead
    os::Locked locked(lock_);
    return releaseHeld(region, block);
}

bool Heap::releaseHeld(Region* region, void* block) {
    os::assertHeld(lock_);
    const std::size_t g = region->granuleOf(block);
    const std::size_t n = region->blockSize(g);
    if ((region->map().get(g) & head::held) == 0 || !region->map().claim(g)) {
        return false;
    }
    takeClaimed({region, g}, n);
    return true;
}

void Heap::takeClaimed(Place at, std::size_t n) {
    ++totals_.blocksFreed;
    gave(n);
    freeBlock(at, n);
}

void Heap::freeClaimed(Place at, std::size_t n) {
    os::Locked locked(lock_);
    takeClaimed(at, n);
}

void Heap::flushQuickLists(Local& local) {
    if constexpr (QuickLists::greatest == 0) {
        return;
    }
    const Telling telling(*this);
    for (std::size_t n = 1; n <= QuickLists::greatest; ++n) {
        while (void* block = local.quick.front(n)) {
            if (!setDamagedAside(local, n)) {
                local.quick.pop(n);
                os::Locked locked(lock_);
                freeBlock(Place::of(table_.find(block), block), n); // counted when it was listed
            }
        }
    }
}

/** The last block of the thread's own context, n granules that end at `end` in the map, may outgrow its sort there. */
MPR_INLINE bool Heap::extendInContext(Local& local, const Byte* end, std::size_t n, std::size_t more) const {
    AllocationContext& c = contextFor(local, n);
    if (end != c.map || more > c.room()) {
        return false;
    }
    c.bump += more << granuleShift;
    c.map += more;
    return true;
}

/** A block that ends at a place takes some more of the hole there. @return false when none serves. */
MPR_INLINE bool Heap::extendIntoHole(const Local& local, Place end, std::size_t more) {
    os::assertHeld(lock_);
    if (!GranuleMap::beginsHole(end.head())) {
        return false;
    }
    const std::size_t size = end.region->holeSize(end.granule);
    if (size < more || !mayUse(more, local.privileged())) {
        return false;
    }
    if constexpr (!os::hasPages) {
        // Take all of the hole and give back what is too much, by functions that are compiled already.
        unlink(end.region, end.granule, size);
        if (size > more) {
            giveBack(end + more, size - more);
        }
    } else if (!carve(end, size, more, local.privileged(), FreeQueues::none)) {
        return false;
    }
    took(more);
    unearth(end.address(), more);
    return true;
}

/**
    Resize a block of a thread with a batch. A private one may only grow over what the context has not used, and only in
    the piece where it begins. Any other must not: the end of its granules has been noted.
    @return Whether it has m granules or keeps those it has, or -1 when others have to see to it.
 */
int Heap::resizeInBatch(Local& local, Place at, std::size_t n, std::size_t m) const {
    if (!isPrivate(local, at.address())) {
        return -1;
    }
    if (m <= n) {
        return m >= n / 2;
    }
    const GranuleMap map = at.region->map();
    // A block of another piece may end where the context begins, if nothing has been made there yet.
    const bool inContext = at.address() >= contextFor(local, n).begin;
    if (!inContext || !extendInContext(local, map.at(at.granule + n), n, m - n)) {
        return 0;
    }
    map.clearBlockSize(at.granule, n);
    map.setBlockSize(at.granule, m);
    return 1;
}

/** A large block grows into the slack of its region: see slackFor. */
bool Heap::extendLarge(Region* region, std::size_t n, std::size_t m) {
    os::Locked locked(lock_);
    if (m > (region->length >> granuleShift) - region->firstGranule) {
        return false;
    }
    region->largeGranules = m;
    took(m - n);
    if (poisons()) {
        poison::allow(region->address(region->firstGranule + n), (m - n) << granuleShift);
    }
    return true;
}

bool Heap::resize(Local& local, Region* region, void* block, std::size_t m) {
    const std::size_t g = region->granuleOf(block);
    const std::size_t n = region->blockSize(g);
    const Byte h = region->map().get(g);
    // What may be traced stays as it is: the marker may look at its head and last word. So does what the sweep is about
    // to free: behind what it would grow over a thread may be allocating.
    if (mayBeTraced(h) || (os::hasThreads && !isLive(h))) {
        return m <= n && m >= n / 2;
    }
    if (region->isLarge()) {
        // The pages of a large block's tail are not worth keeping when most of it goes.
        return m > n ? extendLarge(region, n, m) : m >= n / 2;
    }
    if (os::hasThreads && dead(h)) [[unlikely]] {
        os::Locked clearing(
            clearing_); // only the hold keeps it, and whoever clears a span without the lock reads its size
        return resizeOrdinary(local, {region, g}, n, m);
    }
    return resizeOrdinary(local, {region, g}, n, m);
}

/** Resize a block of an ordinary region that no marker looks at. */
bool Heap::resizeOrdinary(Local& local, Place at, std::size_t n, std::size_t m) {
    const auto [region, g] = at;
    const GranuleMap map = region->map();
    if (m == n) {
        return true;
    }
    const int inBatch = os::hasThreads && local.batch ? resizeInBatch(local, {region, g}, n, m) : -1;
    if (inBatch >= 0) [[unlikely]] {
        return inBatch != 0;
    }
    const std::size_t more = m > n ? m - n : 0;
    const bool extended = os::hasThreads && more > 0 && !local.batch && extendInContext(local, map.at(g + n), n, more);
    os::Locked locked(lock_);
    // Memory taken from a hole belongs to the block before the lock is released. Where others walk a span (retire,
    // findGap), zeros that nothing extends over are free.
    if (more > 0 && !extended && !extendIntoHole(local, {region, g + n}, more)) {
        return false;
    }
    if (!extended) {
        region->spans.pierce(g); // a hole is about to begin in the span, or the one that was taken may begin behind it
    }
    // The head stays all the while: others read and change it without the lock.
    map.clearBlockSize(g, n);
    map.setBlockSize(g, m);
    if (m < n) {
        gave(n - m);
        fillFree({region, g + m}, n - m);
        giveBack({region, g + m}, n - m);
    }
    return true;
}

/**
    changeHead for a block that only its hold keeps from the current sweep. Without threads, for any: code memory is
    scarce.
 */
MPR_APART Byte Heap::changeDeadHead(Region* region, std::size_t g, Byte set, Byte clear) {
    // No span may be cleared meanwhile: clearing reads heads twice, first for what is dead, then for what is held.
    os::Locked clearing(clearing_);
    os::Locked locked(lock_);
    return region->map().update(g, [&](Byte h) {
        Byte changed = static_cast<Byte>((h & ~clear) | set);
        if (os::hasThreads && (h & head::held) == 0 && dead(h)) {
            return Byte{0}; // only managers in FREE know it, and what it references goes
        }
        if ((h & head::held) && dead(h) && !ends()) {
            // Whoever releases the hold may use the block until it yields, like a new block.
            if (serving_.pinned) {
                return state_.colours().survivor(changed); // no minor collection looks at it
            }
            changed = static_cast<Byte>((changed & ~head::colourMask) | state_.colours().newborn());
            region->noteYoung(g);
        }
        if (head::wantsFree(changed)) {
            region->noteWantsFree(region->isLarge() ? 0 : g);
        }
        if (changed & head::held) {
            region->spans.keep(g);
        }
        return changed;
    });
}

[[gnu::noinline]] Region* Heap::regionOfBlock(const void* address) const {
    Region* region = table_.candidate(address);
    if (region && region->isBlock(address)) {
        return region;
    }
    const Annex* others = annex();
    return others ? others->find(address).region : nullptr;
}

/** The block may lie in memory of the program's, and its head elsewhere. */
MPR_APART Byte Heap::changePinnedHead(Region* region, const void* block, Byte set, Byte clear) {
    const Annex* others = annex();
    const Place at = others ? others->find(block) : Place{};
    Heap* home = region->home.heap();
    return home && at.region == region ? home->changeDeadHead(region, at.granule, set, clear) : Byte{0};
}

Byte Heap::changeHead(Region* region, const void* block, Byte set, Byte clear) {
    if (os::hasPages && region->home.heap()) [[unlikely]] {
        return changePinnedHead(region, block, set, clear);
    }
    const std::size_t g = region->granuleOf(block);
    if (!os::hasThreads || dead(region->map().get(g))) [[unlikely]] {
        return changeDeadHead(region, g, set, clear);
    }
    // A sweep changes only dead blocks, and blocks die only in a pause, which waits for the calling thread.
    if (set & head::held) {
        region->spans.keep(g);
    }
    return region->map().update(g, [=](Byte h) { return static_cast<Byte>((h & ~clear) | set); });
}

} // namespace mpr::heap
