// SPDX-License-Identifier: MIT
/*
    lane.hpp - Which blocks are allocated side by side: by size, and by what has become of earlier blocks of that size.

    A span (span.hpp) in which one block survives costs as much as one in which half of them do; one without
    survivors costs nothing. So the few blocks that live should lie apart from the many that die. Of what is known when
    a block is made, its size says most about how long it will live (D. A. Barrett, B. G. Zorn, "Using Lifetime
    Predictors to Improve Memory Allocation Performance", PLDI 1993, who add the call site). In a service whose requests
    make thirty blocks that die and one that stays, this tripled the requests served.
*/
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "mpr/heap/granule.hpp"
#include "mpr/os/check.hpp"
#include "mpr/os/target.hpp"

namespace mpr::heap {

/**
    What an ordinary region is used for. Small blocks that live long would fragment the memory of larger ones. Kept
    apart, each sort leaves holes that its own kind can use again. An empty region may change its sort; a buffer serves
    both.
 */
enum class Sort : Byte { small, big };
inline constexpr unsigned sorts = os::hasPages ? 2 : 1;
/** Granules of the largest small block: 1 KiB on 64-bit. */
inline constexpr std::size_t greatestSmall = 64;
constexpr Sort sortOf(std::size_t granules) {
    return sorts == 1 || granules <= greatestSmall ? Sort::small : Sort::big;
}

/**
    A thread has an allocation context for each lane: small blocks that mostly die young, small ones that do not, others.
 */
enum class Lane : Byte { passing, lasting, big };
inline constexpr unsigned lanes = os::hasPages ? 3 : 1;
constexpr Sort sortOf(Lane lane) {
    return lanes > 1 && lane == Lane::big ? Sort::big : Sort::small;
}

/**
    What became of young blocks, by size, counted in a few spans after each collection.
    Invariant: lanes change only while all threads are stopped.
*/
class Lifetimes {
public:
    MPR_INLINE Lane laneOf(std::size_t n) const { return n > greatestSmall ? Lane::big : lanes_[n]; }

    /** The lanes of small sizes, by granules. */
    const Lane* table() const { return lanes_; }

    /** Whether to sample another span of this lane. Asking counts. */
    bool wants(Lane lane) {
        unsigned& left = samples_[static_cast<unsigned>(lane)];
        return left > 0 && left-- > 0;
    }
    void count(std::size_t n, bool lived) {
        if (n <= greatestSmall) {
            ++(lived ? lived_ : died_)[n];
        }
    }

    /**
        Decide by the counts, and halve them. One survivor in sixteen makes a size lasting; less than one in 64 makes it
        passing again. All threads are stopped.
    */
    void judge() {
        for (std::size_t n = 1; n <= greatestSmall; ++n) {
            const std::uint32_t all = lived_[n] + died_[n];
            if (all >= few) {
                lanes_[n] = lived_[n] * 16 >= all ? Lane::lasting : lived_[n] * 64 < all ? Lane::passing : lanes_[n];
            }
            lived_[n] /= 2;
            died_[n] /= 2;
        }
        std::fill_n(samples_, lanes > 1 ? lanes - 1 : lanes, samples); // large blocks have one lane anyway
        check();
    }
    /** Every small size has a lane of small blocks. */
    void check() const {
        if constexpr (os::checked) {
            for (const Lane lane : lanes_) {
                MPR_ASSERT(lane == Lane::passing || lane == Lane::lasting);
            }
        }
    }

private:
    static constexpr std::uint32_t few = 16; // blocks, of which one survivor decides
    static constexpr unsigned samples = 3;   // spans; sampling all took 11 % of `work_mpr mixed`

    Lane lanes_[greatestSmall + 1] = {};
    std::uint32_t lived_[greatestSmall + 1] = {};
    std::uint32_t died_[greatestSmall + 1] = {};
    unsigned samples_[lanes] = {};
};

/** For targets with one lane. */
struct NoLifetimes {
    static Lane laneOf(std::size_t) { return Lane::passing; }
    static bool wants(Lane) { return false; }
    static void count(std::size_t, bool) {}
    static void judge() {}
};

} // namespace mpr::heap
