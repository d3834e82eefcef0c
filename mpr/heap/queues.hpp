// SPDX-License-Identifier: MIT
/*
    queues.hpp - Free queues: holes by size range, found in constant time.

    Source: M. Masmano, I. Ripoll, A. Crespo, J. Real, "TLSF: a New Dynamic Memory Allocator for Real-Time Systems"
    (ECRTS 2004): a first-level bitmap over powers of two and a second-level bitmap over sixteenths of each; a request
    is rounded up to the next range, so the first hole found there fits. Sizes below sixteen granules have a queue each.

    Queues are numbered in one row: the warm ones by range, then the cold ones (see heap.hpp), which exist only where
    there are pages. Sixteen queues make a word, and each word is a bit of the first level. A hole that is not alone in
    its queue leaves it without anybody asking which queue that is.

    The links of a hole lie in its own memory, so a program that writes to freed memory may overwrite them. Links are
    therefore sealed with a secret, and a link is followed only after a check: it must lead to where a hole may be, and
    that hole must lead back. On 64-bit the seal also multiplies, which spreads a change of any byte over the whole
    address. A forged link then lies near the heap's memory with a chance of one in some thousand million, so no map
    need be asked (LinkRange). Without threads, where code memory is scarce, links are plain and trusted.

    Invariant: a bit is set exactly when its queue is not empty, at both levels.
    Not synchronised: the heap's lock is held.
 */
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "mpr/heap/granule.hpp"
#include "mpr/heap/poison.hpp"
#include "mpr/os/check.hpp"
#include "mpr/os/target.hpp"

namespace mpr::heap {

/** A sealed pointer. */
using Link = std::uintptr_t;

/** The first granule of a hole while it stands in a queue. */
struct Hole {
    Link next;
    Link back; // what points here: the front of a queue or the `next` of another hole
};
static_assert(sizeof(Hole) == granuleSize);

/** The first two granules of a hole that has as many, where its size does not stand in the map. */
struct WideHole : Hole {
    std::size_t size; // granules
};
static_assert(sizeof(WideHole) <= 2 * granuleSize);

/**
    Where links may lead, on 64-bit: from the heap's lowest region to the end of its highest, large ones apart. What was given up
    in between is not told from the rest: to ask the table of regions for each link takes a free half as many instructions more.
 */
class LinkRange {
public:
    /** Whether a range alone tells a link from what was written over it. */
    static constexpr bool suffices = os::hasThreads && sizeof(Link) == 8;

    void include(const void* memory, std::size_t bytes) {
        const auto from = reinterpret_cast<std::uintptr_t>(memory);
        const std::uintptr_t end = std::max(granules_ == 0 ? 0 : from_ + (granules_ << granuleShift), from + bytes);
        from_ = std::min(granules_ == 0 ? from : from_, from);
        granules_ = (end - from_) >> granuleShift;
    }
    /** Whether a region is the lowest or the highest. */
    bool endsWith(const void* memory, std::size_t bytes) const {
        const auto from = reinterpret_cast<std::uintptr_t>(memory);
        return from == from_ || from + bytes == from_ + (granules_ << granuleShift);
    }
    /**
        Whether a hole may begin at any given address. Rotation makes the lowest bits of an unaligned one the highest.
     */
    [[gnu::always_inline]] bool holds(const void* address) const {
        return std::rotr(reinterpret_cast<std::uintptr_t>(address) - from_, static_cast<int>(granuleShift)) < granules_;
    }

private:
    std::uintptr_t from_ = 0; // a multiple of granuleSize
    std::uintptr_t granules_ = 0;
};

class FreeQueues {
    static constexpr unsigned secondBits = os::rangeBits;
    static constexpr unsigned seconds = 1u << secondBits;
    /** Enough for greatestGranules, rounded up. */
    static constexpr unsigned firsts = os::granuleBits - secondBits + 2;

public:
    static constexpr unsigned ranges = firsts * seconds;
    static constexpr unsigned none = ~0u;
    /** Whether links are sealed and looked at. */
    static constexpr bool checksLinks = os::hasThreads;

    /** All queues are empty; links are sealed with this secret. */
    void open(Link secret) {
        first_ = 0;
        std::fill_n(second_, count / seconds, Bits{0});
        secret_ = secret;
        std::fill_n(fronts_, count, sealed(nullptr));
    }

    /** Words of queues: a set of them restricts a search. */
    using Words = std::conditional_t<os::hasPages, std::uint64_t, std::uint32_t>;
    static constexpr Words warmWords = os::hasPages ? (Words{1} << firsts) - 1 : ~Words{0};
    /** The words all of whose queues have only holes of at least n granules. */
    static constexpr Words warmWordsFrom(std::size_t n) {
        return warmWords & (~Words{0} << ((rangeFor(n) + seconds - 1) / seconds));
    }

    static constexpr Words coldWordsFrom(std::size_t n) { return os::hasPages ? warmWordsFrom(n) << firsts : 0; }

    static bool isWarm(unsigned queue) { return !os::hasPages || queue < ranges; }
    /** Whether a queue is of holes of one granule. Those are warm: the chunk with their links is committed. */
    static bool isOfSingles(unsigned queue) { return queue == 1; }
    Hole* front(unsigned queue) const { return unsealed<Hole>(fronts_[queue]); }
    /** The front hole of the warm queue where n granules would stand. Some holes there have n granules, some fewer. */
    Hole* frontFor(std::size_t n) const { return front(rangeOf(n)); }
    /** The hole after this one in its queue, or nullptr. */
    template <typename MayLead>
    Hole* next(const Hole* hole, MayLead&& mayLead) const {
        Hole* next = unsealed<Hole>(load(&hole->next));
        return next && leadsBack(hole, next, mayLead) ? next : nullptr;
    }

    [[gnu::always_inline]] void push(Hole* hole, std::size_t granules, bool warm) {
        MPR_ASSERT(granules > 0 && reinterpret_cast<std::uintptr_t>(hole) % granuleSize == 0);
        const unsigned queue = rangeOf(granules) + (warm ? 0 : ranges);
        MPR_ASSERT(queue < count);
        // All seals come before all stores: after a store the compiler would load the secret again.
        const Link next = fronts_[queue];
        const Link back = sealed(&fronts_[queue]);
        const Link link = sealed(hole); // also to its `next`, with which it begins
        Hole* const after = unsealed<Hole>(next);
        fronts_[queue] = link;
        store(&hole->next, next);
        store(&hole->back, back);
        if (after) {
            store(&after->back, link);
        } else {
            const unsigned word = queue / seconds;
            second_[word] |= static_cast<Bits>(1u << queue % seconds);
            first_ |= Words{1} << word;
        }
    }

    /**
        Take a hole out of its queue.
        @param mayLead Whether a link may lead to a given address, any address: a hole begins there, or it can be read.
        @return false when its links, or those of a neighbour in its queue, were overwritten. Nothing has changed then.
     */
    template <typename MayLead>
    [[gnu::always_inline]] bool remove(Hole* hole, MayLead&& mayLead) {
        const Link next = load(&hole->next);
        const Link back = load(&hole->back);
        Link* before = unsealed<Link>(back);
        Hole* after = unsealed<Hole>(next);
        if (checksLinks && (!isLink(before, mayLead) || load(before) != sealed(hole) ||
                            (after && !leadsBack(hole, after, mayLead)))) [[unlikely]] {
            return false;
        }
        store(before, next);
        if (after) {
            store(&after->back, back);
        } else if (const auto queue = static_cast<std::size_t>(before - fronts_); queue < count) {
            emptied(static_cast<unsigned>(queue));
        }
        return true;
    }

    /** Take the front hole out of a queue. @return false when links were overwritten: see remove(). */
    template <typename MayLead>
    [[gnu::always_inline]] bool removeFront(unsigned queue, MayLead&& mayLead) {
        const Hole* hole = front(queue);
        MPR_ASSERT(hole);
        const Link next = load(&hole->next);
        Hole* after = unsealed<Hole>(next);
        if (checksLinks && (load(&hole->back) != sealed(&fronts_[queue]) ||
                            (after && !leadsBack(hole, after, mayLead)))) [[unlikely]] {
            return false;
        }
        fronts_[queue] = next;
        if (after) {
            store(&after->back, sealed(&fronts_[queue]));
        } else {
            emptied(queue);
        }
        return true;
    }

    /** Whether both links of a hole lead to a front or to a hole. If not, its memory was overwritten. */
    template <typename MayLead>
    bool linksLead(const Hole* hole, MayLead&& mayLead) const {
        Hole* next = unsealed<Hole>(load(&hole->next));
        return (!next || mayLead(next)) && isLink(unsealed<Link>(load(&hole->back)), mayLead);
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

    /** The lowest warm queue that is not empty and all of whose holes have at least n granules, or none. */
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
        return findFrom(ranges + rangeFor(n));
    }
    /** The first queue from this one on that is not empty, or none. There may be no such queue. */
    unsigned findFrom(unsigned queue) const {
        if (queue >= count) {
            return none;
        }
        const unsigned word = queue / seconds;
        const std::uint32_t usable = second_[word] & (~0u << queue % seconds);
        if (usable != 0) {
            return word * seconds + lowest(usable);
        }
        return find(~Words{1} << word);
    }

    /**
        The front hole of the highest range: within a sixteenth of the largest hole. nullptr when all queues are empty.
     */
    Hole* largest(bool warm) const {
        const Words words = warm ? first_ & warmWords : first_ & ~warmWords;
        if (words == 0) {
            return nullptr;
        }
        const auto word = static_cast<unsigned>(std::bit_width(words)) - 1;
        return front(word * seconds + static_cast<unsigned>(std::bit_width(second_[word])) - 1);
    }

    /**
        Call f(hole, queue) for each hole that links lead to, for the verifier. @return Whether no link was overwritten.
     */
    template <typename F, typename MayLead>
    bool forEach(F&& f, MayLead&& mayLead) const {
        bool agree = true;
        for (unsigned queue = 0; queue < count; ++queue) {
            const Link* back = &fronts_[queue];
            while (Hole* hole = unsealed<Hole>(load(back))) {
                if (!mayLead(hole) || load(&hole->back) != sealed(back)) {
                    agree = false;
                    break;
                }
                f(hole, queue);
                back = &hole->next;
            }
        }
        return agree;
    }

    void check() const { MPR_ASSERT(bitsAgree()); }
    /** The invariant above. */
    bool bitsAgree() const {
        for (unsigned queue = 0; queue < count; ++queue) {
            if ((front(queue) != nullptr) != ((second_[queue / seconds] >> queue % seconds & 1u) != 0)) {
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
    /** Odd, so that it has an inverse. */
    static constexpr Link factor = LinkRange::suffices ? static_cast<Link>(0x9E37'79B9'7F4A'7C15) : 1;
    /** Found by Newton's method: each step doubles the number of correct bits. */
    static constexpr Link inverse = [] {
        Link x = factor;
        for (int bits = 3; bits < 64; bits *= 2) {
            x *= 2 - factor * x;
        }
        return x;
    }();
    static_assert(factor * inverse == 1);

    Link sealed(const void* address) const { return (reinterpret_cast<Link>(address) ^ secret()) * factor; }
    template <typename T>
    T* unsealed(Link link) const {
        return reinterpret_cast<T*>((link * inverse) ^ secret());
    }
    Link secret() const { return checksLinks ? secret_ : 0; }

    MPR_USES_FREE_MEMORY static Link load(const Link* link) { return *link; }
    MPR_USES_FREE_MEMORY static void store(Link* link, Link value) { *link = value; }

    /** Whether a link may stand here: at the front of a queue, or in a hole. */
    template <typename MayLead>
    [[gnu::always_inline]] bool isLink(const Link* link, MayLead& mayLead) const {
        return reinterpret_cast<std::uintptr_t>(link) - reinterpret_cast<std::uintptr_t>(fronts_) < sizeof(fronts_) ||
               mayLead(reinterpret_cast<const Hole*>(link));
    }
    /** Whether the next of a hole leads back. */
    template <typename MayLead>
    [[gnu::always_inline]] bool leadsBack(const Hole* hole, const Hole* next, MayLead& mayLead) const {
        return !checksLinks || (mayLead(next) && load(&next->back) == sealed(&hole->next));
    }

    /** The lowest bit that is set. There is one; std::countr_zero would test for that again. */
    static unsigned lowest(std::uint32_t bits) { return static_cast<unsigned>(__builtin_ctz(bits)); }
    /** By how many bits to shift sizes between the powers of two around n, to count their sixteenths. */
    static constexpr unsigned shiftOf(std::size_t n) {
        return static_cast<unsigned>(std::bit_width(n | seconds)) - secondBits - 1;
    }
    /** The range that a hole of n granules is in. The sixteenths of one power of two run on into those of the next. */
    static constexpr unsigned rangeOf(std::size_t n) {
        const unsigned shift = shiftOf(n);
        return shift * seconds + static_cast<unsigned>(n >> shift);
    }
    /** The first range all of whose holes have at least n granules. */
    static constexpr unsigned rangeFor(std::size_t n) {
        const unsigned shift = shiftOf(n);
        return shift * seconds + static_cast<unsigned>((n + (std::size_t{1} << shift) - 1) >> shift);
    }

    [[gnu::always_inline]] void emptied(unsigned queue) {
        const unsigned word = queue / seconds;
        MPR_ASSERT((second_[word] >> queue % seconds & 1u) != 0 && (first_ >> word & 1u) != 0);
        second_[word] &= static_cast<Bits>(~(1u << queue % seconds));
        if (second_[word] == 0) {
            first_ &= ~(Words{1} << word);
        }
    }

    static constexpr unsigned count = os::hasPages ? 2 * ranges : ranges;
    using Bits = std::conditional_t<(seconds > 8), std::uint16_t, std::uint8_t>;

    Words first_ = 0;
    Bits second_[count / seconds] = {};
    Link fronts_[count] = {};
    Link secret_ = 0;
};

} // namespace mpr::heap
