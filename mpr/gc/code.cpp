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

/** A block that was freed by hand while it waited to be traced counts, too: its manager may still be called. */
void countBlock(void* data, heap::Byte* block, std::size_t n, heap::Byte h) {
    auto* count = static_cast<Count*>(data);
    MprManager manager = nullptr;
    if ((!heap::head::isLeaf(h) || heap::head::isGone(h)) && peekManager(block, n, manager)) {
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
