// SPDX-License-Identifier: MIT
/*
    granule.hpp - The unit of the heap, and the sizes that follow from the target.

    A granule has the size of two pointers: 16 bytes on 64-bit, 8 on 32-bit. Every block and every hole is a whole
    number of granules. So a free granule has room for the two links of its queue, and every block is aligned.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/os/target.hpp"

namespace mpr::heap {

using Byte = std::uint8_t;

inline constexpr std::size_t granuleSize = 2 * sizeof(void*);
inline constexpr unsigned granuleShift = sizeof(void*) == 8 ? 4 : 3;
static_assert(granuleSize == std::size_t{1} << granuleShift);

/** Region sizes are powers of two. The default is what one page-table page maps on 64-bit, twice over. */
inline constexpr unsigned defaultRegionShift = sizeof(void*) == 8 ? 22 : 18;
inline constexpr unsigned leastRegionShift = 16;
inline constexpr unsigned greatestRegionShift = 26;

/** The most granules in a region, including one over a buffer: the greatest size that the map can express. */
inline constexpr std::size_t greatestGranules = (std::size_t{1} << os::granuleBits) - 1;

/** Bytes to granules, rounding up. The caller has checked that bytes is far from SIZE_MAX. */
constexpr std::size_t granulesFor(std::size_t bytes) {
    return (bytes + granuleSize - 1) >> granuleShift;
}

constexpr std::size_t roundUp(std::size_t value, std::size_t powerOfTwo) {
    return (value + powerOfTwo - 1) & ~(powerOfTwo - 1);
}

} // namespace mpr::heap
