/* SPDX-License-Identifier: MIT */
/* test/compile/rtos/zephyr/sys/printk.h - See ../kernel.h. */
#ifndef MPR_TEST_ZEPHYR_PRINTK_H
#define MPR_TEST_ZEPHYR_PRINTK_H

__attribute__((format(printf, 1, 2))) void printk(const char *format, ...);

#endif
