/* SPDX-License-Identifier: MIT */
/*
    mpr/context.h - Allocation without a call, for language runtimes and generated code; and what threads allocate.

    Each thread allocates small blocks from memory of its own: its allocation contexts (elsewhere: TLABs). A thread may
    ask for them once and then allocate by itself, in half the instructions of a call: mprAllocInContext is inline, and says in
    C what generated code does:

      1. n = the granules that the block takes, the manager's word included: at most kind->most bytes, so one byte of a map
         has the size. Larger ones, and kinds whose managers are called with MPR_MANAGE_FREE, take the call.
      2. bump = context->bumps[context->lanes[n]]. Sizes that mostly die young, and others, have memory apart.
      3. If n granules do not fit between bump->bump and bump->limit: the call, mprAllocInContextSlow. It opens more memory,
         or does what waits to be done; a program that has stopped, or a trial (options everyalloc, poison), comes here, too.
      4. Else the block begins at bump->bump, and bump->map is its first byte of the map. Both go on by n.
      5. If n > 1 the second byte of the map becomes n; then the first one *context->newborn | kind->head. From here on it
         is a block. bump->blocks is counted up.
      6. A kind with a manager has kind->seal in its last word, exclusive-or the block's address; on 32-bit the address
         with its halves swapped.

    All stores are plain moves on ARM and x86: nobody else looks at the block before its address is handed over, which
    is done as for every block (a store by the barrier, a lock). Between these steps the thread must not yield, and no
    signal handler may allocate.

    The block is not zeroed: whoever makes it fills it before the thread's next yield.

    The context is the calling thread's, from mprGetContext until the thread detaches, and is used while it runs only. At
    each yield that waits it is emptied, so a pointer to it may stay in a register, but values read from it may not.
 */
#ifndef MPR_CONTEXT_H
#define MPR_CONTEXT_H

#include "mpr/memory.h"
#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/** The runtime's: memory in which one thread bumps. */
typedef struct __attribute__((may_alias)) MprBump {
    unsigned char *begin;
    unsigned char *bump;  /* Where the next block begins */
    unsigned char *limit; /* Where the memory ends */
    unsigned char *map;   /* The byte that describes the granule at bump */
    size_t blocks;        /* Counted: others read it */
} MprBump;

/** What a thread allocates from by itself. */
typedef struct MprContext {
    const unsigned char *lanes;   /* By granules: which of bumps */
    const unsigned char *newborn; /* The colour of new blocks; it changes while threads are stopped */
    MprBump *bumps[2];
} MprContext;

/** Blocks of one kind: what their heads and last words say. Made once by mprSetBlockKind. */
typedef struct MprBlockKind {
    size_t most;        /* Bytes that are allocated without a call; 0: none */
    size_t extra;       /* Bytes of the manager's word */
    uintptr_t seal;     /* Of the manager; as secret as the program's memory */
    unsigned char head; /* Of the block */
    int flags;
    MprManager manager;
} MprBlockKind;

#define MPR_GRANULE_SHIFT (sizeof(void *) == 8 ? 4 : 3)
/** Granules of the largest block that is allocated without a call. */
#define MPR_CONTEXT_GRANULES 64

/**
    The calling thread's context; the same at each call.
    @return NULL on a thread that is not attached or does not run, or is the collector's (named), and without threads.
    Does not yield.
 */
MPR_EXPORT MprContext *mprGetContext(MPR_NOTHING);

/**
    Describe blocks of one kind.
    @param manager As in mprAllocManaged; NULL: they reference nothing. @param flags MPR_ALLOC_BARRIER and
    MPR_ALLOC_NO_FREE. Without both, a kind with a manager is allocated by the call: somebody has to be told of such a block.
    @return 0; MPR_ERR_BAD_ARGS, named, for other flags; MPR_ERR_TOO_MANY when there are too many managers. Valid until
    mprDestroy. Attached threads that run. Does not yield.
 */
MPR_EXPORT int mprSetBlockKind(MprBlockKind *kind, MprManager manager, int flags);

/** The runtime's: the rest of mprAllocInContext. Generated code calls it when a block does not fit. */
MPR_EXPORT void *mprAllocInContextSlow(size_t size, const MprBlockKind *kind);

/**
    Allocate a block, as mprAllocManaged(size, manager, flags) does. The calling thread runs, and the context is its own.
    @return As mprAllocMem. Does not yield.
 */
static inline void *mprAllocInContext(MprContext *context, size_t size, const MprBlockKind *kind) {
    if (__builtin_expect(size - 1 < kind->most, 1)) {
        const size_t n = (size + kind->extra + ((size_t) 1 << MPR_GRANULE_SHIFT) - 1) >> MPR_GRANULE_SHIFT;
        MprBump *bump = context->bumps[context->lanes[n]];
        unsigned char *block = bump->bump;
        const size_t bytes = n << MPR_GRANULE_SHIFT;
        if (__builtin_expect(bytes <= (size_t) (bump->limit - block), 1)) {
            unsigned char *map = bump->map;
            bump->bump = block + bytes;
            bump->map = map + n;
            if (n > 1) {
                __atomic_store_n(map + 1, (unsigned char) n, __ATOMIC_RELAXED);
            }
            __atomic_store_n(map, (unsigned char) (*context->newborn | kind->head), __ATOMIC_RELAXED);
            __atomic_store_n(&bump->blocks, bump->blocks + 1, __ATOMIC_RELAXED);
            if (kind->extra != 0) {
                const uintptr_t at = (uintptr_t) block;
                const uintptr_t seal = kind->seal ^ (sizeof(at) == 8 ? at : at << 16 | at >> 16);
                __atomic_store_n((uintptr_t *) (void *) (block + bytes) - 1, seal, __ATOMIC_RELEASE);
            }
            return block;
        }
    }
    return mprAllocInContextSlow(size, kind);
}

/** Counts of one thread, from when it was attached. */
typedef struct MprAllocStats {
    char thread[32];
    unsigned number;              /* As in MprSuspension */
    unsigned long long bytes;     /* Of blocks when made, in granules, manager words included */
    unsigned long long contexts;  /* Pieces of memory that it bumped in */
    unsigned long long slowPaths; /* Allocations that found no room there, and asked the heap */
} MprAllocStats;

/**
    What each attached thread has allocated.
    @param threads Room for so many as count says; NULL if that is 0. Bytes are exact for the calling thread while it
    runs; for others, and while it has yielded, what was made in the memory that it bumps in at the moment may be left out,
    some dozen KiB.
    @return How many threads are attached, which may be more than count; 0 without a runtime, or without threads. Any
    thread.
 */
MPR_EXPORT int mprGetAllocStats(MprAllocStats *threads, int count);

MPR_EXTERN_C_END
#endif /* MPR_CONTEXT_H */
