// SPDX-License-Identifier: MIT
/*
    span.cpp - Spans: taken by their threads, judged after a collection, given up.
 */
#include "mpr/heap/span.hpp"

#include <bit>
#include <utility>

#include "mpr/heap/context.hpp"

namespace mpr::heap {

namespace {
/**
    Log2 of the part of a sparse span that must be free for it to be listed: below an eighth, gaps are hardly worth
    the walk from one to the next. `gc_mpr service` has 238 MB resident with an eighth, 310 with a half, 231 with a
    32nd.
 */
constexpr unsigned leastRoomShift = 3;

/**
    The first gap of n granules in a sparse span from a place on. A long gap is taken in several parts, so that the
    walk is bounded. @param gaps Gets where the walk has ended and, unless it is to be `alone`, the gaps before and behind it.
    @return An empty gap when the next few steps find none.
 */
Gap findGap(Place at, std::size_t end, std::size_t n, FoundGaps& gaps, bool alone) {
    auto [region, g] = at;
    const GranuleMap map = region->map();
    Gap found{end, end};
    gaps.dropHalf();
    for (unsigned steps = 0; g < end && steps < 64 && (found.size() == 0 || !(alone || gaps.isFull())); ++steps) {
        if (map.get(g) != 0) {
            g += region->extentAt(g);
            continue;
        }
        const Gap gap{g, map.zerosEnd(g, std::min(g + std::max(n, Spans::step), end))};
        if (found.size() == 0 && gap.size() >= n) {
            found = gap;
        } else if (!alone) {
            gaps.add(gap);
        }
        g = gap.end;
    }
    gaps.setWalked(found.size() != 0 && g < end ? g : 0);
    return found;
}
} // namespace

Region* Heap::regionOf(const Span* span) const {
    return reinterpret_cast<Region*>(reinterpret_cast<std::uintptr_t>(span) & (~std::uintptr_t{0} << regionShift_));
}

/** Make a block at the start of a gap, and the rest of the gap the context. */
void* Heap::openGap(const Local& local, AllocationContext& c, Region* region, Gap gap, NewBlock block) {
    const Place at{region, gap.begin};
    c.open({at, gap.size()}, block.size, gap.size());
    if (Batch* batch = local.batch) [[unlikely]] {
        batch->noteOpened(c);
    }
    holdUp(local, c);
    return makeBlock(at, block);
}

/** Go on in another gap of the span that the context is in. What is left of this one waits for a smaller block. */
void* Heap::leaveGap(const Local& local, AllocationContext& c, Gap gap, NewBlock block) {
    c.countTaken();
    if (c.rest() > 1 && !local.batch) {
        c.gaps.add({c.region->granuleOf(c.bump), c.region->granuleOf(c.end)});
    }
    return openGap(local, c, c.region, gap, block);
}

/** Allocate in the next gap of the span that the context is in, else in a stale or a sparse span. */
void* Heap::allocateInSpan(Local& local, AllocationContext& c, NewBlock block) {
    os::assertHeld(lock_);
    const std::size_t n = block.size;
    if (const std::size_t from = c.gaps.walked(); from != 0) {
        Region* region = c.region;
        // When something was freed by hand there, a hole may have grown over the place where the walk goes on.
        const Gap gap = region->spans.isPierced(c.span)
                            ? Gap{0, 0}
                            : findGap({region, from}, region->spans.endOf(from - 1), n, c.gaps, local.batch);
        if (gap.size() != 0) {
            if (Batch* batch = local.batch) [[unlikely]] {
                batch->noteLeft(c);
            }
            return leaveGap(local, c, gap, block);
        }
        c.gaps.setWalked(0);
    }
    if (spans_ && c.stale) {
        const Span* span = c.stale.pop();
        Region* region = regionOf(span);
        MPR_ASSERT(region->spans.isStale(region->spans.indexOf(span)));
        const std::size_t g = region->spans.beginOf(span);
        const std::size_t clear = std::min(std::max(n + 1, Spans::step), contextGranules_);
        region->map().clear(g + 1, g + std::min(clear + swar::bytes, contextGranules_));
        return settle(local, c, {{{region, g}, contextGranules_}, clear}, block);
    }
    if (void* made = c.sparse ? allocateInSparse(c.sparse, local, c, block) : nullptr) {
        return made;
    }
    return allocateInSparse(spare_.roomy(c.lane), local, c, block);
}

/**
    Allocate in the next gap that was found before, without the lock. Its map is zero, and only this thread makes blocks
    there. What others do in the span meanwhile are frees by hand, which change the map of living blocks and of holes.
    @return nullptr when none has room.
 */
void* Heap::allocateInGap(const Local& local, AllocationContext& c, NewBlock block) {
    MPR_ASSERT(c.span && !local.batch);
    const Gap gap = c.gaps.take(block.size);
    if (gap.size() == 0) {
        return nullptr;
    }
    return leaveGap(local, c, gap, block);
}

/** Allocate in the first gap of the first span in a list that has one. */
void* Heap::allocateInSparse(SparseSpans& list, Local& local, AllocationContext& c, NewBlock block) {
    os::assertHeld(lock_);
    Gap gap{};
    FoundGaps others;
    Span* span = takeSparse(list, block.size, gap, others, local.batch);
    if (!span) {
        return nullptr;
    }
    Region* region = regionOf(span);
    const std::size_t g = region->spans.beginOf(span);
    took(span->room);
    region->young.add(g, g + contextGranules_);
    span->owner = &local;
    if (Batch* batch = local.batch; batch && c.region) [[unlikely]] {
        batch->noteLeft(c);
    }
    leaveContext(local, c);
    c.blocksBefore = c.blocks.get();
    c.span = span;
    c.gaps = others;
    return openGap(local, c, region, gap, block);
}

/**
    Take the first span of a list that is still sparse and has a gap of n granules. Others are dropped, a few at a
    time.
 */
Span* Heap::takeSparse(SparseSpans& list, std::size_t n, Gap& gap, FoundGaps& others, bool alone) {
    for (unsigned tries = 0; list && tries < 16; ++tries) {
        Span& span = *list.pop();
        span.listed = false;
        Region* region = regionOf(&span);
        Spans& spans = region->spans;
        if ((spans.sparse >> spans.indexOf(&span) & 1) == 0) {
            continue;
        }
        const std::size_t g = spans.beginOf(&span);
        others.clear();
        gap = findGap({region, g}, g + contextGranules_, n, others, alone);
        if (gap.size() != 0) {
            spans.takeSparse(span);
            return &span;
        }
    }
    return nullptr;
}

void Heap::setSpans(bool on) {
    os::Locked locked(lock_);
    spans_ = on;
}

void Heap::noteHeld(void* block) {
    if constexpr (os::hasPages) {
        Region* region = find(block);
        region->spans.keep(region->granuleOf(block));
    }
}

// ---- After a collection -----------------------------------------------------------------------------------------

/** Stale and sparse spans that a thread has not taken again since the last collection are open to all threads. */
void Heap::leaveOver(Local& local) {
    os::assertHeld(lock_);
    if constexpr (os::hasPages) {
        for (AllocationContext& c : local.contexts) {
            spare_.leave(c.stale, c.sparse, c.lane);
        }
    }
}

/** The spans of a thread that leaves the heap lose their owner. */
void Heap::disown(Local& local) {
    os::assertHeld(lock_);
    if constexpr (os::hasPages) {
        leaveOver(local);
        for (Region* region = regions_; region; region = region->next) {
            Spans& spans = region->spans;
            for (std::uint64_t some = spans.filling | spans.judged | spans.sparse; some != 0; some &= some - 1) {
                Span& span = spans.pieces[std::countr_zero(some)];
                span.owner = span.owner == &local ? nullptr : span.owner;
            }
        }
    }
}

/** Move a sparse span to another set. There its free memory is accounted as allocated. */
void Heap::putAside(Region* region, std::size_t i, std::uint64_t& set) {
    os::assertHeld(lock_);
    Spans& spans = region->spans;
    totals_.granulesFreed -= spans.pieces[i].room;
    Spans::move(i, spans.sparse, set);
}

/** A sparse span in which something may be dead must not be taken before the dead have been cleared. */
void Heap::judgeSparse(Region* region) {
    os::assertHeld(lock_);
    Spans& spans = region->spans;
    for (std::uint64_t sparse = spans.sparse; sparse != 0; sparse &= sparse - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(sparse));
        if (state_.sweep() == Sweep::all || region->sweepYoung.any(spans.begin(i), spans.begin(i + 1))) {
            putAside(region, i, spans.judged);
            spans.kept.add(i);
        }
    }
}

void Heap::releaseDeadSpans(Region* region, Swept& swept) {
    if constexpr (os::hasPages) {
        Spans& spans = region->spans;
        for (std::uint64_t judged = spans.judged; judged != 0; judged &= judged - 1) {
            const auto i = static_cast<std::size_t>(std::countr_zero(judged));
            sample(region, i);
            if (!spans.kept.has(i) && !spans.pierced.has(i) && !poisons()) {
                releaseDead(region, i, swept);
            }
        }
    }
}

bool Heap::releaseKeptSpans(Region* region, Swept& swept, unsigned most) {
    if constexpr (os::hasPages) {
        std::uint64_t judged = region->spans.judged;
        for (; judged != 0 && most > 0; judged &= judged - 1, --most) {
            releaseKept(region, static_cast<std::size_t>(std::countr_zero(judged)), swept);
        }
        return judged != 0;
    }
    return false;
}

/** Count which sizes died in a span and which lived, if all its blocks were young and it is one of the first. */
void Heap::sample(Region* region, std::size_t i) {
    const Span& span = region->spans.pieces[i];
    if (span.room + 1 != contextGranules_ || !lifetimes_.wants(span.lane)) {
        return;
    }
    const GranuleMap map = region->map();
    const std::size_t end = region->spans.cleared(i);
    const auto heads = [](std::size_t, auto words) { return swar::heads(words); };
    map.forEach(region->spans.begin(i), end, heads, [&](std::size_t g) {
        if (g < end) {
            const Byte h = map.get(g);
            lifetimes_.count(map.blockSize(g), !dead(h) || (h & head::held));
        }
    });
}

/** Everything in span i is dead: make it stale. */
void Heap::releaseDead(Region* region, std::size_t i, Swept& swept) {
    os::LockedFairly locked(lock_);
    Spans& spans = region->spans;
    Span& span = spans.pieces[i];
    const std::size_t begin = spans.begin(i);
    const std::size_t end = spans.begin(i + 1);
    MPR_ASSERT((spans.judged >> i & 1) != 0 && !spans.kept.has(i) && !spans.pierced.has(i));
    spans.judged &= ~(std::uint64_t{1} << i);
    swept.blocks += span.blocks;
    totals_.blocksFreed += span.blocks;
    totals_.granulesFreed += end - begin;
    region->sweepYoung.remove(begin, end);
    // Heads with managers must not stay, or these might be called again. A full sweep has emptied wantsFree.
    const std::uint64_t managed = region->wantsFree.get() | region->scanForFree;
    if (span.owner && (managed & region->chunksTouched(begin, end)) == 0) {
        span.owner->contexts[static_cast<unsigned>(span.lane)].stale.push(&span);
        spans.setCleared(i, 0);
        return;
    }
    region->map().clear(begin, end);
    spans.setCleared(i);
    giveBack({region, begin}, end - begin);
}

/**
    Clear the dead from the map, without the lock: others touch only living blocks, and holes. @return granules cleared
    @param left Set when a dead block is held, reaches out of the span, or is to rest. Such blocks are left as they are.
 */
std::size_t Heap::clearSpan(Region* region, std::size_t i, Swept& swept, bool& left) {
    const GranuleMap map = region->map();
    const std::size_t end = region->spans.cleared(i);
    const std::size_t border = region->spans.begin(i + 1);
    std::size_t freed = 0;
    std::size_t blocks = 0;
    const auto doomed = [dead = DeadHeads(*this)](std::size_t, auto words) { return dead(words); };
    map.forEach(region->spans.begin(i), end, doomed, [&](std::size_t g) {
        if (g >= end) [[unlikely]] {
            return;
        }
        const std::size_t n = map.blockSize(g);
        if (g + n > border || (map.get(g) & head::held) || poisons()) [[unlikely]] {
            left = true;
            return;
        }
        map.clearBlock(g, n);
        freed += n;
        ++blocks;
    });
    swept.blocks += blocks;
    return freed;
}

/** Something in span i lives, or is held, or was freed by hand. */
void Heap::releaseKept(Region* region, std::size_t i, Swept& swept) {
    Spans& spans = region->spans;
    Span& span = spans.pieces[i];
    const std::size_t begin = spans.begin(i);
    const std::size_t end = spans.begin(i + 1);
    const std::size_t blocks = swept.blocks;
    bool left = false;
    std::size_t freed = 0;
    {
        os::Locked clearing(clearing_);
        freed = clearSpan(region, i, swept, left);
    }
    {
        os::LockedFairly locked(lock_);
        region->map().clear(spans.cleared(i), end);
        spans.setCleared(i);
        totals_.blocksFreed += swept.blocks - blocks;
        MPR_ASSERT(span.taken <= span.room + freed);
        span.room += static_cast<std::uint32_t>(freed) - span.taken;
        span.taken = 0;
        // The ordinary sweep takes care of what was left.
        if (!left) {
            region->sweepYoung.remove(begin, end);
        }
        if (!left && !spans.pierced.has(i) && releaseSparse(region, i)) {
            return;
        }
        Spans::move(i, spans.judged, spans.retiring);
    }
    retire(region, i);
}

/** Span i has no dead blocks and no holes any more: it is sparse. @return false when it is empty. */
bool Heap::releaseSparse(Region* region, std::size_t i) {
    os::assertHeld(lock_);
    Spans& spans = region->spans;
    Span& span = spans.pieces[i];
    MPR_ASSERT(span.room < contextGranules_ && !spans.pierced.has(i));
    if (span.room + 1 == contextGranules_) {
        return false;
    }
    totals_.granulesFreed += span.room;
    Spans::move(i, spans.judged, spans.sparse);
    if (span.room >= contextGranules_ >> leastRoomShift && !span.listed) {
        const Lane lane = span.lane;
        const bool roomy = span.lane == Lane::lasting || span.room >= contextGranules_ / 2;
        SparseSpans& list = !roomy       ? spare_.scanty(lane)
                            : span.owner ? span.owner->contexts[static_cast<unsigned>(lane)].sparse
                                         : spare_.roomy(lane);
        list.push(&span);
        span.listed = true;
    }
    return true;
}

/**
    A span without dead blocks becomes ordinary memory: its gaps become holes, and in the end its fence does. Between
    two slices blocks may be freed and made, so each slice walks from the start. The walk ends where a size cannot be
    believed: the span then stays among the retiring ones, and its gaps are never used.
 */
void Heap::retire(Region* region, std::size_t i) {
    Spans& spans = region->spans;
    const GranuleMap map = region->map();
    const std::size_t end = spans.begin(i + 1);
    for (std::size_t done = spans.begin(i); done < end;) {
        os::LockedFairly locked(lock_);
        const std::size_t sliceEnd = done + sliceGranules / 2;
        std::size_t g = spans.begin(i);
        while (g < std::min(sliceEnd, end)) {
            if (map.get(g) != 0) {
                const std::size_t n = region->extentAt(g);
                if (n == 0) [[unlikely]] {
                    nameDamage(region->address(g), "a size in a span was overwritten; what is free there stays:");
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
            const std::size_t fence = spans.begin(i);
            MPR_ASSERT(map.get(fence) == mark::opaque);
            spans.retiring &= ~(std::uint64_t{1} << i);
            map.set(fence, 0);
            ++totals_.granulesFreed;
            giveBack({region, fence}, 1);
        }
    }
}

bool Heap::reclaimSpan(bool any) {
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
    const Span* span = spare_.leftOver().pop();
    Region* region = regionOf(span);
    MPR_ASSERT(region->spans.isStale(region->spans.indexOf(span)));
    const std::size_t begin = region->spans.beginOf(span);
    region->map().clear(begin, begin + contextGranules_);
    region->spans.setCleared(region->spans.indexOf(span));
    giveBack({region, begin}, contextGranules_);
    return true;
}

void Heap::retireSpans() {
    if constexpr (!os::hasPages) {
        return;
    }
    endQuarantine(true);
    while (reclaimSpan(true)) {}
    for (;;) {
        Region* region = nullptr;
        std::size_t i = 0;
        {
            os::Locked locked(lock_);
            for (region = regions_; region && region->spans.sparse == 0;) {
                region = region->next;
            }
            if (!region) {
                return;
            }
            i = static_cast<std::size_t>(std::countr_zero(region->spans.sparse));
            putAside(region, i, region->spans.retiring);
        }
        retire(region, i);
    }
}

/** The region goes back to the system: drop its spans from all lists. */
void Heap::forgetSpans(const Region* region) {
    os::assertHeld(lock_);
    const auto isGone = [&](const Span* span) { return regionOf(span) == region; };
    spare_.removeSparseIf(isGone);
    for (Local* local = locals_; local; local = local->next) {
        for (AllocationContext& c : local->contexts) {
            c.sparse.removeIf(isGone);
        }
    }
}

} // namespace mpr::heap
