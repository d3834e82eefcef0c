// SPDX-License-Identifier: MIT
/* worst_path_malloc.cpp - The longest path of malloc and free in instructions: glibc's or that of LD_PRELOAD. */
#include "bench.h"

struct Alloc {
    static constexpr bool collects = false;

    static void begin() {}
    static void end() {}
    static void *allocFunction(unsigned) { return (void *) malloc; }
    static uint64_t allocFlags(unsigned) { return 0; }
    static void *alloc(size_t size, unsigned) { return malloc(size); }
    static void *freeFunction() { return (void *) ::free; }
    static void free(void *ptr) { ::free(ptr); }
    static void **allocTable(size_t count) { return bench::sideTable<void *>(count); }
    static void dropTable(void **table, size_t count) { bench::freeSideTable(table, count); }
    static void tick() {}
    static void attach() {}
    static void detach() {}
    static void block() {}
    static void unblock() {}
    static void collect(bool) {}
    static void purge() {}
    static void enable(bool) {}
};

#include "worst_path.h"
