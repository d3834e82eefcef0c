// SPDX-License-Identifier: MIT
/*
    hash.hpp - Hashes of strings, for tables beside those of mpr/hash.h.
 */
#pragma once

#include <cstddef>
#include <string_view>

namespace mpr::base {

/** SipHash of a string, with the key that the process draws at random. */
std::size_t hashOfKey(std::string_view text);

} // namespace mpr::base
