/*
    mpr/collect.h - Collect garbage: marks, roots, holds, yield points.

    The collector has its own thread. It may only look at the heap while every attached thread has yielded: a thread
    that computes for long calls mprYield now and then, a thread that blocks yields stickily around the call.
    At a yield, everything the thread still needs must be reachable from a root or held.

    A thread that does not yield delays collections and is named in the log. The others wait for it for 5 milliseconds, and
    longer when it happens again before the next collection; for less in a program in which it happens at each. Then they
    run on: up to the redline, or three quarters of the hard limit, or else a quarter of the machine's memory. Waiting costs
    them a ninth of their time at most, their yields cost nothing, and allocation is as fast as the system gives it memory that
    was not used before; option reserve has it given from the start. When the memory to run on is used up they wait at
    their yields until the late thread comes. See mpr/memory.h for those who do not yield then.

    The thread that yields last marks itself, while the others wait, and where no processor is left for the collector's
    thread, threads that yield do a portion of its other work, too, a quarter of the pause budget long. So a thread that
    yields needs stack for the deepest manager that marks, and some kilobytes. Managers are called with MPR_MANAGE_FREE by the
    collector's thread only.
 */
#ifndef MPR_COLLECT_H
#define MPR_COLLECT_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/* Flags of mprYield. */
#define MPR_YIELD_DEFAULT 0x0  /* Wait while a collection marks */
#define MPR_YIELD_COMPLETE 0x1 /* Wait until it has swept, too */
#define MPR_YIELD_STICKY 0x2   /* Return at once and stay yielded until mprResetYield */

/* Flags of mprGC. */
#define MPR_GC_FORCE 0x1    /* Collect even when little was allocated since the last time */
#define MPR_GC_NO_BLOCK 0x2 /* Ask only; the calling thread does not yield */
#define MPR_GC_COMPLETE 0x4 /* Wait until the memory has been freed */
#define MPR_GC_MINOR 0x8    /* Young blocks only: those made since the last collection; implies FORCE */
#define MPR_GC_MAJOR 0x10   /* Everything that is dead now: what MPR_GC_FORCE does; implies it */

/**
    Called by a manager for each managed reference of its block. NULL is fine. A pointer that is not the start of a
    block is named in the log and ignored. Does nothing outside a manager's MPR_MANAGE_MARK call. Several threads may be
    marking at the same time (option markers).
 */
MPR_EXPORT void mprMark(cvoid *ptr);

/**
    Make a block a root: it is retained, its manager is invoked. Roots nest: as many mprRemoveRoot as mprAddRoot.
    When there is no memory to remember another one, not even after the notifier and the policy, the log says so and
    nothing is collected from then on: rather that than lose a block. mprFree still works, but not of a root, nor of the
    Mpr: that is refused. mprRealloc makes a root of where it moves one to. Attached threads that run. Does not yield.
 */
MPR_EXPORT void mprAddRoot(cvoid *ptr);
MPR_EXPORT void mprRemoveRoot(cvoid *ptr);

/**
    Retain this block alone; what it references is not marked on its behalf. Holds nest. NULL is fine. Attached threads; on
    one that has yielded, or is exempt, it waits while a pause is on. Does not yield.
 */
MPR_EXPORT void mprHold(cvoid *ptr);
/** Undo one mprHold; the same holds. A block that is not held is named in the log. */
MPR_EXPORT void mprRelease(cvoid *ptr);
/** The same for several; the last argument is NULL. */
MPR_EXPORT void mprHoldBlocks(cvoid *ptr, ...);
MPR_EXPORT void mprReleaseBlocks(cvoid *ptr, ...);

/**
    A reference that roots what it points to: for C++ smart roots and C structures outside the heap.
    Link it once, assign ptr freely from attached threads, unlink it before its memory goes.
    Attached threads in any state. By others a link is refused, and the unlinking of that reference does nothing; what is
    linked they unlink, and are named. mprDestroy unlinks what is left.
 */
typedef struct MprRootRef {
    struct MprRootRef *next, *prev; /* The runtime's */
    void *ptr;                      /* The block, or NULL */
} MprRootRef;
MPR_EXPORT void mprLinkRootRef(MprRootRef *ref);
MPR_EXPORT void mprUnlinkRootRef(MprRootRef *ref);

/**
    A yield point. With MPR_YIELD_DEFAULT returns at once when no collection waits, else when marking has ended; it
    also waits, boundedly, when this program allocates faster than its garbage can be swept.
    Does nothing on a thread that has yielded already, and on the collector's own thread. On a thread that is not attached,
    in MPR_MANAGE_MARK and inside the notifier it does nothing either, and is named in the log.
 */
MPR_EXPORT void mprYield(int flags);

/** The runtime's: see mprNeedYield. */
extern MPR_EXPORT bool mprYieldWanted;

/** Whether mprYield(0) would wait. One load, inline (a call would cost more than the answer): for inner loops. Any thread. */
static inline bool mprNeedYield(void) {
    return __atomic_load_n(&mprYieldWanted, __ATOMIC_RELAXED);
}

/** End a sticky yield. Waits while a collection marks. Without one it does nothing. */
MPR_EXPORT void mprResetYield(void);

/**
    Collect. @param flags MPR_GC_*. With MPR_GC_NO_BLOCK only asks; otherwise the calling thread yields, so whatever it
    needs must be rooted. Without MPR_GC_FORCE nothing happens until half of the budget has been allocated.
    A wait with MPR_GC_COMPLETE ends early, with a message, when a manager's MPR_MANAGE_FREE call takes longer than the
    deadline (it may be waiting for a lock that the caller holds).
    @return Blocks freed by the collection waited for (MPR_GC_COMPLETE), else 0.
    @remarks Works also while mprEnableGC(false) is in force. From a manager that frees it only asks. Attached threads in
    any state, but not inside the notifier; with MPR_GC_NO_BLOCK any thread.
 */
MPR_EXPORT int mprGC(int flags);
#define mprRequestGC(flags) mprGC(flags)

/** Whether allocation starts collections. @return The previous setting. */
MPR_EXPORT bool mprEnableGC(bool on);

MPR_EXTERN_C_END
#endif /* MPR_COLLECT_H */
