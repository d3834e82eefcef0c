/* SPDX-License-Identifier: MIT */
/*
    test/fault/mistakes/mistakes.h - A program of mistakes: which there are, with which options mpr names them and how; and one
    of them, or the same program without it.

    PROGRAM             lists them: name, options, and what the log must say, with | between
    PROGRAM NAME SEED   commits one. SEED changes where in memory things stand
    PROGRAM NAME SEED right   does the same as it should be done
 */
#ifndef MPR_TEST_MISTAKES_H
#define MPR_TEST_MISTAKES_H

#include <mpr.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Mistake {
    const char *name, *options; /* "" is MPR_OPTIONS without any */
    void (*commit)(bool wrong);
    const char *says[3]; /* NULL: no more */
} Mistake;

static int seed = 0;

static void collect(void) {
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
}

/* Garbage, and blocks that live, in front of what is to come. */
static void scatter(void) {
    for (int i = 0; i < 13 * seed; i++) {
        mprAlloc((size_t) (16 + 8 * (i % 7)));
        if (i % 5 == 0) {
            mprHold(mprAlloc(64));
        }
    }
}

static int runMistakes(int argc, char **argv, const Mistake *mistakes, int count) {
    for (int i = 0; argc < 3 && i < count; i++) {
        printf("%s|%s", mistakes[i].name, mistakes[i].options);
        for (int k = 0; k < 3 && mistakes[i].says[k]; k++) {
            printf("|%s", mistakes[i].says[k]);
        }
        printf("\n");
    }
    for (int i = 0; argc >= 3 && i < count; i++) {
        if (strcmp(mistakes[i].name, argv[1]) == 0) {
            seed = atoi(argv[2]);
            if (!mprCreate(argc, argv, 0)) {
                return 1;
            }
            scatter();
            mistakes[i].commit(argc == 3);
            return mprDestroy() ? 0 : 1;
        }
    }
    return argc < 3 ? 0 : 2;
}

#endif
