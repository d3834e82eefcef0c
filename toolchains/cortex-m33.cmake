# SPDX-License-Identifier: MIT
# cortex-m33.cmake - ARM Cortex-M33: ARMv8-M in its secure state, no floating-point unit used (QEMU: mps2-an505).
set(cpu "-mcpu=cortex-m33+nodsp -mfloat-abi=soft")
set(machine mps2-an505)
set(map mps2-secure)
include(${CMAKE_CURRENT_LIST_DIR}/metal.cmake)
