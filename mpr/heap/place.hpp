// SPDX-License-Identifier: MIT
/*
    place.hpp - A place in the heap: a granule of a region. And what stands there, or is about to.

    They travel by value: a place takes the two registers that its members took. For 32-bit Arm, though, GCC 12 stores
    them when the function begins. So a few functions that bare metal has and does not inline take a region and a
    granule.
 */
#pragma once

#include <cstddef>

#include "mpr/heap/region.hpp"

namespace mpr::heap {

struct Place {
    Region* region;
    std::size_t granule;

    static Place of(Region* region, const void* address) { return {region, region->granuleOf(address)}; }

    /** The place n granules on, in the same region. */
    Place operator+(std::size_t n) const { return {region, granule + n}; }
    Place operator-(std::size_t n) const { return {region, granule - n}; }

    Byte* address() const { return region->address(granule); }
    /** Its byte in the map. */
    Byte* mapByte() const { return region->map().at(granule); }
    Byte head() const { return region->map().get(granule); }
    /** Whether n granules from here on lie where blocks may. */
    bool hasRoom(std::size_t n) const {
        return n > 0 && granule >= region->firstGranule && granule + n <= region->endGranule;
    }
};

/** Some granules in a row: a hole, say. */
struct Extent {
    Place at;
    std::size_t size;
};

/** A block that is to be made. */
struct NewBlock {
    std::size_t size; // granules
    Byte head;
};

} // namespace mpr::heap
