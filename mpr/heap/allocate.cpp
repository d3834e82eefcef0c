// SPDX-License-Identifier: MIT
/*
    allocate.cpp - Allocation that takes the lock: contexts, larger blocks, large regions.
*/
#include <algorithm>
#include <bit>
#include <utility>

#include "mpr/heap/context.hpp"

namespace mpr::heap {

namespace {
/**
    By sort, the granules of a hole that is worth a context: tails of old ones would serve a few blocks only. The
    figures are small parts of a span. Between an eighth and eight times of them `work_mpr mixed` and `bimodal` do
    not differ by more than the runs of one.
 */
constexpr std::size_t leastContext[] = {64, 256};
} // namespace

/** Granules of a share, when what the heap may have is divided by so many shares a thread that allocates. */
std::size_t Heap::shareOfLimit(std::size_t shares) const {
    os::assertHeld(lock_);
    const std::size_t most = limits_.ceiling() - std::min(limits_.outside(), limits_.ceiling());
    return (most >> granuleShift) / shares / std::max<std::size_t>(allocating_, 1);
}

/** In a small heap, or in one that many share, a thread has no quick lists: they would take too much of it. */
void Heap::openQuickLists(Local& local) {
    if constexpr (QuickLists::greatest > 0) {
        constexpr std::size_t n = granulesFor(QuickLists::bytes);
        bool roomy = !poisons();
        {
            os::Locked locked(lock_);
            roomy = roomy && (fixed() ? greatestInRegion_ >= 64 * n : shareOfLimit(16) >= n);
        }
        Shortage shortage = Shortage::none;
        local.quickMemory = roomy ? allocateShared(n, head::held, true, shortage) : nullptr;
        local.quick.open(local.quickMemory);
    }
}

/**
    Have the contexts of all threads together take no more than half of what the heap may have. Contexts smaller than a
    span are holes: after each collection other threads can have them.
 */
void Heap::fitContexts() {
    os::assertHeld(lock_);
    if constexpr (os::hasPages) {
        if (!fixed()) {
            const std::size_t share = shareOfLimit(2 * lanes);
            const bool whole = share >= contextGranules_;
            contextNow_.store(whole ? contextGranules_ : std::bit_floor(std::max(share / 4, leastContext[0])),
                              std::memory_order_relaxed);
        }
    }
}

void Heap::attach(Local& local) {
    openQuickLists(local);
    os::Locked locked(lock_);
    local.newborn = state_.colours().newborn();
    if constexpr (!os::hasThreads) {
        return;
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
        AllocationContext& c = local.contexts[lane];
        c.lane = static_cast<Lane>(lane);
        const auto sort = static_cast<unsigned>(sortOf(c.lane));
        c.queues = &queues_[fixed() ? 0 : sort];
        c.least = contextGranules_ > 0 ? leastContext[sort] : 0;
        c.worth = FreeQueues::warmWordsFrom(c.least);
    }
    local.next = locals_;
    local.previous = nullptr;
    if (locals_) {
        locals_->previous = &local;
    }
    locals_ = &local;
    ++allocating_;
    fitContexts();
}

void Heap::detach(Local& local) {
    if constexpr (!os::hasThreads) {
        return;
    }
    const Telling telling(*this);
    MPR_ASSERT(!local.batch);
    dropEarmark(local.earmark);
    flushQuickLists(local);
    local.quick.open(nullptr);
    if (void* memory = std::exchange(local.quickMemory, nullptr)) {
        freeShared(table_.find(memory), memory);
    }
    os::Locked locked(lock_);
    closeContexts(local);
    takeCounts(local);
    disown(local);
    (local.previous ? local.previous->next : locals_) = local.next;
    if (local.next) {
        local.next->previous = local.previous;
    }
    allocating_ -= allocating_ > 0;
    fitContexts();
}

void Heap::settle(Local& local) {
    flushQuickLists(local);
    const os::Locked locked(lock_);
    closeContexts(local);
    takeCounts(local);
}

/** Add the thread's counts to the heap's totals. */
void Heap::takeCounts(Local& local) {
    os::assertHeld(lock_);
    totals_.blocksAllocated += local.blocks.take();
    for (AllocationContext& c : local.contexts) {
        totals_.blocksAllocated += c.blocks.take();
    }
    totals_.blocksFreed += local.freedBlocks.take();
    totals_.granulesFreed += local.freedGranules.take();
    const std::size_t taken = local.takenGranules.take();
    totals_.granulesAllocated += taken;
    local.counts.made(taken);
}

void Heap::close(const Remainder& r) {
    os::assertHeld(lock_);
    MPR_ASSERT(r.region->contains(r.begin) && r.begin < r.end && r.end <= r.region->address(r.region->endGranule));
    const std::size_t n = static_cast<std::size_t>(r.end - r.begin) >> granuleShift;
    giveBack(Place::of(r.region, r.begin), n);
    totals_.granulesAllocated -= n;
    trigger_.giveBack(n);
}

/** @return Whether there was any. */
bool Heap::closeContexts(Local& local) {
    os::assertHeld(lock_);
    bool any = false;
    while (local.remainderCount > 0) {
        close(local.remainders[--local.remainderCount]);
    }
    if (Batch* batch = local.batch) {
        batch->forget();
    }
    for (AllocationContext& c : local.contexts) {
        any |= c.region != nullptr;
        c.check();
        c.leaveSpan();
        if (c.rest() > 0) {
            close({c.bump, c.end, c.region});
        }
        c.close();
    }
    return any;
}

/** The context has room, but was held up, or has to be cleared first: see AllocationContext. */
void* Heap::resumeContext(Local& local, AllocationContext& c, std::size_t n, Byte h) {
    if (local.remainderCount > 0) {
        lock_.lock();
        close(local.remainders[--local.remainderCount]);
        lock_.unlock();
    }
    const std::size_t bytes = n << granuleShift;
    if (bytes > static_cast<std::size_t>(c.cleared - c.bump)) {
        const std::size_t from = c.region->granuleOf(c.cleared);
        const std::size_t end = c.region->granuleOf(c.end);
        const std::size_t to = std::min(std::max(from + Spans::step, c.region->granuleOf(c.bump) + n), end);
        c.region->map().clear(from, std::min(to + swar::bytes, end));
        c.cleared = c.region->address(to);
        if constexpr (os::hasPages) {
            Spans& spans = c.region->spans;
            spans.setCleared(spans.indexOf(c.span), static_cast<std::uint32_t>(to));
        }
    }
    c.limit = c.cleared;
    void* block = bump(c, n, h);
    holdUp(local, c);
    return block;
}

/** A block, and a context if it can be, from the front hole of any queue. @return nullptr: past the limit. */
MPR_INLINE void* Heap::allocateFrom(const FreeQueues& queues, Sought sought, Local& local, AllocationContext& c,
                                    NewBlock block) {
    const auto [want, queue] = sought;
    Hole* hole = queues.front(queue);
    const Place at = Place::of(regionOf(hole), hole);
    std::size_t size = 0;
    if (!sizeOfFront(at, size)) [[unlikely]] {
        return nullptr; // there are other queues
    }
    std::size_t take = share(at, size, block.size, want);
    if (take > block.size && !FreeQueues::isWarm(queue) && size < 2 * want) {
        take = size; // a tail with an uncommitted chunk would stay cold, and so the whole region when it is empty again
    }
    if (!carve(at, size, take, local.privileged(), queue)) [[unlikely]] {
        return nullptr;
    }
    return settle(local, c, {{at, take}, take}, block);
}

/**
    Allocate when no wide warm hole serves: from a hole of one granule, or else the heap grows into a cold hole.
    The lock is held by the caller and released here.
 */
void* Heap::allocateOtherwise(Local& local, AllocationContext& c, NewBlock block, Sought sought, Shortage& shortage) {
    const FreeQueues& queues = *c.queues;
    auto [want, queue] = sought;
    if (queue == FreeQueues::none) {
        queue = want == contextGranules_ ? queues.find(coldContexts_) : queues.findCold(want);
    }
    if (queue != FreeQueues::none) [[likely]] {
        if (void* made = allocateFrom(queues, {want, queue}, local, c, block)) [[likely]] {
            lock_.unlock();
            return made;
        }
    }
    return allocateScarce(local, block, want, shortage);
}

/**
    Allocate from a new region; if the heap may not grow, from any hole. The lock is held by the caller and released
    here.
 */
void* Heap::allocateScarce(Local& local, NewBlock block, std::size_t want, Shortage& shortage) {
    const std::size_t n = block.size;
    const Sort sort = fixed() ? Sort::small : sortOf(n);
    const bool asks = refusals_.mayAsk();
    unsigned queue = FreeQueues::none;
    if (asks) {
        queue = findFresh(sort, want, local.privileged(), shortage);
        if (shortage == Shortage::system) {
            refusals_.note();
        }
    }
    AllocationContext& c = contextFor(local, n);
    const FreeQueues* queues = c.queues;
    void* made = nullptr;
    // First look for what was wanted, then for n only: in warm queues of each sort, then in cold ones.
    for (unsigned i = 0; !made; ++i) {
        if (queue != FreeQueues::none) {
            made = allocateFrom(*queues, {i == 0 ? want : n, queue}, local, c, block);
        }
        if (made || i == 2 * sorts) {
            break;
        }
        queues = &queues_[i % sorts];
        queue = i < sorts ? queues->findWarm(n) : queues->findCold(n);
    }
    for (unsigned i = 0; !made && i < sorts; ++i) {
        Hole* hole = carveScarce(queues_[i], n, local.privileged());
        made = hole ? settle(local, contextFor(local, n), {{Place::of(regionOf(hole), hole), n}, n}, block) : nullptr;
    }
    if (!made && !asks) {
        refusals_.forget();
        return allocateScarce(local, block, want, shortage);
    }
    if (!made && shortage == Shortage::none) {
        shortage = Shortage::limit;
    }
    lock_.unlock();
    return made;
}

/**
    The heap cannot grow, and no hole is worth a context. The rest still serves small blocks for a while. So a
    collection is due now, whatever the budget, rather than when nothing is left; and the next budgets have to end
    sooner. Nothing is noted while a sweep is about to free more. Nor is it when little was allocated since a sweep
    freed all that was dead: another collection would find little.
 */
void Heap::noteScattered(const AllocationContext& c) {
    os::assertHeld(lock_);
    if (scattered_.any() || state_.sweep() != Sweep::none ||
        (scattered_.sweptAll() && (trigger_.since() << granuleShift) < limits_.ceiling() / 64)) {
        return;
    }
    for (const FreeQueues& queues : queues_) {
        if (queues.find(c.worth) != FreeQueues::none) {
            return; // another sort's memory serves
        }
    }
    scattered_.note(freeBytesLocked() + limits_.ceiling() - std::min(limits_.ceiling(), limits_.committed()));
    trigger_.hasten(); // took() sees to it, with the block that is about to be made
}

void* Heap::allocateSlow(Local& local, std::size_t n, Byte flags, Shortage& shortage) {
    return allocateInContext(local, n, flags, shortage);
}

} // namespace mpr::heap
