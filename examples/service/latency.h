/* SPDX-License-Identifier: MIT */
/*
    latency.h - A distribution of times, in buckets no wider than one sixteenth of their values.
 */
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace service {

class Latency {
public:
    void add(std::uint64_t nanoseconds) {
        ++counts_[indexOf(nanoseconds)];
        ++count_;
        max_ = std::max(max_, nanoseconds);
    }

    void add(const Latency& other) {
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            counts_[i] += other.counts_[i];
        }
        count_ += other.count_;
        max_ = std::max(max_, other.max_);
    }

    /** @param share Of the times that are not above the value returned: 0.99 for p99. */
    std::uint64_t quantile(double share) const {
        auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen > wanted) {
                return std::min(highest(i), max_);
            }
        }
        return max_;
    }

    std::uint64_t count() const { return count_; }
    std::uint64_t max() const { return max_; }

private:
    static std::size_t indexOf(std::uint64_t value) {
        if (value < 16) {
            return static_cast<std::size_t>(value);
        }
        auto shift = static_cast<unsigned>(std::bit_width(value)) - 5;
        return (shift + 1) * 16 + static_cast<std::size_t>((value >> shift) & 15);
    }

    static std::uint64_t highest(std::size_t index) {
        if (index < 16) {
            return index;
        }
        std::size_t shift = index / 16 - 1;
        return ((std::uint64_t{17} + index % 16) << shift) - 1;
    }

    std::array<std::uint64_t, 61 * 16> counts_{};
    std::uint64_t count_ = 0;
    std::uint64_t max_ = 0;
};

} // namespace service
