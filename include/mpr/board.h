/* SPDX-License-Identifier: MIT */
/*
    mpr/board.h - What firmware supplies where there is no operating system: five functions, and a sixth if it wants.

    mpr calls these, the firmware defines them; the linker names the one that is missing. They are called on the one
    thread that uses mpr, must not call mpr, and need not be re-entrant, except mprBoardInInterrupt. toolchains/README.md
    says how to bring up a board.

    Interrupt handlers do not call mpr: they may have interrupted it anywhere. What a handler calls all the same does
    nothing and returns what it returns for a failure, NULL for an allocation. It counts as misuse, and is named in the log
    by the next allocation of the thread. This holds for every function that allocates, frees, yields, collects, or changes
    roots, holds, handles and limits, but not for what is inline: a handler may use neither mprSetRef nor mprGetHandle.
    (mprNeedYield it may.)
 */
#ifndef MPR_BOARD_H
#define MPR_BOARD_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/**
    Nanoseconds since any fixed moment; never goes back. Called a few times per collection and for each message, never by
    an allocation that succeeds. A coarse clock will do. So will one that always returns 0: then times in statistics are 0,
    free memory is accounted late, and the limits of messages are for the whole run: 32 about wrong calls
    (mpr/runtime.h), and one about each way in which memory is short (mpr/limits.h).
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

/**
    Whether the caller is an interrupt handler. Each call of mpr asks. mpr defines a default, which firmware may replace by
    its own: on a Cortex-M it is true in every exception handler, those of faults and of SVC included; elsewhere false.
 */
bool mprBoardInInterrupt(void);

MPR_EXTERN_C_END
#endif /* MPR_BOARD_H */
