/*
    map.hpp - The granule map: one byte a granule that says all the allocator and the collector need to know.

    A byte is one of
        1ttt ttcc   head: the first granule of a block in use; flags and colour below
        7C          the first granule of a hole of two granules or more
        7D          the first granule of memory that is free but spoken for: a quick-listed block, a hole being purged,
                    a region's end
        7E          the last granule of a hole of two granules or more
        7F          a hole of one granule
        00..7B      elsewhere: a size (below), or nothing

    Sizes, in granules (a large region's block has its size in the region's header). The byte after a head (or 7D) holds the size when it is 2..7B. It is 01 when the size is larger:
    then four bytes follow with six bits each, least first. Anything else (another head, a mark of 7C up, 00) belongs to
    the neighbour, and the block has one granule. A hole keeps the same behind its first byte and, mirrored, before its
    last, so that either neighbour finds its other end in constant time; only the queue links lie in the hole itself.

    Invariants (checked by Heap::verify)
      - Bit 7 is set in heads only, and no byte that is not a first or last granule is 7C or more. So a scan for heads, or
        for the next boundary, may start anywhere and test eight bytes at a time.
      - Zeros that belong to no block are the unused part of an allocation context. What precedes them is a block allocated
        after the last rendezvous, or the hole that such a block became when it was freed by hand; never a dead block.
      - Two holes are never neighbours.

    Bytes are read by the collector's thread while mutators write others, so all access is atomic (relaxed: order comes
    from the heap's lock and the rendezvous).
 */
#pragma once

#include <atomic>
#include <bit>
#include <cstring>

#include "mpr/heap/granule.hpp"

namespace mpr::heap {

/** What a block is to the collector: bits 2 and 3 of its head. */
enum class Kind : Byte {
    leaf = 0x00,   // references nothing
    plain = 0x04,  // a manager for MARK and FREE; stores without a write barrier
    traced = 0x08, // a manager for MARK and FREE that marks fields inside the block only
    marked = 0x0C, // the same without FREE
};

namespace head {
inline constexpr Byte inUse = 0x80;
// Reserved for the write barrier (the block is in the log) and for handles and weak references that point here.
inline constexpr Byte logged = 0x40;
inline constexpr Byte referenced = 0x20;
inline constexpr Byte held = 0x10;
inline constexpr Byte kindMask = 0x0C;
/** Bit 1: old, it has survived a collection. Bit 0: parity, see Colours. */
inline constexpr Byte colourMask = 0x03;
inline constexpr Byte old = 0x02;
inline constexpr Byte parity = 0x01;
} // namespace head

namespace mark {
inline constexpr Byte hole = 0x7C;
inline constexpr Byte opaque = 0x7D;
inline constexpr Byte holeEnd = 0x7E;
inline constexpr Byte hole1 = 0x7F;
} // namespace mark

/**
    The colours in force. Flipping a parity makes all blocks of that age unmarked without touching them.
    A block is live when its parity is the one in force for its age; the marker gives `oldMarked`.
    While threads are stopped no block is born, so the newborn colour then means: reached, its references not yet.
 */
struct Colours {
    Byte youngParity = 0;
    Byte oldParity = 0;

    Byte newborn() const { return youngParity; }
    Byte oldMarked() const { return static_cast<Byte>(head::old | oldParity); }
    bool live(Byte h) const { return (h & head::parity) == ((h & head::old) ? oldParity : youngParity); }
};

/** Eight (on 32-bit: four) bytes of the map, tested together. Bits of answers stand at bit 0 of each byte. */
namespace swar {
using Word = std::uintptr_t;
inline constexpr Word ones = ~Word{0} / 0xFF;
inline constexpr unsigned bytes = sizeof(Word);

constexpr Word spread(Byte b) {
    return ones * b;
}
constexpr Word heads(Word w) {
    return (w >> 7) & ones;
}
constexpr Word held(Word w) {
    return (w >> 4) & ones;
}
/** Heads whose colour is not live. */
constexpr Word unmarked(Word w, Colours c) {
    const Word byAge = (w >> 1) & spread(static_cast<Byte>(c.youngParity ^ c.oldParity));
    return (w ^ spread(c.youngParity) ^ byAge) & (w >> 7) & ones;
}
/** Heads, and the marks 7C..7F: where something begins or ends. */
constexpr Word boundaries(Word w) {
    const Word low = (w & spread(0x7F)) + spread(0x04);
    return ((low | w) >> 7) & ones;
}
/** Heads whose manager wants MPR_MANAGE_FREE: kind plain or traced, that is bit 2 differs from bit 3. */
constexpr Word wantFree(Word w) {
    return ((w >> 2) ^ (w >> 3)) & (w >> 7) & ones;
}
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
static_assert(std::endian::native == std::endian::little, "scans count bytes from the least significant");
} // namespace swar

/** A view of map bytes by granule index. Costs nothing; copy freely. */
class GranuleMap {
public:
    explicit GranuleMap(Byte* bytes) : bytes_(bytes) {}

    [[gnu::always_inline]] Byte* at(std::size_t g) const { return bytes_ + g; }
    [[gnu::always_inline]] Byte get(std::size_t g) const { return load(bytes_ + g); }
    [[gnu::always_inline]] void set(std::size_t g, Byte b) const { store(bytes_ + g, b); }

    /** The word that holds granule g, which is a multiple of swar::bytes. */
    swar::Word word(std::size_t g) const {
        return __atomic_load_n(reinterpret_cast<swar::Word*>(bytes_ + g), __ATOMIC_RELAXED);
    }

    /** Turn a head into 7D. @return false when there is none: somebody else has done it. */
    bool claim(std::size_t g) const {
        const std::atomic_ref<Byte> first(bytes_[g]);
        Byte h = first.load(std::memory_order_relaxed);
        while (h & head::inUse) {
            if (first.compare_exchange_weak(h, mark::opaque, std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }

    /** Zero a word of which every byte belongs to the caller. */
    void clearWord(std::size_t g) const {
        __atomic_store_n(reinterpret_cast<swar::Word*>(bytes_ + g), swar::Word{0}, __ATOMIC_RELAXED);
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

    /** Size of the block (or 7D memory) that begins at g. */
    std::size_t blockSize(std::size_t g) const { return sizeBehind(bytes_ + g); }
    static std::size_t sizeBehind(Byte* first) {
        const Byte size = load(first + 1);
        if (size >= 2 && size <= greatestInByte) {
            return size;
        }
        return size == large ? digits(first + 2) : 1;
    }

    /**
        The same when it is less than granuleSize, else 0: for the mark stack, whose entries have only the bits for it that
        alignment leaves. May be asked of a large region's block, too, whose size is not in the map: 0.
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

    /** Write the size of a block of n granules whose bytes are all zero. The head is the caller's. */
    void setBlockSize(std::size_t g, std::size_t n) const { setSizeBehind(bytes_ + g, n); }
    static void setSizeBehind(Byte* first, std::size_t n) {
        if (n - 2 <= greatestInByte - 2) {
            store(first + 1, static_cast<Byte>(n));
        } else if (n > 1) {
            store(first + 1, large);
            setDigits(first + 2, n);
        }
    }

    /** Zero the head and the size of a block, not its interior, which is zero. */
    void clearBlock(std::size_t g, std::size_t n) const {
        set(g, 0);
        if (n > 1) {
            set(g + 1, 0);
        }
        if (n > greatestInByte) {
            setDigits(bytes_ + g + 2, 0);
        }
    }

    /** Zero what of a block's size stands at `end` and beyond, where its word was zeroed up to there. */
    void clearSizeBeyond(std::size_t g, std::size_t n, std::size_t end) const {
        if (g + 1 == end && n > 1) {
            set(g + 1, 0);
        }
        if (n > greatestInByte) {
            setDigits(bytes_ + g + 2, 0);
        }
    }

    /** Mark [g, g + n), all zero, as a hole. */
    void setHole(std::size_t g, std::size_t n) const {
        if (n == 1) {
            set(g, mark::hole1);
            return;
        }
        set(g, mark::hole);
        set(g + n - 1, mark::holeEnd);
        if (n > greatestInByte) {
            set(g + 1, large);
            setDigits(bytes_ + g + 2, n);
            set(g + n - 2, large);
            setDigits(bytes_ + g + n - 6, n);
        } else if (n > 2) {
            set(g + 1, static_cast<Byte>(n));
            set(g + n - 2, static_cast<Byte>(n));
        }
    }

    void clearHole(std::size_t g, std::size_t n) const {
        set(g, 0);
        set(g + n - 1, 0);
        if (n > 2) {
            set(g + 1, 0);
            set(g + n - 2, 0);
        }
        if (n > greatestInByte) {
            setDigits(bytes_ + g + 2, 0);
            setDigits(bytes_ + g + n - 6, 0);
        }
    }

    [[gnu::always_inline]] static bool beginsHole(Byte b) { return b == mark::hole || b == mark::hole1; }
    [[gnu::always_inline]] static bool endsHole(Byte b) { return b == mark::holeEnd || b == mark::hole1; }

    /** Size of the hole whose first granule is g. */
    std::size_t holeSize(std::size_t g) const {
        if (get(g) == mark::hole1) {
            return 1;
        }
        const Byte size = get(g + 1);
        return size == large ? digits(bytes_ + g + 2) : size == mark::holeEnd ? 2 : size;
    }

    /** Size of the hole whose last granule is g. */
    std::size_t holeSizeBefore(std::size_t g) const {
        if (get(g) == mark::hole1) {
            return 1;
        }
        const Byte size = get(g - 1);
        return size == large ? digits(bytes_ + g - 5) : size == mark::hole ? 2 : size;
    }

private:
    static constexpr Byte large = 0x01;
    static constexpr std::size_t greatestInByte = mark::hole - 1;

    // Not std::atomic_ref, and always inline: optimising for size, GCC would call functions of one instruction.
    [[gnu::always_inline]] static Byte load(Byte* b) { return __atomic_load_n(b, __ATOMIC_RELAXED); }
    [[gnu::always_inline]] static void store(Byte* b, Byte value) { __atomic_store_n(b, value, __ATOMIC_RELAXED); }

    static std::size_t digits(Byte* b) {
        return static_cast<std::size_t>(load(b)) | static_cast<std::size_t>(load(b + 1)) << 6 |
               static_cast<std::size_t>(load(b + 2)) << 12 | static_cast<std::size_t>(load(b + 3)) << 18;
    }
    static void setDigits(Byte* b, std::size_t n) {
        store(b, n & 0x3F);
        store(b + 1, (n >> 6) & 0x3F);
        store(b + 2, (n >> 12) & 0x3F);
        store(b + 3, (n >> 18) & 0x3F);
    }

    Byte* bytes_;
};

} // namespace mpr::heap
