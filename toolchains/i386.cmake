# SPDX-License-Identifier: MIT
# i386.cmake - 32-bit x86 (Debian i386: i686 and up). Programs run on this machine if its kernel executes them, which a
# 64-bit kernel may be built not to do; elsewhere under qemu-user.
set(CMAKE_SYSTEM_PROCESSOR i686)
set(arch i386)
set(triplet i686-linux-gnu)
execute_process(COMMAND /usr/${triplet}/lib/ld-linux.so.2 --version RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
if(refused)
    set(emulator qemu-i386)
else()
    set(emulator "")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
