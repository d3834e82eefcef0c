// SPDX-License-Identifier: MIT
/*
    code.cpp - Blocks counted whose managers stand in a range of addresses.
 */
#include "mpr/gc/code.hpp"

#include "mpr/gc/manager.hpp"
#include "mpr/gc/runtime.hpp"

namespace mpr::gc {

namespace {
struct Count {
    std::uintptr_t begin, end;
    std::size_t blocks = 0;
};

void countBlock(void* data, heap::Byte* block, std::size_t n, heap::Byte h) {
    auto* count = static_cast<Count*>(data);
    MprManager manager = nullptr;
    // Not managerOf: who finds a word overwritten there says so, and a lock is held here.
    if (!heap::head::isLeaf(h) &&
        managers.unseal(block, __atomic_load_n(managerWord(block, n), __ATOMIC_RELAXED), manager)) {
        const auto address = reinterpret_cast<std::uintptr_t>(manager);
        count->blocks += address >= count->begin && address < count->end;
    }
}
} // namespace

bool Managers::hasAnyIn(Word begin, Word end) const {
    for (const auto& place : places_) {
        const auto address = reinterpret_cast<Word>(place.load(std::memory_order_relaxed));
        if (address >= begin && address < end) {
            return true;
        }
    }
    return false;
}

std::size_t blocksManagedIn(std::uintptr_t begin, std::uintptr_t end) {
    if (!managers.hasAnyIn(begin, end)) {
        return 0;
    }
    Count count{begin, end};
    const bool counted = runtime().collector.stopOthers([&] { runtime().heap.forEachBlock(countBlock, &count); });
    return counted ? count.blocks : unknownBlocks;
}

} // namespace mpr::gc
