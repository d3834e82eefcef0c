// SPDX-License-Identifier: MIT
/*
    test/support/value.hpp - What tests put into lists and hashes: managed texts, and numbers as values that are no blocks.
 */
#pragma once

#include "mpr.h"

#include <string>

namespace test {

inline char *text(const std::string &s) {
    return static_cast<char *>(mprMemdup(s.c_str(), s.size() + 1));
}

inline void *number(intptr_t n) {
    return reinterpret_cast<void *>(n);
}

} // namespace test
