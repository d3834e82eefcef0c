/* SPDX-License-Identifier: MIT */
/*
    read.c - From text to values. Nothing here yields, so new cells need no root.
 */
#include "cells.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void skip(cchar **at) {
    while (isspace((unsigned char) **at) || **at == ';') {
        *at += **at == ';' ? strcspn(*at, "\n") : 1; /* A comment, or a blank */
    }
}

static Cell *readList(cchar **at) {
    Cell *first = NULL, *last = NULL;

    for (skip(at); **at != ')'; skip(at)) {
        if (!**at) {
            return fail("a list does not end");
        }
        Cell *next = makePair(PAIR, readValue(at), NULL);
        if (last) {
            mprSetRef(last, &last->b, next);
        }
        last = next;
        first = first ? first : next;
    }
    (*at)++;
    return first;
}

Cell *readValue(cchar **at) {
    cchar *begin;
    char *end;
    intptr_t number;

    skip(at);
    begin = *at;
    if (!*begin) {
        *at = NULL;
        return NULL;
    }
    if (*begin == '(') {
        (*at)++;
        return readList(at);
    }
    if (*begin == '\'') {
        (*at)++;
        Cell *quoted = makePair(PAIR, readValue(at), NULL);
        return makePair(PAIR, makeSymbol("quote", 5), quoted);
    }
    if (*begin == '"') {
        const size_t length = strcspn(begin + 1, "\"");
        *at = begin + length + (begin[length + 1] ? 2 : 1);
        return makeText(begin + 1, length);
    }
    number = strtol(begin, &end, 10);
    if (end != begin && !isalpha((unsigned char) *end)) {
        *at = end;
        return makeNumber(NUMBER, number);
    }
    *at += strcspn(begin, " \t\r\n()';\"");
    return *at == begin ? fail("a stray )") : makeSymbol(begin, (size_t) (*at - begin));
}
