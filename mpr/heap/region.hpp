// SPDX-License-Identifier: MIT
/*
    region.hpp - A region: memory from the system or a caller's buffer, with its granule map in front.

        base                       firstGranule                                   endGranule
        | Region | granule map ... | blocks and holes .............................| (one map byte more: 7D)

    Map index 0 is the region's own first granule: the map's first entries describe the header and the map itself and
    stay 00. A region from the system is aligned to the region size. A large region holds one block that no ordinary
    region can hold; its map has the few bytes that this block needs.

    Where there are pages, memory is accounted by chunk, a 64th of an ordinary region: `committed` has a bit for each
    chunk that may be backed. Chunks inside a hole are committed when a block or a context first reaches them, and given
    back by a purge.

    Invariant: a chunk that holds any part of a block, of a context or of the first two granules of a hole is committed.
    Invariant: header fields that are read without the heap's lock are written before the region enters the table; the
    size of a large block is written before its head.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mpr/heap/lane.hpp"
#include "mpr/heap/map.hpp"
#include "mpr/heap/span.hpp"
#include "mpr/heap/queues.hpp"

namespace mpr::heap {

enum class Origin : Byte {
    system, // reserved for ordinary blocks
    large,  // reserved for one block
    buffer, // the caller's memory
};

/** Call f(first, count) for each run of ones in a word. */
template <typename Word, typename F>
void forRuns(Word word, F&& f) {
    while (word != 0) {
        const auto first = static_cast<unsigned>(std::countr_zero(word));
        const auto count = static_cast<unsigned>(std::countr_one(static_cast<Word>(word >> first)));
        f(first, count);
        word = first + count < 8 * sizeof(Word) ? word & (~Word{0} << (first + count)) : 0;
    }
}

/**
    A set of a region's lines that any thread may add to. A line is 64 granules, whose map bytes are one cache line: the
    unit of a minor collection's sweep. The bits lie behind the map; a large region has none. Relaxed: nobody looks
    before the set has been put aside, while threads are stopped and the lock is held.
 */
class LineSet {
public:
    using Word = std::uintptr_t;
    static constexpr unsigned lineShift = 6;
    static constexpr std::size_t wordBits = 8 * sizeof(Word);

    static constexpr std::size_t wordsFor(std::size_t granules) {
        return !os::hasGenerations ? 0 : ((granules >> lineShift) + wordBits) / wordBits;
    }
    void open(void* zeroedWords) { words_ = static_cast<Word*>(zeroedWords); }
    bool isAt(const void* words) const { return words_ == words; }

    void add(std::size_t g) {
        if constexpr (os::hasGenerations) {
            addBits(g >> lineShift >> wordShift, Word{1} << ((g >> lineShift) & (wordBits - 1)));
        }
    }
    /** Add the lines of granules [from, to), which is not empty. */
    MPR_INLINE void add(std::size_t from, std::size_t to) {
        if constexpr (!os::hasGenerations) {
            return;
        }
        const std::size_t first = from >> lineShift;
        const std::size_t last = (to - 1) >> lineShift;
        const Word low = ~Word{0} << (first & (wordBits - 1));
        const Word high = ~Word{0} >> (wordBits - 1 - (last & (wordBits - 1)));
        std::size_t word = first >> wordShift;
        const std::size_t end = last >> wordShift;
        if (word == end) {
            addBits(word, low & high);
            return;
        }
        addBits(word, low);
        while (++word < end) {
            addBits(word, ~Word{0});
        }
        addBits(end, high);
    }

    // For the collector, once nobody adds to the set any more:
    Word word(std::size_t i) const { return words_[i]; }
    void clear(std::size_t i) { words_[i] = 0; }
    /** Whether a line in [from, to), whole lines, is in the set. */
    bool any(std::size_t from, std::size_t to) const {
        bool found = false;
        forWords(from, to, [&](std::size_t i, Word bits) { found = found || (words_[i] & bits) != 0; });
        return found;
    }
    /** Remove the lines of granules [from, to), whole lines. */
    void remove(std::size_t from, std::size_t to) {
        forWords(from, to, [&](std::size_t i, Word bits) { words_[i] &= ~bits; });
    }
    /** Call f(from, to), in granules, for each run among some lines of word i. A region may end before `to`. */
    template <typename F>
    static void forRanges(std::size_t i, Word lines, F&& f) {
        forRuns(lines, [&](unsigned first, unsigned count) {
            const std::size_t from = (i * wordBits + first) << lineShift;
            f(from, from + (std::size_t{count} << lineShift));
        });
    }

private:
    static constexpr unsigned wordShift = sizeof(Word) == 8 ? 6 : 5;

    /** Call f(word, bits) for the words with the lines of [from, to). */
    template <typename F>
    static void forWords(std::size_t from, std::size_t to, F&& f) {
        for (std::size_t line = from >> lineShift; line < to >> lineShift;) {
            const std::size_t at = line & (wordBits - 1);
            const std::size_t count = std::min(wordBits - at, (to >> lineShift) - line);
            f(line >> wordShift, ~Word{0} >> (wordBits - count) << at);
            line += count;
        }
    }

    /** Relaxed, as in PieceSet: the next rendezvous orders what a thread adds. */
    void addBits(std::size_t i, Word bits) {
        const std::atomic_ref<Word> word(words_[i]);
        if ((~word.load(std::memory_order_relaxed) & bits) != 0) {
            word.fetch_or(bits, std::memory_order_relaxed);
        }
    }
    Word* words_ = nullptr;
};

class Heap;

/** Of a region with pinned blocks: the heap that it belongs to, which is not the collector's (annex.hpp). */
class Home {
public:
    Heap* heap() const { return heap_; }
    void set(Heap* heap) { heap_ = heap; }

private:
    Heap* heap_ = nullptr;
};
/** Without pages no address leads to such a region but by Annex::find. */
struct NoHome {
    static Heap* heap() { return nullptr; }
    static void set(Heap*) {}
};

/** What all ordinary regions from the system have in common. */
struct Shape {
    std::size_t length = 0; // bytes from the region's start
    std::uint32_t firstGranule = 0;
    std::uint32_t endGranule = 0;
    std::uint64_t lastChunk = 0; // the bit of the last chunk
    std::size_t lastMissing = 0; // bytes by which the last chunk is smaller than others
    unsigned chunkShift = 0;     // log2 of granules in a chunk
    bool operator==(const Shape&) const = default;
};

struct Region : Shape {
    static constexpr unsigned chunks = 64;

    Region* next = nullptr;
    Region* previous = nullptr;
    std::uint64_t committed = 0;
    std::size_t largeGranules = 0; // size of the block of a large region
    Origin origin = Origin::system;
    Sort sort = Sort::small;
    bool apart = false;           // large, or with pinned blocks: mprFree looks more closely
    bool pristine = false;        // large, its block the first: the system has made zeros of its memory
    FreeQueues* queues = nullptr; // where its holes stand; follows from the sort
    [[no_unique_address]] std::conditional_t<os::hasPages, Home, NoHome> home; // set before the region can be found
    /** Chunks with a block that wants MPR_MANAGE_FREE. Every chunk with a plain block is among them. */
    PieceSet wantsFree;
    /** Lines in which a block may have been made or stayed young: since the last rendezvous; before it. */
    LineSet young, sweepYoung;
    Spans spans;
    /** For the collector, until the end of the sweep: the chunks where dead blocks may want MPR_MANAGE_FREE. */
    std::uint64_t scanForFree = 0;
    /**
        For markers: between these granules lie blocks that were reached but not traced, for want of mark stack.
        Relaxed: the marker that looks has waited for the others.
     */
    os::Shared<std::uint32_t> greyFrom{~0u};
    os::Shared<std::uint32_t> greyTo{0};

    static constexpr std::size_t mapOffset();

    /** The map begins at a fixed offset, so an address leads to its map byte by arithmetic alone. */
    GranuleMap map() { return GranuleMap(reinterpret_cast<Byte*>(this) + mapOffset()); }

    /** One byte more than granules, for the mark that ends the map, rounded up: scans read whole words. */
    static constexpr std::size_t mapBytesFor(std::size_t granules) { return roundUp(granules + 1, swar::bytes); }
    /** The start of the sets of lines, behind the map. */
    Byte* lines() { return map().at(mapBytesFor(endGranule)); }

    std::size_t granuleOf(const void* address) const {
        return static_cast<std::size_t>(static_cast<const Byte*>(address) - reinterpret_cast<const Byte*>(this)) >>
               granuleShift;
    }
    /** The granule of any address. Out of range for one that is not aligned, or not in the region. */
    std::size_t indexOf(const void* address) const {
        return std::rotr(reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(this),
                         static_cast<int>(granuleShift));
    }
    Byte* address(std::size_t g) { return reinterpret_cast<Byte*>(this) + (g << granuleShift); }

    bool contains(const void* address) const {
        // Relaxed: a large region may become shorter behind its block, where no other address is asked for.
        return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(this) <
               __atomic_load_n(&length, __ATOMIC_RELAXED);
    }

    bool isLarge() const { return os::hasPages && origin == Origin::large; }

    bool isApart() const { return os::hasPages && apart; }

    std::size_t blockSize(std::size_t g) { return isLarge() ? largeGranules : map().blockSize(g); }

    std::size_t holeSize(std::size_t g) { return map().get(g) == mark::hole1 ? 1 : wideHoleSize(g); }
    MPR_INLINE std::size_t wideHoleSize(std::size_t g) {
        return GranuleMap::sizesInMap ? map().wideHoleSize(g) : reinterpret_cast<WideHole*>(address(g))->size;
    }
    /** Size of the hole that begins at g. @return false when its two ends disagree, so that nobody can tell. */
    MPR_INLINE bool agreedHoleSize(std::size_t g, std::size_t& n) {
        if (!FreeQueues::checksLinks || map().get(g) == mark::hole1) {
            n = holeSize(g);
            return true;
        }
        return map().agreedHoleSize(g, endGranule, n);
    }
    [[gnu::always_inline]] void setWideHole(std::size_t g, std::size_t n) {
        MPR_ASSERT(n >= 2 && g >= firstGranule && g + n <= endGranule);
        map().setWideHole(g, n);
        if constexpr (!GranuleMap::sizesInMap) {
            reinterpret_cast<WideHole*>(address(g))->size = n;
        }
    }

    /** Whether a block, a hole or a 7D begins at g. Any g. */
    bool begins(std::size_t g) {
        const Byte b = g <= endGranule ? map().get(g) : Byte{0};
        return b >= mark::hole && b != mark::holeEnd;
    }

    /** Granules in the block, hole or 7D memory that begins at g; 0 when the map cannot be believed. */
    std::size_t extentAt(std::size_t g) {
        std::size_t n = 0;
        if (GranuleMap::beginsHole(map().get(g))) {
            return agreedHoleSize(g, n) ? n : 0;
        }
        n = map().blockSize(g);
        return n <= endGranule - g ? n : 0;
    }

    /**
        The head at any address, of a block in use or freed while it may be traced; 0 when there is none. Before the
        first granule the map is 00. The map is read after isUncleared, which acquires: in the other order, a thread
        that clears a stale span in between would give the head of a dead block a meaning.
     */
    Byte headAt(const void* address) {
        const std::size_t g = indexOf(address);
        const bool mayBegin = g < endGranule && (!isLarge() || g == firstGranule) && !spans.isUncleared(g);
        const Byte h = mayBegin ? map().get(g) : Byte{0};
        return (h & head::inUse) ? h : Byte{0};
    }
    /** Whether the address is the start of a block in use. Any address. */
    bool isBlock(const void* address) { return isBlock(headAt(address)); }
    static bool isBlock(Byte h) { return (h & head::inUse) && !head::isGone(h); }

    unsigned chunkCount() const {
        return !os::hasPages || isLarge() ? 1 : static_cast<unsigned>(((endGranule - 1u) >> chunkShift) + 1);
    }
    /** First granule of a chunk, but not before the first block. A large region's block counts as chunk 0. */
    std::size_t chunkBegin(unsigned chunk) const {
        return os::hasPages ? std::max(std::size_t{chunk} << chunkShift, std::size_t{firstGranule}) : firstGranule;
    }
    std::size_t chunkEnd(unsigned chunk) const {
        const std::size_t end = std::size_t{chunk + 1} << chunkShift;
        return !os::hasPages || isLarge() ? endGranule : std::min(end, std::size_t{endGranule});
    }

    /** Call f(granule) where answer(granule, word) has a bit, except where the map has no meaning: see GranuleMap. */
    template <typename Answer, typename F>
    void forEach(unsigned chunk, Answer&& answer, F&& f) {
        map().forEach(chunkBegin(chunk), chunkEnd(chunk), answer, [&](std::size_t g) {
            if (!spans.isUncleared(g)) [[likely]] {
                f(g);
            }
        });
    }

    std::size_t chunkBytes() const { return granuleSize << chunkShift; }

    /** Bytes in a set of chunks. The region may end inside its last chunk. */
    std::size_t bytesOf(std::uint64_t set) const {
        // A set is nearly always one run, and a population count is a loop on small processors and a call on others.
        const std::uint64_t low = set >> (std::countr_zero(set) & (chunks - 1));
        const auto count = static_cast<std::size_t>((low & (low + 1)) == 0 ? std::bit_width(low) : std::popcount(low));
        const std::size_t whole = count << (chunkShift + granuleShift);
        return set < lastChunk ? whole : whole - lastMissing;
    }

    void noteWantsFree(std::size_t g) {
        if constexpr (os::hasPages) { // else there is one chunk, and it may have some
            wantsFree.add(g >> chunkShift);
        }
    }
    /** Note that the block at granule g is young again. A large block needs no note. Not for hot paths. */
    void noteYoung(std::size_t g) {
        if (!isLarge()) {
            young.add(g);
        }
    }
    std::size_t lineWords() const { return isLarge() ? 0 : LineSet::wordsFor(endGranule); }

    /** The header's fields agree with one another, and the map ends in its mark. */
    void check() {
        MPR_ASSERT(isLarge() || (firstGranule < endGranule && map().get(endGranule) == mark::opaque));
        MPR_ASSERT(length >= std::size_t{isLarge() ? firstGranule : endGranule} << granuleShift);
        MPR_ASSERT(!os::hasPages || isLarge() || (committed & 1) != 0);
        MPR_ASSERT(!next || next->previous == this);
        spans.check();
    }

    /** Whether every chunk that granules [from, to) touch is committed. */
    bool allCommitted(std::size_t from, std::size_t to) const {
        if constexpr (!os::hasPages) {
            return true;
        }
        const std::size_t first = from >> chunkShift;
        const std::size_t last = (to - 1) >> chunkShift;
        return (~committed >> first) << (chunks - 1 - (last - first)) == 0;
    }
    /** The chunks that granules [from, to) of the region touch. */
    std::uint64_t chunksTouched(std::size_t from, std::size_t to) const {
        if constexpr (!os::hasPages) {
            return 0;
        }
        MPR_ASSERT(from < to && to <= endGranule);
        const std::size_t first = from >> chunkShift;
        const std::size_t last = (to - 1) >> chunkShift;
        return (~std::uint64_t{0} >> (chunks - 1 - (last - first))) << first;
    }
    /** The chunks that granules [0, to) touch. */
    std::uint64_t chunksUpTo(std::size_t to) const { return (std::uint64_t{2} << ((to - 1) >> chunkShift)) - 1; }
    /** The chunks that lie wholly between granules from and to; 0 when there is none. */
    std::uint64_t chunksInside(std::size_t from, std::size_t to) const {
        const std::size_t first = (from + (std::size_t{1} << chunkShift) - 1) >> chunkShift;
        const std::size_t end = to >> chunkShift;
        return first < end ? (~std::uint64_t{0} >> (chunks - (end - first))) << first : 0;
    }
};

constexpr std::size_t Region::mapOffset() {
    return roundUp(sizeof(Region), 64);
}

} // namespace mpr::heap
