// SPDX-License-Identifier: MIT
/* worst_path_malloc.cpp - The longest path of malloc and free in instructions: glibc's or that of LD_PRELOAD. */
#include "freed_by_hand.h"

struct Alloc : FreedByHand {
    static void begin() {}
    static void end() {}
    static void *allocFunction(unsigned) { return (void *) malloc; }
    static void *alloc(size_t size, unsigned) { return malloc(size); }
    static void *freeFunction() { return (void *) ::free; }
    static void free(void *ptr) { ::free(ptr); }
    static void purge() {}
};

#include "worst_path.h"
