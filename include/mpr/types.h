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

#ifdef __cplusplus
#define MPR_EXTERN_C_BEGIN extern "C" {
#define MPR_EXTERN_C_END }
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

typedef const char cchar;
typedef const void cvoid;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef uint16_t uint16;
typedef uint32_t uint32;
typedef int64_t int64;
typedef uint64_t uint64;
typedef ptrdiff_t ssize;

/** Milliseconds of a monotonic clock. */
typedef int64 MprTicks;
/** Milliseconds since 1970-01-01 00:00 UTC. */
typedef int64 MprTime;

/* Error codes: negative, returned as int. */
#define MPR_ERR_OK 0
#define MPR_ERR (-1)              /* Unspecified error */
#define MPR_ERR_BAD_ARGS (-4)     /* An argument is out of range or malformed */
#define MPR_ERR_BAD_STATE (-7)    /* The call does not fit the present state */
#define MPR_ERR_BAD_SYNTAX (-8)   /* Text is malformed */
#define MPR_ERR_BAD_VALUE (-10)   /* A value is out of range */
#define MPR_ERR_CANT_CREATE (-16) /* The system refused to create the object */
#define MPR_ERR_CANT_OPEN (-21)   /* The system refused to open it */
#define MPR_ERR_CANT_READ (-22)   /* The system refused to read from it */
#define MPR_ERR_CANT_WRITE (-23)  /* The system refused to write to it */
#define MPR_ERR_MEMORY (-30)      /* Memory could not be had */
#define MPR_ERR_TOO_MANY (-31)    /* A limit set by the program is reached */
#define MPR_ERR_WONT_FIT (-32)    /* The caller's buffer is too small */

#endif /* MPR_TYPES_H */
