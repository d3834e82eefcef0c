// SPDX-License-Identifier: MIT
/*
    manager.cpp - What becomes of a block whose manager was overwritten.
 */
#include "mpr/gc/manager.hpp"

#include "mpr/collect.h"
#include "mpr/gc/runtime.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

namespace {

void nameOverwritten(const void* block, std::size_t n) {
    runtime().misuses.fetch_add(1, std::memory_order_relaxed);
    heap::Region* region = runtime().heap.find(block);
    const std::size_t g = region->granuleOf(block);
    os::Message message;
    message << "the manager word of block " << block;
    if constexpr (!os::hasThreads) {
        return writeMisuse("", message << " was overwritten; its manager is not called any more");
    }
    message << " of " << std::uint64_t{n << heap::granuleShift} << " bytes was overwritten: this block";
    const std::size_t before = region->map().headBefore(g - 1, region->firstGranule);
    if (!region->isLarge() && before < g && region->isBlock(region->address(before))) {
        message << ", or the block before it, " << static_cast<const void*>(region->address(before)) << " of "
                << std::uint64_t{region->blockSize(before) << heap::granuleShift} << " bytes,";
    }
    os::log(os::Level::error, message << " has overflowed; its manager is not called any more");
    os::afterMistake();
}
} // namespace

void manageOverwritten(void* block, int flags) {
    if ((flags & MPR_MANAGE_MARK) == 0) {
        return;
    }
    heap::Heap& heap = runtime().heap;
    heap::Region* region = heap.find(block);
    auto* fields = static_cast<void* const*>(block);
    const auto* end = reinterpret_cast<void* const*>(managerWord(block, region->blockSize(region->granuleOf(block))));
    for (; fields != end; ++fields) {
        const void* ref = __atomic_load_n(fields, __ATOMIC_ACQUIRE);
        if (heap.regionOfBlock(ref)) { // pinned blocks among them
            mprMark(ref);
        }
    }
}

[[gnu::cold, gnu::noinline]] MprManager replaceOverwritten(void* block, std::size_t n) {
    nameOverwritten(block, n);
    setManager(block, n, codeOf(manageOverwritten));
    return manageOverwritten;
}

} // namespace mpr::gc
