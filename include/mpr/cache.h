/* SPDX-License-Identifier: MIT */
/*
    mpr/cache.h - Caches: strings by name that may be forgotten, and made again.

    An item has a value, a version that each change increases, the time it was last modified, and perhaps a time at
    which it expires. A cache forgets items that expire, and those not used for the longest time when it has more
    items or more memory than its limits allow, or when the heap's memory runs short: all caches are pruned at the
    redline and at the hard limit if the policy is MPR_ALLOC_POLICY_PRUNE (mpr/limits.h), a third at the redline, a
    half when an allocation fails.

    Keys and values are copied. What mprReadCache returns is a managed block that never changes: a write makes a new
    one. It is safe until the thread yields, whatever becomes of the item, and longer where it is rooted.

    An expired item is never returned. Its memory is given up when somebody asks for it, by later writes, and by a
    timer on the main dispatcher (mpr/event.h) for as long as there are items that expire; the timer keeps its cache
    alive.

    A cache is a managed block: it lives while something references it, except the shared one, which the runtime keeps.

    Threads: attached threads that run; others are refused and named (mpr/runtime.h). Any number may use a cache at
    the same time: a lock inside serialises them, held for the time that one item takes, never over an allocation or a
    callback. None of these calls yields.

    Cost: constant time for each item that is read, written, expired or pruned, on average and whatever the keys (as
    mpr/hash.h): the table grows and shrinks by a place at a time, and no call copies it. An item takes about 120
    bytes (80 on 32-bit) besides its key and value.
 */
#ifndef MPR_CACHE_H
#define MPR_CACHE_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/** A cache. What is in it is the runtime's. */
typedef struct MprCache MprCache;

/* Options of mprCreateCache. */
#define MPR_CACHE_SHARED 0x1 /* The one cache that all parts of a program share */

/* Options of mprWriteCache: one of them. */
#define MPR_CACHE_SET 0x0     /* Write, whether there is an item or not */
#define MPR_CACHE_ADD 0x2     /* Only if there is none */
#define MPR_CACHE_APPEND 0x4  /* Behind the value that is there, or as MPR_CACHE_SET if there is none */
#define MPR_CACHE_PREPEND 0x8 /* Before the value that is there, likewise */

/* Events of an MprCacheProc. */
#define MPR_CACHE_NOTIFY_REMOVE 0x1 /* The item is in the cache no longer: removed, expired or pruned */

/**
    Called for an event. Runs inside the call that causes the event, on its thread, or in the timer's event; while
    memory is short it runs under the rules of mpr/limits.h for pruners. It may use the cache. It must not yield, for
    what the caller of that call uses may not be rooted.
    @param key Valid until the procedure returns; no block: sclone it to keep it. @param data The value, a block.
    @param event MPR_CACHE_NOTIFY_*.
 */
typedef void (*MprCacheProc)(MprCache *cache, const char *key, const char *data, int event);

/**
    Make a cache, without limits.
    @param options MPR_CACHE_SHARED: make the shared cache, or return it if it exists. 0: make a cache of the caller's
    own.
    @return NULL when memory is short.
 */
MPR_EXPORT MprCache *mprCreateCache(int options);

/**
    Drop all items. The shared cache is no longer the one that mprCreateCache returns.
    @return NULL, to be assigned to what referenced the cache.
 */
MPR_EXPORT void *mprDestroyCache(MprCache *cache);

/**
    The value of an item, which becomes the one used last. When the item expires does not change.
    @param modified Set to when it was modified, unless NULL. @param version Set to its version, unless NULL.
    @return NULL when there is none, or it has expired; then nothing is set.
 */
MPR_EXPORT char *mprReadCache(MprCache *cache, const char *key, MprTime *modified, long long *version);

/** Read as mprReadCache does, but do not count it as a use: the item stays as near to being pruned as it was. */
MPR_EXPORT char *mprLookupCache(MprCache *cache, const char *key, MprTime *modified, long long *version);

/**
    Write an item.
    @param value Copied up to its zero. @param modified When it was modified; 0: now.
    @param lifespan Milliseconds from now until the item expires, which replaces what was set before; 0 or less: the
    cache's (mprSetCacheLimits), or never if it has none.
    @param version Write only if this is the item's version now, as mprReadCache said; 0: whatever it is. The first
    version of an item is 1 or more; those of an item that was removed do not come again when
    it is written later.
    @param options MPR_CACHE_ADD or one of the others.
    @return The length of the value given; MPR_ERR_BAD_STATE when the version is another, or there is no item;
    MPR_ERR_ALREADY_EXISTS for MPR_CACHE_ADD; MPR_ERR_WONT_FIT when the item alone is more than the cache may have;
    MPR_ERR_MEMORY; MPR_ERR_BAD_ARGS.
 */
MPR_EXPORT ptrdiff_t mprWriteCache(MprCache *cache, const char *key, const char *value, MprTime modified,
                                   MprTicks lifespan, long long version, int options);

/** Remove an item. @return Whether there was one. */
MPR_EXPORT bool mprRemoveCache(MprCache *cache, const char *key);

/**
    Add to the number that a value is; no item counts as 0. One step, whatever other threads do. When the item expires
    does not change.
    @param amount May be negative.
    @return The sum, which is the value now. It stops at the ends of the range. 0 also when nothing was written, for
    want of memory.
 */
MPR_EXPORT long long mprIncCache(MprCache *cache, const char *key, long long amount);

/**
    Say when an item expires.
    @param expires A time as of mprGetTicks(). What has passed, 0 for example, removes the item now.
    @return 0 or MPR_ERR_CANT_FIND.
 */
MPR_EXPORT int mprExpireCacheItem(MprCache *cache, const char *key, MprTicks expires);

/**
    Drop all items. A callback is told of each. @param cache NULL: the shared cache, if there is one.
 */
MPR_EXPORT void mprPruneCache(MprCache *cache);

/**
    Set limits. Of each, 0 means none, and a negative number leaves it as it is. Items are pruned at once.
    @param keys Items. @param lifespan Milliseconds, for items written without one of their own from now on.
    @param memory Bytes, of items and their values. @param resolution Milliseconds between two runs of the timer that
    gives up expired items; 0: 10,000.
 */
MPR_EXPORT void mprSetCacheLimits(MprCache *cache, long long keys, MprTicks lifespan, long long memory, int resolution);

/** Have a procedure told of events. @param notify NULL: nobody. */
MPR_EXPORT void mprSetCacheNotify(MprCache *cache, MprCacheProc notify);

/**
    Retain a block for as long as the item is in the cache, or until another takes its place. @param link NULL: none.
    @return 0 or MPR_ERR_CANT_FIND.
 */
MPR_EXPORT int mprSetCacheLink(MprCache *cache, const char *key, void *link);

/**
    How much there is, items that have expired and are not given up yet included.
    @param numKeys Set to the number of items, unless NULL. @param mem Set to the bytes of items and values, unless
    NULL.
 */
MPR_EXPORT void mprGetCacheStats(MprCache *cache, int *numKeys, ptrdiff_t *mem);

MPR_EXTERN_C_END
#endif /* MPR_CACHE_H */
