// SPDX-License-Identifier: MIT
/*
    trigger.hpp - What was taken since the last collection began, and at how much of it threads are called: arithmetic only.

    First by the budget. A budget is spent once, since the collection that this starts sets the next when it has swept.
    Until then memory may fill without growing, so the trigger is where the redline is well passed (Limits::wellPast).

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
    /** @return Whether somebody has to be called: spend, or a new trigger. */
    [[gnu::always_inline]] bool take(std::size_t granules) {
        since_ += granules;
        return since_ >= at_;
    }
    void giveBack(std::size_t granules) { since_ -= std::min(since_, granules); }

    /** Set the budget. What has been taken since the collection began counts as spent of it. */
    void set(std::size_t budget) {
        at_ = budget_ = budget;
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
    /** The budget is spent, whatever is left of it: at the next take. */
    void hasten() { at_ = std::min(at_, since_); }
    /** So much less is left of the budget. */
    void advance(std::size_t granules) { at_ -= std::min(at_, granules); }
    /** Whether no collection has begun though budgets for two are spent, or would be with so much. */
    bool isLate(std::size_t granules) const { return since_ + granules >= 2 * budget_; }

    /** Call for the redline. @param at none: it is known to be passed, or there is none. */
    void watch(std::size_t at) {
        at_ = at;
        for_ = For::redline;
    }

    /** A collection begins. A budget that is not spent stays until it has swept; a redline is not watched for until then. */
    void begin() {
        since_ = 0;
        spent_ = false;
        if (for_ == For::redline) {
            at_ = none;
            for_ = For::nothing;
        }
    }

private:
    std::size_t since_ = 0;
    std::size_t at_ = none; // of since_
    std::size_t budget_ = 0;
    For for_ = For::nothing;
    bool spent_ = false; // the budget is, and nobody has been told
};

} // namespace mpr::heap
