// SPDX-License-Identifier: MIT
/*
    usage.cpp - Figures that a walk of the regions gives, without a look into their maps.
 */
#include <algorithm>

#include "mpr/heap/heap.hpp"

namespace mpr::heap {

Heap::Usage Heap::usage() {
    os::Locked locked(lock_);
    Usage result;
    for (Region* region = regions_; region; region = region->next) {
        result.reserved += region->length;
        if (region->isLarge() && region->map().get(region->firstGranule) != 0) { // else its block is gone
            result.large += std::uint64_t{region->largeGranules} << granuleShift;
        }
    }
    return result;
}

void Heap::setOutside(std::size_t bytes, std::size_t added) {
    os::Locked locked(lock_);
    limits_.setOutside(bytes, freeBytesLocked());
    limits_.crosses(freeBytesLocked());
    haveTold();
    constexpr std::size_t spent = ~std::size_t{0};
    if (trigger_ == wellPast_) {
        trigger_ = wellPast_ = whenWellPast();
    } else if (trigger_ != spent) {
        trigger_ -= std::min(trigger_, added >> granuleShift);
        took(0);
    }
}

} // namespace mpr::heap
