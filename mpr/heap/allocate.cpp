/*
    allocate.cpp - Allocation that takes the lock: contexts, larger blocks, large regions.
*/
#include <algorithm>

#include "mpr/heap/context.hpp"

namespace mpr::heap {

void Heap::attach(Local& local) {
    os::Locked locked(lock_);
    local.newborn = colours_.newborn();
    local.next = locals_;
    local.previous = nullptr;
    if (locals_) {
        locals_->previous = &local;
    }
    locals_ = &local;
}

void Heap::detach(Local& local) {
    flushQuickLists(local);
    os::Locked locked(lock_);
    closeContexts(local);
    totals_.blocksAllocated += local.blocks.take();
    totals_.blocksFreed += local.freedBlocks.take();
    totals_.granulesFreed += local.freedGranules.take();
    totals_.granulesAllocated += local.takenGranules.take();
    (local.previous ? local.previous->next : locals_) = local.next;
    if (local.next) {
        local.next->previous = local.previous;
    }
}

void Heap::close(const Remainder& r) {
    const std::size_t n = static_cast<std::size_t>(r.end - r.begin) >> granuleShift;
    giveBack(r.region, r.region->granuleOf(r.begin), n);
    totals_.granulesAllocated -= n;
    since_ -= n;
}

void Heap::closeContexts(Local& local) {
    while (local.remainderCount > 0) {
        close(local.remainders[--local.remainderCount]);
    }
    for (AllocationContext& c : local.contexts) {
        if (c.rest() > 0) {
            close({c.bump, c.end, c.region});
        }
        c = {};
    }
}

/** No warm hole serves: the heap grows. When it may not, anything goes. */
[[gnu::cold, gnu::noinline]] bool Heap::openScarce(Sort sort, std::size_t n, std::size_t want, bool privileged,
                                                   AllocationContext& context, Shortage& shortage) {
    unsigned queue = findFresh(sort, want, privileged, shortage);
    if (queue != FreeQueues::none && openIn(queue, sort, n, want, privileged, context)) {
        return true;
    }
    for (const bool warm : {true, false}) {
        for (const Sort s : {Sort::small, Sort::big}) {
            const FreeQueues& queues = queues_[static_cast<unsigned>(s)];
            queue = warm ? queues.findWarm(n) : queues.findCold(n);
            if (queue != FreeQueues::none && openIn(queue, s, n, n, privileged, context)) {
                return true;
            }
        }
    }
    if (shortage == Shortage::none) {
        shortage = Shortage::limit;
    }
    return false;
}

void* Heap::allocateSlow(Local& local, std::size_t n, Byte flags, Shortage& shortage) {
    return allocateInContext(local, n, flags, shortage);
}

void* Heap::allocateShared(std::size_t n, Byte flags, bool privileged, Shortage& shortage) {
    os::Locked locked(lock_);
    const Byte h = static_cast<Byte>(head::inUse | flags | colours_.newborn());
    void* block = nullptr;
    if (n <= greatestInRegion_) {
        block = carveBlock(n, h, privileged, shortage);
    } else if (buffer_) {
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
            if (swar::wantFree(h)) {
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

} // namespace mpr::heap
