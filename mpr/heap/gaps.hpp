/*
    gaps.hpp - The gaps of a sparse nursery: noted as the dead are cleared from its map, put down in a row, taken one by one.

    The row stands in the largest gap itself, which is taken last, so it costs no memory. Its entries count granules from the
    nursery's begin. The first granule of a nursery is a fence, hence an end of 0 ends the row, and a home of 0 means none.
    What is freed by hand after that becomes a hole, never part of a gap: so the row stays true until the nursery is judged
    again, and its owner reads it without the lock.
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "mpr/heap/granule.hpp"
#include "mpr/os/os.hpp"

namespace mpr::heap {

/** Granules that are free between two blocks of a nursery. */
struct Gap {
    std::uint16_t begin, end;
    std::size_t size() const { return std::size_t{end} - begin; }
};

/** The gaps that are found in a nursery, in the order of their addresses. */
class Gaps {
public:
    /** Smaller ones serve nearly no block. */
    static constexpr std::size_t least = 2;

    /** What does not fit is left out. */
    void add(std::size_t begin, std::size_t end) {
        if (end >= begin + least && count_ < most) {
            found_[count_] = {static_cast<std::uint16_t>(begin), static_cast<std::uint16_t>(end)};
            home_ = found_[count_].size() > found_[home_].size() ? count_ : home_;
            ++count_;
        }
    }

    /** Put the row down, as far as its home has room for it. @param nursery Its begin. @return its home. */
    std::uint16_t settle(Byte* nursery) const {
        if (count_ == 0) {
            return 0;
        }
        const Gap home = found_[home_];
        auto* row = reinterpret_cast<Gap*>(nursery + (std::size_t{home.begin} << granuleShift));
        const std::size_t room = (home.size() << granuleShift) / sizeof(Gap) - 2; // the home itself and the end
        const std::size_t before = std::min<std::size_t>(home_, room);
        const std::size_t behind = std::min<std::size_t>(count_ - home_ - 1, room - before);
        row = std::copy_n(found_, before, row);
        row = std::copy_n(found_ + home_ + 1, behind, row);
        row[0] = home;
        row[1] = {};
        return home.begin;
    }

private:
    static constexpr unsigned most = 256;

    Gap found_[most];
    unsigned count_ = 0;
    unsigned home_ = 0;
};

/** A place in a row; or at its end, or in none. */
class GapRow {
public:
    GapRow() = default;
    /** @param nursery Its begin. */
    GapRow(const Byte* nursery, std::uint16_t home)
        : next_(home != 0 ? reinterpret_cast<const Gap*>(nursery + (std::size_t{home} << granuleShift)) : nullptr) {}

    explicit operator bool() const { return next_ != nullptr; }

    /** The next gap of n granules, among the first few: the others are passed over. @return an empty one when there is none. */
    Gap take(std::size_t n) {
        for (unsigned tries = 0; next_ && tries < 16; ++tries) {
            const Gap gap = *next_++;
            next_ = next_->end != 0 ? next_ : nullptr;
            if (gap.size() >= n) {
                return gap;
            }
        }
        return {};
    }

    /** The next one will be written soon. @param nursery Its begin. */
    void expect(Byte* nursery) const {
        if (next_) {
            Byte* gap = nursery + (std::size_t{next_->begin} << granuleShift);
            __builtin_prefetch(gap, 1);
            __builtin_prefetch(gap + os::cacheLine, 1);
        }
    }

private:
    const Gap* next_ = nullptr;
};

} // namespace mpr::heap
