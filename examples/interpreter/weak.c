/* SPDX-License-Identifier: MIT */
/*
    weak.c - Weak tables: an entry is a dependent handle (mpr/handle.h), an ephemeron: it refers to its key weakly, and
    keeps its value while the key lives, though the value may refer to the key.
 */
#include "cells.h"

#include <stdlib.h>

/* Blocks never move, so a key's address is its hash. Entries whose keys have died are found on the way. */
enum { BUCKETS = 64 };
typedef struct Entry {
    MprHandle handle;
    struct Entry *next;
} Entry;

static Entry **bucketsOf(const Cell *table) {
    return (Entry **) table->number;
}

static Entry **bucketOf(const Cell *table, const Cell *key) {
    return &bucketsOf(table)[((uintptr_t) key / 64) % BUCKETS];
}

/* Call with each entry that lives; the rest go. @return How many live. */
static intptr_t prune(Entry **at) {
    intptr_t living = 0;

    while (*at) {
        Entry *entry = *at;
        if (mprGetHandle(entry->handle)) {
            living++;
            at = &entry->next;
        } else {
            mprDestroyHandle(entry->handle);
            *at = entry->next;
            free(entry);
        }
    }
    return living;
}

static void manageTable(void *ptr, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        for (int i = 0; i < BUCKETS; i++) {
            for (Entry *entry = bucketsOf(ptr)[i], *next; entry; entry = next) {
                next = entry->next;
                mprDestroyHandle(entry->handle);
                free(entry);
            }
        }
        free(bucketsOf(ptr));
    }
}

Cell *makeWeakTable(void) {
    /* A manager that is called with FREE: not without a call */
    Cell *table = (Cell *) mprAllocManaged(sizeof(Cell), manageTable, MPR_ALLOC_BARRIER | MPR_ALLOC_ZERO);
    Entry **buckets = (Entry **) calloc(BUCKETS, sizeof(Entry *));

    if (!table || !buckets) {
        return fail("out of memory");
    }
    table->type = WEAK_TABLE;
    table->number = (intptr_t) buckets;
    return table;
}

static Entry *find(const Cell *table, const Cell *key) {
    Entry *entry = *bucketOf(table, key);

    while (entry && mprGetHandle(entry->handle) != key) {
        entry = entry->next;
    }
    return entry;
}

void putWeak(Cell *table, Cell *key, Cell *value) {
    Entry *entry = key ? find(table, key) : NULL;

    if (entry) {
        mprSetHandleValue(entry->handle, value);
    } else if (key) {
        prune(bucketOf(table, key));
        entry = (Entry *) malloc(sizeof(Entry));
        if (!entry || !(entry->handle = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, key, value, 0))) {
            fail("out of memory");
            return;
        }
        entry->next = *bucketOf(table, key);
        *bucketOf(table, key) = entry;
    }
}

Cell *getWeak(Cell *table, const Cell *key) {
    Entry *entry = key ? find(table, key) : NULL;

    return entry ? (Cell *) mprGetHandleValue(entry->handle) : NULL;
}

intptr_t countWeak(Cell *table) {
    intptr_t living = 0;

    for (int i = 0; i < BUCKETS; i++) {
        living += prune(&bucketsOf(table)[i]);
    }
    return living;
}
