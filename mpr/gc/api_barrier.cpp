// SPDX-License-Identifier: MIT
/*
    api_barrier.cpp - The C API of mpr/barrier.h, as far as it is not inline.
 */
#include "mpr/barrier.h"

#include <algorithm>

#include "mpr/gc/batch.hpp"
#include "mpr/gc/naming.hpp"
#include "mpr/gc/runtime.hpp"

using namespace mpr::gc;
using mpr::heap::Byte;
using mpr::heap::GranuleMap;
using mpr::heap::Region;
namespace head = mpr::heap::head;
namespace swar = mpr::heap::swar;
namespace os = mpr::os;

static_assert(MPR_BARRIER_DONE == head::remembered && MPR_BARRIER_SHIFT == mpr::heap::granuleShift);

MprBarrier mprBarrier;
unsigned char mprBarrierMask = MPR_BARRIER_DONE;

namespace {

/** A thread that must not store has done so already. Nobody knows any more what old blocks reference. */
[[gnu::cold]] void refuseStore(const char* function) {
    if (!refuse(function) && running()) {
        runtime().collector.loseWrites();
    }
}

/** Name a value that is no block and has been stored into a field. */
[[gnu::cold, gnu::noinline]] void nameNoBlock(const char* function, const void* field, const void* value) {
    mpr::heap::Heap& heap = runtime().heap;
    if (!value || heap.blockAround(value)) { // a manager may know that a value points into a block: mprSetRefInside
        return;
    }
    os::Message message;
    message << function << "(" << value << "): the value is not a block";
    if (void* const owner = heap.blockAround(field)) {
        message << "; stored at offset "
                << static_cast<std::size_t>(static_cast<const Byte*>(field) - static_cast<Byte*>(owner))
                << " of block ";
        nameBlock(message, heap, owner);
    }
    runtime().misuses.fetch_add(1, std::memory_order_relaxed);
    writeMisuse(function, message, false);
}

/** With option check, and in checked builds: look at a value that has been stored and may have to be remembered. */
inline void lookAt(const char* function, const void* field, const void* value) {
    if constexpr (os::hasThreads) {
        if (os::checked || runtime().collector.checks()) [[unlikely]] {
            nameNoBlock(function, field, value);
        }
    }
}

/** Remember a store into a field of the block at granule g. */
void logBlock(Mutator& m, Region* region, std::size_t g, void* field) {
    if (RememberedSet::isByField(region->blockSize(g))) {
        runtime().collector.rememberField(m, field);
    } else {
        runtime().collector.rememberBlock(m, region, g);
    }
}

/** The region of a block whose store is to be remembered; nullptr: named, the thread may not store, or it is no block. */
MPR_INLINE Region* regionOfOwner(const char* function, const void* owner) {
    if (!current) {
        refuseStore(function);
        return nullptr;
    }
    Region* region = runtime().heap.find(owner);
    if (!region || !region->isBlock(owner)) {
        misuse(function, owner, "the owner is not the start of a block in use");
        return nullptr;
    }
    return region;
}

/** Remember a store into a field, if the block that it stands in can be found and is not known to be young. */
[[gnu::noinline]] void logField(void* field, const void* value) {
    Region* region = value && running() ? runtime().heap.findField(field) : nullptr;
    if (!region) {
        return;
    }
    Mutator* m = current;
    if (!m) {
        return refuseStore("mprSetRefAt");
    }
    lookAt("mprSetRefAt", field, value);
    if (region->isLarge()) {
        if ((region->map().get(region->firstGranule) & head::remembered) == 0) {
            logBlock(*m, region, region->firstGranule, field);
        }
        return;
    }
    // The nearest head is that of the field's block. If it is further away than a small block is long, the field is
    // remembered anyway.
    const std::size_t g = region->granuleOf(field);
    const std::size_t least =
        std::max<std::size_t>(g, region->firstGranule + mpr::heap::greatestSmall) - mpr::heap::greatestSmall;
    const std::size_t first = region->map().headBefore(g, least);
    const Byte h = region->map().get(first);
    if ((h & head::inUse) == 0) {
        runtime().collector.rememberField(*m, field);
    } else if ((h & head::remembered) == 0) {
        logBlock(*m, region, first, field);
    }
}

/**
    Whether the head of a field's block is found at once, and says that a store need not be remembered. Most fields are in
    the first few granules of a block, and most blocks are young.
 */
MPR_INLINE bool isDone(const void* field) {
    Region* region = runtime().heap.table().candidate(field);
    const std::size_t g = region ? region->granuleOf(field) : 0;
    if (!region || g >= region->endGranule) { // somewhere else, or deep in a large block: no map says what stands there
        return false;
    }
    const GranuleMap map = region->map();
    constexpr Byte done = head::inUse | head::remembered; // both: the greatest of all
    return map.get(g) >= done || map.get(map.headBefore(g, g & ~std::size_t{swar::bytes - 1})) >= done;
}

/** Store a value that others know already, or may know. */
MPR_INLINE void storeAt(void* field, const void* value) {
    const bool done = !os::hasGenerations || isDone(field); // asked before the store: see mprBarrierDone
    __atomic_store_n(static_cast<void**>(field), const_cast<void*>(value), __ATOMIC_RELEASE);
    if (!done) [[unlikely]] {
        logField(field, value);
    }
}

/** While some thread has a batch. Apart, so that all other stores save no registers. */
[[gnu::noinline]] void storeBesideBatches(void* field, const void* value) {
    if (mayBePrivate(value)) [[unlikely]] {
        publishInto(field, value); // before another thread can see it there
    }
    storeAt(field, value);
}
} // namespace

void mprLogRef(void* owner, void* field) {
    if constexpr (!os::hasGenerations) {
        return; // never called: every block says that it is remembered
    }
    if (Region* region = regionOfOwner("mprSetRef", owner)) {
        lookAt("mprSetRef", field, __atomic_load_n(static_cast<void**>(field), __ATOMIC_RELAXED));
        logBlock(*current, region, region->granuleOf(owner), field);
    }
}

void mprStoreWord(void* owner, void* field, std::uintptr_t word) {
    const bool done = !os::hasGenerations || mprBarrierDone(owner);
    if constexpr (os::hasThreads) {
        keepBatchFor(owner);
    }
    __atomic_store_n(static_cast<void**>(field), reinterpret_cast<void*>(word), __ATOMIC_RELEASE);
    if (done) {
        return;
    }
    if (Region* region = regionOfOwner("mprSetWord", owner)) {
        runtime().collector.rememberBlock(*current, region, region->granuleOf(owner));
    }
}

void mprStoreRef(void* owner, void* field, cvoid* value) {
    const bool done = !os::hasGenerations || mprBarrierDone(owner);
    if (os::hasThreads && mayBePrivate(value)) {
        publishInto(owner, value); // before another thread can see it there
    }
    __atomic_store_n(static_cast<void**>(field), const_cast<void*>(value), __ATOMIC_RELEASE);
    if (!done) {
        mprLogRef(owner, field);
    }
}

void mprSetRefAt(void* field, cvoid* value) {
    if (os::hasThreads && __atomic_load_n(&mprBarrierMask, __ATOMIC_RELAXED) == 0) {
        return storeBesideBatches(field, value);
    }
    storeAt(field, value);
}

/** mprSetRef, for code that is compiled where nothing need be remembered, too. */
static inline void store(void* owner, void** field, void* value) {
    if constexpr (os::hasGenerations) {
        mprSetRef(owner, field, value);
    } else {
        __atomic_store_n(field, value, __ATOMIC_RELEASE);
    }
}

void mprSetRefs(void* owner, void* fields, cvoid* values, size_t count) {
    if (os::hasThreads && !admitRunning("mprSetRefs")) {
        return;
    }
    auto* to = static_cast<void**>(fields);
    auto* from = static_cast<void* const*>(values);
    if (to <= from) {
        for (size_t i = 0; i < count; ++i) {
            store(owner, to + i, from[i]);
        }
    } else {
        for (size_t i = count; i-- > 0;) {
            store(owner, to + i, from[i]);
        }
    }
}
