/* SPDX-License-Identifier: MIT */
/* test/compile/rtos/task.h - See FreeRTOS.h. */
#ifndef MPR_TEST_FREERTOS_TASK_H
#define MPR_TEST_FREERTOS_TASK_H

#include "FreeRTOS.h"

typedef struct Task *TaskHandle_t;
typedef void (*TaskFunction_t)(void *argument);

TaskHandle_t xTaskCreateStatic(TaskFunction_t function, const char *name, uint32_t stackWords, void *argument,
                               UBaseType_t priority, StackType_t *stack, StaticTask_t *task);
TickType_t xTaskGetTickCount(void);

#endif
