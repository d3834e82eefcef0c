/* SPDX-License-Identifier: MIT */
/*
    mpr/format.h - Formatting: the conversions of C's printf, tolerant and without surprises.

    A conversion is %[flags][width][.precision][size]type. All calls share it, mprPutToBuf (mpr/buffer.h) and mprLog
    (mpr/log.h) among them.

      flags      - + blank # 0 as in C; ' or , puts a comma between groups of three decimal digits, whatever the locale
      width, precision   a number or *; a negative width means the flag -, a negative precision none
      size       hh h l ll z j t as in C; L (or q) before an integer is 64 bits; L before a floating-point type
                 is long double
      type       d i u o x X c s p f F e E g G a A % as in C; S is ls, C is lc

    Where C leaves the meaning open, or is dangerous:

      %s of NULL is "null". The precision counts bytes. %ls, %lc take wide characters and give UTF-8; a character is
      never cut; what is no character becomes U+FFFD.
      %@ is %s for a managed string: without a zero in it, it ends with its block.
      %p is 0x and lower-case hexadecimal digits; NULL is 0x0.
      %n takes its argument and does nothing.
      Any other type is no conversion: the text is copied as it stands, and no argument is taken but for a *.

    Floating point is converted by the C library, to the last digit; its decimal point is that of the locale.

    A width or precision, however great, costs no more time and memory than there is room for what it makes: a user who
    chooses one can fill the buffer, and no more. Where the text grows as needed (sfmt, mprPutToBuf) a width, or the
    precision of a number, above 1,048,576 is taken as that, in all calls: one conversion pads with a megabyte at most.

    Define MPR_CHECK_PRINTF before the include to have the compiler check formats. It knows nothing of NULL for %s,
    of a size L for integers and of the flag ','.
 */
#ifndef MPR_FORMAT_H
#define MPR_FORMAT_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

#if defined(MPR_CHECK_PRINTF) && defined(__GNUC__)
#define MPR_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define MPR_PRINTF(text, first)
#endif

/** An older name for fmt. */
MPR_EXPORT char *mprSprintf(char *buf, ptrdiff_t maxSize, const char *fmt, ...) MPR_PRINTF(3, 4);

/**
    Format to standard output (mprPrintf) or to standard error (mprEprintf). They go through C's stdout and stderr, so
    that they mix with printf, and wait as it does: neither yields. A thread that prints to a pipe or terminal that
    may be blocked for long yields stickily around the call.
    @return Bytes written, or MPR_ERR_CANT_WRITE. Any thread, with or without a runtime.
 */
MPR_EXPORT ptrdiff_t mprPrintf(const char *fmt, ...) MPR_PRINTF(1, 2);
MPR_EXPORT ptrdiff_t mprEprintf(const char *fmt, ...) MPR_PRINTF(1, 2);

MPR_EXTERN_C_END
#endif /* MPR_FORMAT_H */

/* Short names: see mpr/types.h. */
#if !defined(MPR_NO_SHORT_NAMES) && !defined(MPR_FORMAT_SHORT_NAMES)
#define MPR_FORMAT_SHORT_NAMES

MPR_EXTERN_C_BEGIN

/** Format into a new managed string of exact size. @param fmt NULL is "". @return NULL when there is no memory.
    Attached threads. Does not yield. */
MPR_EXPORT char *sfmt(const char *fmt, ...) MPR_PRINTF(1, 2);
MPR_EXPORT char *sfmtv(const char *fmt, va_list args) MPR_PRINTF(1, 0);

/** Format into a buffer of maxSize bytes, terminated; what does not fit is cut. @return buf, NULL when it is NULL or
    maxSize is below 1. Any thread, with or without a runtime. */
MPR_EXPORT char *fmt(char *buf, ptrdiff_t maxSize, const char *fmt, ...) MPR_PRINTF(3, 4);

/** Format to standard output as mprPrintf does, and add a newline. */
MPR_EXPORT ptrdiff_t print(const char *fmt, ...) MPR_PRINTF(1, 2);

MPR_EXTERN_C_END

#endif /* MPR_FORMAT_SHORT_NAMES */
