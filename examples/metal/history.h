/* SPDX-License-Identifier: MIT */
/*
    examples/metal/history.h - What the task that has the heap keeps, in freertos.c and in zephyr.c: the newest readings, in
    managed blocks.
 */
#pragma once

#include <mpr.h>

/* What crosses the border between tasks: no addresses of managed blocks. */
typedef struct Reading {
    int sensor, value;
} Reading;

typedef struct Sample {
    struct Sample *older; /* Managed */
    Reading reading;
} Sample;

typedef struct History {
    Sample *newest; /* Managed */
} History;

static void manageSample(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(((Sample *) ptr)->older);
    }
}

static void manageHistory(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(((History *) ptr)->newest);
    }
}

enum { kept = 60 };

/* Keep a reading, and the newest before it. What nothing refers to any more is freed by the next collection. */
static void keep(History *history, const Reading *reading) {
    Sample *sample = mprAllocObj(Sample, manageSample); /* Safe until the next yield */
    if (!sample) {
        return;
    }
    sample->reading = *reading;
    sample->older = history->newest;
    history->newest = sample;
    for (int i = 1; sample && i < kept; i++) {
        sample = sample->older;
    }
    if (sample) {
        sample->older = NULL;
    }
}
