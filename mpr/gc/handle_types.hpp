// SPDX-License-Identifier: MIT
/*
    handle_types.hpp - What the type of a handle, and with some types its further word, means at the moment.
 */
#pragma once

#include "mpr/gc/handle_store.hpp"

namespace mpr::gc {

inline constexpr unsigned sizedType = typeBit(MPR_HANDLE_SIZED);
inline constexpr unsigned anyType = typeBit(MPR_HANDLE_TYPES) - 1;
inline constexpr unsigned weakTypes = anyType & ~(strongTypes | sizedType);

/** Where a pinned block is that lies in memory of the program's; no region when there is none. */
inline heap::Place placeElsewhere(const void* block) {
    const heap::Annex* annex = block ? handleStore.heap().annex() : nullptr;
    return annex ? annex->find(block) : heap::Place{};
}

/** The head of such a block; 0 when there is none. */
inline heap::Byte headElsewhere(const void* block) {
    const heap::Place at = placeElsewhere(block);
    return at.region ? at.head() : heap::Byte{0};
}

/** The head of what a handle refers to, 0 when it is no block any more. */
inline heap::Byte headOf(const void* block) {
    heap::Region* region = block ? handleStore.heap().table().candidate(block) : nullptr;
    const heap::Byte h = region ? region->headAt(block) : heap::Byte{0};
    return heap::Region::isBlock(h) ? h : headElsewhere(block);
}

/** Whether a further word says as what type a variable handle holds. */
inline bool isVariable(const void* further) {
    const auto type = reinterpret_cast<std::intptr_t>(further);
    return type == MPR_HANDLE_WEAK_SHORT || type == MPR_HANDLE_WEAK_LONG || type == MPR_HANDLE_STRONG;
}

/** Whether a handle, which is in use, is strong at the moment. */
inline bool isStrong(int type, const Slot* slot) {
    const auto further = reinterpret_cast<std::intptr_t>(word::load(slot->extra));
    return (typeBit(type) & (strongTypes | sizedType)) != 0 || (type == MPR_HANDLE_REFCOUNTED && further > 0) ||
           (type == MPR_HANDLE_VARIABLE && further == MPR_HANDLE_STRONG);
}

inline bool isLong(int type, const Slot* slot) {
    return type == MPR_HANDLE_WEAK_LONG ||
           (type == MPR_HANDLE_VARIABLE &&
            reinterpret_cast<std::intptr_t>(word::load(slot->extra)) == MPR_HANDLE_WEAK_LONG);
}

} // namespace mpr::gc
