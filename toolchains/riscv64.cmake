# SPDX-License-Identifier: MIT
# riscv64.cmake - 64-bit RISC-V. Debian 12 has the compiler but no packages for it: no libuv, so core alone, and what
# needs nothing else. GCC 12 leaves atomic operations on bytes to libatomic.
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(arch riscv64)
set(triplet riscv64-linux-gnu)
set(emulator qemu-riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)

# Its linker (binutils 2.40) shortens calls in minutes for a program of some MiB, as tests are; without that it takes a second.
set(CMAKE_EXE_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT} -Wl,--no-relax")
