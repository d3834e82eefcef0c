/* SPDX-License-Identifier: MIT */
/*
    mpr/stats.h - What the heap holds and what collection costs.
 */
#ifndef MPR_STATS_H
#define MPR_STATS_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/** A distribution of times, nanoseconds. Percentiles are upper bounds of buckets no wider than one sixteenth;
    without an operating system only max is kept, and stands for them. */
typedef struct MprTimes {
    unsigned long long count, total;
    unsigned long long p50, p99, p999, max;
} MprTimes;

/** A snapshot. Bytes unless said otherwise; counts are since mprCreate. */
typedef struct MprMemStats {
    unsigned long long blocksAllocated; /* Blocks */
    unsigned long long bytesAllocated;  /* In granules, manager words included; the open contexts' share lags behind */
    unsigned long long blocksFreed;     /* Blocks, by sweep and by hand */
    unsigned long long bytesFreed;
    unsigned long long bytesLive;   /* In blocks when last swept, plus what was allocated since */
    unsigned long long bytesMarked; /* Reached by the last collection */
    unsigned long long heap;        /* Committed: never more than maxHeap */
    unsigned long long heapPeak;
    unsigned long long bytesFree;   /* Committed and free: in holes */
    unsigned long long largestFree; /* The largest hole that is committed (a lower bound, by size range) */
    unsigned long long warnHeap, maxHeap, cacheHeap; /* Limits; 0 is none */
    unsigned long long youngBudget;                  /* Bytes to allocate before the next collection starts */
    unsigned long long regions;                      /* Regions */
    unsigned long long collections;                  /* Collections completed */
    unsigned long long collectionsMinor, collectionsMajor;
    unsigned long long collectionsIdle; /* Requested by a thread that was about to wait for events */
    unsigned long long checkDefects;    /* Option check=1: reachable blocks that were not marked; the log names each */
    unsigned long long managersFreed;   /* MPR_MANAGE_FREE calls by the collector */
    unsigned long long markOverflows;   /* Times the mark stack was full */
    unsigned long long marksShared;     /* Pauses in which several threads marked; option markers */
    unsigned long long marksBeside;     /* Stretches, of some milliseconds, of parallel marking while threads ran */
    unsigned long long marksSliced; /* Incremental steps: pauses that only marked plain blocks for a major collection */
    unsigned long long pausesByThreads; /* Pauses done by the thread that stopped last, not by the collector's thread */
    unsigned long long
        assists; /* Mutator assists: the collector's work done by threads, no processor being free for it */
    unsigned long long purged;   /* Given back to the system */
    unsigned long long redlines; /* Crossings of the redline that the notifier was told of, or will be */
    unsigned long long errors;   /* Allocations that returned NULL */
    unsigned long long misuses;  /* Wrong calls, and writes to freed memory, named in the log */
    unsigned long long late;     /* Threads named for keeping a collection waiting */
    unsigned long long ram;      /* Of the machine */
    int threads;                 /* Attached */
    int numCpu;
    int pageSize;
    MprTimes pause;      /* What a thread lost at one yield: wait for the others, marking, wake-up; or an assist */
    MprTimes stall;      /* What a thread lost because the sweep was behind */
    MprTimes rendezvous; /* Request until every thread had yielded */
    MprTimes mark;       /* All threads stopped */
    MprTimes sweep;      /* From the end of the pause until all memory was freed; threads run meanwhile */
    unsigned long long
        bytesAllocatedPeak;      /* heapPeak, under an older name. This and what follows needs an operating system */
    unsigned long long rss;      /* As mprGetMem */
    unsigned long long cpuUsage; /* As mprGetCPU */
} MprMemStats;

/** What batches (mprSetBatches) have come to, of all threads, since the process began. Yields, unless said otherwise. */
typedef struct MprBatchStats {
    unsigned long long takenBack; /* Yields that took back what was not published */
    unsigned long long blocks;    /* Blocks taken back; blocksFreed has them, too */
    unsigned long long bytes;     /* Bytes taken back */
    unsigned long long published; /* Blocks that those yields left for the collector */
    /* What kept everything that was made since the yield before: */
    unsigned long long keptYield;   /* The thread stopped, or did not ask */
    unsigned long long keptPlain;   /* A plain block was published */
    unsigned long long keptOutside; /* A block with references had no room in the thread's own memory */
    unsigned long long keptFull;    /* Too much was published, or in too many places */
    unsigned long long keptHole;    /* The thread's memory was too short to be its own */
} MprBatchStats;

/** Read what batches have come to. Does not yield. Any thread. */
MPR_EXPORT void mprReadBatchStats(MprBatchStats *stats);

/** @return A snapshot, overwritten by the next call from any thread. Does not yield. Any thread. */
MPR_EXPORT MprMemStats *mprGetMemStats(MPR_NOTHING);
/** Write a snapshot into the caller's own structure. Does not yield. Any thread. */
MPR_EXPORT void mprReadMemStats(MprMemStats *stats);

/** Resident memory of the process, bytes; 0 when the system does not tell. Any thread. */
MPR_EXPORT size_t mprGetMem(MPR_NOTHING);
/** CPU time of the process, microseconds. Any thread. */
MPR_EXPORT unsigned long long mprGetCPU(MPR_NOTHING);

/**
    Print a summary to standard error: limits, times, and for leaks which kinds of blocks have the most bytes and which
    have grown since the last call. A kind is a manager (mprSetManagerName) or C++ type; blocks without a manager, C++
    types that are neither traced nor destroyed among them, are told apart by size. What is garbage and was not
    collected yet counts: call mprGC with MPR_GC_FORCE | MPR_GC_COMPLETE first to see what lives.

        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        mprPrintMem("after an hour", 0);

    Without an operating system it has no kinds. Any thread, any state, the notifier included, and without a runtime. It
    does not yield or allocate; it takes the heap's lock for moments, so it is not for handlers of the system's signals. To count
    blocks it stops all other attached threads at their next yield, for some nanoseconds per block. If one does not
    yield within eight deadlines, or the caller does not run (it is not attached, has yielded, is a manager or the log's
    handler), the summary has no kinds and says why.
    @param msg Headline. @param flags 0.
 */
MPR_EXPORT void mprPrintMem(const char *msg, int flags);

/**
    Print what an address is to standard error: in which block it lies, how far behind its start, the block's size, its
    type or manager, and its state. For a debugger above all, which has to be told the type where the library was built
    without: `call ((void (*)(void *)) mprPrintBlock)(pointer)`.

        0x7f31c0a01048: 8 bytes into block 0x7f31c0a01040 (32 bytes, Node), barrier, old, held

      leaf, plain, barrier   what the collector does with it: nothing, look at it in each pause, rely on stores by the barrier
      young, old             whether it has survived a collection
      held                   by mprHold, or it is a leaf from palloc
      root or handle         there is one that names it, or was
      written                an old barrier block that was stored into since the last pause
      dead                   a collection has found that nothing leads to it, and has not freed it yet

    Any address, any thread, any state, with and without a runtime. Takes the heap's lock, unless another thread has it:
    then it says that. Blocks of the program's own ranges (mpr/pinned.h) are not found. Not without an operating system.
 */
MPR_EXPORT void mprPrintBlock(const void *address);

/**
    Walk the whole heap and check every invariant: each granule belongs to one block or one hole, each hole stands
    in the queue of its size, counts add up. All other attached threads stop at their next yield until it is done.
    The caller does not yield, so its blocks need no roots. For tests: it takes some nanoseconds per block. Without an
    operating system ranges of pinned memory are not looked at.
    @return Defects found; each is named in the log. MPR_ERR_TIMEOUT when a thread does not yield, or a manager does
    not return, within eight deadlines; MPR_ERR_BAD_STATE on a thread that is not attached or has yielded, and in
    managers that the collector calls.
 */
MPR_EXPORT int mprVerifyHeap(void);

MPR_EXTERN_C_END
#endif /* MPR_STATS_H */
