// SPDX-License-Identifier: MIT
/*
    wheel.hpp - Events that wait for their time: a hierarchical timing wheel.

    Source: G. Varghese, T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 7; the choice of the level
    by the highest digit in which two times differ, and the bitmaps, as in W. Ahern's timeout.c (2013).

    Time is a number of milliseconds, written in digits of six bits. An event whose due time first differs from now in
    digit L stands on level L in the slot of that digit. Invariant (check): all slots in use on a level are later than
    now's digit there (on level 0: not before it). So the next slot is found by the lowest level in use and one
    find-first-set; when its time comes, its events are due (level 0) or move to lower levels, each at most `levels`
    times in its life.

    Insert and remove cost constant time and need no memory. Not synchronised.
 */
#pragma once

#include <bit>
#include <cstdint>

#include "mpr/os/check.hpp"
#include "mpr/task/event.hpp"

namespace mpr::task {

class Wheel {
public:
    static constexpr unsigned digit = 6;
    static constexpr unsigned levels = 7;
    static constexpr unsigned slots = 1u << digit;
    static constexpr std::uint64_t horizon = std::uint64_t{1} << (digit * levels); // 139 years

    /** The heads of the slots: references, in a block of their own. */
    struct Heads {
        Event* slot[levels * slots];
    };

    void open(Heads* heads, std::uint64_t now) {
        heads_ = heads;
        now_ = now;
        for (unsigned level = 0; level < levels; ++level) {
            used_[level] = 0;
        }
        for (Event*& tail : tails_) {
            tail = nullptr;
        }
    }
    Heads* heads() const { return heads_; }

    /** Insert an event. Its member `due` is not before now(), and less than the horizon after it. */
    void insert(Event* event) {
        const auto due = static_cast<std::uint64_t>(event->due);
        MPR_ASSERT(due >= now_ && (due ^ now_) < horizon);
        const unsigned level = static_cast<unsigned>(std::bit_width((due ^ now_) | 1) - 1) / digit;
        const unsigned at = static_cast<unsigned>(due >> (digit * level)) & (slots - 1);
        used_[level] |= std::uint64_t{1} << at;
        const unsigned slot = level * slots + at;
        event->put(static_cast<std::uint16_t>(slot));
        list(slot).append(event);
    }

    void remove(Event* event) {
        const unsigned slot = event->state().place;
        MPR_ASSERT(slot < levels * slots && (used_[slot / slots] >> slot % slots & 1) != 0 && heads_->slot[slot]);
        list(slot).remove(event);
        if (!heads_->slot[slot]) {
            used_[slot / slots] &= ~(std::uint64_t{1} << (slot % slots));
        }
    }

    /** Call take(event), which may remove it, for each event. */
    template <class Take>
    void forEach(Take take) {
        for (Event* first : heads_->slot) {
            for (Event* event = first; event;) {
                Event* next = event->next;
                take(*event);
                event = next;
            }
        }
    }

    std::uint64_t now() const { return now_; }

    /** The time at which to look again: no event is due before it. ~0 when there is no event. */
    std::uint64_t next() const {
        for (unsigned level = 0; level < levels; ++level) {
            if (used_[level] != 0) {
                return timeOf(level, static_cast<unsigned>(std::countr_zero(used_[level])));
            }
        }
        return ~std::uint64_t{0};
    }

    /** Advance to a time, or to the next event that is due before. @return That event, taken out, or nullptr. */
    Event* pop(std::uint64_t to) {
        for (;;) {
            const std::uint64_t time = next();
            if (time > to) {
                now_ = to > now_ ? to : now_;
                return nullptr;
            }
            MPR_ASSERT(time >= now_);
            now_ = time;
            check();
            unsigned level = 0;
            while (used_[level] == 0) {
                ++level;
            }
            const auto slot = level * slots + static_cast<unsigned>(std::countr_zero(used_[level]));
            if (level == 0) {
                Event* event = heads_->slot[slot];
                remove(event);
                return event;
            }
            while (Event* event = heads_->slot[slot]) {
                remove(event);
                insert(event);
            }
        }
    }

    void check() const {
        if constexpr (os::checked) {
            for (unsigned level = 0; level < levels; ++level) {
                const unsigned here = static_cast<unsigned>(now_ >> (digit * level)) & (slots - 1);
                const std::uint64_t passed = (std::uint64_t{1} << here) - 1;
                // The slot of a level whose time has just come is about to move down.
                MPR_ASSERT((used_[level] & passed) == 0);
                for (std::uint64_t used = used_[level]; used != 0; used &= used - 1) {
                    MPR_ASSERT(heads_->slot[level * slots + static_cast<unsigned>(std::countr_zero(used))]);
                }
            }
        }
    }

private:
    List list(unsigned slot) { return {heads_, &heads_->slot[slot], tails_[slot]}; }

    std::uint64_t timeOf(unsigned level, unsigned at) const {
        const unsigned shift = digit * level;
        return (now_ >> shift >> digit << digit | at) << shift;
    }

    Heads* heads_ = nullptr;
    std::uint64_t now_ = 0;
    std::uint64_t used_[levels] = {};
    Event* tails_[levels * slots] = {};
};

} // namespace mpr::task
