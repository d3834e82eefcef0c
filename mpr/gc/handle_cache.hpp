// SPDX-License-Identifier: MIT
/*
    handle_cache.hpp - Free places in the store of handles that a thread has for itself, by type of handle.
 */
#pragma once

#include <cstdint>
#include <type_traits>

#include "mpr/handle.h"
#include "mpr/os/target.hpp"

namespace mpr::gc {

using Slot = MprHandleSlot;

/**
    The next of a list of free places. It stands in the word that names a handle's maker: the collector writes the others,
    also of a handle that a thread which has yielded destroys meanwhile. Relaxed: whoever counts handles reads it, too.
 */
inline Slot* nextFree(const Slot* slot) {
    return reinterpret_cast<Slot*>(__atomic_load_n(&slot->site, __ATOMIC_RELAXED));
}
inline void setNextFree(Slot* slot, Slot* next) {
    __atomic_store_n(&slot->site, reinterpret_cast<std::uintptr_t>(next), __ATOMIC_RELAXED);
}

/** Only its thread uses it, and whoever ends that. */
class HandleCache {
public:
    Slot* take(int type) {
        Slot* slot = free_[type];
        if (slot) [[likely]] {
            free_[type] = nextFree(slot);
            --count_[type];
        }
        return slot;
    }
    void put(int type, Slot* slot) {
        setNextFree(slot, free_[type]);
        free_[type] = slot;
        ++count_[type];
    }
    unsigned count(int type) const { return count_[type]; }

private:
    Slot* free_[MPR_HANDLE_TYPES] = {};
    std::uint16_t count_[MPR_HANDLE_TYPES] = {};
};
/** Without threads the store is near enough. */
struct NoHandleCache {};
inline HandleCache* cacheIn(HandleCache& own) {
    return &own;
}
inline HandleCache* cacheIn(NoHandleCache&) {
    return nullptr;
}
using OwnHandles = std::conditional_t<os::hasThreads, HandleCache, NoHandleCache>;

} // namespace mpr::gc
