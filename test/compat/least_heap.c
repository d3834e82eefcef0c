/* SPDX-License-Identifier: MIT */
/*
    test/compat/least_heap.c - What a runtime costs before it is used: memory from the system, and the least buffer.

    toolchains/cross and toolchains/metal/check read the lines printed here.
 */
#include <mpr.h>
#include <stdio.h>

static unsigned char buffer[16 * 1024];

int main(int argc, char **argv) {
    if (!mprCreate(argc, argv, 0)) {
        return 1;
    }
    unsigned long fresh = (unsigned long) mprGetMemStats()->heap;
    if (!mprDestroy()) {
        return 1;
    }
    /* The least buffer must serve: half of it in blocks at once, ten times over. */
    if (!mprCreateInBuffer(buffer, sizeof(buffer), 0)) {
        return 1;
    }
    for (int round = 0; round < 10; round++) {
        for (unsigned bytes = 0; bytes < sizeof(buffer) / 2; bytes += 64) {
            if (!mprAlloc(64)) {
                return 1;
            }
        }
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    }
    printf("least heap: %lu bytes\n", fresh);
    return mprDestroy() && fresh > 0 ? 0 : 1;
}
