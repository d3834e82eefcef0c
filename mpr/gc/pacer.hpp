// SPDX-License-Identifier: MIT
/*
    pacer.hpp - When to collect next. Arithmetic only.

    A full collection starts after an allocation of `growth` percent of the live size, at least the young budget. Near
    a limit it starts sooner, so that half of the room that is left stays for what is allocated until threads yield.

    Garbage of all ages may take a share of the live size (`extra`), but a little more than the young budget at least: the
    *allowance*. What it spares the processor grows with the square root of it, as long as the rest of the memory is the same
    (M. Kirisame, P. Shenoy, P. Panchekha, "Optimal Heap Limits for Reducing Browser Memory Use", OOPSLA 2022). So a large
    heap gets much in bytes and a small one little, whatever the cache size would allow.

    A minor collection has a fixed cost, mostly that of tracing old plain blocks again, and a cost that grows with the
    budget, for young blocks that live. The budget is chosen so that the fixed cost is `cpu` percent of the processor's time
    in which the budget is allocated, and the growing cost is at most half the fixed one or a pause budget. It is at most
    what old garbage leaves of four fifths of the allowance: the rest is for what is allocated while a sweep or a major
    collection is under way. It is a quarter of the chosen one at least, but from an eighth of the young budget to all of
    it: else tracing old plain blocks would take most of the time while a major collection goes on.
    Unless the program has chosen the young budget, the first gets half of it: all of the young may live.

    Threads may have to wait while the managers of what has died are called, and nothing is freed before all have returned. So
    a budget is also at most what died before for each so many pause budgets that its managers took: the *freeable* bytes.
    Managers then take no longer altogether, and each wait for them is short.
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
    /** The heap in bytes: in living blocks, in headers and maps, and its limits. */
    struct Usage {
        std::size_t live, overhead;
        heap::Limits limits;
    };

    void open(const heap::Options& options, std::size_t privateCache, std::size_t fixedHeap) {
        growth_ = options.growth;
        extra_ = options.extra;
        percent_ = options.cpuPercent;
        pauseBudget_ = options.pauseBudget;
        young_ = options.young;
        if (young_ == 0) {
            // Several times a private cache: a rendezvous costs tens of microseconds, so thousands of blocks should
            // share one. Beyond that a larger budget only costs memory.
            young_ = std::clamp(8 * privateCache, std::size_t{1} << 20, std::size_t{8} << 20);
        }
        if (fixedHeap > 0) {
            young_ = std::min(young_, fixedHeap / 4);
        }
        minor_.store(options.young == 0 && fixedHeap == 0 ? young_ / 2 : young_, std::memory_order_relaxed);
        least_ = std::max(young_ / 16, std::size_t{256});
        fixed_ = fixedHeap;
    }

    /** Bytes that garbage of all ages may take besides what lives. */
    std::size_t allowance(std::size_t live) const { return std::max(young_ + young_ / 4, live / 100 * extra_); }

    /**
        Bytes of allocation until the next collection. @param minor It will be a minor one. @param old Bytes of what counts
        as living that may be old garbage.
     */
    std::size_t trigger(const Usage& used, bool minor, std::size_t old = 0) const {
        const std::size_t growth = std::max(young_, used.live / 100 * growth_);
        std::size_t budget = growth;
        if (minor) {
            const std::size_t allowed = allowance(used.live - std::min(used.live, old)) / 5 * 4;
            const std::size_t left = allowed - std::min(allowed, old);
            const std::size_t wanted = minor_.load(std::memory_order_relaxed);
            budget = std::min({wanted, std::max(left, std::clamp(wanted / 4, young_ / 8, young_)), growth});
        }
        if constexpr (!os::cooperative) {
            // More often would not have managers free less altogether, but old plain blocks traced again more.
            const std::size_t least = minor ? minor_.load(std::memory_order_relaxed) / 16 : 0;
            budget = std::min(budget, std::max(freeable(), least));
        }
        return std::min(budget, std::max(room(used) / 2, least_));
    }

    /** The cost of a minor collection. */
    struct Cost {
        std::size_t allocated;       // bytes since the one before
        std::uint64_t interval;      // of the processor's time since the one before, in any unit
        std::uint64_t always, young; // of marking: fixed, and for the young; in all markers together
        unsigned markers = 1;
    };
    void observe(const Cost& cost) {
        if (os::cooperative || cost.allocated < young_ / 16) {
            return; // somebody asked for it, so it says nothing
        }
        const double allocated = static_cast<double>(cost.allocated);
        const double always = static_cast<double>(cost.always);
        const double byShare = always * (100.0 / percent_ - 1) * allocated / static_cast<double>(cost.interval + 1);
        const double longest = std::max(always / 2, static_cast<double>(cost.markers * pauseBudget_));
        const double byPause = allocated * longest / static_cast<double>(cost.young + 1);
        const double young = static_cast<double>(young_);
        const double wanted = std::min(std::max(byShare, young), std::max(byPause, young / 4));
        // Go half the way, since a single collection may have been disturbed.
        const std::size_t before = minor_.load(std::memory_order_relaxed);
        minor_.store((before + static_cast<std::size_t>(std::min(wanted, mostMinor * young))) / 2,
                     std::memory_order_relaxed);
    }

    /** Managers were called. @param died Bytes that have died, or may have. @param took Nanoseconds that managers took. */
    void observeFreeing(std::size_t died, std::uint64_t took) {
        if (died < young_ / 32) {
            return; // somebody asked for it, so it says nothing
        }
        constexpr auto most = static_cast<double>(heap::Limits::none) / 2;
        // Go half the way, since a single collection may have been disturbed. But up at most by half, and down at once to what
        // is half as much again as it should be.
        const double before = static_cast<double>(freeable());
        const double bytes = static_cast<double>(died) * mostFreeing * static_cast<double>(pauseBudget_);
        const double now = std::min({bytes / static_cast<double>(took + 1), 2 * before, most});
        freeable_.store(static_cast<std::size_t>(std::min(before, 2 * now) / 2 + now / 2), std::memory_order_relaxed);
    }
    /** Bytes of garbage whose managers take as long as threads should have to wait for at most; or a little more. */
    std::size_t freeable() const { return std::max(freeable_.load(std::memory_order_relaxed), young_ / 16); }

    /**
        Bytes of allocation until threads wait for a sweep that has begun: the last budget, or for a long sweep a part of
        the live size and of the allowance. @param assisted Threads assist the sweep, so they need not wait, and
        allocate less meanwhile. @param supply Bytes that can be allocated without the heap growing beyond its extent.
     */
    std::size_t slack(std::size_t trigger, const Usage& used, bool assisted, std::size_t supply) const {
        const std::size_t most = std::min({used.live / (assisted ? 8 : 2), allowance(used.live) / 2, freeable()});
        return std::min(std::max(trigger, std::min(most, room(used) / 4)), mayTake(supply));
    }
    /**
        Bytes of a supply, or a little more. @param waits How often threads have waited for this sweep in vain: the little
        becomes less each time. All of it together is bounded, and with it what the next sweep has to free, however long
        managers take.
     */
    std::size_t mayTake(std::size_t supply, unsigned waits = 0) const {
        return std::max(supply, young_ >> (3 + std::min(waits, mostWaits)));
    }

    /**
        Bytes that the heap should take at most until a sweep has ended, however its free memory is scattered. While the sweep
        lasts little of that serves: a heap that grew instead would grow in each sweep, and what lives soon lies scattered
        over all of it. @param lived Bytes that lived after the last sweep. @param budget Of the collection that sweeps.
     */
    std::size_t extent(std::size_t lived, std::size_t overhead, std::size_t budget) const {
        const std::size_t sum = lived + overhead + allowance(lived) + budget;
        return sum < lived ? heap::Limits::none : sum;
    }

    /** Nanoseconds that a pause should take at most for what has to be marked besides old plain blocks. */
    std::uint64_t longest() const { return pauseBudget_; }

    /**
        Whether there is less room than two young budgets, or two sixteenths of the limit if those are less: what minor
        collections leave behind has to go, and there is no time to mark beside the threads.
     */
    bool tight(const Usage& used) const {
        const std::size_t enough =
            os::cooperative ? young_ : std::min(young_, std::max(used.limits.ceiling() / 16, least_));
        return room(used) / 2 < enough;
    }

    /**
        A collection begins. @param bytes How many were free when the heap could not grow and no hole was worth a
        context; 0 when that did not happen. A budget must leave that much. It is forgotten slowly, since the way in
        which a program's blocks fit together changes slowly.
     */
    void noteScattered(std::size_t bytes) {
        const std::size_t before = scattered();
        scattered_.store(std::max(bytes, before - before / 32), std::memory_order_relaxed);
    }
    std::size_t scattered() const { return scattered_.load(std::memory_order_relaxed); }

    /**
        Bytes that can be allocated; only up to the redline, as long as it has not been reached, or to half of what can be
        allocated if that is more: a program that lives close to its redline would do little but collect.
     */
    std::size_t room(const Usage& usage) const {
        const std::size_t used = usage.live + usage.overhead;
        std::size_t ceiling = fixed_ > 0 ? fixed_ : usage.limits.ceiling();
        if constexpr (!os::cooperative) {
            const std::size_t free = ceiling - std::min(ceiling, used);
            const std::size_t lost = std::max(scattered(), usage.live / 8);
            ceiling -= std::min(free - free / 8, lost);
        }
        if (used < usage.limits.warn()) {
            const bool bounded = !os::cooperative && usage.limits.ceiling() != heap::Limits::none;
            const std::size_t half = bounded ? used + (ceiling - std::min(ceiling, used)) / 2 : 0;
            ceiling = std::min(ceiling, std::max(usage.limits.warn(), half));
        }
        return ceiling > used ? ceiling - used : 0;
    }

    std::size_t young() const { return young_; }

    /** Any thread. */
    void setCache(std::size_t bytes) { cache_.store(bytes, std::memory_order_relaxed); }
    std::size_t cache() const { return cache_.load(std::memory_order_relaxed); }

private:
    static constexpr double mostMinor = 1024;  // young budgets, where the allowance is that large
    static constexpr double mostFreeing = 128; // pause budgets that managers may take to free, 51 ms by default
    static constexpr unsigned mostWaits = 5;   // after which threads get no less: 32 KiB of a young budget of 8 MiB

    // Plain fields are set by open, before there are other threads.
    std::size_t young_ = 0;
    os::Shared<std::size_t> minor_{0}; // bytes until a minor collection; a number: orders nothing
    std::size_t least_ = 0;
    unsigned percent_ = 10;
    std::uint64_t pauseBudget_ = 0;
    std::size_t fixed_ = 0;
    os::Shared<std::size_t> cache_{std::size_t{1} << 20}; // a number: orders nothing
    unsigned growth_ = 100;
    unsigned extra_ = 50;
    os::Shared<std::size_t> scattered_{0}; // bytes that are free but of no use; a number: orders nothing
    os::Shared<std::size_t> freeable_{heap::Limits::none / 2}; // a number: orders nothing
};

} // namespace mpr::gc
