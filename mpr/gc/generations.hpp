// SPDX-License-Identifier: MIT
/*
    generations.hpp - Whether minor collections are worthwhile, and when a major one is due. Arithmetic only.

    A minor collection saves the marking of old blocks, except for old plain blocks, which it must trace again. It does
    so in address order and skips what is marked already, in a fraction of the time that reaching them one by one would
    take. A major collection marks while threads run, as far as it can, unless marking everything takes no longer than a
    pause may.
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
        majorAt_ = 4 * young;
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
    bool majorDue() const { return due_ || trial_; }
    /** Whether a major collection should mark while threads run, rather than in one pause. */
    bool concurrently() const { return trial_ || (enabled_ && !tight_ && blocks_ * perBlock_ > pauseBudget_); }
    /** Whether few of the old are plain. */
    bool mostlyBarrier() const { return plain_ <= blocks_ / 16; }
    /** Blocks that each pause traces again. */
    std::size_t plain() const { return plain_; }
    /** Whether a major one that is still marking should end in a pause now. */
    bool overdue() const { return tight_ || overdue_; }

    /**
        Marking has ended. @param everything The old were marked, too. @param whole All of it was marked in this pause.
        @param paused How long threads were stopped for it, in nanoseconds.
     */
    void marked(bool everything, bool whole, Marker::Reached reached, std::uint64_t paused) {
        if (whole && reached.blocks > fewBlocks) {
            perBlock_ = std::max(paused / reached.blocks, perBlock / 4);
        }
        blocks_ = (everything ? 0 : blocks_) + reached.blocks;
        plain_ = (everything ? 0 : plain_) + reached.plain;
    }

    /**
        The sweep has ended. @param live Bytes that live. @param room Bytes that may still be allocated.
        @param tight Memory is short: there is no room for a whole young budget.
     */
    void swept(bool everything, std::size_t live, std::size_t room, bool tight) {
        tight_ = tight;
        turn_.store(turn_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (everything) {
            // Each pause traces all old plain blocks again, including dead ones.
            const std::size_t least = plain_ > blocks_ / 2 ? young_ : 3 * young_;
            // Dead old blocks may take a quarter of the room until a major one begins, and another until it has to end.
            majorAt_ = live + std::min(std::max(least, live / 100 * growth_), room / 4);
            latestAt_ = majorAt_ + std::min(std::max(8 * young_, live / 2), room / 4);
        }
        MPR_ASSERT(plain_ <= blocks_ && majorAt_ <= latestAt_);
        due_ = live >= majorAt_ || tight;
        overdue_ = live >= latestAt_;
    }

private:
    static constexpr std::size_t fewBlocks = 1000; // a pause that reached fewer says little about the time per block
    static constexpr std::uint64_t perBlock = 40;  // nanoseconds to mark one, until it has been measured

    bool enabled_ = true; // these two are set before there are other threads
    bool trial_ = false;
    os::Shared<unsigned> turn_{0}; // whoever sets limits reads it, too; a number: orders nothing
    // All that follow are for who is on duty.
    bool due_ = false;
    bool overdue_ = false;
    bool tight_ = false;
    unsigned growth_ = 15;
    std::uint64_t perBlock_ = perBlock;
    std::size_t young_ = 0;
    std::size_t blocks_ = 0; // reached by the last collection that marked everything, or grown old since
    std::size_t plain_ = 0;  // plain ones among those
    std::uint64_t pauseBudget_ = 0;
    std::size_t majorAt_ = 0;
    std::size_t latestAt_ = ~std::size_t{0};
};

} // namespace mpr::gc
