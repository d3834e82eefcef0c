# SPDX-License-Identifier: MIT
# armel.cmake - 32-bit ARM without a floating-point unit: ARMv5TE and up (Debian armel).
#
# ARMv5 has no atomic instructions: words go through the kernel's helpers, 64-bit counters through libatomic (CMakeLists.txt).
set(CMAKE_SYSTEM_PROCESSOR arm)
set(arch armel)
set(triplet arm-linux-gnueabi)
set(emulator qemu-arm)
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
