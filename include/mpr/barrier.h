/*
    mpr/barrier.h - The write barrier: tell the collector what changes, and it need not look for itself.

    A block allocated with MPR_ALLOC_BARRIER promises two things: every managed reference stands in the block itself, and
    each is written by the calls below, from the first yield of its thread after the allocation on (before that, plain
    stores will do). Its manager reads the references by mprMarkRef, because it may run while threads store.

    Blocks without the promise stay correct with plain stores; they cost the collector a look at every collection.
 */
#ifndef MPR_BARRIER_H
#define MPR_BARRIER_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/**
    Store a reference: *field = value.
    @param owner The start of the block in which the field stands. @param field Address of a pointer in it.
    @param value A block or NULL.
    Attached threads. Never yields. The store releases: what was written to *value before can be read through the field.
 */
static inline void mprSetRef(void *owner, void *field, cvoid *value) {
    (void) owner;
    __atomic_store_n((void **) field, (void *) value, __ATOMIC_RELEASE);
}

/** Store count references, as memmove would: the areas may overlap. @param fields,values Addresses of the first pointers. */
MPR_EXPORT void mprSetRefs(void *owner, void *fields, cvoid *values, size_t count);

/** For managers: mprMark(*field), the field read atomically. */
MPR_EXPORT void mprMarkRef(cvoid *field);

/** The same for count fields in a row. */
MPR_EXPORT void mprMarkRefs(cvoid *fields, size_t count);

MPR_EXTERN_C_END
#endif /* MPR_BARRIER_H */
