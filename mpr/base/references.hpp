/*
    references.hpp - Arrays of references: blocks that hold nothing else, for lists and hashes.

    Such an array is a barrier block and may be marked while other threads store: its length is that of its block, which
    never changes, and every word of it is a reference or NULL. Whoever stores is to name the array as the owner.
 */
#pragma once

#include "mpr/memory.h"

namespace mpr::base {

struct References {
    void** items = nullptr; // nullptr: there was no memory
    int capacity = 0;
};

/** An array of NULLs. @param count References at least; more if the block has room. @param marked false: items are not managed. */
References allocateReferences(int count, bool marked);

/** What every block here is: it references by the barrier, and owns nothing outside the heap. */
inline constexpr int referring = MPR_ALLOC_MANAGER | MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE;

} // namespace mpr::base
