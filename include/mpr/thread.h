/*
    mpr/thread.h - Threads that may use managed memory.

    Only attached threads may allocate or touch managed memory: the runtime's own (mprCreateThread), the one that
    called mprCreate, and those that called mprAttachThread. And only while they run: not after mprYield(MPR_YIELD_STICKY),
    nor while exempt. What a thread in another state may call is said with each function; see also mpr/runtime.h.

    What threads of real-time priority (SCHED_FIFO, SCHED_RR, SCHED_DEADLINE; Linux) wait for in the runtime runs at
    their priority meanwhile: whoever holds a lock, and whoever marks in a pause. They do not wait for sweeps, nor for
    managers that free; allocation does at the hard limit. Two waits lend nothing. Before a pause all threads have to
    yield: one of normal priority that has lost its processor is waited for as mpr/collect.h says. Where all have
    yielded, the collector's thread is waited for until it gets a processor. Markers that help in a pause have their own
    priority; option markers=1 does without them. So a thread that must not lose milliseconds
    - yields stickily in its waits, and elsewhere where a pause suits it: between yields no collection stops it;
    - marks itself when it is the last to stop, so has time for a pause at each yield;
    - has a processor on which no thread of a priority between its own and the others' computes for long;
    - leaves memory below the redline for what the others allocate while nobody collects.
    Exempt threads and those that are not attached wait for nobody.
 */
#ifndef MPR_THREAD_H
#define MPR_THREAD_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/** A thread known to the runtime. A managed block; opaque. */
typedef struct MprThread MprThread;
/** The system's identity of a thread (pthread_t on POSIX). */
typedef uintptr_t MprOsThread;
/** What a thread runs. */
typedef void (*MprThreadProc)(void *data, MprThread *tp);

/**
    Prepare a thread; mprStartThread starts it.
    @param name Copied. @param proc An MprThreadProc. @param data Marked while the thread exists if it is a block;
    unmanaged memory is fine. @param stackSize Bytes; 0: the system's default.
    @return NULL when memory is short. Retain it as any block; a started thread is retained until it ends.
 */
MPR_EXPORT MprThread *mprCreateThread(cchar *name, void *proc, void *data, ssize stackSize);
/**
    Start it, with the signal mask of the calling thread. The runtime's own threads - the collector's, markers, workers, the
    thread of mprStartEventsThread - block the program's signals, so that its own threads get them; a thread that one of
    them starts has the mask that this one was started under. Other processes that workers start by themselves, not by
    mpr/command.h, are to unblock what they want.
    @return 0; MPR_ERR_BAD_STATE when it was started before; MPR_ERR_MEMORY; MPR_ERR_CANT_CREATE.
 */
MPR_EXPORT int mprStartThread(MprThread *thread);

/**
    Attach the calling thread, made elsewhere. Waits while a collection marks.
    @param name Copied; for messages. @return 0; MPR_ERR_BAD_STATE when attached already, or there is no runtime, or it is ending;
    MPR_ERR_MEMORY; MPR_ERR_CANT_INITIALIZE when the system has no pthread key left. A thread that ends is detached by itself.
 */
MPR_EXPORT int mprAttachThread(cchar *name);
/** Detach the calling thread: a yield for good. @return 0 or MPR_ERR_BAD_STATE. */
MPR_EXPORT int mprDetachThread(void);

/** @return The calling thread's object if mprCreateThread made it, else NULL. */
MPR_EXPORT MprThread *mprGetCurrentThread(void);
/** @return The name given when created or attached; "" for a foreign thread. */
MPR_EXPORT cchar *mprGetCurrentThreadName(void);
MPR_EXPORT MprOsThread mprGetCurrentOsThread(void);

/**
    Exempt a thread from the rendezvous (on false) or include it again (on true). An exempt thread must not touch
    managed memory. @param tp NULL or the calling thread; another thread's state is its own. @return The previous
    setting. Setting it to true waits while a collection marks.
 */
MPR_EXPORT bool mprSetThreadYield(MprThread *tp, bool on);

/** Sleep, yielded. @param msec Milliseconds; 0 or less is a yield that may wait for a collection. Any thread. */
MPR_EXPORT void mprSleep(MprTicks msec);

/** A value per thread. Managed values are not marked through it: hold or root them. */
typedef struct MprThreadLocal MprThreadLocal;
MPR_EXPORT MprThreadLocal *mprCreateThreadLocal(void);
/** @return 0, or MPR_ERR_MEMORY. */
MPR_EXPORT int mprSetThreadData(MprThreadLocal *tls, void *value);
MPR_EXPORT void *mprGetThreadData(MprThreadLocal *tls);

MPR_EXTERN_C_END
/* As in mpr/event.h. */
#ifdef __cplusplus
template <typename... A>
inline MprThread *mprCreateThread(cchar *name, void (*proc)(A...), void *data, ssize stackSize) {
    return mprCreateThread(name, MPR_PROC(proc), data, stackSize);
}
#else
#define mprCreateThread(name, proc, data, stackSize) mprCreateThread(name, MPR_PROC(proc), data, stackSize)
#endif

#endif /* MPR_THREAD_H */
