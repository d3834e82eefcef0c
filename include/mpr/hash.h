/* SPDX-License-Identifier: MIT */
/*
    mpr/hash.h - Hash tables: from strings to pointers.

    A table copies each key and retains each value, unless it was made with MPR_HASH_STATIC_KEYS or
    MPR_HASH_STATIC_VALUES. A table is a managed block: it lives while something references it. Keys are iterated in the
    order in which they were added.

    Threads: only attached threads that run; others are refused and named (mpr/runtime.h). Calls that change a table,
    and iteration, are serialised by a lock inside; lookups take no lock. A table made with MPR_HASH_STABLE has no lock:
    one thread uses it at a time. None of these calls yields or waits for a thread that may. An entry or value that a
    thread has found is safe until that thread yields, even if it is removed meanwhile.

    lock(table) and unlock(table) (mpr/lock.h) make several calls one step, for threads that use them. The calls here do
    not take that lock, so they need not yield. A thread that may have to wait for it keeps the table reachable, as for
    mprLock.

    Cost: constant on average, whatever the keys: they are hashed with a key of their own that the process draws at
    random (SipHash-1-3: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012), so nobody outside
    can choose keys that collide. A full table is copied into one twice as large, a nearly empty one into a smaller one.
 */
#ifndef MPR_HASH_H
#define MPR_HASH_H

#include "mpr/format.h"
#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

struct MprMutex;

/* Flags of mprCreateHash. */
#define MPR_HASH_CASELESS 0x1       /* ASCII letters of keys match in either case */
#define MPR_HASH_STATIC_KEYS 0x10   /* Keys are not copied and not managed: they stay valid as long as their entries */
#define MPR_HASH_STATIC_VALUES 0x20 /* Values are not managed: anything of the size of a pointer */
#define MPR_HASH_STATIC_ALL (MPR_HASH_STATIC_KEYS | MPR_HASH_STATIC_VALUES)
#define MPR_HASH_STABLE 0x40 /* One thread uses the table at a time: no lock */
#define MPR_HASH_OWN MPR_HASH_STABLE
#define MPR_HASH_UNIQUE 0x80 /* mprAddKey refuses a key that exists */

/**
    An entry. A managed block. Key and data are for reading: they are written with mprAddKey, which tells the collector.
 */
typedef struct MprKey {
    char *key;        /* Managed unless MPR_HASH_STATIC_KEYS */
    const void *data; /* The value */
    int type;         /* The program's */
    int position;     /* The runtime's */
} MprKey;

/** A table. Fields are for reading. */
typedef struct MprHash {
    int flags;              /* MPR_HASH_* */
    int length;             /* Entries */
    int size;               /* Entries for which there is room without growing */
    struct MprMutex *mutex; /* For lock(table); NULL when one thread uses it at a time */
} MprHash;

/** @param hashSize Keys expected, a hint; 0 or -1: none. @param flags MPR_HASH_*. @return NULL when memory is short. */
MPR_EXPORT MprHash *mprCreateHash(int hashSize, int flags);
/** A new table with the same entries and flags. @return NULL when table is NULL or memory is short. */
MPR_EXPORT MprHash *mprCloneHash(MprHash *table);
/** Add the entries of another table, which replace those of the same key. @return target, or NULL when memory is
    short. */
MPR_EXPORT MprHash *mprBlendHash(MprHash *target, MprHash *other);

/**
    Add a key, or give it another value.
    @param key A string, copied unless MPR_HASH_STATIC_KEYS (then the entry refers to this one from now on).
    @param ptr The value. NULL is fine.
    @return The entry; NULL when memory is short, and then the table is as it was; NULL when table or key is NULL, or
    when the key exists and the table has MPR_HASH_UNIQUE.
 */
MPR_EXPORT MprKey *mprAddKey(MprHash *table, const void *key, const void *ptr);
/** Add a key as mprAddKey does, and set the entry's type. */
MPR_EXPORT MprKey *mprAddKeyWithType(MprHash *table, const void *key, const void *ptr, int type);
/** Add a key as mprAddKey does, with a new formatted string as its value. */
MPR_EXPORT MprKey *mprAddKeyFmt(MprHash *table, const void *key, const char *fmt, ...) MPR_PRINTF(3, 4);
/** Add an entry even if its key exists. Lookups find the oldest; iteration finds all. */
MPR_EXPORT MprKey *mprAddDuplicateKey(MprHash *table, const void *key, const void *ptr);
/** Remove a key; if it has several entries, the oldest. @return 0; MPR_ERR_CANT_FIND when there is none (or no table or
    key). */
MPR_EXPORT int mprRemoveKey(MprHash *table, const void *key);

/** @return The value, or NULL when there is none (or no table or key). */
MPR_EXPORT void *mprLookupKey(MprHash *table, const void *key);
/** @return The entry, or NULL: tells a key whose value is NULL from one that is not there. */
MPR_EXPORT MprKey *mprLookupKeyEntry(MprHash *table, const void *key);
MPR_EXPORT int mprGetHashLength(MprHash *table);

/** @return The oldest entry, or NULL when there is none (or no table). */
MPR_EXPORT MprKey *mprGetFirstKey(MprHash *table);
/** @param last The previous entry, which may have been removed meanwhile; NULL: start. @return NULL at the end. */
MPR_EXPORT MprKey *mprGetNextKey(MprHash *table, MprKey *last);

/** Join all keys. @param join Between two; NULL: ",". @return A new string, or NULL. */
MPR_EXPORT char *mprHashKeysToString(MprHash *hash, const char *join);
/** Join all values, which are strings; NULL counts as "". @param join Between two; NULL: ",". @return A new string, or
    NULL. */
MPR_EXPORT char *mprHashToString(MprHash *hash, const char *join);

/** A table with each word of a text as a key and its own value. Words are separated by white space or commas. NULL
    makes an empty table. @return NULL when memory is short. */
MPR_EXPORT MprHash *mprCreateHashFromWords(const char *str);

/** The hash of a text by which these tables find keys, for tables of the program's own: SipHash-1-3, with a key that the
    process draws at random. @param text May be NULL when length is 0. Any thread. */
MPR_EXPORT unsigned long long mprHashText(const char *text, size_t length);

/** Keep a value in a table of the runtime for the program's own use, until it is replaced or the runtime ends.
    @param value A managed block, or NULL. Attached threads. Does not yield. */
MPR_EXPORT void mprSetKey(const char *key, void *value);
/** @return What mprSetKey has kept, or NULL. Attached threads. Does not yield. */
MPR_EXPORT void *mprGetKey(const char *key);

MPR_EXTERN_C_END

/**
    The head of a loop over all entries: for (MPR_ITERATE_KEYS(table, kp)) { ... }
    @param item An MprKey pointer. The current entry may be removed inside; after other changes the loop may miss or
    repeat entries.
 */
#define MPR_ITERATE_KEYS(table, item) \
    item = 0; \
    (item = mprGetNextKey(table, item)) != 0;

/** The head of a loop over all entries, as MPR_ITERATE_KEYS, that also puts each value into a variable of any pointer
    type. */
#if defined(__cplusplus)
#define MPR_ITERATE_KEY_DATA(table, item, value) \
    item = 0; \
    (item = mprGetNextKey(table, item)) != 0 && \
        ((value = static_cast<decltype(value)>(const_cast<void *>(item->data))) != 0 || true);
#else
#define MPR_ITERATE_KEY_DATA(table, item, value) \
    item = 0; \
    (item = mprGetNextKey(table, item)) != 0 && ((value = (void *) item->data) != 0 || true);
#endif

#endif /* MPR_HASH_H */

/* Short names: see mpr/types.h. */
#if !defined(MPR_NO_SHORT_NAMES) && !defined(MPR_HASH_SHORT_NAMES)
#define MPR_HASH_SHORT_NAMES

#define ITERATE_KEYS(table, item) MPR_ITERATE_KEYS(table, item)
#define ITERATE_KEY_DATA(table, item, value) MPR_ITERATE_KEY_DATA(table, item, value)

#endif /* MPR_HASH_SHORT_NAMES */
