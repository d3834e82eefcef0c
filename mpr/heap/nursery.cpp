// SPDX-License-Identifier: MIT
/*
    nursery.cpp - Nurseries: taken by their threads, judged after a collection, given up.
 */
#include "mpr/heap/nursery.hpp"

#include <bit>
#include <utility>

#include "mpr/heap/context.hpp"

namespace mpr::heap {

namespace {
/**
    Log2 of the part of a sparse nursery that must be free for it to be listed: below an eighth, gaps are hardly worth
    the walk from one to the next. `gc_mpr service` has 238 MB resident with an eighth, 310 with a half, 231 with a
    32nd.
 */
constexpr unsigned leastRoomShift = 3;

/**
    The first gap of n granules in a sparse nursery from a place on. A long gap is taken in several parts, so that the
    walk is bounded. @return An empty gap when the next few steps find none.
 */
Gap findGap(Place at, std::size_t end, std::size_t n) {
    auto [region, g] = at;
    const GranuleMap map = region->map();
    for (unsigned steps = 0; g < end && steps < 64; ++steps) {
        if (map.get(g) != 0) {
            g += region->extentAt(g);
            continue;
        }
        const std::size_t gapEnd = map.zerosEnd(g, std::min(g + std::max(n, Nurseries::step), end));
        if (gapEnd - g >= n) {
            return {g, gapEnd};
        }
        g = gapEnd;
    }
    return {end, end};
}
} // namespace

Region* Heap::regionOf(const Nursery* nursery) const {
    return reinterpret_cast<Region*>(reinterpret_cast<std::uintptr_t>(nursery) & (~std::uintptr_t{0} << regionShift_));
}

/** Make a block at the start of a gap, and the rest of the gap the context. */
void* Heap::openGap(const Local& local, AllocationContext& c, Region* region, Gap gap, NewBlock block) {
    const Place at{region, gap.begin};
    c.open({at, gap.size()}, block.size, gap.size());
    holdUp(local, c);
    return makeBlock(at, block);
}

/** Allocate in the next gap of the nursery that the context is in, else in a stale or a sparse nursery. */
void* Heap::allocateInNursery(Local& local, AllocationContext& c, NewBlock block) {
    os::assertHeld(lock_);
    const std::size_t n = block.size;
    // When something was freed by hand there, a hole may have grown over the end of the gap.
    if (c.nursery && !c.region->nurseries.isPierced(c.nursery)) {
        Region* region = c.region;
        const std::size_t from = region->granuleOf(c.end);
        const Gap gap = findGap({region, from}, region->nurseries.endOf(from - 1), n);
        if (gap.size() != 0) {
            c.countTaken();
            return openGap(local, c, region, gap, block);
        }
    }
    if (nurseries_ && c.stale) {
        const Nursery* nursery = c.stale.pop();
        Region* region = regionOf(nursery);
        MPR_ASSERT(region->nurseries.isStale(region->nurseries.indexOf(nursery)));
        const std::size_t g = region->nurseries.beginOf(nursery);
        const std::size_t clear = std::min(std::max(n + 1, Nurseries::step), contextGranules_);
        region->map().clear(g + 1, g + std::min(clear + swar::bytes, contextGranules_));
        return settle(local, c, {{{region, g}, contextGranules_}, clear}, block);
    }
    if (void* made = c.sparse ? allocateInSparse(c.sparse, local, c, block) : nullptr) {
        return made;
    }
    return allocateInSparse(spare_.roomy(c.lane), local, c, block);
}

/** Allocate in the first gap of the first nursery in a list that has one. */
void* Heap::allocateInSparse(SparseNurseries& list, Local& local, AllocationContext& c, NewBlock block) {
    os::assertHeld(lock_);
    Gap gap{};
    Nursery* nursery = takeSparse(list, block.size, gap);
    if (!nursery) {
        return nullptr;
    }
    Region* region = regionOf(nursery);
    const std::size_t g = region->nurseries.beginOf(nursery);
    took(nursery->room);
    region->young.add(g, g + contextGranules_);
    nursery->owner = &local;
    leaveContext(local, c);
    c.blocksBefore = c.blocks.get();
    c.nursery = nursery;
    return openGap(local, c, region, gap, block);
}

/**
    Take the first nursery of a list that is still sparse and has a gap of n granules. Others are dropped, a few at a
    time.
 */
Nursery* Heap::takeSparse(SparseNurseries& list, std::size_t n, Gap& gap) {
    for (unsigned tries = 0; list && tries < 16; ++tries) {
        Nursery& nursery = *list.pop();
        nursery.listed = false;
        Region* region = regionOf(&nursery);
        Nurseries& nurseries = region->nurseries;
        if ((nurseries.sparse >> nurseries.indexOf(&nursery) & 1) == 0) {
            continue;
        }
        const std::size_t g = nurseries.beginOf(&nursery);
        gap = findGap({region, g}, g + contextGranules_, n);
        if (gap.size() != 0) {
            nurseries.takeSparse(nursery);
            return &nursery;
        }
    }
    return nullptr;
}

void Heap::setNurseries(bool on) {
    os::Locked locked(lock_);
    nurseries_ = on;
}

void Heap::noteHeld(void* block) {
    if constexpr (os::hasPages) {
        Region* region = find(block);
        region->nurseries.keep(region->granuleOf(block));
    }
}

// ---- After a collection -----------------------------------------------------------------------------------------

/** Stale and sparse nurseries that a thread has not taken again since the last collection are open to all threads. */
void Heap::leaveOver(Local& local) {
    os::assertHeld(lock_);
    if constexpr (os::hasPages) {
        for (AllocationContext& c : local.contexts) {
            spare_.leave(c.stale, c.sparse, c.lane);
        }
    }
}

/** The nurseries of a thread that leaves the heap lose their owner. */
void Heap::disown(Local& local) {
    os::assertHeld(lock_);
    if constexpr (os::hasPages) {
        leaveOver(local);
        for (Region* region = regions_; region; region = region->next) {
            Nurseries& nurseries = region->nurseries;
            for (std::uint64_t some = nurseries.filling | nurseries.judged | nurseries.sparse; some != 0;
                 some &= some - 1) {
                Nursery& nursery = nurseries.pieces[std::countr_zero(some)];
                nursery.owner = nursery.owner == &local ? nullptr : nursery.owner;
            }
        }
    }
}

/** Move a sparse nursery to another set. There its free memory is accounted as allocated. */
void Heap::putAside(Region* region, std::size_t i, std::uint64_t& set) {
    os::assertHeld(lock_);
    Nurseries& nurseries = region->nurseries;
    totals_.granulesFreed -= nurseries.pieces[i].room;
    Nurseries::move(i, nurseries.sparse, set);
}

/** A sparse nursery in which something may be dead must not be taken before the dead have been cleared. */
void Heap::judgeSparse(Region* region) {
    os::assertHeld(lock_);
    Nurseries& nurseries = region->nurseries;
    for (std::uint64_t sparse = nurseries.sparse; sparse != 0; sparse &= sparse - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(sparse));
        if (state_.sweep() == Sweep::all || region->sweepYoung.any(nurseries.begin(i), nurseries.begin(i + 1))) {
            putAside(region, i, nurseries.judged);
            nurseries.kept.add(i);
        }
    }
}

void Heap::releaseDeadNurseries(Region* region, Swept& swept) {
    if constexpr (os::hasPages) {
        Nurseries& nurseries = region->nurseries;
        for (std::uint64_t judged = nurseries.judged; judged != 0; judged &= judged - 1) {
            const auto i = static_cast<std::size_t>(std::countr_zero(judged));
            sample(region, i);
            if (!nurseries.kept.has(i) && !nurseries.pierced.has(i)) {
                releaseDead(region, i, swept);
            }
        }
    }
}

bool Heap::releaseKeptNurseries(Region* region, Swept& swept, unsigned most) {
    if constexpr (os::hasPages) {
        std::uint64_t judged = region->nurseries.judged;
        for (; judged != 0 && most > 0; judged &= judged - 1, --most) {
            releaseKept(region, static_cast<std::size_t>(std::countr_zero(judged)), swept);
        }
        return judged != 0;
    }
    return false;
}

/** Count which sizes died in a nursery and which lived, if all its blocks were young and it is one of the first. */
void Heap::sample(Region* region, std::size_t i) {
    const Nursery& nursery = region->nurseries.pieces[i];
    if (nursery.room + 1 != contextGranules_ || !lifetimes_.wants(nursery.lane)) {
        return;
    }
    const GranuleMap map = region->map();
    const std::size_t end = region->nurseries.cleared(i);
    const auto heads = [](std::size_t, auto words) { return swar::heads(words); };
    map.forEach(region->nurseries.begin(i), end, heads, [&](std::size_t g) {
        if (g < end) {
            const Byte h = map.get(g);
            lifetimes_.count(map.blockSize(g), !dead(h) || (h & head::held));
        }
    });
}

/** Everything in nursery i is dead: make it stale. */
void Heap::releaseDead(Region* region, std::size_t i, Swept& swept) {
    os::LockedFairly locked(lock_);
    Nurseries& nurseries = region->nurseries;
    Nursery& nursery = nurseries.pieces[i];
    const std::size_t begin = nurseries.begin(i);
    const std::size_t end = nurseries.begin(i + 1);
    MPR_ASSERT((nurseries.judged >> i & 1) != 0 && !nurseries.kept.has(i) && !nurseries.pierced.has(i));
    nurseries.judged &= ~(std::uint64_t{1} << i);
    swept.blocks += nursery.blocks;
    totals_.blocksFreed += nursery.blocks;
    totals_.granulesFreed += end - begin;
    region->sweepYoung.remove(begin, end);
    fillFree({region, begin}, end - begin);
    // Heads with managers must not stay, or these might be called again. A full sweep has emptied wantsFree.
    const std::uint64_t managed = region->wantsFree.get() | region->scanForFree;
    if (nursery.owner && (managed & region->chunksTouched(begin, end)) == 0) {
        nursery.owner->contexts[static_cast<unsigned>(nursery.lane)].stale.push(&nursery);
        nurseries.setCleared(i, 0);
        return;
    }
    region->map().clear(begin, end);
    nurseries.setCleared(i);
    giveBack({region, begin}, end - begin);
}

/**
    Clear the dead from the map, without the lock: others touch only living blocks, and holes. @return granules cleared
    @param left Set when a dead block is held, or reaches out of the nursery. Such blocks are left as they are.
 */
std::size_t Heap::clearNursery(Region* region, std::size_t i, Swept& swept, bool& left) {
    const GranuleMap map = region->map();
    const std::size_t end = region->nurseries.cleared(i);
    const std::size_t border = region->nurseries.begin(i + 1);
    std::size_t freed = 0;
    std::size_t blocks = 0;
    const auto doomed = [dead = DeadHeads(*this)](std::size_t, auto words) { return dead(words); };
    map.forEach(region->nurseries.begin(i), end, doomed, [&](std::size_t g) {
        if (g >= end) [[unlikely]] {
            return;
        }
        const std::size_t n = map.blockSize(g);
        if (g + n > border || (map.get(g) & head::held)) [[unlikely]] {
            left = true;
            return;
        }
        map.clearBlock(g, n);
        fillFree({region, g}, n);
        freed += n;
        ++blocks;
    });
    swept.blocks += blocks;
    return freed;
}

/** Something in nursery i lives, or is held, or was freed by hand. */
void Heap::releaseKept(Region* region, std::size_t i, Swept& swept) {
    Nurseries& nurseries = region->nurseries;
    Nursery& nursery = nurseries.pieces[i];
    const std::size_t begin = nurseries.begin(i);
    const std::size_t end = nurseries.begin(i + 1);
    const std::size_t blocks = swept.blocks;
    bool left = false;
    std::size_t freed = 0;
    {
        os::Locked clearing(clearing_);
        freed = clearNursery(region, i, swept, left);
    }
    {
        os::LockedFairly locked(lock_);
        region->map().clear(nurseries.cleared(i), end);
        nurseries.setCleared(i);
        totals_.blocksFreed += swept.blocks - blocks;
        MPR_ASSERT(nursery.taken <= nursery.room + freed);
        nursery.room += static_cast<std::uint32_t>(freed) - nursery.taken;
        nursery.taken = 0;
        // The ordinary sweep takes care of what was left.
        if (!left) {
            region->sweepYoung.remove(begin, end);
        }
        if (!left && !nurseries.pierced.has(i) && releaseSparse(region, i)) {
            return;
        }
        Nurseries::move(i, nurseries.judged, nurseries.retiring);
    }
    retire(region, i);
}

/** Nursery i has no dead blocks and no holes any more: it is sparse. @return false when it is empty. */
bool Heap::releaseSparse(Region* region, std::size_t i) {
    os::assertHeld(lock_);
    Nurseries& nurseries = region->nurseries;
    Nursery& nursery = nurseries.pieces[i];
    MPR_ASSERT(nursery.room < contextGranules_ && !nurseries.pierced.has(i));
    if (nursery.room + 1 == contextGranules_) {
        return false;
    }
    totals_.granulesFreed += nursery.room;
    Nurseries::move(i, nurseries.judged, nurseries.sparse);
    if (nursery.room >= contextGranules_ >> leastRoomShift && !nursery.listed) {
        const Lane lane = nursery.lane;
        const bool roomy = nursery.lane == Lane::lasting || nursery.room >= contextGranules_ / 2;
        SparseNurseries& list = !roomy          ? spare_.scanty(lane)
                                : nursery.owner ? nursery.owner->contexts[static_cast<unsigned>(lane)].sparse
                                                : spare_.roomy(lane);
        list.push(&nursery);
        nursery.listed = true;
    }
    return true;
}

/**
    A nursery without dead blocks becomes ordinary memory: its gaps become holes, and in the end its fence does. Between
    two slices blocks may be freed and made, so each slice walks from the start. The walk ends where a size cannot be
    believed: the nursery then stays among the retiring ones, and its gaps are never used.
 */
void Heap::retire(Region* region, std::size_t i) {
    Nurseries& nurseries = region->nurseries;
    const GranuleMap map = region->map();
    const std::size_t end = nurseries.begin(i + 1);
    for (std::size_t done = nurseries.begin(i); done < end;) {
        os::LockedFairly locked(lock_);
        const std::size_t sliceEnd = done + sliceGranules / 2;
        std::size_t g = nurseries.begin(i);
        while (g < std::min(sliceEnd, end)) {
            if (map.get(g) != 0) {
                const std::size_t n = region->extentAt(g);
                if (n == 0) [[unlikely]] {
                    nameDamage(region->address(g), "a size in a nursery was overwritten; what is free there stays:");
                    return;
                }
                g += n;
                continue;
            }
            const std::size_t gapEnd = map.zerosEnd(g, end);
            const bool joins = GranuleMap::beginsHole(map.get(gapEnd));
            const std::size_t next = gapEnd + (joins ? region->holeSize(gapEnd) : 0);
            totals_.granulesFreed += gapEnd - g;
            giveBack({region, g}, gapEnd - g);
            g = next;
        }
        done = g;
        if (done >= end) {
            const std::size_t fence = nurseries.begin(i);
            MPR_ASSERT(map.get(fence) == mark::opaque);
            nurseries.retiring &= ~(std::uint64_t{1} << i);
            map.set(fence, 0);
            ++totals_.granulesFreed;
            giveBack({region, fence}, 1);
        }
    }
}

bool Heap::reclaimNursery(bool any) {
    if constexpr (!os::hasPages) {
        return false;
    }
    const Telling telling(*this);
    os::LockedFairly locked(lock_);
    for (Local* local = locals_; any && !spare_.leftOver() && local; local = local->next) {
        leaveOver(*local);
    }
    if (!spare_.leftOver()) {
        return false;
    }
    const Nursery* nursery = spare_.leftOver().pop();
    Region* region = regionOf(nursery);
    MPR_ASSERT(region->nurseries.isStale(region->nurseries.indexOf(nursery)));
    const std::size_t begin = region->nurseries.beginOf(nursery);
    region->map().clear(begin, begin + contextGranules_);
    region->nurseries.setCleared(region->nurseries.indexOf(nursery));
    giveBack({region, begin}, contextGranules_);
    return true;
}

void Heap::retireNurseries() {
    if constexpr (!os::hasPages) {
        return;
    }
    endQuarantine();
    while (reclaimNursery(true)) {}
    for (;;) {
        Region* region = nullptr;
        std::size_t i = 0;
        {
            os::Locked locked(lock_);
            for (region = regions_; region && region->nurseries.sparse == 0;) {
                region = region->next;
            }
            if (!region) {
                return;
            }
            i = static_cast<std::size_t>(std::countr_zero(region->nurseries.sparse));
            putAside(region, i, region->nurseries.retiring);
        }
        retire(region, i);
    }
}

/** The region goes back to the system: drop its nurseries from all lists. */
void Heap::forgetNurseries(const Region* region) {
    os::assertHeld(lock_);
    const auto isGone = [&](const Nursery* nursery) { return regionOf(nursery) == region; };
    spare_.removeSparseIf(isGone);
    for (Local* local = locals_; local; local = local->next) {
        for (AllocationContext& c : local->contexts) {
            c.sparse.removeIf(isGone);
        }
    }
}

} // namespace mpr::heap
