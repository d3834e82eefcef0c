/* SPDX-License-Identifier: MIT */
/*
    mpr/lock.h - Locks, spin locks, conditions, atomic operations.

    Locks take no resource of the system: a lock that is no longer referenced is collected like any block.

    Four functions yield, if they have to wait: mprLock, mprGlobalLock, mprWaitForCond and mprWaitForMultiCond. If a
    thread yields while it holds a lock, the threads that want the lock wait for the collection, no longer.

    In an MPR_MANAGE_MARK call and in a child of fork these functions neither lock nor wait, and are named in the
    log: the holder of the lock might be waiting for the caller, or not exist.
 */
#ifndef MPR_LOCK_H
#define MPR_LOCK_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/* ---- Locks ---- */

/** A lock, recursive: its owner may lock it again, and unlocks it as often. To embed one, use mprInitLock. */
typedef struct MprMutex {
    uintptr_t owner; /* The runtime's, all of it */
    uint32_t word, depth;
} MprMutex;

/** Make a lock. @return A block, or NULL when memory is short. */
MPR_EXPORT MprMutex *mprCreateLock(MPR_NOTHING);

/** Prepare a lock that stands in other memory. @return mutex; NULL when it is NULL. Any thread. */
MPR_EXPORT MprMutex *mprInitLock(MprMutex *mutex);

/**
    Lock. If another thread has it, the calling thread spins briefly and then waits, yielded: everything that it has not
    rooted may be collected. If the lock is a block, it is held meanwhile; an object in which a lock is embedded must be
    reachable. NULL is fine: nothing is locked. Any thread, attached or not.
 */
MPR_EXPORT void mprLock(MprMutex *lock);

/** Lock if that needs no waiting. Never yields. @return Whether it is locked now. */
MPR_EXPORT bool mprTryLock(MprMutex *lock);

/** Unlock. If the calling thread is not the owner, the call is refused and named in the log. NULL is fine. */
MPR_EXPORT void mprUnlock(MprMutex *lock);

/** One recursive lock that always exists, also before mprCreate. Waits as mprLock does. */
MPR_EXPORT void mprGlobalLock(MPR_NOTHING);
MPR_EXPORT void mprGlobalUnlock(MPR_NOTHING);

/* ---- Spin locks ---- */

/** A lock for a few instructions. Not recursive. */
typedef struct MprSpin {
    uintptr_t owner; /* The runtime's */
    uint32_t word;
} MprSpin;

/** Make a spin lock. @return A block, or NULL when memory is short. */
MPR_EXPORT MprSpin *mprCreateSpinLock(MPR_NOTHING);
/** Prepare a spin lock that stands in other memory. @return lock; NULL when it is NULL. Any thread. */
MPR_EXPORT MprSpin *mprInitSpinLock(MprSpin *lock);

/**
    Lock. Never yields, however long it takes, so the caller's blocks need no roots. Therefore a thread that holds a
    spin lock must neither yield nor call a function that may wait. It spins, then sleeps. A thread that locks twice
    is named in the log and then waits for ever. NULL is fine. Any thread.
 */
MPR_EXPORT void mprSpinLock(MprSpin *lock);
/** Lock if it is free. @return Whether it is locked now. */
MPR_EXPORT bool mprTrySpinLock(MprSpin *lock);
MPR_EXPORT void mprSpinUnlock(MprSpin *lock);

/* ---- Conditions ---- */

/** Something to wait for: signalled or not. mprWaitForCond clears the signal if it is for one thread. */
typedef struct MprCond {
    volatile uint32_t triggered; /* Not 0: signalled. For reading */
} MprCond;

/** Make a condition, not signalled. @return A block, or NULL when memory is short. */
MPR_EXPORT MprCond *mprCreateCond(MPR_NOTHING);

/**
    Wait until the condition is signalled, and clear a signal of mprSignalCond. Returns at once, without a yield, if it
    is signalled already; else waits, yielded, with the condition itself held. A wait of ten seconds says so if meanwhile
    no thread runs events that are due: the program has forgotten to service events, perhaps.
    @param timeout Milliseconds; negative: for ever. 0 only looks.
    @return 0; MPR_ERR_TIMEOUT; MPR_ERR_BAD_ARGS when cond is NULL.
 */
MPR_EXPORT int mprWaitForCond(MprCond *cond, MprTicks timeout);

/**
    Signal: one waiting thread continues; if none waits, the next one to wait does not have to. Signals do not add
    up. NULL is fine. Any thread, attached or not. Never yields.
 */
MPR_EXPORT void mprSignalCond(MprCond *cond);

/**
    Signal for all: all waiting threads continue, by whichever call they wait, and nobody has to wait before
    mprResetCond. One that has not got to look by then waits on. NULL is fine. Any thread. Never yields.
 */
MPR_EXPORT void mprSignalMultiCond(MprCond *cond);
/** Wait as mprWaitForCond does, and leave the signal as it is. */
MPR_EXPORT int mprWaitForMultiCond(MprCond *cond, MprTicks timeout);

/** Clear the signal. NULL is fine. Any thread. */
MPR_EXPORT void mprResetCond(MprCond *cond);

/* ---- Atomic operations: any thread, sequentially consistent ---- */

/** If *target is expected, make it value. @return 1 when it did, else 0. */
MPR_EXPORT int mprAtomicCas(void *volatile *target, void *expected, const void *value);
MPR_EXPORT void mprAtomicAdd(volatile int *target, int value);
MPR_EXPORT void mprAtomicAdd64(volatile long long *target, long long value);
/** No load or store moves across it. */
MPR_EXPORT void mprAtomicBarrier(void);

MPR_EXTERN_C_END

#endif /* MPR_LOCK_H */

/* Short names: see mpr/types.h. */
#if !defined(MPR_NO_SHORT_NAMES) && !defined(MPR_LOCK_SHORT_NAMES)
#define MPR_LOCK_SHORT_NAMES

/* lock(ptr), unlock(ptr): lock an object by its member `mutex`. In C++ no macro: std::mutex and others have methods of
    the name. */
#ifdef __cplusplus
template <typename Object>
inline void lock(Object *object) {
    mprLock(object->mutex);
}
template <typename Object>
inline void unlock(Object *object) {
    mprUnlock(object->mutex);
}
#else
#define lock(object) mprLock((object)->mutex)
#define unlock(object) mprUnlock((object)->mutex)
#endif

#endif /* MPR_LOCK_SHORT_NAMES */
