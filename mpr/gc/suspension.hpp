// SPDX-License-Identifier: MIT
/*
    suspension.hpp - Time that threads lose to the collector, and handlers that observe it: see mpr/suspend.h.

    A Suspension stands on the stack of a thread that stops. It splits the time from its beginning to its end without a
    gap: at each change of cause the time since the last goes to the cause before. A thread that stands still does not
    know when the world is stopped, which another thread may do. So that time is kept in one word for all: outside a
    pause the sum of all pauses, inside one that sum less the beginning, so that the sum up to any moment takes one load
    and the clock. What the sum has grown by is marking; the rest is the thread's own cause.

    Nothing is measured while there is no handler: `observed` is the one load on the paths that stop.
 */
#pragma once

#include <cstdint>

#include "mpr/gc/cycle.hpp"
#include "mpr/gc/mutator.hpp"
#include "mpr/suspend.h"

namespace mpr::gc {

/** Handlers, and what they are told. It outlives runtimes, as handlers do. */
class Suspensions {
public:
    static constexpr unsigned places = 4;
    using Handler = const MprSuspensionHandler*;
    /** The handlers that heard of a beginning, by when they were added: one that came again has not. */
    struct Heard {
        std::uint32_t added[places] = {}; // 0: none
    };

    /** Whether anybody wants to know. */
    bool observed() const { return count_.load(std::memory_order_relaxed) != 0; }
    int add(Handler handler);
    int remove(Handler handler);

    // ---- The world, reported by the thread that has stopped it ----
    /** The world has stopped. @param collects For a pause of the collector. */
    void worldStops(bool collects) MPR_REQUIRES(onDuty) {
        if (observed()) [[unlikely]] {
            begin(collects);
        }
    }
    /** The world goes on; a pause is not counted by Cycle yet. */
    void worldGoesOn(int generation) MPR_REQUIRES(onDuty) {
        if (begun_) [[unlikely]] { // not when the first handler came later
            end(generation);
        }
    }
    /** Nanoseconds in pauses up to a moment. */
    std::uint64_t pausedUntil(std::uint64_t now) const {
        const std::uint64_t word = paused_.load(std::memory_order_acquire);
        return (word >> 1) + ((word & 1) != 0 ? now : 0);
    }
    /** The generation that the last pause has collected. */
    int generation() const { return generation_.load(std::memory_order_relaxed); }

    // ---- Threads ----
    void tellBlocks(Mutator& m, Heard& heard);
    void tellResumes(Mutator& m, const Heard& heard, const MprSuspension& suspension);
    void read(MprLostTime& lost) const { total_.read(lost); }
    /** A runtime begins. */
    void forget();

private:
    [[gnu::cold]] void begin(bool collects) MPR_REQUIRES(onDuty);
    [[gnu::cold]] void end(int generation) MPR_REQUIRES(onDuty);
    template <typename Call>
    void callEach(const Heard& heard, Call&& call);
    /** The place of a handler, or `places`. */
    unsigned find(Handler handler) const MPR_REQUIRES(changing_);
    template <typename Call>
    void begin(Heard& heard, Call&& call);

    os::Shared<unsigned> count_{0};
    os::Lock changing_;
    std::uint32_t additions_ MPR_GUARDED_BY(changing_) = 0;
    // Who calls writes `calling_` and then reads `added_`, who removes the other way round; so both are sequentially
    // consistent. A handler is stored before its number, and stays until its place is used again.
    os::Shared<Handler> handlers_[places] = {};
    os::Shared<std::uint32_t> added_[places] = {};
    os::Shared<unsigned> calling_[places] = {};
    os::TimeSum paused_{0}; // twice the sum, and 1 inside a pause; written by the thread that has stopped the world
    os::Shared<int> generation_{MPR_GENERATION_NONE};
    LostTime total_;
    Heard heard_ MPR_GUARDED_BY(onDuty);
    bool collects_ MPR_GUARDED_BY(onDuty) = false;
    bool begun_ MPR_GUARDED_BY(onDuty) = false;
};
extern constinit Suspensions suspensions;

/** The calling thread loses time from here on until the end of the scope, or until end(). */
class Suspension {
public:
    /** @param now The time, if the caller has looked. */
    Suspension(Mutator& m, const Cycle& cycle, Loss cause, std::uint64_t now = 0) : m_(m), cycle_(cycle) {
        if (suspensions.observed() && !m.suspended.in) [[unlikely]] {
            begin(cause, now);
        }
    }
    /** One that begins when start() is called. */
    Suspension(Mutator& m, const Cycle& cycle) : m_(m), cycle_(cycle) {}
    ~Suspension() {
        if (begun_) [[unlikely]] {
            end(os::now());
        }
    }
    Suspension(const Suspension&) = delete;
    Suspension& operator=(const Suspension&) = delete;

    void start(Loss cause) {
        if (suspensions.observed() && !m_.suspended.in) [[unlikely]] {
            begin(cause, 0);
        }
    }
    /** The thread goes on. */
    void endAt(std::uint64_t now) {
        if (begun_) [[unlikely]] {
            end(now);
        }
    }

    /** For a part of the calling thread's suspension, if it is in one, time is lost for another cause. */
    class Part {
    public:
        explicit Part(Loss cause) : whole_(attached->suspended.in) {
            if (whole_) [[unlikely]] {
                before_ = whole_->change(cause);
            }
        }
        ~Part() {
            if (whole_) [[unlikely]] {
                whole_->change(before_);
            }
        }
        Part(const Part&) = delete;
        Part& operator=(const Part&) = delete;

    private:
        Suspension* whole_;
        Loss before_{};
    };

private:
    [[gnu::cold]] void begin(Loss cause, std::uint64_t now);
    [[gnu::cold]] void end(std::uint64_t now);
    [[gnu::cold]] Loss change(Loss cause);
    void accountUntil(std::uint64_t now);

    Mutator& m_;
    const Cycle& cycle_;
    bool begun_ = false;
    // What follows is set when it has begun.
    Loss cause_;
    std::uint32_t pauses_;
    std::uint64_t since_, pausedSince_;
    MprSuspension record_;
    Suspensions::Heard heard_;
};

} // namespace mpr::gc
