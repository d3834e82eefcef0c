# SPDX-License-Identifier: MIT
# metal.cmake - what the toolchain files of bare-metal Cortex-M share. Before including this they set
#   cpu       flags that select the core
#   machine   the machine of qemu-system-arm that has one
#   map       the linker script in toolchains/metal for that machine's memory
#
# Debian's gcc-arm-none-eabi with newlib; the C library is used for memcpy and the like only. Programs link without the
# C++ library. A board of your own needs its linker script, its start-up code and mpr/board.h: see README.md.

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE NEVER)

# Optimised when linked (-flto), core is a fifth smaller and faster. Fat objects: a firmware without -flto links them, too.
set(flags "-mthumb ${cpu} -ffunction-sections -fdata-sections -flto -ffat-lto-objects")
set(CMAKE_C_FLAGS_INIT "${flags}")
set(CMAKE_CXX_FLAGS_INIT "${flags}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${flags} --specs=nano.specs -nostartfiles -Wl,--gc-sections")
set(CMAKE_AR arm-none-eabi-gcc-ar)
set(CMAKE_RANLIB arm-none-eabi-gcc-ranlib)

set(MPR_MACHINE ${machine})
set(MPR_MEMORY_MAP ${CMAKE_CURRENT_LIST_DIR}/metal/${map}.ld)
set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/metal/run;${machine})
