// SPDX-License-Identifier: MIT
/*
    giving_back.cpp - Free memory goes back to the system.
 */
#include "mpr/gc/giving_back.hpp"

namespace mpr::gc {

void GivingBack::freedLarge() {
    if (heap_.retiredBytes() > cache()) {
        asked_.store(true, std::memory_order_release);
        cycle_.ring();
    }
}

void GivingBack::swept(bool forced) {
    cycle_.assertOnDuty();
    if (cycle_.standsIn()) {
        left_ = left_ || os::now() - purgedAt_ >= decayTime; // it would take long
    } else if (forced || os::now() - purgedAt_ >= decayTime) {
        giveBack(forced);
    }
}

void GivingBack::catchUp() {
    cycle_.assertOnDuty();
    if (left_) {
        giveBack(false);
    }
    if (asked_.exchange(false, std::memory_order_acq_rel)) {
        heap_.purge(heap_.freeBytes());
    }
}

void GivingBack::giveBack(bool forced) {
    cycle_.assertOnDuty();
    left_ = false;
    if (forced) {
        heap_.purge(cache());
    } else if (const std::size_t free = heap_.freeBytes(); unneeded_ > cache() && free > unneeded_) {
        heap_.purge(free - unneeded_ + cache());
    } else if (heap_.retiredBytes() > cache()) {
        heap_.purge(free);
    }
    purgedAt_ = os::now();
    unneeded_ = ~std::size_t{0};
}

} // namespace mpr::gc
