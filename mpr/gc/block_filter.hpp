// SPDX-License-Identifier: MIT
/*
    block_filter.hpp - A filter that tells, in two shifts and a load, that a pause surely need not reach an address.

    Nearly everything that old blocks reference is old and marked. To know this of a place a bit suffices, and the bits
    of all regions lie side by side. They stay in a cache, whereas looking into the maps loads a byte from anywhere in
    the heap. There are two kinds:
      old      A bit for each line (region.hpp) without young blocks, for minor collections: some kilobytes.
      marked   A bit for each granule with the head of a marked block, for the last pause of a major collection, which
               traces all plain blocks again, where those are many. It costs a byte for 128 bytes of the heap, and a
               look at all maps.
    Nothing is known of addresses outside all regions. They are looked at, and named if they should not be referenced.

    Addresses are folded, as in a Bloom filter with one hash (B. Bloom, "Space/Time Trade-offs in Hash Coding with
    Allowable Errors", CACM 1970). Where regions share a bit, it is set only if it would be set for each of them. So a
    block may be looked at in vain, but is never passed over by mistake. Sharing begins in heaps beyond a gigabyte
    (marked: half of one).
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "mpr/heap/heap.hpp"
#include "mpr/os/os.hpp"
#include "mpr/os/pages.hpp"

namespace mpr::gc {

class BlockFilter {
public:
    enum class Kind : std::uint8_t { old, marked };

    explicit constexpr BlockFilter(Kind kind)
        : shift_(kind == Kind::old ? lineShift : heap::granuleShift),
          mask_((kind == Kind::old ? oldBytes : markedBytes) / sizeof(Word) - 1) {}

    /** @return false when there is no memory, and so no filter. */
    bool open() {
        if (!words_) {
            words_ = static_cast<Word*>(os::reserveSparse(bytes()));
        }
        return words_ != nullptr;
    }
    void close() {
        if (words_) {
            os::releaseSparse(std::exchange(words_, nullptr), bytes());
        }
    }
    explicit operator bool() const { return words_ != nullptr; }

    /** Fill a filter of kind old. Threads are stopped and contexts closed. @return false when there is no memory: it is of no use. */
    bool fillOld(heap::Heap& heap) {
        return fill(heap, [](heap::Region* region, std::size_t i) { return ~region->sweepYoung.word(i); });
    }
    /** Fill a filter of kind marked, in the same way. */
    bool fillMarked(heap::Heap& heap) {
        const bool filled = fill(heap, [colours = heap.colours()](heap::Region* region, std::size_t i) {
            const heap::GranuleMap map = region->map();
            Word marked = 0;
            for (unsigned bit = 0; bit < wordBits; bit += heap::swar::bytes) {
                marked |= heap::swar::gather(heap::swar::marked(map.word(i * wordBits + bit), colours)) << bit;
            }
            return marked;
        });
        // Pinned blocks lie elsewhere, where a bit may be another block's. The filter of the old may pass over them.
        if (!filled) {
            return false;
        }
        if (const heap::Annex* annex = heap.annex()) {
            const auto clear = [](void* self, heap::Byte* block, std::size_t, heap::Byte) {
                static_cast<BlockFilter*>(self)->clear(block);
            };
            annex->forEachBlock(clear, this);
        }
        return true;
    }

    /** Whether a block at this address, if there is one, surely need not be reached. */
    bool passesOver(const void* block) const {
        const std::uintptr_t piece = reinterpret_cast<std::uintptr_t>(block) >> shift_;
        return (words_[piece / wordBits & mask_] >> (piece % wordBits) & 1) != 0;
    }

private:
    using Word = heap::LineSet::Word;
    static constexpr unsigned lineShift = heap::granuleShift + heap::LineSet::lineShift; // log2 of bytes in a line
    static constexpr std::size_t wordBits = heap::LineSet::wordBits;
    // A bit per kilobyte of one gigabyte, which a private cache holds; and a bit per granule of half of one. With the
    // second the worst pause of `gc_mpr pause_1m_plain` takes 10-14 ms instead of 20-27.
    static constexpr std::size_t oldBytes = sizeof(void*) == 8 ? 128 * 1024 : 16 * 1024;
    static constexpr std::size_t markedBytes = sizeof(void*) == 8 ? 4096 * 1024 : 1024 * 1024;
    static constexpr std::size_t greatestRegion = std::size_t{1} << heap::greatestRegionShift;
    static_assert(oldBytes * 8 % (greatestRegion >> lineShift) == 0 &&
                      markedBytes * 8 % (greatestRegion >> heap::granuleShift) == 0,
                  "an ordinary region's words lie in a row");

    std::size_t bytes() const { return (mask_ + 1) * sizeof(Word); }

    void clear(const void* block) {
        const std::uintptr_t piece = reinterpret_cast<std::uintptr_t>(block) >> shift_;
        keep(words_[piece / wordBits & mask_], ~(Word{1} << piece % wordBits));
    }
    /** Clear other bits. Of a word without any nothing is known, and it need not be memory that may be written. */
    static void keep(Word& word, Word bits) {
        if (word != 0) {
            word &= bits;
        }
    }

    /**
        Set the words of each region: wordAt(region, i) is the i-th. Nothing is known of a large region. Of one that a foreign
        thread adds meanwhile bits are only cleared: its words were not backed.
     */
    template <typename WordAt>
    bool fill(heap::Heap& heap, WordAt wordAt) {
        bool backed = true;
        each(heap, [&](heap::Region*, Word* word, std::size_t count) {
            backed = backed && os::backSparse(words_, bytes(), word, count * sizeof(Word));
            if (backed) {
                std::fill_n(word, count, ~Word{0});
            }
        });
        if (!backed) {
            return false;
        }
        each(heap, [&](heap::Region* region, Word* word, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) {
                keep(word[i], region->isLarge() ? Word{0} : wordAt(region, i));
            }
        });
        return true;
    }

    /** Call visit(region, words, count) for each region. A large one has one word: that in which its block begins. */
    template <typename Visit>
    void each(heap::Heap& heap, Visit visit) {
        for (heap::Region* region = heap.firstRegion(); region; region = heap.nextRegion(region)) {
            const std::size_t first = region->isLarge() ? region->firstGranule : 0;
            const std::uintptr_t piece = reinterpret_cast<std::uintptr_t>(region->address(first)) >> shift_;
            visit(region, words_ + (piece / wordBits & mask_),
                  region->isLarge() ? 1 : (region->length >> shift_) / wordBits);
        }
    }

    // Written on duty, by one thread. Helpers come to it with the lock of SharedWork.
    Word* words_ = nullptr;
    unsigned shift_; // log2 of bytes in a piece
    std::size_t mask_;
};

} // namespace mpr::gc
