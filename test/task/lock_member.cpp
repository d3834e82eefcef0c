// SPDX-License-Identifier: MIT
/*
    test/task/lock_member.cpp - lock(list) and lock(table): containers have the member mutex that lock() needs. They are
    of the room below, which does without locks of this one; hence the test here.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/value.hpp"

using namespace test;

namespace {

/* One of one thread has none, a clone one of its own, and a program may set another. `shared` is rooted. */
template <class T>
void checkLockMember(T *shared, T *own, T *clone) {
    CHECK(!own->mutex);
    lock(own);
    unlock(own);
    CHECK(clone->mutex != shared->mutex);
    mprSetRef(shared, &shared->mutex, mprCreateLock());
    collect();
    lock(shared);
    CHECK(mprIsValid(shared->mutex));
    unlock(shared);
    CHECK(stats().misuses == 0);
}

} // namespace

TEST_CASE("lock(list) makes one step of several calls", "[task][lock]") {
    Runtime runtime("young=256k");
    MprList *list = mprCreateList(0, MPR_LIST_STATIC_VALUES);
    Root root(list);
    mprAddItem(list, number(0));
    const int rounds = static_cast<int>(heavy(20000));
    doInThreeThreads([&](Mutator &) {
        for (int i = 0; i < rounds; i++) {
            lock(list);
            lock(list); // it is recursive
            auto before = reinterpret_cast<intptr_t>(mprGetItem(list, 0));
            if (i % 64 == 0) {
                std::this_thread::yield(); // the others get a chance to come between
            }
            mprSetItem(list, 0, number(before + 1));
            unlock(list);
            unlock(list);
            mprAlloc(100); // collections pass while others wait for the lock
            mprYield(0);
        }
    });
    CHECK(mprGetItem(list, 0) == number(3 * rounds));
    checkLockMember(list, mprCreateList(0, MPR_LIST_STABLE), mprCloneList(list));
}

TEST_CASE("lock(table) makes one step of several calls", "[task][lock]") {
    Runtime runtime("young=256k");
    MprHash *table = mprCreateHash(0, MPR_HASH_STATIC_VALUES);
    Root root(table);
    mprAddKey(table, "sum", number(0));
    const int rounds = static_cast<int>(heavy(20000));
    doInThreeThreads([&](Mutator &) {
        for (int i = 0; i < rounds; i++) {
            lock(table);
            auto before = reinterpret_cast<intptr_t>(mprLookupKey(table, "sum"));
            if (i % 64 == 0) {
                std::this_thread::yield(); // the others get a chance to come between
            }
            mprAddKey(table, "sum", number(before + 1));
            unlock(table);
            mprAlloc(100); // collections pass while others wait for the lock
            mprYield(0);
        }
    });
    CHECK(mprLookupKey(table, "sum") == number(3 * rounds));
    checkLockMember(table, mprCreateHash(0, MPR_HASH_STABLE), mprCloneHash(table));
}
