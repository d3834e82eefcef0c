// SPDX-License-Identifier: MIT
/*
    limits.hpp - The redline, the hard limit, the reserve, and whether memory is well: arithmetic only. Who is told, and
    what is done about it, is gc/depletion.hpp.

    Memory that the program says it keeps outside (mprAddMemoryPressure) counts as committed, but cannot be refused.

    The hard limit is about what is committed. Whether memory is well is about what can still be allocated: committed
    memory that is free serves, however scattered, until an allocation was refused beside it. From then on it is called
    lost, and is believed in again by a quarter at each sweep of everything. In use is what is neither free nor lost.

        well    -> warned   more than the redline is in use after a sweep of everything, or because no collection comes;
                            or so much more (`wellPast`) that nobody waits for one
        any     -> full     an allocation of ordinary size was refused
        full    -> warned   a sixteenth below what ordinary allocation may have, or less, is in use
        warned  -> well     a sixteenth below the redline, or less, is in use

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

    enum class State : unsigned char { well, warned, full };

    /** @param free Committed bytes that are free, here and below; 0 where what is committed is in use. */
    void set(std::size_t warn, std::size_t maximum, std::size_t free = 0) {
        if constexpr (os::hasPages) {
            asked_ = warn;
            warn = std::min<std::size_t>(warn, moved_);
        }
        warn_ = warn;
        maximum_ = maximum;
        ceiling_ =
            maximum == none ? none : maximum - std::min(std::max(maximum / 32, std::size_t{64 * 1024}), maximum / 4);
        lost_ = 0;
        const State told = told_;
        change(State::well, State::well);
        if (!crosses(free)) {
            change(State::well, told);
        } // else of these limits nobody has been told
    }

    bool allows(std::size_t bytes, bool privileged) const {
        const std::size_t ceiling = privileged ? maximum_ : ceiling_;
        const std::size_t used = counted();
        return used <= ceiling && bytes <= ceiling - used;
    }

    /** Call crosses() next. */
    void commit(std::size_t bytes) {
        MPR_ASSERT(bytes <= none - committed_);
        committed_ += bytes;
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

    /** Note that the redline has been crossed, if it has just been. @param free Less what is about to be used. */
    [[gnu::always_inline]] bool crosses(std::size_t free = 0) {
        if (inUse(free) <= warn_) [[likely]] {
            return false;
        }
        return cross();
    }

    /** Bytes in use from which the redline counts as crossed, though part of them may be garbage; none: see crosses(). */
    std::size_t wellPast() const {
        const bool known = state_ == State::well && ceiling_ != none && warn_ < ceiling_;
        return known ? warn_ + (ceiling_ - warn_) / 2 : none;
    }

    /** A sweep has ended. @param all Of everything: nothing that is dead counts as in use. */
    void swept(std::size_t free, bool all) {
        if (all) {
            lost_ = lost_ - (lost_ + 3) / 4;
            crosses(free);
        }
        falls(free);
    }

    /** An allocation of so many bytes was refused, and its thread is told. Others may be served: it is too large to tell. */
    void refuse(std::size_t bytes, std::size_t free) {
        if (bytes <= std::min(ceiling_ / 16, std::size_t{1} << 20)) {
            change(State::full, State::full);
            lost_ = free;
        }
    }

    void uncommit(std::size_t bytes) {
        MPR_ASSERT(bytes <= committed_);
        peak_ = peak();
        committed_ -= bytes;
        falls(0);
    }

    /** Find that less is in use, if that is so. */
    void falls(std::size_t free) {
        if (state_ != State::well) [[unlikely]] {
            fall(inUse(free));
        }
    }

    /** Have the redline where it was set, or lower, as something outside moves it. @param warn none: where it was set. */
    void moveRedline(std::size_t warn, std::size_t free = 0) {
        if constexpr (os::hasPages) {
            moved_ = warn;
            warn_ = std::min<std::size_t>(asked_, moved_);
            falls(free);
            crosses(free);
        }
    }

    /** Set what is kept outside. */
    void setOutside(std::size_t bytes, std::size_t free = 0) {
        if constexpr (os::hasPages) {
            outside_ = bytes;
            falls(free);
            crosses(free);
        }
    }
    std::size_t outside() const { return outside_; }

    State state() const { return state_; }
    /** Whether the notifier has to be told of the state: that the redline was crossed, or that memory is well again. */
    bool hasNews() const { return hasNews_; }
    /** hasNews(), once: somebody tells. */
    bool takeNews() {
        const bool had = hasNews_;
        hasNews_ = false;
        if (had) [[unlikely]] {
            told_ = state_;
        }
        return had;
    }

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

    std::size_t inUse(std::size_t free) const {
        MPR_ASSERT(free <= committed_);
        return os::hasPages ? counted() - free + std::min<std::size_t>(free, lost_) : committed_;
    }

    [[gnu::noinline]] bool cross() {
        const bool first = state_ == State::well;
        if (first) {
            change(State::warned, told_);
            crossings_ += hasNews_; // else nobody knows that it was well
        }
        return first;
    }

    [[gnu::noinline]] void fall(std::size_t used) {
        if (state_ == State::full && used <= ceiling_ - ceiling_ / 16) {
            change(State::warned, told_);
        }
        if (state_ == State::warned && used <= warn_ - warn_ / 16) {
            change(State::well, told_);
        }
    }

    [[gnu::noinline]] void change(State state, State told) {
        const bool untold = newsOfCrossing();
        state_ = state;
        told_ = told;
        hasNews_ = state != told && (state == State::well || told == State::well);
        crossings_ -= untold && !newsOfCrossing() && crossings_ > 0; // nobody will hear of it
    }

    bool newsOfCrossing() const { return hasNews_ && state_ != State::well; }

    std::size_t warn_ = none;
    [[no_unique_address]] std::conditional_t<os::hasPages, std::size_t, Nothing<1>> asked_{none}; // by the program
    [[no_unique_address]] std::conditional_t<os::hasPages, std::size_t, Nothing<2>> moved_{none};
    std::size_t maximum_ = none;
    std::size_t ceiling_ = none; // the maximum less the reserve
    std::size_t committed_ = 0;
    [[no_unique_address]] std::conditional_t<os::hasPages, std::size_t, Nothing<0>> outside_{};
    std::size_t peak_ = 0; // before the last time that something was given back
    std::size_t crossings_ = 0;
    [[no_unique_address]] std::conditional_t<os::hasPages, std::size_t, Nothing<3>> lost_{};
    State state_ = State::well;
    State told_ = State::well; // to the notifier
    bool hasNews_ = false;     // the two differ, and are not warned and full; kept, since to derive it costs each free
};

} // namespace mpr::heap
