/* SPDX-License-Identifier: MIT */
/*
    cells.c - Cells are allocated without a call, in this thread's context (mpr/context.h). The collector asks for the
    interpreter's roots, lets it bring back what is to be finalized, and says what it did not reach (mpr/embed.h).
 */
#include "cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 20000, GUARDS = 100 };

static MprContext *context;
static MprBlockKind pairs, leaves;
static Cell *stack[DEEPEST], *symbols;
static int top, guards, finalizers;
static struct { Cell *object, *message; /* The object is NULL when it has died */ } guarded[GUARDS];
static struct {
    Cell *object, *function;
    bool due; /* The object was not reached, and is kept for its function */
} finalized[GUARDS];
Cell *yes;

static void manageCell(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(&((Cell *) ptr)->a, 2);
    }
}

/* The collector's questions: all threads are stopped. */
static void markRoots(void *data, int generation) {
    (void) data, (void) generation;
    mprMarkRefs(stack, (size_t) top);
    mprMark(symbols);
    for (int i = 0; i < guards; i++) {
        mprMark(guarded[i].message); /* Not the object */
    }
    for (int i = 0; i < finalizers; i++) {
        mprMark(finalized[i].function);
        if (finalized[i].due) {
            mprMark(finalized[i].object);
        }
    }
}

/* Objects that wait for a finalizer come back when nothing has reached them, with all that they refer to. */
static void bringBack(void *data, int generation, int round) {
    (void) data, (void) generation, (void) round;
    for (int i = 0; i < finalizers; i++) {
        if (!mprIsMarked(finalized[i].object)) {
            finalized[i].due = true;
            mprMark(finalized[i].object);
        }
    }
}

/* It is decided what has died: what the interpreter refers to weakly it forgets. */
static void forgetDead(void *data, int generation) {
    (void) data, (void) generation;
    for (int i = 0; i < guards; i++) {
        if (guarded[i].object && !mprIsMarked(guarded[i].object)) {
            guarded[i].object = NULL;
        }
    }
}

void guard(Cell *object, Cell *message) {
    if (guards == GUARDS) {
        fail("too many guards");
    }
    guarded[guards].object = object;
    guarded[guards++].message = message;
}

void finalize(Cell *object, Cell *function) {
    if (finalizers == GUARDS) {
        fail("too many finalizers");
    }
    finalized[finalizers].due = false;
    finalized[finalizers].object = object;
    finalized[finalizers++].function = function;
}

Cell *nextFinalizer(void) {
    for (int i = 0; i < finalizers; i++) {
        if (finalized[i].due) {
            Cell *quoted = makePair(PAIR, makeSymbol("quote", 5), makePair(PAIR, finalized[i].object, NULL));
            Cell *call = makePair(PAIR, finalized[i].function, makePair(PAIR, quoted, NULL));
            finalized[i] = finalized[--finalizers];
            return call;
        }
    }
    return NULL;
}

Cell *nextDead(void) {
    for (int i = 0; i < guards; i++) {
        if (!guarded[i].object) {
            Cell *message = guarded[i].message;
            guarded[i] = guarded[--guards];
            return message;
        }
    }
    return NULL;
}

void openCells(void) {
    const MprEmbedder embedder = {.roots = markRoots, .marked = bringBack, .clear = forgetDead};

    context = mprGetContext();
    if (!context || mprSetBlockKind(&leaves, NULL, 0) != 0 || mprSetEmbedder(&embedder) != 0 ||
        mprSetBlockKind(&pairs, manageCell, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE) != 0) {
        fail("no context");
    }
    yes = makeSymbol("t", 1);
    mprSetRef(yes, &yes->a, yes);
}

static Cell *make(Type type, Cell *a, Cell *b, size_t extra, const MprBlockKind *kind) {
    Cell *cell = (Cell *) mprAllocInContext(context, sizeof(Cell) + extra, kind);

    if (!cell) {
        return fail("out of memory");
    }
    cell->a = a;
    cell->b = b;
    cell->type = type;
    cell->number = 0;
    return cell;
}

Cell *makePair(Type type, Cell *a, Cell *b) {
    return make(type, a, b, 0, &pairs);
}

Cell *makeNumber(Type type, intptr_t number) {
    Cell *cell = make(type, NULL, NULL, 0, &leaves);

    cell->number = number;
    return cell;
}

Cell *makeText(cchar *text, size_t length) {
    Cell *cell = make(TEXT, NULL, NULL, length + 1, &leaves);

    memcpy(cell->text, text, length);
    cell->text[length] = '\0';
    return cell;
}

Cell *makeSymbol(cchar *name, size_t length) {
    for (Cell *at = symbols; at; at = at->b) {
        if (strncmp(at->a->b->text, name, length) == 0 && at->a->b->text[length] == '\0') {
            return at->a;
        }
    }
    symbols = makePair(PAIR, makePair(SYMBOL, NULL, makeText(name, length)), symbols);
    return symbols->a;
}

int stackTop(void) {
    return top;
}

void push(Cell *value) {
    if (top == DEEPEST) {
        fail("too deep");
    }
    stack[top++] = value;
}

void setStack(int at, Cell *value) {
    stack[at] = value;
}

void popTo(int wanted) {
    top = wanted;
}

Cell *fail(cchar *what) {
    printf("error: %s\n", what);
    exit(2);
}
