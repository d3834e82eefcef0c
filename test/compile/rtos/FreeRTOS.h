/* SPDX-License-Identifier: MIT */
/*
    test/compile/rtos/FreeRTOS.h - What examples/metal/freertos.c uses of FreeRTOS, with task.h and queue.h: declared as its
    reference does, so that a compiler can look at the example where no FreeRTOS is. Nothing here works.
 */
#ifndef MPR_TEST_FREERTOS_H
#define MPR_TEST_FREERTOS_H

#include <stddef.h>
#include <stdint.h>

typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t TickType_t;
typedef uint32_t StackType_t;

typedef struct {
    void *members[32];
} StaticTask_t, StaticQueue_t;

#define pdPASS ((BaseType_t) 1)
#define portMAX_DELAY ((TickType_t) 0xFFFFFFFF)
#define configTICK_RATE_HZ ((TickType_t) 1000)
#define taskDISABLE_INTERRUPTS() ((void) 0)

#endif
