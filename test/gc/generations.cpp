// SPDX-License-Identifier: MIT
/*
    test/gc/generations.cpp - Young and old: what a minor collection keeps and frees, what the barrier tells it, major
    collections beside the threads, and the check that finds a store that bypassed the barrier.
 */
#include "test/catch.hpp"

#include "mpr.h"
#include "mpr/embed.h"
#include "mpr/gc/generations.hpp"
#include "mpr/heap/granule.hpp"
#include "mpr/heap/lane.hpp"

#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace test;

namespace {

/* A block whose references are written through the barrier. */
struct Cell {
    Cell *left, *right;
    void *leaf;
    uintptr_t value;
};

std::atomic<long> freedCells;

void manageCell(void *ptr, int flags) {
    auto cell = static_cast<Cell *>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&cell->left);
        mprMarkRef(&cell->right);
        mprMarkRef(&cell->leaf);
    }
    if (flags & MPR_MANAGE_FREE) {
        freedCells++;
    }
}

Cell *makeCell(uintptr_t value, int flags = 0) {
    auto cell =
        static_cast<Cell *>(mprAllocManaged(sizeof(Cell), manageCell, MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER | flags));
    if (cell) {
        cell->value = value;
    }
    return cell;
}

/* Fill a rooted row with cells that say where they stand; they grow old meanwhile. */
void **fillRow(const Root &root, size_t count) {
    void **row = root.as<void *>();
    for (size_t i = 0; i < count; i++) {
        mprSetRef(row, row + i, makeCell(i));
        mprYield(0);
    }
    return row;
}

/* Whether there is no live cell with this value on the left of another. */
bool isLeftWrong(const Cell *cell, uintptr_t value) {
    return !mprIsValid(cell->left) || cell->left->value != value;
}

/* Collect the young; the caller's unrooted blocks go. */
int collectYoung() {
    return mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
}

} // namespace

TEST_CASE("a minor collection frees young garbage and keeps what roots reach", "[gc][generations]") {
    Runtime runtime("check=1,everyyield=0"); // no other collections than that one
    freedCells = 0;
    Root root(makeCell(1));
    for (uintptr_t i = 0; i < 100; i++) {
        makeCell(i);
    }
    collectYoung();
    CHECK(freedCells == 100);
    CHECK(root.as<Cell>()->value == 1);
    CHECK(stats().collectionsMinor == 1);
    CHECK(stats().collectionsMajor == 0);
    CHECK(stats().checkDefects == 0);
}

TEST_CASE("old garbage stays until a major collection", "[gc][generations]") {
    Runtime runtime("check=1,everyyield=0");
    freedCells = 0;
    Root root(makeCell(1));
    collectYoung();
    root.set(nullptr);
    collectYoung();
    CHECK(freedCells == 0);
    mprGC(MPR_GC_MAJOR | MPR_GC_COMPLETE);
    CHECK(freedCells == 1);
    CHECK(stats().collectionsMajor >= 1);
}

TEST_CASE("a young block that only an old one references lives when the store was told", "[gc][generations]") {
    Runtime runtime("everyyield=0,check=1");
    freedCells = 0;
    Root root(makeCell(1));
    collectYoung();
    for (uintptr_t i = 0; i < 10; i++) {
        Cell *child = makeCell(100 + i);
        mprSetRef(root.as<Cell>(), &root.as<Cell>()->left, child);
        collectYoung();
        CHECK(root.as<Cell>()->left->value == 100 + i);
    }
    CHECK(freedCells == 0); // the nine that were replaced are old
    collect();
    CHECK(freedCells == 9);
    CHECK(stats().checkDefects == 0);
}

TEST_CASE("a store that bypasses the barrier is found by the check and named", "[gc][generations]") {
    Runtime runtime("check=1");
    Root root(makeCell(1));
    collectYoung();
    root.as<Cell>()->right = makeCell(2);
    collectYoung();
    CHECK(stats().checkDefects == 1);
    runtime.expectedDefects = 1;
    CHECK(runtime.log.has("promised the barrier"));
    CHECK(runtime.log.has("offset " + std::to_string(offsetof(Cell, right))));
    CHECK(runtime.log.has("not marked"));
    root.as<Cell>()->right = nullptr;
}

TEST_CASE("plain blocks need no barrier", "[gc][generations]") {
    Runtime runtime("check=1");
    calls.reset();
    Root root(makeNode());
    collectYoung();
    for (uintptr_t i = 0; i < 10; i++) {
        root.as<Node>()->next = makeNode(nullptr, nullptr, i);
        collectYoung();
        CHECK(root.as<Node>()->next->value == i);
    }
    CHECK(stats().checkDefects == 0);
}

TEST_CASE("an owner that is no block is named", "[gc][generations]") {
    Runtime runtime("check=1");
    auto cell = makeCell(1);
    Root root(cell);
    collectYoung();
    mprSetRef(&cell->value, &cell->left, nullptr); // interior: 16 bytes into the block
    CHECK(stats().misuses == 1);
    CHECK(runtime.log.has("mprSetRef"));
}

TEST_CASE("mprSetRefAt finds the owner, or stores plainly where there is none", "[gc][generations]") {
    Runtime runtime("check=1");
    Root root(makeCell(1));
    Root wide(makeRow(50));
    Root large(makeRow(1000));
    Root huge(makeRow(1000000));
    collectYoung();
    void *local = nullptr;
    mprSetRefAt(&local, makeCell(2));
    CHECK(static_cast<Cell *>(local)->value == 2);
    mprSetRefAt(&root.as<Cell>()->leaf, makeCell(3));
    mprSetRefAt(wide.as<void *>() + 49, makeCell(4));
    mprSetRefAt(large.as<void *>() + 999, makeCell(5));
    mprSetRefAt(huge.as<void *>() + 999999, makeCell(6));
    collectYoung();
    CHECK(static_cast<Cell *>(root.as<Cell>()->leaf)->value == 3);
    CHECK(static_cast<Cell *>(wide.as<void *>()[49])->value == 4);
    CHECK(static_cast<Cell *>(large.as<void *>()[999])->value == 5);
    CHECK(static_cast<Cell *>(huge.as<void *>()[999999])->value == 6);
    CHECK(stats().checkDefects == 0);
}

/* Where a map would have heads if a large block had one, other things stand: they must not be taken for it. */
TEST_CASE("mprSetRefAt deep in a large block does not go by what the block holds", "[gc][generations]") {
    Runtime runtime("check=1,region=256k");
    constexpr size_t first = 8192, fields = 7000; /* some of them within the first 64 KiB */
    void *block = mprAllocManaged(
        1 << 20,
        [](void *ptr, int flags) {
            if (flags & MPR_MANAGE_MARK) {
                mprMarkRefs(static_cast<char *>(ptr) + first, fields);
            }
        },
        MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE);
    Root root(block);
    memset(block, 0xFF, first); /* in use and remembered */
    collectYoung();
    void **row = reinterpret_cast<void **>(static_cast<char *>(block) + first);
    for (size_t i = 0; i < fields; i++) {
        mprSetRefAt(row + i, makeCell(i));
    }
    collectYoung();
    size_t wrong = 0;
    for (size_t i = 0; i < fields; i++) {
        wrong += !mprIsValid(row[i]) || static_cast<Cell *>(row[i])->value != i;
    }
    CHECK(wrong == 0);
    CHECK(stats().checkDefects == 0);
}

/* Whatever lies before the block: its head is looked for backwards, a word of the map at a time. */
TEST_CASE("mprSetRefAt is remembered wherever in a map block and field stand", "[gc][generations]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    constexpr size_t granule = mpr::heap::granuleSize, granules = 2 * mpr::heap::greatestSmall;
    constexpr size_t size = granules * granule - sizeof(MprManager), fields = size / sizeof(void *);
    MprBlockKind leaf, row;
    REQUIRE(mprSetBlockKind(&leaf, nullptr, 0) == 0);
    REQUIRE(mprSetBlockKind(&row, manageRow, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE) == 0);
    size_t lost = 0;
    for (size_t left = 0; left < 2 * sizeof(void *); left++) { // granules that are left out before the two blocks
        for (size_t before = 1; before <= 2 * sizeof(void *); before++) { // of the leaf
            void *piece = mprAllocPiece();
            REQUIRE(piece);
            char *const begin = static_cast<char *>(piece) + left * granule, *const block = begin + before * granule;
            const MprNamed named[] = {{begin, before * granule, &leaf}, {block, size, &row}};
            REQUIRE(mprNameBlocks(&piece, (left + before + granules) * granule, named, 2) == 0);
            const Root first(begin), second(block);
            collectYoung();
            void **const refs = second.as<void *>();
            for (size_t i = 0; i < fields; i++) {
                mprSetRefAt(refs + i, makeCell(i));
            }
            collectYoung();
            for (size_t i = 0; i < fields; i++) {
                lost += !mprIsValid(refs[i]) || static_cast<Cell *>(refs[i])->value != i;
            }
        }
    }
    CHECK(lost == 0);
    CHECK(stats().misuses == 0);
}

TEST_CASE("rows of references: moved within a row, up and down", "[gc][generations]") {
    Runtime runtime("check=1");
    for (size_t count : {size_t{2}, size_t{60}, size_t{5000}, heavy(300000)}) {
        Root root(makeRow(count));
        collectYoung();
        void **row = root.as<void *>();
        for (size_t i = 0; i < count; i++) {
            mprSetRef(row, row + i, makeCell(i));
        }
        mprSetRefs(row, row, row + 1, count - 1);
        collectYoung();
        CHECK(static_cast<Cell *>(row[0])->value == 1);
        CHECK(static_cast<Cell *>(row[count - 2])->value == count - 1);
        mprSetRefs(row, row + 1, row, count - 1);
        collectYoung();
        CHECK(static_cast<Cell *>(row[count - 1])->value == count - 1);
        CHECK(row[0] == row[1]);
        size_t wrong = 0;
        for (size_t i = 1; i < count; i++) {
            wrong += static_cast<Cell *>(row[i])->value != i;
        }
        CHECK(wrong == 0);
    }
    CHECK(stats().checkDefects == 0);
}

TEST_CASE("stores into several large blocks by turns, some of which are freed by hand", "[gc][generations]") {
    Runtime runtime("check=1");
    const size_t count = 3000, rows = 7;
    Root all(makeRow(rows));
    auto row = [&](size_t i) { return static_cast<void **>(all.as<void *>()[i]); };
    Random random(41);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < rows; i++) {
            if (!row(i)) {
                mprSetRef(all.as<void *>(), all.as<void *>() + i, makeRow(count));
            }
        }
        mprGC(round % 3 ? MPR_GC_MINOR : MPR_GC_FORCE); // all are old
        std::vector<std::pair<size_t, size_t>> stored;
        for (int i = 0; i < 2000; i++) {
            const size_t in = random.below(rows), at = random.below(count);
            mprSetRef(row(in), row(in) + at, makeCell(at));
            stored.emplace_back(in, at);
        }
        for (int i = 0; i < 2; i++) {
            const size_t gone = random.below(rows);
            mprFree(row(gone));
            mprSetRef(all.as<void *>(), all.as<void *>() + gone, nullptr);
            mprAlloc(random.below(20000)); // something may stand there now
        }
        mprGC(MPR_GC_MINOR);
        for (auto [in, at] : stored) {
            if (row(in)) {
                auto cell = static_cast<Cell *>(row(in)[at]);
                REQUIRE(mprIsValid(cell));
                REQUIRE(cell->value == at);
            }
        }
    }
}

TEST_CASE("stores into one field of a large block behind the other, and into others between", "[gc][generations]") {
    Runtime runtime("check=1,everyyield=0");
    const size_t count = 3000, rows = 2;
    Root all(makeRow(rows));
    for (size_t i = 0; i < rows; i++) {
        mprSetRef(all.as<void *>(), all.as<void *>() + i, makeRow(count));
    }
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE); // they are old
    auto row = [&](size_t i) { return static_cast<void **>(all.as<void *>()[i]); };
    Random random(43);
    std::vector<size_t> expected[rows] = {std::vector<size_t>(count), std::vector<size_t>(count)};
    auto store = [&](size_t in, size_t at) {
        const size_t value = random.below(1000000);
        mprSetRef(row(in), row(in) + at, makeCell(value));
        expected[in][at] = value + 1;
    };
    for (int round = 0; round < 50; round++) {
        for (int stretch = 0; stretch < 40; stretch++) {
            const size_t in = random.below(rows), from = random.below(count), length = 1 + random.below(60);
            for (size_t at = from; at < std::min(from + length, count); at++) {
                store(in, at);
                if (random.chance(5)) {
                    store(random.below(rows), random.chance(50) ? at : random.below(count)); // ends the run
                }
            }
        }
        collectYoung();
        size_t wrong = 0;
        for (size_t in = 0; in < rows; in++) {
            for (size_t at = 0; at < count; at++) {
                auto cell = static_cast<Cell *>(row(in)[at]);
                wrong += cell && (!mprIsValid(cell) || cell->value + 1 != expected[in][at]);
            }
        }
        REQUIRE(wrong == 0);
    }
    CHECK(stats().checkDefects == 0);
}

TEST_CASE("what is held survives minor collections alone, young and after its release", "[gc][generations]") {
    Runtime runtime("check=1");
    freedCells = 0;
    auto cell = makeCell(1, MPR_ALLOC_HOLD);
    void *leaf = mprAllocMem(100, MPR_ALLOC_HOLD);
    for (int i = 0; i < 5; i++) {
        collectYoung();
        CHECK(mprIsValid(cell));
        CHECK(mprIsValid(leaf));
    }
    mprRelease(cell);
    mprRelease(leaf);
    CHECK(mprIsValid(cell));
    collect();
    CHECK(!mprIsValid(cell));
    CHECK(!mprIsValid(leaf));
    CHECK(freedCells == 1);
}

TEST_CASE("a block taken from a quick list is young again", "[gc][generations]") {
    Runtime runtime("check=1");
    freedCells = 0;
    std::vector<Cell *> cells;
    {
        Root keep(makeCell(0));
        Cell *last = keep.as<Cell>();
        for (uintptr_t i = 0; i < 10; i++) {
            mprSetRef(last, &last->left, makeCell(i));
            last = last->left;
            cells.push_back(last);
        }
        collectYoung();
        // Old blocks go to the quick list by hand and are born again among the old.
        mprSetRef(keep.as<Cell>(), &keep.as<Cell>()->left, nullptr);
        for (Cell *cell : cells) {
            CHECK(mprFree(cell) == 0);
        }
        CHECK(freedCells == 10);
        collectYoung();
        for (int i = 0; i < 10; i++) {
            makeCell(1);
        }
        collectYoung();
        CHECK(freedCells == 20);
    }
}

TEST_CASE("a heap of barrier blocks is marked while threads run, and nothing is lost", "[gc][generations]") {
    Runtime runtime("check=1,young=128k", 0, 120);
    const size_t count = 12000;
    Root root(makeRow(count));
    void **row = fillRow(root, count);
    Random random(7);
    const uint64 before = stats().collectionsMajor;
    size_t wrong = 0;
    for (int round = 0; stats().collectionsMajor < before + 2 && round < 4000000; round++) {
        // Move what may not have been marked into what has been, and replace some.
        const size_t i = random.below(count), j = random.below(count);
        auto a = static_cast<Cell *>(row[i]), b = static_cast<Cell *>(row[j]);
        wrong += a->value != i || b->value != j;
        mprSetRef(a, &a->leaf, b->leaf);
        Cell *fresh = makeCell(j);
        mprSetRef(fresh, &fresh->left, a);
        fresh->left = nullptr;
        mprSetRef(fresh, &fresh->leaf, mprAlloc(40));
        mprSetRef(row, row + j, fresh);
        mprYield(0);
    }
    CHECK(wrong == 0);
    CHECK(stats().collectionsMajor >= before + 2);
    CHECK(stats().collectionsMinor > 0);
    CHECK(stats().checkDefects == 0);
}

TEST_CASE("several threads mark beside others where processors are free", "[gc][generations][helpers]") {
    Runtime runtime(GENERATE("markers=4", "markers=2,marks=16k", "markers=4,check=1"), 0, 120);
    const size_t count = heavy(40000);
    Root root(makeRow(count));
    void **row = fillRow(root, count);
    const bool several = stats().numCpu > 1;
    for (int i = 0; i < 300 && (several ? stats().marksBeside == 0 : i < 3); i++) {
        for (size_t j = 0; j < count; j++) {
            auto cell = static_cast<Cell *>(row[j]);
            mprSetRef(cell, &cell->left, makeCell(j));
        }
        collect(); // this thread waits: its processor is free
    }
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        wrong += isLeftWrong(static_cast<Cell *>(row[i]), i);
    }
    CHECK(wrong == 0);
    CHECK((stats().marksBeside > 0 || !several));
    CHECK(stats().checkDefects == 0);
}

TEST_CASE("stores into blocks that the collector is marking are not forgotten", "[gc][generations]") {
    Runtime runtime("check=1,young=128k", 0, 120);
    const size_t count = 12000;
    Root root(makeRow(count));
    void **row = fillRow(root, count);
    Random random(9);
    const uint64 before = stats().collectionsMajor;
    for (int round = 0; stats().collectionsMajor < before + 2 && round < 3000000; round++) {
        // Chains grow at random cells; some are cut.
        auto owner = static_cast<Cell *>(row[random.below(count)]);
        Cell *fresh = makeCell(1);
        mprSetRef(fresh, &fresh->left, owner->left);
        mprSetRef(owner, &owner->left, random.chance(12) ? nullptr : fresh);
        mprYield(0);
    }
    CHECK(stats().collectionsMajor >= before + 2);
    CHECK(stats().checkDefects == 0);
}

TEST_CASE("old blocks that only young ones refer to are marked while threads run", "[gc][generations]") {
    Runtime runtime(GENERATE("young=64k", "young=1m,marks=512k,markers=4", "young=64k,marks=16k"), 0, 120);
    const size_t count = heavy(150000);
    Root root(makeRow(count));
    void **row = fillRow(root, count);
    for (size_t i = 0; i < count; i++) {
        auto cell = static_cast<Cell *>(row[i]);
        mprSetRef(cell, &cell->left, makeCell(i));
        mprYield(0);
    }
    collect();
    Random random(10);
    size_t wrong = 0;
    for (uint64 majors = stats().collectionsMajor, until = majors + 5; majors < until;
         majors = stats().collectionsMajor) {
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        for (int round = 0; round < 3000; round++) {
            // The old cell on the left moves to another young one each time.
            const size_t i = random.below(count);
            auto before = static_cast<Cell *>(row[i]);
            wrong += isLeftWrong(before, i);
            Cell *fresh = makeCell(i);
            mprSetRef(fresh, &fresh->left, before->left);
            mprSetRef(row, row + i, fresh);
            mprYield(0);
        }
    }
    for (size_t i = 0; i < count; i++) {
        wrong += isLeftWrong(static_cast<Cell *>(row[i]), i);
    }
    CHECK(wrong == 0);
    CHECK(stats().collectionsMinor > 0);
}

TEST_CASE("blocks freed by hand while they are being marked", "[gc][generations]") {
    Runtime runtime(GENERATE("check=1,young=128k", "check=1,young=128k,marks=2k,pausebudget=20"), 0, 120);
    const size_t count = 12000;
    Root root(makeRow(count));
    void **row = fillRow(root, count);
    Random random(8);
    const uint64 before = stats().collectionsMajor;
    size_t refused = 0;
    for (int round = 0; stats().collectionsMajor < before + 2 && round < 4000000; round++) {
        const size_t i = random.below(count);
        void *cell = row[i];
        mprSetRef(row, row + i, makeCell(i));
        if (round % 2) { // the others become the garbage that makes a major collection due
            refused += mprFree(cell) != 0;
        }
        mprYield(0);
    }
    CHECK(refused == 0);
    CHECK(stats().collectionsMajor >= before + 2);
    CHECK(stats().checkDefects == 0);
    // Once freed it is no block any more, whenever its memory goes.
    void *cell = row[0];
    mprSetRef(row, row, nullptr);
    CHECK(mprFree(cell) == 0);
    CHECK(mprFree(cell) == MPR_ERR_BAD_ARGS);
}

namespace {

/* Threads that store at random into cells of their own and of a shared row. Every mark is checked. */
void storeAtRandom(cchar *options, int operations, int seconds) {
    for (int threads : {1, 2, 4, 8}) {
        Runtime runtime(options, 0, seconds);
        constexpr size_t slots = 400;
        Root shared(makeRow(slots));
        std::atomic<size_t> wrong{0};
        std::vector<std::unique_ptr<Mutator>> mutators;
        for (int t = 0; t < threads; t++) {
            mutators.push_back(std::make_unique<Mutator>("random", [&, t](Mutator &) {
                Random random(static_cast<uint32_t>(t) + 1);
                Root own(makeRow(slots));
                void **row = own.as<void *>(), **common = shared.as<void *>();
                // On a busy machine the collector may get no processor before all has been done.
                for (int i = 0; i < operations / threads || stats().collectionsMinor == 0; i++) {
                    const size_t at = random.below(slots);
                    auto cell = static_cast<Cell *>(row[at]);
                    auto other = static_cast<Cell *>(__atomic_load_n(common + random.below(slots), __ATOMIC_ACQUIRE));
                    wrong += (cell && cell->value != at) || (other && other->value >= slots);
                    switch (random.below(6)) {
                    case 0:
                    case 1: mprSetRef(row, row + at, makeCell(at)); break;
                    case 2: mprSetRef(common, common + random.below(slots), makeCell(at)); break;
                    case 3:
                        if (cell) {
                            mprSetRef(cell, &cell->left, other);
                        }
                        break;
                    case 4:
                        if (cell) {
                            mprSetRef(cell, &cell->right, makeCell(at));
                            mprSetRef(cell, &cell->leaf, mprAlloc(random.below(3000)));
                        }
                        break;
                    default:
                        if (other) {
                            mprSetRef(row, row + other->value, other);
                            mprSetRef(other, &other->left, nullptr);
                        }
                        break;
                    }
                    mprYield(0);
                }
            }));
        }
        for (auto &mutator : mutators) {
            mutator->end();
        }
        INFO(threads << " threads\n" << Log::text());
        CHECK(wrong == 0);
        CHECK(stats().collectionsMinor > 0);
        CHECK(stats().checkDefects == 0);
    }
}

} // namespace

TEST_CASE("random stores by several threads: every mark is checked", "[gc][generations]") {
    storeAtRandom("check=1,young=128k", 20000, 200);
}

TEST_CASE("random stores with a collection at every yield point", "[gc][generations]") {
    storeAtRandom("check=1,everyyield=1", static_cast<int>(heavy(3000)), 200);
}

TEST_CASE("random stores while mark stacks run over", "[gc][generations]") {
    storeAtRandom("check=1,everyyield=1,marks=2k", static_cast<int>(heavy(2000)), 200);
    storeAtRandom("check=1,young=128k,marks=2k,markers=4,pausebudget=20", 20000, 200);
}

namespace {

std::atomic<long> strangersMarked;

/* The manager of a cell to which nothing has ever referred. */
void manageStranger(void *, int flags) {
    strangersMarked += (flags & MPR_MANAGE_MARK) != 0;
}

void makeStrangers(size_t count) {
    for (size_t i = 0; i < count; i++) {
        mprAllocManaged(sizeof(Cell), manageStranger, MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE);
    }
    mprYield(0);
}

} // namespace

TEST_CASE("what died young is not taken for what is left over on a full mark stack", "[gc][generations]") {
    Runtime runtime("young=256k,marks=2k,pausebudget=20", 0, 200);
    strangersMarked = 0;
    Root root(makeRow(40000));
    void **row = root.as<void *>();
    for (size_t i = 0; i < 40000; i++) { // live and dead side by side, in pieces of memory of their own
        mprSetRef(row, row + i, makeCell(i));
        if (i % 2000 == 0) {
            makeStrangers(4000);
        }
        mprYield(0);
    }
    std::atomic<bool> stop{false};
    Mutator other("asks for major ones", [&](Mutator &) {
        for (int i = 0; i < 40; i++) {
            mprGC(MPR_GC_FORCE);
        }
        stop = true;
    });
    while (!stop) {
        makeStrangers(100);
    }
    other.end();
    CHECK(strangersMarked == 0);
    CHECK(stats().collectionsMajor >= 39); // the last may not have been swept
    CHECK(stats().markOverflows > 0);
}

namespace {

/* Give each cell of a row another young one to the left. @return how many could not be made. */
size_t renew(void **row, size_t count, uintptr_t value) {
    size_t refused = 0;
    for (size_t i = 0; i < count; i++) {
        auto cell = static_cast<Cell *>(row[i]);
        Cell *fresh = makeCell(value);
        refused += fresh == nullptr;
        mprSetRef(cell, &cell->left, fresh);
    }
    return refused;
}

size_t wrongLeft(void **row, size_t count, uintptr_t value) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        auto cell = static_cast<Cell *>(row[i]);
        wrong += isLeftWrong(cell, value);
    }
    return wrong;
}

/* What only the log can have shown: no major collection ended, which would find by itself what was lost. */
struct Found {
    bool lost, later;
};

/* Store what the log has no memory for, then more. */
Found loseStores() {
    Found found{};
    const size_t count = heavy(60000);
    Runtime runtime("young=64m,region=256k,everyyield=0", 0, 100);
    mprSetMemPolicy(MPR_ALLOC_POLICY_NOTHING);
    Root root(makeRow(count)), spare(makeRow(count));
    void **row = fillRow(root, count), **later = spare.as<void *>();
    collectYoung();
    for (size_t i = 0; i < count; i++) {
        mprSetRef(later, later + i, makeCell(1));
    }
    std::vector<void *> hoard;
    mprSetMemLimits(0, ssize(stats().heap), 0);
    while (stats().bytesFree > 100000) { // short of refusals, after which a collection marks everything anyway
        hoard.push_back(mprAlloc(1000));
    }
    const uint64 before = stats().heap;
    for (size_t i = 0; i < count; i++) {
        auto cell = static_cast<Cell *>(row[i]);
        mprSetRef(cell, &cell->left, later[i]);
        mprSetRef(later, later + i, nullptr);
    }
    CHECK(stats().heap <= before + count); // too little for a log of all these
    for (void *block : hoard) {
        mprFree(block);
    }
    collectYoung();
    CHECK(wrongLeft(row, count, 1) == 0);
    const uint64 majors = stats().collectionsMajor;
    found.lost = majors == 0;
    mprSetMemLimits(0, 0, -1);
    CHECK(renew(row, count, 2) == 0);
    collectYoung();
    CHECK(wrongLeft(row, count, 2) == 0);
    found.later = stats().collectionsMajor == majors;
    return found;
}

} // namespace

TEST_CASE("stores for which the remembered set had no memory are found, and later ones are remembered again",
          "[gc][generations]") {
    Found found{};
    for (int tries = 0; !(found.lost && found.later) && tries < 20; tries++) { // on a slow machine a major one may end
        const Found now = loseStores();
        found = {found.lost || now.lost, found.later || now.later};
    }
    CHECK(found.lost);
    CHECK(found.later);
}

/* Long: make soak */
TEST_CASE("ten million random stores by 1 to 8 threads: every mark is checked", "[.][soak]") {
    storeAtRandom("check=1,young=128k", 2500000, 1800);
}

TEST_CASE("a major collection that starts with more roots than its stack can hold loses none", "[gc][generations]") {
    const bool limited = GENERATE(true, false);
    Runtime runtime("marks=2k,check=1");
    if (limited) {
        mprSetMemLimits(0, 256 << 20, -1);
    }
    freedCells = 0;
    constexpr uintptr_t many = 6000, deep = 8;
    std::vector<Cell *> roots;
    for (uintptr_t i = 0; i < many; i++) {
        if (i == many / 2) {
            collect(); // half of the roots are old when the collection below starts, half are young
        }
        Cell *list = nullptr;
        for (uintptr_t k = 0; k < deep; k++) {
            Cell *cell = makeCell(i);
            cell->left = list;
            list = cell;
        }
        mprAddRoot(list);
        roots.push_back(list);
    }
    collect();
    CHECK(stats().markOverflows > 0);
    CHECK(freedCells == 0);
    CHECK(stats().checkDefects == 0);
    uintptr_t wrong = 0;
    for (uintptr_t i = 0; i < many; i++) {
        uintptr_t length = 0;
        for (Cell *cell = roots[i]; length <= deep && mprIsValid(cell) && cell->value == i; cell = cell->left) {
            length++;
        }
        wrong += length != deep;
    }
    CHECK(wrong == 0);
    for (Cell *root : roots) {
        mprRemoveRoot(root);
    }
    collect();
    CHECK(freedCells == many * deep);
}

namespace {

constexpr size_t MB = 1 << 20;
constexpr uint64_t budget = 400'000; /* nanoseconds that a pause may take */

/* Arithmetic only: no heap. */
struct Arithmetic {
    explicit Arithmetic(bool enabled = true) { generations.open(enabled, MB, 100, budget); }
    /* A full collection in one pause has found so many blocks, and swept. */
    void full(size_t blocks, size_t plain, size_t live, uint64_t paused = 0) {
        generations.marked(true, true, {blocks, plain}, paused);
        generations.swept(true, {live, 1000 * MB, allowance, false}, false);
    }
    void minor(size_t live, bool tight = false, size_t blocks = 0, size_t plain = 0) {
        generations.marked(false, false, {blocks, plain}, 0);
        generations.swept(false, {live, 1000 * MB, allowance, tight}, false);
    }
    /* A minor collection while a major one marks; and its last pause. */
    void beside(size_t live) { generations.swept(false, {live, 1000 * MB, allowance, false}, true); }
    void last(size_t blocks, size_t plain, size_t live) {
        generations.marked(true, false, {blocks, plain}, 0);
        generations.swept(true, {live, 1000 * MB, allowance, false}, false);
    }
    size_t allowance = 60 * MB; /* of garbage */

    mpr::gc::Generations generations;
};

} // namespace

TEST_CASE("a major collection is due when the old have grown by their part, and late when by more", "[gc][pace]") {
    Arithmetic a;
    CHECK_FALSE(a.generations.majorDue());
    a.full(1000, 0, 100 * MB);
    CHECK_FALSE(a.generations.majorDue());
    a.minor(114 * MB);
    CHECK_FALSE(a.generations.majorDue());
    a.minor(116 * MB); // 15 of 100
    CHECK(a.generations.majorDue());
    CHECK_FALSE(a.generations.overdue());
    a.minor(166 * MB); // and half of what lives
    CHECK(a.generations.overdue());
    a.full(1000, 0, 100 * MB);
    CHECK_FALSE(a.generations.majorDue());
    CHECK_FALSE(a.generations.overdue());
}

TEST_CASE("where garbage may take little, a major collection is due when the old have taken much of it", "[gc][pace]") {
    Arithmetic a;
    a.allowance = 4 * MB;
    a.full(1000, 0, 2 * MB); // has freed nothing
    a.minor(5 * MB - 1);
    CHECK_FALSE(a.generations.majorDue());
    a.minor(5 * MB);
    CHECK(a.generations.majorDue());
    a.full(1000, 0, 2 * MB); // has freed much
    a.minor(3 * MB + MB / 2 - 1);
    CHECK_FALSE(a.generations.majorDue());
    a.minor(3 * MB + MB / 2);
    CHECK(a.generations.majorDue());
    CHECK_FALSE(a.generations.overdue());
    a.minor(5 * MB + MB / 2);
    CHECK(a.generations.overdue());
}

TEST_CASE("the first major collection is late when the heap has doubled since it began", "[gc][pace]") {
    Arithmetic a;
    a.minor(3 * MB);
    CHECK(a.generations.majorDue());
    a.beside(40 * MB); // it has begun
    a.beside(88 * MB - 1);
    CHECK_FALSE(a.generations.overdue());
    a.beside(88 * MB);
    CHECK(a.generations.overdue());
}

TEST_CASE("where managers take long a major collection is due before they have much to free", "[gc][pace]") {
    Arithmetic a;
    a.generations.marked(true, true, {1000, 0}, 0);
    a.generations.swept(true, {4 * MB, 1000 * MB, a.allowance, false, MB}, false);
    a.minor(5 * MB - 1);
    CHECK_FALSE(a.generations.majorDue());
    a.minor(5 * MB);
    CHECK(a.generations.majorDue());
}

TEST_CASE("half of what grew old while a major collection marked counts as garbage", "[gc][pace]") {
    Arithmetic a;
    a.full(1000, 0, 100 * MB);
    CHECK(a.generations.grownBy(110 * MB) == 10 * MB);
    a.minor(118 * MB);
    a.beside(120 * MB);
    a.beside(126 * MB);
    a.last(1000, 0, 103 * MB);
    CHECK(a.generations.grownBy(103 * MB) == 3 * MB);
    a.full(1000, 0, 103 * MB);
    CHECK(a.generations.grownBy(103 * MB) == 0);
}

TEST_CASE("before everything has been marked once, half of what is there counts as garbage", "[gc][pace]") {
    Arithmetic a;
    a.minor(MB);
    CHECK(a.generations.grownBy(MB) == MB / 2);
    CHECK_FALSE(a.generations.majorDue());
    a.minor(2 * MB); // two young budgets
    CHECK(a.generations.majorDue());
}

TEST_CASE("near a limit a quarter of the room is enough, too, before everything has been marked once", "[gc][pace]") {
    Arithmetic a;
    a.generations.marked(false, false, {1000, 0}, 0);
    const auto minor = [&](size_t live, size_t room) {
        a.generations.swept(false, {live, room, 60 * MB, true}, false);
    };
    minor(MB / 2, 3 * MB);
    CHECK_FALSE(a.generations.hasGrown());
    minor(MB, 2 * MB + MB / 2);
    CHECK_FALSE(a.generations.hasGrown());
    minor(MB + MB / 4, 2 * MB + MB / 4);
    CHECK(a.generations.hasGrown());
}

TEST_CASE("a heap of plain blocks is marked in one pause where that takes not much longer than to trace it again",
          "[gc][pace]") {
    Arithmetic a;
    a.full(20000, 20000, MB, 20000 * 40);
    CHECK(a.generations.concurrently());
    a.generations.retraced(20000 * 20);
    CHECK_FALSE(a.generations.concurrently());
    a.generations.retraced(20000 * 19);
    CHECK(a.generations.concurrently());
    // Slices say as much about it as a whole pause does.
    a.generations.sliced(20000 * 20);
    a.generations.sliced(20000 * 18);
    a.last(20000, 20000, MB);
    CHECK_FALSE(a.generations.concurrently());
    // Never where it would take very long, whatever minor collections take.
    a.generations.retraced(100 * budget);
    a.full(100000, 100000, MB, 21 * budget);
    CHECK(a.generations.concurrently());
    a.full(100000, 100000, MB, 19 * budget);
    CHECK_FALSE(a.generations.concurrently());
    // Barrier blocks are marked beside the threads.
    a.full(100000, 90000, MB, 19 * budget);
    CHECK(a.generations.concurrently());
}

TEST_CASE("a major collection is due at once when memory is short", "[gc][pace]") {
    Arithmetic a;
    a.full(1000, 0, 10 * MB);
    a.minor(10 * MB, true);
    CHECK(a.generations.majorDue());
    CHECK_FALSE(a.generations.hasGrown());
    CHECK(a.generations.overdue());
    a.minor(10 * MB, false);
    CHECK_FALSE(a.generations.majorDue());
}

TEST_CASE("near a limit a major collection is due after a quarter of the room", "[gc][pace]") {
    Arithmetic a;
    a.generations.marked(true, true, {1000, 0}, 0);
    a.generations.swept(true, {100 * MB, 8 * MB, 60 * MB, false}, false);
    a.minor(101 * MB);
    CHECK_FALSE(a.generations.majorDue());
    a.minor(102 * MB);
    CHECK(a.generations.majorDue());
    CHECK_FALSE(a.generations.overdue());
    a.minor(104 * MB);
    CHECK(a.generations.overdue());
}

TEST_CASE("marking goes on beside the threads when it would take longer than a pause may", "[gc][pace]") {
    Arithmetic a;
    a.full(5000, 0, MB); // 40 ns each, as long as nothing has been measured
    CHECK_FALSE(a.generations.concurrently());
    a.full(20000, 0, MB, 20000 * 40);
    CHECK(a.generations.concurrently());
    a.full(20000, 0, MB, 20000 * 15); // measured
    CHECK_FALSE(a.generations.concurrently());
    a.minor(MB, false, 20000);
    CHECK(a.generations.concurrently());
    a.minor(MB, true);
    CHECK_FALSE(a.generations.concurrently());
    Arithmetic buffer(false);
    buffer.full(20000, 0, MB, 20000 * 40);
    CHECK_FALSE(buffer.generations.concurrently());
    CHECK_FALSE(buffer.generations.worthwhile());
}

TEST_CASE("plain blocks are counted as they grow old, and make a major collection due sooner", "[gc][pace]") {
    Arithmetic a;
    a.full(16000, 1000, 4 * MB);
    CHECK(a.generations.mostlyBarrier());
    CHECK(a.generations.plain() == 1000);
    a.minor(6 * MB, false, 1000, 1000);
    CHECK(a.generations.plain() == 2000);
    CHECK_FALSE(a.generations.mostlyBarrier());
    CHECK_FALSE(a.generations.majorDue()); // three young budgets
    a.full(16000, 9000, 4 * MB);
    a.minor(5 * MB + 1);
    CHECK(a.generations.majorDue()); // one
}

TEST_CASE("in trials every scope has its turn", "[gc][pace]") {
    Arithmetic a;
    a.generations.setTrial(true);
    CHECK(a.generations.majorDue());
    CHECK(a.generations.concurrently());
    int worthwhile = 0;
    for (int i = 0; i < 32; i++) {
        worthwhile += a.generations.worthwhile();
        a.minor(MB);
    }
    CHECK(worthwhile == 30);
}
