// SPDX-License-Identifier: MIT
/*
    test/gc/pinned.cpp - Pinned memory: alignments, what reaches a block, what frees it, ranges of the program's, limits,
    wrong calls, and what it spares the ordinary heap.
 */
#include "test/support/limit.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

using test::collect;
using test::Log;
using test::makeNode;
using test::makeTable;
using test::Node;
using test::Random;
using test::Runtime;
using test::stats;
using test::Table;

namespace {

bool isAligned(const void *ptr, size_t alignment) {
    return reinterpret_cast<uintptr_t>(ptr) % alignment == 0;
}

MprPinnedStats pinned(cchar *name = nullptr) {
    MprPinnedStats s;
    CHECK(mprReadPinnedStats(name, &s) == 0);
    return s;
}

uint64 live(cchar *name = nullptr) {
    const MprPinnedStats s = pinned(name);
    return s.blocksAllocated - s.blocksFreed;
}

/* Memory for a range, at an odd distance from a page's start. */
struct Range {
    explicit Range(size_t bytes, size_t offset = 48) : size(bytes), all(bytes + offset + 4096) {
        const auto begin = reinterpret_cast<uintptr_t>(all.data());
        memory = all.data() + ((begin + 4095) / 4096 * 4096 - begin) + offset;
    }
    bool contains(const void *ptr, size_t bytes) const {
        auto at = static_cast<const unsigned char *>(ptr);
        return at >= memory && at + bytes <= memory + size;
    }
    size_t size;
    std::vector<unsigned char> all;
    unsigned char *memory;
};

constexpr size_t sizes[] = {0, 1, 16, 17, 100, 1500, 4096, 5000, 65536, 200'000, 1'000'000, 5'000'000};

struct Barrier {
    void *field;
};
void manageBarrier(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(ptr);
    }
}

/* Allocate from memory of the system or from a range. */
void *allocate(bool inRange, size_t size, size_t alignment = 64, int flags = 0) {
    return inRange ? mprAllocPinnedIn("range", size, alignment, flags) : mprAllocPinned(size, alignment, flags);
}
cchar *nameOf(bool inRange) {
    return inRange ? "range" : nullptr;
}
} // namespace

TEST_CASE("pinned blocks of all sizes have each alignment", "[gc][pinned]") {
    Runtime runtime;
    const size_t page = static_cast<size_t>(mprGetPageSize());
    for (size_t alignment = 16; alignment <= std::max<size_t>(4096, page); alignment *= 2) {
        for (size_t size : sizes) {
            INFO(alignment << " " << size);
            void *block = mprAllocPinned(size, alignment, MPR_ALLOC_HOLD);
            REQUIRE(block);
            CHECK(isAligned(block, alignment));
            CHECK(mprGetBlockSize(block) >= size);
            CHECK(mprIsValid(block));
            CHECK(mprIsPinned(block));
            memset(block, 0xA5, size);
        }
        CHECK(mprVerifyHeap() == 0);
    }
    CHECK(isAligned(mprAllocPinned(10, 0, 0), 16));
    auto zeros = static_cast<const char *>(mprAllocPinned(10'000, 256, MPR_ALLOC_ZERO));
    CHECK(std::all_of(zeros, zeros + 10'000, [](char c) { return c == 0; }));
    CHECK_FALSE(mprIsPinned(mprAlloc(100)));
    CHECK_FALSE(mprIsPinned(zeros + 16));
    CHECK_FALSE(mprIsPinned(nullptr));
    CHECK(stats().misuses == 0);
}

TEST_CASE("what is freed by hand is used again, and no more is taken from the system", "[gc][pinned]") {
    Runtime runtime("poison=0", MPR_DISABLE_GC);
    std::vector<void *> blocks;
    for (int i = 0; i < 300; i++) {
        blocks.push_back(mprAllocPinned(4096, 4096, 0));
    }
    const MprPinnedStats before = pinned();
    for (size_t i = 0; i < blocks.size(); i += 2) {
        CHECK(mprFree(blocks[i]) == 0);
    }
    CHECK(pinned().blocksFreed == 150);
    std::vector<void *> again;
    for (size_t i = 0; i < blocks.size(); i += 2) {
        again.push_back(mprAllocPinned(4096, 4096, 0));
    }
    std::vector<void *> freed;
    for (size_t i = 0; i < blocks.size(); i += 2) {
        freed.push_back(blocks[i]);
    }
    std::sort(again.begin(), again.end());
    std::sort(freed.begin(), freed.end());
    CHECK(again == freed);
    CHECK(pinned().committed == before.committed);
}

TEST_CASE("a pinned block is reached from every kind of owner, and lost without", "[gc][pinned]") {
    const bool inRange = GENERATE(false, true);
    Range range(1 << 20);
    Runtime runtime;
    REQUIRE(mprAddPinnedRange("range", range.memory, range.size) == 0);
    void *roots[8];
    auto plain = makeTable(1);
    auto barrier = static_cast<Barrier *>(
        mprAllocManaged(sizeof(Barrier), manageBarrier, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE | MPR_ALLOC_ZERO));
    mprAddRoot(plain);
    mprAddRoot(barrier);
    plain->items[0] = roots[0] = allocate(inRange, 100);
    mprSetRef(barrier, &barrier->field, roots[1] = allocate(inRange, 100));
    mprAddRoot(roots[2] = allocate(inRange, 100));
    mprHold(roots[3] = allocate(inRange, 100));
    roots[4] = allocate(inRange, 100, 64, MPR_ALLOC_HOLD);
    const MprHandle strong = mprCreateHandle(MPR_HANDLE_STRONG, roots[5] = allocate(inRange, 100));
    MprRootRef ref{nullptr, nullptr, roots[6] = allocate(inRange, 100)};
    mprLinkRootRef(&ref);
    const MprHandle weak = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, roots[5]);
    void *value = allocate(inRange, 300);
    const MprHandle dependent = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, roots[5], value, 0);
    mprAddRoot(roots[7] = makeNode(nullptr, allocate(inRange, 100)));
    void *lost[] = {allocate(inRange, 100), allocate(inRange, 50'000)};
    const MprHandle gone = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, lost[0]);
    for (void *block : roots) {
        memset(block == roots[7] ? static_cast<Node *>(block)->data : block, 0x5A, 100);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
        }
        collect();
        for (void *block : roots) {
            auto bytes = static_cast<const char *>(block == roots[7] ? static_cast<Node *>(block)->data : block);
            CHECK(mprIsValid(bytes));
            CHECK(std::all_of(bytes, bytes + 100, [](char c) { return c == 0x5A; }));
        }
        CHECK(mprIsValid(value));
        CHECK(live(nameOf(inRange)) == 9);
    }
    CHECK_FALSE(mprIsValid(lost[0]));
    CHECK_FALSE(mprIsValid(lost[1]));
    CHECK(mprGetHandle(gone) == nullptr);
    CHECK(mprGetHandle(weak) == roots[5]);
    CHECK(mprGetHandle(strong) == roots[5]);
    CHECK(mprGetHandleValue(dependent) == value);
    CHECK(pinned(nameOf(inRange)).blocksCollected == 2);
    // Each lets its block go.
    plain->items[0] = nullptr;
    mprSetRef(barrier, &barrier->field, nullptr);
    mprRemoveRoot(roots[2]);
    mprRelease(roots[3]);
    mprRelease(roots[4]);
    mprUnlinkRootRef(&ref);
    mprDestroyHandle(strong);
    mprRemoveRoot(roots[7]);
    collect();
    collect();
    CHECK(live(nameOf(inRange)) == 0);
    CHECK(mprGetHandle(weak) == nullptr);
    CHECK(mprGetHandleValue(dependent) == nullptr);
    for (void *block : roots) {
        CHECK_FALSE(mprIsPinned(block));
    }
    INFO(Log::text());
    CHECK(stats().misuses == 0);
}

TEST_CASE("a minor collection does not look at pinned blocks", "[gc][pinned]") {
    const bool inRange = GENERATE(false, true);
    Range range(1 << 20);
    Runtime runtime("everyyield=0,everyalloc=0");
    REQUIRE(mprAddPinnedRange("range", range.memory, range.size) == 0);
    collect();
    void *block = allocate(inRange, 100);
    const uint64 majors = stats().collectionsMajor;
    for (int i = 0; i < 5; i++) {
        mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
    }
    if (stats().collectionsMajor == majors) { // else the runtime found one due
        CHECK(mprIsValid(block));
    }
    collect();
    CHECK_FALSE(mprIsValid(block));
}

TEST_CASE("pinned blocks that are dropped are collected while the program runs on", "[gc][pinned]") {
    Runtime runtime;
    // Nobody asks for it but the runtime; until it comes the thread goes on, on a busy machine for long.
    for (int i = 0; i < 1'000'000 && pinned().blocksCollected < 5000; i++) {
        memset(mprAllocPinned(4096, 4096, 0), 1, 4096);
        if (i % 1000 == 0) {
            test::sleepYielded(1);
        }
        mprYield(MPR_YIELD_DEFAULT);
    }
    CHECK(pinned().blocksCollected >= 5000);
}

TEST_CASE("pinned blocks that are dropped while collections are off are collected when they are on", "[gc][pinned]") {
    Runtime runtime;
    const auto drop = [](int count) {
        for (int i = 0; i < count; i++) {
            REQUIRE(mprAllocPinned(4096, 4096, 0));
        }
    };
    mprEnableGC(false);
    drop(10000);
    mprEnableGC(true);
    const uint64 majors = stats().collectionsMajor;
    drop(1);
    for (int i = 0; i < 60'000 && stats().collectionsMajor == majors; i++) {
        test::sleepYielded(1);
    }
    CHECK(stats().collectionsMajor > majors);
    CHECK(pinned().blocksCollected > 0);
}

TEST_CASE("large pinned blocks that are freed together go back as those that are freed one by one", "[gc][pinned]") {
    Runtime runtime;
    constexpr int count = 10;
    constexpr size_t size = 4 << 20;
    const uint64 before = stats().heap;
    void *blocks[count];
    REQUIRE(mprAllocPinnedBatch(count, size, 4096, 0, blocks) == count);
    CHECK(stats().heap >= before + count * size);
    CHECK(mprFreePinnedBatch(count, blocks) == 0);
    CHECK(stats().heap < before + 2 * size);
}

TEST_CASE("a batch is as good as blocks one by one", "[gc][pinned]") {
    const bool inRange = GENERATE(false, true);
    Range range(4 << 20);
    Runtime runtime("", MPR_DISABLE_GC);
    REQUIRE(mprAddPinnedRange("range", range.memory, range.size) == 0);
    for (size_t alignment : {16, 64, 4096}) {
        for (size_t size : {1, 100, 1000, 4096, 10'000}) {
            for (int count : {1, 2, 63, 64, 65, 200}) {
                INFO(alignment << " " << size << " " << count);
                std::vector<void *> blocks(static_cast<size_t>(count));
                const int made =
                    inRange ? mprAllocPinnedBatchIn("range", count, size, alignment, MPR_ALLOC_ZERO, blocks.data())
                            : mprAllocPinnedBatch(count, size, alignment, MPR_ALLOC_ZERO, blocks.data());
                REQUIRE(made == count);
                for (void *block : blocks) {
                    CHECK((isAligned(block, alignment) && mprIsPinned(block) && mprGetBlockSize(block) >= size));
                    CHECK((!inRange || range.contains(block, size)));
                    auto bytes = static_cast<const char *>(block);
                    CHECK(std::all_of(bytes, bytes + size, [](char c) { return c == 0; }));
                    memset(block, 0xFF, size);
                }
                std::vector<void *> sorted = blocks;
                std::sort(sorted.begin(), sorted.end());
                CHECK(std::adjacent_find(sorted.begin(), sorted.end(), [size](void *a, void *b) {
                          return static_cast<char *>(b) - static_cast<char *>(a) < static_cast<ptrdiff_t>(size);
                      }) == sorted.end());
                if (count % 2 == 0) {
                    CHECK(mprFreePinnedBatch(count, blocks.data()) == 0);
                } else {
                    for (void *block : blocks) {
                        CHECK(mprFree(block) == 0);
                    }
                }
                CHECK(live(nameOf(inRange)) == 0);
            }
        }
    }
    CHECK(mprVerifyHeap() == 0);
    CHECK(mprAllocPinnedBatch(0, 10, 16, 0, nullptr) == 0);
    CHECK(mprAllocPinnedBatch(-1, 10, 16, 0, nullptr) == 0);
}

TEST_CASE("ranges are told apart by name, and hold what they hold", "[gc][pinned]") {
    Range one(300'000), two(64 * 1024, 16);
    Runtime runtime("", MPR_DISABLE_GC);
    REQUIRE(mprAddPinnedRange("one", one.memory, one.size) == 0);
    REQUIRE(mprAddPinnedRange("two", two.memory, two.size) == 0);
    memset(one.memory, 0xEE, one.size);
    memset(two.memory, 0xEE, two.size);
    const size_t alignment = GENERATE(16, 64, 4096);
    std::vector<void *> blocks;
    for (cchar *name : {"one", "two"}) {
        const Range &range = *name == 'o' ? one : two;
        size_t count = 0;
        while (void *block = mprAllocPinnedIn(name, 4096, alignment, 0)) {
            CHECK(range.contains(block, 4096));
            CHECK(isAligned(block, alignment));
            blocks.push_back(block);
            count++;
        }
        // All that there is, except before the first and after the last.
        CHECK(count >= range.size / 4096 - 2);
        CHECK(live(name) == count);
        CHECK(pinned(name).size <= range.size);
        CHECK(pinned(name).size + 32 > range.size);
        CHECK(pinned(name).committed == 0);
    }
    CHECK(stats().errors == 2);
    CHECK(stats().redlines == 0);
    // Nothing of the runtime's lies in a range.
    for (const Range *range : {&one, &two}) {
        CHECK(std::all_of(range->memory, range->memory + range->size, [](unsigned char c) { return c == 0xEE; }));
    }
    for (void *block : blocks) {
        CHECK(mprFree(block) == 0);
    }
    for (const Range *range : {&one, &two}) {
        CHECK(std::all_of(range->memory, range->memory + range->size, [](unsigned char c) { return c == 0xEE; }));
    }
    CHECK(mprAllocPinnedIn("two", two.size - 4096, 16, 0));
    CHECK(live() == 0);
}

TEST_CASE("a range may have what the header says, and no more", "[gc][pinned]") {
    if (sizeof(void *) != 8 || test::sanitized) {
        return; // nobody has so many addresses to spare
    }
    constexpr size_t most = size_t(192) << 20;
    Runtime runtime;
    void *memory = mprVirtAlloc(most + 4096, MPR_MAP_READ | MPR_MAP_WRITE);
    REQUIRE(memory);
    CHECK(mprAddPinnedRange("more", memory, most + 4096) == MPR_ERR_WONT_FIT);
    CHECK(mprAddPinnedRange("most", memory, most) == 0);
    CHECK(mprAllocPinnedIn("most", 4096, 4096, 0));
    runtime.end();
    mprVirtFree(memory, most + 4096);
}

TEST_CASE("an exhausted range is served by a collection", "[gc][pinned]") {
    Range range(256 * 1024);
    Runtime runtime;
    REQUIRE(mprAddPinnedRange("range", range.memory, range.size) == 0);
    int refused = 0;
    for (int i = 0; i < 2000; i++) {
        void *block = mprAllocPinnedIn("range", 4096, 64, 0);
        if (!block) {
            refused++;
            mprYield(MPR_YIELD_COMPLETE);
            block = mprAllocPinnedIn("range", 4096, 64, 0);
        }
        if (!block) {
            collect();
            block = mprAllocPinnedIn("range", 4096, 64, 0);
        }
        REQUIRE(block);
        memset(block, i, 4096);
        mprYield(MPR_YIELD_DEFAULT);
    }
    CHECK(refused < 200);
    CHECK(stats().misuses == 0);
}

TEST_CASE("pinned memory counts within the limits", "[gc][pinned][limits]") {
    Runtime runtime("poison=0", MPR_DISABLE_GC);
    mprSetMemPolicy(MPR_ALLOC_POLICY_NOTHING);
    const uint64 before = stats().heap;
    const size_t limit = 24u << 20;
    mprSetMemLimits(20u << 20, limit, 0);
    std::vector<void *> blocks;
    while (void *block = mprAllocPinned(100'000, 4096, 0)) {
        blocks.push_back(block);
        CHECK(stats().heap <= limit);
    }
    CHECK(blocks.size() > 150);
    CHECK(stats().heap >= before + pinned().committed);
    CHECK(stats().redlines == 1);
    CHECK(stats().errors == 1);
    CHECK(Log::has("memory: "));
    CHECK(mprAllocPinned(20u << 20, 16, 0) == nullptr);
    CHECK(mprVerifyHeap() == 0);
    for (void *block : blocks) {
        CHECK(mprFree(block) == 0);
    }
    collect();
    CHECK(stats().heap < 12u << 20);
    CHECK(pinned().committed < 6u << 20);
    CHECK(mprAlloc(10u << 20));
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("what is committed behind memory that is not serves pinned blocks at the limit", "[gc][pinned][limits]") {
    Runtime runtime("everyalloc=0,region=4m");
    constexpr size_t chunk = 65536, wanted = 30'000;
    mprSetMemLimits(0, 0, 0); // what is free goes back
    const auto hold = [](size_t bytes) {
        void *block = mprAllocPinned(bytes, 16, 0);
        REQUIRE(block);
        mprHold(block);
        return block;
    };
    hold(56 * 1024);
    void *const hole = hold(4128 + 2 * chunk + 40'960); // its end is in the chunk of what follows
    hold(1008);
    mprRelease(hole);
    mprFree(hole);
    collect();
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    test::limitCommitted(stats().heap, 1 << 20);
    void *const block = mprAllocPinned(wanted, 16, 0);
    REQUIRE(block);
    std::memset(block, 1, wanted);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("memory of pinned blocks that died goes back to the system", "[gc][pinned]") {
    Runtime runtime("poison=0");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 60; i++) {
            memset(mprAllocPinned(100'000, 64, 0), 1, 100'000);
            memset(mprAllocPinned(3'000'000, 64, 0), 1, 1);
        }
        const MprPinnedStats most = pinned();
        CHECK(most.committed > 100u << 20);
        collect();
        collect();
        CHECK(live() == 0);
        CHECK(pinned().committed < 16u << 20);
        CHECK(mprVerifyHeap() == 0);
    }
}

TEST_CASE("wrong calls with pinned blocks are named and do nothing", "[gc][pinned][misuse]") {
    const bool inRange = GENERATE(false, true);
    Range range(1 << 20);
    Runtime runtime("", MPR_DISABLE_GC);
    REQUIRE(mprAddPinnedRange("range", range.memory, range.size) == 0);
    auto block = static_cast<char *>(allocate(inRange, 1000));
    memset(block, 7, 1000);
    uint64 misuses = 0;
    const auto named = [&](cchar *function, cchar *what) {
        INFO(function << ": " << Log::text());
        CHECK(stats().misuses == ++misuses);
        CHECK(Log::has(function));
        CHECK(Log::has(what));
        Log::clear();
    };
    CHECK(mprRealloc(block, 2000) == nullptr);
    named("mprRealloc", "a pinned block");
    CHECK(mprSetManager(block, test::manageNode) == nullptr);
    named("mprSetManager", "a pinned block");
    mprHold(block);
    CHECK(mprFree(block) == MPR_ERR_BAD_ARGS);
    named("mprFree", "held");
    pfree(block);
    named("pfree", "a pinned block");
    CHECK(prealloc(block, 10) == nullptr);
    named("prealloc", "a pinned block");
    mprRelease(block);
    mprRelease(block);
    named("mprRelease", "not held");
    mprAddRoot(block);
    CHECK(mprFree(block) == MPR_ERR_BAD_ARGS);
    named("mprFree", "a root");
    mprRemoveRoot(block);
    const MprHandle strong = mprCreateHandle(MPR_HANDLE_STRONG, block);
    CHECK(mprFree(block) == MPR_ERR_BAD_ARGS);
    named("mprFree", "strong handle");
    mprDestroyHandle(strong);
    CHECK(mprFree(block + 64) == MPR_ERR_BAD_ARGS);
    named("mprFree", "a pointer into a block");
    CHECK(mprFree(block + 1) == MPR_ERR_BAD_ARGS);
    named("mprFree", "a pointer into a block");
    mprHold(block + 64);
    named("mprHold", "not the start of a block");
    CHECK(mprIsValid(block));
    CHECK(std::all_of(block, block + 1000, [](char c) { return c == 7; }));
    const MprHandle weak = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, block);
    CHECK(mprFree(block) == 0);
    CHECK(mprGetHandle(weak) == nullptr);
    CHECK(mprFree(block) == MPR_ERR_BAD_ARGS);
    named("mprFree", "freed before");
    CHECK(mprGetBlockSize(block) == 0);
    CHECK(mprCreateHandle(MPR_HANDLE_STRONG, block) == 0);
    named("mprCreateHandle", "not the start of a block");
    void *ordinary = mprAlloc(100), *good = allocate(inRange, 100);
    void *mixed[] = {block, nullptr, ordinary, good};
    CHECK(mprFreePinnedBatch(4, mixed) == MPR_ERR_BAD_ARGS);
    misuses++;
    named("mprFreePinnedBatch", "not a pinned block");
    CHECK(mprIsValid(ordinary));
    CHECK_FALSE(mprIsValid(good));
    // What is asked for
    for (size_t alignment : {1, 8, 24, 48, 1 << 20}) {
        CHECK(allocate(inRange, 100, alignment) == nullptr);
        named("mprAllocPinned", "power of two");
    }
    CHECK(allocate(inRange, 100, 64, MPR_ALLOC_MANAGER) == nullptr);
    named("mprAllocPinned", "no manager");
    CHECK(allocate(inRange, SIZE_MAX / 2) == nullptr);
    CHECK(stats().misuses == misuses);
    CHECK(mprAllocPinnedIn("nowhere", 100, 16, 0) == nullptr);
    named("mprAllocPinnedIn", "no range of that name");
    CHECK(mprAllocPinnedIn(nullptr, 100, 16, 0) == nullptr);
    named("mprAllocPinnedIn", "no range of that name");
    MprPinnedStats s;
    CHECK(mprReadPinnedStats("nowhere", &s) == MPR_ERR_CANT_FIND);
    // Ranges
    Range other(1 << 16);
    CHECK(mprAddPinnedRange("", other.memory, other.size) == MPR_ERR_BAD_ARGS);
    named("mprAddPinnedRange", "no name");
    CHECK(mprAddPinnedRange(nullptr, other.memory, other.size) == MPR_ERR_BAD_ARGS);
    named("mprAddPinnedRange", "no name");
    CHECK(mprAddPinnedRange("sixteen letters!", other.memory, other.size) == MPR_ERR_BAD_ARGS);
    named("mprAddPinnedRange", "no name");
    CHECK(mprAddPinnedRange("other", nullptr, other.size) == MPR_ERR_BAD_ARGS);
    named("mprAddPinnedRange", "no memory");
    CHECK(mprAddPinnedRange("other", other.memory, 1000) == MPR_ERR_WONT_FIT);
    CHECK(mprAddPinnedRange("other", other.memory, SIZE_MAX / 8) == MPR_ERR_WONT_FIT);
    CHECK(mprAddPinnedRange("range", other.memory, other.size) == MPR_ERR_ALREADY_EXISTS);
    CHECK(mprAddPinnedRange("other", range.memory + 4096, 4096) == MPR_ERR_ALREADY_EXISTS);
    CHECK(mprAddPinnedRange("other", range.memory - 4096, 8192) == MPR_ERR_ALREADY_EXISTS);
    CHECK(mprAddPinnedRange("other", mprAlloc(100'000), 8192) == MPR_ERR_ALREADY_EXISTS);
    CHECK(mprAddPinnedRange("other", other.memory, other.size) == 0);
    CHECK(stats().misuses == misuses);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("a runtime in a buffer has pinned blocks in ranges only", "[gc][pinned]") {
    static unsigned char buffer[1 << 20];
    Range range(256 * 1024);
    Runtime runtime(buffer, sizeof(buffer));
    CHECK(mprAllocPinned(100, 16, 0) == nullptr);
    CHECK(Log::has("mprAddPinnedRange"));
    REQUIRE(mprAddPinnedRange("range", range.memory, range.size) == 0);
    auto table = makeTable(2);
    mprAddRoot(table);
    table->items[0] = mprAllocPinned(5000, 4096, 0);
    table->items[1] = mprAllocPinnedIn("range", 5000, 64, 0);
    void *lost = mprAllocPinned(100, 16, 0);
    REQUIRE((table->items[0] && table->items[1] && lost));
    CHECK(range.contains(table->items[0], 5000));
    collect();
    CHECK(mprIsPinned(table->items[0]));
    CHECK(mprIsPinned(table->items[1]));
    CHECK_FALSE(mprIsPinned(lost));
    CHECK(live("range") == 2);
}

TEST_CASE("each runtime begins without ranges", "[gc][pinned]") {
    Range range(1 << 16);
    for (int round = 0; round < 3; round++) {
        Runtime runtime;
        CHECK(live() == 0);
        CHECK(mprAddPinnedRange("range", range.memory, range.size) == 0);
        CHECK(mprAllocPinned(100, 16, MPR_ALLOC_HOLD));
        CHECK(mprAllocPinnedIn("range", 100, 16, MPR_ALLOC_HOLD));
    }
}

TEST_CASE("the marking verifier knows pinned blocks", "[gc][pinned]") {
    Range range(1 << 16);
    Runtime runtime("check=1,everyyield=0,everyalloc=0");
    REQUIRE(mprAddPinnedRange("range", range.memory, range.size) == 0);
    auto table = makeTable(2);
    mprAddRoot(table);
    table->items[0] = mprAllocPinned(100, 16, 0);
    table->items[1] = mprAllocPinnedIn("range", 100, 16, 0);
    for (int i = 0; i < 3; i++) {
        mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
        collect();
    }
    CHECK((mprIsPinned(table->items[0]) && mprIsPinned(table->items[1])));
    CHECK(stats().checkDefects == 0);
    // What is stored behind the collector's back is named: the manager marks what it did not mark in the pause.
    static void *hidden[2];
    static std::atomic<int> turn;
    turn = 0;
    auto hiding = mprAllocManaged(
        16,
        [](void *, int flags) {
            if ((flags & MPR_MANAGE_MARK) && turn++ > 0) {
                mprMark(hidden[0]);
                mprMark(hidden[1]);
            }
        },
        0);
    mprAddRoot(hiding);
    hidden[0] = mprAllocPinned(100, 16, 0);
    hidden[1] = mprAllocPinnedIn("range", 100, 16, 0);
    mprGC(MPR_GC_FORCE);
    CHECK(turn >= 2);
    runtime.expectedDefects = stats().checkDefects;
    CHECK(runtime.expectedDefects <= 2);
    CHECK(Log::names(hidden[0]) + Log::names(hidden[1]) == static_cast<int>(runtime.expectedDefects));
}

TEST_CASE("many threads allocate, keep, drop and free pinned blocks", "[gc][pinned]") {
    const bool inRange = GENERATE(false, true);
    Range range(8 << 20);
    Runtime runtime;
    REQUIRE(mprAddPinnedRange("range", range.memory, range.size) == 0);
    std::atomic<int> broken{0}, refused{0}, done{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&, t] {
            mprAttachThread("pinned");
            {
                Random random(static_cast<uint64_t>(t) + 1);
                auto table = makeTable(64);
                mprAddRoot(table);
                std::vector<size_t> size(64);
                for (int i = 0; i < 4000; i++) {
                    const size_t at = random.below(64);
                    auto bytes = static_cast<unsigned char *>(table->items[at]);
                    if (bytes) {
                        broken += !mprIsPinned(bytes) || bytes[0] != (at ^ static_cast<size_t>(t)) ||
                                  bytes[size[at] - 1] != (at ^ static_cast<size_t>(t));
                    }
                    switch (random.below(4)) {
                    case 0:
                        if (bytes) {
                            table->items[at] = nullptr;
                            broken += mprFree(bytes) != 0;
                        }
                        break;
                    case 1: table->items[at] = nullptr; break;
                    default: {
                        const size_t bytesWanted = 1 + random.below(8000);
                        const size_t alignment = size_t(16) << random.below(9);
                        auto fresh = static_cast<unsigned char *>(allocate(inRange, bytesWanted, alignment));
                        if (!fresh) {
                            refused++;
                            break;
                        }
                        broken += !isAligned(fresh, alignment);
                        memset(fresh, static_cast<int>(at) ^ t, bytesWanted);
                        table->items[at] = fresh;
                        size[at] = bytesWanted;
                        break;
                    }
                    }
                    if (i % 16 == 0) {
                        mprYield(MPR_YIELD_DEFAULT);
                    }
                }
                mprRemoveRoot(table);
            }
            mprDetachThread();
            done++;
        });
    }
    CHECK(test::until([&] { return done == 4; }, 60'000));
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(broken == 0);
    CHECK((inRange || refused == 0));
    collect();
    CHECK(live(nameOf(inRange)) == 0);
    INFO(Log::text());
    CHECK(stats().misuses == 0);
}

namespace {

/* What there should be: blocks by address, with what was written into them. */
struct Model {
    struct Block {
        size_t size, alignment;
        int seed;
        bool range, held, kept; // in a range; by a hold; by the table
        size_t slot;
    };
    std::map<char *, Block> blocks;

    bool disjoint(char *fresh, size_t size) const {
        const auto next = blocks.lower_bound(fresh);
        if (next != blocks.end() && next->first < fresh + std::max<size_t>(size, 1)) {
            return false;
        }
        return next == blocks.begin() ||
               std::prev(next)->first + std::max<size_t>(std::prev(next)->second.size, 1) <= fresh;
    }
    static bool intact(const char *bytes, const Block &b) {
        return std::all_of(bytes, bytes + b.size, [&](char c) { return c == static_cast<char>(b.seed); });
    }
};
} // namespace

TEST_CASE("random operations on pinned blocks agree with a model", "[gc][pinned][random]") {
    const uint64_t seed = GENERATE(range(1, 25));
    INFO("seed " << seed);
    constexpr size_t slots = 48;
    Range range(512 * 1024, 16 * (seed % 256));
    Runtime runtime(seed % 3 == 0 ? "check=1" : "", 0);
    REQUIRE(mprAddPinnedRange("range", range.memory, range.size) == 0);
    Random random(seed);
    Model model;
    auto table = makeTable(slots);
    mprAddRoot(table);
    const auto drop = [&](size_t slot) {
        if (auto at = model.blocks.find(static_cast<char *>(table->items[slot])); at != model.blocks.end()) {
            at->second.kept = false;
            table->items[slot] = nullptr;
        }
    };
    bool agrees = true;
    for (int step = 0; step < 1500 && agrees; step++) {
        const size_t slot = random.below(slots);
        auto block = static_cast<char *>(table->items[slot]);
        switch (random.below(12)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4: {
            const bool inRange = random.below(2) == 0;
            const size_t size = random.below(10) == 0 ? random.below(300'000) : random.below(6000);
            const size_t alignment = size_t(16) << random.below(9);
            auto fresh = static_cast<char *>(allocate(inRange, size, alignment));
            if (!fresh) {
                agrees = agrees && inRange;
                break;
            }
            // What nothing keeps may have gone meanwhile, if a collection came; here none can before a yield.
            agrees = agrees && isAligned(fresh, alignment) && model.disjoint(fresh, size) &&
                     mprGetBlockSize(fresh) >= size && (!inRange || range.contains(fresh, size));
            drop(slot);
            memset(fresh, step, size);
            table->items[slot] = fresh;
            model.blocks[fresh] = {size, alignment, step, inRange, false, true, slot};
            break;
        }
        case 5: {
            void *row[8];
            const bool inRange = random.below(2) == 0;
            const size_t size = 1 + random.below(3000);
            const int count = 1 + static_cast<int>(random.below(8));
            const int made = inRange ? mprAllocPinnedBatchIn("range", count, size, 64, 0, row)
                                     : mprAllocPinnedBatch(count, size, 64, 0, row);
            agrees = agrees && (made == count || inRange);
            for (int i = 0; i < made; i++) {
                auto fresh = static_cast<char *>(row[i]);
                agrees = agrees && model.disjoint(fresh, size) && isAligned(fresh, 64);
                const size_t to = (slot + static_cast<size_t>(i)) % slots;
                drop(to);
                memset(fresh, step + i, size);
                table->items[to] = fresh;
                model.blocks[fresh] = {size, 64, step + i, inRange, false, true, to};
            }
            break;
        }
        case 6:
            if (auto at = model.blocks.find(block); at != model.blocks.end()) {
                const bool held = at->second.held;
                if (!held) {
                    table->items[slot] = nullptr;
                    agrees = agrees && mprFree(block) == 0 && !mprIsValid(block);
                    model.blocks.erase(at);
                }
            }
            break;
        case 7: drop(slot); break;
        case 8:
            if (auto at = model.blocks.find(block); at != model.blocks.end() && !at->second.held) {
                mprHold(block);
                at->second.held = true;
            }
            break;
        case 9:
            for (auto &[address, b] : model.blocks) {
                if (b.held && random.below(3) == 0) {
                    mprRelease(address);
                    b.held = false;
                    break;
                }
            }
            break;
        default: {
            const bool full = random.below(3) == 0;
            if (full) {
                collect();
            } else {
                mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
            }
            for (auto at = model.blocks.begin(); at != model.blocks.end();) {
                const auto &[address, b] = *at;
                const bool lives = b.held || b.kept;
                agrees = agrees && (!lives || (mprIsPinned(address) && Model::intact(address, b)));
                if (!lives) {
                    agrees = agrees && (!full || !mprIsPinned(address));
                    at = model.blocks.erase(at);
                } else {
                    ++at;
                }
            }
            break;
        }
        }
        INFO("step " << step << "\n" << Log::text());
        CHECK(agrees);
        if (step % 300 == 0) {
            CHECK(mprVerifyHeap() == 0);
        }
    }
    INFO(Log::text());
    CHECK(stats().misuses == 0);
}

namespace {

/* Ordinary blocks come and go, and now and then a buffer that stays. @return Bytes the ordinary heap then has committed. */
uint64 committedAround(bool pins) {
    Runtime runtime("poison=0,everyyield=0,everyalloc=0", MPR_DISABLE_GC);
    std::vector<void *> short_;
    for (int i = 0; i < 20'000; i++) {
        short_.push_back(mprAlloc(3000));
        if (i % 20 == 0) {
            CHECK((pins ? mprAllocPinned(2048, 64, MPR_ALLOC_HOLD) : mprAllocMem(2048, MPR_ALLOC_HOLD)));
        }
    }
    for (void *block : short_) {
        CHECK(mprFree(block) == 0);
    }
    collect();
    const MprMemStats s = stats();
    return s.heap - (pins ? pinned().committed : 0);
}
} // namespace

TEST_CASE("long-lived pinned buffers do not pierce the ordinary heap", "[gc][pinned]") {
    const uint64 with = committedAround(true), without = committedAround(false);
    INFO("committed by the ordinary heap: " << with << " with pinned buffers, " << without << " with ordinary ones");
    CHECK(with < without / 2);
}

TEST_CASE("a store into a block of a range publishes what it stores", "[gc][pinned]") {
    static unsigned char memory[64 * 1024];
    Runtime runtime("everyyield=0,everyalloc=0");
    REQUIRE(mprAddPinnedRange("range", memory, sizeof(memory)) == 0);
    auto *const owner = static_cast<void **>(mprAllocPinnedIn("range", 64, 16, MPR_ALLOC_HOLD));
    mprSetBatches(true);
    mprYield(0);
    size_t lost = 0, kept = 0;
    constexpr size_t count = 10000;
    for (size_t i = 0; i < count; i++) {
        void *const stored = mprAlloc(16), *const dropped = mprAlloc(16);
        mprSetRefAt(owner + 1, stored);
        mprYield(0);
        lost += owner[1] != stored || !mprIsValid(stored);
        kept += mprIsValid(dropped);
    }
    CHECK(lost == 0);
    CHECK(kept < count / 2); // until the thread has memory that it can take back
    mprSetBatches(false);
    mprRelease(owner);
    CHECK(stats().misuses == 0);
}

TEST_CASE("a pinned block that is refused is told of as others are, and so is what follows", "[gc][pinned]") {
    Runtime runtime;
    static int limits, wells;
    limits = wells = 0;
    mprSetMemNotifier([](int cause, int, size_t, size_t) {
        limits += cause == MPR_MEM_LIMIT;
        wells += cause == MPR_MEM_WELL;
    });
    mprSetMemLimits(0, 16 << 20, -1);
    std::vector<void *> all;
    while (void *block = mprAllocPinned(50'000, 0, MPR_ALLOC_HOLD)) {
        all.push_back(block);
    }
    CHECK(limits == 1);
    CHECK(mprGetMemState() == MPR_MEM_LIMIT);
    for (void *block : all) {
        mprRelease(block);
        CHECK(mprFree(block) == 0);
    }
    CHECK(test::until([] {
        collect();
        mprFree(mprAlloc(30'000));
        return wells > 0;
    }));
    CHECK(mprGetMemState() == MPR_MEM_WELL);
}
