/* SPDX-License-Identifier: MIT */
/*
    start.c - From reset to main on a Cortex-M, and mpr/board.h by semihosting: what QEMU and a debugger offer.

    On a board of your own the first half is mostly what its vendor delivers; the second half is what to replace.
 */
#include <stdint.h>

#include "mpr/board.h"

extern uint32_t dataImage[], dataBegin[], dataEnd[], bssBegin[], bssEnd[], stackTop[];
extern void (*initBegin[])(void), (*initEnd[])(void);
int main(void);
void resetHandler(void);

/* ---- Semihosting: the debugger, or QEMU, does what register 0 says ---- */

static uint32_t semihost(uint32_t operation, const void *argument) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void end(int status) {
    enum { exitExtended = 0x20, applicationExit = 0x20026 };
    const uint32_t reason[2] = {applicationExit, (uint32_t) status};
    semihost(exitExtended, reason);
    for (;;) {}
}

/* ---- mpr/board.h ---- */

/* The system timer counts down 24 bits of the processor's clock: good for 0.67 s between two calls, which tests do not exceed. */
#ifdef __ARM_FEATURE_CMSE
enum { nanosecondsACount = 50 }; /* ARMv8-M: the an505 runs at 20 MHz */
#else
enum { nanosecondsACount = 40 }; /* the others at 25 MHz */
#endif
static volatile uint32_t *const timer = (volatile uint32_t *) 0xE000E010;
static uint32_t lastCount = 0xFFFFFF;
static uint64 elapsed;

uint64 mprBoardTime(void) {
    const uint32_t count = timer[2];
    elapsed += (uint64) ((lastCount - count) & 0xFFFFFF) * nanosecondsACount;
    lastCount = count;
    return elapsed;
}

void mprBoardWrite(cchar *text, size_t length) {
    enum { writeCharacter = 0x03 };
    while (length-- > 0) {
        semihost(writeCharacter, text++);
    }
}

/* Weak: a test of the restart has one of its own. */
__attribute__((weak)) void mprBoardRestart(void) {
    volatile uint32_t *const resetControl = (volatile uint32_t *) 0xE000ED0C;
    *resetControl = 0x05FA0004;
    __asm__ volatile("dsb");
}

void mprBoardExit(int status) {
    end(status);
}

void mprBoardAbort(void) {
    end(134);
}

/* ---- Start ---- */

void resetHandler(void) {
    for (uint32_t *from = dataImage, *to = dataBegin; to < dataEnd;) {
        *to++ = *from++;
    }
    for (uint32_t *to = bssBegin; to < bssEnd;) {
        *to++ = 0;
    }
#ifdef __ARM_FP
    *(volatile uint32_t *) 0xE000ED88 |= 0xF << 20; /* full access to the floating-point unit */
    __asm__ volatile("dsb\n isb");
#endif
    timer[1] = 0xFFFFFF;
    timer[2] = 0;
    timer[0] = 5; /* on, by the processor's clock */
    for (void (**init)(void) = initBegin; init < initEnd; init++) {
        (*init)();
    }
    end(main());
}

static void fault(void) {
    static const char text[] = "fault\n";
    mprBoardWrite(text, sizeof(text) - 1);
    end(1);
}

/* Weak: a test that wants an interrupt has one of its own. */
__attribute__((weak)) void boardInterrupt(void);
void boardInterrupt(void) {
    fault();
}

/* The processor's table: the first stack pointer, then handlers. No interrupts are used. */
static const struct {
    uint32_t *stack;
    void (*handlers[15])(void);
} vectors __attribute__((section(".vectors"), used)) = {
    stackTop,
    {resetHandler, fault, fault, fault, fault, fault, fault, 0, 0, 0, fault, fault, 0, boardInterrupt, fault},
};
