# SPDX-License-Identifier: MIT
# armhf.cmake - 32-bit ARM with a floating-point unit: Cortex-A boards, ARMv7 (Debian armhf).
set(CMAKE_SYSTEM_PROCESSOR arm)
set(arch armhf)
set(triplet arm-linux-gnueabihf)
set(emulator qemu-arm)
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
