/* SPDX-License-Identifier: MIT */
/*
    test/compile/rtos/zephyr/kernel.h - What examples/metal/zephyr.c uses of Zephyr, with sys/printk.h and sys/reboot.h:
    declared as its reference does, so that a compiler can look at the example where no Zephyr is. Nothing here works.
 */
#ifndef MPR_TEST_ZEPHYR_KERNEL_H
#define MPR_TEST_ZEPHYR_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t ticks;
} k_timeout_t;
typedef struct k_thread *k_tid_t;
typedef void (*k_thread_entry_t)(void *p1, void *p2, void *p3);
struct k_msgq {
    char *buffer;
    size_t itemSize;
    uint32_t most;
};

#define K_FOREVER ((k_timeout_t){-1})
#define K_NO_WAIT ((k_timeout_t){0})
#define K_MSGQ_DEFINE(name, itemSize, most, alignment) \
    static char name##Buffer[(itemSize) * (most)] __attribute__((aligned(alignment))); \
    struct k_msgq name = {name##Buffer, (itemSize), (most)}
#define K_THREAD_DEFINE(name, stackSize, entry, p1, p2, p3, priority, options, delay) \
    char name##Stack[stackSize]; \
    const k_tid_t name = NULL; \
    const k_thread_entry_t name##Entry = (entry)

int k_msgq_get(struct k_msgq *queue, void *data, k_timeout_t timeout);
int k_msgq_put(struct k_msgq *queue, const void *data, k_timeout_t timeout);
int64_t k_uptime_ticks(void);
uint64_t k_ticks_to_ns_floor64(uint64_t ticks);
bool k_is_in_isr(void);
void k_panic(void);

#endif
