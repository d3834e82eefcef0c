/* SPDX-License-Identifier: MIT */
/*
    mpr/pinned.h - Pinned memory: aligned buffers for devices and C libraries, in regions of their own.

    No block of the runtime ever moves. A pinned block has an alignment besides, and lies apart from the
    ordinary heap, in regions, free queues and a lock of its own: buffers that live for long do not lie
    scattered among blocks that come and go. It references nothing and has no manager, so it is never traced. It
    is reached as any block is: from fields of blocks, plain ones and those with the barrier, from roots, holds
    and handles. One that is not reached is freed by the next major collection; minor collections do not look at
    it. mprFree frees it at once.

        void *frame = mprAllocPinned(1536, 64, MPR_ALLOC_ZERO);
        mprSetRef(port, &port->frame, frame);       // and its manager marks it, as any reference

    Memory from the system counts against the limits (mpr/limits.h) as the rest of the heap does. A board may
    designate *ranges* besides, by name: memory for DMA, that is not cached, or of a certain bank. Blocks of a
    range lie in that memory, and count against nothing else. A store into one is made by mprSetRefAt: mprSetRef would look
    for what describes the block beside it.

        static unsigned char sram2[64 * 1024];
        mprAddPinnedRange("dma", sram2, sizeof(sram2));
        void *buffer = mprAllocPinnedIn("dma", 4096, 32, 0);

    With an operating system nothing of the runtime's lies in a range: no header, no map, no link. Those are in
    ordinary memory, so a range may be memory that is not cached or that has no atomic instructions, and a
    device that writes too far cannot harm them. (For each free stretch a page of ordinary memory is used, at
    most.) Without an operating system the header and the map come first in the range: less than 0.3 KiB and an eighth
    of it. They are read and written with plain instructions, rarely; let such a range be cached in its first
    eighth, or not cached as a whole. The contents of free memory in a range are then undefined, as links lie
    there.

    There, and for a runtime in a buffer of the program's (mprCreateInBuffer), memory for mprAllocPinned comes
    from the range that was added first.

    mprRealloc, mprSetManager, pfree and prealloc refuse a pinned block and name it. mprGetBlockSize,
    mprIsValid, mprHold, mprRelease, mprAddRoot and handles know them, and mprVerifyHeap and mprPrintMem do where there
    is an operating system. In blocks of
    ranges free memory is not filled (option poison) nor forbidden under the address sanitizer.

    Cost: constant time, under one lock for all threads; a batch takes it once for 64 blocks. Threads: attached
    threads that run, unless a function says otherwise; others are refused and named. None of these functions
    yields.
 */
#ifndef MPR_PINNED_H
#define MPR_PINNED_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/**
    Allocate a pinned block.
    @param size Bytes, 0 included.
    @param alignment Its address is a multiple of it: a power of two from 16 to 4096 or to the size of a page
    (mprGetPageSize), if that is greater. 0 is 16.
    @param flags MPR_ALLOC_ZERO, MPR_ALLOC_HOLD; others are refused and named.
    @return The block, its contents undefined unless MPR_ALLOC_ZERO. NULL when there is no memory, as mprAlloc; when
    the alignment is none of those (named); without an operating system when there is no range.
 */
MPR_EXPORT void *mprAllocPinned(size_t size, size_t alignment, int flags);

/**
    Allocate several pinned blocks, side by side if there is room. They are blocks as others, each freed and
    collected by itself. The first does not keep the others: store all of them before the calling thread yields.
    @param count Blocks; 0 or less is none.
    @param size,alignment,flags As mprAllocPinned, of each. Where that wastes little, sizes are rounded up to
    the alignment.
    @param blocks Where to write count addresses. Those that could not be had are NULL.
    @return How many there are: fewer than count when there is no memory.
 */
MPR_EXPORT int mprAllocPinnedBatch(int count, size_t size, size_t alignment, int flags, void **blocks);

/**
    Free several pinned blocks as mprFree does, at less cost, chiefly if they lie side by side in order. NULL
    among them is fine. A block that mprFree would refuse is refused and named, others are freed. @return 0, or
    MPR_ERR_BAD_ARGS when any was refused.
 */
MPR_EXPORT int mprFreePinnedBatch(int count, void *const *blocks);

/**
    Designate memory for pinned blocks. It stays the runtime's until mprDestroy, after which the program may use
    it for something else.
    @param name For mprAllocPinnedIn; 1 to 15 characters, copied.
    @param memory The range; not the runtime's own. @param size Bytes: 1 KiB or more; at most 192 MiB on 64 bit,
    96 MiB on 32 bit, 1 MiB without an operating system.
    @return 0. MPR_ERR_ALREADY_EXISTS: the name, or some of the memory, is a range already. MPR_ERR_WONT_FIT:
    too small or too large. MPR_ERR_BAD_ARGS: another argument. MPR_ERR_MEMORY. MPR_ERR_BAD_STATE: the calling
    thread may not.
 */
MPR_EXPORT int mprAddPinnedRange(const char *name, void *memory, size_t size);

/** mprAllocPinned from a range. @return Also NULL when the range is full, or there is none of that name (named). */
MPR_EXPORT void *mprAllocPinnedIn(const char *name, size_t size, size_t alignment, int flags);
/** mprAllocPinnedBatch from a range. */
MPR_EXPORT int mprAllocPinnedBatchIn(const char *name, int count, size_t size, size_t alignment, int flags,
                                     void **blocks);

/** @return Whether ptr is the start of a pinned block in use. Any value is allowed. Any thread. */
MPR_EXPORT bool mprIsPinned(const void *ptr);

/** The generation of pinned blocks, or a range's part of it. Bytes unless said otherwise; since mprCreate. */
typedef struct MprPinnedStats {
    unsigned long long blocksAllocated; /* Blocks */
    unsigned long long blocksFreed;     /* Blocks, by sweep and by hand */
    unsigned long long blocksCollected; /* Blocks, by sweep */
    unsigned long long bytesLive;       /* In blocks that were not freed yet */
    unsigned long long committed;       /* From the system, heads and free memory included; of a range 0 */
    unsigned long long size;            /* Of a range; else 0 */
    unsigned long long regions;         /* Regions */
} MprPinnedStats;

/**
    Read figures of pinned blocks. MprMemStats counts them only in `heap`, the memory committed.
    @param name Of a range; NULL: of the memory from the system. @return 0, MPR_ERR_CANT_FIND: no such range.
    Any thread.
 */
MPR_EXPORT int mprReadPinnedStats(const char *name, MprPinnedStats *stats);

MPR_EXTERN_C_END
#endif /* MPR_PINNED_H */
