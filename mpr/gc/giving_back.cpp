// SPDX-License-Identifier: MIT
/*
    giving_back.cpp - Free memory goes back to the system.
 */
#include "mpr/gc/giving_back.hpp"

#include "mpr/gc/load_hooks.hpp"

namespace mpr::gc {

constinit os::Shared<const LoadHooks*> loadHooks{nullptr};

void GivingBack::freedLarge() {
    if (heap_.retiredBytes() > cache()) {
        asked_.store(true, std::memory_order_release);
        cycle_.ring();
    }
}

void GivingBack::memoryIsLow() {
    low_.store(true, std::memory_order_release);
    cycle_.request(Wish::full);
    cycle_.ring();
}

void GivingBack::swept(bool forced) {
    cycle_.assertOnDuty();
    if (const LoadHooks* hooks = loadHooks.load(std::memory_order_acquire)) {
        hooks->look();
    }
    forced = forced || (!cycle_.isMinor() && low_.load(std::memory_order_acquire));
    if (cycle_.standsIn()) {
        left_ = left_ || forced || os::now() - purgedAt_ >= decayTime; // it would take long
    } else if (forced || os::now() - purgedAt_ >= decayTime) {
        giveBack(forced);
    }
}

void GivingBack::catchUp() {
    cycle_.assertOnDuty();
    if (left_) {
        giveBack(low_.load(std::memory_order_acquire));
    }
    if (asked_.exchange(false, std::memory_order_acq_rel)) {
        heap_.purge(heap_.freeBytes());
    }
}

void GivingBack::giveBack(bool forced) {
    cycle_.assertOnDuty();
    left_ = false;
    if (forced) {
        low_.store(false, std::memory_order_relaxed); // who is short again asks again
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
