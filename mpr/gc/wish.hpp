// SPDX-License-Identifier: MIT
/*
    wish.hpp - What whoever asks for a collection wants.
 */
#pragma once

#include <cstdint>

namespace mpr::gc {

/** A greater wish includes the lesser. */
enum class Wish : std::uint8_t {
    slice,  // the collector's own: to go on with what it is at
    budget, // what the pacing finds best
    minor,  // at least the young
    full,   // everything that is dead now, and free memory given back
    urgent, // the same in one pause
};

} // namespace mpr::gc
