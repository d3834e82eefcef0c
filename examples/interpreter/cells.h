/* SPDX-License-Identifier: MIT */
/*
    cells.h - The values of the interpreter: cells on the managed heap, and where each file's part of it is.
 */
#ifndef INTERPRETER_CELLS_H
#define INTERPRETER_CELLS_H

#include <mpr.h>

typedef enum Type { PAIR, NUMBER, TEXT, SYMBOL, BUILTIN, CLOSURE, WEAK_TABLE } Type;

/* A value. NULL is the empty list, and false. What a and b are: PAIR head and tail; SYMBOL value and name (a TEXT);
   CLOSURE parameters with body, and environment. Others have no references. */
typedef struct Cell {
    struct Cell *a, *b; /* Managed: written by mprSetRef once the cell is known elsewhere */
    Type type;
    intptr_t number; /* NUMBER; BUILTIN: its index; WEAK_TABLE: its entries (weak.c) */
    char text[];     /* TEXT */
} Cell;

/* cells.c: allocation without a call, and roots that the collector asks for */
void openCells(void);
Cell *makePair(Type type, Cell *a, Cell *b); /* Any type with references */
Cell *makeNumber(Type type, intptr_t number);
Cell *makeText(cchar *text, size_t length);
Cell *makeSymbol(cchar *name, size_t length); /* Each name has one symbol */
extern Cell *yes;
Cell *fail(cchar *what); /* Says so, and ends the process */

/* A stack of values that are in use: what is on it lives. */
int stackTop(void);
void push(Cell *value);
void setStack(int at, Cell *value);
void popTo(int top);

/* Tell `message` when nothing but the interpreter refers to `object` any more. */
void guard(Cell *object, Cell *message);
Cell *nextDead(void); /* A message whose object has died, or NULL */
void finalize(Cell *object, Cell *function);
Cell *nextFinalizer(void); /* A call of a function with an object that would have died, or NULL */

/* weak.c: tables whose entries go with their keys */
Cell *makeWeakTable(void);
void putWeak(Cell *table, Cell *key, Cell *value);
Cell *getWeak(Cell *table, const Cell *key);
intptr_t countWeak(Cell *table);

/* read.c, print.c, eval.c, builtins.c */
Cell *readValue(cchar **at); /* One value; *at becomes NULL at the end of the text */
void printValue(const Cell *value);
Cell *eval(Cell *expression, Cell *environment);
void openBuiltins(void);
Cell *callBuiltin(const Cell *builtin, Cell *arguments);

#endif
