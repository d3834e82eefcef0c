// SPDX-License-Identifier: MIT
/*
    block.hpp - Blocks of one size and kind, allocated inline: for what is made by the million.

    This does what mprAllocManaged(size, manager, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE) does, with all decisions made
    by the compiler.
 */
#pragma once

#include "mpr/gc/manager.hpp"
#include "mpr/gc/runtime.hpp"

namespace mpr::task {

/** @return A barrier block of unset memory with its manager, or nullptr when memory is short. Attached threads. */
template <typename T, MprManager manager>
[[gnu::always_inline]] inline T* allocateBlock() {
    constexpr std::size_t size = sizeof(T) + sizeof(MprManager);
    constexpr std::size_t n = heap::granulesFor(size);
    constexpr auto kind = static_cast<heap::Byte>(heap::Kind::barrierNoFree);
    static_assert(n <= heap::greatestSmall);
    gc::Mutator& m = *gc::current;
    void* block = gc::runtime().heap.allocateFast(m.local, n, kind);
    if (!block) [[unlikely]] {
        block = gc::allocateSlow(m, n, kind, size);
        if (!block) {
            return nullptr;
        }
    }
    gc::setManager(block, n, gc::codeOf(manager));
    return static_cast<T*>(block);
}

} // namespace mpr::task
