/* SPDX-License-Identifier: MIT */
/*
    mpr/worker.h - A pool of threads for work that waits or computes for long.

    Workers are created when they are needed, up to a limit, and end after they have been idle for a minute. They are
    attached threads. Dispatchers run their events on them (mpr/event.h). A procedure that ends its thread
    (pthread_exit) is named in the log. The pool then has one worker fewer, and makes another for the next work. It
    leaves its thread as it found it, since the next work is another's: mpr/event.h says what is put right and named.
 */
#ifndef MPR_WORKER_H
#define MPR_WORKER_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/** A thread of the pool. A managed block, which lives as long as its thread; opaque. */
typedef struct MprWorker MprWorker;

/** What a worker runs. @param data As given to mprStartWorker. */
typedef void (*MprWorkerProc)(void *data, MprWorker *worker);

/**
    Run proc(data, worker) on a thread of the pool.
    @param data Marked until proc returns if it is a block; unmanaged memory is fine.
    @return 0; MPR_ERR_BUSY when as many workers as may exist are busy: nothing is queued, the caller decides. What stands
    in line, by an event on a dispatcher of its own (mprCreateDispatcher), gets a worker that becomes free first;
    MPR_ERR_MEMORY; MPR_ERR_CANT_CREATE when the system refuses a thread; MPR_ERR_BAD_STATE while the runtime ends;
    MPR_ERR_BAD_ARGS when proc is NULL. Attached threads. Never yields.
 */
MPR_EXPORT int mprStartWorker(MprWorkerProc proc, void *data);

/** Set the greatest number of workers (16 by default; at least 0). Workers above it end when they become idle. Any
    thread. */
MPR_EXPORT void mprSetMaxWorkers(int count);
MPR_EXPORT int mprGetMaxWorkers(MPR_NOTHING);
/** Set how many idle workers are kept (0 by default). They are created by work, not in advance. Any thread. */
MPR_EXPORT void mprSetMinWorkers(int count);

/** How many calls of mprStartWorker would get a worker now: idle workers, and those that may still be created. Any
    thread. */
MPR_EXPORT int mprAvailableWorkers(void);
/** How many workers run a procedure now. Any thread. */
MPR_EXPORT int mprGetBusyWorkers(void);

/** @return The worker that is the calling thread, or NULL. */
MPR_EXPORT MprWorker *mprGetCurrentWorker(void);

/** Another name for mprGetBusyWorkers. */
MPR_EXPORT ptrdiff_t mprGetBusyWorkerCount(MPR_NOTHING);

/** The pool at a moment. */
typedef struct MprWorkerStats {
    int max, min; /* As set */
    int idle;     /* Waiting for work */
    int busy;     /* Running a procedure, or dedicated */
} MprWorkerStats;
/** Copy the state of the pool. Any thread. */
MPR_EXPORT void mprGetWorkerStats(MprWorkerStats *stats);

/** Let idle workers end now, including those that are kept. New work makes new ones. Any thread. */
MPR_EXPORT void mprStopWorkers(MPR_NOTHING);
/** Set the stack size of workers that are made from now on. @param size Bytes; 0: as for other threads. For the whole
    process. Any thread. */
MPR_EXPORT void mprSetWorkerStackSize(int size);
/** Set a procedure that each new worker calls before its first work, with data NULL. NULL: none. For the whole process.
    Any thread. */
MPR_EXPORT void mprSetWorkerStartCallback(MprWorkerProc start);

/**
    Reserve a worker: when its procedure has returned, it rests until mprActivateWorker gives it work. It gets no other
    work, and counts as busy. When all workers that may exist are dedicated, events that need one wait, which the log
    says. Usually a procedure calls this for its own worker. NULL is fine. A worker that has ended is named. Attached
    threads.
 */
MPR_EXPORT void mprDedicateWorker(MprWorker *worker);
/**
    Run proc(data, worker) on a dedicated worker: now, or when its present procedure has returned. A worker that is not
    dedicated, or has not begun the work given to it before, is named in the log. @param data As for mprStartWorker.
    Attached threads.
 */
MPR_EXPORT void mprActivateWorker(MprWorker *worker, MprWorkerProc proc, void *data);
/** Give a dedicated worker back to the pool. NULL is fine. Attached threads. */
MPR_EXPORT void mprReleaseWorker(MprWorker *worker);

MPR_EXTERN_C_END
#endif /* MPR_WORKER_H */
