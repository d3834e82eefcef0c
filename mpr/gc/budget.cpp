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
    heap_.setTrigger(cycle_.assists().with(Assists::marking) ? std::min(since + budget / (Assists::steps + 1), budget)
                                                             : budget);
}

void Budget::setSlack() {
    heap_.setTrigger(pacer_.slack(trigger(), usage(), cycle_.assists().with(Assists::sweeping)));
}

void Budget::renew(bool everything) {
    const Pacer::Usage used = usage();
    generations_.swept(everything, {used.live, pacer_.room(used), pacer_.allowance(used.live), pacer_.tight(used)},
                       cycle_.major().isTracing());
    repaceFor(used);
}

/** Bytes that the heap holds, as far as is known: of blocks those that were there at the last rendezvous. */
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
