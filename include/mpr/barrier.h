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

/** The runtime's: where it keeps what it knows of a block, and which bit of it says that a store need not be logged. */
typedef struct MprBarrier {
    uintptr_t inside, bias;
} MprBarrier;
extern MPR_EXPORT MprBarrier mprBarrier;
#define MPR_BARRIER_SHIFT (sizeof(void *) == 8 ? 4 : 3)
#define MPR_BARRIER_DONE 0x40
/** The runtime's: the slow part of mprSetRef. */
MPR_EXPORT void mprLogRef(void *owner, void *field);

/**
    The runtime's: whether a store into a block need not be logged. To be asked before the store, where it costs less: only
    pauses take a yes back, and until the next yield there is none.
 */
static inline int mprBarrierDone(cvoid *owner) {
    const uintptr_t inside = (uintptr_t) owner & mprBarrier.inside;
    const uintptr_t known = (uintptr_t) owner - inside + mprBarrier.bias + (inside >> MPR_BARRIER_SHIFT);
    return (__atomic_load_n((const unsigned char *) known, __ATOMIC_RELAXED) & MPR_BARRIER_DONE) != 0;
}

/**
    Store a reference: *field = value.
    @param owner The start of the block in which the field stands; any block, not NULL. @param field Address of a pointer
    in it. @param value A block or NULL.
    Attached threads that run; of others the store is done, and named when it would have to be logged (then the next
    collection looks at everything, so that nothing is lost). Never yields. The store releases: what was written to *value before can be read through the field.
 */
static inline void mprSetRef(void *owner, void *field, cvoid *value) {
    const int done = mprBarrierDone(owner);
    __atomic_store_n((void **) field, (void *) value, __ATOMIC_RELEASE);
    if (__builtin_expect(!done, 0)) {
        mprLogRef(owner, field);
    }
}

/**
    The same where the owner is not at hand, or the field may be outside managed memory (on a stack, say): then it is a
    plain store. Slower than mprSetRef by a function call.
 */
MPR_EXPORT void mprSetRefAt(void *field, cvoid *value);

/** Store count references, as memmove would: the areas may overlap. @param fields,values Addresses of the first pointers. */
MPR_EXPORT void mprSetRefs(void *owner, void *fields, cvoid *values, size_t count);

/** For managers: mprMark(*field), the field read atomically. */
MPR_EXPORT void mprMarkRef(cvoid *field);

/** The same for count fields in a row. */
MPR_EXPORT void mprMarkRefs(cvoid *fields, size_t count);

/**
    The runtime's, for managers of C++ objects that seem to have no references: whether one of their words is the address of
    another block. If so it is named in the log. @param type What to call them.
 */
MPR_EXPORT bool mprNameUntraced(cvoid *objects, size_t size, cchar *type);

MPR_EXTERN_C_END
#endif /* MPR_BARRIER_H */
