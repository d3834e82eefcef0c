# SPDX-License-Identifier: MIT
# linux.cmake - what the toolchain files of the Linux targets share. Before including this they set
#   arch      Debian's name of the architecture, which names the sysroot, too
#   triplet   the prefix of Debian's cross compiler
#   emulator  the program of qemu-user that runs what is built; empty when this machine can
#
# libc comes with the cross compiler (/usr/<triplet>); libuv, OpenSSL, libcrypt, expat, zlib and Catch2 come from
# build/sysroot/<arch>, which toolchains/sysroot makes. -DMPR_SYSROOT= names another place.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MPR_SYSROOT)
if(NOT MPR_SYSROOT)
    cmake_path(SET MPR_SYSROOT NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot/${arch})
endif()

# A package of a user's may stand elsewhere: where CMAKE_PREFIX_PATH says.
set(CMAKE_FIND_ROOT_PATH ${MPR_SYSROOT} /usr/${triplet} ${CMAKE_PREFIX_PATH})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Debian's compilers call this i386 triplet by an older name where files are installed.
string(REPLACE i686- i386- multiarch ${triplet})
set(ENV{PKG_CONFIG_LIBDIR} ${MPR_SYSROOT}/usr/lib/${multiarch}/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${MPR_SYSROOT})
set(ENV{PKG_CONFIG_ALLOW_SYSTEM_CFLAGS} 1)
set(ENV{PKG_CONFIG_ALLOW_SYSTEM_LIBS} 1)
if(NOT multiarch STREQUAL triplet)
    set(CMAKE_LIBRARY_ARCHITECTURE ${multiarch})
endif()
# Headers that differ by processor stand there: OpenSSL's configuration.
foreach(lang C CXX)
    set(CMAKE_${lang}_STANDARD_INCLUDE_DIRECTORIES ${MPR_SYSROOT}/usr/include/${multiarch})
endforeach()

# Some of Debian's libraries stand in /lib, the others in /usr/lib: for the linker, which looks for what libraries need, and
# for programs that need no emulator.
foreach(kind EXE SHARED)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT
        -Wl,-rpath-link,${MPR_SYSROOT}/lib/${multiarch}:${MPR_SYSROOT}/usr/lib/${multiarch})
endforeach()
set(CMAKE_BUILD_RPATH ${MPR_SYSROOT}/lib/${multiarch})

if(emulator)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator};-L;/usr/${triplet};-E
        LD_LIBRARY_PATH=${MPR_SYSROOT}/usr/lib/${multiarch}:${MPR_SYSROOT}/lib/${multiarch})
endif()
