// SPDX-License-Identifier: MIT
/*
    large.hpp - Large regions whose block was freed: still listed, committed, ready for the next block of about their
    size. A few are remembered; others wait for a purge, which finds them in the heap's list of regions.
 */
#pragma once

#include <cstddef>
#include <utility>

#include "mpr/heap/part.hpp"
#include "mpr/heap/region.hpp"

namespace mpr::heap {

class RetiredRegions : Part {
public:
    using Part::Part;

    void add(Region* region) {
        assertHeld();
        MPR_ASSERT(region->isLarge());
        bytes_ += region->length;
        for (Region*& place : places_) {
            if (!place) {
                place = region;
                return;
            }
        }
    }

    /** One of `length` bytes, or up to a quarter more. @return nullptr: there is none. */
    Region* take(std::size_t length) {
        assertHeld();
        for (Region*& place : places_) {
            if (place && place->length >= length && place->length <= length + length / 4) {
                bytes_ -= place->length;
                return std::exchange(place, nullptr);
            }
        }
        return nullptr;
    }

    /** Its memory goes back to the system. */
    void remove(const Region* region) {
        assertHeld();
        bytes_ -= region->length;
        for (Region*& place : places_) {
            if (place == region) {
                place = nullptr;
            }
        }
    }

    /** Of all that were added, remembered or not. */
    std::size_t bytes() const {
        assertHeld();
        return bytes_;
    }

private:
    Region* places_[4] = {}; // null: free
    std::size_t bytes_ = 0;
};

} // namespace mpr::heap
