/* SPDX-License-Identifier: MIT */
/*
    mpr/collect.h - Collect garbage: marks, roots, holds, yield points.

    The collector has its own thread. A collection begins only when every attached thread has yielded. So a thread that
    computes for long calls mprYield now and then, and a thread that blocks yields stickily around the blocking call.
    At a yield, everything that the thread still needs must be reachable from a root, or held.

    A thread that does not yield delays collections and is named in the log. The other threads first wait for it for
    5 milliseconds: longer if it is late again before the next collection, less in a program in which some thread is
    late for every collection. Then they continue without a collection, up to the redline; without a redline up to
    three quarters of the hard limit; without a limit up to a quarter of the machine's memory. Meanwhile waiting
    takes at most a ninth of their time, their yields cost nothing, and allocation is as fast as the system provides
    new memory (option reserve has the system provide it from the start). When that memory is used up they wait at
    their yields until the late thread yields. See mpr/memory.h for threads that do not yield then.

    The thread that yields last does the marking of the pause, while the others wait. If no processor is free for
    the collector's thread, threads that yield also do part of its concurrent work (mutator assist), for a quarter
    of the pause budget per yield. So a thread that yields needs stack for the deepest MPR_MANAGE_MARK call and a
    few kilobytes more. Only the collector's thread calls managers with MPR_MANAGE_FREE.

    Without an operating system there is one thread, and no collector's. A collection runs from beginning to end inside
    mprYield or mprGC, is always a full one, and calls managers with MPR_MANAGE_FREE there. While a manager is called,
    a yield collects nothing. There are no batches: mprSetBatches does nothing and returns false, and MPR_YIELD_DISCARD is
    ignored.
 */
#ifndef MPR_COLLECT_H
#define MPR_COLLECT_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/* Flags of mprYield. */
#define MPR_YIELD_DEFAULT 0x0  /* Wait while a collection marks */
#define MPR_YIELD_COMPLETE 0x1 /* Wait until a collection has marked and swept */
#define MPR_YIELD_STICKY 0x2   /* Return at once and stay yielded until mprResetYield */
#define MPR_YIELD_DISCARD 0x4  /* Take back what was not published since the last yield; see mprSetBatches */

/* Flags of mprGC. */
#define MPR_GC_FORCE 0x1    /* Collect even if little was allocated since the last collection */
#define MPR_GC_NO_BLOCK 0x2 /* Request a collection only; the calling thread does not yield */
#define MPR_GC_COMPLETE 0x4 /* Wait until the memory has been freed */
#define MPR_GC_MINOR 0x8    /* Young blocks only: those made since the last collection; implies FORCE */
#define MPR_GC_MAJOR 0x10   /* Everything that is dead now, as with MPR_GC_FORCE, which it implies */

/**
    Called by a manager for each managed reference of its block. NULL is fine. A pointer that is not the start of a
    block is ignored, and named in the log if the manager's block can be reached: by the next full collection, by the next
    major one that marks beside the threads, with option check=1 and in stress mode at once. Does nothing outside a manager's MPR_MANAGE_MARK call. Several threads may be
    marking at the same time (option markers).
 */
MPR_EXPORT void mprMark(const void *ptr);

/**
    Make a block a root: it and everything that its manager marks are retained. Roots nest: a block that was added
    twice must be removed twice. To record a root may take memory, for which the runtime does what it does for an
    allocation, and then goes beyond the limit. If the system has none either, or the heap lies in a buffer, the log says
    so and no collection frees anything from then on, so that no block is lost. mprFree refuses roots and the Mpr
    object. If mprRealloc moves a root, the new block is the root. A block that a collection has found dead is
    refused and named. Attached threads that run. Does not yield.
 */
MPR_EXPORT void mprAddRoot(const void *ptr);
MPR_EXPORT void mprRemoveRoot(const void *ptr);

/**
    Retain this block alone: what it references is not marked on its behalf. Holds nest. NULL is fine. A block's
    first hold takes no memory. A further one may, as a root does: see mprAddRoot. A block that a collection has found
    dead, which only managers see (MPR_MANAGE_FREE), is refused and named. Attached
    threads; a thread that has yielded or is exempt waits for the end of a pause first. Does not yield.
 */
MPR_EXPORT void mprHold(const void *ptr);
/** Undo one mprHold. A block that is not held is named in the log. Threads as mprHold. */
MPR_EXPORT void mprRelease(const void *ptr);
/** Hold or release several blocks; the last argument is NULL. */
MPR_EXPORT void mprHoldBlocks(const void *ptr, ...);
MPR_EXPORT void mprReleaseBlocks(const void *ptr, ...);

/**
    A reference that roots what it points to: for C++ smart roots and C structures outside the heap. Link it once,
    assign ptr freely from attached threads that run, and unlink it before its memory is freed. Attached threads link
    and unlink in any state. One that has yielded moves a block from one to another by linking and unlinking: of
    assignments alone a collection beside it could see neither. A thread that is not attached cannot link: the call is
    refused and named, except that of a reference that is NULL when there is no runtime: it is one of a static object,
    to be linked later (next stays NULL). It can unlink a linked reference, and is named. Unlinking a reference whose
    next is NULL, or NULL, does nothing. mprDestroy unlinks all that are left. One that is linked twice, or overwritten
    while it is linked, hides others from the collector: that is named, at once or at the next collection, and from then
    on nothing is collected. Unlinking one that was overwritten itself is undefined.
 */
typedef struct MprRootRef {
    struct MprRootRef *next, *prev; /* The runtime's */
    void *ptr;                      /* The block, or NULL */
} MprRootRef;
MPR_EXPORT void mprLinkRootRef(MprRootRef *ref);
MPR_EXPORT void mprUnlinkRootRef(MprRootRef *ref);

/**
    A yield point (safepoint). With MPR_YIELD_DEFAULT it returns at once if no collection waits, else when marking
    has ended. It also waits, for a bounded time, if the program allocates faster than its garbage can be swept. It
    does nothing on a thread that has yielded already and on the collector's own thread. On a thread that is not
    attached, in an MPR_MANAGE_MARK call and inside the notifier it does nothing and is named in the log.
 */
MPR_EXPORT void mprYield(int flags);

/**
    Whether the calling thread takes back its own garbage when it yields. It promises in return that every block which it
    has made since its last yield, and has not published, is dead when it yields. These publish a block, and with it
    everything that the block references by its manager:
      - a store by the barrier (mpr/barrier.h) into a block that this thread has not made since its last yield, or that is
        published already; a Member in C++, lists, hashes and everything else of the runtime store so;
      - mprAddRoot, mprHold, mprLinkRootRef, MPR_ALLOC_HOLD for a leaf, and Root in C++;
      - mprPublish, for what the runtime cannot see: pointers given to another thread through unmanaged memory, and
        stores to the ptr of an MprRootRef that is linked already.
    From then on references are stored into the block by the barrier; before that plain stores are fine. A plain store
    publishes nothing, whether into a plain block or into a field that otherwise allows plain stores, such as
    HttpStream.data. Use mprSetRef there, or mprPublish before the store.

    Managers also run at other times. The manager of a barrier block is called with MPR_MANAGE_MARK when the block is
    published, so by then its fields must be valid or zero. The manager of a plain block is called with MPR_MANAGE_MARK
    when the thread that made it yields, while other threads run: it must not read anything that those may change.

    A yield then costs some nanoseconds per published block and stops nobody. The memory, which is still in the
    processor's cache, is used again at once. A block whose manager is called with MPR_MANAGE_FREE (that is each one with a
    manager that was made without MPR_ALLOC_NO_FREE) lives until the collector finds it dead, and counts as published.
    A yield keeps everything for the collector if a plain block (one without MPR_ALLOC_BARRIER) was published, if a
    block with references was born held or is too large for the thread's own memory, if more than 512 blocks were
    published, if memory was too short to be the thread's own, while a C++ constructor runs, if it waits, and
    if it is sticky: mprReadBatchStats counts which. With option check=1 nothing is used again: see mpr/runtime.h.

    Every mprYield(0) of the thread takes back, until it is called with false; mprYield(MPR_YIELD_DISCARD) takes back
    whatever this says. The first of those takes back nothing, because earlier allocations were not tracked.
    @return The previous setting. Attached threads that run. Does not yield. Costs 50 KiB for the thread.
 */
MPR_EXPORT bool mprSetBatches(bool on);

/** The runtime's: see mprNeedYield. */
extern MPR_EXPORT bool mprYieldWanted;

/** Whether mprYield(0) would wait. One load, inline (a call would cost more than the answer): for inner loops. Any
    thread. */
static inline bool mprNeedYield(MPR_NOTHING) {
    return __atomic_load_n(&mprYieldWanted, __ATOMIC_RELAXED);
}

/** End a sticky yield. Waits while a collection marks. Does nothing on a thread that is not in a sticky yield. */
MPR_EXPORT void mprResetYield(MPR_NOTHING);

/**
    Collect. @param flags MPR_GC_*. With MPR_GC_NO_BLOCK the call only requests a collection; otherwise the calling
    thread yields, so whatever it needs must be rooted. Without MPR_GC_FORCE nothing happens until half of the
    budget has been allocated. A wait with MPR_GC_COMPLETE ends early, with a message, if an MPR_MANAGE_FREE call
    takes longer than the deadline, because that manager may be waiting for a lock that the caller holds.
    @return Blocks freed by the collection waited for (MPR_GC_COMPLETE), else 0.
    @remarks Works also while mprEnableGC(false) is in force. In an MPR_MANAGE_FREE call it only requests. Attached
    threads in any state, except inside the notifier; with MPR_GC_NO_BLOCK any thread.
 */
MPR_EXPORT int mprGC(int flags);
#define mprRequestGC(flags) mprGC(flags)

/**
    Whether allocation starts collections. While it does not, only the program's own requests collect
    (mprGC), near a limit too: an allocation for which there is no memory fails, and the log names that as the reason
    (without an operating system only that the allocation fails).
    @return The previous setting. Any thread. Does not yield.
 */
MPR_EXPORT bool mprEnableGC(bool on);

MPR_EXTERN_C_END
#endif /* MPR_COLLECT_H */
