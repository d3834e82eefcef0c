// SPDX-License-Identifier: MIT
/*
    hash.hpp - Hashes of strings, for tables beside those of mpr/hash.h.
 */
#pragma once

#include <cstddef>

namespace mpr::base {

/** SipHash of a string, with the key that the process draws at random. */
std::size_t hashOfKey(const char* text);

} // namespace mpr::base
