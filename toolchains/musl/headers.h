/* SPDX-License-Identifier: MIT */
/*
    headers.h - Included before everything when compiling for musl (amd64-musl.cmake): Debian's C++ headers are configured
    for glibc. What core uses of them are templates only, which no C library can tell apart; these let the rest parse.
 */
#ifdef __cplusplus
#include <locale.h>
#define __GLIBC_PREREQ(major, minor) 0
typedef locale_t __locale_t;
#include <bits/c++config.h>
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT
#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK
#undef _GLIBCXX_USE_PTHREAD_RWLOCK_CLOCKLOCK
/* Classes of characters, for <locale>, which comes with others and is not used. */
enum {
    _ISupper = 1,
    _ISlower = 2,
    _ISalpha = 4,
    _ISdigit = 8,
    _ISxdigit = 16,
    _ISspace = 32,
    _ISprint = 64,
    _ISgraph = 128,
    _ISblank = 256,
    _IScntrl = 512,
    _ISpunct = 1024,
    _ISalnum = 2048
};
#endif
