// SPDX-License-Identifier: MIT
/*
    test/support/service.hpp - Events serviced by the test's own thread.
 */
#pragma once

#include "mpr.h"

#include <chrono>

namespace test {

/*
    Service events on this thread until something is so. @return false when it is not so in time, nor after as many turns:
    the process may have been stopped for a while.
 */
template <class Condition>
bool serviceUntil(Condition condition, int ms = 20000) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    for (int turn = 0; !condition(); turn++) {
        if (turn > ms / 10 && std::chrono::steady_clock::now() > end) {
            return false;
        }
        mprServiceEvents(10, MPR_SERVICE_ONE_THING);
    }
    return true;
}

} // namespace test
