/* SPDX-License-Identifier: MIT */
/*
    mpr/limits.h - The redline, the hard limit, and what happens when memory runs short.

    "Memory" here is what the heap has committed: blocks, free memory that it keeps, the collector's own tables,
    and handles, by 64 KiB (32 on 32-bit).
    Without an operating system, where all memory is committed from the start, it is blocks and tables.

    Threads: any thread while there is a runtime. Before mprCreate and after mprDestroy these functions do nothing
    and are named in the log.
 */
#ifndef MPR_LIMITS_H
#define MPR_LIMITS_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/* What the runtime does by itself, after the notifier, when an allocation fails; not for MPR_MEM_TOO_BIG. */
#define MPR_ALLOC_POLICY_NOTHING 0 /* The allocation returns NULL */
#define MPR_ALLOC_POLICY_PRUNE 1   /* Call the pruners (at the redline too), try once more, else NULL */
#define MPR_ALLOC_POLICY_RESTART \
    2 /* Execute the program again with the arguments of mprCreate; on a board: mprBoardRestart */
#define MPR_ALLOC_POLICY_EXIT 3  /* Run the terminators and exit with status 1; on a board: mprBoardExit */
#define MPR_ALLOC_POLICY_ABORT 4 /* Print the state of the heap and abort; on a board two numbers, and mprBoardAbort */

/* Why the notifier is called. */
#define MPR_MEM_WARNING 0x1 /* The redline was crossed; allocations still succeed */
#define MPR_MEM_LIMIT 0x2   /* An allocation would exceed the hard limit */
#define MPR_MEM_FAIL 0x4    /* The system has no memory */
#define MPR_MEM_TOO_BIG 0x8 /* The request alone is more than the heap can ever have */
#define MPR_MEM_HOST 0x10   /* The host refuses pages: mprSetHost */
#define MPR_MEM_WELL 0x40   /* After MPR_MEM_WARNING or an allocation that failed: what was put off may go on */
#define MPR_MEM_LOAD 0x20 /* For pruners only: the machine, the container or the host is short of memory: mpr/host.h */

/**
    Called when memory runs short, and when it is well again, on the thread that allocates, inside its call: what that
    thread, and others, are about to change may be half changed.
    @param cause One MPR_MEM_*. @param policy The policy in force.
    @param size Bytes being asked for. @param total Bytes committed. It may allocate (a reserve below the hard limit
    is kept for it), drop references, and request a collection with MPR_GC_NO_BLOCK. It must not throw, and must not
    yield: mprYield, mprGC without that flag, mprSetThreadYield and mprDetachThread are refused and named. A call that
    has to wait, for a lock for example, waits without a yield and is named. The notifier is not called again while it
    runs.
    Without a notifier the log names each cause, once a second at most, and says what to do (not on a board).
    MPR_MEM_WARNING comes once per crossing: again only after memory has been well. MPR_MEM_WELL comes once after it, and
    after allocations that failed, with the next allocation that is not served from the thread's own memory: see
    mprGetMemState.
 */
typedef void (*MprMemNotifier)(int cause, int policy, size_t size, size_t total);

/**
    Set the limits.
    @param warnHeap The redline, bytes; 0 or less: none. A redline above the maximum, which would never be crossed, is
    refused: the log says so, and no limit changes. One below what is committed has been crossed already.
    @param maximum The hard limit, bytes; 0 or less: none. It is never exceeded. The last 1/32 below it (at least 64
    KiB, at most a quarter) is a reserve for the notifier and the pruners: for everyone else allocation ends there.
    A maximum below what blocks take, garbage not yet collected included, pinned ones not, is refused in the same way. Below what is
    committed it is named and accepted: nothing more is committed until enough has been given back. Under a few megabytes
    that many threads share, option region=256k refuses less: memory is committed in smaller pieces.
    @param cache Free memory to keep when the heap is idle or a collection was forced; -1 does not change it (1 MiB).
 */
MPR_EXPORT void mprSetMemLimits(ptrdiff_t warnHeap, ptrdiff_t maximum, ptrdiff_t cache);
MPR_EXPORT void mprSetMemNotifier(MprMemNotifier cback);
MPR_EXPORT void mprSetMemPolicy(int policy);

/**
    Whether memory is well, for who sheds load while it is not: one figure, with hysteresis, and the one that the notifier
    is told of. It is decided by what can still be allocated, so free memory that the heap keeps counts as free, however it
    is scattered, until an allocation was refused beside it. Costs a lock for some instructions.

    @return MPR_MEM_WELL; MPR_MEM_WARNING from the crossing of the redline until a sixteenth below it, or less, is in use;
    MPR_MEM_LIMIT from when an allocation of ordinary size (a sixteenth of the limit, 1 MiB at most) was refused until a
    sixteenth below the reserve, or less, is in use. What a collection has not freed yet counts as in use, so where nobody
    allocates, ask for one now and then (mprGC). Without limits MPR_MEM_WELL, unless the system refused memory.
 */
MPR_EXPORT int mprGetMemState(MPR_NOTHING);

/** Gives back what can be rebuilt: caches. Runs under the rules of the notifier. */
typedef void (*MprPruner)(void *data, int cause);

/** Add a pruner for MPR_ALLOC_POLICY_PRUNE. @return 0, or MPR_ERR_MEMORY when 16 exist (without an operating system:
    4). */
MPR_EXPORT int mprAddPruner(MprPruner pruner, void *data);
/** Remove a pruner, which may be running in another thread at this moment. */
MPR_EXPORT void mprRemovePruner(MprPruner pruner, void *data);

/** Whether an allocation has failed since the last mprResetMemError. */
MPR_EXPORT bool mprHasMemError(MPR_NOTHING);
MPR_EXPORT void mprSetMemError(MPR_NOTHING);
MPR_EXPORT void mprResetMemError(MPR_NOTHING);

MPR_EXTERN_C_END
#endif /* MPR_LIMITS_H */
