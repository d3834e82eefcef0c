// SPDX-License-Identifier: MIT
/*
    test/gc/code.cpp - Blocks counted whose managers stand in a range of addresses.
 */
#include "mpr/gc/code.hpp"

#include "mpr/gc/runtime.hpp"
#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"

using namespace test;

namespace {

/* With an address that no other manager has. */
void manageInRange(void *block, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(*static_cast<void **>(block));
    }
}
size_t blocksInRange() {
    const auto begin = reinterpret_cast<uintptr_t>(manageInRange);
    return mpr::gc::blocksManagedIn(begin, begin + 1);
}

} // namespace

TEST_CASE("blocks count while their managers may be called: until they have been freed", "[gc][code]") {
    Runtime runtime;
    CHECK(blocksInRange() == 0);
    void *const kept = mprAllocManaged(16, manageInRange, MPR_ALLOC_ZERO);
    mprAddRoot(kept);
    mprAllocManaged(16, manageInRange, MPR_ALLOC_ZERO);
    mprAllocManaged(10000, manageInRange, MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER);
    CHECK(blocksInRange() == 3);
    collect();
    CHECK(blocksInRange() == 1);
    mprRemoveRoot(kept);
    collect();
    CHECK(blocksInRange() == 0);
}

TEST_CASE("a range ends before its end", "[gc][code]") {
    Runtime runtime;
    void *const kept = mprAllocManaged(16, manageInRange, MPR_ALLOC_ZERO);
    mprAddRoot(kept);
    const auto at = reinterpret_cast<uintptr_t>(manageInRange);
    CHECK(mpr::gc::blocksManagedIn(at - 100, at) == 0);
    CHECK(mpr::gc::blocksManagedIn(at + 1, at + 100) == 0);
    CHECK(mpr::gc::blocksManagedIn(at, at + 1) == 1);
    mprRemoveRoot(kept);
}

TEST_CASE("a manager is needed for a block that was freed by hand and may wait to be traced", "[gc][code]") {
    Runtime runtime;
    const int flags = GENERATE(MPR_ALLOC_BARRIER, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE, 0);
    void *block = mprAllocManaged(100, manageInRange, flags | MPR_ALLOC_ZERO);
    mprAddRoot(block);
    collect();
    CHECK(blocksInRange() == 1);
    mprRemoveRoot(block);
    mpr::heap::Heap &heap = mpr::gc::runtime().heap;
    heap.setTracing(true); // as a major collection has it while it marks beside the threads
    CHECK(mprFree(block) == 0);
    CHECK_FALSE(mprIsValid(block));
    CHECK(blocksInRange() == 1);
    heap.setTracing(false);
    collect();
    CHECK(blocksInRange() == 0);
}
