// SPDX-License-Identifier: MIT
/*
    limits.hpp - The redline, the hard limit and the reserve: arithmetic only. Who is told, and what is done about it,
    is gc/depletion.hpp.

    Memory that the program says it keeps outside (mprAddMemoryPressure) counts as committed, but cannot be refused.

    Invariant: committed <= maximum whenever a maximum is set above what was committed then. Only the holder of a
    privilege (the notifier, the pruners) may commit the last `reserve` bytes below it.
    Not synchronised: the heap's lock is held.
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "mpr/os/check.hpp"
#include "mpr/os/target.hpp"

namespace mpr::heap {

class Limits {
public:
    static constexpr std::size_t none = ~std::size_t{0};

    void set(std::size_t warn, std::size_t maximum) {
        if constexpr (os::hasPages) {
            asked_ = warn;
            warn = std::min<std::size_t>(warn, moved_);
        }
        warn_ = warn;
        maximum_ = maximum;
        ceiling_ =
            maximum == none ? none : maximum - std::min(std::max(maximum / 32, std::size_t{64 * 1024}), maximum / 4);
        above_ = false;
        warned_ = false;
        commit(0);
    }

    bool allows(std::size_t bytes, bool privileged) const {
        const std::size_t ceiling = privileged ? maximum_ : ceiling_;
        const std::size_t used = counted();
        return used <= ceiling && bytes <= ceiling - used;
    }

    void commit(std::size_t bytes) {
        MPR_ASSERT(bytes <= none - committed_);
        committed_ += bytes;
        crosses();
    }

    /** Whether ordinary allocation may commit next to nothing more. */
    bool isFull() const { return counted() >= ceiling_ - ceiling_ / 64; }

    /** Commit bytes, if they are allowed. They are few enough not to overflow. Call crosses() next. */
    bool take(std::size_t bytes, bool privileged) {
        const std::size_t after = committed_ + bytes;
        if (after > (privileged ? maximum_ : ceiling_)) {
            return false;
        }
        committed_ = after;
        return true;
    }

    /** Note that the redline has been crossed, if it has just been. */
    bool crosses() {
        if (counted() <= warn_ || above_) {
            return false;
        }
        above_ = true;
        warned_ = true;
        ++crossings_;
        return true;
    }

    void uncommit(std::size_t bytes) {
        MPR_ASSERT(bytes <= committed_);
        peak_ = peak();
        committed_ -= bytes;
        falls();
    }

    /** Have the redline where it was set, or lower, as something outside moves it. @param warn none: where it was set. */
    void moveRedline(std::size_t warn) {
        if constexpr (os::hasPages) {
            moved_ = warn;
            warn_ = std::min<std::size_t>(asked_, moved_);
            falls();
            crosses();
        }
    }

    /** Set what is kept outside. Call crosses() next. */
    void setOutside(std::size_t bytes) {
        if constexpr (os::hasPages) {
            outside_ = bytes;
            falls();
        }
    }
    std::size_t outside() const { return outside_; }

    /** Whether the redline has been crossed and nobody has been told yet. */
    bool warned() const { return warned_; }
    void setWarned(bool on) { warned_ = on && above_; }

    std::size_t committed() const { return committed_; }
    /** What counts against the limits. */
    std::size_t counted() const {
        if constexpr (!os::hasPages) {
            return committed_;
        }
        const std::size_t sum = committed_ + outside_;
        return sum < committed_ ? none : sum;
    }
    std::size_t peak() const { return std::max(peak_, committed_); }
    std::size_t warn() const { return warn_; }
    std::size_t maximum() const { return maximum_; }
    /** What ordinary allocation may commit in all. */
    std::size_t ceiling() const { return ceiling_; }
    std::size_t crossings() const { return crossings_; }

private:
    template <int>
    struct Nothing { // each of its kind, so that none of them takes room
        constexpr Nothing(std::size_t = 0) {}
        constexpr operator std::size_t() const { return 0; }
    };

    void falls() {
        if (above_ && counted() <= warn_ - warn_ / 16) {
            above_ = false;
            warned_ = false;
        }
    }

    std::size_t warn_ = none;
    [[no_unique_address]] std::conditional_t<os::hasPages, std::size_t, Nothing<1>> asked_{none}; // by the program
    [[no_unique_address]] std::conditional_t<os::hasPages, std::size_t, Nothing<2>> moved_{none};
    std::size_t maximum_ = none;
    std::size_t ceiling_ = none; // the maximum less the reserve
    std::size_t committed_ = 0;
    [[no_unique_address]] std::conditional_t<os::hasPages, std::size_t, Nothing<0>> outside_{};
    std::size_t peak_ = 0; // before the last time that something was given back
    std::size_t crossings_ = 0;
    bool above_ = false;
    bool warned_ = false;
};

} // namespace mpr::heap
