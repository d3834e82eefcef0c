// SPDX-License-Identifier: MIT
/*
    budget.hpp - How much may be allocated until threads ask for the next collection, and of which kind that will be.
    Applies the arithmetic of pacer.hpp and generations.hpp to the heap as it is.
 */
#pragma once

#include <atomic>
#include <cstddef>

#include "mpr/gc/collector_stats.hpp"
#include "mpr/gc/cycle.hpp"
#include "mpr/gc/generations.hpp"
#include "mpr/gc/pacer.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Budget {
public:
    Budget(heap::Heap& heap, const Cycle& cycle, CollectorStats& stats) : heap_(heap), cycle_(cycle), stats_(stats) {}

    /** @param trial Every scope is tried by turns. */
    void open(const heap::Options& options, std::size_t fixedHeap, bool trial);

    Pacer& pacer() { return pacer_; }
    const Pacer& pacer() const { return pacer_; }
    Generations& generations() { return generations_; }
    const Generations& generations() const { return generations_; }

    /** The budget in bytes. */
    std::size_t trigger() const { return trigger_.load(std::memory_order_relaxed); }
    bool halfSpent() const { return heap_.spentSince() >= trigger() / 2; }
    bool isSpent() const { return heap_.spentSince() >= trigger(); }
    /**
        Have threads called again for the next step of marking, or when a sweep that lasts has nothing for them to allocate any
        more; at last when the rest is spent. What has been spent so far counts.
     */
    void rearm();
    /**
        Set how much threads may allocate while the sweep lasts that has just begun. @param used Before that, since spans that
        may be filled again count as used while it lasts.
     */
    void setSlack(const Pacer::Usage& used);
    /** Whether there is something to allocate until the sweep has ended: else the heap would grow for it. */
    bool hasSupply() const { return supply() > pacer_.mayTake(0); }
    /** The sweep lags behind: let threads allocate some more before they wait for it again. */
    void extendSlack();
    /** Set the budget again: limits or the cache have changed. */
    void repace() { repaceFor(usage()); }
    /** A sweep has ended: set the next budget. @param everything Not only the young were swept. */
    void renew(bool everything) MPR_REQUIRES(onDuty);
    /** Bytes that can still be allocated, going by what is in use now, dead or alive. */
    std::size_t roomLeft() const;
    /** What the heap holds. Blocks made since the last rendezvous are not counted. */
    Pacer::Usage usage() const;

private:
    std::size_t supply() const;
    std::size_t piece() const;
    void callAfter(std::size_t bytes);
    void setTrigger(std::size_t since);
    void repaceFor(const Pacer::Usage& used);

    heap::Heap& heap_;
    const Cycle& cycle_;
    CollectorStats& stats_;
    Pacer pacer_;
    Generations generations_;
    std::atomic<std::size_t> trigger_{0}; // a number: orders nothing; as the next
    std::atomic<std::size_t> extent_{0};  // bytes that the heap should take at most until it has swept
    std::atomic<unsigned> waits_{0};      // how often threads have waited for this sweep in vain
};

} // namespace mpr::gc
