/* SPDX-License-Identifier: MIT */
/*
    mpr/barrier.h - The write barrier: stores that tell the collector what has changed, so that it need not look for
    itself.

    The program promises two things of a block that it allocates with MPR_ALLOC_BARRIER. Every managed reference
    stands in the block itself. Every store into such a field goes through the functions below, once the allocating
    thread has yielded for the first time after the allocation (before that plain stores are fine). If the thread takes
    back its own garbage (mprSetBatches), plain stores are fine only until the block is published. Option check=1 names
    those that come later. The manager of such a block reads the references by mprMarkRef, because it may run while threads
    store.

    Blocks without the promise (plain blocks) are correct with plain stores; the collector looks at each of them in
    every collection.
 */
#ifndef MPR_BARRIER_H
#define MPR_BARRIER_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/** The runtime's: how to find the byte that describes a block. One bit of it says that a store need not be
    remembered. */
typedef struct MprBarrier {
    uintptr_t inside, bias;
} MprBarrier;
extern MPR_EXPORT MprBarrier mprBarrier;
#define MPR_BARRIER_SHIFT (sizeof(void *) == 8 ? 4 : 3)
#define MPR_BARRIER_DONE 0x40
/** The runtime's: MPR_BARRIER_DONE, or 0 while a thread has batches (mprSetBatches), so that each store asks mprBatchRange. */
extern MPR_EXPORT unsigned char mprBarrierMask;
/** The runtime's: the slow part of mprSetRef, of programs that were compiled before there were batches. */
MPR_EXPORT void mprLogRef(void *owner, void *field);
/** The runtime's: the slow part of mprSetRef. */
MPR_EXPORT void mprStoreRef(void *owner, void *field, const void *value);

/** The runtime's: what the calling thread has made since its last yield, and nobody else knows, lies in this range. */
typedef struct MprBatchRange {
    uintptr_t begin, size;
    unsigned building; /* C++ objects whose constructors this thread is in: while there are any, its yields keep all */
} MprBatchRange;
#if defined(__unix__) || defined(__APPLE__)
#define MPR_HAS_BATCHES 1
extern MPR_EXPORT __thread __attribute__((tls_model("initial-exec"))) MprBatchRange mprBatchRange;
#endif
/** The runtime's: publish a block that may be in mprBatchRange. */
MPR_EXPORT void mprPublishSlow(const void *ptr);

/** The runtime's: whether a block may be one that only the calling thread knows. One load and a comparison. */
static inline bool mprMayBePrivate(const void *ptr) {
#ifdef MPR_HAS_BATCHES
    return (uintptr_t) ptr - mprBatchRange.begin < mprBatchRange.size;
#else
    return ptr && 0;
#endif
}

/** The runtime's: whether the calling thread is in the constructor of a managed C++ object. */
static inline bool mprIsBuilding(MPR_NOTHING) {
#ifdef MPR_HAS_BATCHES
    return mprBatchRange.building != 0;
#else
    return false;
#endif
}

/** The runtime's: a constructor begins (1) or ends (-1). */
static inline void mprCountBuilding(int by) {
#ifdef MPR_HAS_BATCHES
    mprBatchRange.building += (unsigned) by;
#else
    (void) by;
#endif
}

/**
    Say that a block is about to be known elsewhere, in a way that the runtime does not see: to other threads through
    unmanaged memory, or after the next yield through an MprRootRef that is linked already. It, and what it references, then
    outlives a yield that takes back what was not published (mprSetBatches). Stores by the barrier, roots and holds publish
    by themselves. What a block references once it has been published is to be stored by the barrier. The block's manager
    is called at once, so its fields are in order, or zero. NULL is fine.
    Attached threads. Never yields. Costs a comparison if there is nothing to do.
 */
static inline void mprPublish(const void *ptr) {
#ifdef MPR_HAS_BATCHES
    if (__builtin_expect(mprMayBePrivate(ptr), 0)) {
        mprPublishSlow(ptr);
    }
#else
    (void) ptr;
#endif
}

/** The runtime's: the byte that describes a block. */
static inline unsigned char mprBarrierByte(const void *owner) {
    const uintptr_t inside = (uintptr_t) owner & mprBarrier.inside;
    const uintptr_t known = (uintptr_t) owner - inside + mprBarrier.bias + (inside >> MPR_BARRIER_SHIFT);
    return __atomic_load_n((const unsigned char *) known, __ATOMIC_RELAXED);
}

/**
    The runtime's: whether a store into a block need not be remembered. Asking before the store costs less than asking
    after it, and is safe: only a pause turns the answer from yes to no, and there is none before this thread's next
    yield.
 */
static inline int mprBarrierDone(const void *owner) {
    return (mprBarrierByte(owner) & MPR_BARRIER_DONE) != 0;
}

/**
    Store a reference: *field = value.
    @param owner The start of the block in which the field stands; any block but those of a range
    (mprAddPinnedRange), which need mprSetRefAt; not NULL. @param field Address of a
    pointer in it. @param value A block or NULL: in large blocks the collector reads the field itself, so what only the
    block's manager can read goes through mprSetWord. With option check, and in checked builds, such a value is named if the
    store is remembered. Attached threads that run. If another thread calls it, the store is
    done; if it would have to be remembered, the call is named, and the next collection looks at all old blocks, so that
    nothing is lost. Never yields. The store has release order: a thread that loads the field can read what was
    written to *value before.
 */
static inline void mprSetRef(void *owner, void *field, const void *value) {
    const unsigned char known = mprBarrierByte(owner);
    if (__builtin_expect(!(known & __atomic_load_n(&mprBarrierMask, __ATOMIC_RELAXED)), 0) &&
        (!(known & MPR_BARRIER_DONE) || mprMayBePrivate(value))) {
        mprStoreRef(owner, field, value);
        return;
    }
    __atomic_store_n((void **) field, (void *) value, __ATOMIC_RELEASE);
}

/** The runtime's: the slow part of mprSetWord. */
MPR_EXPORT void mprStoreWord(void *owner, void *field, uintptr_t word);

/**
    Store a word that only the block's manager can read, a tagged, boxed or compressed reference: *field = word. The next
    collection calls the owner's manager again, and it marks what the word stands for. In blocks above 1 KiB that costs more
    than mprSetRef, since all of the block is looked at. A thread that takes back its own garbage (mprSetBatches) keeps all
    of it at its next yield, unless the owner is private, too. Otherwise as mprSetRef.
 */
static inline void mprSetWord(void *owner, void *field, uintptr_t word) {
    if (__builtin_expect(!(mprBarrierByte(owner) & __atomic_load_n(&mprBarrierMask, __ATOMIC_RELAXED)), 0)) {
        mprStoreWord(owner, field, word);
        return;
    }
    __atomic_store_n((void **) field, (void *) word, __ATOMIC_RELEASE);
}

/**
    Store a reference as mprSetRef does, where the owner is not known. The field may also be outside of managed
    memory, on a stack for example: then it is a plain store. Slower than mprSetRef by a function call.
 */
MPR_EXPORT void mprSetRefAt(void *field, const void *value);

/** Store count references, as memmove would: the areas may overlap. @param fields,values Addresses of the first
    pointers. */
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
