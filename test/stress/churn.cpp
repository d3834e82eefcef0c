// SPDX-License-Identifier: MIT
/*
    test/stress/churn.cpp - Everything at once: threads that make, link, resize, hold, free by hand and drop blocks of all
    kinds while collections of all scopes come and go, under options that make rare paths common.

    Every block carries a tag and a pattern that follow from the slot that it was made for, so a block that was freed too
    early, or given out twice, is seen by whoever looks at it next.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <atomic>
#include <memory>
#include <vector>

using namespace test;

namespace {

enum Kind : uintptr_t { leaf, plain, barrier };

/* A block. One of kind leaf has no child; what follows behind it, up to size, is a pattern. */
struct Item {
    uintptr_t tag;
    uintptr_t size;
    Kind kind;
    Item *child;
};

constexpr uintptr_t dead = ~uintptr_t{0};
std::atomic<long> deadMarked;

void manageItem(void *ptr, int flags) {
    auto item = static_cast<Item *>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        deadMarked += item->kind == plain && item->tag == dead;
        mprMarkRef(&item->child);
    }
    // A barrier block may be freed by hand while the collector is looking at it.
    if ((flags & MPR_MANAGE_FREE) && item->kind == plain) {
        item->tag = dead;
    }
}

Item *makeItem(Random &random, uintptr_t tag) {
    const Kind kind = static_cast<Kind>(random.below(3));
    const size_t size = sizeof(Item) + random.below(random.chance(3) ? 20000 : 300);
    auto item = static_cast<Item *>(
        kind == leaf ? mprAlloc(size) : mprAllocManaged(size, manageItem, kind == plain ? 0 : MPR_ALLOC_BARRIER));
    if (item) {
        *item = {tag, size, kind, nullptr};
        fill(item, size, tag, sizeof(Item));
    }
    return item;
}

/* To item->child, from wherever it stands. */
void link(Item *item, Item *child) {
    if (item->kind == barrier) {
        mprSetRef(item, &item->child, child);
    } else if (item->kind == plain) {
        __atomic_store_n(&item->child, child, __ATOMIC_RELAXED); // slices read it while other threads run
    }
}

bool intact(const Item *item, uintptr_t tag) {
    return item->tag == tag && filled(item, item->size, tag, sizeof(Item));
}

/* One thread's blocks: those in `own` are referred to from there alone; those in `net` from one another, too. */
class Churner {
public:
    Churner(uintptr_t number, size_t count) : tag(number << 20), slots(count), random(number + 1) {}

    size_t wrong = 0;

    void run(size_t operations) {
        Root ownRoot(makeRow<Item>(slots)), netRoot(makeRow<Item>(slots));
        own = ownRoot.as<Item *>();
        net = netRoot.as<Item *>();
        for (size_t i = 0; own && net && i < operations; i++) {
            random.chance(50) ? changeOwn(random.below(slots)) : changeNet(random.below(slots));
            if (i % 16 == 0) {
                collectSometimes();
            }
            mprYield(0);
        }
        for (size_t at = 0; own && net && at < slots; at++) {
            look(own[at], tag + at);
            look(net[at], tag + at);
        }
    }

private:
    void look(Item *item, uintptr_t expected) {
        wrong += item && !intact(item, expected);
        wrong += item && item->kind != leaf && item->child && item->child->tag >> 20 != tag >> 20;
    }

    void changeOwn(size_t at) {
        Item *item = own[at];
        look(item, tag + at);
        switch (random.below(6)) {
        case 0:
        case 1: mprSetRef(own, own + at, makeItem(random, tag + at)); break;
        case 2: mprSetRef(own, own + at, nullptr); break;
        case 3:
            if (item) {
                mprSetRef(own, own + at, nullptr);
                wrong += mprFree(item) != 0;
            }
            break;
        case 4: resize(at); break;
        default: holdAWhile(at); break;
        }
    }

    void resize(size_t at) {
        Item *item = own[at];
        if (!item || item->kind != leaf) {
            return;
        }
        const size_t size = sizeof(Item) + random.below(3000);
        if (auto moved = static_cast<Item *>(mprRealloc(item, size))) {
            wrong += !filled(moved, std::min<size_t>(size, moved->size), tag + at, sizeof(Item));
            moved->size = size;
            fill(moved, size, tag + at, sizeof(Item));
            mprSetRef(own, own + at, moved);
        }
    }

    /* For some yields only a hold keeps it. */
    void holdAWhile(size_t at) {
        Item *item = own[at];
        if (!item) {
            return;
        }
        mprHold(item);
        mprSetRef(own, own + at, nullptr);
        for (size_t i = random.below(4); i > 0; i--) {
            mprAlloc(random.below(500));
            mprYield(0);
        }
        if (random.chance(30)) {
            sleepYielded(0);
        }
        look(item, tag + at);
        mprRelease(item);
        mprSetRef(own, own + at, item);
    }

    void changeNet(size_t at) {
        Item *item = net[at];
        look(item, tag + at);
        Item *other = net[random.below(slots)];
        switch (random.below(4)) {
        case 0: mprSetRef(net, net + at, makeItem(random, tag + at)); break;
        case 1:
            if (item) {
                link(item, other);
            }
            break;
        case 2:
            if (item && item->kind != leaf) {
                link(item, makeItem(random, tag + at));
            }
            break;
        default: mprSetRef(net, net + at, random.chance(50) ? nullptr : item); break;
        }
    }

    void collectSometimes() {
        if (random.chance(2)) {
            const int how[] = {MPR_GC_MINOR, MPR_GC_MINOR | MPR_GC_COMPLETE, MPR_GC_FORCE | MPR_GC_NO_BLOCK,
                               MPR_GC_MAJOR, MPR_GC_FORCE | MPR_GC_COMPLETE};
            mprGC(how[random.below(random.chance(20) ? 5 : 3)]);
        }
    }

    const uintptr_t tag; // of slot 0
    const size_t slots;
    Random random;
    Item **own = nullptr, **net = nullptr;
};

constexpr ssize none = 0, wide = 48 << 20, tight = 3 << 20; /* bytes of heap: in the last some requests are refused */

/* So many threads, one after the other replaced by a new one when it has done its share. */
void churn(cchar *options, uint64_t seed, size_t operations, ssize limit) {
    const size_t threads = 1 + seed % 5;
    const size_t slots = 50 << seed % 7;
    Runtime runtime(options, 0, 600);
    deadMarked = 0;
    mprSetMemPolicy(MPR_ALLOC_POLICY_NOTHING);
    mprSetMemLimits(0, limit, limit > 0 ? 0 : -1);
    std::atomic<size_t> wrong{0};
    for (int generation = 0; generation < 2; generation++) {
        std::vector<std::unique_ptr<Mutator>> mutators;
        for (size_t t = 0; t < threads; t++) {
            mutators.push_back(std::make_unique<Mutator>("churner", [&, t](Mutator &) {
                auto churner = std::make_unique<Churner>(1 + seed * 16 + t, slots);
                churner->run(operations / threads / 2);
                wrong += churner->wrong;
            }));
        }
        for (auto &mutator : mutators) {
            mutator->join();
        }
    }
    INFO(options << ", " << threads << " threads, " << slots << " slots, seed " << seed << "\n" << Log::text());
    CHECK(wrong == 0);
    CHECK(deadMarked == 0);
    CHECK(stats().misuses == 0);
    CHECK(stats().checkDefects == 0);
    CHECK((stats().errors == 0 || limit == tight));
}

/* Options drawn from those that matter here. */
void churnAtRandom(uint64_t seed, size_t operations) {
    Random random(seed);
    auto any = [&](std::initializer_list<cchar *> choices) { return choices.begin()[random.below(choices.size())]; };
    const std::string options =
        std::string(any({"young=64k", "young=256k", "young=1m"})) +
        any({"", ",marks=2k", ",marks=16k", ",marks=512k"}) + any({"", ",markers=1", ",markers=2", ",markers=4"}) +
        any({"", ",pausebudget=10", ",pausebudget=200"}) + any({"", "", ",everyyield=1", ",everyalloc=7"}) +
        any({"", ",growth=20"}) + any({"", ",check=1"});
    const bool trial = options.find("every") != std::string::npos;
    churn(options.c_str(), seed, trial ? operations / 20 : operations,
          random.chance(60)   ? none
          : random.chance(50) ? wide
                              : tight);
}

} // namespace

TEST_CASE("threads do everything at once, and no block is lost", "[stress][churn]") {
    for (uint64_t seed = 1; seed <= 12; seed++) {
        churnAtRandom(seed, heavy(40000));
    }
}

/* Long: make soak, with MPR_SEED the first seed. */
TEST_CASE("threads do everything at once for a long time", "[.][soak]") {
    const uint64_t first = getenv("MPR_SEED") ? strtoull(getenv("MPR_SEED"), nullptr, 10) : 100;
    for (uint64_t seed = first; seed < first + 100; seed++) {
        churnAtRandom(seed, heavy(200000));
    }
}
