/*
    line_filter.hpp - Which lines of the heap may hold young blocks, for any address in a shift and a load.

    Most of what a minor collection's blocks reference is old: what it traces again, and the young, too. To say so it is
    enough to know that the line (region.hpp) has no young block; the lines' bits of all regions lie here side by side, a
    few kilobytes that stay in the cache, where looking into the maps would take a byte from anywhere in the heap.

    Addresses are folded (a Bloom filter with one hash: B. Bloom, "Space/Time Trade-offs in Hash Coding with Allowable
    Errors", CACM 1970), so a line may be taken for young, never for old. Only what heaps beyond a gigabyte fold together
    is.
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "mpr/heap/heap.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

class LineFilter {
public:
    /** Without memory there is no filter. */
    void open() { words_ = static_cast<Word*>(os::reserve(bytes, os::pageSize())); }
    void close() {
        if (words_) {
            os::release(words_, bytes);
        }
    }
    explicit operator bool() const { return words_ != nullptr; }

    /** Threads are stopped and contexts closed: note the young lines. */
    void fill(heap::Heap& heap) {
        for (heap::Region* region = heap.firstRegion(); region; region = heap.nextRegion(region)) {
            std::fill_n(wordOf(region), wordsOf(region), Word{0});
        }
        for (heap::Region* region = heap.firstRegion(); region; region = heap.nextRegion(region)) {
            add(region);
        }
    }

    bool mayBeYoung(const void* block) const { return (*wordOf(block) >> (lineOf(block) % wordBits) & 1) != 0; }

private:
    using Word = heap::LineSet::Word;
    static constexpr unsigned lineShift = heap::granuleShift + heap::LineSet::lineShift; // log2 of bytes in a line
    static constexpr std::size_t wordBits = heap::LineSet::wordBits;
    static constexpr std::size_t bytes = sizeof(void*) == 8 ? 128 * 1024 : 16 * 1024;
    static constexpr std::size_t words = bytes / sizeof(Word);
    static_assert((words - 1) % ((std::size_t{1} << heap::greatestRegionShift >> lineShift) / wordBits) ==
                      (std::size_t{1} << heap::greatestRegionShift >> lineShift) / wordBits - 1,
                  "an ordinary region's words lie in a row");

    static std::uintptr_t lineOf(const void* address) { return reinterpret_cast<std::uintptr_t>(address) >> lineShift; }
    Word* wordOf(const void* address) const { return words_ + lineOf(address) / wordBits % words; }
    /** A large region matters where its block begins. */
    static std::size_t wordsOf(const heap::Region* region) {
        return region->isLarge() ? 1 : (region->span >> lineShift) / wordBits;
    }

    void add(heap::Region* region) {
        Word* word = wordOf(region);
        if (region->isLarge()) {
            const void* block = region->address(region->firstGranule);
            *wordOf(block) |= Word{1} << (lineOf(block) % wordBits);
            return;
        }
        for (std::size_t i = 0; i < wordsOf(region); ++i) {
            word[i] |= region->sweepYoung.word(i);
        }
    }

    Word* words_ = nullptr;
};

} // namespace mpr::gc
