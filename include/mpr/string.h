/* SPDX-License-Identifier: MIT */
/*
    mpr/string.h - Strings: copy, compare, search, split, join, convert.

    A string is a `char *` that ends in a zero byte. Calls that make one return a managed leaf block of exact size:
    retain it as any block. NULL is a fine argument everywhere; what it means stands with each call. Comparison and
    length treat it as a string that is shorter than every other.

    Bytes above 127 (UTF-8 among them) are copied and compared as they are; case is that of ASCII, whatever the locale.
    Lengths count bytes. A call that makes a string returns NULL when there is no memory.

    Threads: those that return a new string, attached threads; the others, any thread. None of these calls yields.
 */
#if !defined(MPR_STRING_H) && !defined(MPR_NO_SHORT_NAMES) /* All are short names: see mpr/types.h */
#define MPR_STRING_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

struct MprHash;
struct MprList;

/* ---- Copy and measure ------------------------------------------------------------------------------------------- */

/** Bytes before the terminating zero; 0 for NULL. */
MPR_EXPORT ssize slen(cchar *str);

/** A copy. NULL gives an empty string. */
MPR_EXPORT char *sclone(cchar *str);

/** A copy of at most len bytes, fewer when str ends before. NULL, or a len below 1, gives an empty string. */
MPR_EXPORT char *snclone(cchar *str, ssize len);

/**
    Copy into a buffer of destMax bytes, terminated.
    @return Bytes copied without the zero; MPR_ERR_WONT_FIT when they and the zero do not fit (dest is then untouched);
    MPR_ERR_BAD_ARGS when dest is NULL or destMax below 1. A src of NULL is copied as "".
 */
MPR_EXPORT ssize scopy(char *dest, ssize destMax, cchar *src);

/** Copy the first len bytes of src into a buffer, as scopy does. */
MPR_EXPORT ssize sncopy(char *dest, ssize destMax, cchar *src, ssize len);

/* ---- Compare ---------------------------------------------------------------------------------------------------- */

/** Compare two strings by their unsigned bytes. @return Below, equal to or above 0. NULL comes before "", and equals
    NULL. */
MPR_EXPORT int scmp(cchar *s1, cchar *s2);
/** Compare at most len bytes, as scmp does. */
MPR_EXPORT int sncmp(cchar *s1, cchar *s2, ssize len);
/** Compare as scmp and sncmp do, with A-Z taken for a-z. */
MPR_EXPORT int scaselesscmp(cchar *s1, cchar *s2);
MPR_EXPORT int sncaselesscmp(cchar *s1, cchar *s2, ssize len);
/** Whether two strings are equal: scmp, or scaselesscmp, returns 0. */
MPR_EXPORT bool smatch(cchar *s1, cchar *s2);
MPR_EXPORT bool scaselessmatch(cchar *s1, cchar *s2);
/** Compare secrets as smatch does, in a time that does not depend on where strings of the same length differ. */
MPR_EXPORT bool smatchsec(cchar *s1, cchar *s2);

/* ---- Search ----------------------------------------------------------------------------------------------------- */

/** The first, or the last, place of a character in str; c 0 finds the end. @return NULL when it is not there. */
MPR_EXPORT char *schr(cchar *str, int c);
MPR_EXPORT char *srchr(cchar *str, int c);

/** The first place of pattern in str; "" is found at the start. @return NULL when not there or when either is NULL. */
MPR_EXPORT char *scontains(cchar *str, cchar *pattern);
/** The first place of pattern in str, as scontains, with A-Z taken for a-z. */
MPR_EXPORT char *scaselesscontains(cchar *str, cchar *pattern);
/** The first place of pattern within the first limit bytes of str; a negative limit is none. sncaselesscontains takes
    A-Z for a-z. */
MPR_EXPORT char *sncontains(cchar *str, cchar *pattern, ssize limit);
MPR_EXPORT char *sncaselesscontains(cchar *str, cchar *pattern, ssize limit);

/** The first place in str of any byte of set. @return NULL when there is none or when either is NULL. */
MPR_EXPORT char *spbrk(cchar *str, cchar *set);
/** Bytes at the start of str that are all in set; 0 when either is NULL. */
MPR_EXPORT ssize sspn(cchar *str, cchar *set);

/** Whether str starts with prefix. false when either is NULL. */
MPR_EXPORT bool sstarts(cchar *str, cchar *prefix);
/** @return Where in str the suffix starts, NULL when str does not end so or when either is NULL. */
MPR_EXPORT cchar *sends(cchar *str, cchar *suffix);

/* ---- Split. These calls write zeros into str and return parts of it. --------------------------------------------- */

/**
    The next token: a run of bytes that are not in delim.
    @param str The string, or NULL to continue from *last. @param delim Bytes that separate; several in a row count as
    one.
    @param last Set to what follows the token and its delimiters, and to NULL when no delimiter followed: with
    `key = stok(text, "=", &value)` value is NULL when there is no '='. Must not be NULL unless one token is all.
    @return NULL when there is none left.
 */
MPR_EXPORT char *stok(char *str, cchar *delim, char **last);

/**
    The part up to the first occurrence of a whole pattern, perhaps empty.
    @param str The string, or NULL to continue from *last. @param last Set to what follows the pattern, NULL when there
    was none. @return NULL when nothing is left, or when pattern is NULL or "".
 */
MPR_EXPORT char *sptok(char *str, cchar *pattern, char **last);

/**
    Split once: the part before the first byte that is in delim, and in *last the rest after it and its followers.
    @return Never NULL, nor is *last: "" stands for what is not there. Unlike stok, a delimiter at the start gives an
    empty part.
    @remarks A run of delimiters between two parts counts as one.
 */
MPR_EXPORT char *ssplit(char *str, cchar *delim, char **last);

/* ---- Make new strings from old ---------------------------------------------------------------------------------- */

/* Where strim works. */
#define MPR_TRIM_START 0x1
#define MPR_TRIM_END 0x2
#define MPR_TRIM_BOTH 0x3

/**
    A copy without the bytes of set at its ends. @param set NULL: white space. @param where MPR_TRIM_*; 0 is both.
    @return NULL for a NULL str.
 */
MPR_EXPORT char *strim(cchar *str, cchar *set, int where);

/** A copy in lower case, in upper case, or with its first byte in upper, or lower, case. NULL gives NULL. */
MPR_EXPORT char *slower(cchar *str);
MPR_EXPORT char *supper(cchar *str);
MPR_EXPORT char *stitle(cchar *str);
MPR_EXPORT char *scamel(cchar *str);

/** A copy of length bytes from an offset on, fewer when str ends before. @return NULL when str is NULL, either is
    negative, or str ends before the offset. */
MPR_EXPORT char *ssub(cchar *str, ssize offset, ssize length);

/** Write zeros over a string, a secret say, that is not needed any more. NULL is fine. */
MPR_EXPORT void serase(char *str);

/** Strings in a row; the last argument is NULL. Without any, an empty string. */
MPR_EXPORT char *sjoin(cchar *str, ...);
MPR_EXPORT char *sjoinv(cchar *str, va_list args);
/** A new string: buf, if it is not NULL, with others behind it; the last argument is NULL. */
MPR_EXPORT char *srejoin(char *buf, ...);
MPR_EXPORT char *srejoinv(char *buf, va_list args);
/** argc strings with sep between them. NULLs among them count as "". @param sep NULL: a blank. */
MPR_EXPORT cchar *sjoinArgs(int argc, cchar **argv, cchar *sep);

/** A copy with every occurrence of pattern replaced, found from left to right. A replacement of NULL is "". A pattern
    of NULL or "" replaces nothing. NULL gives NULL. */
MPR_EXPORT char *sreplace(cchar *str, cchar *pattern, cchar *replacement);

/** A copy with each ${key} replaced by the string of that key in tokens; where there is none, ${key} stays. A key
    contains neither } nor ${. NULL gives NULL. */
MPR_EXPORT char *stemplate(cchar *str, struct MprHash *tokens);

/* ---- Numbers ---------------------------------------------------------------------------------------------------- */

/** A number in decimal. */
MPR_EXPORT char *itos(int64 value);
/** A number to a radix from 2 to 36: digits above 9 in lower case, and a minus sign for any negative value. @return
    NULL for another radix. */
MPR_EXPORT char *itosradix(int64 value, int radix);
/** Write a number, as itosradix does, into a buffer of size bytes. @return buf; NULL when it does not fit or an
    argument is bad. */
MPR_EXPORT char *itosbuf(char *buf, ssize size, int64 value, int radix);

/** The decimal number at the start of str: stoiradix(str, 10, NULL). */
MPR_EXPORT int64 stoi(cchar *str);

/**
    The number at the start of str: white space, a sign, digits.
    @param radix 2 to 36. 10 is decimal, leading zeros or not; it takes 0x for hexadecimal, as 16 does, since no decimal
    number begins so. 0: a prefix decides as in C: 0x is hexadecimal, a leading 0 octal.
    @param err NULL, or set to 0; MPR_ERR_BAD_SYNTAX when there are no digits or something but white space follows them;
    MPR_ERR_BAD_VALUE when the number has no room in 64 bits; MPR_ERR_BAD_ARGS for another radix.
    @return What was read up to the mistake; the nearest int64 when there is no room; 0 for NULL.
 */
MPR_EXPORT int64 stoiradix(cchar *str, int radix, int *err);

/** Whether str is a decimal integer and nothing else: digits, perhaps after a sign. */
MPR_EXPORT bool snumber(cchar *s);

/** The number at the start of str as the C library's strtod reads it, whose decimal point is that of the locale. 0 for
    NULL. */
MPR_EXPORT double stof(cchar *str);
/** Whether str is a decimal number and nothing else: a sign, digits with a point before, among or after them,
    an exponent. */
MPR_EXPORT bool sfnumber(cchar *s);

/** Whether value is not a number, infinite, or zero. @return 1 or 0. */
MPR_EXPORT int mprIsNan(double value);
MPR_EXPORT int mprIsInfinite(double value);
MPR_EXPORT int mprIsZero(double value);

/** Another name for mprCreateListFromWords (mpr/list.h). */
MPR_EXPORT struct MprList *stolist(cchar *src);

MPR_EXTERN_C_END
#endif /* MPR_STRING_H */
