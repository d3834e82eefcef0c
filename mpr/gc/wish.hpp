// SPDX-License-Identifier: MIT
/*
    wish.hpp - What a request for a collection asks for.
 */
#pragma once

#include <cstdint>

namespace mpr::gc {

/** A greater wish includes the lesser. */
enum class Wish : std::uint8_t {
    slice,  // the collector's own: to continue its work
    stores, // the remembered set is long, and has to be read
    budget, // what the pacing finds best
    minor,  // at least the young
    full,   // everything that is dead now, and free memory given back
    urgent, // as full, in one pause
};

} // namespace mpr::gc
