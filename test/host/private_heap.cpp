// SPDX-License-Identifier: MIT
/*
    test/host/private_heap.cpp - Private heaps: blocks keep what was written, limits hold, what is left is named.
 */
#include "test/catch.hpp"

#include "mpr.h"
#include "mpr.hpp"
#include "test/support/log.hpp"
#include "test/support/mutator.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

using namespace test;

namespace {

struct Block {
    unsigned char *at;
    size_t size;
    unsigned char fill;
};

bool isIntact(const Block &block, size_t size) {
    return std::all_of(block.at, block.at + std::min(block.size, size),
                       [&](unsigned char c) { return c == block.fill; });
}

/* Random allocations, changes of size and frees. @return What went wrong. */
size_t churn(MprPrivateHeap *heap, unsigned seed, int times, std::vector<Block> &blocks) {
    Random random(seed);
    size_t wrong = 0;
    for (int i = 0; i < times; i++) {
        const size_t shape = random.below(100);
        const size_t size = shape < 80   ? random.below(300)
                            : shape < 98 ? random.below(20'000)
                                         : random.below(3'000'000);
        const auto fill = static_cast<unsigned char>(random.below(256));
        const size_t what = random.below(10);
        if (blocks.empty() || what < 4) {
            auto at = static_cast<unsigned char *>(mprHeapAlloc(heap, size, MPR_CRITICAL_TASK));
            if (!at || reinterpret_cast<uintptr_t>(at) % (2 * sizeof(void *)) != 0 ||
                mprGetHeapBlockSize(heap, at) < size) {
                wrong++;
                continue;
            }
            memset(at, fill, size);
            blocks.push_back({at, size, fill});
            continue;
        }
        Block &block = blocks[random.below(blocks.size())];
        if (what < 6) {
            auto at = static_cast<unsigned char *>(mprHeapRealloc(heap, block.at, size, MPR_CRITICAL_TASK));
            wrong += !at;
            block.at = at;
            wrong += !isIntact(block, size);
            memset(at, fill, size);
            block.size = size;
            block.fill = fill;
        } else {
            wrong += !isIntact(block, block.size);
            wrong += mprHeapFree(heap, block.at) != 0;
            block = blocks.back();
            blocks.pop_back();
        }
    }
    return wrong;
}

MprHeapStats figures(MprPrivateHeap *heap) {
    MprHeapStats stats;
    CHECK(mprReadHeapStats(heap, &stats) == 0);
    return stats;
}
} // namespace

TEST_CASE("blocks of a private heap keep what is written, with a runtime or without", "[host][heap]") {
    const int flags = GENERATE(0, MPR_HEAP_ONE_THREAD, MPR_HEAP_TRACKED, MPR_HEAP_ONE_THREAD | MPR_HEAP_TRACKED);
    std::unique_ptr<Runtime> runtime;
    if (GENERATE(false, true)) {
        runtime = std::make_unique<Runtime>();
    }
    const Log log; // of blocks that are left
    MprPrivateHeap *heap = mprCreateHeap("churn", flags);
    MprPrivateHeap *other = mprCreateHeap("other", flags);
    REQUIRE(heap);
    REQUIRE(other);
    std::vector<Block> blocks, others;
    CHECK(churn(heap, 1, 20'000, blocks) == 0);
    CHECK(churn(other, 2, 5'000, others) == 0);
    CHECK(figures(heap).blocks == blocks.size());
    CHECK(figures(other).blocks == others.size());
    size_t least = 0;
    for (const Block &block : blocks) {
        least += block.size;
    }
    const MprHeapStats before = figures(heap);
    CHECK(before.bytes >= least);
    CHECK(before.committed >= before.bytes);
    CHECK(before.refused == 0);
    for (const Block &block : blocks) {
        CHECK(mprHeapFree(heap, block.at) == 0);
    }
    CHECK(figures(heap).blocks == 0);
    CHECK(figures(heap).bytes == 0);
    CHECK(mprTrimHeap(heap) == 0);
    CHECK(figures(heap).committed < before.committed);
    blocks.clear();
    CHECK(churn(heap, 3, 1'000, blocks) == 0);
    CHECK(mprDestroyHeap(heap) == static_cast<ptrdiff_t>(blocks.size())); // all at once
    for (const Block &block : others) {
        CHECK(isIntact(block, block.size));
    }
    CHECK(mprDestroyHeap(other) == static_cast<ptrdiff_t>(others.size()));
}

TEST_CASE("a private heap in memory of the program's lies there, and gives it back", "[host][heap]") {
    const int flags = GENERATE(0, MPR_HEAP_ONE_THREAD, MPR_HEAP_TRACKED);
    std::vector<unsigned char> memory(1 << 20);
    const unsigned char *end = memory.data() + memory.size();
    const Log log;
    MprHostStats before, after;
    mprReadHostStats(&before);
    for (size_t shift : {0, 1, 4096}) { // and again in the same memory
        MprPrivateHeap *heap = mprCreateHeapIn("inside", memory.data() + shift, memory.size() - shift, flags);
        REQUIRE(heap);
        std::vector<Block> blocks;
        size_t filled = 0;
        for (size_t size = 1; auto at = static_cast<unsigned char *>(mprHeapAlloc(heap, size, MPR_CRITICAL_TASK));
             size = size * 3 % 4099) {
            REQUIRE((at >= memory.data() + shift && at + size <= end));
            memset(at, static_cast<int>(size), size);
            blocks.push_back({at, size, static_cast<unsigned char>(size)});
            filled += size;
        }
        CHECK(filled > memory.size() * 3 / 4);
        CHECK((figures(heap).blocks == blocks.size() && figures(heap).committed <= memory.size()));
        for (const Block &block : blocks) {
            REQUIRE(isIntact(block, block.size));
            REQUIRE(mprHeapFree(heap, block.at) == 0);
        }
        void *large = mprHeapAlloc(heap, filled, MPR_CRITICAL_TASK);
        CHECK((large && figures(heap).blocks == 1)); // it is one hole again
        CHECK((mprHeapFree(heap, large) == 0 && mprTrimHeap(heap) == 0));
        CHECK((mprSetHeapLimit(heap, 500'000) == 0 && !mprHeapAlloc(heap, 600'000, MPR_CRITICAL_TASK)));
        CHECK(mprHeapAlloc(heap, 250'000, MPR_CRITICAL_TASK)); // the last of it is a reserve
        CHECK(mprDestroyHeap(heap) == 1);
        memset(memory.data(), 0xee, memory.size()); // which is the program's
        CHECK((shift != 1 || mprDestroyHeap(heap) == MPR_ERR_BAD_ARGS));
    }
    mprReadHostStats(&after);
    CHECK(after.reserved == before.reserved);
}

TEST_CASE("memory that is too small for a private heap is refused, and the least serves", "[host][heap][misuse]") {
    Log log;
    std::vector<unsigned char> memory(64 * 1024);
    CHECK_FALSE(mprCreateHeapIn("none", nullptr, 100'000, 0));
    CHECK(Log::has("mprCreateHeapIn: memory of 0 bytes is too small"));
    CHECK_FALSE(mprCreateHeapIn("flags", memory.data(), memory.size(), 8));
    CHECK(Log::has("flags that there are not"));
    size_t least = 0;
    for (size_t size = 0; size <= memory.size(); size += 16) {
        MprPrivateHeap *heap = mprCreateHeapIn("least", memory.data(), size, 0);
        if (heap) {
            least = least != 0 ? least : size;
            // Whatever there is room for, and nothing beyond.
            std::vector<Block> blocks;
            while (auto at = static_cast<unsigned char *>(mprHeapAlloc(heap, 100, MPR_CRITICAL_TASK))) {
                REQUIRE(at + 100 <= memory.data() + size);
                memset(at, 7, 100);
                blocks.push_back({at, 100, 7});
            }
            for (const Block &block : blocks) {
                REQUIRE(isIntact(block, 100));
            }
            CHECK(mprDestroyHeap(heap) == static_cast<ptrdiff_t>(blocks.size()));
        }
    }
    INFO(least);
    CHECK(least > 0);
    CHECK(least < 16 * 1024);
}

TEST_CASE("a private heap in a span, and a container in it", "[host][heap][cpp]") {
    alignas(16) static std::byte memory[100'000];
    mpr::PrivateHeap heap("span", memory, MPR_HEAP_ONE_THREAD);
    REQUIRE(heap);
    mpr::HeapResource resource(heap.get());
    std::pmr::vector<int> numbers(1000, 3, &resource);
    const auto at = reinterpret_cast<std::byte *>(numbers.data());
    CHECK((at >= memory && at < std::end(memory)));
}

TEST_CASE("threads share a private heap, and free what others have made", "[host][heap]") {
    MprPrivateHeap *heap = mprCreateHeap("shared", 0);
    REQUIRE(heap);
    std::atomic<size_t> wrong{0};
    std::vector<Block> blocks[3];
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; t++) {
        threads.emplace_back([&, t] { wrong += churn(heap, t + 10, 5'000, blocks[t]); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(wrong == 0);
    CHECK(figures(heap).blocks == blocks[0].size() + blocks[1].size() + blocks[2].size());
    for (const auto &each : blocks) {
        for (const Block &block : each) {
            CHECK(isIntact(block, block.size));
            CHECK(mprHeapFree(heap, block.at) == 0);
        }
    }
    CHECK(mprDestroyHeap(heap) == 0);
}

TEST_CASE("a private heap stays within its limit, below which a critical request gets more", "[host][heap]") {
    MprPrivateHeap *heap = mprCreateHeap("small", MPR_HEAP_ONE_THREAD);
    REQUIRE(heap);
    constexpr size_t limit = 4'000'000;
    CHECK(mprSetHeapLimit(heap, limit) == 0);
    std::vector<void *> blocks;
    while (void *block = mprHeapAlloc(heap, 10'000, MPR_CRITICAL_TASK)) {
        blocks.push_back(block);
        REQUIRE(blocks.size() < 1000);
    }
    CHECK(blocks.size() > 300);
    CHECK(figures(heap).refused == 1);
    void *critical = mprHeapAlloc(heap, 10'000, MPR_CRITICAL_PROCESS);
    CHECK(critical);
    CHECK(mprHeapFree(heap, critical) == 0);
    while (mprHeapAlloc(heap, 1'000, MPR_CRITICAL_PROCESS)) {}
    CHECK(figures(heap).committed <= limit);
    CHECK(figures(heap).maximum == limit);
    CHECK(mprHeapAlloc(heap, SIZE_MAX, MPR_CRITICAL_PROCESS) == nullptr);
    CHECK(mprHeapRealloc(heap, blocks[0], SIZE_MAX - 20, MPR_CRITICAL_TASK) == nullptr);
    CHECK(mprGetHeapBlockSize(heap, blocks[0]) >= 10'000);
    for (void *block : blocks) {
        CHECK(mprHeapFree(heap, block) == 0);
    }
    CHECK(mprHeapAlloc(heap, 20'000, MPR_CRITICAL_TASK)); // what was freed serves again
    CHECK(mprDestroyHeap(heap) > 0);
}

TEST_CASE("a full private heap serves large blocks from small ones that were freed, again and again", "[host][heap]") {
    MprPrivateHeap *heap = mprCreateHeap("cycles", MPR_HEAP_ONE_THREAD);
    REQUIRE(heap);
    CHECK(mprSetHeapLimit(heap, 4'000'000) == 0);
    for (int cycle = 0; cycle < 60; cycle++) {
        std::vector<void *> blocks;
        size_t filled = 0;
        for (size_t size = 16; void *block = mprHeapAlloc(heap, size, MPR_CRITICAL_TASK); size = size % 1024 + 16) {
            blocks.push_back(block);
            filled += size;
        }
        for (void *block : blocks) {
            REQUIRE(mprHeapFree(heap, block) == 0);
        }
        void *large = mprHeapAlloc(heap, filled / 4 * 3, MPR_CRITICAL_TASK);
        INFO("cycle " << cycle);
        REQUIRE(large);
        REQUIRE(mprHeapFree(heap, large) == 0);
    }
    CHECK(mprDestroyHeap(heap) == 0);
}

TEST_CASE("what is left in a tracked heap is named with its place when the heap goes", "[host][heap]") {
    Log log;
    MprPrivateHeap *heap = mprCreateHeap("leaky", MPR_HEAP_TRACKED);
    REQUIRE(heap);
    void *gone = mprHeapAllocAt(heap, 10, MPR_CRITICAL_TASK, "freed.c", 1);
    void *grown = mprHeapAllocAt(heap, 10, MPR_CRITICAL_TASK, "grown.c", 22);
    mprHeapAllocAt(heap, 2'000'000, MPR_CRITICAL_TASK, "large.c", 333);
    mprHeapAlloc(heap, 30, MPR_CRITICAL_TASK);
    CHECK(mprHeapRealloc(heap, grown, 100'000, MPR_CRITICAL_TASK));
    CHECK(mprHeapFree(heap, gone) == 0);
    SECTION("a few") {
        CHECK(mprDestroyHeap(heap) == 3);
        INFO(Log::text());
        CHECK(log.size() == 3);
        CHECK(Log::count("\"leaky\"") == 3);
        CHECK(Log::has("grown.c:22"));
        CHECK(Log::has("large.c:333"));
        CHECK(Log::has("made at 0x")); // the code that called
        CHECK(!Log::has("freed.c"));
    }
    SECTION("many") {
        for (int i = 0; i < 97; i++) {
            mprHeapAllocAt(heap, 10, MPR_CRITICAL_TASK, "many.c", 4);
        }
        CHECK(mprDestroyHeap(heap) == 100);
        CHECK(log.size() == 51);
        CHECK(Log::has("50 more"));
    }
}

TEST_CASE("a block that is left in the least heap is named once", "[host][heap]") {
    alignas(4096) static unsigned char memory[8192];
    for (const size_t size : {4032, 4096, 4111, 4112, 8192}) {
        Log log;
        MprPrivateHeap *heap = mprCreateHeapIn("least", memory, size, MPR_HEAP_TRACKED);
        if (!heap) { // with 64 bits it is smaller than that
            continue;
        }
        for (const int line : {1, 2, 3}) {
            REQUIRE(mprHeapAllocAt(heap, 20, MPR_CRITICAL_TASK, "left.c", line));
        }
        CHECK(mprDestroyHeap(heap) == 3);
        INFO(size << " bytes\n" << Log::text());
        CHECK(log.size() == 3);
    }
}

TEST_CASE("a block whose file is not said was made at an unknown place", "[host][heap]") {
    Log log;
    MprPrivateHeap *heap = mprCreateHeap("leaky", MPR_HEAP_TRACKED);
    mprHeapAllocAt(heap, 30, MPR_CRITICAL_TASK, nullptr, 0);
    CHECK(mprDestroyHeap(heap) == 1);
    CHECK(Log::has("unknown place"));
}

TEST_CASE("a heap that is not tracked is silent about what is left", "[host][heap]") {
    Log log;
    MprPrivateHeap *heap = mprCreateHeap("quiet", 0);
    mprHeapAlloc(heap, 10, MPR_CRITICAL_TASK);
    CHECK(mprDestroyHeap(heap) == 1);
    CHECK(mprDestroyHeap(nullptr) == 0);
    CHECK(log.size() == 0);
}

TEST_CASE("wrong calls of a private heap are named, and do nothing", "[host][heap][misuse]") {
    Log log;
    MprPrivateHeap *heap = mprCreateHeap("right", MPR_HEAP_ONE_THREAD), *other = mprCreateHeap("wrong", 0);
    char *block = static_cast<char *>(mprHeapAlloc(heap, 100, MPR_CRITICAL_TASK));
    const auto isNamed = [](cchar *function, cchar *why) {
        const bool named = Log::has(function) && Log::has(why);
        INFO(Log::text());
        CHECK(named);
        Log::clear();
    };
    SECTION("a block of another heap") {
        CHECK(mprHeapFree(other, block) == MPR_ERR_BAD_ARGS);
        isNamed("mprHeapFree", "heap \"wrong\": not the start of a block");
        CHECK(mprHeapRealloc(other, block, 10, MPR_CRITICAL_TASK) == nullptr);
        isNamed("mprHeapRealloc", "heap \"wrong\": not the start of a block");
        CHECK(mprGetHeapBlockSize(other, block) == 0);
    }
    SECTION("no start of a block") {
        for (void *ptr : {static_cast<void *>(block + 1), static_cast<void *>(block + 16), static_cast<void *>(&log),
                          reinterpret_cast<void *>(16), reinterpret_cast<void *>(~uintptr_t{0})}) {
            CHECK(mprHeapFree(heap, ptr) == MPR_ERR_BAD_ARGS);
            isNamed("mprHeapFree", "not the start of a block");
        }
    }
    SECTION("a block that was freed") {
        CHECK(mprHeapFree(heap, block) == 0);
        CHECK(mprHeapFree(heap, block) == MPR_ERR_BAD_ARGS);
        isNamed("mprHeapFree", "not the start of a block");
        block = nullptr;
    }
    SECTION("another thread") {
        std::thread([&] {
            CHECK(mprHeapAlloc(heap, 10, MPR_CRITICAL_TASK) == nullptr);
            CHECK(mprHeapFree(heap, block) == MPR_ERR_BAD_ARGS);
        }).join();
        isNamed("mprHeapFree", "for one thread");
    }
    SECTION("another thread, before the first allocation") {
        MprPrivateHeap *later = mprCreateHeap("later", MPR_HEAP_ONE_THREAD);
        CHECK(mprSetHeapLimit(later, 1'000'000) == 0); // does not make it this thread's
        std::thread([&] { CHECK(mprHeapAlloc(later, 10, MPR_CRITICAL_TASK)); }).join();
        CHECK(mprSetHeapLimit(later, 0) == MPR_ERR_BAD_ARGS);
        isNamed("mprSetHeapLimit", "for one thread");
        CHECK(mprDestroyHeap(later) == 1);
    }
    SECTION("a level or flags that there are not") {
        CHECK(mprHeapAlloc(heap, 10, 3) == nullptr);
        isNamed("mprHeapAlloc", "a level");
        CHECK(mprHeapAlloc(heap, 10, -1) == nullptr);
        isNamed("mprHeapAlloc", "a level");
        CHECK(mprCreateHeap("none", 4) == nullptr);
        isNamed("mprCreateHeap", "flags");
    }
    SECTION("a heap that is gone, or none") {
        MprHeapStats stats;
        CHECK(mprDestroyHeap(other) == 0);
        CHECK(mprDestroyHeap(other) == MPR_ERR_BAD_ARGS);
        isNamed("mprDestroyHeap", "destroyed");
        CHECK(mprHeapAlloc(other, 10, MPR_CRITICAL_TASK) == nullptr);
        isNamed("mprHeapAlloc", "destroyed");
        CHECK(mprHeapFree(nullptr, block) == MPR_ERR_BAD_ARGS);
        isNamed("mprHeapFree", "no heap");
        CHECK(mprReadHeapStats(other, &stats) == MPR_ERR_BAD_ARGS);
        CHECK(mprTrimHeap(other) == MPR_ERR_BAD_ARGS);
        CHECK(mprSetHeapLimit(other, 0) == MPR_ERR_BAD_ARGS);
        other = nullptr;
        alignas(64) static unsigned char area[1 << 16]; // larger than a heap's record
        std::memset(area, 0x7f, sizeof(area));
        auto *none = reinterpret_cast<MprPrivateHeap *>(area);
        CHECK(mprHeapAlloc(none, 10, MPR_CRITICAL_TASK) == nullptr);
        isNamed("mprHeapAlloc", "no heap");
        CHECK(mprDestroyHeap(none) == MPR_ERR_BAD_ARGS);
        isNamed("mprDestroyHeap", "no heap");
        CHECK(mprDestroyHeap(reinterpret_cast<MprPrivateHeap *>(area + 1)) == MPR_ERR_BAD_ARGS);
    }
    CHECK(mprHeapFree(heap, nullptr) == 0);
    CHECK((!block || mprHeapFree(heap, block) == 0));
    CHECK(mprDestroyHeap(heap) == 0);
    CHECK(mprDestroyHeap(other) == 0);
}

TEST_CASE("what a private heap has for itself is no block of the program", "[host][heap][misuse]") {
    Runtime runtime;
    MprPrivateHeap *heap = mprCreateHeap("lists", GENERATE(0, MPR_HEAP_ONE_THREAD));
    const uint64 misuses = stats().misuses;
    // So small a heap has no lists. When it may be larger they are made in a hole, one of which was a block before.
    mprSetHeapLimit(heap, 220'000);
    REQUIRE(mprTrimHeap(heap) == 0);
    std::vector<void *> blocks;
    while (void *block = mprHeapAlloc(heap, 16'640, MPR_CRITICAL_TASK)) {
        blocks.push_back(block);
    }
    REQUIRE(blocks.size() > 2);
    for (size_t i = 0; i < blocks.size(); i += 2) {
        REQUIRE(mprHeapFree(heap, blocks[i]) == 0);
    }
    mprSetHeapLimit(heap, 0);
    REQUIRE(mprTrimHeap(heap) == 0);
    unsigned asked = 0;
    for (size_t i = 0; i < blocks.size(); i += 2, asked++) {
        CHECK(mprGetHeapBlockSize(heap, blocks[i]) == 0);
        CHECK_FALSE(mprHeapRealloc(heap, blocks[i], 512, MPR_CRITICAL_TASK));
        CHECK(mprHeapFree(heap, blocks[i]) == MPR_ERR_BAD_ARGS);
    }
    CHECK(stats().misuses == misuses + 2 * asked);
    for (size_t i = 1; i < blocks.size(); i += 2) {
        REQUIRE(mprHeapFree(heap, blocks[i]) == 0);
    }
    CHECK(mprDestroyHeap(heap) == 0);
}

TEST_CASE("containers take their memory from a private heap", "[host][heap]") {
    mpr::PrivateHeap heap("containers", MPR_HEAP_ONE_THREAD), other("other");
    REQUIRE(heap);
    mpr::HeapResource memory(heap.get()), same(heap.get()), different(other.get());
    {
        std::pmr::vector<int> numbers(&memory);
        std::pmr::vector<std::pmr::string> texts(&memory);
        for (int i = 0; i < 1000; i++) {
            numbers.push_back(i);
            texts.emplace_back(static_cast<size_t>(i), 'x');
        }
        CHECK(numbers[999] == 999);
        CHECK(texts[999].size() == 999);
        CHECK(figures(heap.get()).blocks > 900);
    }
    CHECK(figures(heap.get()).blocks == 0);
    CHECK(memory == same);
    CHECK(memory != different);
    CHECK(memory != *std::pmr::new_delete_resource());
    for (const size_t alignment : {1, 8, 16, 32, 64, 4096}) {
        void *ptr = memory.allocate(100, alignment);
        CHECK(reinterpret_cast<uintptr_t>(ptr) % alignment == 0);
        memset(ptr, 1, 100);
        memory.deallocate(ptr, 100, alignment);
    }
    CHECK(figures(heap.get()).blocks == 0);
    CHECK_THROWS_AS(memory.allocate(SIZE_MAX / 2), std::bad_alloc);
    mpr::PrivateHeap moved(std::move(heap));
    CHECK(moved);
    CHECK(!heap);
}
