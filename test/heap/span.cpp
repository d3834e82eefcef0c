// SPDX-License-Identifier: MIT
/*
    test/heap/span.cpp - Spans: what died comes back to the thread that made it, what lives stays, whatever keeps it;
    and no memory is lost in them when it is short, when threads end or blocks are freed by hand.
 */
#include "mpr/heap/span.hpp"

#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

using namespace test;

namespace {

constexpr size_t piece = 64 * 1024; /* of memory that a thread takes at a time */

int collectYoung() {
    return mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
}

/* Make count blocks that nothing refers to. @return their addresses. */
std::set<char *> litter(size_t count, size_t size) {
    std::set<char *> places;
    for (size_t i = 0; i < count; i++) {
        places.insert(static_cast<char *>(mprAlloc(size)));
    }
    return places;
}

size_t common(const std::set<char *> &a, const std::set<char *> &b) {
    return static_cast<size_t>(std::count_if(a.begin(), a.end(), [&](char *place) { return b.count(place) > 0; }));
}

/* A rooted table of leaves of one size, each filled with its number. */
class Leaves {
public:
    explicit Leaves(size_t count) : root(makeTable(count)) {}
    void make(size_t i, size_t size) {
        void *leaf = mprAlloc(size);
        fill(leaf, size, i, 0);
        root.as<Table>()->items[i] = leaf;
        sizes[i] = size;
    }
    bool intact() const {
        auto table = root.as<Table>();
        for (size_t i = 0; i < table->count; i++) {
            if (table->items[i] && !filled(table->items[i], sizes.at(i), i, 0)) {
                return false;
            }
        }
        return true;
    }
    void *&operator[](size_t i) { return root.as<Table>()->items[i]; }

private:
    Root root;
    std::map<size_t, size_t> sizes;
};

} // namespace

TEST_CASE("what has died comes back to its thread without growth", "[heap][span][port]") {
    Runtime runtime;
    litter(20000, 64);
    collectYoung();
    size_t heap = stats().heap;
    auto first = litter(20000, 64);
    CHECK(collectYoung() >= 20000);
    auto second = litter(20000, 64);
    CHECK(common(first, second) > 15000);
    CHECK(collectYoung() >= 20000);
    CHECK(stats().heap == heap);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("gaps between survivors are filled, and survivors stay whole", "[heap][span][port]") {
    Runtime runtime;
    Leaves leaves(400);
    std::set<char *> dead;
    for (size_t i = 0; i < 400; i++) {
        leaves.make(i, 200);
        for (void *place : litter(20, 100)) {
            dead.insert(static_cast<char *>(place));
        }
    }
    collectYoung();
    CHECK(mprVerifyHeap() == 0);
    // Sparse ones are taken whole, the last first; no later block may lie where something lives.
    auto again = litter(8000, 100);
    CHECK(common(dead, again) > 2000);
    CHECK(leaves.intact());
    for (int round = 0; round < 20; round++) {
        litter(4000, size_t(16 + 30 * round));
        collectYoung();
        REQUIRE(leaves.intact());
        REQUIRE(mprVerifyHeap() == 0);
    }
    collect();
    CHECK(leaves.intact());
}

TEST_CASE("a gap that is too small for one block waits for a smaller one", "[heap][span][port]") {
    Runtime runtime("everyyield=0,young=64m"); // no other collections: one that goes on beside has its gaps later
    const size_t small = 32, wide = 96, rounds = 8000;
    Root root(makeTable(8 * rounds));
    std::set<char *> gaps;
    size_t made = 0;
    const auto make = [&](size_t size, bool lives) {
        auto block = static_cast<char *>(mprAlloc(size));
        if (lives) {
            root.as<Table>()->items[made++] = block;
        } else {
            gaps.insert(block);
        }
    };
    const auto litterBetween = [&] {
        for (size_t i = 0; i < rounds; i++) {
            make(small, true);
            make(wide, false);
            make(wide, true);
            make(small, false);
        }
        REQUIRE(collectYoung() > 0);
    };
    for (int i = 0; i < 4; i++) { // after some of them these sizes are made among others that live
        gaps.clear();
        litterBetween();
    }
    size_t filled = 0;
    const size_t all = gaps.size();
    for (size_t i = 0; i < rounds; i++) {
        for (const size_t size : {wide, wide, small, small}) {
            if (i % 2 == 0) {
                filled += gaps.count(static_cast<char *>(mprAlloc(size)));
            }
        }
    }
    CHECK(filled > all / 10 * 9);
    CHECK(stats().collections == 4);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("a hold, a free by hand and a quick list keep a span from being given back whole", "[heap][span][port]") {
    Runtime runtime;
    auto how = GENERATE("hold", "born held", "freed", "listed");
    CAPTURE(how);
    for (int round = 0; round < 10; round++) {
        std::vector<char *> kept;
        for (int i = 0; i < 100; i++) {
            litter(15, 150);
            bool born = how == std::string("born held");
            auto block =
                static_cast<char *>(mprAllocMem(how == std::string("freed") ? 3000 : 300, born ? MPR_ALLOC_HOLD : 0));
            fill(block, 300, uint64_t(i), 0);
            if (how == std::string("hold")) {
                mprHold(block);
            } else if (!born) {
                mprFree(block);
                continue;
            }
            kept.push_back(block);
        }
        collectYoung();
        litter(2000, 150);
        collectYoung();
        REQUIRE(mprVerifyHeap() == 0);
        for (size_t i = 0; i < kept.size(); i++) {
            REQUIRE(mprIsValid(kept[i]));
            REQUIRE(filled(kept[i], 300, i, 0));
            mprRelease(kept[i]);
        }
        collect();
        for (char *block : kept) {
            REQUIRE_FALSE(mprIsValid(block));
        }
    }
}

/* Make blocks until one that ends where a span does can grow into a hole behind it. @return that one, grown. */
static void *growOutOfSpan(size_t size) {
    constexpr size_t span = sizeof(void *) == 8 ? piece : piece / 8;
    size_t made = 0; /* without a gap, up to the block */
    char *end = nullptr;
    for (int tries = 0; tries < 32;) {
        char *block = static_cast<char *>(mprAlloc(size));
        REQUIRE(block);
        made = block == end ? made + size : size;
        end = block + size;
        if (reinterpret_cast<uintptr_t>(end) % span == 0 && made > span - 100) {
            mprPublish(block); /* what is private in a batch grows only there */
            if (mprRealloc(block, 200) == block) {
                return block;
            }
            mprAlloc(size); /* there once more */
            tries++;
        }
    }
    return nullptr;
}

TEST_CASE("a block that has grown out of its span is given back whole", "[heap][span][port]") {
    Runtime runtime;
    const size_t size = GENERATE(2, 6) * sizeof(void *); /* the first has its size where the next span begins */
    const bool batch = GENERATE(false, true);
    const bool held = GENERATE(false, true);
    CAPTURE(size, batch, held);
    mprSetBatches(batch);
    void *grown = growOutOfSpan(size);
    REQUIRE(grown);
    if (held) {
        mprHold(grown);
        mprYield(MPR_YIELD_DEFAULT);
        collectYoung();
        CHECK(mprVerifyHeap() == 0);
        mprRelease(grown);
    }
    for (int round = 0; round < 2; round++) {
        mprYield(MPR_YIELD_DEFAULT);
        collectYoung();
        CHECK(mprVerifyHeap() == 0);
        litter(10000, size); /* the same span once more */
    }
    collect();
    CHECK(stats().misuses == 0);
}

TEST_CASE("a pointer to what has died is refused", "[heap][span][port]") {
    Runtime runtime;
    auto dead = litter(5000, 64);
    collectYoung();
    int refused = 0;
    for (char *place : dead) {
        refused += mprFree(place) == MPR_ERR_BAD_ARGS;
        CHECK_FALSE(mprIsValid(place));
        CHECK(mprGetBlockSize(place) == 0);
    }
    CHECK(refused == 5000);
    CHECK(runtime.log.has("not the start of a block in use"));
    // Nor where its memory has been taken again, but not up to there.
    const auto fresh = litter(700, 64);
    CHECK(common(dead, fresh) > 0);
    for (char *place : dead) {
        CHECK(mprIsValid(place) == (fresh.count(place) > 0));
        if (!fresh.count(place)) {
            CHECK(mprFree(place) == MPR_ERR_BAD_ARGS);
        }
    }
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("managers of the dead in a span are called once", "[heap][span][port]") {
    Runtime runtime;
    calls.reset();
    Leaves leaves(50);
    for (size_t round = 0; round < 50; round++) {
        leaves.make(round, 100);
        for (int i = 0; i < 200; i++) {
            makeNode();
            litter(2, 80);
        }
        if (round % 7 == 0) {
            collect();
        } else {
            collectYoung();
        }
        REQUIRE(leaves.intact());
    }
    collect();
    collect();
    CHECK(calls.frees == 50 * 200);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("what threads leave behind is used by others", "[heap][span][port]") {
    Runtime runtime;
    Leaves leaves(64);
    size_t before = 0;
    for (size_t i = 0; i < 64; i++) {
        Mutator("litterer", [](Mutator &) { litter(3000, 100); }).join();
        leaves.make(i, 500);
        collectYoung();
        REQUIRE(mprVerifyHeap() == 0);
        before = i == 8 ? stats().heap : before;
    }
    CHECK(leaves.intact());
    CHECK(stats().heap <= before + 4 * piece);
}

TEST_CASE("when memory is short, gaps become room for larger blocks", "[heap][span][port]") {
    Runtime runtime("young=16m"); // no collection before the one asked for: about one survivor a span
    Leaves leaves(100);
    for (size_t i = 0; i < 100; i++) {
        leaves.make(i, 64);
        litter(60 * 1024 / 1008, 1000);
    }
    collect();
    size_t heap = stats().heap;
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    mprSetMemLimits(0, heap + piece, -1);
    Root root(makeTable(1000));
    size_t got = 0;
    for (auto table = root.as<Table>(); got / (16 * 1024) < table->count; got += 16 * 1024) {
        void *&item = table->items[got / (16 * 1024)];
        item = mprAlloc(16 * 1024);
        if (!item) {
            break;
        }
    }
    CHECK(got > heap / 2);
    CHECK(leaves.intact());
    CHECK(mprVerifyHeap() == 0);
    mprSetMemLimits(0, 0, -1);
}

TEST_CASE("without collections freed memory is used again at once", "[heap][span][port]") {
    Runtime runtime;
    mprEnableGC(0);
    std::vector<void *> blocks;
    size_t heap = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 5000; i++) {
            blocks.push_back(mprAlloc(size_t(16 + i % 700)));
        }
        for (void *block : blocks) {
            REQUIRE(mprFree(block) == 0);
        }
        blocks.clear();
        heap = round == 1 ? stats().heap : heap;
    }
    CHECK(stats().heap <= heap + piece);
    CHECK(mprVerifyHeap() == 0);
}

namespace {

/* In how many pieces of memory stand both blocks of one list and blocks of another. */
size_t shared(const std::set<char *> &a, const std::set<char *> &b) {
    std::set<uintptr_t> pieces, both;
    for (char *place : a) {
        pieces.insert(reinterpret_cast<uintptr_t>(place) / piece);
    }
    for (char *place : b) {
        if (uintptr_t at = reinterpret_cast<uintptr_t>(place) / piece; pieces.count(at) > 0) {
            both.insert(at);
        }
    }
    return both.size();
}

/*
    What a service does: for each block of one size that lives, `among` of others die. After a while, return the pieces that
    the last round's blocks of either kind have in common.
 */
size_t serve(Leaves &leaves, size_t size, size_t among) {
    size_t common = 0;
    for (int round = 0; round < 12; round++) {
        std::set<char *> lasting, passing;
        for (size_t i = 0; i < 500; i++) {
            leaves.make(i, size);
            lasting.insert(static_cast<char *>(leaves[i]));
            for (size_t k = 0; k < among; k++) {
                passing.merge(litter(1, 16 + (i * 31 + k * 48) % 160));
            }
        }
        collectYoung();
        common = shared(lasting, passing);
        REQUIRE(leaves.intact());
        REQUIRE(mprVerifyHeap() == 0);
    }
    return common;
}

} // namespace

TEST_CASE("blocks of a size that lives stand apart from those that die, whichever size that is", "[heap][span][port]") {
    Runtime runtime("young=16m,poison=0");
    Leaves leaves(500);
    CHECK(serve(leaves, 256, 20) <= 2);
    CHECK(serve(leaves, 480, 20) <= 2);
    for (size_t i = 0; i < 500; i++) {
        leaves[i] = nullptr;
    }
    // What used to live does not any more: it goes where the others do.
    size_t together = 0;
    for (int round = 0; round < 40; round++) {
        auto one = litter(2000, 256);
        auto other = litter(2000, 48);
        together = shared(one, other);
        collectYoung();
    }
    CHECK(together >= 1);
}

TEST_CASE("garbage of a size that lives is found and its room used again", "[heap][span][port]") {
    Runtime runtime;
    Leaves leaves(2000);
    size_t heap = 0;
    for (size_t round = 0; round < 60; round++) {
        for (size_t i = 0; i < 1000; i++) {
            leaves.make((round * 1000 + i) * 7919 % 2000, 256); // replaces another, in no order
            litter(10, 100);
        }
        collect();
        heap = round == 20 ? stats().heap : heap;
    }
    CHECK(stats().heap <= heap + 8 * piece);
    CHECK(leaves.intact());
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("what a full collection freed is not freed again where its memory is filled once more",
          "[heap][span][port]") {
    const long many = 12000 + GENERATE(range(0, 40)); // pieces of memory that die whole, the last one partly filled
    Runtime runtime("everyyield=1");                  // full collections by turns, which give no memory back at once
    calls.reset();
    long made = 0;
    const auto makeNodes = [&](long count) {
        for (long i = 0; i < count; i++) {
            makeNode();
        }
        made += count;
    };
    for (uint64 majors = 0; stats().collectionsMajor < 8 || stats().collectionsMajor == majors;) {
        majors = stats().collectionsMajor;
        makeNodes(many);
        mprYield(0);
        mprYield(MPR_YIELD_COMPLETE);
    }
    makeNodes(20); // at the start of one of them
    runtime.end();
    CHECK(calls.frees == made);
}

TEST_CASE("pieces are added to a set and removed from it, and all of them taken at once", "[heap][span][port]") {
    mpr::heap::PieceSet set;
    for (const size_t i : {0, 31, 32, 63}) {
        CHECK_FALSE(set.has(i));
        set.add(i);
        set.add(i);
        CHECK(set.has(i));
    }
    CHECK_FALSE(set.has(1));
    CHECK(set.get() == 0x8000'0001'8000'0001u);
    set.remove(32);
    set.remove(33);
    CHECK(set.get() == 0x8000'0000'8000'0001u);
    CHECK(set.take() == 0x8000'0000'8000'0001u);
    CHECK(set.get() == 0);
}

TEST_CASE("a span has a meaning in the map up to where its thread has cleared it", "[heap][span][port]") {
    auto spans = std::make_unique<mpr::heap::Spans>();
    CHECK_FALSE(spans->isUncleared(5000)); // in a region without any
    CHECK_FALSE(spans->fits(0, 4096));
    spans->open(12);
    CHECK(spans->fits(8192, 4096));
    CHECK_FALSE(spans->fits(8192, 2048));
    CHECK_FALSE(spans->fits(8192 + 2048, 4096));
    CHECK_FALSE(spans->isUncleared(8192));
    spans->setCleared(2, 0);
    CHECK(spans->isStale(2));
    CHECK(spans->isUncleared(8192));
    CHECK(spans->isPassedOver(9000));
    mpr::heap::Span *const taken = spans->take(8192, 512, nullptr, mpr::heap::Lane::lasting);
    CHECK(spans->indexOf(taken) == 2);
    CHECK(spans->beginOf(taken) == 8192);
    CHECK(taken->lane == mpr::heap::Lane::lasting);
    CHECK(taken->room == 4095);
    CHECK_FALSE(spans->isStale(2));
    CHECK_FALSE(spans->isUncleared(8192 + 511));
    CHECK(spans->isUncleared(8192 + 512));
    CHECK_FALSE(spans->isUncleared(8191));
    CHECK_FALSE(spans->isUncleared(12288));
    CHECK(spans->cleared(2) == 8192 + 512);
    spans->setCleared(2);
    CHECK_FALSE(spans->isUncleared(8192 + 512));
    CHECK(spans->cleared(2) == 12288);
}

TEST_CASE("a span is filled, judged, and filled again in part", "[heap][span][port]") {
    auto spans = std::make_unique<mpr::heap::Spans>();
    spans->open(12);
    spans->pierce(4096);
    mpr::heap::Span *const span = spans->take(4096, 4096, nullptr, mpr::heap::Lane::passing);
    CHECK_FALSE(spans->isPierced(span));
    CHECK(spans->isWalked(4096));
    CHECK(spans->isWalked(8191));
    CHECK_FALSE(spans->isWalked(8192));
    CHECK(spans->isPassedOver(5000));
    spans->move(1, spans->filling, spans->judged);
    CHECK(spans->isWalked(4096));
    CHECK_FALSE(spans->isPassedOver(5000));
    spans->move(1, spans->judged, spans->sparse);
    spans->pierce(4100);
    spans->takeSparse(*span);
    CHECK(spans->kept.has(1));
    CHECK_FALSE(spans->pierced.has(1));
    CHECK(spans->filling == 2);
    CHECK(spans->sparse == 0);
    CHECK(spans->endOf(5000) == 8192);
    CHECK(spans->beginOf(5000) == 4096);
}
