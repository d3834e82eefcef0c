// SPDX-License-Identifier: MIT
/*
    retain.cpp - What Hold and Rooted ask before they keep a block.
 */
#include "mpr/base/retain.hpp"

namespace mpr::base {

bool isBlockFoundDead(const void* pointer, bool wanted) {
    return pointer && gc::attached && gc::running() &&
           gc::runtime().heap.withBlock(pointer, [wanted](heap::Region*, std::size_t, heap::Byte h) {
               return heap::Region::isBlock(h) && gc::runtime().collector.isLost(h) == wanted;
           });
}

} // namespace mpr::base
