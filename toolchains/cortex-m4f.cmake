# SPDX-License-Identifier: MIT
# cortex-m4f.cmake - ARM Cortex-M4 with single-precision floating point, passed in its registers (QEMU: mps2-an386).
set(cpu "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard")
set(machine mps2-an386)
set(map mps2)
include(${CMAKE_CURRENT_LIST_DIR}/metal.cmake)
