/* SPDX-License-Identifier: MIT */
/*
    examples/metal/zephyr.c - mpr in one thread of Zephyr: it alone calls mpr, and others send it what they read by a
    message queue, which copies.

    Wants CONFIG_PRINTK, CONFIG_REBOOT, and a clock of the kernel. The core's archive is that for boards without an
    operating system. The functions of mpr/board.h are at the end.
 */
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>
#include <zephyr/sys/reboot.h>

#include <mpr.h>
#include <mpr/board.h>

#include "history.h"

/* ---- The thread that has the heap ---- */

enum { stackBytes = 3072, places = 16, priority = 7 }; /* mpr takes 2 KiB of stack, managers what they need */

static char heap[32 * 1024] __attribute__((aligned(16)));

K_MSGQ_DEFINE(readings, sizeof(Reading), places, 4);

static void collectReadings(void *one, void *two, void *three) {
    (void) one, (void) two, (void) three;
    History *history = mprCreateInBuffer(heap, sizeof(heap), 0) ? mprAllocObj(History, manageHistory) : NULL;
    if (!history) {
        mprBoardAbort();
        return;
    }
    mprAddRoot(history);
    for (;;) {
        Reading reading;
        if (k_msgq_get(&readings, &reading, K_FOREVER) == 0) {
            keep(history, &reading);
        }
        mprYield(0); /* Collects here, and only here, when it is time */
    }
}

K_THREAD_DEFINE(collecting, stackBytes, collectReadings, NULL, NULL, NULL, priority, 0, 0);

/* ---- For the others ---- */

/* From any thread. @return false: the queue is full. */
bool sendReading(int sensor, int value) {
    const Reading reading = {sensor, value};
    return k_msgq_put(&readings, &reading, K_NO_WAIT) == 0;
}

/* ---- mpr/board.h ---- */

unsigned long long mprBoardTime(void) {
    return k_ticks_to_ns_floor64((uint64_t) k_uptime_ticks());
}

void mprBoardWrite(const char *text, size_t length) {
    printk("%.*s", (int) length, text);
}

void mprBoardRestart(void) {
    sys_reboot(SYS_REBOOT_COLD);
}

void mprBoardExit(int status) {
    (void) status;
    mprBoardAbort();
}

void mprBoardAbort(void) {
    k_panic();
    for (;;) {}
}

bool mprBoardInInterrupt(void) {
    return k_is_in_isr();
}
