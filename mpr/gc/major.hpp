// SPDX-License-Identifier: MIT
/*
    major.hpp - The state of the major collection: whether one is under way beside the threads, how far it has come, and
    whether somebody waits for one.

        none    -> tracing   start(): at the end of a minor collection's pause; the roots are reached
        tracing -> traced    marked(): nothing is left to mark but in the last pause; and back, should more have come
        traced  -> none      end(): in the last pause, which also ends one that is tracing
    A major collection that is not concurrent begins and ends in one pause: it uses count() and end() only.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "mpr/gc/on_duty.hpp"
#include "mpr/os/check.hpp"

namespace mpr::gc {

class Major {
public:
    using Number = std::atomic<std::uint32_t>;

    // ---- Any thread ----
    /** The number of the last major collection that has begun. */
    std::uint32_t begun() const { return begun_.load(std::memory_order_seq_cst); }
    const Number& marked() const { return marked_; }
    const Number& swept() const { return swept_; }
    /** The number of the last one that somebody asked for. */
    std::uint32_t forced() const { return forced_.load(std::memory_order_acquire); }
    /** Whether somebody asked for the one that has begun last. */
    bool isForced() const { return forced_.load(std::memory_order_relaxed) == now(); }
    /** Whether one that somebody waits for has not begun. */
    bool mustBegin() const { return forced_.load(std::memory_order_relaxed) == now() + 1; }

    // ---- On duty ----
    /** Whether old blocks are marked while threads run. */
    bool isTracing() const MPR_REQUIRES(onDuty) { return state_ != State::none; }
    /** Whether it has nothing left to mark. */
    bool isTraced() const MPR_REQUIRES(onDuty) { return state_ == State::traced; }
    /** Whether the next one has to begin and end in one pause. */
    bool isUrgent() const MPR_REQUIRES(onDuty) { return urgent_; }
    /** Whether minor collections follow one another so closely that it gets no work done, or far too little. */
    bool isStarved() const MPR_REQUIRES(onDuty) {
        return state_ == State::tracing && (passed_ >= mostPassed || owed_ >= mostOwed);
    }
    /** Nanoseconds of marking that it has not had beside the pauses of minor collections: its next slice's. */
    std::uint64_t owed() const MPR_REQUIRES(onDuty) { return owed_; }

    /** The next one has to begin: what an unfinished one has reached may have died since. */
    void force(bool urgent) MPR_REQUIRES(onDuty) {
        forced_.store(now() + 1, std::memory_order_release);
        urgent_ = urgent_ || urgent;
    }
    /** Count one that begins. */
    void count() MPR_REQUIRES(onDuty) { begun_.fetch_add(1, std::memory_order_seq_cst); }
    /** It continues beside the threads. @param rootsLeft Roots were left unmarked for want of mark stack. */
    void start(bool rootsLeft) MPR_REQUIRES(onDuty) {
        MPR_ASSERT(state_ == State::none);
        state_ = State::tracing;
        rootsLeft_ = rootsLeft;
        passed_ = 0;
        owed_ = 0;
    }
    /** Roots that were left are about to be marked. @return Whether there are any. */
    bool takeRootsLeft() MPR_REQUIRES(onDuty) { return std::exchange(rootsLeft_, false); }
    /** It has marked beside the threads. @param left More can be marked so. @param waits Blocks wait for a pause. */
    void advanced(bool left, bool waits) MPR_REQUIRES(onDuty) {
        MPR_ASSERT(state_ != State::none);
        state_ = left || waits || rootsLeft_ ? State::tracing : State::traced;
        if (left || state_ == State::traced) {
            passed_ = 0;
        }
    }
    void sliced() MPR_REQUIRES(onDuty) { passed_ = 0; }
    /** A minor collection has marked. */
    void passBy() MPR_REQUIRES(onDuty) { ++passed_; }
    /** Another collection's pause has lasted so many nanoseconds. */
    void heldUp(std::uint64_t took) MPR_REQUIRES(onDuty) { owed_ += took / share; }
    /** It has marked for so many nanoseconds. */
    void worked(std::uint64_t took) MPR_REQUIRES(onDuty) { owed_ -= std::min(owed_, took); }
    /** Its last pause has marked. */
    void end() MPR_REQUIRES(onDuty) {
        state_ = State::none;
        rootsLeft_ = false;
    }
    void countMarked() MPR_REQUIRES(onDuty) { marked_.store(now(), std::memory_order_release); }
    void countSwept() MPR_REQUIRES(onDuty) {
        urgent_ = urgent_ && mustBegin();
        swept_.store(now(), std::memory_order_release);
    }

private:
    enum class State : std::uint8_t { none, tracing, traced };
    static constexpr unsigned mostPassed = 4; // minor collections that may pass before it gets a slice
    // It gets an eighth of their pauses' time at least. Else it would get one step between two, however long they last.
    static constexpr std::uint64_t share = 8;
    static constexpr std::uint64_t mostOwed = 1'000'000; // nanoseconds

    std::uint32_t now() const { return begun_.load(std::memory_order_relaxed); }

    // Each store releases what a collection has done so far, and waiting acquires. Relaxed reads are on duty, or hints.
    Number begun_{0}, marked_{0}, swept_{0};
    Number forced_{~std::uint32_t{0}}; // at first the one before any
    State state_ MPR_GUARDED_BY(onDuty) = State::none;
    bool rootsLeft_ MPR_GUARDED_BY(onDuty) = false;
    bool urgent_ MPR_GUARDED_BY(onDuty) = false;
    unsigned passed_ MPR_GUARDED_BY(onDuty) = 0; // minor collections since it last marked anything
    std::uint64_t owed_ MPR_GUARDED_BY(onDuty) = 0;
};

} // namespace mpr::gc
