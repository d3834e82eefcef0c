# SPDX-License-Identifier: MIT
# amd64-musl.cmake - x86-64 Linux with musl as its C library: core and the C API. Runs on this machine.
#
# Debian has no C++ library for musl. None is needed to link, since mpr uses of it only what headers bring; so g++ compiles with
# musl's C headers, and musl-gcc links, C programs only. Upper rooms and tests in C++ are left out.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_CXX_COMPILER g++)
set(triplet x86_64-linux-gnu)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

# The kernel's headers stand among glibc's; a folder of links has them alone.
set(kernel_headers ${CMAKE_BINARY_DIR}/kernel-headers)
file(MAKE_DIRECTORY ${kernel_headers})
file(CREATE_LINK /usr/include/linux ${kernel_headers}/linux SYMBOLIC)
file(CREATE_LINK /usr/include/asm-generic ${kernel_headers}/asm-generic SYMBOLIC)
file(CREATE_LINK /usr/include/x86_64-linux-gnu/asm ${kernel_headers}/asm SYMBOLIC)

# The preset leaves these flags to this file, unlike those of other targets.
set(sections "-ffunction-sections -fdata-sections")
set(CMAKE_C_FLAGS_INIT "${sections} -idirafter ${kernel_headers}")
set(CMAKE_CXX_FLAGS_INIT "${sections} -specs=/usr/lib/x86_64-linux-musl/musl-gcc.specs -isystem /usr/include/c++/12 \
-isystem /usr/include/x86_64-linux-gnu/c++/12 -idirafter ${kernel_headers} -include ${CMAKE_CURRENT_LIST_DIR}/musl/headers.h")
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_BINARY_DIR}/nothing)
