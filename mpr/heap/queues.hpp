/*
    queues.hpp - Free queues: holes by size range, found in constant time.

    Source: M. Masmano, I. Ripoll, A. Crespo, J. Real, "TLSF: a New Dynamic Memory Allocator for Real-Time Systems"
    (ECRTS 2004): a first-level bitmap over powers of two and a second-level bitmap over sixteenths of each; a request is
    rounded up to the next range, so the first hole found there fits. Sizes below sixteen granules have a queue each.

    Invariant: a bit is set exactly when its queue is not empty, at both levels.
    Not synchronised: the heap's lock is held.
 */
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>

#include "mpr/heap/granule.hpp"
#include "mpr/os/target.hpp"

namespace mpr::heap {

/** The first granule of a hole while it stands in a queue. */
struct Hole {
    Hole* next;
    Hole* previous;
};
static_assert(sizeof(Hole) == granuleSize);

class FreeQueues {
public:
    void push(Hole* hole, std::size_t granules) {
        const Range r = rangeOf(granules);
        Hole*& front = queues_[r.first][r.second];
        hole->previous = nullptr;
        hole->next = front;
        if (front) {
            front->previous = hole;
        }
        front = hole;
        firstLevel_ |= 1u << r.first;
        secondLevel_[r.first] |= static_cast<std::uint16_t>(1u << r.second);
    }

    void remove(Hole* hole, std::size_t granules) {
        if (hole->next) {
            hole->next->previous = hole->previous;
        }
        if (hole->previous) {
            hole->previous->next = hole->next;
            return;
        }
        const Range r = rangeOf(granules);
        assert(queues_[r.first][r.second] == hole);
        queues_[r.first][r.second] = hole->next;
        if (!hole->next) {
            secondLevel_[r.first] &= static_cast<std::uint16_t>(~(1u << r.second));
            if (secondLevel_[r.first] == 0) {
                firstLevel_ &= ~(1u << r.first);
            }
        }
    }

    /** A hole of at least so many granules, from the lowest range in which all fit; nullptr when there is none. */
    Hole* find(std::size_t granules) const {
        if (granules >= seconds) {
            granules += (std::size_t{1} << (std::bit_width(granules) - 1 - secondBits)) - 1;
        }
        Range r = rangeOf(granules);
        if (r.first >= firsts) {
            return nullptr;
        }
        std::uint32_t usable = secondLevel_[r.first] & (~0u << r.second);
        if (usable == 0) {
            const std::uint32_t higher = firstLevel_ & (~1u << r.first);
            if (higher == 0) {
                return nullptr;
            }
            r.first = static_cast<unsigned>(std::countr_zero(higher));
            usable = secondLevel_[r.first];
        }
        return queues_[r.first][std::countr_zero(usable)];
    }

    /** The front hole of the highest range: within a sixteenth of the largest; nullptr when all are empty. */
    Hole* largest() const {
        if (firstLevel_ == 0) {
            return nullptr;
        }
        const auto first = static_cast<unsigned>(std::bit_width(firstLevel_)) - 1;
        return queues_[first][std::bit_width(static_cast<std::uint32_t>(secondLevel_[first])) - 1];
    }

    /** Call f(hole, least, greatest) for each hole, with the sizes its queue admits. For the verifier. */
    template <typename F>
    void forEach(F&& f) const {
        for (unsigned first = 0; first < firsts; ++first) {
            for (unsigned second = 0; second < seconds; ++second) {
                for (Hole* hole = queues_[first][second]; hole; hole = hole->next) {
                    f(hole, first, second);
                }
            }
        }
    }

    bool bitsAgree() const {
        for (unsigned first = 0; first < firsts; ++first) {
            for (unsigned second = 0; second < seconds; ++second) {
                if ((queues_[first][second] != nullptr) != ((secondLevel_[first] >> second & 1u) != 0)) {
                    return false;
                }
            }
            if ((secondLevel_[first] != 0) != ((firstLevel_ >> first & 1u) != 0)) {
                return false;
            }
        }
        return true;
    }

    static bool inRange(std::size_t granules, unsigned first, unsigned second) {
        const Range r = rangeOf(granules);
        return r.first == first && r.second == second;
    }

private:
    static constexpr unsigned secondBits = os::rangeBits;
    static constexpr unsigned seconds = 1u << secondBits;
    /** Enough for greatestGranules. */
    static constexpr unsigned firsts = os::granuleBits - secondBits + 1;

    struct Range {
        unsigned first, second;
    };

    static Range rangeOf(std::size_t granules) {
        if (granules < seconds) {
            return {0, static_cast<unsigned>(granules)};
        }
        const auto log = static_cast<unsigned>(std::bit_width(granules)) - 1;
        return {log - secondBits + 1, static_cast<unsigned>(granules >> (log - secondBits)) & (seconds - 1)};
    }

    std::uint32_t firstLevel_ = 0;
    std::uint16_t secondLevel_[firsts] = {};
    Hole* queues_[firsts][seconds] = {};
};

} // namespace mpr::heap
