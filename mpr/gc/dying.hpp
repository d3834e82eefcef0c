// SPDX-License-Identifier: MIT
/*
    dying.hpp - Which block a word leads to that the sweep is about to free: for check=fields and check=globals.
 */
#pragma once

#include "mpr/heap/heap.hpp"

namespace mpr::gc {

/**
    The block that begins at an address, any address, if it is about to be freed; else a null region. Threads are stopped.
 */
inline heap::Place dyingBlock(const heap::Heap& heap, const void* address) {
    heap::Region* region = heap.find(address);
    if (region && region->isBlock(address)) {
        const heap::Place at = heap::Place::of(region, address);
        const heap::Byte h = at.head();
        if (heap.dead(h) && (h & heap::head::held) == 0) {
            return at;
        }
    }
    return {nullptr, 0};
}

/** The same for a word that is an address, or of which the bits of a mask are one: option mask. */
inline heap::Place dyingAt(const heap::Heap& heap, const void* word, std::uintptr_t mask) {
    if (!word) {
        return {nullptr, 0}; // as most words are, of which a program's static data may have millions
    }
    const heap::Place dying = dyingBlock(heap, word);
    const std::uintptr_t untagged = reinterpret_cast<std::uintptr_t>(word) & mask;
    return dying.region ? dying : dyingBlock(heap, reinterpret_cast<const void*>(untagged));
}

} // namespace mpr::gc
