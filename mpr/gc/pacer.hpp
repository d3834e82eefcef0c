/*
    pacer.hpp - When to collect next. Arithmetic only.

    The next collection starts after an allocation of `growth` percent of the live size, at least the young budget. Near
    a limit it starts sooner, so that half of the room that is left stays for what is allocated until threads yield.
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
    void open(const heap::Options& options, std::size_t privateCache, std::size_t fixedHeap) {
        growth_ = options.growth;
        young_ = options.young;
        if (young_ == 0) {
            // Some private caches' worth: a rendezvous costs tens of microseconds, so a few thousand blocks should share
            // one; beyond that a larger budget only costs memory.
            young_ = std::clamp(8 * privateCache, std::size_t{1} << 20, std::size_t{8} << 20);
        }
        if (fixedHeap > 0) {
            young_ = std::min(young_, fixedHeap / 4);
        }
        least_ = std::max(young_ / 16, std::size_t{256});
        fixed_ = fixedHeap;
    }

    /**
        Bytes of allocation until the next collection. @param live Bytes in blocks. @param overhead Of regions.
        @param minor The next collection will be a minor one.
     */
    std::size_t trigger(std::size_t live, std::size_t overhead, const heap::Limits& limits, bool minor) const {
        const std::size_t budget = minor ? young_ : std::max(young_, live / 100 * growth_);
        return std::min(budget, std::max(room(live, overhead, limits) / 2, least_));
    }

    /** Bytes of allocation until threads wait for a sweep that has just begun. */
    std::size_t slack(std::size_t trigger, std::size_t live, std::size_t overhead, const heap::Limits& limits) const {
        return std::max(trigger, std::min(live / 8, room(live, overhead, limits) / 4));
    }

    /** Whether there is no room for the young budget twice: what minor collections leave behind has to go. */
    bool tight(std::size_t live, std::size_t overhead, const heap::Limits& limits) const {
        return room(live, overhead, limits) / 2 < young_;
    }

    std::size_t young() const { return young_; }

    /** Any thread. */
    void setCache(std::size_t bytes) { cache_.store(bytes, std::memory_order_relaxed); }
    std::size_t cache() const { return cache_.load(std::memory_order_relaxed); }

private:
    std::size_t room(std::size_t live, std::size_t overhead, const heap::Limits& limits) const {
        const std::size_t used = live + overhead;
        std::size_t ceiling = fixed_ > 0 ? fixed_ : limits.ceiling();
        if (used < limits.warn()) {
            ceiling = std::min(ceiling, limits.warn());
        }
        return ceiling > used ? ceiling - used : 0;
    }

    std::size_t young_ = 0;
    std::size_t least_ = 0;
    std::size_t fixed_ = 0;
    std::atomic<std::size_t> cache_{std::size_t{1} << 20};
    unsigned growth_ = 100;
};

} // namespace mpr::gc
