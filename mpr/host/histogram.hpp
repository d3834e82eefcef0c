// SPDX-License-Identifier: MIT
/*
    histogram.hpp - Counts of times with two significant digits, which any thread adds to without a lock, and their form
    in files.

    Buckets, encoding and log are HdrHistogram's (G. Tene, 2012), so that its tools read them: its class for lowest
    value 1, two significant digits, encoding V2. The compressed form asks for zlib's format (RFC 1950), whose blocks
    may be stored as they are (RFC 1951, 3.2.4). So they are: runs of zeros are one number already, and this needs no
    zlib.
 */
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "mpr/os/target.hpp"

namespace mpr::host {

/** Its counts at some moment. */
class Histogram {
public:
    static constexpr unsigned digits = 2;
    static constexpr unsigned halfBits = 7;                      // of a bucket, which has at least 2 * 10^digits steps
    static constexpr std::uint64_t greatest = 3'600'000'000'000; // an hour in nanoseconds; longer counts as that
    static constexpr unsigned buckets = 35;
    static constexpr unsigned places = (buckets + 1) << halfBits;

    static constexpr unsigned placeOf(std::uint64_t value) {
        value = value < greatest ? value : greatest;
        constexpr std::uint64_t mask = (std::uint64_t{2} << halfBits) - 1;
        const auto bucket = static_cast<unsigned>(std::bit_width(value | mask)) - (halfBits + 1);
        return (bucket << halfBits) + static_cast<unsigned>(value >> bucket);
    }
    /** The greatest value of a place. */
    static constexpr std::uint64_t upperBound(unsigned place) {
        constexpr unsigned half = 1u << halfBits;
        const unsigned bucket = place < 2 * half ? 0 : (place >> halfBits) - 1;
        return ((std::uint64_t{place} - (bucket << halfBits) + 1) << bucket) - 1;
    }

    void record(std::uint64_t value) { counts_[placeOf(value)].fetch_add(1, std::memory_order_relaxed); }
    std::uint64_t count(unsigned place) const { return counts_[place].load(std::memory_order_relaxed); }
    /** @return The counts, which are zero afterwards. */
    std::uint64_t take(unsigned place) { return counts_[place].exchange(0, std::memory_order_relaxed); }

private:
    // Statistics: nothing is ordered by them.
    os::Counter counts_[places] = {};
};
static_assert(Histogram::placeOf(Histogram::greatest) < Histogram::places);
static_assert(Histogram::placeOf(255) == 255 && Histogram::placeOf(256) == 256 && Histogram::placeOf(257) == 256);
static_assert(Histogram::upperBound(255) == 255 && Histogram::upperBound(256) == 257);

/** Counts that were taken, in the form of a line of a log. */
class Encoded {
public:
    /** Begin anew. */
    void clear();
    /** Add the count of the next place. */
    void add(std::uint64_t count);
    /** All are added. @return The histogram as Base64 text. */
    const char* text();
    std::uint64_t greatest() const { return greatest_; }
    std::uint64_t total() const { return total_; }

private:
    static constexpr std::size_t headSize = 40; // of the uncompressed form
    static constexpr std::size_t longest = headSize + Histogram::places * 9;
    static constexpr std::size_t longestBlock = 65535;

    void put(std::int64_t number);
    void putZeros();
    void putNumber(unsigned char* to, std::uint64_t number, unsigned size);
    std::size_t wrap();

    unsigned char bytes_[longest];
    std::size_t length_;
    unsigned char wrapped_[longest + 8 + 2 + 4 + 5 * (longest / longestBlock + 1)];
    char text_[(sizeof(wrapped_) + 2) / 3 * 4 + 1];
    unsigned place_;
    std::int64_t zeros_;
    std::uint64_t greatest_, total_;
};

} // namespace mpr::host
