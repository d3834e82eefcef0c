// SPDX-License-Identifier: MIT
/*
    test/support/every_yield.hpp - Whether the environment asks for a collection at every yield, or after every so manieth
    allocation, which makes loops with a yield in them quadratic, and counts of collections meaningless.
 */
#pragma once

#include <cstdlib>

namespace test {

inline bool isOn(const char *variable) {
    const char *value = getenv(variable);
    return value && *value && *value != '0';
}

inline bool everyYield() {
    static const bool on = isOn("MPR_GC_EVERY_YIELD");
    return on;
}

inline bool everyAlloc() {
    static const bool on = isOn("MPR_GC_EVERY_ALLOC");
    return on;
}

/* Either. */
inline bool inTrial() {
    return everyYield() || everyAlloc();
}

} // namespace test
