# SPDX-License-Identifier: MIT
# cortex-m7.cmake - ARM Cortex-M7 with double-precision floating point, passed in its registers (QEMU: mps2-an500).
set(cpu "-mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard")
set(machine mps2-an500)
set(map mps2)
include(${CMAKE_CURRENT_LIST_DIR}/metal.cmake)
