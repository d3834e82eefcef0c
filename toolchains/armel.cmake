# SPDX-License-Identifier: MIT
# armel.cmake - 32-bit ARM without a floating-point unit: ARMv5TE and up (Debian armel).
#
# ARMv5 has no atomic instructions: words go through the kernel's helpers, 64-bit counters through libatomic.
set(CMAKE_SYSTEM_PROCESSOR arm)
set(arch armel)
set(triplet arm-linux-gnueabi)
set(emulator qemu-arm)
set(CMAKE_C_STANDARD_LIBRARIES_INIT -latomic)
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT -latomic)
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
