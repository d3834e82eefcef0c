/*
    mpr/memory.h - Allocate, resize, free and examine managed memory.

    A block belongs to the collector. It is safe without any root from the moment its thread allocates it, or reads it
    from the heap, until that thread yields (mpr/collect.h). A NULL from an allocation means that the hard limit was
    reached or the system had no memory: the notifier of mpr/limits.h has been called before. Before that the allocation
    waits for the end of a sweep that is under way, and for managers that free, unless one takes longer than 10 ms: it may
    be waiting for the caller.

    NULL does not mean that all blocks are alive. What has died since the last collection goes in the next, and that cannot
    begin before the caller yields: it may have blocks that nothing else references. A refused allocation has asked for that
    collection. So a thread that can, yields and tries again; after the yield its blocks need roots.

        void *block = mprAlloc(size);
        if (!block) {
            mprYield(MPR_YIELD_COMPLETE); // until all that is dead has gone
            block = mprAlloc(size);
        }

    Where threads yield often, collections come early enough for this to be rare, as long as live data take up to about half
    of the hard limit: blocks never move, so of what is free a part lies between others in pieces too short to serve.

    While one thread does not yield, the others allocate on up to the redline (mpr/collect.h). From there on each waits at its
    next yield, until the late one, which the log names, has yielded, and a collection has run. A thread that allocates on
    without a yield crosses the redline, of which the notifier hears, and meets the policy of mprSetMemPolicy at the hard
    limit.

    Alignment: 16 bytes on 64-bit, 8 on 32-bit. Cost: constant; no allocation and no free scans anything.
    Threads: attached threads that run (have not yielded), unless said otherwise; others are refused and named in the log, see
    mpr/runtime.h. None of these calls yields.
 */
#ifndef MPR_MEMORY_H
#define MPR_MEMORY_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/* Allocation flags. */
#define MPR_ALLOC_MANAGER 0x1 /* Reserve room for a manager; see mprSetManager */
#define MPR_ALLOC_ZERO 0x2    /* Zero the block */
#define MPR_ALLOC_HOLD 0x4    /* Born with one hold; see mprHold */
#define MPR_ALLOC_NO_FREE \
    0x10                       /* The manager need not be called with MPR_MANAGE_FREE: the sweep is cheaper.
                                  Promises also that the manager only marks fields inside the block. */
#define MPR_ALLOC_BARRIER 0x20 /* References are written by mprSetRef only; see mpr/barrier.h */

/* What a manager is called for. */
#define MPR_MANAGE_FREE 0x1 /* The block is dead: release what is outside the heap */
#define MPR_MANAGE_MARK 0x2 /* Call mprMark on each managed reference; do nothing else */

/**
    Says what a block references, and releases what it owns outside the heap.
    With MPR_MANAGE_MARK all threads are stopped, unless the block is one with a barrier (mpr/barrier.h): call mprMark on
    each managed reference and nothing else. It may be called more than once in a collection, by the collector's threads
    and by threads that yield, by several at the same time, for this and other blocks: whatever it writes, statistics of
    its own say, must be atomic.
    With MPR_MANAGE_FREE it runs on the collector's thread while the application runs. The order between blocks is
    arbitrary; the memory of every block that dies in the same collection stays readable until all managers have run.
    It may lock and allocate. It must not store ptr anywhere.
    Blocks keep numbers of managers. There are numbers for 2047 different ones in a process, the runtime's own included, and
    none is given back. Beyond that mprAllocManaged and mprSetManager return NULL for a manager that has not been used before,
    which the log says, and the others go on as they were. (Without an operating system there is no such limit.)
 */
typedef void (*MprManager)(void *ptr, int flags);

/**
    Allocate a block.
    @param size Bytes, 0 included (the least block is one granule).
    @param flags MPR_ALLOC_*.
    @return The block, its contents undefined unless MPR_ALLOC_ZERO; NULL past the hard limit, when the system has no
    memory, when size cannot be had at all (cause MPR_MEM_TOO_BIG), or on a thread that is not attached.
 */
MPR_EXPORT void *mprAllocMem(size_t size, int flags);

/** Allocate a leaf block, contents undefined. */
MPR_EXPORT void *mprAlloc(size_t size);

/** Allocate a leaf block of zeros. */
MPR_EXPORT void *mprAllocZeroed(size_t size);

/** Same as mprAlloc. */
MPR_EXPORT void *mprAllocFast(size_t usize);

/** Allocate a block with a manager. @param flags as mprAllocMem; MPR_ALLOC_MANAGER is implied when manager is set. */
MPR_EXPORT void *mprAllocManaged(size_t size, MprManager manager, int flags);

/**
    Resize a block, in place where room allows.
    @param ptr A block, or NULL to allocate a leaf.
    @param size New size in bytes. Bytes past the old size are undefined.
    @return The block, perhaps elsewhere, with manager, holds and contents kept; NULL when there is no memory, and then
    the old block is untouched. If the block moves, the old one is freed: no other reference may exist.
 */
MPR_EXPORT void *mprRealloc(void *ptr, size_t size);
MPR_EXPORT void *mprReallocMem(void *ptr, size_t size);

/** Copy size bytes into a new leaf block. @return NULL when ptr is NULL or there is no memory. */
MPR_EXPORT void *mprMemdup(cvoid *ptr, size_t size);
MPR_EXPORT void *mprMemdupMem(cvoid *ptr, size_t size);

/**
    Give a block back now. Its manager runs with MPR_MANAGE_FREE on this thread first; that of a barrier block may at the
    same time be marking on the collector's. NULL is fine.
    A double free, a held block, a root, an interior or a foreign pointer is refused: the log names it and nothing changes.
    @return 0, or MPR_ERR_BAD_ARGS.
 */
MPR_EXPORT int mprFree(void *ptr);

/** Set the manager of a block that was allocated with room for one. @return ptr, or NULL when it has no room. */
MPR_EXPORT void *mprSetManager(void *ptr, MprManager manager);

/** Bytes that may be used in a block, at least the size asked for. 0 when ptr is not a block. Any thread. */
MPR_EXPORT size_t mprGetBlockSize(cvoid *ptr);

/** Whether ptr is the start of a block in use. Any pointer value may be asked about. Any thread. */
MPR_EXPORT int mprIsValid(cvoid *ptr);

/** Compare like memcmp; the shorter of two equal beginnings comes first. */
MPR_EXPORT int mprMemcmp(cvoid *b1, size_t b1Len, cvoid *b2, size_t b2Len);

/** Copy at most destMax bytes; areas may overlap. @return Bytes copied: nbytes, or 0 when they do not fit. */
MPR_EXPORT size_t mprMemcpy(void *dest, size_t destMax, cvoid *src, size_t nbytes);

/* Permanent memory: never collected, freed by hand. Any thread, attached or not, yielded or not. */
MPR_EXPORT void *palloc(size_t size);
MPR_EXPORT void pfree(void *ptr);
MPR_EXPORT void *prealloc(void *ptr, size_t size);
MPR_EXPORT size_t psize(void *ptr);

/* Page protection of mprVirtAlloc. */
#define MPR_MAP_READ 0x1
#define MPR_MAP_WRITE 0x2
#define MPR_MAP_EXECUTE 0x4

/** Pages straight from the system, outside the heap and its limits. @return NULL when there are none. Any thread. */
MPR_EXPORT void *mprVirtAlloc(size_t size, int mode);
MPR_EXPORT void mprVirtFree(void *ptr, size_t size);
/** Bytes in a page of the system. */
MPR_EXPORT int mprGetPageSize(void);

/** Accepted for source compatibility: names are not kept. @return ptr. */
MPR_EXPORT void *mprSetName(void *ptr, cchar *name);
#define mprGetName(ptr) ((cchar *) "")

#define mprAllocObj(Type, manager) \
    ((Type *) mprAllocManaged(sizeof(Type), (MprManager) (manager), MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO))
#define mprAllocObjNoZero(Type, manager) \
    ((Type *) mprAllocManaged(sizeof(Type), (MprManager) (manager), MPR_ALLOC_MANAGER))
#define mprAllocObjWithFlags(Type, manager, flags) \
    ((Type *) mprAllocManaged(sizeof(Type), (MprManager) (manager), (flags) | MPR_ALLOC_MANAGER))
#define mprAllocStruct(Type) ((Type *) mprAllocZeroed(sizeof(Type)))
#define mprAllocStructNoZero(Type) ((Type *) mprAlloc(sizeof(Type)))
#define mprAllocBlock(size, flags) mprAllocMem((size), (flags))

MPR_EXTERN_C_END
#endif /* MPR_MEMORY_H */
