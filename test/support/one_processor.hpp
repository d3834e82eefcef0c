// SPDX-License-Identifier: MIT
/*
    test/support/one_processor.hpp - Takes all processors but one from a test.
 */
#pragma once

#include <sched.h>

#include <algorithm>

namespace test {

/* While this exists, the thread and those that it starts have one processor. */
class OneProcessor {
public:
    OneProcessor() {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(std::max(sched_getcpu(), 0)), &one);
        sched_getaffinity(0, sizeof(before), &before);
        sched_setaffinity(0, sizeof(one), &one);
    }
    ~OneProcessor() { sched_setaffinity(0, sizeof(before), &before); }
    OneProcessor(const OneProcessor &) = delete;
    OneProcessor &operator=(const OneProcessor &) = delete;

private:
    cpu_set_t before;
};

} // namespace test
