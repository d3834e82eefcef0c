// SPDX-License-Identifier: MIT
/*
    times.hpp - A distribution of times with bounded error and no lock.

    Buckets are logarithmic with sixteen linear steps per power of two, so a percentile is at most one sixteenth too
    high. All operations are relaxed: a summary is of some moment. Source: G. Tene, HdrHistogram (2012).
 */
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "mpr/os/target.hpp"
#include "mpr/stats.h"

namespace mpr::gc {

class Times {
public:
    /** Add a time in nanoseconds. Any thread. */
    void record(std::uint64_t time) {
        buckets_[os::distributions ? indexOf(time) : 0].fetch_add(1, std::memory_order_relaxed);
        total_.fetch_add(time, std::memory_order_relaxed);
        std::uint64_t seen = greatest_.load(std::memory_order_relaxed);
        while (time > seen && !greatest_.compare_exchange_weak(seen, time, std::memory_order_relaxed)) {}
    }

    MprTimes summary() const {
        MprTimes result{};
        for (const auto& bucket : buckets_) {
            result.count += bucket.load(std::memory_order_relaxed);
        }
        result.total = total_.load(std::memory_order_relaxed);
        result.max = greatest_.load(std::memory_order_relaxed);
        if constexpr (!os::distributions) {
            result.p50 = result.p99 = result.p999 = result.max;
            return result;
        }
        result.p50 = percentile(result, 500);
        result.p99 = percentile(result, 990);
        result.p999 = percentile(result, 999);
        return result;
    }

private:
    static constexpr unsigned stepBits = 4;
    static constexpr unsigned steps = 1u << stepBits;
    static constexpr unsigned logs = 40; // up to 18 minutes; longer counts as that
    static constexpr unsigned count = (logs - stepBits + 1) * steps;

    static unsigned indexOf(std::uint64_t time) {
        if (time < steps) {
            return static_cast<unsigned>(time);
        }
        const auto log = static_cast<unsigned>(std::bit_width(time)) - 1;
        const unsigned index =
            (log - stepBits + 1) * steps + (static_cast<unsigned>(time >> (log - stepBits)) & (steps - 1));
        return index < count ? index : count - 1;
    }
    static std::uint64_t upperBound(unsigned index) {
        if (index < steps) {
            return index;
        }
        const unsigned shift = index / steps - 1;
        return ((std::uint64_t{index % steps + steps} + 1) << shift) - 1;
    }
    std::uint64_t percentile(const MprTimes& all, std::uint64_t perMille) const {
        const std::uint64_t rank = (all.count * perMille + 999) / 1000;
        std::uint64_t seen = 0;
        for (unsigned index = 0; index < count; ++index) {
            seen += buckets_[index].load(std::memory_order_relaxed);
            if (seen >= rank && seen > 0) {
                return upperBound(index) < all.max ? upperBound(index) : all.max;
            }
        }
        return all.max;
    }

    // Statistics: nothing is ordered by them.
    os::Shared<std::uint32_t> buckets_[os::distributions ? count : 1] = {};
    os::TimeSum total_{0};
    os::TimeSum greatest_{0};
};

} // namespace mpr::gc
