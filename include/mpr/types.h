/* SPDX-License-Identifier: MIT */
/*
    mpr/types.h - Names that every other header of the C API uses: integer types, export marks, error codes.
 */
#ifndef MPR_TYPES_H
#define MPR_TYPES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
    Older programs pass arguments to functions that take none. Until C23, C allows that if the declaration says nothing
    of parameters. With MPR_STRICT_PROTOTYPES such a call is an error.
 */
#if defined(__cplusplus) || defined(MPR_STRICT_PROTOTYPES) || __STDC_VERSION__ > 201710L
#define MPR_NOTHING void
#else
#define MPR_NOTHING
#endif

#if defined(__cplusplus) && defined(__GNUC__) /* Their inline functions are C, too: casts are C's. */
#define MPR_EXTERN_C_BEGIN \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"") \
        _Pragma("GCC diagnostic ignored \"-Wcast-qual\"") extern "C" {
#define MPR_EXTERN_C_END \
    } \
    _Pragma("GCC diagnostic pop")
#elif defined(__cplusplus)
#define MPR_EXTERN_C_BEGIN extern "C" {
#define MPR_EXTERN_C_END }
#elif defined(__GNUC__)
#define MPR_EXTERN_C_BEGIN \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wstrict-prototypes\"") \
        _Pragma("GCC diagnostic ignored \"-Wcast-qual\"")
#define MPR_EXTERN_C_END _Pragma("GCC diagnostic pop")
#else
#define MPR_EXTERN_C_BEGIN
#define MPR_EXTERN_C_END
#endif

/* Visible from the shared library; everything else in it is hidden. */
#if defined(__GNUC__)
#define MPR_EXPORT __attribute__((visibility("default")))
#else
#define MPR_EXPORT
#endif

/** Milliseconds of a monotonic clock. */
typedef long long MprTicks;
/** Milliseconds since 1970-01-01 00:00 UTC. */
typedef long long MprTime;

/* A procedure as a void *, for calls that take any: ISO C converts a function to void * only by way of an integer. */
#ifdef __cplusplus
#define MPR_PROC(proc) (reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(proc)))
#else
#define MPR_PROC(proc) ((void *) (uintptr_t) (proc))
#endif

/* Sizes for a program's own buffers. The API itself limits only paths (mpr/path.h). */
#define MPR_MAX_STRING 1024
#define MPR_MAX_FNAME 256
#define MPR_MAX_URL 2048

/* Between the folders of a search path. */
#define MPR_SEARCH_SEP ":"

/* Error codes: negative, returned as int. Numbers are those of other MPRs, for files and scripts that hold them. */
#define MPR_ERR_OK 0
#define MPR_ERR (-1)                  /* Unspecified error */
#define MPR_ERR_ABORTED (-2)          /* Given up before it was done */
#define MPR_ERR_ALREADY_EXISTS (-3)   /* There is one already */
#define MPR_ERR_BAD_ARGS (-4)         /* An argument is out of range or malformed */
#define MPR_ERR_BAD_FORMAT (-5)       /* Data in another format than expected */
#define MPR_ERR_BAD_HANDLE (-6)       /* Not an open descriptor */
#define MPR_ERR_BAD_STATE (-7)        /* The call does not fit the present state */
#define MPR_ERR_BAD_SYNTAX (-8)       /* Text that cannot be parsed */
#define MPR_ERR_BAD_TYPE (-9)         /* Another kind of object than expected */
#define MPR_ERR_BAD_VALUE (-10)       /* A value is out of range */
#define MPR_ERR_BUSY (-11)            /* In use; it may be free later */
#define MPR_ERR_CANT_ACCESS (-12)     /* The system denies access */
#define MPR_ERR_CANT_ALLOCATE (-13)   /* A resource of the system could not be had */
#define MPR_ERR_CANT_COMPLETE (-14)   /* Begun, but not finished */
#define MPR_ERR_CANT_CONNECT (-15)    /* The peer cannot be reached */
#define MPR_ERR_CANT_CREATE (-16)     /* The system refused to create the object */
#define MPR_ERR_CANT_DELETE (-17)     /* The system refused to delete the object */
#define MPR_ERR_CANT_FIND (-18)       /* There is none of that name */
#define MPR_ERR_CANT_INITIALIZE (-19) /* A part of the runtime could not be made ready */
#define MPR_ERR_CANT_LOAD (-20)       /* Could not be loaded */
#define MPR_ERR_CANT_OPEN (-21)       /* Could not be opened */
#define MPR_ERR_CANT_READ (-22)       /* Could not be read */
#define MPR_ERR_CANT_WRITE (-23)      /* Could not be written */
#define MPR_ERR_DELETED (-24)         /* The object exists no longer */
#define MPR_ERR_MEMORY (-25)          /* Memory could not be had */
#define MPR_ERR_NETWORK (-26)         /* The network failed */
#define MPR_ERR_NOT_INITIALIZED (-27) /* Not made ready before use */
#define MPR_ERR_NOT_READY (-28)       /* Not yet; try again */
#define MPR_ERR_READ_ONLY (-29)       /* May not be changed */
#define MPR_ERR_TIMEOUT (-30)         /* The time ran out */
#define MPR_ERR_TOO_MANY (-31)        /* A limit on their number is reached */
#define MPR_ERR_WONT_FIT (-32)        /* Larger than the room for it */
#define MPR_ERR_WOULD_BLOCK (-33)     /* It would have to wait, which it was told not to */

#endif /* MPR_TYPES_H */

/*
    Short names: those of the API that begin neither with mpr nor with MPR. They are types (cchar, ssize, int64, ...),
    all of mpr/string.h, fmt, print, sfmt, palloc and its kin, lock and unlock, Socket, ITERATE_ITEMS and its kin.

    C headers declare them, in C and in C++. With MPR_NO_SHORT_NAMES defined they do not, so that a program may use the
    names for what it likes. C++ headers (mpr.hpp, mpr/cpp/) never do: a C++ program that wants them includes mpr.h,
    too, before or after. That is why this part, and its like in other headers, stands outside the include guard.
 */
#if !defined(MPR_NO_SHORT_NAMES) && !defined(MPR_TYPES_SHORT_NAMES)
#define MPR_TYPES_SHORT_NAMES

typedef const char cchar;
typedef const void cvoid;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef uint16_t uint16;
typedef uint32_t uint32;
typedef long long int64; /* int64_t may be long: programs have a typedef of their own, which must be the same */
typedef unsigned long long uint64;
typedef ptrdiff_t ssize;

#endif /* MPR_TYPES_SHORT_NAMES */
