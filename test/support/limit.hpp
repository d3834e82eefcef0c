// SPDX-License-Identifier: MIT
/*
    test/support/limit.hpp - Hard limits by what they let a program commit, whatever the reserve below them takes.
 */
#pragma once

#include "mpr/limits.h"

#include <algorithm>

namespace test {

/* Let ordinary allocation commit so many bytes in all, and hardly more: see mprSetMemLimits. */
inline void limitCommitted(uint64 committed, ssize cache) {
    uint64 limit = committed;
    while (limit - std::min(std::max<uint64>(limit / 32, 65'536), limit / 4) < committed) {
        limit += 1024;
    }
    mprSetMemLimits(0, static_cast<ssize>(limit), cache);
}

} // namespace test
