/* SPDX-License-Identifier: MIT */
/*
    test/compat/expect.h - What the programs of this folder say when something is not as it should be.
 */
#pragma once

#include <stdio.h>

static int failures;

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            failures++; \
        } \
    } while (0)

/* What main returns. */
static inline int verdict(void) {
    if (failures == 0) {
        printf("ok\n");
    }
    return failures ? 1 : 0;
}
