/* SPDX-License-Identifier: MIT */
/*
    mpr/shutdown.h - Start the runtime's services, and bring it to its end: in order, or in time.

    A program calls mprCreate, mprStart, lives, and is told to end by mprShutdown (from any attached thread, or by a
    signal). Then loops over mprIsStopping end, mprServiceEvents returns, and the thread that created the runtime calls
    mprDestroy, which waits for work in progress.
 */
#ifndef MPR_SHUTDOWN_H
#define MPR_SHUTDOWN_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/* How the runtime ends: exit strategies. */
#define MPR_EXIT_NORMAL 0x0 /* New work is refused, work in progress is finished */
#define MPR_EXIT_ABORT 0x1  /* At once: the terminators run, then the process exits with the status */
#define MPR_EXIT_SAFE 0x2   /* Only if the workers come to rest within the timeout; else nothing changes */
#define MPR_EXIT_RESTART \
    0x4 /* As MPR_EXIT_NORMAL; at the end of mprDestroy the program is executed again, as by mprRestart */
#define MPR_EXIT_DEFAULT MPR_EXIT_NORMAL
#define MPR_EXIT_GRACEFUL MPR_EXIT_NORMAL
#define MPR_EXIT_IMMEDIATE MPR_EXIT_ABORT

/* States of the runtime, in order. */
#define MPR_CREATED 1
#define MPR_STARTED 2
#define MPR_STOPPING 3
#define MPR_STOPPED 4
#define MPR_DESTROYED 6 /* There is no runtime */

/**
    Start the services: unless mprCreate was given MPR_USER_EVENTS_THREAD, a thread that services events.
    @return 0, also when called again; MPR_ERR_BAD_STATE without a runtime or while it stops; MPR_ERR_MEMORY;
    MPR_ERR_CANT_CREATE.
 */
MPR_EXPORT int mprStart(MPR_NOTHING);

/** Start a thread that calls mprServiceEvents until the runtime stops. @return As mprStart. */
MPR_EXPORT int mprStartEventsThread(void);

/**
    Bring the runtime to its end. Returns at once, except that MPR_EXIT_ABORT never returns, and MPR_EXIT_SAFE waits for
    the workers, yielded. Only the first call counts, but MPR_EXIT_ABORT always does.
    @param exitStrategy MPR_EXIT_*. @param status The process's exit status; negative: keep what mprSetExitStatus said.
    @param timeout Milliseconds that work in progress is given; negative: see mprSetExitTimeout. Attached threads.
 */
MPR_EXPORT void mprShutdown(int exitStrategy, int status, MprTicks timeout);

/** Milliseconds that mprDestroy and mprShutdown give to work in progress (30 s if never set). Any thread. */
MPR_EXPORT void mprSetExitTimeout(MprTicks timeout);

/** The status for the process to exit with: 0, or what mprShutdown or mprSetExitStatus said last. It is the runtime's: read it
    before mprDestroy, for it is 0 then, and cannot be set. Any thread. */
MPR_EXPORT int mprGetExitStatus(MPR_NOTHING);
MPR_EXPORT void mprSetExitStatus(int status);

/** Whether mprShutdown has been called, the runtime is ending, or there is none. Any thread. */
MPR_EXPORT bool mprIsStopping(MPR_NOTHING);
/** Whether the services have stopped, or there is no runtime. Any thread. */
MPR_EXPORT bool mprIsStopped(void);
/** MPR_CREATED ... Any thread. */
MPR_EXPORT int mprGetState(MPR_NOTHING);
/** Whether managers are called for the last time; whether there is no runtime. Any thread. */
MPR_EXPORT bool mprIsDestroying(MPR_NOTHING);
MPR_EXPORT bool mprIsDestroyed(MPR_NOTHING);

/**
    Undo mprShutdown. The program restarts those of its loops that have ended because the runtime was stopping; threads
    of mprStart and mprStartEventsThread continue. @return false when the runtime is not stopping, or mprDestroy has
    begun. Attached threads. Does not yield.
 */
MPR_EXPORT bool mprCancelShutdown(MPR_NOTHING);

/** Execute the program again, at once, with the arguments of mprCreate. Nothing is finished, and no terminator or
    manager runs; for an orderly end see MPR_EXIT_RESTART. The program begins with the signal mask of the calling thread,
    or, on a thread of the runtime, with that of the thread which started it, and without descriptors above 2, whoever has opened
    them. Returns only when the system refuses, which
    the log says. Any thread. */
MPR_EXPORT void mprRestart(MPR_NOTHING);
/**
    Continue in the background: in a child of fork that has a session of its own, the same current directory, and
    /dev/null as standard input, output and error: start a log. The calling process exits. Call it before mprCreate.
    @return 0; MPR_ERR_BAD_STATE when there is a runtime, whose threads the child would not have; MPR_ERR_CANT_CREATE.
 */
MPR_EXPORT int mprDaemon(MPR_NOTHING);

/** Whether a service should refuse to begin anything. Another name for mprIsStopping. */
MPR_EXPORT bool mprShouldDenyNewRequests(MPR_NOTHING);
/** Whether a service should give up what is in progress: the runtime stops, and the time that mprShutdown granted is
    over. */
MPR_EXPORT bool mprShouldAbortRequests(MPR_NOTHING);

/** Says whether the program is at rest. @param traceRequests Whether the log is to say what is busy. */
typedef bool (*MprIdleCallback)(bool traceRequests);
/** Whether no worker but the calling thread is busy, no command runs, and no event is due (mprDispatchersAreIdle).
    Attached threads. */
MPR_EXPORT bool mprServicesAreIdle(bool traceRequests);
/** Call the idle callback: mprServicesAreIdle, or the program's own. Attached threads. */
MPR_EXPORT bool mprIsIdle(bool traceRequests);
/** Set the idle callback, which may call mprServicesAreIdle. NULL: use that alone. For the whole process. @return The
    previous one. Any thread. */
MPR_EXPORT MprIdleCallback mprSetIdleCallback(MprIdleCallback idleCallback);

/** The system's error number of the last call of the calling thread that failed (errno). Any thread. */
MPR_EXPORT int mprGetOsError(MPR_NOTHING);
/** What mprGetOsError returns, as an MPR_ERR_*: MPR_ERR where none fits, 0 when there was no error. Any thread. */
MPR_EXPORT int mprGetError(MPR_NOTHING);
/**
    What an error code says, for messages: "MPR_ERR_BUSY: in use; it may be free later".
    @param code 0 or an MPR_ERR_*. @return A static text. Of any other number: that it is no code of this library. Any
    thread, with or without a runtime. Does not yield.
 */
MPR_EXPORT const char *mprGetErrorText(int code);

MPR_EXTERN_C_END
#endif /* MPR_SHUTDOWN_H */
