/*
    mpr/lock.h - Locks, spin locks, conditions, atomic operations.

    Locks take no resource of the system: a lock that is no longer referenced is collected like any block.

    Which calls yield: mprLock and mprGlobalLock when they have to wait, mprWaitForCond when it has to wait. Nothing else
    here does. A thread that yields while it holds a lock makes the others wait for the collection, no longer.

    Not in MPR_MANAGE_MARK, whose caller may be the one that is waited for, nor in a child of fork: there nothing is locked or
    waited for, and the call is named in the log.
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
MPR_EXPORT MprMutex *mprCreateLock(void);

/** Prepare a lock that stands in other memory. @return mutex; NULL when it is NULL. Any thread. */
MPR_EXPORT MprMutex *mprInitLock(MprMutex *mutex);

/**
    Lock. When another thread has it, the calling thread spins briefly and then waits, yielded: everything it has not
    rooted may be collected. The lock itself is held meanwhile if it is a block; the object in which a lock is
    embedded must be reachable. NULL is fine: nothing is locked. Any thread, attached or not.
 */
MPR_EXPORT void mprLock(MprMutex *lock);

/** Lock if that needs no waiting. Never yields. @return Whether it is locked now. */
MPR_EXPORT bool mprTryLock(MprMutex *lock);

/** Unlock. By another thread than the owner it is refused and named in the log. NULL is fine. */
MPR_EXPORT void mprUnlock(MprMutex *lock);

/** One recursive lock that always exists, before mprCreate, too. Waits as mprLock does. */
MPR_EXPORT void mprGlobalLock(void);
MPR_EXPORT void mprGlobalUnlock(void);

/* ---- Spin locks ---- */

/** A lock for a few instructions. Not recursive. */
typedef struct MprSpin {
    uintptr_t owner; /* The runtime's */
    uint32_t word;
} MprSpin;

/** Make a spin lock. @return A block, or NULL when memory is short. */
MPR_EXPORT MprSpin *mprCreateSpinLock(void);
/** Prepare a spin lock that stands in other memory. @return lock; NULL when it is NULL. Any thread. */
MPR_EXPORT MprSpin *mprInitSpinLock(MprSpin *lock);

/**
    Lock. Never yields, however long it takes: so what a caller has not rooted stays, and therefore whoever holds a spin
    lock must not yield nor call what may wait. It spins, then sleeps. A thread that locks twice is named in the log
    before it waits for ever. NULL is fine. Any thread.
 */
MPR_EXPORT void mprSpinLock(MprSpin *lock);
/** Lock if it is free. @return Whether it is locked now. */
MPR_EXPORT bool mprTrySpinLock(MprSpin *lock);
MPR_EXPORT void mprSpinUnlock(MprSpin *lock);

/* ---- Conditions ---- */

/** Something to wait for: signalled or not. A wait that ends takes the signal away. */
typedef struct MprCond MprCond;

/** Make a condition, not signalled. @return A block, or NULL when memory is short. */
MPR_EXPORT MprCond *mprCreateCond(void);

/**
    Wait until the condition is signalled, and take the signal away. Returns at once, without a yield, when it is
    signalled already; else waits, yielded, with the condition itself held.
    @param timeout Milliseconds; negative: for ever. 0 only looks.
    @return 0; MPR_ERR_TIMEOUT; MPR_ERR_BAD_ARGS when cond is NULL.
 */
MPR_EXPORT int mprWaitForCond(MprCond *cond, MprTicks timeout);

/**
    Signal: one waiting thread goes on; when none waits, the next that comes does. Signals do not add up. NULL is fine.
    Any thread, attached or not. Never yields.
 */
MPR_EXPORT void mprSignalCond(MprCond *cond);

/** Take a signal away. NULL is fine. Any thread. */
MPR_EXPORT void mprResetCond(MprCond *cond);

/* ---- Atomic operations: any thread, sequentially consistent ---- */

/** If *target is expected, make it value. @return 1 when it did, else 0. */
MPR_EXPORT int mprAtomicCas(void *volatile *target, void *expected, cvoid *value);
MPR_EXPORT void mprAtomicAdd(volatile int *target, int value);
MPR_EXPORT void mprAtomicAdd64(volatile int64 *target, int64 value);
/** No load or store moves across it. */
MPR_EXPORT void mprAtomicBarrier(void);

MPR_EXTERN_C_END

/* lock(ptr), unlock(ptr): lock an object by its member `mutex`. In C++ no macro: std::mutex and others have methods of the name. */
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

#endif /* MPR_LOCK_H */
