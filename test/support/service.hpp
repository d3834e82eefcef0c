/*
    test/support/service.hpp - Events serviced by the test's own thread.
 */
#pragma once

#include "mpr.h"

namespace test {

/* Service events until something is so. @return false when it is not after 20 seconds without an event, or 2000 events. */
template <class Condition>
bool serviceUntil(Condition condition) {
    for (int i = 0; i < 2000; i++) {
        if (condition()) {
            return true;
        }
        mprServiceEvents(10, MPR_SERVICE_ONE_THING);
    }
    return false;
}

} // namespace test
