// SPDX-License-Identifier: MIT
/*
    suspicions.hpp - What check=fields, check=globals and check=stacks have in common: each looks for words that hold the
    address of a block about to be freed, and names each place once.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/gc/dying.hpp"
#include "mpr/gc/origins.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

/**
    The places of class Place that have been named: a table of so many, in memory of the system, since the heap is being
    checked. Used on duty; the duty's lock orders one such thread after another.
 */
template <class Place, std::size_t greatest>
class Suspicions {
public:
    /**
        Allow checks. Without this, or without memory for the table, nothing is checked.
        @param mask Which bits of a word may be an address, besides all of them.
     */
    void open(std::uintptr_t mask) {
        mask_ = mask;
        places_ = static_cast<Place*>(os::map(greatest * sizeof(Place), MPR_MAP_READ | MPR_MAP_WRITE));
    }

    void close() {
        if (places_) {
            os::release(places_, greatest * sizeof(Place));
        }
        places_ = nullptr;
        count_ = 0;
    }

    bool isOpen() const { return places_ != nullptr; }

    /** Note a place. @return Whether there was room: further ones are not named. */
    bool add(const Place& place) {
        if (count_ == greatest) {
            return false;
        }
        places_[count_++] = place;
        return true;
    }

    Place* begin() const { return places_; }
    Place* end() const { return places_ + count_; }

    /** The block about to be freed that a word leads to, or a null region. Threads are stopped. */
    heap::Place dyingAt(const heap::Heap& heap, const void* word) const { return gc::dyingAt(heap, word, mask_); }

private:
    std::uintptr_t mask_ = 0; // set before there are checks
    Place* places_ = nullptr;
    std::size_t count_ = 0;
};

/** Write a suspicion to the log, and where the block that is about to be freed was allocated. The caller holds no lock. */
inline void suspect(os::Message& message, heap::Place dying) {
    os::log(os::Level::warning, message);
    tellOrigin(dying.address());
    os::afterMistake();
}

} // namespace mpr::gc
