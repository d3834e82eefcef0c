// SPDX-License-Identifier: MIT
/*
    poison.hpp - Free memory that shows who uses it: filled with a pattern, looked at before it is given out again, and
    under the address sanitizer forbidden.

    With option poison=1, the default in builds with MPR_CHECKED, or check=fields, every byte of the heap that is committed and free is
    `pattern`, except the links of holes. Threads then have no quick lists, and each allocation takes the slow path.
    What collections find dead is filled when it is given back, after the last MPR_MANAGE_FREE. Small blocks, freed by
    hand or found dead, rest in the quarantine first, so that a late use of one meets neither another block nor a hole.
    Spans are no use then: one in which anything has died becomes ordinary memory.
 */
#pragma once

#include <cstddef>

#include "mpr/heap/granule.hpp"
#include "mpr/os/check.hpp"

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

/**
    Small blocks that are gone; the oldest leaves first. They are 7D in the map and count as free. All leave when memory is
    short, and those of before the last purge at a purge.
 */
class Quarantine {
public:
    static constexpr unsigned places = 16 * 1024;
    static constexpr unsigned least = 256; // that rest, however large: enough for the next uses of a block
    static constexpr std::size_t mostBytes = 1024 * 1024;

    /** Without memory nothing rests. */
    void open();
    void close();
    /** @return false when it cannot have a block. */
    bool add(void* block, std::size_t size) {
        if (!blocks_) {
            return false;
        }
        MPR_ASSERT(count() < places);
        blocks_[next_++ % places] = block;
        bytes_ += size;
        return true;
    }
    /** Whether the oldest has to leave. @param most Bytes that may rest. */
    bool isFull(std::size_t most) const { return count() == places || (count() > least && bytes_ > most); }
    /** The oldest block, which leaves; `size` is its own. */
    void* oldest() const { return count() > 0 ? blocks_[first_ % places] : nullptr; }
    void takeOldest(std::size_t size) {
        MPR_ASSERT(count() > 0 && bytes_ >= size);
        ++first_;
        bytes_ -= size;
    }
    /** How many have been here since the last call, or longer. */
    unsigned purge() {
        const unsigned old = purged_ - first_ <= count() ? purged_ - first_ : 0;
        purged_ = next_;
        return old;
    }
    unsigned count() const { return next_ - first_; }

private:
    void** blocks_ = nullptr; // a ring
    unsigned first_ = 0;      // these count on and on
    unsigned next_ = 0;
    unsigned purged_ = 0; // where the next one was at the last purge
    std::size_t bytes_ = 0;
};

/** Where nothing is ever filled. */
struct NoQuarantine {
    static void open() {}
    static void close() {}
    static bool add(void*, std::size_t) { return false; }
    static bool isFull(std::size_t) { return false; }
    static void* oldest() { return nullptr; }
    static void takeOldest(std::size_t) {}
    static unsigned purge() { return 0; }
    static unsigned count() { return 0; }
};

} // namespace mpr::heap
