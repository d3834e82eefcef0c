// SPDX-License-Identifier: MIT
/*
    place.hpp - A place in the heap: a granule of a region. And what stands there, or is about to.

    All of them are passed by value; a place takes two registers, as its members would. GCC for 32-bit Arm does worse in
    two cases, and code for bare metal has bounds. A function that is not inlined stores a place on entry, so a few that
    bare metal has take a region and a granule. Copies of more than two words go through memory even when they are
    inlined, so what bare metal does with holes takes a place and a size, not an extent.
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
