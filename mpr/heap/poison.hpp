// SPDX-License-Identifier: MIT
/*
    poison.hpp - Free memory that shows who uses it: filled with a pattern, looked at before it is given out again, and
    under the address sanitizer forbidden.

    With option poison=1, the default in builds with MPR_CHECKED, or check=fields, every byte of the heap that is committed and free is
    `pattern`, except the links of holes. Threads then have no quick lists, and each allocation takes the slow path.
    What collections find dead is filled when it is given back, after the last MPR_MANAGE_FREE. Small blocks that were
    freed by hand rest in the quarantine first.
 */
#pragma once

#include <cstddef>

#include "mpr/heap/granule.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define MPR_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MPR_ADDRESS_SANITIZER 1
#endif
#endif

/* On functions that use free memory: under the address sanitizer neither checked nor expanded where it is called. */
#ifdef MPR_ADDRESS_SANITIZER
#define MPR_USES_FREE_MEMORY [[gnu::no_sanitize_address, gnu::noinline]]
#else
#define MPR_USES_FREE_MEMORY
#endif

namespace mpr::heap::poison {

inline constexpr Byte pattern = 0xDB;

/** Fill granules that become free. */
void fill(void* memory, std::size_t bytes);
/** The first word that is not the pattern any more, or nullptr. */
const void* firstChanged(const void* memory, std::size_t bytes);
/** Memory may be used again, or is no longer the heap's. */
void allow(void* memory, std::size_t bytes);

} // namespace mpr::heap::poison

namespace mpr::heap {

/** Small blocks that were freed by hand; the oldest leaves first. They are 7D in the map and count as free. */
class Quarantine {
public:
    static constexpr unsigned places =
        256; // for tests: long enough for the next uses of a block, and no memory to speak of

    /** Add a block. @return The block that has to leave for it, or nullptr. */
    void* add(void* block) {
        void*& place = blocks_[next_++ % places];
        void* oldest = place;
        place = block;
        return oldest;
    }
    /** Take any block. @return nullptr when there is none. */
    void* take() {
        for (void*& place : blocks_) {
            if (void* block = place) {
                place = nullptr;
                return block;
            }
        }
        return nullptr;
    }

private:
    void* blocks_[places] = {};
    unsigned next_ = 0;
};

/** Where nothing is ever filled. */
struct NoQuarantine {
    static void* add(void*) { return nullptr; }
    static void* take() { return nullptr; }
};

} // namespace mpr::heap
