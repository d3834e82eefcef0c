/* SPDX-License-Identifier: MIT */
/*
    eval.c - Evaluation. It yields in one place, so in between new cells need no root; what has to outlive a yield is on
    the stack.
 */
#include "cells.h"

/* Environments are lists of (symbol . value); what is not there is the symbol's own value. */
static Cell *find(const Cell *symbol, const Cell *environment) {
    for (; environment; environment = environment->b) {
        if (environment->a->a == symbol) {
            return environment->a;
        }
    }
    return NULL;
}

static Cell *at(Cell *list, int i) {
    for (; list && i > 0; i--) {
        list = list->b;
    }
    return list ? list->a : NULL;
}

static bool is(const Cell *symbol, cchar *name) {
    return symbol && symbol->type == SYMBOL && smatch(symbol->b->text, name);
}

static Cell *assign(Cell *symbol, Cell *value, const Cell *environment) {
    Cell *pair = find(symbol, environment);

    if (pair) {
        mprSetRef(pair, &pair->b, value);
    } else {
        mprSetRef(symbol, &symbol->a, value);
    }
    return value;
}

/* Evaluate each of a list. The result is built on the stack's top. */
static Cell *evalAll(Cell *list, Cell *environment) {
    const int result = stackTop();
    Cell *first = NULL, *last = NULL;

    push(NULL);
    for (; list; list = list->b) {
        Cell *next = makePair(PAIR, eval(list->a, environment), NULL);
        if (last) {
            mprSetRef(last, &last->b, next);
        } else {
            setStack(result, first = next);
        }
        last = next;
    }
    return first;
}

static Cell *bind(const Cell *closure, Cell *arguments) {
    Cell *environment = closure->b;

    for (Cell *name = closure->a->a; name; name = name->b, arguments = arguments ? arguments->b : NULL) {
        environment = makePair(PAIR, makePair(PAIR, name->a, arguments ? arguments->a : NULL), environment);
    }
    return environment;
}

static Cell *run(Cell *expression, Cell *environment) {
    const int base = stackTop() - 2; /* Where eval has put the two */
    Cell *called, *arguments, *body;

    for (;;) {
        setStack(base, expression);
        setStack(base + 1, environment);
        popTo(base + 2);
        mprYield(0);
        if (!expression || expression->type == SYMBOL) {
            Cell *pair = expression ? find(expression, environment) : NULL;
            return pair ? pair->b : expression ? expression->a : NULL;
        }
        if (expression->type != PAIR || is(expression->a, "quote")) {
            return expression->type == PAIR ? at(expression, 1) : expression;
        }
        if (is(expression->a, "define") || is(expression->a, "set!")) {
            return assign(at(expression, 1), eval(at(expression, 2), environment), environment);
        }
        if (is(expression->a, "lambda")) {
            return makePair(CLOSURE, expression->b, environment);
        }
        if (is(expression->a, "if")) {
            expression = at(expression, eval(at(expression, 1), environment) ? 2 : 3);
            continue;
        }
        push(called = eval(expression->a, environment));
        arguments = evalAll(expression->b, environment);
        if (called && called->type == BUILTIN) {
            return callBuiltin(called, arguments);
        }
        if (!called || called->type != CLOSURE) {
            return fail("not a function");
        }
        push(environment = bind(called, arguments));
        for (body = called->a->b; body && body->b; body = body->b) {
            eval(body->a, environment);
        }
        expression = body ? body->a : NULL; /* A call at the end needs no stack */
    }
}

Cell *eval(Cell *expression, Cell *environment) {
    const int top = stackTop();

    push(expression);
    push(environment);
    Cell *result = run(expression, environment);
    popTo(top);
    return result;
}
