/*
    queues.hpp - Free queues: holes by size range, found in constant time.

    Source: M. Masmano, I. Ripoll, A. Crespo, J. Real, "TLSF: a New Dynamic Memory Allocator for Real-Time Systems"
    (ECRTS 2004): a first-level bitmap over powers of two and a second-level bitmap over sixteenths of each; a request is
    rounded up to the next range, so the first hole found there fits. Sizes below sixteen granules have a queue each.

    Queues are numbered in one row: the warm ones by range, then the cold ones (see heap.hpp), which a heap has only where
    there are pages. Sixteen of them are a word:
    a bit of the first level. A hole that is not the only one of its queue leaves it without anybody asking which that is.

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
    Hole** back; // what points here: the front of a queue or the `next` of another hole
};
static_assert(sizeof(Hole) == granuleSize);

/** The first two granules of a hole that has as many. */
struct WideHole : Hole {
    static constexpr std::uint32_t coldBit = 0x8000'0000;

    std::uint32_t size;      // granules
    std::uint32_t placement; // of the first granule in its region, and whether it stands in a cold queue: coldBit

    std::size_t place() const { return placement & ~coldBit; }
};
static_assert(sizeof(WideHole) <= 2 * granuleSize);

class FreeQueues {
    static constexpr unsigned secondBits = os::rangeBits;
    static constexpr unsigned seconds = 1u << secondBits;
    /** Enough for greatestGranules, rounded up. */
    static constexpr unsigned firsts = os::granuleBits - secondBits + 2;

public:
    static constexpr unsigned ranges = firsts * seconds;
    static constexpr unsigned none = ~0u;

    /** Words of queues: a set of them restricts a search. */
    using Words = std::conditional_t<os::hasPages, std::uint64_t, std::uint32_t>;
    static constexpr Words warmWords = os::hasPages ? (Words{1} << firsts) - 1 : ~Words{0};
    /** Words of which every queue has holes of n granules and more only. */
    static constexpr Words warmWordsFrom(std::size_t n) {
        return warmWords & (~Words{0} << ((rangeFor(n) + seconds - 1) / seconds));
    }

    static constexpr Words coldWordsFrom(std::size_t n) { return os::hasPages ? warmWordsFrom(n) << firsts : 0; }

    static bool isWarm(unsigned queue) { return !os::hasPages || queue < ranges; }
    /** Whether its holes have one granule: these are warm, as the chunk with the links is committed. */
    static bool isOfSingles(unsigned queue) { return queue == 1; }
    Hole* front(unsigned queue) const { return fronts_[queue]; }
    /** The warm queue where a hole of n granules would stand: some there have as many, some fewer. */
    Hole* frontFor(std::size_t n) const { return fronts_[rangeOf(n)]; }

    [[gnu::always_inline]] void push(Hole* hole, std::size_t granules, bool warm) {
        const unsigned queue = rangeOf(granules) + (warm ? 0 : ranges);
        Hole* next = fronts_[queue];
        hole->next = next;
        hole->back = &fronts_[queue];
        fronts_[queue] = hole;
        if (next) {
            next->back = &hole->next;
        } else {
            const unsigned word = queue / seconds;
            second_[word] |= static_cast<Bits>(1u << queue % seconds);
            first_ |= Words{1} << word;
        }
    }

    [[gnu::always_inline]] void remove(Hole* hole) {
        Hole* next = hole->next;
        Hole** back = hole->back;
        *back = next;
        if (next) {
            next->back = back;
        } else if (const auto queue = static_cast<std::size_t>(back - fronts_); queue < count) {
            emptied(static_cast<unsigned>(queue));
        }
    }

    /** The same for the front hole of a queue. */
    [[gnu::always_inline]] void removeFront(unsigned queue) {
        Hole* next = fronts_[queue]->next;
        fronts_[queue] = next;
        if (next) {
            next->back = &fronts_[queue];
        } else {
            emptied(queue);
        }
    }

    /** The first queue of these words that is not empty, or none. */
    [[gnu::always_inline]] unsigned find(Words words) const {
        words &= first_;
        if (words == 0) {
            return none;
        }
        const auto word = static_cast<unsigned>(std::countr_zero(words));
        return word * seconds + lowest(second_[word]);
    }

    /** The lowest queue that is not empty and all of whose holes have n granules, or none. */
    [[gnu::always_inline]] unsigned findWarm(std::size_t n) const {
        const unsigned range = rangeFor(n);
        const unsigned word = range / seconds;
        const std::uint32_t usable = second_[word] & (~0u << range % seconds);
        if (usable != 0) {
            return word * seconds + lowest(usable);
        }
        return find(warmWords & (~Words{1} << word));
    }
    unsigned findCold(std::size_t n) const {
        if constexpr (!os::hasPages) {
            return none;
        }
        const unsigned range = ranges + rangeFor(n);
        const unsigned word = range / seconds;
        const std::uint32_t usable = second_[word] & (~0u << range % seconds);
        if (usable != 0) {
            return word * seconds + lowest(usable);
        }
        return find(~Words{1} << word);
    }

    /** The front hole of the highest range, warm or cold: within a sixteenth of the largest; nullptr when all are empty. */
    Hole* largest(bool warm) const {
        const Words words = warm ? first_ & warmWords : first_ & ~warmWords;
        if (words == 0) {
            return nullptr;
        }
        const auto word = static_cast<unsigned>(std::bit_width(words)) - 1;
        return fronts_[word * seconds + static_cast<unsigned>(std::bit_width(second_[word])) - 1];
    }

    /** Call f(hole, queue) for each hole. For the verifier. */
    template <typename F>
    void forEach(F&& f) const {
        for (unsigned queue = 0; queue < count; ++queue) {
            for (Hole* hole = fronts_[queue]; hole; hole = hole->next) {
                f(hole, queue);
            }
        }
    }

    bool linksAgree() const {
        for (unsigned queue = 0; queue < count; ++queue) {
            Hole* const* back = &fronts_[queue];
            for (; *back; back = &(*back)->next) {
                if ((*back)->back != back) {
                    return false;
                }
            }
        }
        return true;
    }

    bool bitsAgree() const {
        for (unsigned queue = 0; queue < count; ++queue) {
            if ((fronts_[queue] != nullptr) != ((second_[queue / seconds] >> queue % seconds & 1u) != 0)) {
                return false;
            }
        }
        for (unsigned word = 0; word < count / seconds; ++word) {
            if ((second_[word] != 0) != ((first_ >> word & 1u) != 0)) {
                return false;
            }
        }
        return true;
    }

    static bool inRange(std::size_t granules, unsigned queue) { return queue % ranges == rangeOf(granules); }

private:
    /** The lowest bit that is set; there is one, which std::countr_zero would ask again. */
    static unsigned lowest(std::uint32_t bits) { return static_cast<unsigned>(__builtin_ctz(bits)); }
    /** By how much sizes of the power of two that holds n are shifted to count their sixteenths. */
    static constexpr unsigned shiftOf(std::size_t n) {
        return static_cast<unsigned>(std::bit_width(n | seconds)) - secondBits - 1;
    }
    /** The range that a hole of n granules is in. As the sixteenths of one power of two end, those of the next begin. */
    static constexpr unsigned rangeOf(std::size_t n) {
        const unsigned shift = shiftOf(n);
        return shift * seconds + static_cast<unsigned>(n >> shift);
    }
    /** The first range whose holes have n granules, all of them. */
    static constexpr unsigned rangeFor(std::size_t n) {
        const unsigned shift = shiftOf(n);
        return shift * seconds + static_cast<unsigned>((n + (std::size_t{1} << shift) - 1) >> shift);
    }

    [[gnu::always_inline]] void emptied(unsigned queue) {
        const unsigned word = queue / seconds;
        second_[word] &= static_cast<Bits>(~(1u << queue % seconds));
        if (second_[word] == 0) {
            first_ &= ~(Words{1} << word);
        }
    }

    static constexpr unsigned count = os::hasPages ? 2 * ranges : ranges;
    using Bits = std::conditional_t<(seconds > 8), std::uint16_t, std::uint8_t>;

    Words first_ = 0;
    Bits second_[count / seconds] = {};
    Hole* fronts_[count] = {};
};

} // namespace mpr::heap
