// SPDX-License-Identifier: MIT
/*
    map.hpp - The granule map: one byte per granule that says all the allocator and the collector need to know.

    A byte is one of
        1ttt ttcc   head: the first granule of a block in use; flags and colour below
        7C          the first granule of a hole of two granules or more
        7D          the first granule of memory that is free but spoken for: a quick-listed block, a hole being purged,
                    a span's fence, a region's end
        7E          the last granule of a hole of two granules or more
        7F          a hole of one granule
        00..7B      elsewhere: a size (below), or nothing

    Sizes are in granules. (The size of a large region's block is in the region's header.) The byte after a head (or 7D)
    is the size if that is 2..7B. It is 01 if the size is larger: then eight bytes with four bits each follow, from the
    next multiple of four on. Any other byte (a head, a mark of 7C or above, 00) belongs to the neighbour, and the block
    has one granule. A hole of three granules or more has its size encoded likewise behind its first byte and, mirrored,
    before its last, so that either neighbour finds the other end in constant time. A program that writes to freed
    memory cannot change any of this. Where code is scarce (sizesInMap) the first of the two sizes stands in the hole.

    Invariants (checked by Heap::verify)
      - Bit 7 is set in heads only, and only first and last granules have bytes of 7C or more. So a scan for heads, or
        for the next boundary, may start anywhere and test eight bytes at a time.
      - Zeros that belong to no block are the unused part of an allocation context, or free memory in a span. Outside
        spans they follow a block allocated after the last rendezvous, or the hole that such a block became when it
        was freed by hand; they never follow a dead block.
      - Two holes are never neighbours.
      - In a span parts of the map may have no meaning; span.hpp says which.

    Bytes are read by the collector's thread while mutators write others, so all access is atomic, and relaxed.
    What orders it:
      - Whoever is given a block's address is given its head and size with it: by a lock, or by the barrier's store,
        which releases, and the marker's load, which acquires.
      - Heads that several threads may change at once are changed by compare-and-swap (claim, update).
      - Everything else in a map changes under the heap's lock, while threads are stopped, or in a span by its owner.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include "mpr/heap/granule.hpp"

namespace mpr::heap {

/** How the collector treats a block: bits 2 and 3 of its head. */
enum class Kind : Byte {
    leaf = 0x00,    // references nothing
    plain = 0x04,   // a manager for MARK and FREE; stores without a write barrier
    barrier = 0x08, // a manager for MARK and FREE; every reference is in the block and written through the barrier
    barrierNoFree = 0x0C, // a barrier block whose manager does not want FREE
};

namespace head {
inline constexpr Byte inUse = 0x80;
/**
    A store into this block need not be remembered: it is young, or no barrier block, or in the set already. A clear bit is
    an old barrier block's. A leaf with a clear bit was freed by hand while the collector may be looking at it.
 */
inline constexpr Byte remembered = 0x40;
/**
    The table of roots may name this block. Whoever frees the block by hand asks there first. The bit stays when the
    entry goes.
 */
inline constexpr Byte referenced = 0x20;
inline constexpr Byte held = 0x10;
inline constexpr Byte kindMask = 0x0C;
/** Bit 1: old, it has survived a collection. Bit 0: parity, see Colours. */
inline constexpr Byte colourMask = 0x03;
inline constexpr Byte old = 0x02;
inline constexpr Byte parity = 0x01;

constexpr bool isLeaf(Byte h) {
    return (h & kindMask) == static_cast<Byte>(Kind::leaf);
}
constexpr bool isPlain(Byte h) {
    return (h & kindMask) == static_cast<Byte>(Kind::plain);
}
constexpr bool isBarrier(Byte h) {
    return (h & static_cast<Byte>(Kind::barrier)) != 0;
}
/** A block with a manager that was freed by hand while it may be traced: see Heap::freeTraced. Its head is given. */
constexpr bool isGone(Byte h) {
    return os::hasGenerations && (h & (remembered | kindMask)) == 0;
}
/** A block that a yield would have taken back: gone, and flagged for the check that nobody reaches it (batch.hpp). */
inline constexpr Byte discarded = inUse | referenced;
constexpr bool isDiscarded(Byte h) {
    return os::hasThreads && (h & discarded) == discarded && isGone(h);
}
/** Whether the manager wants MPR_MANAGE_FREE: kind plain or barrier, that is bit 2 differs from bit 3. */
constexpr bool wantsFree(Byte h) {
    return ((h + static_cast<Byte>(Kind::plain)) & static_cast<Byte>(Kind::barrier)) != 0;
}
} // namespace head

namespace mark {
inline constexpr Byte hole = 0x7C;
inline constexpr Byte opaque = 0x7D;
inline constexpr Byte holeEnd = 0x7E;
inline constexpr Byte hole1 = 0x7F;
} // namespace mark

/**
    The colours in force. Flipping a parity makes all blocks of that age unmarked without touching them.
    A block is marked when its parity is the one in force for its age; the marker makes it old in the same store, so the
    marks of the old stick from one minor collection to the next (A. Demers et al., "Combining Generational and
    Conservative Garbage Collection", POPL 1990). What is unmarked between collections is old, and being marked.
    `grey` is the colour of a block that was reached but not yet traced, for want of mark stack. No other block has it:
    while threads are stopped it is the newborn colour, and nothing is born; while they run it is that of the young
    dead, of which none are left once the sweep has ended. Between the end of marking and the end of the sweep nothing
    is grey.
 */
struct Colours {
    Byte youngParity = 0;
    Byte oldParity = 0;

    Byte newborn() const { return static_cast<Byte>(head::remembered | youngParity); }
    Byte grey(bool stopped) const { return static_cast<Byte>(youngParity ^ (stopped ? 0 : 1)); }
    bool marked(Byte h) const {
        if constexpr (!os::hasGenerations) {
            return (h & head::parity) == youngParity; // both parities always flip together
        }
        return (h & head::parity) == ((h & head::old) ? oldParity : youngParity);
    }
    /** The head of a block that has been reached. */
    Byte survivor(Byte h) const {
        if constexpr (!os::hasGenerations) {
            return static_cast<Byte>((h & ~head::parity) | head::old | youngParity); // nothing is ever remembered
        }
        const Byte clear = head::isBarrier(h) ? head::colourMask | head::remembered : head::colourMask;
        return static_cast<Byte>((h & ~clear) | head::old | oldParity);
    }
};

/**
    Eight bytes of the map (four on 32-bit), tested together. An answer has its bits at bit 0 of each byte. A question
    is asked of a word, or of a row: as many words side by side as the processor takes at once.
 */
namespace swar {
using Word = std::uintptr_t;
#if defined(__SSE2__) || defined(__ARM_NEON)
using Row [[gnu::vector_size(16)]] = Word;
using RowBytes [[gnu::vector_size(16)]] = Byte;
#else
using Row = Word;
using RowBytes = Byte;
#endif
inline constexpr Word ones = ~Word{0} / 0xFF;
inline constexpr unsigned bytes = sizeof(Word);
inline constexpr unsigned lanes = sizeof(Row) / sizeof(Word);

constexpr Word spread(Byte b) {
    return ones * b;
}
constexpr auto heads(auto w) {
    return (w >> 7) & ones;
}
constexpr auto held(auto w) {
    return (w >> 4) & ones;
}
/** Heads that are not marked; with `youngOnly` only those of young blocks. */
constexpr auto unmarked(auto w, Colours c, bool youngOnly = false) {
    if constexpr (!os::hasGenerations) {
        return (w ^ spread(c.youngParity)) & (w >> 7) & ones;
    } else if constexpr (sizeof(w) == sizeof(Word)) {
        const Word byAge = (w >> 1) & spread(static_cast<Byte>(c.youngParity ^ c.oldParity));
        const Word spared = youngOnly ? w >> 1 : 0;
        return (w ^ spread(c.youngParity) ^ byAge) & ~spared & (w >> 7) & ones;
    } else {
        // Comparing bytes takes fewer steps than moving bits.
        constexpr Byte looked = head::inUse | head::old | head::parity;
        const auto young = static_cast<Byte>(head::inUse | (c.youngParity ^ head::parity));
        const auto old = static_cast<Byte>(head::inUse | head::old | (c.oldParity ^ head::parity));
        const Byte other = youngOnly ? young : old;
        const auto looks = std::bit_cast<RowBytes>(w) & looked;
        return std::bit_cast<Row>((looks == young) | (looks == other)) & ones;
    }
}
constexpr auto marked(auto w, Colours c) {
    return heads(w) & ~unmarked(w, c);
}
constexpr auto old(auto w) {
    return (w >> 1) & (w >> 7) & ones;
}
constexpr auto leaf(auto w) {
    return ~(w >> 2) & ~(w >> 3) & (w >> 7) & ones;
}
/** Heads of kind plain. */
constexpr auto plain(auto w) {
    return (w >> 2) & ~(w >> 3) & (w >> 7) & ones;
}
/** Heads, and the marks 7C..7F: where something begins or ends. */
constexpr Word boundaries(Word w) {
    const Word low = (w & spread(0x7F)) + spread(0x04);
    return ((low | w) >> 7) & ones;
}
/** head::wantsFree of each head; 0 for bytes that are no heads. */
constexpr auto wantFree(auto w) {
    return ((w >> 2) ^ (w >> 3)) & (w >> 7) & ones;
}
/** The bits of an answer side by side: bit i is that of byte i. */
constexpr Word gather(Word answer) {
    constexpr Word toTop = sizeof(Word) == 8 ? static_cast<Word>(0x0102'0408'1020'4080) : Word{0x1020'4080};
    return answer * toTop >> (8 * bytes - bytes);
}
static_assert(gather(ones) == (1u << bytes) - 1 && gather(ones << 8) == (1u << bytes) - 2 && gather(1) == 1);
/** Index of the first byte whose bit is set; answer != 0. */
inline unsigned first(Word answer) {
    return static_cast<unsigned>(std::countr_zero(answer)) / 8;
}
inline unsigned last(Word answer) {
    return static_cast<unsigned>(std::bit_width(answer) - 1) / 8;
}
/** How many bytes have their bit set. */
constexpr unsigned count(Word answer) {
    return static_cast<unsigned>(answer * ones >> (8 * (bytes - 1)));
}
/** Whether any bit is set in a row. */
constexpr bool any(auto row) {
    if constexpr (lanes == 1) {
        return row != 0;
    } else {
        Word all = 0;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            all |= row[lane];
        }
        return all != 0;
    }
}
/** The answers of a row in one word: bit i of each byte is the answer of word i. */
constexpr Word fold(auto answers) {
    if constexpr (lanes == 1) {
        return answers;
    } else {
        Word all = 0;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            all |= answers[lane] << lane;
        }
        return all;
    }
}
static_assert(std::endian::native == std::endian::little, "scans count bytes from the least significant");
} // namespace swar

/** A view of map bytes by granule index. Costs nothing; copy freely. */
class GranuleMap {
public:
    /** Whether holes have their sizes at both ends in the map. */
    static constexpr bool sizesInMap = os::hasThreads;

    explicit GranuleMap(Byte* bytes) : bytes_(bytes) {}

    [[gnu::always_inline]] Byte* at(std::size_t g) const { return bytes_ + g; }
    [[gnu::always_inline]] Byte get(std::size_t g) const { return load(bytes_ + g); }
    [[gnu::always_inline]] void set(std::size_t g, Byte b) const { store(bytes_ + g, b); }

    /** The word that holds granule g, which is a multiple of swar::bytes. */
    swar::Word word(std::size_t g) const { return loadAs(reinterpret_cast<swar::Word*>(bytes_ + g)); }

    // Not std::atomic_ref, which compilers for small code call as functions.
    [[gnu::always_inline]] static Byte load(Byte* b) { return loadAs(b); }
    [[gnu::always_inline]] static void store(Byte* b, Byte value) { storeAs(b, value); }

    // Relaxed: a head decides who may have a block. The contents are ordered by whatever handed over the address, or by
    // the rendezvous. The granules stay with the thread that has claimed the block, or pass on under the heap's lock.

    /** Change a head that was just seen. @return false when it has changed. */
    static bool change(Byte* head, Byte seen, Byte to) {
        return std::atomic_ref<Byte>(*head).compare_exchange_strong(seen, to, std::memory_order_relaxed);
    }
    /** Turn a head that was just seen into 7D. @return false when it has changed. */
    static bool claim(Byte* head, Byte seen) {
        return !os::hasThreads || change(head, seen, mark::opaque); // without threads nobody looks before it is cleared
    }
    /** Turn a head into 7D. @return false when there is no head: another thread was faster. */
    bool claim(std::size_t g) const {
        if constexpr (!os::hasThreads) {
            return (get(g) & head::inUse) != 0;
        }
        const std::atomic_ref<Byte> first(bytes_[g]);
        Byte h = first.load(std::memory_order_relaxed);
        while (h & head::inUse) {
            if (first.compare_exchange_weak(h, mark::opaque, std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }

    /**
        Change a head that others may be changing: new = f(old). If f returns 0 the head stays; what is no head stays,
        too.
        @return the head before, or 0 when there was none.
     */
    template <typename F>
    Byte update(std::size_t g, F&& f) const {
        return update(bytes_ + g, f);
    }
    template <typename F>
    static Byte update(Byte* first, F&& f) {
        if constexpr (!os::hasThreads) {
            const Byte h = load(first);
            const Byte changed = (h & head::inUse) ? static_cast<Byte>(f(h)) : Byte{0};
            store(first, changed != 0 ? changed : h);
            return (h & head::inUse) ? h : Byte{0};
        }
        const std::atomic_ref<Byte> byte(*first);
        Byte h = byte.load(std::memory_order_relaxed);
        for (;;) {
            const Byte changed = (h & head::inUse) ? static_cast<Byte>(f(h)) : Byte{0};
            if (changed == 0 || changed == h || byte.compare_exchange_weak(h, changed, std::memory_order_relaxed)) {
                return (h & head::inUse) ? h : Byte{0};
            }
        }
    }

    /** Zero a word all of whose bytes belong to the caller. */
    void clearWord(std::size_t g) const { storeAs(reinterpret_cast<swar::Word*>(bytes_ + g), swar::Word{0}); }

    /** Zero several words at a time: compilers would turn a loop into single stores. */
    template <std::size_t... I>
    static void clearWords(Byte* at, std::index_sequence<I...>) {
        (storeAs(reinterpret_cast<swar::Word*>(at + I * swar::bytes), swar::Word{0}), ...);
    }

    /** The first granule in [g, end) whose byte is not zero; `end` when there is none. */
    std::size_t zerosEnd(std::size_t g, std::size_t end) const {
        for (; g < end && g % swar::bytes != 0; ++g) {
            if (get(g) != 0) {
                return g;
            }
        }
        g = skipZeros(g, end);
        if (g >= end) {
            return end;
        }
        return std::min(g + static_cast<std::size_t>(std::countr_zero(word(g))) / 8, end);
    }

    /** Zero [from, to). */
    void clear(std::size_t from, std::size_t to) const {
        for (; from < to && from % swar::bytes != 0; ++from) {
            set(from, 0);
        }
        Byte* const begin = bytes_; // not to be loaded again after each store
        for (; from + 8 * swar::bytes <= to; from += 8 * swar::bytes) {
            clearWords(begin + from, std::make_index_sequence<8>());
        }
        for (; from + swar::bytes <= to; from += swar::bytes) {
            clearWord(from);
        }
        for (; from < to; ++from) {
            set(from, 0);
        }
    }

    /**
        The nearest granule at or before g whose byte has a bit in the answer. @param least The word that holds this granule
        is the last that is looked at; any granule may be given. @return `least` when there is none.
     */
    template <typename Answer>
    std::size_t nearestBefore(std::size_t g, std::size_t least, Answer answer) const {
        std::size_t at = g & ~std::size_t{swar::bytes - 1};
        swar::Word found = answer(word(at)) & (~swar::Word{0} >> (8 * (swar::bytes - 1 - (g - at))));
        while (found == 0 && at > least) {
            at -= swar::bytes;
            found = answer(word(at));
        }
        return found != 0 ? at + swar::last(found) : least;
    }
    /** The nearest head: that of the block that g is in, if any. */
    std::size_t headBefore(std::size_t g, std::size_t least) const {
        return nearestBefore(g, least, [](swar::Word w) { return swar::heads(w); });
    }
    /** The nearest head or mark. */
    std::size_t boundaryBefore(std::size_t g, std::size_t least) const {
        return nearestBefore(g, least, swar::boundaries);
    }

    /** The first word from g on, g a multiple of swar::bytes, that is not zero; at least `end` when all are. */
    std::size_t skipZeros(std::size_t g, std::size_t end) const {
        while (g + 4 * swar::bytes <= end &&
               (word(g) | word(g + swar::bytes) | word(g + 2 * swar::bytes) | word(g + 3 * swar::bytes)) == 0) {
            g += 4 * swar::bytes;
        }
        while (g < end && word(g) == 0) {
            g += swar::bytes;
        }
        return g;
    }

    /**
        Call f(g) for each granule of [from, to), extended to whole words, for which answer(g, words) has a bit;
        `words`, from g on, are a row or a single word. Several rows are asked before f is called for their granules, in
        no particular order: the processor mispredicts how many granules a word holds, and so it does once for several
        rows.
     */
    template <typename Answer, typename F>
    MPR_INLINE void forEach(std::size_t from, std::size_t to, Answer&& answer, F&& f) const {
        for (std::size_t at = from & ~std::size_t{swar::bytes - 1}; at < to; at += groupGranules) {
            swar::Word found = 0;
            if (group == 1) {
                found = answer(at, word(at));
            } else if (at + groupGranules <= to) [[likely]] {
                found = ask(at, answer, std::make_index_sequence<group / swar::lanes>());
            } else {
                for (std::size_t k = 0; at + k * swar::bytes < to; ++k) {
                    found |= answer(at + k * swar::bytes, word(at + k * swar::bytes)) << k;
                }
            }
            for (; found != 0; found &= found - 1) {
                const auto bit = static_cast<unsigned>(std::countr_zero(found));
                f(at + bit % group * swar::bytes + bit / 8);
            }
        }
    }

    /** Size of the block (or 7D memory) that begins at g. */
    std::size_t blockSize(std::size_t g) const { return sizeBehind(bytes_ + g); }
    static std::size_t sizeBehind(Byte* first) {
        const Byte size = load(first + 1);
        if (size >= 2 && size <= greatestInByte) {
            return size;
        }
        return size == large ? digits(digitsBehind(first)) : 1;
    }

    /**
        Size of the block that begins at `first` if it is less than granuleSize, else 0. The entries of the mark stack
        have only the bits for it that alignment leaves. Also 0 for a large region's block, whose size is not in the
        map.
     */
    static std::size_t shortSizeBehind(Byte* first) {
        const Byte size = load(first + 1);
        if (size - std::size_t{2} < granuleSize - 2) [[likely]] {
            return size;
        }
        return size == large || size - granuleSize <= greatestInByte - granuleSize ? 0 : 1;
    }
    /** Mark the block that begins at g as one whose size the region's header holds. */
    void setSizeElsewhere(std::size_t g) const { set(g + 1, large); }

    /** For the verifier: what stands in byte i > 0 of a block of n granules that begins at `first`. */
    static Byte byteOfBlock(Byte* first, std::size_t n, std::size_t i) {
        return i == 1 ? sizeByte(n) : n > greatestInByte ? digitAt(digitsBehind(first), first + i, n) : Byte{0};
    }
    /** For the verifier: what stands in byte i > 0 of a hole of two granules or more. */
    static Byte byteOfHole(Byte* first, std::size_t n, std::size_t i) {
        if (i == n - 1) {
            return mark::holeEnd;
        }
        const Byte digit = i == n - 2 ? sizeByte(n) : byteOfBlock(first, n, i);
        return digit == 0 && n > greatestInByte ? digitAt(digitsBefore(first + n - 1), first + i, n) : digit;
    }

    /** Write the size of a block of n granules whose bytes are all zero. The head is the caller's. */
    void setBlockSize(std::size_t g, std::size_t n) const { setSizeBehind(bytes_ + g, n); }
    static void setSizeBehind(Byte* first, std::size_t n) {
        if (n - 2 <= greatestInByte - 2) [[likely]] {
            store(first + 1, static_cast<Byte>(n));
        } else if (n > 1) {
            store(first + 1, large);
            setDigits(digitsBehind(first), n);
        }
    }

    /** Zero the head and the size of a block, not its interior, which is zero. */
    void clearBlock(std::size_t g, std::size_t n) const {
        set(g, 0);
        clearBlockSize(g, n);
    }
    /** Zero the size of a block, not its head. */
    void clearBlockSize(std::size_t g, std::size_t n) const {
        if (n > 1) {
            set(g + 1, 0);
        }
        if (n > greatestInByte) {
            setDigits(digitsBehind(bytes_ + g), 0);
        }
    }

    /** Zero the part of a block's size that stands at `end` and beyond; the rest has been zeroed. */
    void clearSizeBeyond(std::size_t g, std::size_t n, std::size_t end) const {
        if (g + 1 == end && n > 1) {
            set(g + 1, 0);
        }
        if (n > greatestInByte) {
            setDigits(digitsBehind(bytes_ + g), 0);
        }
    }

    /** Mark granule g as a hole of one granule. Its byte is zero, or such a mark. */
    void setHole1(std::size_t g) const { set(g, mark::hole1); }
    [[gnu::always_inline]] void setWideHole(std::size_t g, std::size_t n) const {
        Byte* first = bytes_ + g;
        Byte* last = first + n - 1;
        store(first, mark::hole);
        store(last, mark::holeEnd);
        if (n > greatestInByte) {
            store(first + 1, large);
            store(last - 1, large);
            setDigits(digitsBefore(last), n);
            if constexpr (sizesInMap) {
                setDigits(digitsBehind(first), n);
            }
        } else if (n > 2) {
            store(last - 1, static_cast<Byte>(n));
            if constexpr (sizesInMap) {
                store(first + 1, static_cast<Byte>(n));
            }
        }
    }
    /** Zero what stands behind the first byte of a hole of two granules or more. */
    [[gnu::always_inline]] void clearSizeOfHole(std::size_t g, std::size_t n) const {
        set(g + 1, 0);
        if (sizesInMap && n > greatestInByte) {
            setDigits(digitsBehind(bytes_ + g), 0);
        }
    }
    /** Size of the hole of two granules or more that begins at g, by the map. */
    MPR_INLINE std::size_t wideHoleSize(std::size_t g) const {
        const Byte size = get(g + 1);
        return size == large ? digits(digitsBehind(bytes_ + g)) : size == mark::holeEnd ? 2 : size;
    }

    /**
        Zero the marks of a hole of two granules or more, from whose front n granules are taken; except for its first
        byte, which the taker sets, and for marks that those of the rest will replace.
     */
    [[gnu::always_inline]] void narrowHole(std::size_t g, std::size_t size, std::size_t n) const {
        set(g + 1, 0);
        const std::size_t rest = size - n;
        Byte* last = bytes_ + g + size - 1;
        if (rest <= 1) {
            store(last - 1, 0);
            store(last, 0);
        }
        if (sizesInMap && size > greatestInByte) {
            setDigits(digitsBehind(bytes_ + g), 0);
        }
        if (rest <= greatestInByte && size > greatestInByte) {
            setDigits(digitsBefore(last), 0);
        }
    }

    /** Zero the marks at the end of a hole of two granules or more, whose last granule is g. */
    [[gnu::always_inline]] void clearWideHoleEnd(std::size_t g, std::size_t n) const {
        Byte* last = bytes_ + g;
        store(last, 0);
        store(last - 1, 0);
        if (n > greatestInByte) {
            setDigits(digitsBefore(last), 0);
        }
    }

    MPR_INLINE void clearHole(std::size_t g, std::size_t n) const {
        set(g, 0);
        if (n == 1) {
            return;
        }
        Byte* last = bytes_ + g + n - 1;
        set(g + 1, 0);
        store(last - 1, 0);
        store(last, 0);
        if (n > greatestInByte) {
            if constexpr (sizesInMap) {
                setDigits(digitsBehind(bytes_ + g), 0);
            }
            setDigits(digitsBefore(last), 0);
        }
    }

    [[gnu::always_inline]] static bool beginsHole(Byte b) { return b == mark::hole || b == mark::hole1; }
    [[gnu::always_inline]] static bool endsHole(Byte b) { return b == mark::holeEnd || b == mark::hole1; }

    /** Whether the hole whose first granule is g is longer than a word or two. */
    bool isLongHole(std::size_t g) const { return get(g) == mark::hole && get(g + 1) == large; }

    /**
        Size of the hole of two granules or more that begins at g. @return Whether the map has the end of such a hole
        there, before granule `end`. The digits at the end need not be compared: wrong digits at g would not lead to an
        end.
     */
    MPR_INLINE bool agreedHoleSize(std::size_t g, std::size_t end, std::size_t& n) const {
        const Byte size = get(g + 1);
        if (size == mark::holeEnd) {
            n = 2;
            return true;
        }
        n = size == large ? digits(digitsBehind(bytes_ + g)) : size;
        const std::size_t last = g + n - 1;
        return last < end && pairAt(last - 1) == pairOf(size, mark::holeEnd);
    }
    /**
        Size of the hole of two granules or more whose last granule is g. @return Whether the map has its start there.
     */
    MPR_INLINE bool agreedHoleSizeBefore(std::size_t g, std::size_t& n) const {
        const Byte size = get(g - 1);
        if (size == mark::hole) {
            n = 2;
            return true;
        }
        n = size == large ? digits(digitsBefore(bytes_ + g)) : size;
        return n <= g && pairAt(g + 1 - n) == pairOf(mark::hole, size);
    }

    /** Size of the hole whose last granule is g. */
    MPR_INLINE std::size_t holeSizeBefore(std::size_t g) const {
        return get(g) == mark::hole1 ? 1 : wideHoleSizeBefore(g);
    }
    MPR_INLINE std::size_t wideHoleSizeBefore(std::size_t g) const {
        const Byte size = get(g - 1);
        return size == large ? digits(digitsBefore(bytes_ + g)) : size == mark::hole ? 2 : size;
    }

private:
    template <typename T>
    using Aliasing [[gnu::may_alias]] = T;
    template <typename T>
    [[gnu::always_inline]] static T loadAs(const T* from) {
        if constexpr (!os::hasThreads) {
            return *reinterpret_cast<const Aliasing<T>*>(from);
        }
        return __atomic_load_n(from, __ATOMIC_RELAXED);
    }
    template <typename T>
    [[gnu::always_inline]] static void storeAs(T* to, T value) {
        if constexpr (!os::hasThreads) {
            *reinterpret_cast<Aliasing<T>*>(to) = value;
            return;
        }
        __atomic_store_n(to, value, __ATOMIC_RELAXED);
    }

    // An answer is one bit per byte, so the answers of eight words fit into one word.
    static constexpr std::size_t group = os::cooperative ? 1 : 8;
    static constexpr std::size_t groupGranules = group * swar::bytes;

    template <typename Answer, std::size_t... I>
    [[gnu::always_inline]] swar::Word ask(std::size_t at, Answer& answer, std::index_sequence<I...>) const {
        constexpr std::size_t granules = swar::lanes * swar::bytes;
        const swar::Row rows[] = {row(at + I * granules, std::make_index_sequence<swar::lanes>())...};
        return swar::any((rows[I] | ...))
                   ? swar::fold(((answer(at + I * granules, rows[I]) << (I * swar::lanes)) | ...))
                   : 0;
    }
    template <std::size_t... Lane>
    [[gnu::always_inline]] swar::Row row(std::size_t g, std::index_sequence<Lane...>) const {
        return swar::Row{word(g + Lane * swar::bytes)...};
    }

    /** Two bytes of a hole, which change only under the lock. */
    std::uint16_t pairAt(std::size_t g) const {
        std::uint16_t pair = 0;
        std::memcpy(&pair, bytes_ + g, sizeof(pair));
        return pair;
    }
    static constexpr std::uint16_t pairOf(Byte first, Byte second) {
        return static_cast<std::uint16_t>(first | second << 8);
    }

    static constexpr Byte large = 0x01;
    static constexpr std::size_t greatestInByte = mark::hole - 1;

    // Larger sizes take eight bytes, two aligned words. A shift and a mask spread the number, four bits per byte.
    using Digits = std::uint32_t;
    static constexpr Digits digitMask = 0x0F0F0F0F;
    static Digits* digitsBehind(Byte* first) {
        return reinterpret_cast<Digits*>((reinterpret_cast<std::uintptr_t>(first) + 5) & ~std::uintptr_t{3});
    }
    static Digits* digitsBefore(Byte* last) {
        return reinterpret_cast<Digits*>((reinterpret_cast<std::uintptr_t>(last) - 9) & ~std::uintptr_t{3});
    }
    static Byte sizeByte(std::size_t n) { return n <= greatestInByte ? static_cast<Byte>(n) : large; }
    /** The digit of number n that stands at `at`; 0 when none does. */
    static Byte digitAt(const Digits* d, const Byte* at, std::size_t n) {
        const auto i = static_cast<std::size_t>(at - reinterpret_cast<const Byte*>(d));
        return i < 2 * sizeof(Digits) ? static_cast<Byte>(n >> (8 * (i % 4) + 4 * (i / 4)) & 0xF) : Byte{0};
    }
    static std::size_t digits(Digits* d) { return loadAs(d) | loadAs(d + 1) << 4; }
    static void setDigits(Digits* d, std::size_t n) {
        const auto number = static_cast<Digits>(n);
        storeAs(d, number & digitMask);
        storeAs(d + 1, number >> 4 & digitMask);
    }

    Byte* bytes_;
};

} // namespace mpr::heap
