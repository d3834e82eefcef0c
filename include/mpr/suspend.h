/* SPDX-License-Identifier: MIT */
/*
    mpr/suspend.h - When threads stop for the collector, for how long, and what for.

    A thread is *suspended* from the moment it stops at a yield, or waits for memory inside an allocation, until it goes
    on. The world is *stopped* from the moment all threads that use managed memory stand still until they may go on. A
    handler hears of both, exactly: each call of blocks is followed by one of resumes on the same thread, each of begins
    by one of ends. None is left out while the handler is added.

    Every nanosecond between blocks and resumes is accounted to one of four causes:
        others      waiting for other threads to stop, for one that has stopped the world for a purpose of its own
                    (mprVerifyHeap, mprPrintMem, the end of the runtime), for the collector to answer, or for the
                    system to let the thread go on
        marking     the world is stopped and the collector marks, in this thread or in another
        assisting   the thread itself does a step of the collector's concurrent work
        memory      waiting for a sweep: allocation is ahead of it, or the caller has asked for its end
                    (MPR_GC_COMPLETE, MPR_YIELD_COMPLETE)
    A thread in a sticky yield or exempt loses nothing; it is suspended only if it has to wait to go on.

    While no handler is added nothing is measured, and no path has an instruction for it except those that stop anyway:
    one load and one branch there.

    Needs an operating system.
 */
#ifndef MPR_SUSPEND_H
#define MPR_SUSPEND_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/* Generations: what a stop of the world has collected. */
#define MPR_GENERATION_NONE (-1) /* No collection: a stop for another purpose, an assist, a wait */
#define MPR_GENERATION_YOUNG 0   /* Blocks made since the last collection */
#define MPR_GENERATION_ALL 1     /* Everything; also a slice, a part of such a collection */

/** Lost time, nanoseconds. total is the sum of the four that follow it. */
typedef struct MprLostTime {
    unsigned long long count; /* Suspensions */
    unsigned long long total;
    unsigned long long others, marking, assisting, memory;
} MprLostTime;

/** A suspension that has ended. */
typedef struct MprSuspension {
    const char *thread;       /* Its name, while the handler runs */
    unsigned number;          /* Of the thread, counted since mprCreate */
    int generation;           /* MPR_GENERATION_*, of the last stop of the world in it */
    unsigned long long begin; /* Nanoseconds of the monotonic clock (CLOCK_MONOTONIC) */
    MprLostTime lost;         /* count is 1 */
} MprSuspension;

/**
    Functions that are called when threads stop and go on. Any may be NULL. All threads wait for begins and ends, and a
    collection may wait for blocks: they are to be short. They must not throw, and must not wait for what another thread
    holds. Calls that need a thread to run, or that yield, are refused and named, so nothing is allocated. Functions
    that any thread may call work.
 */
typedef struct MprSuspensionHandler {
    /** The calling thread is about to block. */
    void (*blocks)(void *data);
    /** The calling thread, the last to stop or the collector's, has stopped the world. */
    void (*begins)(void *data);
    /** The calling thread is about to let the others go on. @param generation MPR_GENERATION_*. */
    void (*ends)(void *data, int generation);
    /** The calling thread goes on. */
    void (*resumes)(void *data, const MprSuspension *suspension);
    void *data;
} MprSuspensionHandler;

/**
    Add a handler. It stays the caller's, and must not change until it is removed. One without functions only has lost
    time accounted. A suspension that has begun already is not told to it.
    @return 0, MPR_ERR_TOO_MANY when there are four, MPR_ERR_BAD_ARGS for NULL, MPR_ERR_ALREADY_EXISTS.
    @remarks Any thread, also before mprCreate.
 */
MPR_EXPORT int mprAddSuspensionHandler(const MprSuspensionHandler *handler);

/**
    Remove a handler. When this returns none of its functions runs, and none will. Suspensions that last are not told to
    it any more.
    @return 0, MPR_ERR_CANT_FIND, or MPR_ERR_BAD_STATE inside a handler, which is named.
    @remarks Any thread. Does not yield.
 */
MPR_EXPORT int mprRemoveSuspensionHandler(const MprSuspensionHandler *handler);

/** What all threads have lost since mprCreate, those that have ended included, while a handler was added. Any thread. */
MPR_EXPORT void mprGetLostTime(MprLostTime *lost);

/** An attached thread and what it has lost. */
typedef struct MprThreadLostTime {
    char thread[32];
    unsigned number; /* As in MprSuspension */
    MprLostTime lost;
} MprThreadLostTime;

/**
    What each attached thread has lost.
    @param threads Room for so many as count says; NULL if that is 0.
    @return How many threads are attached, which may be more than count; 0 without a runtime. Any thread.
 */
MPR_EXPORT int mprGetLostTimes(MprThreadLostTime *threads, int count);

/** How to observe. A value of 0 stands for what is said first. */
typedef struct MprSuspensionMonitor {
    unsigned long long infoFrom; /* 1 ms. Nanoseconds: suspensions this long have level 2 in the log; shorter ones 3 */
    unsigned long long warnFrom; /* 10 ms. Nanoseconds: level 1 */
    const char *histogramLog;    /* None. A file, written anew, for what mprWriteSuspensionHistograms writes */
    unsigned interval;           /* Milliseconds between two intervals in that file; 0: one, written at the end */
} MprSuspensionMonitor;

/**
    Write a line of the log for each suspension, with the tag "suspension" (mprSetLogLevel chooses among them), and
    keep histograms of lost time by generation. A thread of its own writes; suspended threads only leave a note for it.
    If that comes too late for 2048 notes, the log says how many lines are missing. Histograms miss nothing.
    @param monitor May be NULL.
    @return 0, MPR_ERR_ALREADY_EXISTS, MPR_ERR_CANT_OPEN, MPR_ERR_MEMORY, MPR_ERR_BAD_ARGS when warnFrom is below
    infoFrom, MPR_ERR_TOO_MANY as mprAddSuspensionHandler, MPR_ERR_BUSY while another of these three calls lasts.
    @remarks Any thread, also before mprCreate and after mprDestroy.
 */
MPR_EXPORT int mprStartSuspensionMonitor(const MprSuspensionMonitor *monitor);

/** Write what is left, and end the monitor. Any thread. @return 0, MPR_ERR_BUSY, or MPR_ERR_BAD_STATE when there is
    none, or inside a handler of suspensions. */
MPR_EXPORT int mprStopSuspensionMonitor(MPR_NOTHING);

/**
    Write the histograms of the current interval to a file, as HdrHistogram's log, version 1.3: a line for each
    generation, with the tag young, all or none, its histogram in the compressed encoding V2. Values are nanoseconds,
    with two significant digits. The interval goes on.
    @return 0, MPR_ERR_BUSY, MPR_ERR_BAD_STATE without a monitor, MPR_ERR_CANT_OPEN, MPR_ERR_CANT_WRITE. Any thread.
 */
MPR_EXPORT int mprWriteSuspensionHistograms(const char *path);

MPR_EXTERN_C_END
#endif /* MPR_SUSPEND_H */
