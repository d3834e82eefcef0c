// SPDX-License-Identifier: MIT
/*
    gone.hpp - Addresses of regions that were given up, mapped for as long as a thread may still be looking there.

    mprFree finds a region by an address before it knows whether a block begins there, and reads the region's map
    without the heap's lock. If the address is stale, the region may be given up in that very moment. So a region goes
    in two steps. Its memory goes back at once: whoever still looks there reads zeros, which are no block. Its addresses
    follow once all threads have been stopped, for no thread stops inside a call of the heap. If no collection comes,
    they follow when `places` more regions have gone, so that addresses do not pile up.

    Only the holder of the collector's duty may call this.
*/
#pragma once

#include <cstddef>

#include "mpr/os/os.hpp"

namespace mpr::heap {

class GoneRegions {
public:
    /**
        No thread can find the region any more. @param readable Bytes of it, whole pages, that those who found it may
        look at.
     */
    void add(void* region, std::size_t readable, std::size_t length) {
        if (readable < length) {
            os::release(static_cast<char*>(region) + readable, length - readable);
        }
        os::decommit(region, readable);
        if (count_ == places) {
            releaseFirst();
        }
        items_[(first_ + count_++) % places] = {region, readable};
    }

    /** Threads are stopped: nobody is looking at the regions that are here now. */
    void seal() { sealed_ = count_; }

    void releaseSealed() {
        while (sealed_ > 0) {
            releaseFirst();
        }
    }
    void releaseAll() {
        seal();
        releaseSealed();
    }

private:
    static constexpr unsigned places = 128; // half a gigabyte of addresses of ordinary regions, and no memory

    void releaseFirst() {
        os::release(items_[first_].pages, items_[first_].size);
        first_ = (first_ + 1) % places;
        --count_;
        sealed_ -= sealed_ > 0;
    }

    struct {
        void* pages;
        std::size_t size;
    } items_[places] = {}; // a ring
    unsigned first_ = 0;
    unsigned count_ = 0;
    unsigned sealed_ = 0; // so many, the oldest, may be released
};

/** A heap in a buffer gives nothing up. */
struct NoGoneRegions {
    void add(void*, std::size_t, std::size_t) {}
    void seal() {}
    void releaseSealed() {}
    void releaseAll() {}
};

} // namespace mpr::heap
