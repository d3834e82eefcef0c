// SPDX-License-Identifier: MIT
/*
    test/heap/sweep.cpp - Threads allocate, free and resize while the collector sweeps: nothing that lives is touched.

    The table of each thread is checked whole after every few operations, so that a hole made inside a live block is seen
    before the block is dropped.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <cstring>
#include <memory>
#include <vector>

using namespace test;

namespace {

std::atomic<long> overwritten, checked;

/* A leaf that knows its size and seed. */
struct Leaf {
    size_t size;
    uint64_t seed;
};

void *makeLeaf(size_t size, uint64_t seed) {
    size = size < sizeof(Leaf) ? sizeof(Leaf) : size;
    auto leaf = static_cast<Leaf *>(mprAlloc(size));
    *leaf = {size, seed};
    fill(leaf, size, seed, sizeof(Leaf));
    return leaf;
}

bool intact(const void *ptr) {
    auto leaf = static_cast<const Leaf *>(ptr);
    return mprIsValid(leaf) && mprGetBlockSize(leaf) >= leaf->size &&
           filled(leaf, leaf->size, leaf->seed, sizeof(Leaf));
}

void checkTable(const Table *table) {
    for (size_t i = 0; i < table->count; i++) {
        overwritten += table->items[i] && !intact(table->items[i]);
    }
    checked++;
}

/* Keep a table of leaves; free, resize and drop them; free most of what is not kept at once, as temporaries are. */
void churn(Mutator &self, uint64_t seed, size_t largest) {
    Random random(seed);
    Root root(makeTable(largest > 100000 ? 20 : 200));
    for (uint64_t step = 0; self.go() && overwritten == 0; step++) {
        auto table = root.as<Table>();
        void *&item = table->items[random.below(table->count)];
        void *temporary = makeLeaf(random.below(largest), step);
        switch (random.below(4)) {
        case 0: item = makeLeaf(random.below(largest), step); break;
        case 1:
            mprFree(item);
            item = nullptr;
            break;
        case 2:
            if (item) {
                auto leaf = static_cast<Leaf *>(item);
                size_t old = leaf->size, size = sizeof(Leaf) + random.below(largest);
                if (auto moved = static_cast<Leaf *>(mprRealloc(leaf, size))) {
                    overwritten += !filled(moved, old < size ? old : size, moved->seed, sizeof(Leaf));
                    moved->size = size;
                    fill(moved, size, moved->seed, old < size ? old : size);
                    item = moved;
                }
            }
            break;
        default: item = nullptr;
        }
        if (random.chance(70)) {
            overwritten += !intact(temporary);
            mprFree(temporary);
        }
        if (step % 16 == 0) {
            checkTable(table);
        }
        mprYield(0);
    }
}

void churnWith(cchar *options, size_t largest, int ms) {
    Runtime runtime(options, 0, 120);
    overwritten = checked = 0;
    {
        std::vector<std::unique_ptr<Mutator>> mutators;
        for (uint64_t i = 0; i < 3; i++) {
            mutators.push_back(std::make_unique<Mutator>("churner", [=](Mutator &self) { churn(self, i, largest); }));
        }
        const auto enough = [] { return checked > 10 && stats().collections > 3; };
        for (Stretch stretch(ms); stretch.lasts(enough) && overwritten == 0;) {
            mprGC(MPR_GC_FORCE);
        }
    }
    INFO("options " << options << " largest " << largest);
    CHECK(overwritten == 0);
    CHECK(checked > 10);
    CHECK(stats().collections > 3);
}

} // namespace

TEST_CASE("the check of a leaf fires", "[heap][sweep][port]") {
    Runtime runtime;
    auto leaf = static_cast<unsigned char *>(makeLeaf(100, 3));
    CHECK(intact(leaf));
    leaf[99] ^= 1;
    CHECK_FALSE(intact(leaf));
    leaf[99] ^= 1;
    mprFree(leaf);
    CHECK_FALSE(mprIsValid(leaf));
}

TEST_CASE("the sweep leaves small blocks of running threads alone", "[heap][sweep][port]") {
    churnWith("region=256k,young=64k", 300, 1500);
}

TEST_CASE("the sweep leaves middling blocks of running threads alone", "[heap][sweep][port]") {
    churnWith("region=256k,young=256k", 4000, 1500);
}

TEST_CASE("the sweep leaves large blocks of running threads alone", "[heap][sweep][port]") {
    churnWith("region=256k,young=1m", 300000, 1500);
}

TEST_CASE("the sweep leaves blocks in large regions alone", "[heap][sweep][port]") {
    churnWith("", 4000, 1500);
}

namespace {

/* A chain of blocks and strings, checked while it grows among other threads' temporaries. */
struct Pearl {
    Pearl *next;
    void *text;
};

void managePearl(void *ptr, int flags) {
    auto pearl = static_cast<Pearl *>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMark(pearl->next);
        mprMark(pearl->text);
    } else {
        overwritten += !intact(pearl->text);
    }
}

} // namespace

TEST_CASE("chains that grow among temporaries of other threads stay whole until their managers have run",
          "[heap][sweep][port]") {
    Runtime runtime("region=256k,young=256k");
    overwritten = 0;
    auto temporaries = [](Mutator &self) {
        Random random(7);
        while (self.go()) {
            size_t size = random.below(4000);
            void *block = mprAlloc(size);
            memset(block, 0xee, size);
            if (random.chance(30)) {
                mprFree(block);
            }
            mprYield(0);
        }
    };
    Mutator first("first", temporaries), second("second", temporaries);
    for (size_t round = 0; round < heavy(40) && overwritten == 0; round++) {
        Root root;
        for (size_t i = 0; i < 300; i++) {
            auto pearl = mprAllocObj(Pearl, managePearl);
            *pearl = {root.as<Pearl>(), makeLeaf(i % 100 == 0 ? 200000 : i % 700, i)};
            root.set(pearl);
            mprYield(0);
            if (i % 10 == 0) {
                for (auto each = root.as<Pearl>(); each; each = each->next) {
                    overwritten += !intact(each->text);
                }
            }
        }
        root.set(nullptr);
        collect();
    }
    CHECK(overwritten == 0);
    first.end();
    second.end();
}
