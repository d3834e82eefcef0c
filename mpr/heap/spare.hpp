// SPDX-License-Identifier: MIT
/*
    spare.hpp - Spans that may be filled again: lists of them, and those that any thread may take.

    A span stands in a list by a link of its own, so nothing here allocates. A thread has lists of those that it may
    take first (AllocationContext); what it has not taken when the next collection comes is left to all.
 */
#pragma once

#include <utility>

#include "mpr/heap/span.hpp"
#include "mpr/heap/part.hpp"

namespace mpr::heap {

template <Span* Span::*link>
class SpanList {
public:
    explicit operator bool() const { return first_ != nullptr; }
    void push(Span* span) { span->*link = std::exchange(first_, span); }
    /** The list is not empty. */
    Span* pop() {
        MPR_ASSERT(first_);
        return std::exchange(first_, first_->*link);
    }
    /** All of another list, which is empty then. */
    void take(SpanList& other) {
        while (other) {
            push(other.pop());
        }
    }
    template <typename F>
    void removeIf(F&& isGone) {
        for (Span** at = &first_; *at;) {
            if (isGone(*at)) {
                *at = (*at)->*link;
            } else {
                at = &((*at)->*link);
            }
        }
    }

private:
    Span* first_ = nullptr;
};

/** Nothing in them is alive. */
using StaleSpans = SpanList<&Span::nextStale>;
/** Something is. Some here may be sparse no longer: see span.hpp. */
using SparseSpans = SpanList<&Span::nextSparse>;

class SpareSpans : Part {
public:
    using Part::Part;

    /** Stale, and not taken again between two collections. */
    StaleSpans& leftOver() {
        assertHeld();
        return leftOver_;
    }
    /** Sparse ones of a lane: at least half free, or lasting. */
    SparseSpans& roomy(Lane lane) {
        assertHeld();
        return roomy_[static_cast<unsigned>(lane)];
    }
    bool hasRoomy(Lane lane) const {
        assertHeld();
        return static_cast<bool>(roomy_[static_cast<unsigned>(lane)]);
    }
    /** Others, which serve before the heap grows. */
    SparseSpans& scanty(Lane lane) {
        assertHeld();
        return scanty_[static_cast<unsigned>(lane)];
    }

    /** A thread has ended: others may take its spans. */
    void leave(StaleSpans& stale, SparseSpans& sparse, Lane lane) {
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
    StaleSpans leftOver_;
    SparseSpans roomy_[lanes];
    SparseSpans scanty_[lanes];
};

} // namespace mpr::heap
