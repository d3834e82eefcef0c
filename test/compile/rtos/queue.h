/* SPDX-License-Identifier: MIT */
/* test/compile/rtos/queue.h - See FreeRTOS.h. */
#ifndef MPR_TEST_FREERTOS_QUEUE_H
#define MPR_TEST_FREERTOS_QUEUE_H

#include "FreeRTOS.h"

typedef struct Queue *QueueHandle_t;

QueueHandle_t xQueueCreateStatic(UBaseType_t length, UBaseType_t itemSize, uint8_t *storage, StaticQueue_t *queue);
BaseType_t xQueueReceive(QueueHandle_t queue, void *item, TickType_t wait);
BaseType_t xQueueSend(QueueHandle_t queue, const void *item, TickType_t wait);

#endif
