// SPDX-License-Identifier: MIT
/*
    test/compile/unlocked.cpp - What clang must not accept: the test thread_safety_fires looks for its complaints.
 */
#include "mpr/os/lock.hpp"

namespace {

mpr::os::Lock lock;
int count MPR_GUARDED_BY(lock) = 0;

void take() MPR_REQUIRES(lock);
void take() {
    --count;
}

} // namespace

void countWithoutLock();
void countWithoutLock() {
    ++count;
    take();
}
