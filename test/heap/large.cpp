// SPDX-License-Identifier: MIT
/*
    test/heap/large.cpp - Large regions: their memory is zero at first, and waits for another block when theirs has gone.
 */
#include "mpr/heap/large.hpp"

#include "test/catch.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <algorithm>
#include <vector>

using namespace mpr::heap;
using mpr::os::Lock;
using mpr::os::Locked;

namespace {

struct LargeRegion : Region {
    explicit LargeRegion(size_t bytes) {
        origin = Origin::large;
        length = bytes;
    }
};

/* The heap's lock, and those that wait. */
struct Waiting {
    Lock lock;
    Locked locked{lock};
    RetiredRegions retired{lock};
};
} // namespace

TEST_CASE("retired regions: a block gets one that is large enough, and at most a quarter larger", "[heap][large]") {
    Waiting waiting;
    LargeRegion small(1000), large(1251);
    waiting.retired.add(&large);
    CHECK(waiting.retired.take(1000) == nullptr);
    waiting.retired.add(&small);
    CHECK(waiting.retired.bytes() == 2251);
    CHECK(waiting.retired.take(1001) == &large);
    CHECK(waiting.retired.take(1001) == nullptr);
    CHECK(waiting.retired.take(1000) == &small);
    CHECK(waiting.retired.take(1000) == nullptr);
    CHECK(waiting.retired.bytes() == 0);
}

TEST_CASE("retired regions: one whose memory has gone is given to nobody", "[heap][large]") {
    Waiting waiting;
    LargeRegion first(1000), second(1000);
    waiting.retired.add(&first);
    waiting.retired.add(&second);
    waiting.retired.remove(&first);
    CHECK(waiting.retired.bytes() == 1000);
    CHECK(waiting.retired.take(1000) == &second);
    CHECK(waiting.retired.take(1000) == nullptr);
}

TEST_CASE("retired regions: those that are not remembered are counted all the same", "[heap][large]") {
    Waiting waiting;
    LargeRegion regions[] = {LargeRegion(100), LargeRegion(100), LargeRegion(100), LargeRegion(100), LargeRegion(700)};
    for (LargeRegion &region : regions) {
        waiting.retired.add(&region);
    }
    CHECK(waiting.retired.bytes() == 1100);
    CHECK(waiting.retired.take(700) == nullptr);
    waiting.retired.remove(&regions[4]);
    CHECK(waiting.retired.bytes() == 400);
}

namespace {

bool isZero(const void *memory, size_t bytes) {
    auto *from = static_cast<const char *>(memory);
    return std::all_of(from, from + bytes, [](char byte) { return byte == 0; });
}
} // namespace

TEST_CASE("large blocks of zeros are not backed before they are used", "[heap][large]") {
    test::Runtime runtime;
    constexpr size_t size = 64 << 20;
    const size_t before = test::residentBytes();
    void *leaf = mprAllocZeroed(size);
    void *managed = mprAllocManaged(size, nullptr, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO);
    REQUIRE(leaf);
    REQUIRE(managed);
    constexpr size_t shadow = test::addressSanitizer ? 2 * size / 8 : 0; // where it notes what may be used
    CHECK(test::residentBytes() < before + shadow + size / 8);           // pages of other memory may be huge
    CHECK(isZero(leaf, size));
    CHECK(isZero(managed, size));
}

TEST_CASE("a block of zeros is made of memory that another block has left", "[heap][large]") {
    test::Runtime runtime;
    constexpr size_t size = 3 << 20;
    const void *last = nullptr;
    bool again[] = {false, false}; // a leaf; a managed block
    // What was freed may have gone back to the system when this thread had no processor for a while.
    for (int turn = 0; turn < 1000 && !(again[0] && again[1]); turn++) {
        const bool managed = turn % 2;
        void *block = managed ? mprAllocManaged(size, nullptr, MPR_ALLOC_ZERO) : mprAllocZeroed(size);
        REQUIRE(block);
        again[managed] = again[managed] || block == last;
        last = block;
        CHECK(isZero(block, size));
        memset(block, 0xA5, size);
        mprFree(block);
    }
    CHECK(again[0]);
    CHECK(again[1]);
}

namespace {

/* A held block that grows step by step. */
struct Growing {
    char *block = static_cast<char *>(mprAlloc(16));
    size_t moved = 0, copied = 0;

    Growing() { mprHold(block); }
    ~Growing() { mprRelease(block); }
    Growing(const Growing &) = delete;
    Growing &operator=(const Growing &) = delete;

    void grow(size_t from, size_t to, size_t step) {
        for (size_t size = from; size <= to; size += step) {
            auto at = static_cast<char *>(mprRealloc(block, size));
            REQUIRE(at);
            if (at != block) {
                moved++;
                copied += mprGetBlockSize(at) < size ? 0 : size - std::min(size, step);
                block = at;
            }
            block[size - step] = static_cast<char>(size / step);
            mprYield(0);
        }
    }
    size_t wrong(size_t to, size_t step) const {
        size_t count = 0;
        for (size_t size = step; size <= to; size += step) {
            count += block[size - step] != static_cast<char>(size / step);
        }
        return count;
    }
};

} // namespace

TEST_CASE("a block that grows by small steps to a large one is copied a few times, held or not", "[heap][large]") {
    test::Runtime runtime("poison=0");
    constexpr size_t step = 4096, to = size_t{16} << 20;
    Growing growing;
    growing.grow(step, to, step);
    CHECK(growing.moved < 40); // of 4096 steps
    CHECK(growing.copied < 6 * to);
    CHECK(growing.wrong(to, step) == 0);
    CHECK(mprGetBlockSize(growing.block) >= to);
    CHECK(mprGetBlockSize(growing.block) < to + 65536); // slack is none of the block's
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("slack behind a large block is free memory, and goes back when all free memory does", "[heap][large]") {
    test::Runtime runtime("poison=0");
    Growing growing;
    growing.grow(size_t{8} << 20, size_t{8} << 20, size_t{8} << 20);
    test::collect();
    mprSetMemLimits(0, 0, 0);
    test::collect();
    const uint64 before = test::stats().heap;
    growing.grow((size_t{8} << 20) + 4096, (size_t{8} << 20) + 8192, 4096); // it moves
    mprSetMemLimits(0, 0, 0);
    test::collect();
    const uint64 after = test::stats().heap;
    CHECK(after < before + (size_t{1} << 20));
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("a large block gets no slack past the redline, and loses it when memory is short", "[heap][large]") {
    test::Runtime runtime("poison=0");
    constexpr size_t limit = size_t{48} << 20;
    mprSetMemLimits(0, limit, 0);
    Growing growing;
    growing.grow(size_t{8} << 20, size_t{8} << 20, size_t{8} << 20);
    growing.grow((size_t{8} << 20) + 4096, (size_t{8} << 20) + 4096, 4096);
    test::collect();
    // A quarter of eight megabytes is committed besides. With 32 bits it is not, and a 32nd of the limit is kept back.
    const uint64 reserve = sizeof(void *) == 8 ? 0 : limit / 32;
    const uint64 free = limit - reserve - test::stats().heap;
    std::vector<void *> others;
    for (void *other = mprAlloc(size_t{3} << 20); other; other = mprAlloc(size_t{3} << 20)) {
        mprHold(other);
        others.push_back(other);
    }
    CHECK(others.size() * (size_t{3} << 20) > free - (size_t{3} << 20));
    CHECK(mprVerifyHeap() == 0);
    for (void *other : others) {
        mprRelease(other);
    }
    others.clear();
    test::collect();
    const uint64 now = test::stats().heap;
    mprSetMemLimits(now + (size_t{10} << 20), limit, 0); // a copy fits below it, slack does not
    growing.grow(size_t{9} << 20, size_t{9} << 20, 4096);
    CHECK(test::stats().heap <= now + (size_t{10} << 20));
}
