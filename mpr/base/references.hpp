// SPDX-License-Identifier: MIT
/*
    references.hpp - Blocks that reference others through the barrier, as all the runtime's own do; and arrays of
    references, which hold nothing else, for lists and hashes.

    Such an array is a barrier block and may be marked while other threads store: its length is that of its block, which
    never changes, and every word of it is a reference or NULL. Whoever stores is to name the array as the owner.
 */
#pragma once

#include <type_traits>

#include "mpr/barrier.h"
#include "mpr/memory.h"

namespace mpr::base {

/** mprSetRef, once in the library where it is not in line: a file in C has it for itself. */
[[gnu::flatten]] inline void setUntyped(void* owner, void* field, const void* value) {
    mprSetRef(owner, field, value);
}

/** Store a reference: field = value, where owner is the block in which the field stands. */
template <typename T>
inline void setRef(void* owner, T*& field, std::type_identity_t<T>* value) {
    setUntyped(owner, &field, value);
}

struct References {
    void** items = nullptr; // nullptr: there was no memory
    int capacity = 0;
};

/**
    An array of NULLs. @param count References at least; more if the block has room. @param marked false: items are not
    managed.
 */
References allocateReferences(int count, bool marked);

/** Store a reference. The collector is told of its owner in another way, or need not be told. */
inline void storeReference(void** field, void* value) {
    __atomic_store_n(field, value, __ATOMIC_RELEASE);
}

/**
    Whether many stores into an array cost no more than one: the collector has yet to look at all of it, or will once it
    is told. Into others, large and old, each store is logged for itself: with many, a fresh array is cheaper.
 */
bool takesMany(void** array);
/**
    After plain stores into such an array, before the next yield: tell the collector, if need be. Harmless for others.
 */
void storedMany(void** array);

/** Move references within an array, as memmove, whatever that costs. */
void moveReferences(void** array, int to, int from, int count);
/** Move references within an array by storeReference: the collector is told in another way, or need not be told. */
void moveUntold(void** array, int to, int from, int count);

/** What most blocks of the runtime are: they reference by the barrier, and own nothing outside the heap. */
inline constexpr int referring = MPR_ALLOC_MANAGER | MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE;

/** Such a block, all zero. @return nullptr when memory is short. */
template <typename T>
T* makeReferring(MprManager manager) {
    return static_cast<T*>(mprAllocManaged(sizeof(T), manager, referring | MPR_ALLOC_ZERO));
}

} // namespace mpr::base
