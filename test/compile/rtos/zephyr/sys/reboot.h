/* SPDX-License-Identifier: MIT */
/* test/compile/rtos/zephyr/sys/reboot.h - See ../kernel.h. */
#ifndef MPR_TEST_ZEPHYR_REBOOT_H
#define MPR_TEST_ZEPHYR_REBOOT_H

#define SYS_REBOOT_COLD 1
void sys_reboot(int type);

#endif
