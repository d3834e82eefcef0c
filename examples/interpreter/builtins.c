/* SPDX-License-Identifier: MIT */
/*
    builtins.c - Functions that are written in C.
 */
#include "cells.h"

#include <stdio.h>
#include <string.h>

static Cell *first(const Cell *list) {
    return list && list->type == PAIR ? list->a : NULL;
}

static Cell *rest(const Cell *list) {
    return list && list->type == PAIR ? list->b : NULL;
}

static Cell *second(const Cell *list) {
    return first(rest(list));
}

static intptr_t number(const Cell *value) {
    return value && value->type == NUMBER ? value->number : (fail("not a number"), 0);
}

static Cell *table(Cell *value) {
    return value && value->type == WEAK_TABLE ? value : fail("not a weak table");
}

static Cell *add(Cell *a) {
    return makeNumber(NUMBER, number(first(a)) + number(second(a)));
}
static Cell *subtract(Cell *a) {
    return makeNumber(NUMBER, number(first(a)) - number(second(a)));
}
static Cell *multiply(Cell *a) {
    return makeNumber(NUMBER, number(first(a)) * number(second(a)));
}
static Cell *less(Cell *a) {
    return number(first(a)) < number(second(a)) ? yes : NULL;
}
static Cell *same(Cell *a) {
    return first(a) == second(a) ? yes : NULL;
}
static Cell *cons(Cell *a) {
    return makePair(PAIR, first(a), second(a));
}
static Cell *car(Cell *a) {
    return first(first(a));
}
static Cell *cdr(Cell *a) {
    return rest(first(a));
}
static Cell *list(Cell *a) {
    return a;
}
static Cell *isNull(Cell *a) {
    return first(a) ? NULL : yes;
}
static Cell *newTable(Cell *a) {
    return (void) a, makeWeakTable();
}
static Cell *get(Cell *a) {
    return getWeak(table(first(a)), second(a));
}
static Cell *count(Cell *a) {
    return makeNumber(NUMBER, countWeak(table(first(a))));
}

static Cell *setCar(Cell *a) {
    if (first(a)) {
        mprSetRef(first(a), &first(a)->a, second(a)); /* By the barrier: the pair may be old */
    }
    return second(a);
}

static Cell *put(Cell *a) {
    putWeak(table(first(a)), second(a), second(rest(a)));
    return second(rest(a));
}

static Cell *guardValue(Cell *a) {
    guard(first(a), second(a));
    return NULL;
}

static Cell *finalizeValue(Cell *a) {
    finalize(first(a), second(a));
    return NULL;
}

static Cell *collect(Cell *a) {
    (void) a;
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE); /* It yields: the arguments are on the stack */
    return NULL;
}

static Cell *printAll(Cell *a) {
    for (; a; a = a->b) {
        printValue(a->a);
        printf(a->b ? " " : "\n");
    }
    return NULL;
}

static const struct {
    cchar *name;
    Cell *(*call)(Cell *arguments);
} builtins[] = {
    {"+", add},
    {"-", subtract},
    {"*", multiply},
    {"<", less},
    {"eq?", same},
    {"cons", cons},
    {"car", car},
    {"cdr", cdr},
    {"list", list},
    {"null?", isNull},
    {"set-car!", setCar},
    {"make-weak-table", newTable},
    {"weak-put!", put},
    {"weak-get", get},
    {"weak-count", count},
    {"guard", guardValue},
    {"finalize", finalizeValue},
    {"collect", collect},
    {"print", printAll},
};

void openBuiltins(void) {
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
        Cell *symbol = makeSymbol(builtins[i].name, strlen(builtins[i].name));
        mprSetRef(symbol, &symbol->a, makeNumber(BUILTIN, (intptr_t) i));
    }
}

Cell *callBuiltin(const Cell *builtin, Cell *arguments) {
    return builtins[builtin->number].call(arguments);
}
