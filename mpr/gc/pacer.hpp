// SPDX-License-Identifier: MIT
/*
    pacer.hpp - When to collect next. Arithmetic only.

    A full collection starts after an allocation of `growth` percent of the live size, at least the young budget. Near
    a limit it starts sooner, so that half of the room that is left stays for what is allocated until threads yield.

    A minor one has a cost whatever it finds, mostly that of tracing old plain blocks again, and one that grows with the
    budget, for the young that live. The budget is such that the first takes `cpu` percent of the time in which it is
    allocated, and the second no longer than half the first or twice the pause budget; between a quarter of the young budget
    and four of them (two when the pause budget is exceeded anyway), or what a full collection would wait for.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "mpr/heap/limits.hpp"
#include "mpr/heap/options.hpp"

namespace mpr::gc {

class Pacer {
public:
    /** What there is to reckon with, in bytes: in blocks, in headers and maps, and what may be. */
    struct Usage {
        std::size_t live, overhead;
        heap::Limits limits;
    };

    void open(const heap::Options& options, std::size_t privateCache, std::size_t fixedHeap) {
        growth_ = options.growth;
        percent_ = options.cpuPercent;
        pauseBudget_ = options.pauseBudget;
        young_ = options.young;
        if (young_ == 0) {
            // Some private caches' worth: a rendezvous costs tens of microseconds, so a few thousand blocks should share
            // one; beyond that a larger budget only costs memory.
            young_ = std::clamp(8 * privateCache, std::size_t{1} << 20, std::size_t{8} << 20);
        }
        if (fixedHeap > 0) {
            young_ = std::min(young_, fixedHeap / 4);
        }
        minor_ = young_;
        least_ = std::max(young_ / 16, std::size_t{256});
        fixed_ = fixedHeap;
    }

    /** Bytes of allocation until the next collection. @param minor It will be a minor one. */
    std::size_t trigger(const Usage& used, bool minor) const {
        const std::size_t growth = std::max(young_, used.live / 100 * growth_);
        const std::size_t budget = minor ? std::min({minor_, mostMinor * young_, growth}) : growth;
        return std::min(budget, std::max(room(used) / 2, least_));
    }

    /** What a minor collection took. */
    struct Cost {
        std::size_t allocated;       // bytes since the one before,
        std::uint64_t interval;      // in so many nanoseconds;
        std::uint64_t always, young; // of marking: whatever it finds, by all markers; and for the young
        unsigned markers = 1;
    };
    void observe(const Cost& cost) {
        if (os::cooperative || cost.allocated < young_ / 16) {
            return; // somebody asked for it: says nothing
        }
        const double allocated = static_cast<double>(cost.allocated);
        const double always = static_cast<double>(cost.always);
        const double byShare = always * (100.0 / percent_ - 1) * allocated / static_cast<double>(cost.interval + 1);
        const double longest = std::max(always / 2 / cost.markers, 2.0 * static_cast<double>(pauseBudget_));
        const double byPause = allocated * longest / static_cast<double>(cost.young + 1);
        const double young = static_cast<double>(young_);
        const double wanted = std::min(std::max(byShare, young), std::max(byPause, young / 4));
        const double most = always / cost.markers > static_cast<double>(pauseBudget_) ? 2 : mostMinor;
        // Half the way: one collection may have been disturbed.
        minor_ = (minor_ + static_cast<std::size_t>(std::min(wanted, most * young))) / 2;
    }

    /**
        Bytes of allocation until threads wait for a sweep that is about to begin: as much as the last budget, or for a long
        sweep a part of what it goes over. @param assisted Those that assist it need not wait, and allocate less meanwhile.
     */
    std::size_t slack(std::size_t trigger, const Usage& used, bool assisted) const {
        return std::max(trigger, std::min(used.live / (assisted ? 8 : 2), room(used) / 4));
    }

    /** Whether there is no room for the young budget twice: what minor collections leave behind has to go. */
    bool tight(const Usage& used) const { return room(used) / 2 < young_; }

    /**
        A collection begins. @param bytes That were free when the heap could not grow and no hole was worth a context; 0 when
        that did not happen. So much a budget must leave: it is forgotten only slowly, as how a program's blocks fit
        together changes slowly, too.
     */
    void noteScattered(std::size_t bytes) {
        const std::size_t before = scattered();
        scattered_.store(std::max(bytes, before - before / 32), std::memory_order_relaxed);
    }
    std::size_t scattered() const { return scattered_.load(std::memory_order_relaxed); }

    /** Bytes that can be allocated; up to the redline only, as long as it is not reached. */
    std::size_t room(const Usage& usage) const {
        const std::size_t used = usage.live + usage.overhead;
        std::size_t ceiling = fixed_ > 0 ? fixed_ : usage.limits.ceiling();
        if constexpr (!os::cooperative) {
            const std::size_t free = ceiling - std::min(ceiling, used);
            const std::size_t lost = std::max(scattered(), usage.live / 8);
            ceiling -= std::min(free - free / 8, lost);
        }
        if (used < usage.limits.warn()) {
            ceiling = std::min(ceiling, usage.limits.warn());
        }
        return ceiling > used ? ceiling - used : 0;
    }

    std::size_t young() const { return young_; }

    /** Any thread. */
    void setCache(std::size_t bytes) { cache_.store(bytes, std::memory_order_relaxed); }
    std::size_t cache() const { return cache_.load(std::memory_order_relaxed); }

private:
    static constexpr unsigned mostMinor = 4; // young budgets

    std::size_t young_ = 0;
    std::size_t minor_ = 0; // bytes until a minor collection
    std::size_t least_ = 0;
    unsigned percent_ = 10;
    std::uint64_t pauseBudget_ = 0;
    std::size_t fixed_ = 0;
    os::Shared<std::size_t> cache_{std::size_t{1} << 20}; // a number: orders nothing
    unsigned growth_ = 100;
    os::Shared<std::size_t> scattered_{0}; // bytes that are free, but of no use: a number, as the above
};

} // namespace mpr::gc
