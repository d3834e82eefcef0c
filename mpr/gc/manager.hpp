/*
    manager.hpp - Where a block keeps its manager: in its last word.
 */
#pragma once

#include <cstddef>

#include "mpr/heap/region.hpp"
#include "mpr/memory.h"

namespace mpr::gc {

/** Of a block of n granules that was allocated with room for one. Others may be setting it while threads run. */
inline MprManager& managerOf(void* block, std::size_t n) {
    return reinterpret_cast<MprManager*>(static_cast<heap::Byte*>(block) + (n << heap::granuleShift))[-1];
}

} // namespace mpr::gc
