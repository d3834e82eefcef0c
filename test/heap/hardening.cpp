// SPDX-License-Identifier: MIT
/*
    test/heap/hardening.cpp - Programs that write to what they have freed: what they did is named or harms nobody, no
    allocation leads out of the heap, and no block is given to two.
*/
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

using namespace test;

namespace {

/* Where no allocation may lead. */
alignas(64) uintptr_t bait[512];

bool isBait(const void *ptr) {
    return ptr >= bait && ptr < bait + std::size(bait);
}

/* Something that a program may write over anything: an address of its own, of the heap, a small number, anything. */
uintptr_t wild(Random &random, const void *block) {
    switch (random.below(6)) {
    case 0: return reinterpret_cast<uintptr_t>(bait + 128);
    case 1: return reinterpret_cast<uintptr_t>(block) + 16 * random.below(64);
    case 2: return random.below(256);
    case 3: return 0;
    case 4: return ~uintptr_t(0);
    default: return static_cast<uintptr_t>(random.below(SIZE_MAX / 8) * 5);
    }
}

void overwrite(void *block, size_t word, uintptr_t value) {
    memcpy(static_cast<char *>(block) + word * sizeof(value), &value, sizeof(value));
}

/* Live blocks by address: whether one more lies in the heap and apart from all others. */
class Live {
public:
    bool add(void *ptr, size_t size) {
        if (isBait(ptr) || !mprIsValid(ptr)) {
            return false;
        }
        auto *at = static_cast<char *>(ptr);
        auto next = blocks.lower_bound(at);
        if ((next != blocks.end() && at + size > next->first) ||
            (next != blocks.begin() && std::prev(next)->first + std::prev(next)->second > at)) {
            return false;
        }
        blocks[at] = size;
        return true;
    }
    void remove(void *ptr) { blocks.erase(static_cast<char *>(ptr)); }

private:
    std::map<char *, size_t> blocks;
};

/*
    Blocks of sizes from `least` are made and freed; every freed one gets `words` words written over.
    @return How often something was named.
 */
uint64 churn(Random &random, size_t rounds, size_t least, size_t most, size_t words) {
    struct Block {
        void *ptr;
        size_t size;
    };
    std::vector<Block> blocks;
    Live live;
    for (size_t round = 0; round < rounds; round++) {
        while (blocks.size() < 64) {
            const size_t size = least + random.below(most - least + 1);
            void *ptr = mprAlloc(size);
            REQUIRE(ptr);
            if (!live.add(ptr, size)) {
                FAIL("round " << round << ": an allocation led to " << ptr);
            }
            memset(ptr, 0xA5, size);
            blocks.push_back({ptr, size});
        }
        const size_t i = random.below(blocks.size());
        const Block gone = blocks[i];
        blocks[i] = blocks.back();
        blocks.pop_back();
        live.remove(gone.ptr);
        mprFree(gone.ptr);
        for (size_t w = 0; w < words; w++) {
            overwrite(gone.ptr, random.below(gone.size / sizeof(uintptr_t)), wild(random, gone.ptr));
        }
        // Others are made of it, of its neighbours, and freed beside it.
        for (int more = 0; more < 2 && !blocks.empty(); more++) {
            const size_t k = random.below(blocks.size());
            live.remove(blocks[k].ptr);
            mprFree(blocks[k].ptr);
            blocks[k] = blocks.back();
            blocks.pop_back();
        }
    }
    return stats().misuses;
}
} // namespace

TEST_CASE("a write to a small block that was freed leads no allocation astray", "[heap][hardening][port]") {
    for (size_t word = 0; word < 8; word++) {
        Runtime runtime("region=1m,poison=0", MPR_DISABLE_GC);
        mprAlloc(64);
        void *block = mprAlloc(64);
        mprFree(mprAlloc(64));
        mprFree(block);
        bait[128] = 0;
        bait[129] = reinterpret_cast<uintptr_t>(bait + 256);
        overwrite(block, word, reinterpret_cast<uintptr_t>(bait + 128));
        Live live;
        for (int i = 0; i < 40; i++) {
            CHECK(live.add(mprAlloc(64), 64));
        }
        INFO("word " << word << "\n" << Log::text());
        CHECK(Log::names(block) == (word == 0));
        CHECK(Log::has("write after free") == (word == 0));
        CHECK(stats().misuses == (word == 0));
    }
}

TEST_CASE("a small block that was written to after it was freed is not used again", "[heap][hardening][port]") {
    Runtime runtime("region=1m,poison=0", MPR_DISABLE_GC);
    void *block = mprAlloc(64);
    mprFree(block);
    overwrite(block, 0, 1);
    for (int i = 0; i < 1000; i++) {
        void *other = mprAlloc(64);
        REQUIRE(other != block);
        mprFree(other);
    }
    CHECK(Log::count("write after free") == 1);
}

TEST_CASE("a link of old that is written back leads nobody into the lowest region, given up since",
          "[heap][hardening][port]") {
    if (sanitized) {
        return; // what was freed is read
    }
    constexpr size_t size = 20480, links = 16; // the least of its range, so that any hole of it fits
    Runtime runtime("region=1m,poison=0,everyyield=0", MPR_DISABLE_GC);
    mprSetMemLimits(0, 0, 0);
    struct Blocks {
        char *region;
        std::vector<char *> all;
    };
    std::vector<Blocks> regions; // the newest last; mostly each is below the one before
    while (regions.size() < 7 || regions.back().all.size() < 12) {
        auto *block = static_cast<char *>(mprAlloc(size));
        mprHold(block);
        auto *region = block - reinterpret_cast<uintptr_t>(block) % (1 << 20);
        if (regions.empty() || regions.back().region != region) {
            regions.push_back({region, {}});
        }
        regions.back().all.push_back(block);
    }
    const auto isBelow = [](const Blocks &a, const Blocks &b) { return a.region < b.region; };
    const auto [lowest, highest] = std::minmax_element(regions.begin(), regions.end(), isBelow);
    if (&*lowest != &regions.back() && &*highest != &regions.back()) {
        return; // the system had room between others
    }
    std::vector<char *> goes = regions.back().all;
    char *stays = regions[2].all[5];
    const auto release = [](char *block) {
        mprRelease(block);
        mprFree(block);
    };
    release(goes[5]);
    release(stays);
    char link[links];
    memcpy(link, stays, links); // to the other
    REQUIRE(static_cast<char *>(mprAlloc(size)) - stays == 0);
    mprHold(stays);
    goes.erase(goes.begin() + 5);
    for (char *block : goes) {
        release(block);
    }
    // A region is given up when so much is free, its header counted.
    std::for_each(regions[1].all.begin() + 10, regions[1].all.begin() + 20, release);
    const auto before = stats().regions;
    collect();
    REQUIRE(stats().regions < before);
    collect(); // its addresses are given up when all threads have stopped since
    collect();
    release(stays);
    REQUIRE(Log::size() == 0);
    memcpy(stays, link, links);
    for (int i = 0; i < 100; i++) {
        REQUIRE(mprAlloc(size));
    }
    INFO(Log::text());
    CHECK(Log::has("write after free"));
}

TEST_CASE("a write to a larger block that was freed is named, and the queues are rebuilt", "[heap][hardening][port]") {
    for (size_t word = 0; word < 2; word++) {
        Runtime runtime("region=1m,poison=0", MPR_DISABLE_GC);
        void *block = mprAlloc(5000);
        void *other = mprAlloc(5000);
        mprFree(block);
        overwrite(block, word, reinterpret_cast<uintptr_t>(bait + 128));
        Live live;
        live.add(other, 5000);
        for (int i = 0; i < 500; i++) {
            CHECK(live.add(mprAlloc(4600), 4600));
        }
        INFO("word " << word << "\n" << Log::text());
        CHECK(Log::names(block) == 1);
        CHECK(Log::count("write after free") == 1);
        CHECK(stats().misuses == 1);
        CHECK(mprVerifyHeap() == 0);
    }
}

TEST_CASE("a write to any part of a link is named", "[heap][hardening][port]") {
    for (size_t width : {1, 2, 4, 8}) {
        for (size_t at = 0; at < 2 * sizeof(uintptr_t); at += width) {
            for (unsigned char flips : {0x01, 0x10, 0x80, 0xff}) {
                Runtime runtime("region=1m,poison=0", MPR_DISABLE_GC);
                // Three holes in one queue; the one in the middle is written to.
                void *blocks[6];
                for (void *&block : blocks) {
                    block = mprAlloc(5000);
                }
                for (int i : {0, 2, 4}) {
                    mprFree(blocks[i]);
                }
                auto *bytes = static_cast<volatile unsigned char *>(blocks[2]) + at;
                for (size_t i = 0; i < width; i++) {
                    bytes[i] = bytes[i] ^ flips;
                }
                mprFree(blocks[3]); // joins the holes on both sides
                INFO("width " << width << " at " << at << ": " << int{flips} << "\n" << Log::text());
                CHECK(Log::names(blocks[2]) == 1);
                CHECK(Log::count("write after free") == 1);
                CHECK(mprVerifyHeap() == 0);
            }
        }
    }
}

TEST_CASE("verifying the heap names a link that was overwritten, and mends it", "[heap][hardening][port]") {
    Runtime runtime("region=1m,poison=0", MPR_DISABLE_GC);
    void *block = mprAlloc(5000);
    mprAlloc(5000);
    mprFree(block);
    overwrite(block, 0, 12345);
    CHECK(mprVerifyHeap() > 0);
    CHECK(Log::names(block) == 1);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("ten thousand writes to what was freed: named or harmless", "[heap][hardening][port]") {
    uint64 named = 0;
    const size_t ranges[][2] = {{16, 256}, {16, 4096}, {1100, 4000}, {4000, 40000}};
    for (const auto &range : ranges) {
        Runtime runtime("region=1m,poison=0", MPR_DISABLE_GC);
        Random random(range[1]);
        named += churn(random, heavy(2500), range[0], range[1], 1);
        INFO(Log::text());
        const int defects = mprVerifyHeap();
        CHECK((defects == 0 || Log::has("heap defect: a hole in a queue")));
        CHECK(mprVerifyHeap() == 0);
    }
    CHECK(named > 0);
}
