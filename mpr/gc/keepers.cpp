// SPDX-License-Identifier: MIT
/*
    keepers.cpp - See keepers.hpp.
 */
#include "mpr/gc/keepers.hpp"

#include "mpr/gc/runtime.hpp"

namespace mpr::gc {

const char* Keeper::askAll(MprManager manager, const void* block) {
    const char* reason = nullptr;
    find([&](const Keeper& keeper) {
        reason = keeper.manager_ == manager ? keeper.why_(block) : nullptr;
        return reason != nullptr;
    });
    return reason;
}

bool isFreedByHand(const void* block) {
    return attached && attached->beingFreed.has(block);
}

void leaveToCollector(void* block) {
    MPR_ASSERT(isFreedByHand(block));
    heap::Heap& heap = runtime().heap;
    heap.changeHead(heap.find(block), block, 0, heap::head::held);
    attached->beingFreed.leaveToCollector(block);
}

} // namespace mpr::gc
