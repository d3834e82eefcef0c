// SPDX-License-Identifier: MIT
/*
    test/gc/limits.cpp - The redline, the hard limit, notifier, policies, and requests that can never be had.
 */
#include "test/support/limit.hpp"

#include "mpr/os/pages.hpp"
#include "test/support/few_addresses.hpp"
#include "test/support/hoard.hpp"
#include "test/support/mutator.hpp"
#include "test/support/process.hpp"
#include "test/support/refusals.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/waiting_manager.hpp"

#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

using namespace test;

namespace {

constexpr ssize mega = 1 << 20;

/* What the notifier was told. Set by a Limits object, so one at a time. */
struct Notices {
    std::atomic<int> warnings{0}, wells{0}, limits{0}, fails{0}, tooBig{0}, others{0};
    std::atomic<int> inside{0}, deepest{0};
    std::atomic<uint64> errorsAtWarning{0};
    std::atomic<int> policy{-1};
    std::atomic<size_t> size{0}, total{0};
    std::function<void(int cause)> act;

    int all() const { return warnings + wells + limits + fails + tooBig + others; }
};
Notices *notices;

void notify(int cause, int policy, size_t size, size_t total) {
    int depth = ++notices->inside;
    if (depth > notices->deepest) {
        notices->deepest = depth;
    }
    switch (cause) {
    case MPR_MEM_WARNING:
        notices->errorsAtWarning = stats().errors;
        notices->warnings++;
        break;
    case MPR_MEM_WELL: notices->wells++; break;
    case MPR_MEM_LIMIT: notices->limits++; break;
    case MPR_MEM_FAIL: notices->fails++; break;
    case MPR_MEM_TOO_BIG: notices->tooBig++; break;
    default: notices->others++;
    }
    notices->policy = policy;
    notices->size = size;
    notices->total = total;
    if (notices->act) {
        notices->act(cause);
    }
    notices->inside--;
}

/* A runtime of fine regions with limits, and a notifier that counts. */
struct Limits {
    Limits(ssize warn, ssize maximum, cchar *options = "region=256k,young=1m") : runtime(options, 0, 120) {
        notices = &heard;
        mprSetMemNotifier(notify);
        mprSetMemPolicy(MPR_ALLOC_POLICY_NOTHING);
        mprSetMemLimits(warn, maximum, 0);
    }
    ~Limits() { mprSetMemNotifier(nullptr); }

    Notices heard;
    Runtime runtime;
};

/* Add blocks of 1000 bytes until so much is committed. @return false when memory ended before. */
bool growHeap(Hoard &hoard, uint64 heap) {
    while (stats().heap < heap) {
        for (int i = 0; i < 32; i++) {
            if (!hoard.add(1000)) {
                return false;
            }
        }
    }
    return true;
}

} // namespace

TEST_CASE("the redline is notified once, before any allocation failed", "[gc][limits]") {
    Limits limits(8 * mega, 16 * mega);
    Hoard hoard;
    hoard.grow(1000, 6 * mega);
    CHECK(limits.heard.all() == 0);
    REQUIRE(growHeap(hoard, 10 * mega));
    CHECK(limits.heard.warnings == 1);
    CHECK(limits.heard.errorsAtWarning == 0);
    CHECK(limits.heard.policy == MPR_ALLOC_POLICY_NOTHING);
    CHECK(limits.heard.total >= 7 * mega);
    CHECK(limits.heard.total <= 16 * mega);
    CHECK(stats().redlines == 1);
    hoard.grow(1000);
    CHECK(limits.heard.warnings == 1);
    CHECK(limits.heard.limits >= 1);
    CHECK(limits.heard.errorsAtWarning == 0);
    CHECK(hoard.intact());
}

TEST_CASE("the redline is notified again after memory fell below it", "[gc][limits]") {
    Limits limits(8 * mega, 32 * mega);
    Hoard hoard;
    for (int crossing = 1; crossing <= 4; crossing++) {
        REQUIRE(growHeap(hoard, 10 * mega));
        CHECK(limits.heard.warnings == crossing);
        hoard.drop();
        collect();
        CHECK(until([] { return stats().heap < 7 * mega; }));
        CHECK(limits.heard.warnings == crossing);
    }
    CHECK(stats().redlines == 4);
    CHECK(stats().errors == 0);
}

TEST_CASE("the redline is not notified again for a small fall", "[gc][limits][large]") {
    Limits limits(32 * mega, 64 * mega);
    Hoard hoard;
    REQUIRE(growHeap(hoard, 31 * mega + mega / 2));
    REQUIRE(limits.heard.warnings == 0);
    for (int i = 0; i < 5; i++) {
        void *large = mprAlloc(mega);
        CHECK(stats().heap >= 32 * mega);
        CHECK(limits.heard.warnings == 1);
        mprFree(large);
        collect();
        CHECK(stats().heap < 32 * mega);
    }
    CHECK(limits.heard.warnings == 1);
}

TEST_CASE("a redline that was crossed lifts though the heap keeps its memory, and is crossed again", "[gc][limits]") {
    Limits limits(8 * mega, 16 * mega);
    mprSetMemLimits(8 * mega, 16 * mega, 64 * mega); // keep what is free
    CHECK(mprGetMemState() == MPR_MEM_WELL);
    const size_t most = (sizeof(void *) == 8 ? 12 : 11) * mega; // maps take more with 32 bits
    for (int crossing = 1; crossing <= 4; crossing++) {
        Hoard hoard;
        hoard.grow(1000, most);
        CHECK(mprGetMemState() == MPR_MEM_WARNING);
        CHECK(limits.heard.warnings == crossing);
        CHECK(limits.heard.wells == crossing - 1);
        hoard.drop();
        collect();
        CHECK(stats().heap > most - mega);
        CHECK(mprGetMemState() == MPR_MEM_WELL);
        hoard.grow(1000, mega);
        CHECK(limits.heard.wells == crossing);
    }
    CHECK(limits.heard.limits == 0);
    CHECK(stats().redlines == 4);
}

TEST_CASE("a flood, a rest and normal work, ten times: memory is well again ten times", "[gc][limits]") {
    Limits limits(12 * mega, 16 * mega);
    Random random(11);
    const size_t few = 40'000, many = 100'000; // blocks of 160 bytes: 6.4 and 16 MB
    Root root(makeTable(many));
    auto items = root.as<Table>()->items;
    const auto put = [&](size_t i) {
        void *block = mprAlloc(96 + random.below(128));
        items[i] = block ? block : items[i];
        if (random.below(64) == 0) {
            mprYield(0);
            items = root.as<Table>()->items;
        }
        return block != nullptr;
    };
    for (int round = 1; round <= 10; round++) {
        for (size_t i = 0; i < many && put(i); i++) {}
        CHECK(mprGetMemState() != MPR_MEM_WELL);
        CHECK(limits.heard.warnings == limits.heard.wells + 1);
        // The third that stays lies everywhere in the heap, so little memory can go back to the system.
        for (size_t i = 0; i < many; i++) {
            items[i] = random.below(3) == 0 ? items[i] : nullptr;
        }
        collect();
        CHECK(stats().heap > 12 * mega);
        CHECK(mprGetMemState() == MPR_MEM_WELL);
        size_t refused = 0;
        for (size_t i = 0; i < heavy(200'000); i++) {
            refused += !put(random.below(few));
        }
        CHECK(refused == 0);
        collect(); // garbage may just have crossed the redline, if the collector had no processor
        CHECK(put(0));
        CHECK(limits.heard.wells == limits.heard.warnings);
        CHECK(limits.heard.wells >= round);
    }
    CHECK(limits.heard.wells <= 20); // garbage may cross the redline first
}

TEST_CASE("the redline is heard before anything is refused, in memory that the heap has kept", "[gc][limits]") {
    Limits limits(8 * mega, 16 * mega);
    mprSetMemLimits(8 * mega, 16 * mega, 64 * mega);
    Hoard hoard;
    hoard.grow(1000, 12 * mega);
    hoard.drop();
    collect();
    REQUIRE(mprGetMemState() == MPR_MEM_WELL);
    REQUIRE(mprAlloc(100000)); // tells
    REQUIRE(limits.heard.wells == 1);
    limits.heard.act = [&](int cause) { CHECK((cause != MPR_MEM_LIMIT || limits.heard.warnings == 2)); };
    while (mprAlloc(1000)) {} // without a yield
    CHECK(limits.heard.warnings == 2);
    CHECK(mprGetMemState() == MPR_MEM_LIMIT);
    mprYield(MPR_YIELD_COMPLETE);
    mprYield(MPR_YIELD_COMPLETE);
    collect();
    CHECK(mprGetMemState() == MPR_MEM_WELL);
    limits.heard.act = nullptr;
}

TEST_CASE("a single large allocation across the redline is notified", "[gc][limits]") {
    Limits limits(8 * mega, 32 * mega);
    CHECK(mprAlloc(12 * mega));
    CHECK(limits.heard.warnings == 1);
    CHECK(limits.heard.size >= 12 * mega);
}

TEST_CASE("without limits nothing is notified", "[gc][limits][large]") {
    Limits limits(0, 0);
    Hoard hoard;
    hoard.grow(10000, 50 * mega);
    CHECK(limits.heard.all() == 0);
    CHECK(stats().errors == 0);
}

TEST_CASE("allocation ends at the hard limit and works again after dropping and collecting", "[gc][limits]") {
    size_t size = GENERATE(24, 1000, 20000, 120000, 600000);
    Limits limits(0, 16 * mega);
    Hoard hoard;
    for (int round = 0; round < 3; round++) {
        size_t added = hoard.grow(size);
        CHECK(added > 0);
        CHECK(stats().heapPeak <= 16 * mega);
        // Of the rest, the map takes an eighth on 32-bit.
        CHECK(stats().bytesLive >= (sizeof(void *) == 8 ? 48 : 46) * mega / 4);
        CHECK(limits.heard.limits > round);
        CHECK(mprHasMemError());
        CHECK(hoard.intact());
        CHECK(mprVerifyHeap() == 0);
        hoard.drop();
        collect();
        mprResetMemError();
        CHECK_FALSE(mprHasMemError());
        CHECK(mprAlloc(size));
        collect();
    }
    CHECK(stats().errors >= 3);
    CHECK(stats().heapPeak <= 16 * mega);
}

TEST_CASE("at the hard limit a yield lets garbage go", "[gc][limits]") {
    Limits limits(0, 8 * mega);
    while (mprAlloc(5000)) {}
    CHECK(limits.heard.limits >= 1);
    CHECK(until([] { return mprAlloc(5000) != nullptr; }));
}

TEST_CASE("a refused allocation has asked for the collection that a yield waits for", "[gc][limits]") {
    const size_t size = GENERATE(24, 5000, 600000);
    Limits limits(0, 16 * mega);
    for (int round = 0; round < 4; round++) {
        while (mprAlloc(size)) {}
        mprYield(MPR_YIELD_COMPLETE);
        CHECK(mprAlloc(size));
    }
}

TEST_CASE("freeing by hand at the hard limit makes room at once", "[gc][limits]") {
    Limits limits(0, 8 * mega);
    Hoard hoard;
    hoard.grow(1000);
    for (int i = 0; i < 100; i++) {
        hoard.pop();
    }
    for (int i = 0; i < 90; i++) {
        REQUIRE(hoard.add(1000));
    }
    CHECK(hoard.intact());
}

TEST_CASE("a program that yields with little live data is never refused", "[gc][limits]") {
    Limits limits(12 * mega, 16 * mega, "region=256k,young=2m");
    Hoard hoard;
    hoard.grow(1000, 2 * mega);
    size_t refused = 0;
    for (size_t done = 0; done < heavy(400) * mega; done += 1000) {
        refused += mprAlloc(1000) == nullptr;
        mprYield(0);
    }
    CHECK(refused == 0);
    CHECK(stats().heapPeak <= 16 * mega);
    CHECK(hoard.intact());
}

TEST_CASE("at the hard limit an allocation waits for managers that free, as long as they return", "[gc][limits]") {
    Limits limits(0, 8 * mega);
    static std::atomic<int> freed;
    size_t refused = 1;
    // On a busy machine a call may take so long that it seems not to return.
    for (int tries = 0; tries < 20 && refused > 0; tries++) {
        collect();
        freed = 0;
        Hoard hoard;
        hoard.grow(1000, 6 * mega);
        for (int i = 0; i < 40; i++) {
            mprAllocManaged(
                8,
                [](void *, int flags) {
                    if (flags & MPR_MANAGE_FREE) {
                        pause(2);
                        freed++;
                    }
                },
                0);
        }
        hoard.drop();
        mprGC(MPR_GC_FORCE);
        refused = 0;
        for (int i = 0; i < 5000; i++) {
            refused += mprAlloc(1000) == nullptr;
        }
    }
    CHECK(refused == 0);
    CHECK(freed == 40);
}

TEST_CASE("blocks of all sizes that stay and go leave room for the next where threads yield", "[gc][limits]") {
    // What is free comes to lie in holes that are shorter than the longest blocks: a budget must end before only these are left.
    cchar *options = GENERATE("", "region=256k,young=1m", "region=1m,young=4m");
    Limits limits(0, 16 * mega, options);
    const size_t keep = 3400; // 7 MB
    Root root(makeTable(keep));
    Random random(7);
    // Where a sweep gets no processor for long some are refused even so; a yield and another try do then (mpr/memory.h).
    Refusals refusals;
    const auto allocate = [&] { return refusals.allocate(16 + random.below(4080)); };
    size_t rounds = 0;
    const auto churn = [&](size_t count) {
        for (const size_t end = rounds + count; rounds < end; rounds++) {
            allocate();
            allocate();
            root.as<Table>()->items[random.below(keep)] = allocate();
            mprYield(0);
        }
    };
    const size_t usual = heavy(150'000);
    churn(usual);
    while (stats().heapPeak <= 12 * mega && rounds < 20 * usual) { // a collector that is fast, a program that is slow
        churn(1000);
    }
    CHECK(refusals.count() <= 10 + rounds / 3000);
    CHECK(refusals.countAgain() == 0);
    CHECK(stats().heapPeak > 12 * mega);
    CHECK(stats().heapPeak <= 16 * mega);
}

TEST_CASE("a large block is allocated from memory that is free in pieces", "[gc][limits][large]") {
    Limits limits(0, 32 * mega);
    mprSetMemLimits(0, 32 * mega, 64 * mega); // keep what is free
    Hoard hoard;
    REQUIRE(growHeap(hoard, 28 * mega));
    hoard.drop();
    collect();
    REQUIRE(stats().heap >= 28 * mega);
    CHECK(mprAlloc(16 * mega));
    CHECK(stats().heapPeak <= 32 * mega);
    CHECK(stats().errors == 0);
    CHECK(limits.heard.limits == 0);
}

TEST_CASE("a large block is allocated from memory that is free in pieces while another thread verifies the heap",
          "[gc][limits][large]") {
    Limits limits(0, 32 * mega, "everyyield=0");
    mprSetMemLimits(0, 32 * mega, 64 * mega); // keep what is free
    void *block = nullptr;
    // On a busy machine another thread may have the duty for long.
    for (int tries = 0; tries < 20 && !block; tries++) {
        Hoard hoard;
        REQUIRE(growHeap(hoard, 28 * mega));
        hoard.drop();
        collect();
        REQUIRE(stats().heap >= 28 * mega);
        Gate begin;
        std::atomic<int> defects{-1};
        Mutator other("other", [&](Mutator &) {
            until([&] { return begin.isOpen(); });
            defects = mprVerifyHeap();
        });
        begin.open();
        REQUIRE(untilUnyielded([] { return mprNeedYield(); })); // it waits for this thread
        block = mprAlloc(16 * mega);
        other.join();
        CHECK(defects == 0);
    }
    CHECK(block);
}

TEST_CASE("a block of nearly a chunk is served like one of a chunk", "[gc][limits]") {
    Runtime runtime("everyalloc=0,region=4m");
    constexpr size_t chunk = 65536, k = 1024;
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    mprSetMemLimits(0, 0, 0); // what is free goes back
    const auto hold = [](size_t bytes) {
        auto *block = static_cast<char *>(mprAlloc(bytes));
        REQUIRE(block);
        mprHold(block);
        return block;
    };
    const auto drop = [](char *block) {
        mprRelease(block);
        mprFree(block);
    };
    for (int i = 0; i < 1500; i++) {
        hold(64);
    }
    const auto behind = reinterpret_cast<uintptr_t>(hold(20 * k) + 20 * k) % chunk;
    hold(chunk + (2 * chunk - 18 * k - behind) % chunk); // ends 18 KB before a chunk does
    char *const before = hold(18 * k + chunk + k), *const middle = hold(chunk - 2 * k),
                *const after = hold(chunk + 47 * k);
    hold(36 * k);
    drop(before);
    drop(after);
    collect();
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    drop(middle); // one chunk that is committed, between two that are not
    test::limitCommitted(stats().heap, 1 << 20);
    for (const size_t bytes : {chunk - 31, chunk - 1, chunk}) {
        CAPTURE(bytes);
        void *const block = mprAlloc(bytes);
        REQUIRE(block);
        mprFree(block);
    }
}

TEST_CASE("the heap is verified while others wait for a sweep at the hard limit", "[gc][limits]") {
    Limits limits(0, 24 * mega);
    const auto works = [](Mutator &self) {
        Random random(5);
        for (long i = 0; self.go(); i++) {
            const MprManager manager = i % 8 == 0 ? [](void *, int) {} : MprManager(nullptr);
            if (!mprAllocManaged(16 + random.below(2000), manager, 0) || i % 20'000 == 0) {
                mprYield(0);
            }
        }
    };
    Mutator first("first", works), second("second", works), third("third", works);
    int refused = 0;
    for (size_t i = 0; i < heavy(100) && refused == 0; i++) {
        refused += mprVerifyHeap() != 0;
        mprYield(0);
    }
    CHECK(refused == 0);
    first.end();
    second.end();
    third.end();
}

TEST_CASE("at the hard limit an allocation does not wait for a manager that may be waiting for it", "[gc][limits]") {
    Limits limits(0, 8 * mega);
    makeWaitingManager();
    {
        std::lock_guard guard(applicationLock);
        mprGC(MPR_GC_FORCE);
        while (mprAlloc(1000)) {}
        CHECK(limits.heard.limits >= 1);
        CHECK(waitedFrees == 0);
    }
    CHECK(until([] { return waitedFrees == 1; }));
    CHECK(until([] { return mprAlloc(1000) != nullptr; }));
}

TEST_CASE("what the system refuses fails like any allocation, and can be had when it gives again", "[gc][limits]") {
    if (sanitized || emulator()) {
        return;
    }
    const ssize maximum = GENERATE(0, 1024 * mega);
    Limits limits(0, maximum);
    Hoard hoard;
    hoard.grow(1000, 2 * mega);
    const auto collections = stats().collections;
    bool refused = false, sound = false;
    size_t added[4];
    {
        FewAddresses few(8 * mega);
        added[0] = hoard.grow(400000); // regions of their own
        added[1] = hoard.grow(1000);   // ordinary ones
        added[2] = hoard.grow(60000);
        added[3] = hoard.grow(40);
        refused = mprAlloc(400000) == nullptr && mprAlloc(100) == nullptr;
        mprGC(MPR_GC_MAJOR | MPR_GC_COMPLETE);
        sound = hoard.intact() && mprVerifyHeap() == 0;
    }
    CHECK(added[0] > 10);
    CHECK(added[1] > 0);
    CHECK(added[3] > 0);
    CHECK(refused);
    CHECK(sound);
    CHECK(stats().collections > collections);
    CHECK(limits.heard.fails > 0);
    CHECK(limits.heard.limits + limits.heard.tooBig + limits.heard.others == 0);
    CHECK(stats().errors > 0);
    CHECK(mprAlloc(4 * mega));
    CHECK(hoard.grow(1000, hoard.bytes + 4 * mega) > 0);
    CHECK(hoard.intact());
}

TEST_CASE("a system that has refused memory is asked now and then, while other memory serves", "[gc][limits]") {
    Runtime runtime("region=4m");
    Hoard hoard;
    hoard.grow(1000, 100'000); // what is larger has a region of its own
    static std::atomic<size_t> asked;
    asked = 0;
    const auto before = mpr::os::growthAsked.load(std::memory_order_acquire);
    mpr::os::growthAsked.store(
        [](size_t) {
            asked++;
            return false;
        },
        std::memory_order_release);
    const size_t blocks = hoard.grow(40);
    CHECK(blocks > 50'000);
    CHECK(asked > 0);
    CHECK(asked < blocks / 100);
    CHECK(mprAlloc(40) == nullptr); // nothing else serves, so it was asked
    mpr::os::growthAsked.store(before, std::memory_order_release);
    CHECK(mprAlloc(40));
    CHECK(hoard.grow(40, hoard.bytes + 4 * mega) > 0);
    CHECK(hoard.intact());
}

namespace {

/* Allocate in all sizes, keep some, yield; NULLs are counted, not minded. */
void storm(Mutator &self, uint64_t seed, size_t keep, std::atomic<long> &served, std::atomic<long> &refused,
           std::atomic<long> &wrong) {
    Random random(seed);
    Root root(makeTable(keep));
    std::vector<size_t> sizes(keep, 0);
    while (self.go()) {
        auto table = root.as<Table>();
        if (!table) {
            root.set(makeTable(keep));
            mprYield(0);
            continue;
        }
        size_t size = random.chance(2)    ? random.below(400000)
                      : random.chance(20) ? random.below(20000)
                                          : random.below(600);
        size_t at = random.below(keep);
        if (table->items[at]) {
            wrong += !filled(table->items[at], sizes[at], at);
        }
        if (void *block = mprAlloc(size)) {
            fill(block, size, at);
            table->items[at] = block;
            sizes[at] = size;
            served++;
        } else {
            table->items[at] = nullptr;
            sizes[at] = 0;
            refused++;
        }
        if (random.chance(30)) {
            mprYield(0);
        }
    }
}

} // namespace

TEST_CASE("the hard limit is never exceeded in a storm of allocation", "[gc][limits][large]") {
    size_t residentBefore = residentBytes();
    Limits limits(20 * mega, 32 * mega, "region=256k,young=1m");
    std::atomic<long> served{0}, refused{0}, wrong{0};
    uint64 highest = 0, samples = 0;
    size_t resident = 0;
    {
        Mutator a("storm-a", [&](Mutator &self) { storm(self, 1, 300, served, refused, wrong); });
        Mutator b("storm-b", [&](Mutator &self) { storm(self, 2, 1000, served, refused, wrong); });
        Mutator c("storm-c", [&](Mutator &self) { storm(self, 3, 4000, served, refused, wrong); });
        mprYield(MPR_YIELD_STICKY);
        const auto enough = [&] {
            return samples > heavy(1000) && served > 1000 && highest > 10 * mega && limits.heard.deepest > 0;
        };
        for (Stretch stretch(4000); stretch.lasts(enough);) {
            auto now = stats();
            highest = now.heap > highest ? now.heap : highest;
            if (samples++ % 1000 == 0) {
                size_t present = residentBytes();
                resident = present > resident ? present : resident;
            }
        }
        mprResetYield();
    }
    CHECK(samples > heavy(1000));
    CHECK(served > 1000);
    CHECK(wrong == 0);
    CHECK(highest > 10 * mega);
    CHECK(highest <= 32 * mega);
    CHECK(stats().heapPeak <= 32 * mega);
    CHECK(limits.heard.warnings == static_cast<int>(stats().redlines));
    CHECK(limits.heard.deepest == 1);
    if (!sanitized) {
        CHECK(resident <= residentBefore + 32 * mega + 6 * mega);
    }
}

TEST_CASE("a limit set below what is committed stops growth", "[gc][limits]") {
    Limits limits(0, 0);
    Hoard hoard;
    mprSetMemLimits(0, 0, 64 * mega); // keep what is free
    hoard.grow(1000, 8 * mega);
    hoard.drop();
    collect();
    uint64 heap = stats().heap;
    REQUIRE(heap > 7 * mega);
    mprSetMemLimits(0, 6 * mega, 0);
    CHECK(stats().maxHeap == 6 * mega);
    CHECK(hoard.grow(1000) * 1000 < heap);
    CHECK(stats().heap <= heap);
    hoard.drop();
    collect();
    CHECK(until([] { return stats().heap <= 6 * mega; }));
    CHECK(hoard.grow(1000) > 4000);
    CHECK(stats().heap <= 6 * mega);
}

TEST_CASE("any limit that is not refused leaves the runtime alive", "[gc][limits]") {
    Limits limits(0, 0);
    const uint64 inUse = stats().bytesLive;
    ssize maximum = GENERATE(1, 4096, 300000, 600000, 1 << 20);
    mprSetMemLimits(maximum / 2, maximum, 0);
    CHECK((stats().maxHeap == 0) == (static_cast<uint64>(maximum) < inUse));
    if (stats().maxHeap == 0) {
        return;
    }
    Hoard hoard;
    hoard.grow(100);
    CHECK(mprAlloc(2 * mega) == nullptr);
    hoard.drop();
    collect();
    mprSetMemLimits(0, 0, 0);
    CHECK(mprAlloc(100));
    CHECK(mprAlloc(2 * mega));
}

TEST_CASE("the notifier may allocate from the reserve, and only it", "[gc][limits]") {
    Limits limits(0, 16 * mega);
    std::vector<void *> blocks;
    size_t heapAtLimit = 0, lost = 0;
    limits.heard.act = [&](int cause) {
        if (cause == MPR_MEM_LIMIT && blocks.empty()) {
            heapAtLimit = stats().heap;
            for (int i = 0; i < 3; i++) {
                void *block = mprAllocMem(100000, MPR_ALLOC_HOLD);
                lost += block == nullptr;
                blocks.push_back(block);
            }
        }
    };
    Hoard hoard;
    hoard.grow(100000);
    CHECK(heapAtLimit > 14 * mega);
    CHECK(heapAtLimit <= 16 * mega - mega / 2);
    CHECK(blocks.size() == 3);
    CHECK(lost == 0);
    CHECK(stats().heapPeak <= 16 * mega);
    for (void *block : blocks) {
        mprRelease(block);
    }
}

TEST_CASE("the notifier may drop references and ask for a collection", "[gc][limits]") {
    Limits limits(6 * mega, 16 * mega);
    Hoard hoard, cache;
    limits.heard.act = [&](int cause) {
        if (cause == MPR_MEM_WARNING) {
            cache.drop();
            mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        }
    };
    cache.grow(1000, 4 * mega);
    for (int i = 0; i < 7000; i++) {
        REQUIRE(hoard.add(1000));
        mprYield(0);
    }
    CHECK(limits.heard.warnings >= 1);
    CHECK(cache.count == 0);
    CHECK(stats().errors == 0);
}

TEST_CASE("the notifier is not called again while it runs", "[gc][limits]") {
    Limits limits(4 * mega, 8 * mega);
    static std::atomic<int> nested;
    nested = 0;
    limits.heard.act = [](int) {
        nested += mprAlloc(SIZE_MAX / 2) == nullptr;
        nested += mprAlloc(64 * mega) == nullptr;
    };
    auto work = [](Mutator &self) {
        Hoard hoard;
        while (self.go()) {
            if (!hoard.add(3000)) {
                hoard.drop();
                mprGC(MPR_GC_FORCE);
            }
            mprYield(0);
        }
    };
    Mutator a("a", work), b("b", work), c("c", work);
    CHECK(until([&] { return limits.heard.limits >= 5; }));
    a.end();
    b.end();
    c.end();
    CHECK(nested >= 2);
    CHECK(limits.heard.deepest == 1);
}

namespace {

/* A cache that a pruner empties. */
struct Cache {
    std::vector<void *> blocks;
    int pruned = 0, causes = 0;

    void grow(size_t count, size_t size) {
        for (size_t i = 0; i < count; i++) {
            blocks.push_back(mprAllocMem(size, MPR_ALLOC_HOLD));
        }
    }
    void empty() {
        for (void *block : blocks) {
            mprRelease(block);
            mprFree(block);
        }
        blocks.clear();
    }
    static void prune(void *data, int cause) {
        auto cache = static_cast<Cache *>(data);
        cache->pruned++;
        cache->causes |= cause;
        cache->empty();
    }
};

} // namespace

TEST_CASE("policy PRUNE calls the pruners, and the allocation is tried again", "[gc][limits]") {
    Limits limits(0, 16 * mega);
    Cache cache;
    mprSetMemPolicy(MPR_ALLOC_POLICY_PRUNE);
    REQUIRE(mprAddPruner(Cache::prune, &cache) == 0);
    cache.grow(8000, 1000);
    Hoard hoard;
    for (size_t i = 0; i < 12000; i++) {
        if (!hoard.add(1000)) {
            REQUIRE(until([&] { return hoard.add(1000); }));
        }
        mprYield(0);
    }
    CHECK(cache.pruned >= 1);
    CHECK(cache.blocks.empty());
    CHECK(stats().heapPeak <= 16 * mega);
    CHECK(hoard.intact());
    hoard.grow(1000);
    CHECK((cache.causes & MPR_MEM_LIMIT) != 0);
    mprRemovePruner(Cache::prune, &cache);
    int before = cache.pruned;
    hoard.grow(1000);
    CHECK(cache.pruned == before);
}

TEST_CASE("policy PRUNE without yields: what a pruner frees serves the failing allocation", "[gc][limits]") {
    Limits limits(0, 16 * mega);
    Cache cache;
    mprSetMemPolicy(MPR_ALLOC_POLICY_PRUNE);
    REQUIRE(mprAddPruner(Cache::prune, &cache) == 0);
    cache.grow(8000, 1000);
    Hoard hoard;
    size_t added = hoard.grow(1000);
    CHECK(cache.pruned >= 1);
    CHECK(added >= 13000);
    mprRemovePruner(Cache::prune, &cache);
}

TEST_CASE("policy PRUNE calls the pruners at the redline, too", "[gc][limits]") {
    Limits limits(8 * mega, 16 * mega);
    Cache cache;
    mprSetMemPolicy(MPR_ALLOC_POLICY_PRUNE);
    REQUIRE(mprAddPruner(Cache::prune, &cache) == 0);
    Hoard hoard;
    REQUIRE(growHeap(hoard, 9 * mega));
    CHECK(cache.pruned == 1);
    CHECK(cache.causes == MPR_MEM_WARNING);
    CHECK(limits.heard.warnings == 1);
    mprRemovePruner(Cache::prune, &cache);
}

TEST_CASE("other policies do not call the pruners", "[gc][limits]") {
    Limits limits(4 * mega, 8 * mega);
    Cache cache;
    REQUIRE(mprAddPruner(Cache::prune, &cache) == 0);
    Hoard hoard;
    hoard.grow(1000);
    CHECK(limits.heard.limits >= 1);
    CHECK(cache.pruned == 0);
    mprRemovePruner(Cache::prune, &cache);
}

TEST_CASE("sixteen pruners may exist", "[gc][limits]") {
    Limits limits(0, 8 * mega);
    Cache caches[17];
    mprSetMemPolicy(MPR_ALLOC_POLICY_PRUNE);
    for (int i = 0; i < 16; i++) {
        REQUIRE(mprAddPruner(Cache::prune, &caches[i]) == 0);
    }
    CHECK(mprAddPruner(Cache::prune, &caches[16]) == MPR_ERR_MEMORY);
    mprRemovePruner(Cache::prune, &caches[3]);
    CHECK(mprAddPruner(Cache::prune, &caches[16]) == 0);
    Hoard hoard;
    hoard.grow(5000);
    CHECK(caches[3].pruned == 0);
    CHECK(caches[0].pruned >= 1);
    CHECK(caches[16].pruned >= 1);
    for (auto &cache : caches) {
        mprRemovePruner(Cache::prune, &cache);
    }
}

TEST_CASE("a request that can never be had returns NULL with cause TOO_BIG", "[gc][limits]") {
    Limits limits(0, 0);
    int told = 0;
    for (size_t size :
         {size_t(SIZE_MAX), size_t(SIZE_MAX) - 1, size_t(SIZE_MAX) - 3, size_t(SIZE_MAX) - 7, size_t(SIZE_MAX) - 15,
          size_t(SIZE_MAX) - 16, size_t(SIZE_MAX) - 31, size_t(SIZE_MAX) - 4095, size_t(SIZE_MAX) - (1 << 18),
          size_t(SIZE_MAX) - (1 << 22), size_t(PTRDIFF_MAX), size_t(PTRDIFF_MAX) + 1, size_t(PTRDIFF_MAX) + 17}) {
        INFO("size " << size);
        mprResetMemError();
        CHECK(mprAlloc(size) == nullptr);
        CHECK(limits.heard.tooBig == ++told);
        CHECK(limits.heard.size == size);
        CHECK(mprHasMemError());
        CHECK(mprAllocZeroed(size) == nullptr);
        CHECK(mprAllocManaged(size, manageNode, MPR_ALLOC_HOLD) == nullptr);
        CHECK(mprAllocManaged(size, manageNode, 0) == nullptr);
        CHECK(mprRealloc(nullptr, size) == nullptr);
        CHECK(palloc(size) == nullptr);
        told = limits.heard.tooBig;
    }
    CHECK(limits.heard.limits == 0);
    CHECK(mprAlloc(10));
}

TEST_CASE("a request beyond the hard limit is refused without harm", "[gc][limits]") {
    Limits limits(0, 16 * mega);
    CHECK(mprAlloc(17 * mega) == nullptr);
    CHECK(limits.heard.all() == 1);
    CHECK(mprAlloc(12 * mega));
    CHECK(limits.heard.all() == 1);
}

TEST_CASE("no block is shorter than asked for, around every power of two", "[gc][limits]") {
    Runtime runtime;
    for (size_t power = 1; power <= 64 << 20; power *= 2) {
        for (int off : {-33, -32, -31, -17, -16, -15, -9, -8, -7, -1, 0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33}) {
            if (off < 0 && power < static_cast<size_t>(-off)) {
                continue;
            }
            size_t size = power + static_cast<size_t>(off);
            auto leaf = static_cast<char *>(mprAlloc(size));
            auto managed = static_cast<char *>(mprAllocManaged(size, manageTable, 0));
            REQUIRE(leaf);
            REQUIRE(managed);
            REQUIRE(mprGetBlockSize(leaf) >= size);
            REQUIRE(mprGetBlockSize(managed) >= size);
            REQUIRE((leaf + size <= managed || managed + size <= leaf));
            if (size) {
                leaf[0] = leaf[size - 1] = managed[0] = managed[size - 1] = 'x';
            }
            REQUIRE(mprFree(leaf) == 0);
            REQUIRE(mprFree(managed) == 0);
        }
    }
}

TEST_CASE("what the machine could never back is refused; what is given costs little until it is used", "[gc][limits]") {
    // Checked builds would fill what is freed here, gigabytes that nobody has touched.
    Runtime runtime("poison=0");
    const size_t before = residentBytes();
    // A sanitizer would pay for the shadow of what is only reserved, an emulator for its page tables.
    for (int bits = sanitized || emulator() ? 48 : 27; bits < static_cast<int>(sizeof(size_t)) * 8; bits++) {
        size_t size = (size_t(1) << bits) + 1;
        if (void *block = mprAlloc(size)) {
            REQUIRE(mprGetBlockSize(block) >= size);
            mprFree(block);
        }
    }
    if (!sanitized && !emulator()) {
        CHECK(residentBytes() <= before + 64 * mega);
    }
}

TEST_CASE("the memory error is a flag that the program may set and reset", "[gc][limits]") {
    Runtime runtime;
    mprResetMemError();
    CHECK_FALSE(mprHasMemError());
    mprSetMemError();
    CHECK(mprHasMemError());
    mprResetMemError();
    CHECK_FALSE(mprHasMemError());
}

/*
    Policies that end the process run in a child: a hidden case of this binary.
 */
namespace {

void startChild(int policy, int argc = 0, char **argv = nullptr) {
    if (!getenv("MPR_TEST_CHILD")) {
        return;
    }
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    mprConfigure("region=256k");
    if (mprCreate(argc, argv, 0)) {
        mprAddTerminator([](int state, int, int status) {
            mark(state == 1 ? "terminator-state-1" : "terminator-other-state");
            mark(status == 1 ? "terminator-status-1" : "terminator-other-status");
        });
        mprSetMemNotifier([](int cause, int, size_t, size_t) {
            if (cause == MPR_MEM_LIMIT) {
                mark("notified");
            }
        });
        mprSetMemLimits(0, 8 * mega, 0);
        mprSetMemPolicy(policy);
        Hoard hoard;
        hoard.grow(1000);
        mark("survived");
        _exit(99);
    }
}

} // namespace

TEST_CASE("child: policy EXIT", "[.child]") {
    startChild(MPR_ALLOC_POLICY_EXIT);
}

TEST_CASE("child: policy ABORT", "[.child]") {
    std::signal(SIGABRT, SIG_DFL); // Catch's handler allocates, which the thread sanitizer forbids in a signal
    startChild(MPR_ALLOC_POLICY_ABORT);
}

TEST_CASE("child: policy NOTHING", "[.child]") {
    startChild(MPR_ALLOC_POLICY_NOTHING);
}

TEST_CASE("child: policy RESTART", "[.child]") {
    std::string self = selfPath();
    static char second[] = "child: restarted";
    char *argv[] = {self.data(), second, nullptr};
    startChild(MPR_ALLOC_POLICY_RESTART, 2, argv);
}

TEST_CASE("child: restarted", "[.child]") {
    if (getenv("MPR_TEST_CHILD")) {
        mark("restarted");
        _exit(7);
    }
}

TEST_CASE("a child with policy NOTHING survives", "[gc][limits][policy]") {
    Ended ended = runChild("child: policy NOTHING");
    INFO(ended.output);
    CHECK(ended.exited(99));
    CHECK(ended.wrote("survived"));
    CHECK(ended.wrote("notified"));
}

TEST_CASE("policy EXIT runs the terminators and exits with status 1", "[gc][limits][policy]") {
    Ended ended = runChild("child: policy EXIT");
    INFO(ended.output);
    CHECK(ended.exited(1));
    CHECK(ended.wrote("notified"));
    CHECK(ended.wrote("terminator-state-1"));
    CHECK(ended.wrote("terminator-status-1"));
    CHECK_FALSE(ended.wrote("survived"));
}

TEST_CASE("policy ABORT prints the state and aborts", "[gc][limits][policy]") {
    Ended ended = runChild("child: policy ABORT");
    INFO(ended.output);
    CHECK(ended.killed(SIGABRT));
    CHECK(ended.wrote("notified"));
    CHECK(ended.wrote("abort"));
    CHECK(ended.wrote("committed"));
    CHECK_FALSE(ended.wrote("survived"));
}

TEST_CASE("policy RESTART executes the program again with its arguments", "[gc][limits][policy]") {
    if (emulator()) {
        WARN("not tried: an emulated program that executes /proc/self/exe executes the emulator");
        return;
    }
    Ended ended = runChild("child: policy RESTART");
    INFO(ended.output);
    CHECK(ended.exited(7));
    CHECK(ended.wrote("notified"));
    CHECK(ended.wrote("restarted"));
    CHECK_FALSE(ended.wrote("survived"));
}
