/* SPDX-License-Identifier: MIT */
/*
    mpr/memory.h - Allocate, resize, free and examine managed memory.

    A block belongs to the collector. It is safe without any root from the moment its thread allocates it, or reads it
    from the heap, until that thread yields (mpr/collect.h).

    An allocation returns NULL when the hard limit is reached or the system has no memory. Before it does, it waits
    for a sweep that is under way, and for finalizers (managers called with MPR_MANAGE_FREE), but no longer than 10
    ms for one of them, which may be waiting for the caller. Then it calls the notifier of mpr/limits.h.

    NULL does not mean that every block is alive. Blocks that died since the last collection are freed by the next
    one, which cannot begin before the caller yields, because the caller may use blocks that nothing else
    references. A refused allocation has requested that collection. A thread that can yield therefore yields and
    tries again; its blocks need roots across the yield.

        void *block = mprAlloc(size);
        if (!block) {
            mprYield(MPR_YIELD_COMPLETE); // returns when everything dead has been freed
            block = mprAlloc(size);
        }

    At the hard limit what was refused last, up to a quarter of the limit and half of a region, is kept for the thread
    that yields so, before others may take what the collection has freed. It serves an allocation of that thread that
    would fail, and is free at its next yield. Meanwhile other threads that need more memory than they have at hand wait
    for that sweep, as above; threads of real-time priority do not.

    If threads yield often and live data take up to about half of the hard limit, this is rare. With more live data
    it is not: blocks never move, so part of the free memory lies between live blocks in pieces that are too short.

    While one thread does not yield, the others continue to allocate up to the redline (mpr/collect.h). From there
    on each of them waits at its next yield until the late thread, which the log names, has yielded and a collection
    has run. A thread that continues to allocate without a yield crosses the redline, which calls the notifier, and
    meets the policy of mprSetMemPolicy at the hard limit.

    Alignment: 16 bytes on 64-bit, 8 on 32-bit. Cost: constant; no allocation and no free scans anything. Threads:
    attached threads that run (have not yielded), unless a function says otherwise. Calls by other threads are
    refused and named in the log; see mpr/runtime.h. None of these functions yields.
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
    0x10                       /* Never call the manager with MPR_MANAGE_FREE: the sweep is cheaper.
                                  The manager must only mark fields inside the block. With
                                  MPR_ALLOC_BARRIER only: a plain block's manager is called all the same. */
#define MPR_ALLOC_BARRIER 0x20 /* References are written by mprSetRef only; see mpr/barrier.h */

/* What a manager is called for. */
#define MPR_MANAGE_FREE 0x1 /* The block is dead: release what is outside the heap */
#define MPR_MANAGE_MARK 0x2 /* Call mprMark on each managed reference; do nothing else */

/**
    Says what a block references, and releases what it owns outside the heap. With MPR_MANAGE_MARK all threads are
    stopped, unless the block is one with a barrier (mpr/barrier.h) or a thread with batches yields: call mprMark on
    each managed reference and do nothing else. The collector's threads and threads that yield may call it more than
    once in a collection, for this and other blocks, several at the same time. Whatever it writes (its own statistics,
    for example) must therefore be atomic. With MPR_MANAGE_FREE it runs on the collector's thread while the application
    runs. The order between blocks is arbitrary; the memory of every block that dies in the same collection stays
    readable until all managers have run. It may lock and allocate. It must not store ptr anywhere. It may give the
    runtime's functions other blocks that die with ptr: one whose own manager has been called is found closed, as a
    socket, a file or a command is after its end. A dying block that would be given to what lives on (a new event, an
    event that is rescheduled, a worker, a thread, a handler that is to wait or of a signal, a command to start) is
    refused and named. So are calls that run events while they wait (mprServiceEvents, mprWaitForEvent, mprWaitForCmd,
    mprRunCmd, mprRun), and those that change an HTTP stream that is alive, which is its dispatcher's. To have something
    done elsewhere, create an event with data that lives on. A process can use 2047 different managers, including the
    runtime's own; a manager counts from its first use until the process ends. With any further one mprAllocManaged and
    mprSetManager return NULL and the log says why. Managers that are in use already are not affected. (Without an
    operating system there is no such limit; the managers in use take 8 to 21 bytes of the heap each, and one for which
    there is no memory makes an allocation fail. There managers are called by the thread that collects, in its yield.)
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

/** Another name for mprAlloc. */
MPR_EXPORT void *mprAllocFast(size_t usize);

/** Allocate a block with a manager. @param flags as mprAllocMem; MPR_ALLOC_MANAGER is implied when manager is set. */
MPR_EXPORT void *mprAllocManaged(size_t size, MprManager manager, int flags);

/**
    Resize a block, in place if there is room.
    @param ptr A block, or NULL to allocate a leaf.
    @param size New size in bytes. Bytes past the old size are undefined.
    @return The block, perhaps elsewhere, with manager, holds and contents kept; NULL when there is no memory, and then
    the old block is untouched. If the block moves, the old one is freed: no other reference may exist.
 */
MPR_EXPORT void *mprRealloc(void *ptr, size_t size);
MPR_EXPORT void *mprReallocMem(void *ptr, size_t size);

/** Copy size bytes into a new leaf block. @return NULL when ptr is NULL or there is no memory. */
MPR_EXPORT void *mprMemdup(const void *ptr, size_t size);
MPR_EXPORT void *mprMemdupMem(const void *ptr, size_t size);

/**
    Free a block now. Its manager runs first, with MPR_MANAGE_FREE (unless the block was made with MPR_ALLOC_BARRIER and
    MPR_ALLOC_NO_FREE), on this thread; the manager of a barrier block
    may be marking on the collector's thread at the same time. Meanwhile the manager's mprRealloc and mprRelease of the
    block are refused and named. NULL is fine. A double free, a held block, a root, an
    interior pointer and a foreign pointer are refused: the log names the pointer and nothing changes. Commands, caches, and
    handlers of signals and descriptors end at once, as by the calls that end them; their memory, which a thread of the runtime
    may have in hands, the collector frees.
    @return 0, or MPR_ERR_BAD_ARGS.
 */
MPR_EXPORT int mprFree(void *ptr);

/** Set the manager of a block that was allocated with room for one. @return ptr, or NULL when it has no room. */
MPR_EXPORT void *mprSetManager(void *ptr, MprManager manager);

/**
    Say what mprPrintMem calls the blocks of a manager; without it, the manager's symbol, or its file and an offset for
    addr2line. C++ types have their own names.
    @param name Kept, not copied: a literal.
    Any thread, before mprCreate too. There is room for 512 managers (256 on 32-bit), others stay unnamed. Without an
    operating system it does nothing.
 */
MPR_EXPORT void mprSetManagerName(MprManager manager, const char *name);

/**
    A number that the process draws at random, the same at each call: for hash functions, so that strangers who choose keys
    cannot choose such as collide. Without an operating system it is a constant. Any thread, before mprCreate too.
 */
MPR_EXPORT unsigned long long mprGetHashSecret(MPR_NOTHING);

/** @return Usable bytes of a block: at least the size it was allocated with. 0 if ptr is not a block. Any thread. */
MPR_EXPORT size_t mprGetBlockSize(const void *ptr);

/** @return Whether ptr is the start of a block in use. Any value is allowed. Any thread. */
MPR_EXPORT int mprIsValid(const void *ptr);

/** Compare like memcmp; if one area is a prefix of the other, the shorter one comes first. */
MPR_EXPORT int mprMemcmp(const void *b1, size_t b1Len, const void *b2, size_t b2Len);

/** Copy at most destMax bytes; areas may overlap. @return Bytes copied: nbytes, or 0 when they do not fit. */
MPR_EXPORT size_t mprMemcpy(void *dest, size_t destMax, const void *src, size_t nbytes);

/* Page protection of mprVirtAlloc. */
#define MPR_MAP_READ 0x1
#define MPR_MAP_WRITE 0x2
#define MPR_MAP_EXECUTE 0x4

/** Pages straight from the system, outside the heap and its limits. @return NULL when there are none. Any thread. */
MPR_EXPORT void *mprVirtAlloc(size_t size, int mode);
MPR_EXPORT void mprVirtFree(void *ptr, size_t size);
/** Bytes in a page of the system. */
MPR_EXPORT int mprGetPageSize(MPR_NOTHING);

/** For source compatibility: the name is ignored. @return ptr. */
MPR_EXPORT void *mprSetName(void *ptr, const char *name);
#define mprGetName(ptr) ((const char *) "")
#define mprCopyName(dest, src) mprSetName(dest, mprGetName(src))

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

/* Short names: see mpr/types.h. */
#if !defined(MPR_NO_SHORT_NAMES) && !defined(MPR_MEMORY_SHORT_NAMES)
#define MPR_MEMORY_SHORT_NAMES

MPR_EXTERN_C_BEGIN

/* Permanent memory: never collected, freed by hand unless it is held besides (named). Any thread in any state; without an
   operating system the attached one. When memory is short, a thread that does not run waits for collections, half a second
   at most for each; one that runs does as in mprAlloc. */
MPR_EXPORT void *palloc(size_t size);
MPR_EXPORT void pfree(void *ptr);
MPR_EXPORT void *prealloc(void *ptr, size_t size);
MPR_EXPORT size_t psize(void *ptr);

MPR_EXTERN_C_END

#endif /* MPR_MEMORY_SHORT_NAMES */
