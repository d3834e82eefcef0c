# SPDX-License-Identifier: MIT
# cortex-m0.cmake - ARM Cortex-M0 and M0+: ARMv6-M, no atomic instructions, none to count leading zeros (QEMU: the M3 of
# mps2-an385, which has all of its instructions).
set(cpu "-mcpu=cortex-m0")
set(machine mps2-an385)
set(map mps2)
include(${CMAKE_CURRENT_LIST_DIR}/metal.cmake)
