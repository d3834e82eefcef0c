/* SPDX-License-Identifier: MIT */
/*
    policy_mpr.h - The policies of mpr: collected (blocks are dropped and forgotten), or, with MPR_BENCH_FREE set, the
    style of malloc: collection disabled, every block given back with mprFree. Both yield at each tick.
    The members are explained in policy_malloc.h.
 */
#ifndef POLICY_MPR_H
#define POLICY_MPR_H

#include "bench.h"
#include "mpr.h"

#ifndef MPR_BENCH_FREE
#define MPR_BENCH_FREE 0
#endif

/** A managed table of references: what a plain C program writes. */
struct Table {
    size_t count;
    size_t pad; /* Items start on a granule */
    void *item[1];
};

inline void manageTable(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        Table *table = (Table *) ptr;
        for (size_t i = 0; i < table->count; i++) {
            mprMark(table->item[i]);
        }
    }
}

struct Alloc {
    static constexpr bool collects = !MPR_BENCH_FREE;

    static void begin(const char *options) {
        if (options && mprConfigure(options) != 0) {
            bench::fail("bad options");
        }
        if (!mprCreate(0, nullptr, MPR_BENCH_FREE ? MPR_DISABLE_GC : 0)) {
            bench::fail("mprCreate failed");
        }
    }
    static void end() {
        if (!mprDestroy()) {
            bench::fail("mprDestroy failed");
        }
    }

    static void *alloc(size_t size) { return mprAlloc(size); }
    static void drop(void *ptr) {
        if (MPR_BENCH_FREE) {
            mprFree(ptr);
        }
    }

    template <typename T>
    static void manage(void *ptr, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            T *node = (T *) ptr;
            mprMark(node->a);
            mprMark(node->b);
        }
    }
    /* Flags of allocNode: 0 is what mprAllocObj gives, MPR_ALLOC_NO_FREE is for those who know. */
    inline static int nodeFlags = 0;

    template <typename T>
    static T *allocNode() {
        return (T *) mprAllocManaged(sizeof(T), manage<T>, nodeFlags);
    }
    static void dropNode(void *ptr) { drop(ptr); }

    static void **allocTable(size_t count) {
        Table *table =
            (Table *) mprAllocManaged(offsetof(Table, item) + count * sizeof(void *), manageTable, MPR_ALLOC_ZERO);
        if (!table) {
            bench::fail("no memory for a table");
        }
        table->count = count;
        mprAddRoot(table);
        return table->item;
    }
    static void dropTable(void **items, size_t) {
        Table *table = (Table *) ((char *) items - offsetof(Table, item));
        mprRemoveRoot(table);
        drop(table);
    }

    static void tick() { mprYield(0); }
    static void attach() {
        if (mprAttachThread("bench") != 0) {
            bench::fail("mprAttachThread failed");
        }
    }
    static void detach() { mprDetachThread(); }
    static void block() { mprYield(MPR_YIELD_STICKY); }
    static void unblock() { mprResetYield(); }
    static void collect() {
        if (collects) {
            mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        }
    }
    /* What is live then must hang from a table, in either style. */
    static void trim() { mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE); }
    static size_t heapBytes() { return (size_t) mprGetMemStats()->heap; }
};

#endif /* POLICY_MPR_H */
