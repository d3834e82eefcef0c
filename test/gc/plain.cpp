// SPDX-License-Identifier: MIT
/*
    test/gc/plain.cpp - Heaps of plain blocks, stored into without a barrier: minor collections, major ones that mark in
    slices while threads run, and several threads that mark at the same time.
 */
#include "test/catch.hpp"

#include "mpr.h"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/one_processor.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

using namespace test;

namespace {

/* A node that knows whether its block has been freed, by hand or by the collector. */
struct Link {
    Link *left, *right;
    uintptr_t value;
    uintptr_t state;
};
constexpr uintptr_t alive = 0xA11FE, freed = 0xDEAD;
std::atomic<long> links, markedAfterFree;

void manageLink(void *ptr, int flags) {
    auto link = static_cast<Link *>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        markedAfterFree += link->state == freed;
        mprMark(link->left);
        mprMark(link->right);
    }
    if (flags & MPR_MANAGE_FREE) {
        link->state = freed;
        links--;
    }
}

Link *makeLink(uintptr_t value) {
    auto link = static_cast<Link *>(mprAllocManaged(sizeof(Link), manageLink, MPR_ALLOC_ZERO));
    link->value = value;
    link->state = alive;
    links++;
    return link;
}

struct LinkTable {
    size_t count;
    void *pad;
    Link *items[1];
};

void manageLinkTable(void *ptr, int flags) {
    auto table = static_cast<LinkTable *>(ptr);
    for (size_t i = 0; (flags & MPR_MANAGE_MARK) && i < table->count; i++) {
        mprMark(table->items[i]);
    }
}

LinkTable *makeLinkTable(size_t count) {
    auto table = static_cast<LinkTable *>(
        mprAllocManaged(sizeof(LinkTable) + count * sizeof(Link *), manageLinkTable, MPR_ALLOC_ZERO));
    table->count = count;
    return table;
}

void reset() {
    links = 0;
    markedAfterFree = 0;
}

/* Random stores, all of them plain, into links of a table and what hangs on them. @return Wrong contents seen. */
size_t mutate(LinkTable *table, Random &random, size_t operations, bool freeByHand) {
    size_t wrong = 0;
    for (size_t i = 0; i < operations; i++) {
        const size_t at = random.below(table->count);
        Link *&item = table->items[at];
        wrong += item && (item->state != alive || item->value != at);
        wrong += item && item->right && item->right->state != alive;
        switch (random.below(6)) {
        case 0:
        case 1: {
            Link *fresh = makeLink(at);
            fresh->right = item && !freeByHand ? item->right : nullptr;
            if (freeByHand && item && !item->left && !item->right && random.chance(50)) {
                mprFree(item);
            }
            item = fresh;
            break;
        }
        case 2:
            if (item) {
                item->left = makeLink(at);
            }
            break;
        case 3: // from what may not have been marked into what has been
            if (item && !freeByHand) {
                Link *other = table->items[random.below(table->count)];
                item->right = other ? other->left : nullptr;
            }
            break;
        case 4:
            if (item && item->left) {
                item->left = nullptr;
            }
            break;
        default: item = nullptr; break;
        }
        mprYield(0);
    }
    return wrong;
}

void mutateUnder(cchar *options, size_t count, size_t operations, bool freeByHand) {
    reset();
    {
        Runtime runtime(options, 0, 200);
        Root root(makeLinkTable(count));
        Random random(11);
        size_t wrong = mutate(root.as<LinkTable>(), random, heavy(operations), freeByHand);
        // The slower the machine, the larger the budget between minor collections: on until there was one.
        for (int more = 0; more < 20 && stats().collectionsMinor == 0; more++) {
            wrong += mutate(root.as<LinkTable>(), random, heavy(operations), freeByHand);
        }
        INFO(options << "\n" << Log::text());
        CHECK(wrong == 0);
        CHECK(markedAfterFree == 0);
        CHECK(stats().checkDefects == 0);
        CHECK(stats().misuses == 0);
        CHECK((stats().collectionsMinor > 0 || everyAlloc())); // too few of them then
    }
    CHECK(links == 0);
}

/* A table of links that are reached through one another, so that marking has something to do. */
LinkTable *makeForest(size_t count) {
    LinkTable *table = makeLinkTable(count);
    for (size_t i = 0; i < count; i++) {
        table->items[i] = makeLink(i);
        table->items[i]->left = makeLink(i);
        table->items[i]->left->right = makeLink(i);
    }
    return table;
}

size_t wrongIn(LinkTable *forest) {
    size_t wrong = 0;
    for (size_t i = 0; i < forest->count; i++) {
        Link *link = forest->items[i];
        for (Link *each : {link, link->left, link->left->right}) {
            wrong += each->state != alive || each->value != i;
        }
    }
    return wrong;
}

} // namespace

TEST_CASE("a heap of plain blocks has minor collections, and what young blocks it gets lives", "[gc][plain]") {
    mutateUnder("check=1,young=64k", 3000, 60000, false);
    mutateUnder("young=64k", 20000, 400000, false);
}

TEST_CASE("plain blocks with a collection at every yield point", "[gc][plain]") {
    mutateUnder("check=1,everyyield=1", 300, 5000, false);
}

TEST_CASE("plain blocks freed by hand while a major collection marks", "[gc][plain]") {
    mutateUnder("check=1,everyyield=1", 300, 5000, true);
    mutateUnder("check=1,young=64k,pausebudget=20", 20000, 60000, true);
    mutateUnder("check=1,young=64k,pausebudget=20,marks=2k", 20000, 60000, true);
}

TEST_CASE("a forced collection marks plain blocks in slices while other threads run", "[gc][plain]") {
    reset();
    Runtime runtime("everyyield=0,pausebudget=100,marks=8m", 0, 100);
    Root root(makeForest(30000));
    mprGC(MPR_GC_MINOR); // what is young is marked in one pause anyway
    std::atomic<bool> stop{false};
    std::atomic<long> turns{0};
    Mutator other("runs on", [&](Mutator &) {
        while (!stop) {
            turns++;
            mprYield(0);
        }
    });
    // The system may give the other thread no processor during a collection: until it got one, then.
    bool ran = false;
    unsigned collections = 0;
    while (!ran && collections < 50) {
        for (int i = 0; i < 30000; i++) {
            makeLink(1);
        }
        CHECK(links == 120000);
        const long before = turns;
        CHECK(collect() > 0);
        ran = turns > before;
        CHECK(links == 90000); // all that was dead when it was asked for
        CHECK(stats().marksSliced >
              collections); // one may do where it had to wait for a processor: it makes up for that
        CHECK(stats().collectionsMajor == ++collections);
    }
    CHECK(ran);
    stop = true;
    other.end();
    CHECK(wrongIn(root.as<LinkTable>()) == 0);
}

TEST_CASE("what an old plain block should not refer to is named, though nearly nothing is looked at", "[gc][plain]") {
    reset();
    Runtime runtime("everyyield=0,pausebudget=100,marks=8m", 0, 100);
    Root root(makeForest(30000));
    collect(); // from here on it is known that most blocks are plain
    auto items = root.as<LinkTable>()->items;
    const auto wrong = reinterpret_cast<Link *>(reinterpret_cast<char *>(items[6]) + 16); // within a block
    items[5]->left->right->left = wrong;
    const uint64 before = stats().misuses, slices = stats().marksSliced;
    collect(); // what its last pause finds might be a dead block's: the next one knows
    CHECK(stats().marksSliced > slices);
    collect();
    CHECK(stats().misuses > before);
    CHECK(Log::count("is not the start of a block; ignored; by the manager of block") > 0);
    items[5]->left->right->left = nullptr;
    CHECK(wrongIn(root.as<LinkTable>()) == 0);
}

TEST_CASE("a chain of dead old plain blocks is freed by the next major collection, minor ones or not", "[gc][plain]") {
    reset();
    Runtime runtime("young=64k,pausebudget=20", 0, 100);
    Root root(makeForest(10000));
    root.as<LinkTable>()->items[0]->left->left = makeLink(0);
    for (int i = 0; i < 5000; i++) {
        Link *link = makeLink(1);
        link->left = root.as<LinkTable>()->items[0]->left->left;
        root.as<LinkTable>()->items[0]->left->left = link;
    }
    mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
    root.as<LinkTable>()->items[0]->left->left = nullptr;
    std::atomic<bool> stop{false};
    Mutator other("asks for minor ones", [&](Mutator &) {
        while (!stop) {
            mprGC(MPR_GC_MINOR);
        }
    });
    collect();
    stop = true;
    other.end();
    CHECK(links == 30000);
}

TEST_CASE("minor collections asked for without end do not keep a major one from its end", "[gc][plain]") {
    reset();
    Runtime runtime("young=64k,pausebudget=20", 0, 100);
    Root root(makeForest(10000));
    std::atomic<bool> stop{false};
    std::atomic<int> yields{0};
    Mutator other("asks and does not wait", [&](Mutator &) {
        while (!stop) {
            mprGC(MPR_GC_MINOR | MPR_GC_NO_BLOCK);
            mprYield(0);
            yields++;
        }
    });
    CHECK(until([&] { return yields > 100; }));
    for (uint64 majors = 1; majors <= 3; majors++) {
        collect();
        CHECK(stats().collectionsMajor >= majors);
    }
    CHECK(stats().marksSliced > 0);
    CHECK(stats().collectionsMinor > 3);
    stop = true;
    other.end();
    CHECK(wrongIn(root.as<LinkTable>()) == 0);
}

TEST_CASE("several threads mark, and nothing is lost", "[gc][plain][helpers]") {
    for (cchar *options : {"markers=4", "markers=2", "markers=4,marks=2k", "markers=4,check=1"}) {
        reset();
        {
            Runtime runtime(options, 0, 100);
            Root root(makeForest(20000));
            uint64 shared = 0;
            const bool several = stats().numCpu > 1; // one has no use for helpers
            for (int i = 0; i < 2000 && ((several && shared == 0) || i < 10); i++) {
                for (int j = 0; j < 1000; j++) {
                    makeLink(1);
                }
                (i % 2) ? mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE) : collect();
                shared = stats().marksShared;
            }
            INFO(options);
            CHECK((shared > 0 || !several));
            CHECK(wrongIn(root.as<LinkTable>()) == 0);
            CHECK(stats().checkDefects == 0);
            CHECK(stats().misuses == 0);
            collect();
            CHECK(links == 60000);
        }
        CHECK(links == 0);
    }
}

TEST_CASE("nothing is lost of what a helper has done before it is seen to be one too many", "[gc][plain][helpers]") {
    const OneProcessor here;
    std::atomic<bool> stop{false};
    std::vector<std::thread> busy; // so that helpers get a turn in the midst of a pause
    for (int i = 0; i < 4; i++) {
        busy.emplace_back([&] {
            while (!stop) {}
        });
    }
    for (int i = 0; i < 8; i++) {
        mutateUnder("young=64k,markers=2,marks=16k", 20000, 100000, false); // stacks that run over
    }
    stop = true;
    for (auto &thread : busy) {
        thread.join();
    }
}

TEST_CASE("one marker marks alone", "[gc][plain][helpers]") {
    reset();
    Runtime runtime("markers=1");
    Root root(makeForest(20000));
    for (int i = 0; i < 10; i++) {
        collect();
    }
    CHECK(stats().marksShared == 0);
    CHECK(wrongIn(root.as<LinkTable>()) == 0);
}

TEST_CASE("markers and the pause budget have bounds", "[gc][helpers]") {
    Log log;
    for (cchar *bad : {"markers=0", "markers=5", "markers=x", "pausebudget=9", "pausebudget=10000001"}) {
        CHECK(mprConfigure(bad) == MPR_ERR_BAD_ARGS);
    }
    CHECK(log.has("must be from 1 to 4"));
    CHECK(log.has("must be from 10 to 10000000 microseconds"));
    CHECK(mprConfigure("markers=4,pausebudget=1000") == 0);
    CHECK(mprConfigure(nullptr) == 0);
}

/* Long: make soak */
TEST_CASE("millions of random stores into plain blocks", "[.][soak]") {
    mutateUnder("check=1,young=64k", 3000, 2000000, false);
    mutateUnder("check=1,young=64k,pausebudget=20", 20000, 500000, true);
    mutateUnder("check=1,everyyield=1,markers=4,marks=2k", 1000, 50000, true);
}

namespace {

/* References in pages of their own, which the manager finds through a pointer: a table of a C library, say. */
struct OutsideTable {
    Link **items;
    size_t count;
};

size_t outsideBytes(size_t count) {
    const auto page = static_cast<size_t>(mprGetPageSize());
    return (count * sizeof(Link *) + page - 1) / page * page;
}

void manageOutsideTable(void *ptr, int flags) {
    auto table = static_cast<OutsideTable *>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(table->items, table->count);
    }
}

/* The references move to fresh pages, and reading the old ones ends the process: as when a vector grows. */
void moveTable(OutsideTable *table) {
    const size_t bytes = outsideBytes(table->count);
    auto fresh = static_cast<Link **>(mprVirtAlloc(bytes, MPR_MAP_READ | MPR_MAP_WRITE));
    std::copy_n(table->items, table->count, fresh);
    mprVirtFree(std::exchange(table->items, fresh), bytes);
}

} // namespace

TEST_CASE("a plain block's references may move to other memory between any two yields", "[gc][plain]") {
    const auto options = GENERATE("pausebudget=20,markers=1", "pausebudget=20,markers=4", "pausebudget=20,marks=4k");
    reset();
    {
        Runtime runtime(options, 0, 200);
        constexpr size_t count = 200'000;
        Root root(mprAllocObj(OutsideTable, manageOutsideTable));
        auto table = root.as<OutsideTable>();
        table->items = static_cast<Link **>(mprVirtAlloc(outsideBytes(count), MPR_MAP_READ | MPR_MAP_WRITE));
        for (; table->count < count; mprYield(0)) {
            Link *link = makeLink(table->count);
            table->items[table->count++] = link;
        }
        const uint64 before = stats().collectionsMajor;
        size_t turns = 0;
        const auto enough = [before] { return stats().marksSliced >= 20 && stats().collectionsMajor >= before + 3; };
        for (Stretch stretch(1000); stretch.lasts(enough);) {
            if (turns++ % 64 == 0) {
                mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
            }
            for (int i = 0; i < 100; i++) {
                mprAlloc(40);
            }
            mprYield(0);
            moveTable(table);
        }
        collect();
        size_t wrong = 0;
        for (size_t i = 0; i < count; i++) {
            wrong += table->items[i]->value != i || table->items[i]->state != alive;
        }
        CHECK(wrong == 0);
        CHECK(links == static_cast<long>(count));
        CHECK(markedAfterFree == 0);
        mprVirtFree(table->items, outsideBytes(count));
        table->count = 0;
    }
}
