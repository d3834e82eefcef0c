// SPDX-License-Identifier: MIT
/*
    test/host/foreign.cpp - Memory outside the heap: it brings collections, crosses the redline, uses up the limit.
 */
#include "mpr/host.h"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include "mpr.hpp"

#include <atomic>
#include <cstdlib>

using namespace test;

namespace {

std::atomic<int> outside{0}; // how many exist

constexpr ssize each = 100000;

struct Wrapper {
    void *memory;
};
void manageWrapper(void *ptr, int flags) {
    auto wrapper = static_cast<Wrapper *>(ptr);
    if ((flags & MPR_MANAGE_FREE) && wrapper->memory) {
        outside--;
        free(wrapper->memory);
        mprRemoveMemoryPressure(each);
    }
}
Wrapper *wrap() {
    auto wrapper = static_cast<Wrapper *>(mprAllocManaged(sizeof(Wrapper), manageWrapper, MPR_ALLOC_ZERO));
    if (wrapper) {
        wrapper->memory = malloc(16);
        outside++;
        mprAddMemoryPressure(each);
    }
    return wrapper;
}

std::atomic<int> causes{0};
void notifier(int cause, int, size_t, size_t) {
    causes |= cause;
}
} // namespace

TEST_CASE("memory outside the heap brings collections", "[host][foreign]") {
    Runtime runtime("young=1m,everyyield=0,everyalloc=0");
    outside = 0;
    int most = 0;
    for (int i = 0; i < 5000; i++) { // half a gigabyte, and of the heap less than a young budget
        REQUIRE(wrap());
        mprYield(0);
        most = std::max(most, outside.load());
        if (i % 100 == 99) {
            mprYield(MPR_YIELD_COMPLETE);
        }
    }
    CHECK(mprGetMemStats()->collections > 3);
    if (!test::delayed) { // else the collector may get on more slowly than this thread
        CHECK(most < 2500);
    }
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(outside == 0);
    CHECK(mprGetMemoryPressure() == 0);
}

TEST_CASE("memory that old blocks keep outside brings major collections", "[host][foreign]") {
    Runtime runtime("young=256k,everyyield=0,everyalloc=0");
    outside = 0;
    constexpr size_t places = 16;
    auto table = static_cast<Wrapper **>(mprAllocManaged(
        places * sizeof(Wrapper *),
        [](void *ptr, int flags) {
            for (size_t i = 0; (flags & MPR_MANAGE_MARK) && i < places; i++) {
                mprMark(static_cast<Wrapper **>(ptr)[i]);
            }
        },
        MPR_ALLOC_ZERO));
    mprAddRoot(table);
    const unsigned long long before = mprGetMemStats()->collectionsMajor;
    for (size_t i = 0; i < 3000; i++) {
        table[i % places] = wrap(); // a few collections later it dies, old
        mprYield(0);
        if (i % 100 == 99) {
            mprYield(MPR_YIELD_COMPLETE);
        }
    }
    CHECK(mprGetMemStats()->collectionsMajor > before);
    CHECK(outside < 2900);
    mprRemoveRoot(table);
}

TEST_CASE("memory outside counts against the redline and the limit", "[host][foreign]") {
    Runtime runtime("everyyield=0,everyalloc=0,region=256k");
    mprSetMemLimits(20 << 20, 40 << 20, -1);
    mprSetMemNotifier(notifier);
    causes = 0;
    CHECK(mprAddMemoryPressure(10 << 20) == 0);
    CHECK(causes == 0);
    CHECK(mprAddMemoryPressure(10 << 20) == 0);
    CHECK(causes == MPR_MEM_WARNING);           // at once
    CHECK(mprAddMemoryPressure(50 << 20) == 0); // it is there, limit or no limit
    CHECK(mprAllocMem(1 << 20, 0) == nullptr);
    CHECK(causes == (MPR_MEM_WARNING | MPR_MEM_LIMIT));
    CHECK(mprRemoveMemoryPressure(70 << 20) == 0);
    CHECK(mprAllocMem(1 << 20, 0) != nullptr);
    causes = 0;
    CHECK(mprAddMemoryPressure(30 << 20) == 0); // it had fallen below
    CHECK(causes == MPR_MEM_WARNING);
    CHECK(mprRemoveMemoryPressure(30 << 20) == 0);
    mprSetMemLimits(-1, -1, -1);
}

TEST_CASE("wrong sums of memory outside are named and change nothing", "[host][foreign]") {
    CHECK(mprGetMemoryPressure() == 0);
    Runtime runtime;
    CHECK(mprAddMemoryPressure(1000) == 0);
    CHECK(mprRemoveMemoryPressure(1001) == MPR_ERR_BAD_ARGS);
    CHECK(Log::has("more than was added"));
    CHECK(mprAddMemoryPressure(-1) == MPR_ERR_BAD_ARGS);
    CHECK(mprRemoveMemoryPressure(-1) == MPR_ERR_BAD_ARGS);
    CHECK(mprAddMemoryPressure(PTRDIFF_MAX) == MPR_ERR_BAD_ARGS);
    CHECK(Log::has("more than there can be"));
    CHECK(mprGetMemoryPressure() == 1000);
    // A thread that is not attached may.
    std::thread([] { mprAddMemoryPressure(5); }).join();
    CHECK(mprGetMemoryPressure() == 1005);
}

TEST_CASE("what a range counts for is not taken back as pressure", "[host][foreign]") {
    static char range[100];
    for (int round = 0; round < 2; round++) {
        Runtime runtime;
        CHECK(mprAcquiredAddressRange(range, sizeof(range)) == 0); // again in the next runtime
        CHECK(mprAddMemoryPressure(10) == 0);
        CHECK(mprRemoveMemoryPressure(11) == MPR_ERR_BAD_ARGS);
        CHECK(Log::has("more than was added"));
        CHECK(mprRemoveMemoryPressure(10) == 0);
        CHECK(mprGetMemoryPressure() == 100);
    }
}

TEST_CASE("ranges that the program maps count until they are released", "[host][foreign]") {
    Runtime runtime("everyyield=0,everyalloc=0,region=256k");
    CHECK(mprGetMemoryPressure() == 0); // whatever another runtime was told
    static char memory[1000];
    for (int i = 0; i < 1000; i++) {
        REQUIRE(mprAcquiredAddressRange(memory + i, 10) == 0);
    }
    CHECK(mprGetMemoryPressure() == 10000);
    CHECK(mprAcquiredAddressRange(memory, 20) == MPR_ERR_ALREADY_EXISTS);
    CHECK(Log::has("mprAcquiredAddressRange"));
    for (int i = 999; i >= 0; i -= 2) {
        REQUIRE(mprReleasedAddressRange(memory + i) == 0);
    }
    CHECK(mprAcquiredAddressRange(memory, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprReleasedAddressRange(memory + 1) == MPR_ERR_CANT_FIND);
    CHECK(Log::has("mprReleasedAddressRange"));
    CHECK(mprGetMemoryPressure() == 5000);
    for (int i = 0; i < 1000; i += 2) {
        REQUIRE(mprReleasedAddressRange(memory + i) == 0);
    }
    CHECK(mprGetMemoryPressure() == 0);
    // What is dead goes back when addresses are needed.
    mprSetMemLimits(-1, -1, 0);
    for (int i = 0; i < 20; i++) {
        REQUIRE(mprAllocMem(1 << 20, 0));
    }
    CHECK(mprNeedsAddressRange(1 << 20) >= 10 << 20);
    REQUIRE(mprAllocPinned(20 << 20, 0, 0));
    CHECK(mprNeedsAddressRange(1 << 20) >= 20 << 20);
}

namespace {
struct Picture {
    explicit Picture(size_t size) : pressure(size) {}
    mpr::MemoryPressure pressure;
};
} // namespace

TEST_CASE("an object of C++ says what it keeps for as long as it lives", "[host][foreign]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    {
        mpr::MemoryPressure one(100), other(std::move(one));
        CHECK(mprGetMemoryPressure() == 100);
        other.set(300);
        CHECK(mprGetMemoryPressure() == 300);
        other.set(50);
        CHECK(mprGetMemoryPressure() == 50);
        one = mpr::MemoryPressure(7);
        CHECK(one.get() == 7);
        CHECK(mprGetMemoryPressure() == 57);
    }
    CHECK(mprGetMemoryPressure() == 0);
    CHECK(mpr::make<Picture>(size_t{1000}));
    CHECK(mprGetMemoryPressure() == 1000);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprGetMemoryPressure() == 0);
}
