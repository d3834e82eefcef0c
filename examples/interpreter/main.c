/* SPDX-License-Identifier: MIT */
/*
    interpreter - A small Lisp: how a language runtime is embedded.

    Its cells are allocated without a call (mpr/context.h); the collector asks for its roots and says what has died
    (mpr/embed.h); its weak tables are handles (mpr/handle.h). At the end it says how often it was suspended.

        interpreter [program]

    Rooms: io
 */
#include "cells.h"

#include <stdio.h>

static cchar demonstration[] =
    "(define fib (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))"
    "(print 'fib (fib 15))"
    /* Old cells that refer to young ones */
    "(define box (list 0))"
    "(define grow (lambda (n) (if (< n 1) (car box) (grow (- (car (set-car! box (list n (car box)))) 1)))))"
    "(define length (lambda (l n) (if (null? l) n (length (car (cdr l)) (+ n 1)))))"
    "(set-car! box ())"
    "(print 'length (length (grow 500) 0))"
    /* Its value refers to the key, and dies with it */
    "(define table (make-weak-table))"
    "(define key (list 1 2 3))"
    "(weak-put! table key (list 'value-of key))"
    "(weak-put! table (list 4) 'lost)"
    "(collect)"
    "(print 'table (weak-count table) (weak-get table key))"
    "(guard key \"the key has died\")"
    "(set! key 0)"
    "(collect)"
    "(print 'guarded)"
    /* It is brought back for its finalizer, which keeps it */
    "(define kept ())"
    "(finalize (list 'file 7) (lambda (file) (print 'closed file) (set! kept file)))"
    "(collect)"
    "(print 'kept kept)"
    "(collect)"
    "(print 'table (weak-count table))";

static void interpret(cchar *at) {
    while (at) {
        Cell *expression = readValue(&at);
        eval(expression, NULL);
        for (Cell *message; (message = nextDead()) != NULL;) {
            printValue(message);
            printf("\n");
        }
        for (Cell *call; (call = nextFinalizer()) != NULL;) {
            eval(call, NULL);
        }
    }
}

int main(int argc, char **argv) {
    static const MprSuspensionHandler counts; /* Without functions: times are accounted */
    MprLostTime lost;
    MprAllocStats threads[8];
    cchar *program = demonstration;

    if (!mprCreate(argc, argv, 0) || mprAddSuspensionHandler(&counts) != 0) {
        return 1;
    }
    openCells();
    openBuiltins();
    if (argc > 1) {
        if ((program = mprReadPathContents(argv[1], NULL)) == NULL) {
            return fail("cannot read the program") != NULL;
        }
        mprHold(program);
    }
    interpret(program);

    mprGetLostTime(&lost);
    printf("suspended %llu times, %llu us: others %llu, marking %llu, assisting %llu, memory %llu\n", lost.count,
           lost.total / 1000, lost.others / 1000, lost.marking / 1000, lost.assisting / 1000, lost.memory / 1000);
    for (int i = mprGetAllocStats(threads, 8) < 8 ? mprGetAllocStats(NULL, 0) : 8; i-- > 0;) {
        if (smatch(threads[i].thread, mprGetCurrentThreadName())) {
            printf("allocated %llu bytes, asked the heap %llu times\n", threads[i].bytes, threads[i].slowPaths);
        }
    }
    return mprSetEmbedder(NULL) == 0 && mprDestroy() ? 0 : 1;
}
