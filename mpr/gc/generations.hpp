// SPDX-License-Identifier: MIT
/*
    generations.hpp - Whether minor collections are worthwhile, and when a major one is due. Arithmetic only.

    A minor collection saves the marking of old blocks, except for old plain blocks, which it must trace again. It does
    so in address order and skips what is marked already, in a fraction of the time that reaching them one by one would
    take. A major collection marks while threads run, as far as it can, unless marking everything takes no longer than a
    pause may. Where nearly all blocks are plain it can do little of that: it marks in slices, and its last pause traces all
    plain blocks once more. So there one long pause is half the work, and is preferred where it takes not much longer than
    the pause of a minor collection, which has to trace them, too.

    A major collection is due when old garbage takes its part of what garbage may take at all (Pacer::allowance). What was
    there when the last one had swept is not all alive: what has grown old while it marked was not looked at. Half of that
    counts as garbage.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/gc/marker.hpp"

namespace mpr::gc {

class Generations {
public:
    /** @param enabled false for a heap over a buffer, which has no use for generations. */
    void open(bool enabled, std::size_t young, unsigned growth, std::uint64_t pauseBudget) {
        pauseBudget_ = pauseBudget;
        enabled_ = enabled;
        young_ = young;
        // Growth is what a heap may gain between two collections that mark everything. A major one runs beside the
        // threads, so more of them are affordable, and what is allocated meanwhile comes on top.
        // With 15 instead of 30 percent `gc_mpr ring_scanned` has 300 MB resident instead of 337, in the same time.
        growth_ = std::max(growth * 3 / 20, 1u);
        majorAt_ = 2 * young; // nothing is known yet of what lives
    }

    /** For trials: use every scope in turn, whatever it gains. */
    void setTrial(bool on) { trial_ = on; }

    bool worthwhile() const {
        if (trial_) {
            return enabled_ && turn_.load(std::memory_order_relaxed) % 16 != 0;
        }
        return enabled_;
    }
    /** Whether the next collection should be a major one, or start one. */
    bool majorDue() const { return grown_ || tight_ || trial_; }
    /** Whether a major collection is due because much has grown old, however much memory is left. */
    bool hasGrown() const { return grown_ || trial_; }
    /** Whether a major collection should mark while threads run, rather than in one pause. */
    bool concurrently() const { return trial_ || (enabled_ && !tight_ && blocks_ * perBlock_ > longest()); }
    /** Whether few of the old are plain. */
    bool mostlyBarrier() const { return plain_ <= blocks_ / 16; }
    /** Whether nearly all are. */
    bool mostlyPlain() const { return blocks_ - plain_ <= blocks_ / 16; }
    /** Blocks that each pause traces again. */
    std::size_t plain() const { return plain_; }
    /** Whether a major one that is still marking should end in a pause now. */
    bool overdue() const { return tight_ || overdue_; }

    /**
        Marking has ended. @param everything The old were marked, too. @param whole All of it was marked in this pause.
        @param paused How long threads were stopped for it, in nanoseconds.
     */
    void marked(bool everything, bool whole, Marker::Reached reached, std::uint64_t paused) {
        blocks_ = (everything ? 0 : blocks_) + reached.blocks;
        plain_ = (everything ? 0 : plain_) + reached.plain;
        // Slices have traced all plain blocks once, and reached them.
        const bool sliced = everything && !whole && mostlyPlain();
        if ((whole || sliced) && reached.blocks > fewBlocks) {
            perBlock_ = std::max((whole ? paused : sliced_) / reached.blocks, perBlock / 4);
        }
        sliced_ = everything ? 0 : sliced_;
    }
    /** A slice has taken so many nanoseconds. */
    void sliced(std::uint64_t took) { sliced_ += took; }
    /** In a minor collection's pause tracing old plain blocks again has taken so many nanoseconds. */
    void retraced(std::uint64_t took) { retrace_ = took; }

    /** What the heap holds when a sweep has ended, in bytes. */
    struct Swept {
        std::size_t live;                          // and old garbage
        std::size_t room;                          // that may still be allocated
        std::size_t allowance;                     // that garbage may take at all
        bool tight;                                // memory is short: there is no room for a whole young budget
        std::size_t freeable = heap::Limits::none; // of garbage, before its managers take too long
    };
    /** The sweep has ended. @param tracing A major collection marks while threads run. */
    void swept(bool everything, const Swept& now, bool tracing) {
        tight_ = now.tight;
        turn_.store(turn_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (everything) {
            base_.store(now.live - std::min(now.live, (last_ - std::min(last_, begun_)) / 2),
                        std::memory_order_relaxed);
            // A heap that grows gains little by a collection, and is to have half as many of them until it has grown.
            const std::size_t eighths = last_ < now.live + now.live / 16 ? 6 : 3;
            // Each pause traces all old plain blocks again, including dead ones.
            const std::size_t most = plain_ > blocks_ / 2 ? young_ : 3 * young_;
            const std::size_t part = std::min({most, now.allowance / 8 * eighths, now.freeable});
            // Dead old blocks may take a quarter of the room until a major one begins, and another until it has to end.
            majorAt_ = now.live - grownBy(now.live) + std::min(std::max(part, now.live / 100 * growth_), now.room / 4);
            const std::size_t more = std::max(std::min(8 * young_, now.allowance / 2), now.live / 2);
            latestAt_ = majorAt_ + std::min(more, now.room / 4);
        }
        known_ = known_ || everything;
        if (!known_) {
            base_.store(now.live / 2, std::memory_order_relaxed);
            // Near a limit two young budgets may be more than there is.
            majorAt_ = std::min(majorAt_, now.live + now.room / 4);
        }
        if (!tracing || !wasTracing_) {
            begun_ = now.live;
        }
        if (!known_) {
            // The heap may be about to be built, and all of it live; but it may not grow without end before anything is known.
            const std::size_t begun = std::max(majorAt_, begun_);
            latestAt_ = begun < heap::Limits::none / 4 && young_ < heap::Limits::none / 32 ? 2 * begun + 8 * young_
                                                                                           : heap::Limits::none;
        }
        wasTracing_ = tracing;
        last_ = now.live;
        MPR_ASSERT(plain_ <= blocks_ && majorAt_ <= latestAt_);
        grown_ = now.live >= majorAt_;
        overdue_ = now.live >= latestAt_;
    }
    /** Bytes of what lives by now that may be old garbage. */
    std::size_t grownBy(std::size_t live) const { return live - std::min(live, base_.load(std::memory_order_relaxed)); }

private:
    static constexpr std::size_t fewBlocks = 1000; // a pause that reached fewer says little about the time per block
    static constexpr std::uint64_t perBlock = 40;  // nanoseconds to mark one, until it has been measured

    /** Nanoseconds that a pause may last in which everything is marked. */
    std::uint64_t longest() const {
        return mostlyPlain() ? std::clamp(2 * retrace_, pauseBudget_, mostPauses * pauseBudget_) : pauseBudget_;
    }

    /** Pause budgets: what the pause that marks a heap of plain blocks may take, 8 ms by default. */
    static constexpr std::uint64_t mostPauses = 20;

    bool enabled_ = true; // these two are set before there are other threads
    bool trial_ = false;
    os::Shared<unsigned> turn_{0};    // whoever sets limits reads it, too, as the next; numbers: they order nothing
    os::Shared<std::size_t> base_{0}; // bytes that lived after the last collection that marked everything, less garbage
    // All that follow are for who is on duty.
    bool grown_ = false;
    bool overdue_ = false;
    bool tight_ = false;
    unsigned growth_ = 15;
    std::uint64_t perBlock_ = perBlock;
    std::size_t young_ = 0;
    std::size_t blocks_ = 0; // reached by the last collection that marked everything, or grown old since
    std::size_t plain_ = 0;  // plain ones among those
    std::uint64_t pauseBudget_ = 0;
    std::uint64_t sliced_ = 0;  // nanoseconds in slices of the major collection that is under way
    std::uint64_t retrace_ = 0; // nanoseconds that the last minor collection has retraced
    bool wasTracing_ = false;
    bool known_ = false;    // some collection has marked everything
    std::size_t begun_ = 0; // living bytes when the major collection began that is under way, or of the last sweep
    std::size_t last_ = 0;  // of the last sweep
    std::size_t majorAt_ = 0;
    std::size_t latestAt_ = ~std::size_t{0};
};

} // namespace mpr::gc
