// SPDX-License-Identifier: MIT
/*
    test/gc/roots.cpp - The tables of roots and holds, on a heap without a runtime. What a program does with roots is in root.cpp.
 */
#include "mpr/gc/roots.hpp"

#include "test/support/pattern.hpp"
#include "test/support/stepped_heap.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

using mpr::gc::Roots;
using mpr::heap::Shortage;
using test::Random;
using test::SteppedHeap;

namespace {

struct Rooted {
    bool add(void *block) {
        Shortage shortage = Shortage::none;
        return roots.add(stepped.heap(), stepped.regionOf(block), block, shortage);
    }
    bool remove(void *block) { return roots.remove(stepped.heap(), block); }
    bool hold(void *block) {
        Shortage shortage = Shortage::none;
        return roots.hold(stepped.heap(), stepped.regionOf(block), block, shortage);
    }
    bool release(void *block) { return roots.release(stepped.heap(), stepped.regionOf(block), block); }
    bool isHeld(void *block) { return (stepped.head(block) & mpr::heap::head::held) != 0; }
    std::multiset<const void *> all() {
        std::multiset<const void *> found;
        roots.forEach([&](const void *block) { found.insert(block); });
        return found;
    }

    SteppedHeap stepped;
    Roots roots;
};

} // namespace

TEST_CASE("a table of roots agrees with a map, as it grows and shrinks", "[gc][root][port]") {
    Rooted r;
    std::vector<void *> blocks;
    for (int i = 0; i < 600; i++) {
        blocks.push_back(r.stepped.make(1));
    }
    std::map<void *, int> expected;
    Random random(1);
    for (int step = 0; step < 20000; step++) {
        // By turns most are added and most removed.
        const bool adds = random.chance(step / 4000 % 2 == 0 ? 70 : 30);
        void *const block = blocks[random.below(blocks.size())];
        if (adds) {
            REQUIRE(r.add(block));
            expected[block]++;
        } else {
            REQUIRE(r.remove(block) == (expected.count(block) > 0));
            if (expected.count(block) > 0 && --expected[block] == 0) {
                expected.erase(block);
            }
        }
        REQUIRE(r.roots.isRoot(block) == (expected.count(block) > 0));
        if (step % 500 == 0) {
            std::multiset<const void *> keys;
            for (const auto &[key, count] : expected) {
                keys.insert(key);
            }
            REQUIRE(r.all() == keys);
        }
    }
}

TEST_CASE("a table of roots that has become empty is small again", "[gc][root][port]") {
    Rooted r;
    std::vector<void *> blocks;
    for (int i = 0; i < 5000; i++) {
        blocks.push_back(r.stepped.make(1));
    }
    const uint64_t before = r.stepped.heap().granulesInUse();
    for (void *block : blocks) {
        REQUIRE(r.add(block));
    }
    CHECK(r.stepped.heap().granulesInUse() > before + 5000);
    for (void *block : blocks) {
        REQUIRE(r.remove(block));
    }
    CHECK(r.stepped.heap().granulesInUse() < before + 200); // a piece is put by for next time
    CHECK(r.all().empty());
}

TEST_CASE("a root for which there is no memory is refused, and those before it stay", "[gc][root][port]") {
    Rooted r;
    std::vector<void *> blocks;
    for (int i = 0; i < 100000; i++) {
        blocks.push_back(r.stepped.make(1));
    }
    r.stepped.heap().setLimits(mpr::heap::Limits::none, r.stepped.heap().limits().committed() + 64 * 1024);
    size_t added = 0;
    while (added < blocks.size() && r.add(blocks[added])) {
        added++;
    }
    CHECK(added > 100);
    REQUIRE(added < blocks.size());
    CHECK_FALSE(r.roots.isRoot(blocks[added]));
    for (size_t i = 0; i < added; i++) {
        REQUIRE(r.roots.isRoot(blocks[i]));
    }
    r.stepped.heap().setLimits(mpr::heap::Limits::none, mpr::heap::Limits::none);
    CHECK(r.add(blocks[added]));
}

TEST_CASE("the table of roots grows where only small holes are left", "[gc][root][port]") {
    Rooted r;
    std::vector<void *> blocks, fillers;
    for (int i = 0; i < 20000; i++) {
        blocks.push_back(r.stepped.make(1));
    }
    for (int i = 0; i < 2000; i++) {
        fillers.push_back(r.stepped.makeApart(100));
    }
    for (size_t i = 0; i < fillers.size(); i += 2) {
        r.stepped.freeApart(fillers[i]);
    }
    r.stepped.heap().setLimits(mpr::heap::Limits::none, r.stepped.heap().limits().committed());
    for (void *block : blocks) {
        REQUIRE(r.add(block));
    }
    CHECK(r.all().size() == blocks.size());
}

TEST_CASE("roots are remembered beyond the heap's limit, and that memory is used again", "[gc][root][port]") {
    Rooted r;
    std::vector<void *> blocks;
    for (int i = 0; i < 20000; i++) {
        blocks.push_back(r.stepped.make(1));
    }
    r.stepped.heap().setLimits(mpr::heap::Limits::none, r.stepped.heap().limits().committed());
    for (int round = 0; round < 3; round++) {
        size_t beyond = 0;
        for (void *block : blocks) {
            if (!r.add(block)) {
                REQUIRE(r.roots.provideBeyond(r.stepped.heap()));
                REQUIRE(r.add(block));
                beyond++;
            }
        }
        CHECK((beyond > 0) == (round == 0));
        CHECK(r.all().size() == blocks.size());
        for (void *block : blocks) {
            REQUIRE(r.remove(block));
        }
    }
    r.roots.close();
}

TEST_CASE("what keeps a block keeps the one it has moved to", "[gc][root][port]") {
    Rooted r;
    void *const from = r.stepped.make(1), *const to = r.stepped.make(2);
    const auto move = [&](void *a, void *b) {
        r.roots.move(r.stepped.heap(), {r.stepped.regionOf(a), r.stepped.granuleOf(a)},
                     {r.stepped.regionOf(b), r.stepped.granuleOf(b)});
    };
    for (int i = 0; i < 2; i++) {
        REQUIRE(r.add(from));
        REQUIRE(r.hold(from));
    }
    move(from, to);
    CHECK_FALSE(r.isHeld(from));
    CHECK_FALSE(r.roots.isRoot(from));
    CHECK(r.all() == std::multiset<const void *>{to});
    CHECK(r.release(to));
    CHECK(r.isHeld(to));
    CHECK(r.release(to));
    CHECK_FALSE(r.isHeld(to));
    CHECK(r.remove(to));
    CHECK(r.remove(to));
    CHECK_FALSE(r.remove(to));
    move(to, from); // nothing keeps it
    CHECK_FALSE(r.isHeld(from));
    CHECK(r.all().empty());
}

TEST_CASE("a block is held until each hold has been released", "[gc][root][port]") {
    Rooted r;
    void *const block = r.stepped.make(2);
    CHECK_FALSE(r.release(block));
    for (int i = 0; i < 3; i++) {
        CHECK(r.hold(block));
    }
    for (int i = 0; i < 3; i++) {
        CHECK(r.isHeld(block));
        CHECK(r.release(block));
    }
    CHECK_FALSE(r.isHeld(block));
    CHECK_FALSE(r.release(block));
    CHECK(r.all().empty());
}

TEST_CASE("linked references are roots, with what they refer to now", "[gc][root][port]") {
    Rooted r;
    MprRootRef a{}, b{}, c{};
    for (MprRootRef *ref : {&a, &b, &c}) {
        ref->ptr = r.stepped.make(1);
        r.roots.link(ref);
    }
    CHECK(r.all() == std::multiset<const void *>{a.ptr, b.ptr, c.ptr});
    b.ptr = a.ptr;
    CHECK(r.all() == std::multiset<const void *>{a.ptr, a.ptr, c.ptr});
    r.roots.unlink(&b);
    r.roots.unlink(&b);
    CHECK(r.all() == std::multiset<const void *>{a.ptr, c.ptr});
    r.roots.unlinkAll();
    CHECK(r.all().empty());
    CHECK(a.next == nullptr);
}
