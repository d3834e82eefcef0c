/* SPDX-License-Identifier: MIT */
/*
    policy_boehm.h - The policy of the Boehm-Demers-Weiser collector: leaf blocks are GC_MALLOC_ATOMIC, blocks with
    references GC_MALLOC. The members are explained in policy_malloc.h.
 */
#ifndef POLICY_BOEHM_H
#define POLICY_BOEHM_H

#define GC_THREADS /* Before any pthread use: gc.h wraps pthread_create */
#include <gc.h>

#include "bench.h"

/* Tables hang from here: the collector scans static data. */
inline void **boehmTables[8];

struct Alloc {
    static constexpr bool collects = true;

    static void begin(const char *) {
        GC_INIT();
        GC_set_warn_proc(GC_ignore_warn_proc); /* "Repeated allocation of very large block" is no news here */
    }
    static void end() {}

    static void *alloc(size_t size) { return GC_MALLOC_ATOMIC(size); }
    static void drop(void *) {}

    template <typename T>
    static T *allocNode() {
        return (T *) GC_MALLOC(sizeof(T));
    }
    static void dropNode(void *) {}

    static void **allocTable(size_t count) {
        void **table = (void **) GC_MALLOC_IGNORE_OFF_PAGE(count * sizeof(void *));
        for (void **&slot : boehmTables) {
            if (!slot) {
                return slot = table;
            }
        }
        bench::fail("too many tables");
    }
    static void dropTable(void **table, size_t) {
        for (void **&slot : boehmTables) {
            if (slot == table) {
                slot = nullptr;
            }
        }
    }

    static void tick() {}
    static void attach() {}
    static void detach() {}
    static void block() {}
    static void unblock() {}
    static void collect() { GC_gcollect(); }
    static void trim() { GC_gcollect_and_unmap(); }
    static size_t heapBytes() { return GC_get_heap_size(); }
};

#endif /* POLICY_BOEHM_H */
