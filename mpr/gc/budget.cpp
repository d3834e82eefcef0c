// SPDX-License-Identifier: MIT
/*
    budget.cpp - The next budget, from what the heap holds.
 */
#include "mpr/gc/budget.hpp"

#include <algorithm>

namespace mpr::gc {

void Budget::open(const heap::Options& options, std::size_t fixedHeap, bool trial) {
    pacer_.open(options, os::privateCache(), fixedHeap);
    if (fixedHeap > 0) {
        pacer_.setCache(0);
    }
    generations_.open(fixedHeap == 0, pacer_.young(), options.growth, options.pauseBudget);
    generations_.setTrial(trial);
}

/** Have threads called again when the budget is spent; or a part of it, if they mark. @param since Spent so far. */
void Budget::setTrigger(std::size_t since) {
    const std::size_t budget = trigger();
    const bool marks = cycle_.assists().with(Assists::marking);
    heap_.setTrigger(marks ? std::min(since + budget / (Assists::steps + 1), budget) : budget, budget);
}

void Budget::setSlack(const Pacer::Usage& used) {
    const auto lived = static_cast<std::size_t>(stats_.marked.load(std::memory_order_relaxed));
    const std::size_t extent = pacer_.extent(lived, used.overhead, trigger());
    extent_.store(std::max(extent, heap_.committed()), std::memory_order_relaxed);
    waits_.store(0, std::memory_order_relaxed);
    heap_.setTrigger(pacer_.slack(trigger(), used, cycle_.assists().with(Assists::sweeping), supply()), trigger());
}

/**
    Bytes that threads may still allocate without that the heap grows; or, while managers free, that they have more to free in
    the next sweep than they should.
 */
std::size_t Budget::supply() const {
    const std::size_t supply = heap_.supply(extent_.load(std::memory_order_relaxed));
    const std::size_t freeable = pacer_.freeable();
    return cycle_.phase() == Phase::freeing ? std::min(supply, freeable - std::min(freeable, heap_.spentSince()))
                                            : supply;
}

/** While a sweep lasts: have threads called after so many bytes, or when the budget is spent. */
void Budget::callAfter(std::size_t bytes) {
    const std::uint32_t pauses = cycle_.pauses().load(std::memory_order_acquire);
    const std::size_t spent = heap_.spentSince(), budget = trigger();
    heap_.setTrigger(spent < budget ? std::min(spent + bytes, budget) : spent + bytes, budget);
    if (!cycle_.isReclaiming() || cycle_.pauses().load(std::memory_order_acquire) != pauses) {
        setTrigger(0); // it has ended meanwhile: that was not about the new budget
    }
}

/** While a sweep lasts: what threads may allocate before they wait for it again. */
std::size_t Budget::piece() const {
    return pacer_.mayTake(supply(), waits_.load(std::memory_order_relaxed));
}

void Budget::extendSlack() {
    waits_.fetch_add(1, std::memory_order_relaxed);
    callAfter(std::min({trigger(), piece(), roomLeft() / 2}));
}

void Budget::rearm() {
    if (cycle_.isReclaiming()) {
        callAfter(piece());
    } else {
        setTrigger(heap_.spentSince());
    }
}

void Budget::renew(bool everything) {
    const Pacer::Usage used = usage();
    generations_.swept(
        everything, {used.live, pacer_.room(used), pacer_.allowance(used.live), pacer_.tight(used), pacer_.freeable()},
        cycle_.major().isTracing());
    repaceFor(used);
}

Pacer::Usage Budget::usage() const {
    const heap::Totals totals = heap_.totals();
    const auto live = static_cast<std::size_t>((totals.granulesAllocated - totals.granulesFreed) << heap::granuleShift);
    const std::size_t since = heap_.allocatedSince();
    const heap::Limits limits = heap_.limits();
    // What blocks keep outside lives and dies with them.
    return {(live > since ? live - since : 0) + limits.outside(), totals.overheadBytes, limits};
}

std::size_t Budget::roomLeft() const {
    Pacer::Usage used = usage();
    used.live += heap_.allocatedSince();
    return pacer_.room(used);
}

void Budget::repaceFor(const Pacer::Usage& used) {
    stats_.marked.store(used.live - used.limits.outside(), std::memory_order_relaxed);
    const std::size_t trigger = pacer_.trigger(used, generations_.worthwhile(), generations_.grownBy(used.live));
    trigger_.store(trigger, std::memory_order_relaxed);
    setTrigger(0);
}

} // namespace mpr::gc
