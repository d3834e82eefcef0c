/* SPDX-License-Identifier: MIT */
/*
    mpr/board.h - What firmware supplies where there is no operating system: five functions.

    mpr calls these, the firmware defines them; the linker names the one that is missing. They are called on the one
    thread that uses mpr, must not call mpr, and need not be re-entrant. toolchains/README.md says how to bring up a
    board.
 */
#ifndef MPR_BOARD_H
#define MPR_BOARD_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/**
    Nanoseconds since any fixed moment; never goes back. Called a few times per collection, never by an allocation. A
    coarse clock will do. So will one that always returns 0: then times in statistics are 0, and free memory is
    accounted late.
 */
unsigned long long mprBoardTime(void);

/** Write a message to the console, a UART for example. May drop it, may wait. @param text Not terminated. */
void mprBoardWrite(const char *text, size_t length);

/** Restart the firmware (MPR_ALLOC_POLICY_RESTART). Returns only if that is not possible. */
void mprBoardRestart(void);

/** End with a status, 0 for success (MPR_ALLOC_POLICY_EXIT). Does not return: halts or restarts. */
void mprBoardExit(int status);

/** End after a fatal error (MPR_ALLOC_POLICY_ABORT). Does not return: a breakpoint, a watchdog reset. */
void mprBoardAbort(void);

MPR_EXTERN_C_END
#endif /* MPR_BOARD_H */
