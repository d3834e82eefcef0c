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
    uint64_t count, total;
    uint64_t p50, p99, p999, max;
} MprTimes;

/** A snapshot. Bytes unless said otherwise; counts are since mprCreate. */
typedef struct MprMemStats {
    uint64_t blocksAllocated; /* Blocks */
    uint64_t bytesAllocated;  /* In granules, manager words included; the open contexts' share lags behind */
    uint64_t blocksFreed;     /* Blocks, by sweep and by hand */
    uint64_t bytesFreed;
    uint64_t bytesLive;   /* In blocks when last swept, plus what was allocated since */
    uint64_t bytesMarked; /* Reached by the last collection */
    uint64_t heap;        /* Committed: never more than maxHeap */
    uint64_t heapPeak;
    uint64_t bytesFree;                    /* Committed and free: in holes */
    uint64_t largestFree;                  /* The largest hole that is committed (a lower bound, by size range) */
    uint64_t warnHeap, maxHeap, cacheHeap; /* Limits; 0 is none */
    uint64_t youngBudget;                  /* Bytes to allocate before the next collection starts */
    uint64_t regions;                      /* Regions */
    uint64_t collections;                  /* Collections completed */
    uint64_t collectionsMinor, collectionsMajor;
    uint64_t collectionsIdle; /* Requested by a thread that was about to wait for events */
    uint64_t checkDefects;    /* Option check=1: reachable blocks that were not marked; the log names each */
    uint64_t managersFreed;   /* MPR_MANAGE_FREE calls by the collector */
    uint64_t markOverflows;   /* Times the mark stack was full */
    uint64_t marksShared;     /* Pauses in which several threads marked; option markers */
    uint64_t marksBeside;     /* Stretches, of some milliseconds, of parallel marking while threads ran */
    uint64_t marksSliced;     /* Incremental steps: pauses that only marked plain blocks for a major collection */
    uint64_t pausesByThreads; /* Pauses done by the thread that stopped last, not by the collector's thread */
    uint64_t assists;  /* Mutator assists: the collector's work done by threads, no processor being free for it */
    uint64_t purged;   /* Given back to the system */
    uint64_t redlines; /* Crossings of the redline */
    uint64_t errors;   /* Allocations that returned NULL */
    uint64_t misuses;  /* Wrong calls, and writes to freed memory, named in the log */
    uint64_t late;     /* Threads named for keeping a collection waiting */
    uint64_t ram;      /* Of the machine */
    int threads;       /* Attached */
    int numCpu;
    int pageSize;
    MprTimes pause;      /* What a thread lost at one yield: wait for the others, marking, wake-up; or an assist */
    MprTimes stall;      /* What a thread lost because the sweep was behind */
    MprTimes rendezvous; /* Request until every thread had yielded */
    MprTimes mark;       /* All threads stopped */
    MprTimes sweep;      /* From the end of the pause until all memory was freed; threads run meanwhile */
} MprMemStats;

/** @return A snapshot, overwritten by the next call from any thread. Does not yield. Any thread. */
MPR_EXPORT MprMemStats *mprGetMemStats(MPR_NOTHING);
/** Write a snapshot into the caller's own structure. Does not yield. Any thread. */
MPR_EXPORT void mprReadMemStats(MprMemStats *stats);

/** Resident memory of the process, bytes; 0 when the system does not tell. Any thread. */
MPR_EXPORT size_t mprGetMem(MPR_NOTHING);
/** CPU time of the process, microseconds. Any thread. */
MPR_EXPORT uint64_t mprGetCPU(MPR_NOTHING);

/** Print a summary to standard error. @param msg Headline. @param flags 0. */
MPR_EXPORT void mprPrintMem(const char *msg, int flags);

/**
    Walk the whole heap and check every invariant: each granule belongs to one block or one hole, each hole stands
    in the queue of its size, counts add up. All other attached threads stop at their next yield until it is done.
    The caller does not yield, so its blocks need no roots. For tests: it takes some nanoseconds per block.
    @return Defects found; each is named in the log. MPR_ERR_TIMEOUT when a thread does not yield, or a manager does
    not return, within eight deadlines; MPR_ERR_BAD_STATE on a thread that is not attached or has yielded, and in
    managers.
 */
MPR_EXPORT int mprVerifyHeap(void);

MPR_EXTERN_C_END
#endif /* MPR_STATS_H */
