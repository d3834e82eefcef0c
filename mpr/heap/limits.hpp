// SPDX-License-Identifier: MIT
/*
    limits.hpp - The redline, the hard limit and the reserve: arithmetic only. Who is told, and what is done about it,
    is gc/depletion.hpp.

    Invariant: committed <= maximum whenever a maximum is set above what was committed then. Only the holder of a
    privilege (the notifier, the pruners) may commit the last `reserve` bytes below it.
    Not synchronised: the heap's lock is held.
 */
#pragma once

#include <algorithm>
#include <cstddef>

#include "mpr/os/check.hpp"

namespace mpr::heap {

class Limits {
public:
    static constexpr std::size_t none = ~std::size_t{0};

    void set(std::size_t warn, std::size_t maximum) {
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
        return committed_ <= ceiling && bytes <= ceiling - committed_;
    }

    void commit(std::size_t bytes) {
        MPR_ASSERT(bytes <= none - committed_);
        committed_ += bytes;
        crosses();
    }

    /** Whether ordinary allocation may commit next to nothing more. */
    bool isFull() const { return committed_ >= ceiling_ - ceiling_ / 64; }

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
        if (committed_ <= warn_ || above_) {
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
        if (above_ && committed_ <= warn_ - warn_ / 16) {
            above_ = false;
            warned_ = false;
        }
    }

    /** Whether the redline has been crossed and nobody has been told yet. */
    bool warned() const { return warned_; }
    void setWarned(bool on) { warned_ = on && above_; }

    std::size_t committed() const { return committed_; }
    std::size_t peak() const { return std::max(peak_, committed_); }
    std::size_t warn() const { return warn_; }
    std::size_t maximum() const { return maximum_; }
    /** What ordinary allocation may commit in all. */
    std::size_t ceiling() const { return ceiling_; }
    std::size_t crossings() const { return crossings_; }

private:
    std::size_t warn_ = none;
    std::size_t maximum_ = none;
    std::size_t ceiling_ = none; // the maximum less the reserve
    std::size_t committed_ = 0;
    std::size_t peak_ = 0; // before the last time that something was given back
    std::size_t crossings_ = 0;
    bool above_ = false;
    bool warned_ = false;
};

} // namespace mpr::heap
