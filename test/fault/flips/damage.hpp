// SPDX-License-Identifier: MIT
/*
    test/fault/flips/damage.hpp - What is done to a running heap: one bit of its own data is flipped, or a word written where
    a program may not write.
 */
#pragma once

#include "test/fault/flips/work.hpp"

namespace flips {

struct Damage {
    const char *name;
    const char *where;
    /* Do it. @return What was done, empty when there was nothing to do it to. */
    std::string (*commit)(Work &work, Random &random);
};

extern const Damage damages[];
extern const size_t damageCount;

} // namespace flips
