// SPDX-License-Identifier: MIT
/*
    test/support/refusals.hpp - Allocations that are refused, and those that are refused again after a complete yield.
 */
#pragma once

#include <atomic>

#include "mpr.h"

namespace test {

/* For any number of threads. */
class Refusals {
public:
    /* Allocate; if that is refused, after a yield that waits for what a collection frees once more. */
    void *allocate(size_t size) {
        void *block = mprAlloc(size);
        if (!block) {
            first++;
            mprYield(MPR_YIELD_COMPLETE);
            block = mprAlloc(size);
            again += !block;
        }
        return block;
    }
    size_t count() const { return first; }
    /* This is what the runtime promises not to do. */
    size_t countAgain() const { return again; }

private:
    std::atomic<size_t> first{0}, again{0};
};

} // namespace test
