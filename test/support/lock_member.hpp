/*
    test/support/lock_member.hpp - What lock(list) and lock(table) have in common: the member mutex.
 */
#pragma once

#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"

namespace test {

/* Three mutators do the same thing, to its end. */
template <class Body>
void doInThreeThreads(Body body) {
    Mutator a("a", body), b("b", body), c("c", body);
    a.join();
    b.join();
    c.join();
}

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

} // namespace test
