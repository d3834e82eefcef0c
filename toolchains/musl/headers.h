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
#endif
