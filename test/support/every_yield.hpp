/*
    test/support/every_yield.hpp - Whether the environment asks for a collection at every yield, which makes loops with
    a yield in them quadratic, and counts of collections meaningless.
 */
#pragma once

#include <cstdlib>

namespace test {

inline bool everyYield() {
    static const char *every = getenv("MPR_GC_EVERY_YIELD");
    return every && *every && *every != '0';
}

} // namespace test
