/* SPDX-License-Identifier: MIT */
/*
    mpr/digest.h - Codes and digests: Base64, MD5, SHA-1, SHA-256, and hashes of passwords.

    Results are new managed strings. NULL is returned when memory is short, and where a description says so. Attached
    threads that run; others are refused and named (mpr/runtime.h). Nothing here yields, except the calls for
    passwords with more than the usual rounds.

    These calls wipe their own buffers and states, so that nothing of their input stays in memory. A program wipes its
    own strings with serase, mpr/string.h.

    A library that was built with MPR_DIGEST=OFF, for a small board, has none of this.
 */
#ifndef MPR_DIGEST_H
#define MPR_DIGEST_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/* ---- Base64: RFC 4648 (2006), the alphabet with + and /, padded with = ------------------------------------------ */

/** Encode a string. NULL counts as the empty string. */
MPR_EXPORT char *mprEncode64(const char *str);
/** Encode bytes. @param len Their number; below 0: up to the first zero. @return NULL for NULL with a length. */
MPR_EXPORT char *mprEncode64Block(const char *buf, ptrdiff_t len);

/* Flags of mprDecode64Block. */
#define MPR_DECODE_TOKEQ \
    0x1 /* Decode up to the first =, or the end: padding may lack, what follows it is not looked at */

/**
    Decode strictly. NULL counts as the empty string.
    @return NULL for a text that is not Base64: it has another character, blanks and newlines included; its length is
    not a multiple of four; or unused bits are not zero. The reason is logged at level 2, with the tag "digest". A zero
    among the bytes ends the string early: where there may be one, use mprDecode64Block.
 */
MPR_EXPORT char *mprDecode64(const char *str);
/**
    Decode as mprDecode64 does, and return the length.
    @param len Gets the number of bytes, behind which there is a zero. NULL is fine. Nothing is read from it.
    @param flags MPR_DECODE_TOKEQ or 0.
 */
MPR_EXPORT char *mprDecode64Block(const char *buf, ptrdiff_t *len, int flags);

/* ---- Digests: hexadecimal, in small letters, unless their names say Base64 -------------------------------------- */

/*
    Each takes time in proportion to the length, some 2 to 9 ns per byte on a PC and ten times that on a small board.
    The thread does not yield meanwhile: leave 10 MB to a worker.

    MD5 and SHA-1 are broken for signatures: they are here for protocols that want them (HTTP's digest authentication,
    entity tags, the handshake of WebSockets). NULL counts as the empty string.
 */

/** MD5 of a string: RFC 1321 (1992). */
MPR_EXPORT char *mprGetMD5(const char *str);
/**
    MD5 of bytes, with a text before it.
    @param len Bytes; below 0: up to the first zero.
    @param prefix Stands before the digest. NULL: nothing does.
    @return NULL for NULL with a length.
 */
MPR_EXPORT char *mprGetMD5WithPrefix(const char *buf, ptrdiff_t len, const char *prefix);
/** SHA-1 of a string: FIPS 180-4 (2015). */
MPR_EXPORT char *mprGetSHA(const char *str);
/** SHA-1 of a string, the 20 bytes in Base64: what a WebSocket answers. */
MPR_EXPORT char *mprGetSHABase64(const char *str);
/** SHA-1 of bytes, with a text before it. Parameters as mprGetMD5WithPrefix. */
MPR_EXPORT char *mprGetSHAWithPrefix(const char *buf, ptrdiff_t len, const char *prefix);
/** SHA-256 of a string: FIPS 180-4 (2015). */
MPR_EXPORT char *mprGetSHA256(const char *str);
/** SHA-256 of a string, the 32 bytes in Base64. */
MPR_EXPORT char *mprGetSHA256Base64(const char *str);
/** SHA-256 of bytes, with a text before it. Parameters as mprGetMD5WithPrefix. */
MPR_EXPORT char *mprGetSHA256WithPrefix(const char *buf, ptrdiff_t len, const char *prefix);

/* ---- Passwords -------------------------------------------------------------------------------------------------- */

/*
    A password is kept as its hash: bcrypt (Provos and Mazieres, 1999) by the system's crypt library, in the form of
    crypt(5), "$2b$10$" with 22 characters of salt and 31 of the hash. It needs 4 KiB while it works, where newer
    functions want megabytes, and it is in Debian's libcrypt and in musl. In a library that was built without
    libcrypt the calls say so in the log, and return NULL or false. They do the same for hashes that an older MPR has
    written ("BF1:...").

    Such a hash is slow on purpose: 60 ms with 1,024 rounds on a PC, a second on a small board, twice that with each
    doubling. With the usual 1,024 these calls do not yield: what the caller keeps without a root stays, as older programs
    expect, and a collection may have to wait. With more, and for hashes by other methods than bcrypt, they yield
    meanwhile, stickily; they retain their arguments and nothing else. Other events of the thread's dispatcher wait: leave
    logins to a worker where they are many.

    A password has 72 bytes at most, which is all that bcrypt looks at; the calls refuse longer ones.
 */

/**
    Make the hash of a new password.
    @param saltLength Letters of salt, at least 16: less, or 0, is 16.
    @param rounds How often the key is set up: rounded up to a power of two, and to within 1,024 and 65,536. 0: 1,024.
    @return NULL for NULL and for what is longer than 72 bytes. The log says why.
 */
MPR_EXPORT char *mprMakePassword(const char *password, int saltLength, int rounds);
/**
    Whether a password belongs to a hash: one of mprMakePassword, or any of crypt(5) that begins with $ and that the
    system knows. Hashes are compared in a time that does not depend on what they contain.
    @return false, too, for NULL, for a hash of another form, and when memory is short; the log, at level 2 with the tag
    "digest", says why.
 */
MPR_EXPORT bool mprCheckPassword(const char *plainTextPassword, const char *passwordHash);
/**
    The hash of a password with a given salt: the same for the same arguments.
    @param salt Any text; a digest of it is the salt that stands in the hash. @param rounds As for mprMakePassword.
 */
MPR_EXPORT char *mprCryptPassword(const char *password, const char *salt, int rounds);
/** Random letters and digits, from the system. Does not yield. @return NULL when size is below 0. */
MPR_EXPORT char *mprMakeSalt(ptrdiff_t size);

MPR_EXTERN_C_END
#endif /* MPR_DIGEST_H */
