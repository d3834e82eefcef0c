/*
    generations.hpp - Whether minor collections are worth while, and when a major one is due. Arithmetic only.

    A minor collection saves the marking of the old, except for old plain blocks, which it must trace again. Where those
    are most of the heap, or minor pauses turn out nearly as long as marking everything would be, every collection is full,
    as rare as the growth allows. This is judged anew after each full or major collection.
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "mpr/gc/marker.hpp"

namespace mpr::gc {

class Generations {
public:
    /** @param enabled A heap over a buffer has no use for them. */
    void open(bool enabled, std::size_t young, unsigned growth) {
        enabled_ = enabled;
        young_ = young;
        // Growth is what a heap may gain between two collections that mark everything; a major one runs beside the
        // threads, so that more of them are affordable, and what is allocated meanwhile comes on top.
        growth_ = std::max(growth * 2 / 5, 1u);
        majorAt_ = 4 * young;
    }

    /** For trials: try every scope by turns, whatever it gains. */
    void setTrial(bool on) { trial_ = on; }

    bool worthwhile() const {
        if (trial_) {
            return enabled_ && turn_ % 16 != 0;
        }
        return enabled_ && distrust_ == 0 && (plain_ <= fewPlain || plain_ * 2 <= blocks_);
    }
    /** Whether the next collection should be or start a major one. */
    bool majorDue() const { return due_ || trial_; }
    /** Whether that one should mark while threads run, rather than in one pause. */
    bool concurrently() const { return trial_ || (!tight_ && blocks_ - std::min(plain_, blocks_) > fewBlocks); }
    /** Whether a major one that is still marking should end in a pause now. */
    bool overdue() const { return tight_ || overdue_; }

    /** Marking has ended. @param everything Not only the young. @param paused How long threads stood for it. */
    void marked(bool everything, Marker::Reached reached, std::uint64_t paused) {
        if (everything) {
            blocks_ = reached.blocks;
            plain_ = reached.plain;
            distrust_ -= distrust_ > 0;
            return;
        }
        blocks_ += reached.blocks;
        plain_ += reached.plain;
        const std::size_t old = blocks_ - reached.blocks;
        if (paused > shortPause && paused > old * perBlock) {
            distrust_ = patience;
        }
    }

    /** The sweep has ended. @param live Bytes. @param tight Memory is short: no room for a whole young budget. */
    void swept(bool everything, std::size_t live, bool tight) {
        tight_ = tight;
        ++turn_;
        if (everything) {
            majorAt_ = live + std::max(3 * young_, live / 100 * growth_);
            latestAt_ = majorAt_ + std::max(8 * young_, live / 2);
        }
        due_ = live >= majorAt_ || tight;
        overdue_ = live >= latestAt_;
    }

private:
    static constexpr std::size_t fewPlain = 1000;
    static constexpr std::size_t fewBlocks = 10'000;
    static constexpr std::uint64_t shortPause = 500'000; // ns
    static constexpr std::uint64_t perBlock = 40;        // ns to mark one, roughly
    static constexpr unsigned patience = 8;              // full collections before minor ones are tried again

    bool enabled_ = true;
    bool trial_ = false;
    unsigned turn_ = 0;
    bool due_ = false;
    bool overdue_ = false;
    bool tight_ = false;
    unsigned distrust_ = 0;
    unsigned growth_ = 40;
    std::size_t young_ = 0;
    std::size_t blocks_ = 0; // reached by the last collection that marked everything, and grown old since
    std::size_t plain_ = 0;  // plain ones among them
    std::size_t majorAt_ = 0;
    std::size_t latestAt_ = ~std::size_t{0};
};

} // namespace mpr::gc
