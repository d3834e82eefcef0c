// SPDX-License-Identifier: MIT
/*
    spare.hpp - Nurseries that may be filled again: lists of them, and those that any thread may take.

    A nursery stands in a list by a link of its own, so nothing here allocates. A thread has lists of those that it may
    take first (AllocationContext); what it has not taken when the next collection comes is left to all.
 */
#pragma once

#include <utility>

#include "mpr/heap/nursery.hpp"
#include "mpr/heap/part.hpp"

namespace mpr::heap {

template <Nursery* Nursery::*link>
class NurseryList {
public:
    explicit operator bool() const { return first_ != nullptr; }
    void push(Nursery* nursery) { nursery->*link = std::exchange(first_, nursery); }
    /** The list is not empty. */
    Nursery* pop() {
        MPR_ASSERT(first_);
        return std::exchange(first_, first_->*link);
    }
    /** All of another list, which is empty then. */
    void take(NurseryList& other) {
        while (other) {
            push(other.pop());
        }
    }
    template <typename F>
    void removeIf(F&& isGone) {
        for (Nursery** at = &first_; *at;) {
            if (isGone(*at)) {
                *at = (*at)->*link;
            } else {
                at = &((*at)->*link);
            }
        }
    }

private:
    Nursery* first_ = nullptr;
};

/** Nothing in them is alive. */
using StaleNurseries = NurseryList<&Nursery::nextStale>;
/** Something is. Some here may be sparse no longer: see nursery.hpp. */
using SparseNurseries = NurseryList<&Nursery::nextSparse>;

class SpareNurseries : Part {
public:
    using Part::Part;

    /** Stale, and not taken again between two collections. */
    StaleNurseries& leftOver() {
        assertHeld();
        return leftOver_;
    }
    /** Sparse ones of a lane: at least half free, or lasting. */
    SparseNurseries& roomy(Lane lane) {
        assertHeld();
        return roomy_[static_cast<unsigned>(lane)];
    }
    bool hasRoomy(Lane lane) const {
        assertHeld();
        return static_cast<bool>(roomy_[static_cast<unsigned>(lane)]);
    }
    /** Others, which serve before the heap grows. */
    SparseNurseries& scanty(Lane lane) {
        assertHeld();
        return scanty_[static_cast<unsigned>(lane)];
    }

    /** What a thread has not taken of these, others may. */
    void leave(StaleNurseries& stale, SparseNurseries& sparse, Lane lane) {
        leftOver().take(stale);
        roomy(lane).take(sparse);
    }

    /** Those sparse ones are gone. A stale one is made a hole before its memory goes. */
    template <typename F>
    void removeSparseIf(F&& isGone) {
        assertHeld();
        for (unsigned lane = 0; lane < lanes; ++lane) {
            roomy_[lane].removeIf(isGone);
            scanty_[lane].removeIf(isGone);
        }
    }

private:
    StaleNurseries leftOver_;
    SparseNurseries roomy_[lanes];
    SparseNurseries scanty_[lanes];
};

} // namespace mpr::heap
