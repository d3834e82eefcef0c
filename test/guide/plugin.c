/* SPDX-License-Identifier: MIT */
/*
    test/guide/plugin.c - A shared object with a manager of its own, which unload.c loads and unloads.
 */
#include "mpr.h"

static int *freed;

static void managePiece(void *ptr, int flags) {
    (void) ptr;
    if (flags & MPR_MANAGE_FREE) {
        ++*freed;
    }
}

/* Make blocks that nothing refers to; count in the program's own memory when they are freed. */
void pluginUse(int *counter, int count);
void pluginUse(int *counter, int count) {
    freed = counter;
    mprSetManagerName(managePiece, "Piece");
    while (count-- > 0) {
        mprAllocManaged(100, managePiece, 0);
    }
}
