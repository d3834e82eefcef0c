// SPDX-License-Identifier: MIT
/*
    test/gc/stats.cpp - The counts of mprReadMemStats add up.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/printed.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"

#include <cerrno>
#include <cstring>

using namespace test;

namespace {

void checkTimes(const MprTimes &times) {
    CHECK(times.p50 <= times.p99);
    CHECK(times.p99 <= times.p999);
    CHECK(times.p999 <= times.max + times.max / 16 + 1);
    CHECK(times.max <= times.total);
    CHECK((times.count > 0) == (times.total > 0));
}

/* What holds at any time. */
void checkPlausible(const MprMemStats &now) {
    CHECK(now.heap <= now.heapPeak);
    CHECK(now.bytesFree <= now.heap);
    CHECK(now.largestFree <= now.bytesFree);
    CHECK(now.bytesLive <= now.heap);
    CHECK(now.bytesFreed <= now.bytesAllocated);
    CHECK(now.blocksFreed <= now.blocksAllocated);
    CHECK(now.collectionsMinor + now.collectionsMajor == now.collections);
    for (auto times : {now.pause, now.stall, now.rendezvous, now.mark, now.sweep}) {
        checkTimes(times);
    }
}

} // namespace

TEST_CASE("a fresh runtime has plausible statistics", "[gc][stats]") {
    Runtime runtime;
    auto now = stats();
    checkPlausible(now);
    CHECK(now.threads == 1);
    CHECK(now.numCpu >= 1);
    CHECK(now.pageSize == static_cast<int>(sysconf(_SC_PAGESIZE)));
    CHECK(now.pageSize == mprGetPageSize());
    CHECK(now.ram > 16 << 20);
    CHECK(now.collections == 0);
    CHECK(now.errors == 0);
    CHECK(now.misuses == 0);
    CHECK(now.late == 0);
    CHECK(now.warnHeap == 0);
    CHECK(now.maxHeap == 0);
    CHECK(now.cacheHeap == 1 << 20);
}

TEST_CASE("allocation and freeing are counted", "[gc][stats]") {
    Runtime runtime;
    collect();
    auto before = stats();
    const size_t granule = 2 * sizeof(void *);
    const size_t bytes = 1000 * ((100 + granule - 1) / granule * granule) + 1000 * sizeof(void *);
    Root root(makeTable(1000));
    for (int i = 0; i < 1000; i++) {
        root.as<Table>()->items[i] = mprAlloc(100);
    }
    collect();
    auto live = stats();
    checkPlausible(live);
    CHECK(live.blocksAllocated - before.blocksAllocated >= 1001);
    CHECK(live.blocksAllocated - before.blocksAllocated < 1101);
    CHECK(live.bytesAllocated - before.bytesAllocated >= bytes);
    CHECK(live.bytesLive - before.bytesLive >= bytes);
    CHECK(live.bytesMarked - before.bytesMarked >= bytes);
    root.set(nullptr);
    collect();
    auto after = stats();
    checkPlausible(after);
    CHECK(after.blocksFreed - live.blocksFreed >= 1001);
    CHECK(after.bytesFreed - live.bytesFreed >= bytes);
    CHECK(after.bytesLive == before.bytesLive);
    CHECK(after.blocksAllocated - after.blocksFreed == before.blocksAllocated - before.blocksFreed);
    CHECK(after.bytesAllocated - after.bytesFreed == before.bytesAllocated - before.bytesFreed);
}

TEST_CASE("freeing by hand is counted", "[gc][stats]") {
    Runtime runtime("", MPR_DISABLE_GC);
    auto before = stats();
    for (size_t i = 0; i < 1000; i++) {
        mprFree(mprAlloc(i * 10));
    }
    collect();
    auto after = stats();
    CHECK(after.blocksAllocated - before.blocksAllocated >= 1000);
    CHECK(after.blocksFreed - before.blocksFreed >= 1000);
    CHECK(after.bytesAllocated - after.bytesFreed <= before.bytesAllocated - before.bytesFreed + 4096);
}

TEST_CASE("collections and what they cost are counted", "[gc][stats]") {
    Runtime runtime("everyyield=0");
    for (int i = 0; i < 5; i++) {
        makeNode();
        collect();
    }
    auto now = stats();
    checkPlausible(now);
    CHECK(now.collections == 5);
    CHECK(now.managersFreed == 5);
    CHECK(now.pause.count >= 5);
    CHECK(now.mark.count == 5);
    CHECK(now.rendezvous.count == 5);
    CHECK(now.sweep.count == 5);
    CHECK(now.pause.total >= now.mark.p50);
}

TEST_CASE("limits, threads and errors are reported", "[gc][stats]") {
    Runtime runtime("region=256k");
    mprSetMemLimits(8 << 20, 16 << 20, 2 << 20);
    Mutator worker("worker", [](Mutator &self) {
        while (self.go()) {
            mprYield(0);
        }
    });
    auto now = stats();
    CHECK(now.warnHeap == 8 << 20);
    CHECK(now.maxHeap == 16 << 20);
    CHECK(now.cacheHeap == 2 << 20);
    CHECK(now.threads == 2);
    worker.end();
    CHECK(stats().threads == 1);
    CHECK(mprAlloc(32 << 20) == nullptr);
    CHECK(stats().errors == 1);
    mprSetMemLimits(0, -1, -1);
    now = stats();
    CHECK(now.warnHeap == 0);
    CHECK(now.maxHeap == 0);
    CHECK(now.cacheHeap == 2 << 20);
}

TEST_CASE("regions come and go with the heap, and what goes is counted as purged", "[gc][stats]") {
    Runtime runtime("region=256k");
    mprSetMemLimits(0, 0, 0);
    auto before = stats();
    Root root(makeTable(100));
    for (int i = 0; i < 100; i++) {
        root.as<Table>()->items[i] = mprAlloc(100000);
    }
    auto full = stats();
    CHECK(full.heap >= before.heap + 90 * 100000);
    CHECK(full.regions > before.regions);
    root.set(nullptr);
    collect();
    collect();
    auto after = stats();
    CHECK(after.heap < before.heap + (2 << 20));
    CHECK(after.purged > before.purged);
    CHECK(after.heapPeak >= full.heap);
}

TEST_CASE("the heap's account of committed memory is the system's", "[gc][stats][large]") {
    Runtime runtime;
    size_t residentBefore = residentBytes();
    auto before = stats();
    Root root(makeTable(1000));
    for (int i = 0; i < 1000; i++) {
        void *block = mprAlloc(50000);
        memset(block, 1, 50000);
        root.as<Table>()->items[i] = block;
    }
    size_t resident = residentBytes() - residentBefore;
    size_t heap = stats().heap - before.heap;
    CHECK(heap >= 50000000);
    if (!sanitized) {
        CHECK(resident <= heap + (4 << 20));
        CHECK(mprGetMem() > 50000000);
    }
    CHECK(mprGetCPU() > 0);
}

/* Where the system's setting is "always" a heap of 200 KB would take 8 MB, and a hard limit be none. */
TEST_CASE("no page of a heap is huge, unless option hugepages says so", "[gc][stats]") {
    if (emulator() || access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
        WARN("left out: the system has no huge pages, or an emulator says nothing of its mappings");
        return;
    }
    const bool may = GENERATE(false, true);
    Runtime runtime(may ? "hugepages=1" : "");
    const void *const small = mprAlloc(100), *const large = mprAlloc(8 << 20);
    for (const void *block : {small, large}) {
        const std::string flags = mappingFlags(block);
        INFO(flags);
        CHECK((flags.find(" hg ") != std::string::npos) == may);
        CHECK((flags.find(" nh ") != std::string::npos) == !may);
    }
}

TEST_CASE("what is allocated and freed leaves errno as it was", "[gc][stats][port]") {
    Runtime runtime("region=256k");
    errno = 77;
    for (size_t size = 16; size < (2 << 20); size += size / 4) {
        void *const block = mprAlloc(size), *const other = mprAlloc(size);
        REQUIRE(block);
        REQUIRE(mprFree(other) == 0);
        CHECK(errno == 77);
    }
}

TEST_CASE("mprGetMemStats may be called from a foreign thread", "[gc][stats]") {
    Runtime runtime;
    std::atomic<int> threads{0};
    std::thread foreign([&] { threads = mprGetMemStats()->threads; });
    foreign.join();
    CHECK(threads == 1);
}

TEST_CASE("mprPrintMem prints to standard error", "[gc][stats]") {
    Runtime runtime;
    const std::string text = printedBy([] { mprPrintMem("the-headline", 0); });
    CHECK(text.find("the-headline") != std::string::npos);
    CHECK(text.size() > 100);
}

TEST_CASE("the heap may be verified at any time, by several threads at once, while others allocate", "[gc][stats]") {
    Runtime runtime;
    static std::atomic<int> defects, verified;
    defects = verified = 0;
    const auto churn = [](Mutator &self, bool verifies) {
        Random random(verifies ? 3 : 5);
        Root table(makeTable(64));
        while (self.go()) {
            for (int i = 0; i < 500; i++) {
                const size_t size = 1 + random.below(random.chance(5) ? 20000 : 200);
                void *block = random.chance(30) ? makeNode() : mprAlloc(size);
                if (random.chance(20)) {
                    mprFree(block);
                } else {
                    table.as<Table>()->items[random.below(64)] = block;
                }
                if (verifies && i == 250) {
                    void *unrooted = mprAlloc(80);
                    fill(unrooted, 80, 7);
                    defects += mprVerifyHeap() != 0;
                    defects += !filled(unrooted, 80, 7); // this thread has not yielded
                    verified++;
                }
            }
            mprYield(0);
        }
    };
    {
        Mutator a("a", [&](Mutator &self) { churn(self, true); });
        Mutator b("b", [&](Mutator &self) { churn(self, true); });
        Mutator c("c", [&](Mutator &self) { churn(self, false); });
        CHECK(until([] { return verified > 60; }));
    }
    CHECK(defects == 0);
    CHECK(stats().misuses == 0);
}

TEST_CASE("mprVerifyHeap says so when another thread does not stop", "[gc][stats]") {
    Runtime runtime("deadline=5");
    Gate done, begun;
    Mutator busy("busy", [&](Mutator &) {
        begun.open();
        untilUnyielded([&] { return done.isOpen(); });
    });
    REQUIRE(until([&] { return begun.isOpen(); }));
    CHECK(mprVerifyHeap() == MPR_ERR_TIMEOUT);
    CHECK(runtime.log.has("\"busy\""));
    done.open();
    busy.join();
    CHECK(until([] { return mprVerifyHeap() == 0; })); // the collector may have the duty for longer than the deadline
}
