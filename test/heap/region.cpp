// SPDX-License-Identifier: MIT
/*
    test/heap/region.cpp - Sets of lines and of chunks, and what a region says of an address: as counting one by one says it.
 */
#include "mpr/heap/region.hpp"

#include "test/support/pattern.hpp"
#include "test/support/stepped_heap.hpp"

#include <algorithm>
#include <utility>
#include <vector>

using namespace mpr::heap;
using test::Random;
using test::SteppedHeap;

namespace {

constexpr size_t granules = 64 * 150;
constexpr size_t line = size_t(1) << LineSet::lineShift;

struct Lines {
    Lines() : words(LineSet::wordsFor(granules)) { set.open(words.data()); }
    bool has(size_t g) const { return set.any(g & ~(line - 1), (g & ~(line - 1)) + line); }

    std::vector<LineSet::Word> words;
    LineSet set;
};

/* Bits that set says of chunks, by asking whether each shares a granule with [from, to). */
template <typename Shares>
uint64_t chunksWhere(const Region &region, Shares shares) {
    uint64_t found = 0;
    for (unsigned chunk = 0; chunk < 64; chunk++) {
        const size_t begin = size_t(chunk) << region.chunkShift;
        if (begin < region.endGranule && shares(begin, begin + (size_t(1) << region.chunkShift))) {
            found |= uint64_t(1) << chunk;
        }
    }
    return found;
}

} // namespace

TEST_CASE("runs of ones in a word are found, up to its last bit", "[heap][region][port]") {
    const auto runs = [](uint64_t word) {
        std::vector<std::pair<unsigned, unsigned>> found;
        forRuns(word, [&](unsigned first, unsigned count) { found.emplace_back(first, count); });
        return found;
    };
    using Runs = std::vector<std::pair<unsigned, unsigned>>;
    CHECK(runs(0).empty());
    CHECK(runs(0b1011'0001) == Runs{{0, 1}, {4, 2}, {7, 1}});
    CHECK(runs(~uint64_t(0)) == Runs{{0, 64}});
    CHECK(runs(uint64_t(1) << 63 | 1) == Runs{{0, 1}, {63, 1}});
    CHECK(runs(~uint64_t(0) << 60) == Runs{{60, 4}});
}

TEST_CASE("lines of a range of granules are added, and no others", "[heap][region][port]") {
    Random random(1);
    for (int round = 0; round < 500; round++) {
        Lines lines;
        const size_t from = random.below(granules);
        const size_t most = std::min<size_t>(granules - from, random.chance(50) ? 200 : granules);
        const size_t to = from + 1 + random.below(most), alone = random.below(granules);
        lines.set.add(from, to);
        lines.set.add(alone);
        for (size_t g = 0; g < granules; g += line) {
            REQUIRE(lines.has(g) == ((g + line > from && g < to) || alone / line == g / line));
        }
    }
}

TEST_CASE("lines are removed from a set, and no others", "[heap][region][port]") {
    Random random(2);
    for (int round = 0; round < 500; round++) {
        Lines lines;
        lines.set.add(0, granules);
        const size_t from = line * random.below(granules / line);
        const size_t to = from + line * random.below((granules - from) / line + 1);
        lines.set.remove(from, to);
        for (size_t g = 0; g < granules; g += line) {
            REQUIRE(lines.has(g) == (g < from || g >= to));
        }
        REQUIRE(lines.set.any(0, granules) == (to - from < granules));
        REQUIRE_FALSE(lines.set.any(from, to));
    }
}

TEST_CASE("ranges of lines in a word are told in granules", "[heap][region][port]") {
    std::vector<std::pair<size_t, size_t>> found;
    LineSet::forRanges(2, LineSet::Word{0b1101}, [&](size_t from, size_t to) { found.emplace_back(from, to); });
    const size_t begin = 2 * LineSet::wordBits * line;
    CHECK(found == std::vector<std::pair<size_t, size_t>>{{begin, begin + line}, {begin + 2 * line, begin + 4 * line}});
}

TEST_CASE("chunks that granules touch, fill or reach up to", "[heap][region][port]") {
    SteppedHeap stepped;
    Region &region = *stepped.heap().firstRegion();
    Random random(3);
    for (int round = 0; round < 2000; round++) {
        const size_t from = random.below(region.endGranule);
        const size_t to = from + 1 + random.below(region.endGranule - from);
        REQUIRE(region.chunksTouched(from, to) ==
                chunksWhere(region, [&](size_t begin, size_t end) { return begin < to && end > from; }));
        REQUIRE(region.chunksInside(from, to) ==
                chunksWhere(region, [&](size_t begin, size_t end) { return begin >= from && end <= to; }));
        REQUIRE(region.chunksUpTo(to) == chunksWhere(region, [&](size_t begin, size_t) { return begin < to; }));
    }
}

TEST_CASE("granules are committed when every chunk that they touch is", "[heap][region][port]") {
    SteppedHeap stepped;
    Region &region = *stepped.heap().firstRegion();
    const uint64_t was = region.committed;
    Random random(4);
    for (int round = 0; round < 2000; round++) {
        region.committed = random.next() | random.next() | 1;
        const size_t from = random.below(region.endGranule);
        const size_t to = from + 1 + random.below(std::min<size_t>(region.endGranule - from, 1000));
        REQUIRE(region.allCommitted(from, to) == ((region.chunksTouched(from, to) & ~region.committed) == 0));
    }
    region.committed = was;
}

TEST_CASE("the bytes of a set of chunks are those of its chunks, the last one as long as it is",
          "[heap][region][port]") {
    SteppedHeap stepped;
    Region region; // as if it ended inside of its fifth chunk
    static_cast<Shape &>(region) = *stepped.heap().firstRegion();
    region.lastChunk = uint64_t(1) << 4;
    region.lastMissing = 3 * granuleSize;
    const size_t chunk = region.chunkBytes();
    CHECK(region.bytesOf(0b1) == chunk);
    CHECK(region.bytesOf(0b1101) == 3 * chunk);
    CHECK(region.bytesOf(0b1'1001) == 3 * chunk - region.lastMissing);
    CHECK(region.bytesOf(0b1'0000) == chunk - region.lastMissing);
}

TEST_CASE("an address is a block's where one begins, in use", "[heap][region][port]") {
    SteppedHeap stepped;
    void *const block = stepped.make(5);
    Region *const region = stepped.regionOf(block);
    const size_t g = region->granuleOf(block);
    CHECK(region->isBlock(block));
    CHECK(region->blockSize(g) == 5);
    CHECK(region->extentAt(g) == 5);
    CHECK(region->begins(g));
    for (size_t i = 1; i < 5 * granuleSize; i++) {
        REQUIRE_FALSE(region->isBlock(static_cast<char *>(block) + i));
    }
    CHECK_FALSE(region->begins(g + 1));
    CHECK_FALSE(region->isBlock(region));
    CHECK_FALSE(region->isBlock(region->address(region->endGranule)));
    CHECK(region->begins(region->endGranule));
    CHECK_FALSE(region->begins(region->endGranule + size_t(1)));
    stepped.free(block);
    CHECK_FALSE(region->isBlock(block));
}

TEST_CASE("an address in a span that is to be filled once more says nothing", "[heap][region][port]") {
    SteppedHeap stepped;
    void *block = stepped.make(4);
    while (!stepped.local.contexts[0].span) {
        block = stepped.make(4);
    }
    Region *const region = stepped.regionOf(block);
    stepped.unmark(true);
    CHECK(region->isBlock(block));
    stepped.sweep(Sweep::all);
    CHECK(region->spans.isUncleared(region->granuleOf(block)));
    CHECK_FALSE(region->isBlock(block));
}

TEST_CASE("the two ends of a hole have to agree", "[heap][region][port]") {
    SteppedHeap stepped;
    stepped.makeApart(100);
    void *const block = stepped.makeApart(300);
    stepped.makeApart(100);
    Region *const region = stepped.regionOf(block);
    const size_t g = region->granuleOf(block);
    stepped.freeApart(block);
    size_t n = 0;
    REQUIRE(region->agreedHoleSize(g, n));
    CHECK(n == 300);
    CHECK(region->extentAt(g) == 300);
    if (FreeQueues::checksLinks) {
        const Byte was = region->map().get(g + 299);
        region->map().set(g + 299, 0);
        CHECK_FALSE(region->agreedHoleSize(g, n));
        CHECK(region->extentAt(g) == 0);
        region->map().set(g + 299, was);
    }
}
