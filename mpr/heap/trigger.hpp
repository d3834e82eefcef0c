// SPDX-License-Identifier: MIT
/*
    trigger.hpp - What was taken since the last collection began, and at how much of it threads are called: arithmetic only.

    First by the budget, or by a part of it. A budget is spent once, since the collection that this starts sets the next
    when it has swept. Until then memory may fill without growing, so the trigger is where the redline is well passed
    (Limits::wellPast). What the program says it keeps outside of the heap counts as spent, but not as taken.

    All are granules. Not synchronised: the heap's lock is held.
 */
#pragma once

#include <algorithm>
#include <cstddef>

namespace mpr::heap {

class Trigger {
public:
    static constexpr std::size_t none = ~std::size_t{0};

    /** What threads are called for: a budget that is spent, or the redline. */
    enum class For : unsigned char { nothing, budget, redline };
    For reason() const { return for_; }

    std::size_t since() const { return since_; }
    /** Of the budget: what was taken since the last collection began, and what was advanced. */
    std::size_t spent() const { return since_ + advanced_; }
    /** @return Whether somebody has to be called: spend, or a new trigger. */
    [[gnu::always_inline]] bool take(std::size_t granules) {
        since_ += granules;
        return since_ >= at_;
    }
    void giveBack(std::size_t granules) { since_ -= std::min(since_, granules); }

    /**
        Call at a part of the budget, or all of it, or while a sweep lasts at more. What was spent since the collection began
        counts.
     */
    void set(std::size_t part, std::size_t budget = 0) {
        at_ = part - std::min(part, advanced_);
        budget_ = std::max(part, budget);
        for_ = For::budget;
        spent_ = false;
    }
    void spend() {
        spent_ = spent_ || for_ == For::budget;
        watch(none);
    }
    bool takeSpent() {
        const bool was = spent_;
        spent_ = false;
        return was;
    }
    /** The budget is spent, whatever is left of it, if it has not been spent before: at the next take. */
    void hasten() {
        at_ = std::min(at_, since_);
        for_ = For::budget;
    }
    /** So much less is left of the budget. */
    void advance(std::size_t granules) {
        advanced_ += granules;
        at_ -= for_ == For::budget ? std::min(at_, granules) : 0;
    }
    /** Whether no collection has begun though budgets for two are spent, or would be with so much. */
    bool isLate(std::size_t granules) const { return since_ + granules >= 2 * budget_; }

    /** Call for the redline. @param at none: it is known to be passed, or there is none. */
    void watch(std::size_t at) {
        at_ = at;
        for_ = For::redline;
    }

    /** A collection begins. A budget that is not spent stays until it has swept; a redline is not watched for until then. */
    void begin() {
        since_ = advanced_ = 0;
        spent_ = false;
        if (for_ == For::redline) {
            at_ = none;
            for_ = For::nothing;
        }
    }

private:
    std::size_t since_ = 0;
    std::size_t advanced_ = 0; // spent, but not taken
    std::size_t at_ = none;    // of since_
    std::size_t budget_ = 0;
    For for_ = For::nothing;
    bool spent_ = false; // the budget is, and nobody has been told
};

} // namespace mpr::heap
