/* SPDX-License-Identifier: MIT */
/*
    test/module/piece.c - A module with a manager of its own, which the tests load and unload.
 */
#include "test/module/piece.h"

static Piece *piece;

static void managePiece(void *ptr, int flags) {
    (void) ptr;
    if (flags & MPR_MANAGE_FREE) {
        piece->freed++;
    }
}

static int stop(MprModule *module) {
    ((Piece *) module->moduleData)->stopped++;
    return ((Piece *) module->moduleData)->stopResult;
}

__attribute__((constructor)) static void load(void) {
    const Piece *loaded = (const Piece *) mprLookupModuleData("piece");
    if (loaded && loaded->atLoad) {
        loaded->atLoad();
    }
}

int pieceInit(void *data, MprModule *module);
int pieceInit(void *data, MprModule *module) {
    piece = (Piece *) data;
    piece->entered++;
    mprSetModuleFinalizer(module, stop);
    for (int i = 0; i < piece->makes; i++) {
        mprAddItem(piece->list, mprAllocManaged(100, managePiece, 0));
    }
    return piece->result;
}
