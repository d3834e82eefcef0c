/* SPDX-License-Identifier: MIT */
/*
    print.c - Values as text, on standard output.
 */
#include "cells.h"

#include <stdio.h>

void printValue(const Cell *value) {
    if (!value) {
        printf("()");
        return;
    }
    switch (value->type) {
    case NUMBER: printf("%ld", (long) value->number); break;
    case TEXT: printf("%s", value->text); break;
    case SYMBOL: printf("%s", value->b->text); break;
    case PAIR:
        for (cchar *before = "("; value; value = value->b, before = " ") {
            printf("%s", before);
            if (value->type != PAIR) {
                printf(". ");
                printValue(value);
                break;
            }
            printValue(value->a);
        }
        printf(")");
        break;
    case BUILTIN:
    case CLOSURE: printf("<function>"); break;
    case WEAK_TABLE: printf("<weak table>"); break;
    }
}
