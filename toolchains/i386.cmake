# SPDX-License-Identifier: MIT
# i386.cmake - 32-bit x86 (Debian i386: i686 and up). Runs on this machine, if that is an x86.
set(CMAKE_SYSTEM_PROCESSOR i686)
set(arch i386)
set(triplet i686-linux-gnu)
set(emulator "")
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
