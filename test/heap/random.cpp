// SPDX-License-Identifier: MIT
/*
    test/heap/random.cpp - Random and adversarial sequences of operations through the public API, against a model.
 */
#include "test/support/mutator.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/sequence.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

using namespace test;

TEST_CASE("the model finds overlapping, lost and overwritten blocks", "[heap][random][port]") {
    Runtime runtime;
    Shadow shadow;
    CHECK(shadow.insert(1000, 100));
    CHECK_FALSE(shadow.insert(1000, 1));
    CHECK_FALSE(shadow.insert(1099, 1));
    CHECK_FALSE(shadow.insert(990, 11));
    CHECK_FALSE(shadow.insert(900, 1000));
    CHECK(shadow.insert(1100, 0));
    CHECK_FALSE(shadow.insert(1100, 0));
    CHECK(shadow.insert(990, 10));

    auto block = static_cast<char *>(mprAlloc(64));
    CHECK_FALSE(shadow.add(block + 1, 8, 1));
    CHECK_FALSE(shadow.add(block + 16, 8, 1));
    CHECK_FALSE(shadow.add(block, 5000, 1));
    CHECK(shadow.add(block, 64, 1));
    CHECK_FALSE(shadow.check(block));
    fill(block, 64, 1);
    CHECK(shadow.check(block));
    block[63] ^= 1;
    CHECK_FALSE(shadow.check(block));
    block[63] ^= 1;
    mprFree(block);
    CHECK_FALSE(shadow.check(block));
    CHECK(shadow.what().find("lost") != std::string::npos);
}

TEST_CASE("short random sequences, the heap verified after every operation", "[heap][random][port]") {
    const uint64_t seeds = heavy(20);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        Runtime runtime("region=256k,young=64k");
        resetManaged();
        Sequence sequence(seed, allSizes[seed % std::size(allSizes)], 1 << 20, 300);
        for (int step = 0; step < 2000; step++) {
            if (!sequence.step() || mprVerifyHeap() != 0) {
                FAIL("seed " << seed << " step " << step << ": " << sequence.what() << "\n" << Log::text());
            }
        }
        bool cleared = sequence.clear();
        INFO("seed " << seed << ": " << sequence.what());
        REQUIRE(cleared);
        REQUIRE(mprVerifyHeap() == 0);
    }
}

TEST_CASE("long random sequences in each distribution of sizes", "[heap][random][large][port]") {
    auto options = GENERATE("", "region=256k,young=256k");
    for (uint64_t which = 0; which < std::size(allSizes); which++) {
        Runtime runtime(options, 0, 120);
        resetManaged();
        Sequence sequence(100 + which, allSizes[which], 16 << 20, 5000);
        const size_t steps = heavy(allSizes[which] == largeSizes ? 5000 : 100000);
        for (size_t step = 0; step < steps; step++) {
            if (!sequence.step() || (step % 1000 == 0 && mprVerifyHeap() != 0)) {
                FAIL("options " << options << " sizes " << which << " step " << step << ": " << sequence.what() << "\n"
                                << Log::text());
            }
        }
        bool cleared = sequence.clear();
        INFO("options " << options << " sizes " << which << ": " << sequence.what());
        REQUIRE(cleared);
    }
}

TEST_CASE("random sequences in several threads do not disturb one another", "[heap][random][port]") {
    Runtime runtime("region=256k,young=256k", 0, 120);
    resetManaged();
    std::atomic<int> failed{0};
    std::string what[4];
    std::vector<std::unique_ptr<Mutator>> mutators;
    for (uint64_t i = 0; i < 4; i++) {
        mutators.push_back(std::make_unique<Mutator>("sequence", [&what, &failed, i](Mutator &) {
            Sequence sequence(200 + i, i % 2 ? mixedSizes : tinySizes, 1 << 20, 2000, false);
            for (size_t step = 0; step < heavy(100000); step++) {
                if (!sequence.step()) {
                    what[i] = "step " + std::to_string(step) + ": " + sequence.what();
                    failed++;
                    return;
                }
            }
            if (!sequence.clear()) {
                what[i] = "clear: " + sequence.what();
                failed++;
            }
        }));
    }
    for (auto &mutator : mutators) {
        mutator->join();
    }
    INFO(what[0] << what[1] << what[2] << what[3]);
    CHECK(failed == 0);
    collect();
    CHECK(managedFreed == managedGone);
    CHECK(managedBroken == 0);
}

TEST_CASE("random sequences in a small buffer", "[heap][random][port]") {
    static unsigned char buffer[256 << 10];
    for (uint64_t seed = 1; seed <= 5; seed++) {
        Runtime runtime(buffer, sizeof(buffer));
        resetManaged();
        Sequence sequence(300 + seed, seed % 2 ? tinySizes : powerSizes, 30 << 10, 200);
        for (int step = 0; step < 2000; step++) {
            if (!sequence.step() || mprVerifyHeap() != 0) {
                // In a buffer NULL is an answer, not a defect.
                if (sequence.what().find("NULL") != std::string::npos) {
                    break;
                }
                FAIL("seed " << seed << " step " << step << ": " << sequence.what() << "\n" << Log::text());
            }
        }
    }
}

namespace {

/* Blocks of one size, to be freed in some order. */
std::vector<void *> allocate(size_t count, size_t size) {
    std::vector<void *> blocks(count);
    for (auto &block : blocks) {
        block = mprAlloc(size);
        REQUIRE(block);
    }
    return blocks;
}

void release(std::vector<void *> &blocks, size_t first, size_t stride) {
    for (size_t i = first; i < blocks.size(); i += stride) {
        if (blocks[i]) {
            REQUIRE(mprFree(blocks[i]) == 0);
            blocks[i] = nullptr;
        }
    }
}

/* After everything was given back, the heap is as good as new. */
void checkRecovered(const MprMemStats &fresh) {
    collect();
    auto now = stats();
    CHECK(mprVerifyHeap() == 0);
    CHECK(now.bytesLive <= fresh.bytesLive);
    CHECK(now.blocksAllocated - now.blocksFreed <= fresh.blocksAllocated - fresh.blocksFreed);
    CHECK(now.largestFree >= fresh.largestFree / 2);
}

/* A fresh heap's statistics, taken after a collection. */
MprMemStats freshStats() {
    collect();
    return stats();
}

} // namespace

TEST_CASE("the heap recovers after every other block was freed, then the rest", "[heap][pattern][large][port]") {
    size_t size = GENERATE(16, 48, 200, 1000, 5000);
    Runtime runtime("region=256k", MPR_DISABLE_GC);
    auto fresh = freshStats();
    auto blocks = allocate(5000, size);
    release(blocks, 0, 2);
    CHECK(mprVerifyHeap() == 0);
    auto larger = allocate(500, size * 2 + 32);
    CHECK(mprVerifyHeap() == 0);
    release(blocks, 1, 2);
    release(larger, 0, 1);
    checkRecovered(fresh);
}

TEST_CASE("freed blocks join in whatever order their neighbours go", "[heap][pattern][port]") {
    Runtime runtime("region=256k", MPR_DISABLE_GC);
    auto fresh = freshStats();
    auto blocks = allocate(10000, 64);
    Random random(4);
    for (size_t i = blocks.size() - 1; i > 0; i--) {
        std::swap(blocks[i], blocks[random.below(i + 1)]);
    }
    release(blocks, 0, 1);
    checkRecovered(fresh);
}

TEST_CASE("the heap recovers from a comb of long-lived teeth", "[heap][pattern][port]") {
    Runtime runtime("region=256k", MPR_DISABLE_GC);
    auto fresh = freshStats();
    std::vector<void *> teeth, gaps;
    for (size_t i = 0; i < 5000; i++) {
        gaps.push_back(mprAlloc(100 + i % 1000));
        teeth.push_back(mprAlloc(24));
    }
    release(gaps, 0, 1);
    CHECK(mprVerifyHeap() == 0);
    for (int round = 0; round < 5; round++) {
        auto filling = allocate(2000, 90 + static_cast<size_t>(round) * 100);
        release(filling, 0, 3);
        release(filling, 1, 1);
        REQUIRE(mprVerifyHeap() == 0);
    }
    CHECK(stats().heapPeak < 16 << 20);
    release(teeth, 0, 1);
    checkRecovered(fresh);
}

TEST_CASE("blocks that grow by turns keep their contents", "[heap][pattern][port]") {
    Runtime runtime("region=256k", MPR_DISABLE_GC);
    auto fresh = freshStats();
    constexpr size_t count = 8;
    void *blocks[count] = {};
    size_t size = 0;
    for (size_t step = 1; step < 400; step++) {
        size_t grown = step * step / 2 + step;
        for (size_t i = 0; i < count; i++) {
            blocks[i] = mprRealloc(blocks[i], grown);
            REQUIRE(blocks[i]);
            REQUIRE(filled(blocks[i], size, i));
            fill(blocks[i], grown, i, size);
        }
        size = grown;
        if (step % 20 == 0) {
            REQUIRE(mprVerifyHeap() == 0);
        }
    }
    for (size_t i = 0; i < count; i++) {
        CHECK(filled(blocks[i], size, i));
        CHECK(mprFree(blocks[i]) == 0);
    }
    checkRecovered(fresh);
}

TEST_CASE("blocks that shrink give memory back", "[heap][pattern][port]") {
    Runtime runtime("region=256k,poison=0", MPR_DISABLE_GC);
    auto fresh = freshStats();
    std::vector<void *> blocks = allocate(1000, 10000);
    for (size_t i = 0; i < blocks.size(); i++) {
        fill(blocks[i], 100, i);
        blocks[i] = mprRealloc(blocks[i], 100);
        REQUIRE(blocks[i]);
    }
    CHECK(mprVerifyHeap() == 0);
    size_t intact = 0;
    for (size_t i = 0; i < blocks.size(); i++) {
        intact += filled(blocks[i], 100, i);
    }
    CHECK(intact == blocks.size());
    auto more = allocate(900, 9000);
    CHECK(stats().heapPeak < 14 << 20);
    release(blocks, 0, 1);
    release(more, 0, 1);
    checkRecovered(fresh);
}

TEST_CASE("phases of different sizes use the same memory", "[heap][pattern][port]") {
    Runtime runtime("region=256k", MPR_DISABLE_GC);
    auto fresh = freshStats();
    for (int round = 0; round < 3; round++) {
        for (size_t size : {16u, 10000u, 100u, 200000u, 1000u}) {
            auto blocks = allocate((4 << 20) / size, size);
            release(blocks, 0, 2);
            release(blocks, 1, 2);
        }
    }
    // Of 60 MiB in all: what is being given back cannot be had meanwhile, and the collector's thread may be slow at it.
    CHECK(stats().heapPeak < 32 << 20);
    checkRecovered(fresh);
}

TEST_CASE("the same patterns recover by collection instead of mprFree", "[heap][pattern][port]") {
    Runtime runtime("region=256k,young=1m");
    auto fresh = freshStats();
    {
        Root root(makeTable(20000));
        for (size_t i = 0; i < 20000; i++) {
            root.as<Table>()->items[i] = mprAlloc(i % 700);
            mprYield(0);
        }
        for (size_t stride : {2u, 3u, 7u}) {
            for (size_t i = 0; i < 20000; i += stride) {
                root.as<Table>()->items[i] = nullptr;
            }
            collect();
            REQUIRE(mprVerifyHeap() == 0);
        }
    }
    checkRecovered(fresh);
}

TEST_CASE("memory of large blocks is given back and had again", "[heap][pattern][port]") {
    Runtime runtime("region=256k", MPR_DISABLE_GC);
    mprSetMemLimits(0, 0, 0);
    auto fresh = freshStats();
    for (int i = 0; i < 200; i++) {
        size_t size = (100u << 10) + static_cast<size_t>(i) * 33333;
        auto block = static_cast<char *>(mprAlloc(size));
        REQUIRE(block);
        block[0] = block[size - 1] = 'x';
        REQUIRE(mprFree(block) == 0);
        if (i % 20 == 0) {
            mprYield(0);
            REQUIRE(mprVerifyHeap() == 0);
        }
    }
    collect();
    CHECK(stats().heap <= fresh.heap + (2 << 20));
    checkRecovered(fresh);
}
