/* SPDX-License-Identifier: MIT */
/*
    board.c - All of a user's board, a Stellaris LM3S6965: from reset to main, and mpr/board.h. Messages go to its UART; it
    has no clock. The end is told to the debugger, which QEMU stands for.
 */
#include <mpr/board.h>
#include <stdint.h>

extern uint32_t dataImage[], dataBegin[], dataEnd[], bssBegin[], bssEnd[], stackTop[];
int main(void);
void reset(void);

unsigned long long mprBoardTime(void) {
    return 0;
}

void mprBoardWrite(const char *text, size_t length) {
    volatile uint32_t *const uart = (volatile uint32_t *) 0x4000C000;
    for (size_t i = 0; i < length; i++) {
        uart[0] = (unsigned char) text[i];
    }
}

void mprBoardRestart(void) {}

void mprBoardExit(int status) {
    const uint32_t why[2] = {0x20026, (uint32_t) status}; /* the application ends */
    register uint32_t r0 __asm__("r0") = 0x20;
    register const void *r1 __asm__("r1") = why;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    for (;;) {}
}

void mprBoardAbort(void) {
    mprBoardExit(134);
}

void reset(void) {
    for (uint32_t *from = dataImage, *to = dataBegin; to < dataEnd;) {
        *to++ = *from++;
    }
    for (uint32_t *to = bssBegin; to < bssEnd;) {
        *to++ = 0;
    }
    mprBoardExit(main());
}

/* The processor's table: the stack, the start, and two faults. */
static const struct {
    uint32_t *stack;
    void (*handlers[3])(void);
} vectors __attribute__((section(".vectors"), used)) = {stackTop, {reset, mprBoardAbort, mprBoardAbort}};
