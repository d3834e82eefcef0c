/* SPDX-License-Identifier: MIT */
/*
    mpr/handle.h - Handles: references to blocks from outside the heap, weak or strong, for hosts and interpreters.

    A handle is a number that stands for a place in the runtime's store of handles. The place refers to a block, and has
    a further word. What the reference means to the collector is the handle's type. Creating, destroying and all else
    takes constant time. There may be as many handles as memory has room for; memory of handles that were destroyed
    goes back to the system.

    A destroyed handle is *stale*. Its number has the generation of its place, so a call that is given a stale handle
    finds out, names it in the log and does nothing. (A place counts half a million generations on 64 bit and a thousand
    million on 32 bit; then they repeat.) A number that no call has returned is as bad as a wild pointer;
    mprContainsHandle may be asked about any.

    Weak references are cleared in the pause that finds their block dead, while all threads are stopped. So what
    mprGetHandle returns is NULL or a block that lives, and that stays safe without any root until the calling thread
    yields. Storing a block into a handle publishes it, as a store into a field does.

    mprFree clears weak handles to its block, long ones when its manager has returned, and refuses a block that a strong
    handle refers to. A handle that the manager makes to its block is cleared, too, and a strong one named. mprRealloc
    moves handles along with their block. In the long run either takes constant time for each handle made or set since;
    without an operating system, or membarrier(2), time in proportion to all handles, if one has referred to the block.

    A handle may be used by several threads at once. A call that races with the handle's destruction sees the handle
    either before or after it. mprDestroy ends all handles.
 */
#ifndef MPR_HANDLE_H
#define MPR_HANDLE_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/** A handle; 0 is none. */
typedef unsigned long long MprHandle;

/* Types of handles. */
#define MPR_HANDLE_WEAK_SHORT 0 /* Cleared when the block is found dead, before any manager is called with FREE */
#define MPR_HANDLE_WEAK_LONG 1  /* Cleared when the managers of that collection have returned: see mprGetHandle */
#define MPR_HANDLE_STRONG 2     /* Keeps the block, and all that it references: a root */
#define MPR_HANDLE_PINNED 3     /* As MPR_HANDLE_STRONG: no block ever moves */
#define MPR_HANDLE_VARIABLE 4   /* As the type that its further word says: weak short, weak long or strong */
#define MPR_HANDLE_REFCOUNTED 5 /* Strong while its further word, a count, is greater than 0; else weak short */
#define MPR_HANDLE_DEPENDENT \
    6 /* An ephemeron: weak short to its block, the key. It keeps a value while the key lives */
#define MPR_HANDLE_ASYNC_PINNED \
    7                      /* As MPR_HANDLE_PINNED, under its own type, for buffers of input and output that runs */
#define MPR_HANDLE_SIZED 8 /* Strong; a major collection measures what only it keeps: see mprGetHandleSize */
#define MPR_HANDLE_TYPES 9

/** The runtime's: a place in the store. */
typedef struct MprHandleSlot {
    void *block;
    uintptr_t self; /* Which handle the place is at present, and whether it is one */
    void *extra;
    uintptr_t site;
#if UINTPTR_MAX <= 0xFFFFFFFFu
    uint16_t owner, index;
#endif
} MprHandleSlot;

#if UINTPTR_MAX > 0xFFFFFFFFu
/** The runtime's: 48 bits of address, less those that alignment leaves; the rest are the generation. */
#define MPR_HANDLE_SLOT(handle) ((MprHandleSlot *) (uintptr_t) ((handle) &0x0000FFFFFFFFFFE0u))
#define MPR_HANDLE_SELF(handle) ((uintptr_t) (handle))
#else
#define MPR_HANDLE_SLOT(handle) ((MprHandleSlot *) (uintptr_t) (uint32_t) (handle))
#define MPR_HANDLE_SELF(handle) ((uintptr_t) ((handle) >> 32))
#endif

/**
    Create a handle. @param type MPR_HANDLE_*. @param block A block or NULL. The further word is 0 (for
    MPR_HANDLE_VARIABLE that is weak short).
    @return 0 when there is no memory, or the call is wrong, which is named. Attached threads that run. Does not yield.
 */
MPR_EXPORT MprHandle mprCreateHandle(int type, const void *block);
/**
    Create a handle with its further word. @param extra For MPR_HANDLE_DEPENDENT the value: a block or NULL. For
    MPR_HANDLE_VARIABLE MPR_HANDLE_WEAK_SHORT, MPR_HANDLE_WEAK_LONG or MPR_HANDLE_STRONG; anything else is refused, named.
    @param owner Any number from 0 to 65535, for counts.
 */
MPR_EXPORT MprHandle mprCreateHandleFor(int type, const void *block, void *extra, int owner);
/** A handle of the same type, block, further word and owner. @return As mprCreateHandle. */
MPR_EXPORT MprHandle mprDuplicateHandle(MprHandle handle);
/**
    Destroy a handle; 0 is fine. Attached threads in any state; one that has yielded waits while the collector has stopped the
    others. @return 0, or MPR_ERR_BAD_HANDLE when it is stale (named).
 */
MPR_EXPORT int mprDestroyHandle(MprHandle handle);

/** The runtime's: the rest of mprGetHandle. */
MPR_EXPORT void *mprGetHandleSlow(MprHandle handle);
/**
    The block that a handle refers to. Three loads, inline. Attached threads that run; like a load from a field that is not
    checked.
    @return NULL also for 0 and for a stale handle (named). While managers are called with MPR_MANAGE_FREE, a
    handle of type MPR_HANDLE_WEAK_LONG still gives its dead block to them, and NULL to everybody else: the block's
    memory goes when the last manager has returned.
 */
static inline void *mprGetHandle(MprHandle handle) {
    const MprHandleSlot *slot = MPR_HANDLE_SLOT(handle);
    /* The generation first: see mpr/gc/handle_store.hpp. */
    if (__builtin_expect(slot && __atomic_load_n(&slot->self, __ATOMIC_ACQUIRE) == MPR_HANDLE_SELF(handle), 1)) {
        void *block = __atomic_load_n(&slot->block, __ATOMIC_ACQUIRE);
        /* And again: the place may have become another handle's meanwhile. */
        if (__builtin_expect(__atomic_load_n(&slot->self, __ATOMIC_RELAXED) == MPR_HANDLE_SELF(handle), 1)) {
            return block;
        }
    }
    return mprGetHandleSlow(handle);
}

/**
    Have a handle refer to a block, or NULL. A dependent handle whose key becomes NULL loses its value. Attached threads
    that run. @return 0, or MPR_ERR_BAD_HANDLE or MPR_ERR_BAD_ARGS (named).
 */
MPR_EXPORT int mprSetHandle(MprHandle handle, const void *block);
/** Have a handle refer to a block, or NULL, if it refers to `expected`. @return What it referred to before; NULL for a
    stale handle. */
MPR_EXPORT void *mprCompareExchangeHandle(MprHandle handle, const void *block, const void *expected);
/** Have a handle refer to a block if it refers to nothing. @return Whether it did. */
MPR_EXPORT bool mprSetHandleIfNull(MprHandle handle, const void *block);

/** Read the further word. It is the program's, except for types that use it themselves. Attached threads that run. */
MPR_EXPORT void *mprGetHandleExtra(MprHandle handle);
/** @return 0, or MPR_ERR_BAD_HANDLE; MPR_ERR_BAD_ARGS for MPR_HANDLE_DEPENDENT and MPR_HANDLE_SIZED, and for
    MPR_HANDLE_VARIABLE when that is no type that it may have (named). */
MPR_EXPORT int mprSetHandleExtra(MprHandle handle, void *extra);
/** MPR_HANDLE_REFCOUNTED: add to the count. @return The new count; the old one when the sum is out of range, 0
    for what is no such handle (both named). */
MPR_EXPORT ptrdiff_t mprAddHandleCount(MprHandle handle, ptrdiff_t by);
/** MPR_HANDLE_DEPENDENT: the value, NULL when the key has gone. */
MPR_EXPORT void *mprGetHandleValue(MprHandle handle);
/**
    MPR_HANDLE_DEPENDENT: set the value, a block or NULL. @return 0; MPR_ERR_BAD_STATE when the key is NULL, which is
    no mistake; MPR_ERR_BAD_HANDLE or MPR_ERR_BAD_ARGS (named).
 */
MPR_EXPORT int mprSetHandleValue(MprHandle handle, const void *value);
/**
    MPR_HANDLE_SIZED: bytes of all blocks that the last major collection reached through this handle only. What several
    such handles reach counts for one of them. Such a handle has its blocks marked in the last pause of a major
    collection, so it makes this pause longer. @return 0 before the first, and without an operating system.
 */
MPR_EXPORT size_t mprGetHandleSize(MprHandle handle);

/** @return MPR_HANDLE_*, or MPR_ERR_BAD_HANDLE (named). */
MPR_EXPORT int mprGetHandleType(MprHandle handle);
/** Whether a number is a handle that has not been destroyed. Any number. Takes time in proportion to the store. */
MPR_EXPORT bool mprContainsHandle(MprHandle handle);

/* For parameters of mprCountHandles: whatever it is. */
#define MPR_HANDLE_ANY (-1)
/** Count handles. @param type,owner Those of the handles, or MPR_HANDLE_ANY. @param site The code address that created
    them; NULL: any. */
MPR_EXPORT size_t mprCountHandles(int type, int owner, const void *site);
/** Handles of one type and owner that were created at one place of the program. */
typedef struct MprHandleCount {
    const void *site; /* A code address */
    int type, owner;
    size_t count;
} MprHandleCount;
/** Count handles by type, owner and site. @return How many elements were set; what finds no room is left out. */
MPR_EXPORT int mprCountHandlesBySite(MprHandleCount *counts, int most);
/** Write a line on each handle to the log, at level info: type, block, further word, owner, site. */
MPR_EXPORT void mprDumpHandles(MPR_NOTHING);

MPR_EXTERN_C_END
#endif /* MPR_HANDLE_H */
