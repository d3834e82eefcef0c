/* SPDX-License-Identifier: MIT */
/*
    mpr/list.h - Growable lists of pointers, and sorting.

    A list keeps items in order and grows as needed. Its items are managed blocks, which the list retains, unless it was
    made with MPR_LIST_STATIC_VALUES. A list is a managed block itself: it lives while something references it.

    Threads: only attached threads that run; others are refused and named (mpr/runtime.h). Calls that change a list are
    serialised by a lock inside. Calls that read take no lock: they see the list before or after a change, or, while
    items move up or down, an item twice or not at all. A list made with MPR_LIST_STABLE has no lock: one thread uses it
    at a time. None of these calls yields or waits for a thread that may. An item that a thread has fetched is safe
    until that thread yields, even if it is removed meanwhile.

    lock(list) and unlock(list) (mpr/lock.h) make several calls one step, for threads that use them. The calls here do
    not take that lock, so they need not yield. A thread that may have to wait for it keeps the list reachable, as for
    mprLock.

    Cost: adding and removing at the end is constant (the array doubles when full); elsewhere it is linear.
 */
#ifndef MPR_LIST_H
#define MPR_LIST_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

struct MprMutex;

/* Flags of mprCreateList. */
#define MPR_LIST_STATIC_VALUES 0x20 /* Items are not managed: anything of the size of a pointer */
#define MPR_LIST_STABLE 0x40        /* One thread uses the list at a time: no lock */
#define MPR_LIST_OWN MPR_LIST_STABLE

/**
    A list. Fields are for reading, by the thread that owns the list or while nobody changes it; items are written with
    mprSetItem, which tells the collector.
 */
typedef struct MprList {
    void **items;           /* The array: length items, then NULLs */
    int length;             /* Items in the list */
    int capacity;           /* Items for which the array has room */
    int maxSize;            /* Items that the list may hold */
    int flags;              /* MPR_LIST_* */
    struct MprMutex *mutex; /* For lock(list); NULL when one thread uses it at a time */
} MprList;

/** A key and its value. Managed, as key and value are. */
typedef struct MprKeyValue {
    char *key;
    void *value;
    int flags; /* The program's */
} MprKeyValue;

/**
    Compares two items for sorting.
    @param p1,p2 Addresses of the items: where items are strings, each is a `char **`.
    @param ctx As given to the sort. @return Less than, equal to or greater than zero. It must not yield.
 */
typedef int (*MprSortProc)(const void *p1, const void *p2, void *ctx);

/** @param size Items expected, a hint; 0 or -1: none. @param flags MPR_LIST_*. @return NULL when memory is short. */
MPR_EXPORT MprList *mprCreateList(int size, int flags);
/** Make a list of the words of a text, which are separated by white space or commas. NULL makes an empty list. */
MPR_EXPORT MprList *mprCreateListFromWords(const char *str);
/** A new list with the same items and flags. @return NULL when src is NULL or memory is short. */
MPR_EXPORT MprList *mprCloneList(MprList *src);
/** Replace the items of a list by those of another. @return 0; MPR_ERR_BAD_ARGS without lists; MPR_ERR_MEMORY: dest is
    empty then. */
MPR_EXPORT int mprCopyListContents(MprList *dest, MprList *src);
/** Append the items of another list. @return list, or NULL when memory is short: then it is unchanged. */
MPR_EXPORT MprList *mprAppendList(MprList *list, MprList *add);
/**
    Limit a list. @param initialSize Make room for so many items now; 0 or less: leave it.
    @param maxSize The most items that it may hold; 0 or less: no limit. @return 0, or MPR_ERR_MEMORY.
 */
MPR_EXPORT int mprSetListLimits(MprList *list, int initialSize, int maxSize);

/**
    Append an item. @return Its index; MPR_ERR_MEMORY; MPR_ERR_TOO_MANY past maxSize; MPR_ERR_BAD_ARGS without a list.
    After an error the list is as it was.
 */
MPR_EXPORT int mprAddItem(MprList *list, const void *item);
MPR_EXPORT int mprPushItem(MprList *list, const void *item);
/** End items, the array, with a NULL that is not counted: for functions that take such arrays. @return length or
    error. */
MPR_EXPORT int mprAddNullItem(MprList *list);
/**
    Insert before the item at index. A negative index is 0; past the end, what lies between becomes NULL.
    @return The index, or an error as mprAddItem.
 */
MPR_EXPORT int mprInsertItemAtPos(MprList *list, int index, const void *item);
/** Replace the item at index. Past the end the list grows, as by mprInsertItemAtPos. @return The item replaced; NULL
    also for errors. */
MPR_EXPORT void *mprSetItem(MprList *list, int index, const void *item);

/** Remove the first item that is item, or whose text is str. @return The index that it had, or MPR_ERR_CANT_FIND. */
MPR_EXPORT int mprRemoveItem(MprList *list, const void *item);
MPR_EXPORT int mprRemoveStringItem(MprList *list, const char *str);
/** Remove the item at index. @return index, or MPR_ERR_CANT_FIND when there is none. */
MPR_EXPORT int mprRemoveItemAtPos(MprList *list, int index);
/** Remove items start to end - 1; an end of -1 is the length. @return 0, or MPR_ERR_BAD_ARGS: no such range. */
MPR_EXPORT int mprRemoveRangeOfItems(MprList *list, int start, int end);
/** Remove the last item. @return The index that it had, or MPR_ERR_CANT_FIND. */
MPR_EXPORT int mprRemoveLastItem(MprList *list);
/** Remove the last item. @return The item, or NULL when the list is empty. */
MPR_EXPORT void *mprPopItem(MprList *list);
MPR_EXPORT void mprClearList(MprList *list);

/** @return The item, or NULL when there is none at index. This call and those down to mprLookupStringItem take NULL for
    an empty list. */
MPR_EXPORT void *mprGetItem(MprList *list, int index);
MPR_EXPORT void *mprGetFirstItem(MprList *list);
MPR_EXPORT void *mprGetLastItem(MprList *list);
MPR_EXPORT int mprGetListLength(MprList *list);
MPR_EXPORT int mprGetListCapacity(MprList *list);
/** Iterate from the start. @param lastIndex 0 before the first call; the index after the item returned. @return NULL at
    the end. */
MPR_EXPORT void *mprGetNextItem(MprList *list, int *lastIndex);
/** Another name for mprGetNextItem, which programs use for lists of MPR_LIST_STABLE. */
MPR_EXPORT void *mprGetNextStableItem(MprList *list, int *lastIndex);
/** Iterate from the end. @param lastIndex -1 before the first call; the index of the item returned. @return NULL after
    the first item. */
MPR_EXPORT void *mprGetPrevItem(MprList *list, int *lastIndex);
/** @return The index of the first such item, or MPR_ERR_CANT_FIND. */
MPR_EXPORT int mprLookupItem(MprList *list, const void *item);
/** Find an item among strings, compared by their text. @return The index of the first, or MPR_ERR_CANT_FIND. */
MPR_EXPORT int mprLookupStringItem(MprList *list, const char *str);

/** Join items that are strings. @param join Between two; NULL: ",". @return A new string, or NULL. */
MPR_EXPORT char *mprListToString(MprList *list, const char *join);

/** @return A pair with copies of both texts (NULL stays NULL), or NULL when memory is short. */
MPR_EXPORT MprKeyValue *mprCreateKeyPair(const char *key, const char *value, int flags);

/**
    Sort an array; equal elements keep their order. By merging: n log n comparisons at most; stack for log n calls.
    @param base The elements, in memory without a barrier (mpr/barrier.h). @param num How many. @param width Bytes each.
    @param compare NULL: the elements are strings, compared as strcmp does.
    @return base. Half of the array's size is allocated meanwhile; without memory it takes log n times longer instead
    (the stable merge in place of K. Dudzinski and A. Dydek, 1981).
 */
MPR_EXPORT void *mprSort(void *base, ptrdiff_t num, ptrdiff_t width, MprSortProc compare, void *ctx);

/**
    Sort a list as mprSort does. The list is not locked while compare runs; if another thread changes it meanwhile, it
    is sorted again with its new items. @return list, or NULL when memory is short: then it is unchanged.
 */
MPR_EXPORT MprList *mprSortList(MprList *list, MprSortProc compare, void *ctx);

MPR_EXTERN_C_END

/**
    The head of a loop over all items: for (MPR_ITERATE_ITEMS(list, item, next)) { ... }
    @param item A variable of any pointer type. @param next An int variable. The loop ends at a NULL item.
    To remove the current item inside, use mprRemoveItemAtPos(list, --next).
 */
#if defined(__cplusplus)
#define MPR_ITERATE_ITEMS(list, item, next) \
    next = 0, item = 0; \
    (item = static_cast<decltype(item)>(mprGetNextItem(list, &next))) != 0;
#else
#define MPR_ITERATE_ITEMS(list, item, next) \
    next = 0, item = 0; \
    (item = mprGetNextItem(list, &next)) != 0;
#endif

#endif /* MPR_LIST_H */

/* Short names: see mpr/types.h. */
#if !defined(MPR_NO_SHORT_NAMES) && !defined(MPR_LIST_SHORT_NAMES)
#define MPR_LIST_SHORT_NAMES

#define ITERATE_ITEMS(list, item, next) MPR_ITERATE_ITEMS(list, item, next)

#endif /* MPR_LIST_SHORT_NAMES */
