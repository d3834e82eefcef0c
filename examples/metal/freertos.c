/* SPDX-License-Identifier: MIT */
/*
    examples/metal/freertos.c - mpr in one task of FreeRTOS: it alone calls mpr, and others send it what they read by a
    queue, which copies.

    Wants configSUPPORT_STATIC_ALLOCATION, and consoleWrite and systemReset of the board's own. The core's archive is that for
    boards without an operating system. The five functions of mpr/board.h are at the end.
 */
#include <FreeRTOS.h>
#include <queue.h>
#include <task.h>

#include <mpr.h>
#include <mpr/board.h>

#include "history.h"

void consoleWrite(const char *text, size_t length);
void systemReset(void);

/* ---- The task that has the heap ---- */

enum { stackWords = 768, places = 16 }; /* 3 KiB of stack: mpr takes 2, managers what they need */

static char heap[32 * 1024] __attribute__((aligned(16)));

static QueueHandle_t readings;

static void collectReadings(void *unused) {
    (void) unused;
    History *history = mprCreateInBuffer(heap, sizeof(heap), 0) ? mprAllocObj(History, manageHistory) : NULL;
    if (!history) {
        mprBoardAbort();
        return;
    }
    mprAddRoot(history);
    for (;;) {
        Reading reading;
        if (xQueueReceive(readings, &reading, portMAX_DELAY) == pdPASS) {
            keep(history, &reading);
        }
        mprYield(0); /* Collects here, and only here, when it is time */
    }
}

/* ---- For the others ---- */

/* From any task. @return false: the queue is full. */
bool sendReading(int sensor, int value) {
    const Reading reading = {sensor, value};
    return xQueueSend(readings, &reading, 0) == pdPASS;
}

/* Before the scheduler starts. */
void startCollecting(UBaseType_t priority) {
    static StackType_t stack[stackWords];
    static StaticTask_t task;
    static StaticQueue_t queue;
    static uint8_t items[places * sizeof(Reading)];
    readings = xQueueCreateStatic(places, sizeof(Reading), items, &queue);
    xTaskCreateStatic(collectReadings, "mpr", stackWords, NULL, priority, stack, &task);
}

/* ---- mpr/board.h ---- */

/* A TickType_t begins again at 0. The time is right if this is called at least once in each round of it. */
unsigned long long mprBoardTime(void) {
    static TickType_t last;
    static unsigned long long ticks;
    const TickType_t now = xTaskGetTickCount();
    ticks += (TickType_t) (now - last);
    last = now;
    return ticks * (1000000000ULL / configTICK_RATE_HZ);
}

void mprBoardWrite(const char *text, size_t length) {
    consoleWrite(text, length);
}

void mprBoardRestart(void) {
    systemReset();
}

void mprBoardExit(int status) {
    (void) status;
    mprBoardAbort();
}

void mprBoardAbort(void) {
    taskDISABLE_INTERRUPTS();
    for (;;) {}
}

/* mprBoardInInterrupt: mpr's own asks a Cortex-M itself. Other ports may have xPortIsInsideInterrupt. */
