// SPDX-License-Identifier: MIT
/* worst_path.cpp - The longest path of mprAlloc and mprFree in instructions. Also a test: see --bound in worst_path.h. */
#include "bench.h"
#include "mpr.h"

#include <stddef.h>

struct Table {
    size_t count;
    size_t pad;
    void *item[1];
};

static void manageTable(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        Table *table = (Table *) ptr;
        for (size_t i = 0; i < table->count; i++) {
            mprMark(table->item[i]);
        }
    }
}

struct Alloc {
    static constexpr bool collects = true;

    static void begin() {
        if (!mprCreate(0, nullptr, MPR_DISABLE_GC)) {
            bench::fail("mprCreate failed");
        }
        keepFree();
    }
    /* Else the collector's thread wakes up at times of its own to give memory back, and may hold the lock then. */
    static void keepFree() { mprSetMemLimits(0, 0, PTRDIFF_MAX); }
    /** Give back all free memory now, so that allocation has to take it from the system again. */
    static void purge() {
        mprSetMemLimits(0, 0, 0);
        collect(true);
        keepFree();
    }
    static void end() {
        if (!mprDestroy()) {
            bench::fail("mprDestroy failed");
        }
    }

    /* Flavours: 0 mprAlloc, 1 mprAllocMem, 2 mprAllocMem with room for a manager. */
    static void *allocFunction(unsigned flavour) { return flavour ? (void *) mprAllocMem : (void *) mprAlloc; }
    static uint64_t allocFlags(unsigned flavour) { return flavour == 2 ? MPR_ALLOC_MANAGER : 0; }
    static void *alloc(size_t size, unsigned flavour) {
        return flavour ? mprAllocMem(size, (int) allocFlags(flavour)) : mprAlloc(size);
    }
    static void *freeFunction() { return (void *) mprFree; }
    static void free(void *ptr) { mprFree(ptr); }

    static void **allocTable(size_t count) {
        Table *table =
            (Table *) mprAllocManaged(offsetof(Table, item) + count * sizeof(void *), manageTable, MPR_ALLOC_ZERO);
        if (!table) {
            bench::fail("no memory for the table");
        }
        table->count = count;
        mprAddRoot(table);
        return table->item;
    }
    static void dropTable(void **items, size_t) {
        Table *table = (Table *) ((char *) items - offsetof(Table, item));
        mprRemoveRoot(table);
        mprFree(table);
    }

    static void tick() { mprYield(0); }
    static void attach() {
        if (mprAttachThread("remote") != 0) {
            bench::fail("mprAttachThread failed");
        }
    }
    static void detach() { mprDetachThread(); }
    static void block() { mprYield(MPR_YIELD_STICKY); }
    static void unblock() { mprResetYield(); }
    static void collect(bool complete) { mprGC(complete ? MPR_GC_FORCE | MPR_GC_COMPLETE : MPR_GC_FORCE); }
    static void enable(bool on) { mprEnableGC(on); }
};

#include "worst_path.h"
