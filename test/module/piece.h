/* SPDX-License-Identifier: MIT */
/*
    test/module/piece.h - What a test and the module piece.c have in common: the module's data, in the test's memory.
 */
#pragma once

#include "mpr.h"

typedef struct Piece {
    int entered, stopped, freed;
    int result;           /* Of the entry point */
    int stopResult;       /* Of the finalizer */
    int makes;            /* Blocks that the entry point makes */
    void (*atLoad)(void); /* Called while the system loads the module, if set */
    MprList *list;        /* That they are put into */
} Piece;
