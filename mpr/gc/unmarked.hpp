// SPDX-License-Identifier: MIT
/*
    unmarked.hpp - Fields of the runtime's own blocks that may hold the address of a dead block, since nobody follows
    them then: check=fields passes them over. To clear them would cost a store where each counts.
 */
#pragma once

#include <cstddef>

#include "mpr/memory.h"

namespace mpr::gc {

/** Declares a field of all blocks of a manager, when the program starts. */
struct UnmarkedField {
    UnmarkedField(MprManager manager, std::size_t offset);
};

} // namespace mpr::gc
