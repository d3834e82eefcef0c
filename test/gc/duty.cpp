// SPDX-License-Identifier: MIT
/*
    test/gc/duty.cpp - Who collects: the thread that stops last, threads that assist, or the collector's thread.
 */
#include "test/catch.hpp"

#include "mpr.h"
#include "test/support/every_yield.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/one_processor.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <atomic>
#include <memory>
#include <vector>

using namespace test;

namespace {

/* One field, written through the barrier; the managers of some want to be called at the end. */
struct Item {
    Item *next;
    uintptr_t value;
};

std::atomic<long> items;

void manageItem(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<Item *>(ptr)->next);
    }
    items -= (flags & MPR_MANAGE_FREE) != 0;
}

Item *makeItem(uintptr_t value, bool counted) {
    auto item = static_cast<Item *>(mprAllocManaged(
        sizeof(Item), manageItem, MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER | (counted ? 0 : MPR_ALLOC_NO_FREE)));
    item->value = value;
    items += counted;
    return item;
}

/* Replace random ones of a row of items, each of which has another behind it. @return Wrong contents seen. */
size_t replace(const Root &root, size_t count, size_t times, bool counted = false) {
    Random random(5);
    size_t wrong = 0;
    for (size_t i = 0; i < times; i++) {
        auto row = root.as<Item *>();
        const size_t at = random.below(count);
        Item *item = row[at];
        wrong += item && (item->value != at || !item->next || item->next->value != ~at);
        Item *fresh = makeItem(at, counted);
        mprSetRef(fresh, &fresh->next, makeItem(~at, counted));
        mprSetRef(row, row + at, fresh);
        mprYield(0);
    }
    return wrong;
}

constexpr size_t many = 50000; // more than may be marked in one pause

void checkDefects(size_t wrong) {
    INFO(Log::text());
    CHECK(wrong == 0);
    CHECK(stats().checkDefects == 0);
    CHECK(stats().misuses == 0);
}

} // namespace

TEST_CASE("the thread that stops last does the pause", "[gc][duty]") {
    Runtime runtime("young=64k,check=1,everyyield=0");
    Root root(makeRow<Item>(100));
    size_t wrong = 0;
    for (int i = 0; i < 1000 && stats().pausesByThreads < 10; i++) {
        wrong += replace(root, 100, 1000);
    }
    CHECK(stats().pausesByThreads >= 10);
    checkDefects(wrong);
}

TEST_CASE("so does one of several, and the others go on", "[gc][duty]") {
    Runtime runtime("young=64k,check=1,everyyield=0");
    std::atomic<size_t> wrong{0};
    {
        std::vector<std::unique_ptr<Mutator>> mutators;
        for (int t = 0; t < 3; t++) {
            mutators.push_back(std::make_unique<Mutator>("member", [&](Mutator &self) {
                Root root(makeRow<Item>(100));
                while (self.go()) {
                    wrong += replace(root, 100, 100, true);
                }
            }));
        }
        const uint64 before = stats().pausesByThreads;
        CHECK(until([&] { return stats().pausesByThreads > before + 10; }, 20000));
    }
    checkDefects(wrong);
}

TEST_CASE("without a processor for the collector's thread, threads mark and sweep in portions", "[gc][duty]") {
    const OneProcessor here;
    Runtime runtime("check=1,everyyield=0,young=256k,pausebudget=200");
    Root root(makeRow<Item>(many));
    size_t wrong = replace(root, many, many);
    for (int i = 0; i < 100 && (stats().collectionsMajor < 3 || stats().assists < 20) && !inTrial(); i++) {
        wrong += replace(root, many, heavy(many) + 1000);
    }
    CHECK((stats().assists >= 20 || inTrial()));
    checkDefects(wrong);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(replace(root, many, 1000) == 0);
}

TEST_CASE("with a processor to spare, threads do not assist", "[gc][duty]") {
    Runtime runtime("everyyield=0,young=256k");
    if (stats().numCpu < 2) {
        return;
    }
    Root root(makeRow<Item>(many));
    CHECK(replace(root, many, heavy(4 * many)) == 0);
    CHECK(stats().assists == 0);
}

TEST_CASE("the collector's thread ends what threads have begun, when they wait", "[gc][duty]") {
    const OneProcessor here;
    Runtime runtime("everyyield=0,young=256k,pausebudget=40");
    Root root(makeRow<Item>(many));
    for (int round = 0; round < 20; round++) {
        CHECK(replace(root, many, heavy(10000) + static_cast<size_t>(round)) == 0);
        const uint64 collections = stats().collections;
        mprYield(round % 2 ? MPR_YIELD_COMPLETE : MPR_YIELD_DEFAULT);
        CHECK(mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE) >= 0);
        CHECK(stats().collections > collections);
    }
}

TEST_CASE("a runtime that ends in the midst of it has called all managers", "[gc][duty]") {
    const OneProcessor here;
    for (unsigned round = 0; round < 50; round++) {
        items = 0;
        {
            Runtime runtime("everyyield=0,young=64k,pausebudget=40");
            Root root(makeRow<Item>(1000));
            CHECK(replace(root, 1000, 2000 + 37 * round, round % 3 != 0) == 0);
        }
        CHECK(items == 0);
    }
}
