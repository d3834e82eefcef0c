/* SPDX-License-Identifier: MIT */
/*
    mpr/thread.h - Threads that may use managed memory.

    Only attached threads may allocate or touch managed memory: the runtime's own (mprCreateThread), the one that
    called mprCreate, and those that called mprAttachThread. They may do so only while they run: not after
    mprYield(MPR_YIELD_STICKY), and not while exempt. Each function says what threads in other states may call; see also
    mpr/runtime.h.

    Real-time priorities (SCHED_FIFO, SCHED_RR, SCHED_DEADLINE; Linux). When a thread of real-time priority waits in the
    runtime, the thread that it waits for inherits its priority: the holder of a lock of the runtime's own, and the
    thread that marks in a pause. It never waits for sweeps or finalizers, except in an allocation that would fail.
    Priority is not inherited in waits for locks of the program (mpr/lock.h) and in two others. Before a pause all
    threads have to yield: if one of normal priority has lost its processor, mpr/collect.h says how long the others
    wait. When all have yielded, they wait until the collector's thread gets a processor. Helpers that mark in a pause
    keep their own priority; option markers=1 turns them off.
    So a thread that must not lose milliseconds
    - yields stickily in its waits, and elsewhere at moments that suit a pause: between yields no collection stops it;
    - has time for a pause at each yield, because it does the marking itself if it is the last to stop;
    - has a processor on which no thread of a priority between its own and the others' computes for long;
    - leaves memory below the redline for what the others allocate while no collection can begin.
    Exempt threads and threads that are not attached wait for nobody.
 */
#ifndef MPR_THREAD_H
#define MPR_THREAD_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/** A thread known to the runtime. A managed block. Fields are for reading. */
typedef struct MprThread {
    void *data;    /* As given to mprCreateThread */
    char name[32]; /* Cut if it was longer */
} MprThread;
/** The system's identity of a thread (pthread_t on POSIX). */
typedef uintptr_t MprOsThread;
/** What a thread runs. */
typedef void (*MprThreadProc)(void *data, MprThread *tp);

/**
    Prepare a thread; mprStartThread starts it.
    @param name Copied. @param proc An MprThreadProc. @param data Marked while the thread exists if it is a block;
    unmanaged memory is fine. @param stackSize Bytes; 0: what mprSetThreadStackSize says.
    @return NULL when memory is short, or without a procedure. Retain it as any block; a started thread is retained until
    it ends.
 */
MPR_EXPORT MprThread *mprCreateThread(const char *name, void *proc, void *data, ptrdiff_t stackSize);
/**
    Start a thread, with the signal mask of the calling thread. The runtime's own threads (the collector's, markers,
    workers, the thread of mprStartEventsThread) block all signals, so that the program's threads receive them. A
    thread that one of these starts gets the mask that the runtime's thread itself was started under. A process that
    a worker starts other than by mpr/command.h has to unblock the signals it wants.
    @return 0; MPR_ERR_BAD_STATE when it was started before, or the runtime has stopped; MPR_ERR_MEMORY; MPR_ERR_CANT_CREATE.
 */
MPR_EXPORT int mprStartThread(MprThread *thread);

/** Set the stack size of threads that are created without one from now on. @param size Bytes; 0 or less: the system's
    default, which holds until set. For the whole process. Any thread. */
MPR_EXPORT void mprSetThreadStackSize(ptrdiff_t size);
/**
    Start a thread that the runtime does not know: it is not attached, nobody waits for it, and its signal mask is the
    caller's.
    @param name For the system's tools. @param proc A void *(*)(void *). @param data What it is called with; not marked.
    @param tp NULL, or what mprCreateThread made, whose stack size it gets.
    @return 0; MPR_ERR_BAD_ARGS when proc is NULL; MPR_ERR_MEMORY; MPR_ERR_CANT_CREATE. Any thread.
 */
MPR_EXPORT int mprStartOsThread(const char *name, void *proc, void *data, MprThread *tp);

/**
    Attach the calling thread, which the runtime did not make. Waits while a collection marks.
    @param name Copied; for messages. @return 0; MPR_ERR_BAD_STATE when attached already, or there is no runtime, or
    it is ending; MPR_ERR_MEMORY; MPR_ERR_CANT_INITIALIZE when the system has no pthread key left. A thread that
    ends is detached automatically.
 */
MPR_EXPORT int mprAttachThread(const char *name);
/** Detach the calling thread: it must not use managed memory any more. @return 0 or MPR_ERR_BAD_STATE. */
MPR_EXPORT int mprDetachThread(void);

/** @return The calling thread's object if mprCreateThread made it, else NULL. */
MPR_EXPORT MprThread *mprGetCurrentThread(MPR_NOTHING);
/** @return The name given when created or attached; "" for a foreign thread. */
MPR_EXPORT const char *mprGetCurrentThreadName(MPR_NOTHING);
MPR_EXPORT MprOsThread mprGetCurrentOsThread(MPR_NOTHING);

/**
    Exempt a thread from the rendezvous (on false) or include it again (on true). An exempt thread must not touch
    managed memory. @param tp NULL or the calling thread; a thread can change only its own state. @return The previous
    setting. Setting it to true waits while a collection marks.
 */
MPR_EXPORT bool mprSetThreadYield(MprThread *tp, bool on);

/** Sleep, yielded. @param msec Milliseconds; 0 or less is a yield that may wait for a collection. Any thread. */
MPR_EXPORT void mprSleep(MprTicks msec);

/** Sleep without a yield: what the caller has allocated stays, and collections wait as long. Any thread. */
MPR_EXPORT void mprNap(MprTicks msec);
/**
    Wait until every other attached thread has reached a yield, or waits in a call that yields. The caller does not
    yield.
    @param timeout Milliseconds; negative: for ever. Threads that do not come in time are named in the log.
    @return 1; 0 when the time is up, or the calling thread may not wait (see mprVerifyHeap).
 */
MPR_EXPORT int mprSyncThreads(MprTicks timeout);

/** A value per thread. Managed values are not marked through it: hold or root them. */
typedef struct MprThreadLocal MprThreadLocal;
MPR_EXPORT MprThreadLocal *mprCreateThreadLocal(void);
/** @return 0, or MPR_ERR_MEMORY. */
MPR_EXPORT int mprSetThreadData(MprThreadLocal *tls, void *value);
MPR_EXPORT void *mprGetThreadData(MprThreadLocal *tls);

MPR_EXTERN_C_END
/* Procedures of any parameters may be given without a cast: see mpr/event.h. */
#ifdef __cplusplus
template <typename R, typename... A>
inline int mprStartOsThread(const char *name, R (*proc)(A...), void *data, MprThread *tp) {
    return mprStartOsThread(name, MPR_PROC(proc), data, tp);
}
template <typename... A>
inline MprThread *mprCreateThread(const char *name, void (*proc)(A...), void *data, ptrdiff_t stackSize) {
    return mprCreateThread(name, MPR_PROC(proc), data, stackSize);
}
#else
#define mprStartOsThread(name, proc, data, tp) mprStartOsThread(name, MPR_PROC(proc), data, tp)
#define mprCreateThread(name, proc, data, stackSize) mprCreateThread(name, MPR_PROC(proc), data, stackSize)
#endif

#endif /* MPR_THREAD_H */
