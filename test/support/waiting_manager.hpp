// SPDX-License-Identifier: MIT
/*
    test/support/waiting_manager.hpp - A manager that waits, to free, for what the application holds.
 */
#pragma once

#include "mpr.h"

#include <atomic>
#include <mutex>

namespace test {

inline std::mutex applicationLock;   // that the manager locks
inline std::atomic<int> waitedFrees; // how often it has

/* Allocate a block with such a manager, garbage from the next yield on. */
inline void makeWaitingManager() {
    waitedFrees = 0;
    mprAllocManaged(
        8,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_FREE) {
                std::lock_guard guard(applicationLock);
                waitedFrees++;
            }
        },
        0);
}

} // namespace test
