# SPDX-License-Identifier: MIT
# cortex-m3.cmake - ARM Cortex-M3: ARMv7-M, no floating-point unit (QEMU: mps2-an385).
set(cpu "-mcpu=cortex-m3")
set(machine mps2-an385)
set(map mps2)
include(${CMAKE_CURRENT_LIST_DIR}/metal.cmake)
