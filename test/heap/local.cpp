// SPDX-License-Identifier: MIT
/*
    test/heap/local.cpp - A thread's quick lists and counters, without a heap.
 */
#include "mpr/heap/local.hpp"

#include "test/catch.hpp"

#include <memory>
#include <set>
#include <vector>

using namespace mpr::heap;

namespace {

/* Quick lists, and blocks of any size to put there. */
struct Listed {
    Listed() : memory(QuickLists::bytes) { quick.open(memory.data()); }
    /* @return the new block, or nullptr when it found no room. */
    void *push(size_t n) {
        blocks.push_back(std::make_unique<Block>());
        Block &block = *blocks.back();
        return quick.push(&block, &block.map, n, secret) ? &block : nullptr;
    }

    struct Block {
        uintptr_t words[2] = {};
        Byte map = mark::opaque;
    };
    std::vector<char> memory;
    std::vector<std::unique_ptr<Block>> blocks;
    QuickLists quick;
    uintptr_t secret = 0x1234'5677u;
};

} // namespace

TEST_CASE("a listed block is reused for its size, the last one first", "[heap][quick][port]") {
    Listed listed;
    void *const a = listed.push(2), *const b = listed.push(2), *const c = listed.push(3);
    CHECK(listed.quick.front(2) == b);
    CHECK(listed.quick.front(3) == c);
    CHECK(listed.quick.front(1) == nullptr);
    CHECK(listed.quick.pop(2) == &listed.blocks[1]->map);
    CHECK(listed.quick.front(2) == a);
    listed.quick.pop(2);
    CHECK(listed.quick.front(2) == nullptr);
    CHECK(listed.quick.front(3) == c);
}

TEST_CASE("a list takes so many blocks, none of them too large", "[heap][quick][port]") {
    Listed listed;
    for (size_t i = 1; i < QuickLists::slots; i++) {
        CHECK(listed.push(1));
    }
    CHECK_FALSE(listed.push(1));
    CHECK(listed.push(2));
    CHECK(listed.push(QuickLists::greatest));
    CHECK_FALSE(listed.push(QuickLists::greatest + 1));
    listed.quick.pop(1);
    CHECK(listed.push(1));
}

TEST_CASE("all lists together take so many granules", "[heap][quick][port]") {
    Listed listed;
    size_t granules = 0, n = QuickLists::greatest, inList = 0;
    while (granules + n <= QuickLists::budget) {
        REQUIRE(listed.push(n));
        granules += n;
        if (++inList == QuickLists::slots - 1) {
            n--;
            inList = 0;
        }
    }
    REQUIRE(n > 0); // in whose list there is room
    CHECK_FALSE(listed.push(n));
    listed.quick.pop(QuickLists::greatest);
    CHECK(listed.push(n));
}

TEST_CASE("a write to a listed block's first word is seen", "[heap][quick][port]") {
    Listed listed;
    void *const block = listed.push(1);
    CHECK(QuickLists::isIntact(block, listed.secret));
    listed.blocks[0]->words[0] ^= 1;
    CHECK_FALSE(QuickLists::isIntact(block, listed.secret));
    CHECK(listed.quick.front(1) == block); // and leads nobody anywhere
}

TEST_CASE("without memory nothing can be listed", "[heap][quick][port]") {
    Listed listed;
    listed.quick.open(nullptr);
    for (size_t n = 1; n <= QuickLists::greatest; n++) {
        CHECK_FALSE(listed.push(n));
        CHECK(listed.quick.front(n) == nullptr);
    }
    int seen = 0;
    listed.quick.forEach([&](const QuickLists::Slot &) { seen++; });
    CHECK(seen == 0);
}

TEST_CASE("a walk meets every listed block", "[heap][quick][port]") {
    Listed listed;
    std::set<const void *> pushed, seen;
    for (size_t n = 1; n <= QuickLists::greatest; n += 3) {
        for (int twice = 0; twice < 2; twice++) {
            if (void *const block = listed.push(n)) { // on 32 bits the budget ends before the sizes do
                pushed.insert(block);
            }
        }
    }
    REQUIRE(pushed.size() > 8);
    listed.quick.forEach([&](const QuickLists::Slot &slot) { seen.insert(slot.block); });
    CHECK(seen == pushed);
}

TEST_CASE("what a counter has counted is taken once", "[heap][quick][port]") {
    Counter counter;
    counter.add(3);
    counter.add(4);
    CHECK(counter.get() == 7);
    CHECK(counter.take() == 7);
    CHECK(counter.get() == 0);
    CHECK(counter.take() == 0);
}
