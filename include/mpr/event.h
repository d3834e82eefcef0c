/* SPDX-License-Identifier: MIT */
/*
    mpr/event.h - Events: procedures to be called later, one after another, and dispatchers that see to it.

    A dispatcher runs its events one at a time, in the order in which they became due. Which thread runs them:
      - the thread that services events, for the main dispatcher (mprGetDispatcher) and those made with
        MPR_DISPATCHER_IMMEDIATE: their events must be short;
      - the thread that has claimed the dispatcher with mprStartDispatcher, while it is in mprWaitForEvent;
      - else a worker (mpr/worker.h).
    Events of different dispatchers run at the same time.

    One thread at a time services events: it calls mprServiceEvents, or mprStart made one that does. It waits for
    timers, I/O, and what foreign threads post. While there is none, a thread in mprWaitForEvent or mprWaitForCmd
    services, and runs the events of those dispatchers, too, so that none waits for the end of another's wait. It gives
    way to a thread that calls mprServiceEvents. But a program that gives mprCreate the flag MPR_USER_EVENTS_THREAD has
    a thread for these events: once a thread has called mprServiceEvents, they run in that thread alone, until another
    calls it or that thread ends.

    Time is counted in milliseconds of a monotonic clock. An event runs no earlier than asked for. Events of one
    dispatcher that are due in the same millisecond run in no particular order, unless they had the same period: then as
    created. Making, changing and removing an event costs constant time, timers included (a hierarchical timing wheel:
    G. Varghese, T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987).

    Calls that need libuv's loop fail if there are no descriptors or no memory for it, and the log says so: they check
    first. In two cases libuv 1.44 itself ends the process:
      - when it makes the first loop of a process, and others take the last descriptors, or the last memory for
        pthread_atfork, at that very moment: a program short of them makes its first dispatcher, event or handler
        before its threads;
      - when its table of descriptors has to grow and there is neither memory of the heap nor of malloc.

    A procedure must return. If one ends its thread (pthread_exit), the log names it. The event's dispatcher continues
    on another thread and is no longer claimed. Another thread services events, and that of mprStart is replaced. What
    the procedure's callers held or rooted stays held or rooted for good.

    A procedure leaves its thread as it found it. If it returns yielded (MPR_YIELD_STICKY), exempt (mprSetThreadYield) or
    with a lock locked, it is named in the log and counts as misuse. Then the thread runs again, while a lock stays locked.
    A procedure may neither detach its thread nor end the runtime. On the runtime's own threads signals that it has
    unblocked are blocked again after its dispatcher's turn. On a worker a dispatcher that it has claimed is nobody's
    again, and batches (mprSetBatches) are as before. The same holds for all that the runtime calls of a program: workers'
    procedures, handlers of I/O and signals, callbacks of commands, caches and sockets, entry points of modules.

    Unless said otherwise these calls are for attached threads and do not yield. The thread that services events yields
    between events and while it waits: an event procedure roots what it wants to find again. It runs what is queued
    before a collection that only a spent budget asks for, for up to 50 ms, while all other threads wait in calls of the
    runtime.
 */
#ifndef MPR_EVENT_H
#define MPR_EVENT_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/** Runs events in order. A managed block. Retained while it has events; otherwise its users retain it. Fields are for
    reading. */
typedef struct MprDispatcher {
    char name[24];
    int flags; /* MPR_DISPATCHER_* */
} MprDispatcher;
struct MprWaitHandler;
struct MprEvent;

/** What an event calls. @param data As given when the event was made. */
typedef void (*MprEventProc)(void *data, struct MprEvent *event);

/** An event: a managed block, retained until it has run. Programs read these members and change none. */
typedef struct MprEvent {
    const char *name;
    MprEventProc proc;
    void *data;
    struct MprDispatcher *dispatcher;
    struct MprWaitHandler *handler; /* Of an I/O event, else NULL */
    MprTicks timestamp;             /* When it was made, up to some milliseconds early: the system's last tick */
    MprTicks period;                /* Milliseconds asked for */
    MprTicks due;                   /* When it is to run */
    short mask;                     /* Of an I/O event: MPR_READABLE, MPR_WRITABLE */
    short flags;                    /* MPR_EVENT_* */
    unsigned reserved;              /* The runtime's */
} MprEvent;

/* Flags of events. */
#define MPR_EVENT_CONTINUOUS 0x1 /* After each run it is due again a period later */
#define MPR_EVENT_DONT_QUEUE 0x2 /* Make it only; mprRescheduleEvent queues it */

#define MPR_EVENT_QUICK 0x4 /* Accepted for source compatibility: the dispatcher says which thread runs an event */

/* Flags of mprCreateDispatcher. */
#define MPR_DISPATCHER_IMMEDIATE 0x1 /* Events are short: the thread that services events runs them itself */

#define MPR_DISPATCHER_AUTO 0x2 /* Accepted for source compatibility: workers run what nobody has claimed */

/* Flags of mprServiceEvents. */
#define MPR_SERVICE_NO_BLOCK 0x1  /* Run what is due now, wait for nothing */
#define MPR_SERVICE_ONE_THING 0x2 /* Return as soon as something has run */

/* ---- Dispatchers ---- */

/** Make a dispatcher. @param name Copied (23 characters). @return NULL when memory is short. */
MPR_EXPORT MprDispatcher *mprCreateDispatcher(const char *name, int flags);

/** The main dispatcher, made with the runtime. @return NULL without a runtime or memory. */
MPR_EXPORT MprDispatcher *mprGetDispatcher(MPR_NOTHING);

/** End a dispatcher: drop all its events, and refuse those made for it later. An event that is running finishes. Waits
    for its events end with MPR_ERR_BAD_STATE. NULL is fine. The main dispatcher ends with the runtime: for it the call is refused and named in the log. */
MPR_EXPORT void mprDestroyDispatcher(MprDispatcher *dispatcher);

/**
    Claim a dispatcher: from now on the calling thread alone runs its events, when it calls mprWaitForEvent.
    @return 0; MPR_ERR_BAD_STATE when another thread has claimed it; MPR_ERR_BAD_ARGS.
 */
MPR_EXPORT int mprStartDispatcher(MprDispatcher *dispatcher);
/** Give a claimed dispatcher back. @return 0; MPR_ERR_BAD_STATE when the calling thread has not claimed it. */
MPR_EXPORT int mprStopDispatcher(MprDispatcher *dispatcher);

/** Stop running a dispatcher's events. One that is running finishes; the others queue. */
MPR_EXPORT void mprDisableDispatcher(MprDispatcher *dispatcher);
/** Run the events of a disabled dispatcher again. */
MPR_EXPORT void mprEnableDispatcher(MprDispatcher *dispatcher);

/** Whether a dispatcher has events that are queued or timed. */
MPR_EXPORT bool mprDispatcherHasEvents(MprDispatcher *dispatcher);

/** How many events are queued or timed. It takes time in proportion to those that are timed. @param dispatcher NULL:
    the main dispatcher. */
MPR_EXPORT int mprGetEventCount(MprDispatcher *dispatcher);
/**
    Whether all dispatchers rest: no event is due, except those of disabled dispatchers, and none runs, except the
    caller's.
    @return 1 or 0.
 */
MPR_EXPORT int mprDispatchersAreIdle(MPR_NOTHING);

/* ---- Events ---- */

/**
    Make an event and queue it.
    @param dispatcher NULL: the main dispatcher.
    @param name For messages; not copied: a literal, or a block.
    @param period Milliseconds until it is due; 0 or less: now.
    @param proc An MprEventProc. @param data Marked while the event lives if it is a block; unmanaged memory is fine.
    @param flags MPR_EVENT_*.
    @return The event; NULL when memory is short, the dispatcher was destroyed, or proc is NULL.
 */
MPR_EXPORT MprEvent *mprCreateEvent(MprDispatcher *dispatcher, const char *name, MprTicks period, void *proc,
                                    void *data, int flags);
/** Another name for mprCreateEvent. */
MPR_EXPORT MprEvent *mprCreateLocalEvent(MprDispatcher *dispatcher, const char *name, MprTicks period, void *proc,
                                         void *data, int flags);
/** Make an event as mprCreateEvent does, with MPR_EVENT_CONTINUOUS added to the flags. */
MPR_EXPORT MprEvent *mprCreateTimerEvent(MprDispatcher *dispatcher, const char *name, MprTicks period, void *proc,
                                         void *data, int flags);

/** Take an event out of its queue, and do not repeat it. If it is running, it finishes. NULL is fine. */
MPR_EXPORT void mprRemoveEvent(MprEvent *event);
/** Another name for mprRemoveEvent. mprRestartContinuousEvent undoes it. */
MPR_EXPORT void mprStopContinuousEvent(MprEvent *event);
/** Repeat an event from now on, every period. */
MPR_EXPORT void mprRestartContinuousEvent(MprEvent *event);
/** Say whether an event is repeated after it has run. This does not queue it. NULL is fine. */
MPR_EXPORT void mprEnableContinuousEvent(MprEvent *event, int enable);
/** Queue an event, or move it in its queue: it is due a period from now. Its own procedure may call this. NULL is
    fine. */
MPR_EXPORT void mprRescheduleEvent(MprEvent *event, MprTicks period);

/**
    Queue an event from any thread, foreign ones included, even during a collection and while the runtime ends.
    @param dispatcher It must be retained by others; NULL: the main dispatcher.
    @param proc An MprEventProc. @param data Unmanaged memory, or a block that is held until proc is called.
    @return 0; MPR_ERR_BAD_STATE when there is no runtime, it has stopped, nothing in it has used events yet, or the
    dispatcher was destroyed; MPR_ERR_MEMORY; MPR_ERR_BAD_ARGS. After an error proc is not called. After 0 it
    is called, unless the runtime or the dispatcher ends before.
 */
MPR_EXPORT int mprCreateEventOutside(MprDispatcher *dispatcher, void *proc, void *data);

/* ---- Servicing ---- */

/**
    Run events and wait for more. Yields.
    @param delay Milliseconds; negative: until mprShutdown. @param flags MPR_SERVICE_*.
    @return How many events this thread has run. When another thread already services events, it only waits as long,
    and returns 0.
 */
MPR_EXPORT int mprServiceEvents(MprTicks delay, int flags);

/**
    Wait until an event of a dispatcher has run. Yields. Runs the dispatcher's events when it is the calling thread's to
    run: claimed by mprStartDispatcher, or from within one of its events (which then nest). When nobody services events,
    the calling thread does so meanwhile: see the top of this file.
    @param dispatcher NULL: the main dispatcher. @param timeout Milliseconds; negative: for ever.
    @param mark From mprGetEventMark: an event that ran since then counts, too. -1: from now on.
    @return 0; MPR_ERR_TIMEOUT; MPR_ERR_ABORTED when the runtime is stopping; MPR_ERR_BAD_STATE, also when the dispatcher is
    destroyed.
 */
MPR_EXPORT int mprWaitForEvent(MprDispatcher *dispatcher, MprTicks timeout, long long mark);

/** How many events the dispatcher has run. Take it before you look whether to wait: then none is missed. */
MPR_EXPORT long long mprGetEventMark(MprDispatcher *dispatcher);

/** Wake the thread that services events. Any thread. */
MPR_EXPORT void mprWakeEventService(void);
/** Wake the thread that services events, and have threads in mprWaitForEvent look again. @param dispatcher Ignored: all
    dispatchers share one queue of what is due. */
MPR_EXPORT void mprSignalDispatcher(MprDispatcher *dispatcher);

MPR_EXTERN_C_END
/* A procedure of any parameters may be given without a cast; it must be callable as an MprEventProc. */
#ifdef __cplusplus
template <typename... A>
inline MprEvent *mprCreateEvent(MprDispatcher *dispatcher, const char *name, MprTicks period, void (*proc)(A...),
                                void *data, int flags) {
    return mprCreateEvent(dispatcher, name, period, MPR_PROC(proc), data, flags);
}
template <typename... A>
inline MprEvent *mprCreateLocalEvent(MprDispatcher *dispatcher, const char *name, MprTicks period, void (*proc)(A...),
                                     void *data, int flags) {
    return mprCreateLocalEvent(dispatcher, name, period, MPR_PROC(proc), data, flags);
}
template <typename... A>
inline MprEvent *mprCreateTimerEvent(MprDispatcher *dispatcher, const char *name, MprTicks period, void (*proc)(A...),
                                     void *data, int flags) {
    return mprCreateTimerEvent(dispatcher, name, period, MPR_PROC(proc), data, flags);
}
template <typename... A>
inline int mprCreateEventOutside(MprDispatcher *dispatcher, void (*proc)(A...), void *data) {
    return mprCreateEventOutside(dispatcher, MPR_PROC(proc), data);
}
#else
#define mprCreateEvent(dispatcher, name, period, proc, data, flags) \
    mprCreateEvent(dispatcher, name, period, MPR_PROC(proc), data, flags)
#define mprCreateLocalEvent(dispatcher, name, period, proc, data, flags) \
    mprCreateLocalEvent(dispatcher, name, period, MPR_PROC(proc), data, flags)
#define mprCreateTimerEvent(dispatcher, name, period, proc, data, flags) \
    mprCreateTimerEvent(dispatcher, name, period, MPR_PROC(proc), data, flags)
#define mprCreateEventOutside(dispatcher, proc, data) mprCreateEventOutside(dispatcher, MPR_PROC(proc), data)
#endif

#endif /* MPR_EVENT_H */
