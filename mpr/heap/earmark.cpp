// SPDX-License-Identifier: MIT
/*
    earmark.cpp - Memory for threads that were refused some and wait for a collection.
 */
#include "mpr/heap/earmark.hpp"

#include <utility>

#include "mpr/heap/heap.hpp"

namespace mpr::heap {

void Heap::beginWait(Earmark& mark) {
    MPR_ASSERT(mark.wanted == 0 && !mark.block);
    const std::size_t n = std::exchange(mark.refused, 0);
    const std::size_t bytes = n << granuleShift;
    os::Locked locked(lock_);
    // For what nobody else could give up nobody makes way. That the heap might grow now says nothing: others may be faster.
    if (n > greatestInRegion_ || bytes > limits_.ceiling() / 4) {
        return;
    }
    mark.waits = true;
    mark.wanted = n;
    mark.next.store(nullptr, std::memory_order_relaxed);
    placeOf(nullptr).store(&mark, std::memory_order_relaxed);
}

void Heap::endWait(Earmark& mark) {
    mark.waits = false;
    os::Locked locked(lock_);
    if (mark.wanted != 0) {
        mark.refused = std::exchange(mark.wanted, 0);
        placeOf(&mark).store(mark.next.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
}

/** The pointer of the list that points to a mark of it; nullptr: the last one. */
os::Shared<Earmark*>& Heap::placeOf(const Earmark* mark) {
    os::assertHeld(lock_);
    os::Shared<Earmark*>* place = &waiting_;
    while (Earmark* there = place->load(std::memory_order_relaxed)) {
        if (there == mark) {
            break;
        }
        place = &there->next;
    }
    return *place;
}

void Heap::serveWaiting() {
    for (bool tried = false; someWait();) {
        if (!serveOne()) {
            if (std::exchange(tried, true)) {
                return;
            }
            decommitRetired();
            retireSpans();
        }
    }
}

/** Make a block where the heap need not grow. @return nullptr: there is no such hole. */
void* Heap::makeInHole(std::size_t n, Byte flags) {
    os::assertHeld(lock_);
    MPR_ASSERT(n <= greatestInRegion_);
    const Byte h = static_cast<Byte>(head::inUse | flags | state_.colours().newborn());
    void* block = carveAnywhere({n, h}, false);
    if (block) {
        unearth(block, n);
        took(n);
        ++totals_.blocksAllocated;
    }
    return block;
}

/** Earmark a block for a thread that waits. @return false: none waits, or there is no memory for any. */
bool Heap::serveOne() {
    os::Locked locked(lock_);
    os::Shared<Earmark*>* place = &waiting_;
    while (Earmark* mark = place->load(std::memory_order_relaxed)) {
        mark->block = makeInHole(mark->wanted, head::held);
        if (mark->block) {
            mark->wanted = 0;
            place->store(mark->next.load(std::memory_order_relaxed), std::memory_order_relaxed);
            return true;
        }
        place = &mark->next;
    }
    return false;
}

void* Heap::allocateEarmarked(Local& local, std::size_t n, Byte flags) {
    void* mark = std::exchange(local.earmark.block, nullptr);
    Region* region = table_.find(mark);
    const bool serves = n <= region->blockSize(region->granuleOf(mark));
    const Telling telling(*this);
    os::Locked clearing(clearing_); // as in changeHead
    os::Locked locked(lock_);
    releaseHeld(region, mark);
    if (!serves) {
        return nullptr;
    }
    void* block = makeInHole(n, static_cast<Byte>(flags | (local.batch ? head::referenced : 0)));
    local.counts.made(block ? n : 0);
    return block;
}

void Heap::freeEarmarked(Earmark& mark) {
    void* block = std::exchange(mark.block, nullptr);
    freeHeld(table_.find(block), block);
}

} // namespace mpr::heap
