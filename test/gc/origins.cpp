/* SPDX-License-Identifier: MIT */
/*
    test/gc/origins.cpp - Option check=where: messages about a block say which functions allocated it.
 */
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include "mpr/cpp/make.hpp"
#include "mpr/os/os.hpp"
#include "mpr/string.h"

#include <thread>
#include <vector>

using namespace test;

namespace {

/* Whether the unwinder knows the library's functions: not on 32-bit ARM. */
bool unwinds() {
    const void *callers[4] = {};
    return mpr::os::callers(callers, 4) > 2;
}

/* What nobody marks. */
struct Shelf {
    void *kept;
    static void manage(void *, int) {}
};

void *kept;

void *makeShelf() {
    return mprAllocManaged(sizeof(Shelf), Shelf::manage, MPR_ALLOC_ZERO);
}

struct Pair {
    Pair *next = nullptr;
};
} // namespace

/* Named, and not inlined. */
extern "C" {
[[gnu::noinline]] void originSmall() {
    kept = mprAlloc(40);
}
[[gnu::noinline]] void originLarge() {
    kept = mprAlloc(3000000);
}
[[gnu::noinline]] void originZeroed() {
    kept = mprAllocZeroed(40);
}
[[gnu::noinline]] void originManaged() {
    kept = mprAllocManaged(40, manageNode, 0);
}
[[gnu::noinline]] void originFlags() {
    kept = mprAllocMem(40, MPR_ALLOC_ZERO);
}
[[gnu::noinline]] void originGrown() {
    kept = mprRealloc(mprAlloc(40), 400);
}
[[gnu::noinline]] void originObject() {
    kept = mpr::make<Pair>();
}
[[gnu::noinline]] void originOuter() {
    originSmall();
    kept = mprMemdup(kept, 8);
}
}

TEST_CASE("check=where says where a block was allocated that a field keeps in vain", "[gc][origins]") {
    const Runtime runtime("check=fields+where,everyyield=0");
    struct Way {
        void (*allocate)();
        cchar *name;
    };
    const Way way =
        GENERATE(Way{originSmall, "originSmall"}, Way{originLarge, "originLarge"}, Way{originZeroed, "originZeroed"},
                 Way{originManaged, "originManaged"}, Way{originFlags, "originFlags"}, Way{originGrown, "originGrown"},
                 Way{originObject, "originObject"}, Way{originOuter, "originOuter"});
    const Root root(makeShelf());
    way.allocate();
    root.as<Shelf>()->kept = kept;
    collect();
    INFO(way.name << "\n" << Log::text());
    CHECK(Log::count("unmarked field") == 1);
    CHECK(Log::count("was allocated by " + std::string(way.name)) == unwinds());
    kept = nullptr;
}

TEST_CASE("check=where says it of misuse, of what was freed, too, and of what a debugger asks for", "[gc][origins]") {
    const Runtime runtime("check=where,everyyield=0");
    const std::string said = "was allocated by originSmall";
    originSmall();
    mprPrintBlock(static_cast<char *>(kept) + 8);
    CHECK(Log::count(said) == unwinds());
    mprFree(kept);
    mprFree(kept);
    INFO(Log::text());
    CHECK(Log::count("freed before") == 1);
    CHECK(Log::count(said) == 2 * unwinds());
    mprHold(reinterpret_cast<void *>(16)); /* no block */
    CHECK(Log::count("was allocated by") == 2 * unwinds());
    kept = nullptr;
}

TEST_CASE("of blocks that stood at an address check=where knows the last", "[gc][origins]") {
    const Runtime runtime("check=where,everyyield=0");
    originSmall();
    const void *before = kept;
    mprFree(kept);
    originZeroed();
    for (int i = 0; kept != before && i < 1000000; i++) { /* it rests for a while */
        mprFree(kept);
        originZeroed();
    }
    REQUIRE(kept == before);
    mprPrintBlock(kept);
    CHECK(Log::count("was allocated by originZeroed") == unwinds());
    CHECK(Log::count("was allocated by originSmall") == 0);
    kept = nullptr;
}

TEST_CASE("nothing is said of where without check=where", "[gc][origins]") {
    const Runtime runtime("check=fields,everyyield=0");
    const Root root(makeShelf());
    originSmall();
    root.as<Shelf>()->kept = kept;
    collect();
    CHECK(Log::count("unmarked field") == 1);
    CHECK(Log::count("was allocated") == 0);
    kept = nullptr;
}

TEST_CASE("threads allocate at the same time under check=where", "[gc][origins]") {
    const Runtime runtime("check=where");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([] {
            mprAttachThread("allocates");
            for (int j = 0; j < 10000; j++) {
                mprAlloc(static_cast<size_t>(16 + j % 100));
                mprYield(0);
            }
            mprDetachThread();
        });
    }
    mprYield(MPR_YIELD_STICKY);
    for (auto &thread : threads) {
        thread.join();
    }
    mprResetYield();
    CHECK(Log::size() == !unwinds()); // which is said once
}
