/* SPDX-License-Identifier: MIT */
/*
    mpr/barrier.h - The write barrier: stores that tell the collector what has changed, so that it need not look for
    itself.

    The program promises two things of a block that it allocates with MPR_ALLOC_BARRIER. Every managed reference
    stands in the block itself. Every store into such a field goes through the functions below, once the allocating
    thread has yielded for the first time after the allocation (before that plain stores are fine). The manager of
    such a block reads the references by mprMarkRef, because it may run while threads store.

    Blocks without the promise (plain blocks) are correct with plain stores; the collector looks at each of them in
    every collection.
 */
#ifndef MPR_BARRIER_H
#define MPR_BARRIER_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/** The runtime's: how to find the byte that describes a block. One bit of it says that a store need not be logged. */
typedef struct MprBarrier {
    uintptr_t inside, bias;
} MprBarrier;
extern MPR_EXPORT MprBarrier mprBarrier;
#define MPR_BARRIER_SHIFT (sizeof(void *) == 8 ? 4 : 3)
#define MPR_BARRIER_DONE 0x40
/** The runtime's: the slow part of mprSetRef. */
MPR_EXPORT void mprLogRef(void *owner, void *field);

/**
    The runtime's: whether a store into a block need not be logged. Asking before the store costs less than asking
    after it, and is safe: only a pause turns the answer from yes to no, and there is none before this thread's next
    yield.
 */
static inline int mprBarrierDone(const void *owner) {
    const uintptr_t inside = (uintptr_t) owner & mprBarrier.inside;
    const uintptr_t known = (uintptr_t) owner - inside + mprBarrier.bias + (inside >> MPR_BARRIER_SHIFT);
    return (__atomic_load_n((const unsigned char *) known, __ATOMIC_RELAXED) & MPR_BARRIER_DONE) != 0;
}

/**
    Store a reference: *field = value.
    @param owner The start of the block in which the field stands; any block, not NULL. @param field Address of a
    pointer in it. @param value A block or NULL. Attached threads that run. If another thread calls it, the store is
    done; if it would have to be logged, the call is named, and the next collection looks at all old blocks, so that
    nothing is lost. Never yields. The store has release order: a thread that loads the field can read what was
    written to *value before.
 */
static inline void mprSetRef(void *owner, void *field, const void *value) {
    const int done = mprBarrierDone(owner);
    __atomic_store_n((void **) field, (void *) value, __ATOMIC_RELEASE);
    if (__builtin_expect(!done, 0)) {
        mprLogRef(owner, field);
    }
}

/**
    Store a reference as mprSetRef does, where the owner is not known. The field may also be outside of managed
    memory, on a stack for example: then it is a plain store. Slower than mprSetRef by a function call.
 */
MPR_EXPORT void mprSetRefAt(void *field, const void *value);

/** Store count references, as memmove would: the areas may overlap. @param fields,values Addresses of the first pointers. */
MPR_EXPORT void mprSetRefs(void *owner, void *fields, const void *values, size_t count);

/** For managers: mprMark(*field), with an atomic load of the field. */
MPR_EXPORT void mprMarkRef(const void *field);

/** For managers: mprMarkRef for count fields in a row. */
MPR_EXPORT void mprMarkRefs(const void *fields, size_t count);

/**
    The runtime's, for managers of C++ objects that seem to have no references: whether one of their words is the
    address of another block. If so, the log names it. @param type The name of their type.
 */
MPR_EXPORT bool mprNameUntraced(const void *objects, size_t size, const char *type);

MPR_EXTERN_C_END
#endif /* MPR_BARRIER_H */
