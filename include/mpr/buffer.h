/* SPDX-License-Identifier: MIT */
/*
    mpr/buffer.h - Byte buffers: put at the end, get from the start.

    The contents are one run of bytes between start and end, any bytes, zeros included. A put makes room by itself, up
    to the maximum size that the buffer was created with. It may move the contents: a pointer into them is good until
    the next put or grow (what it points to stays readable until the thread yields).

    A NULL buffer is empty and takes nothing. Threads: attached threads, one at a time for each buffer. Nothing here
    yields.
 */
#ifndef MPR_BUFFER_H
#define MPR_BUFFER_H

#include "mpr/format.h"
#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

struct MprBuf;

/** Fills a buffer that is empty: see mprSetBufRefillProc. @return As mprRefillBuf. */
typedef int (*MprBufProc)(struct MprBuf *buf, void *arg);

/** A buffer. A managed block. Fields are for reading, except growBy: the calls below change the others. */
typedef struct MprBuf {
    char *data;        /* The room, a block */
    char *start;       /* The first byte held */
    char *end;         /* Behind the last byte held */
    char *endbuf;      /* Behind the room */
    ptrdiff_t growBy;  /* May be set: bytes by which the room grows, at least. 0: as many as there are */
    ptrdiff_t maxsize; /* Bytes of room it may grow to */
    MprBufProc refillProc;
    void *refillArg;
} MprBuf;

/**
    Make an empty buffer.
    @param initialSize Bytes of room to begin with; 0 or less: 1024, or maxSize if that is less.
    @param maxSize Bytes of room it may grow to; 0 or less: no limit. An initialSize above it is cut to it.
    @return NULL when there is no memory.
 */
MPR_EXPORT MprBuf *mprCreateBuf(ptrdiff_t initialSize, ptrdiff_t maxSize);

/** A buffer with the same contents, size and maximum. @return NULL when orig is NULL or there is no memory. */
MPR_EXPORT MprBuf *mprCloneBuf(MprBuf *orig);

/** Set the maximum size. @param maxSize As for mprCreateBuf, but no less than the room there is. */
MPR_EXPORT void mprSetBufMax(MprBuf *buf, ptrdiff_t maxSize);
/** Make the room at least size bytes, and set the maximum size. @return 0; MPR_ERR_MEMORY; MPR_ERR_BAD_ARGS for a NULL
    buf. */
MPR_EXPORT int mprSetBufSize(MprBuf *buf, ptrdiff_t size, ptrdiff_t maxSize);

/** Set what mprRefillBuf calls. @param proc NULL: nothing. @param arg For proc; not marked: it must be reachable
    otherwise. */
MPR_EXPORT void mprSetBufRefillProc(MprBuf *buf, MprBufProc proc, void *arg);
MPR_EXPORT MprBufProc mprGetBufRefillProc(MprBuf *buf);
/** Call the refill procedure. @return What it returns; 0 when there is none. */
MPR_EXPORT int mprRefillBuf(MprBuf *buf);

/* ---- What it holds ---------------------------------------------------------------------------------------------- */

/** Bytes held. */
MPR_EXPORT ptrdiff_t mprGetBufLength(MprBuf *buf);
/** Bytes of room altogether. */
MPR_EXPORT ptrdiff_t mprGetBufSize(MprBuf *buf);
/** Bytes that fit behind the contents without a move. */
MPR_EXPORT ptrdiff_t mprGetBufSpace(MprBuf *buf);
/** The first byte held, and the place behind the last: write there up to mprGetBufSpace bytes, then mprAdjustBufEnd. */
MPR_EXPORT char *mprGetBufStart(MprBuf *buf);
MPR_EXPORT char *mprGetBufEnd(MprBuf *buf);
/** Where the room begins. */
MPR_EXPORT char *mprGetBuf(MprBuf *buf);
/** A managed string with the contents; zeros among them stay. @return NULL when buf is NULL or there is no memory. */
MPR_EXPORT char *mprBufToString(MprBuf *buf);
/** Other names for mprBufToString. */
MPR_EXPORT char *mprCloneBufAsString(MprBuf *buf);
MPR_EXPORT char *mprCloneBufMem(MprBuf *buf);

/** Forget the contents. */
MPR_EXPORT void mprFlushBuf(MprBuf *buf);
/** Make all free room available behind the contents. mprCompactBuf moves the contents to the start of the room;
    mprResetBufIfEmpty does nothing unless the buffer is empty. */
MPR_EXPORT void mprCompactBuf(MprBuf *buf);
MPR_EXPORT void mprResetBufIfEmpty(MprBuf *buf);
/** Move the end, or the start, by count bytes, either way. A move past the other one or out of the buffer is named in
    the log and not made. */
MPR_EXPORT void mprAdjustBufEnd(MprBuf *buf, ptrdiff_t count);
MPR_EXPORT void mprAdjustBufStart(MprBuf *buf, ptrdiff_t count);
/** Make the contents a C string: write a zero behind them, which does not count as held. There is always room for it;
    the next put overwrites it. */
MPR_EXPORT void mprAddNullToBuf(MprBuf *buf);
/** Make the buffer larger by count bytes; by its own size if count is below 1. @return 0; MPR_ERR_TOO_MANY past the
    maximum; MPR_ERR_MEMORY; MPR_ERR_BAD_ARGS for a NULL buf. */
MPR_EXPORT int mprGrowBuf(MprBuf *buf, ptrdiff_t count);

/* ---- Put. What does not fit under the maximum, or for want of memory, is not stored. ----------------------------- */

/** Put bytes; they may be those of the buffer itself. @return Bytes stored. */
MPR_EXPORT ptrdiff_t mprPutBlockToBuf(MprBuf *buf, const char *ptr, ptrdiff_t size);
/** Put a string; NULL is "". @return Bytes stored. */
MPR_EXPORT ptrdiff_t mprPutStringToBuf(MprBuf *buf, const char *str);
/** Put at most count bytes of a string. @return Bytes stored. */
MPR_EXPORT ptrdiff_t mprPutSubStringToBuf(MprBuf *buf, const char *str, ptrdiff_t count);
/** Put what sfmt would give. @return Bytes stored. */
MPR_EXPORT ptrdiff_t mprPutToBuf(MprBuf *buf, const char *fmt, ...) MPR_PRINTF(2, 3);
/** Put a number in decimal. @return Bytes stored. */
MPR_EXPORT ptrdiff_t mprPutIntToBuf(MprBuf *buf, long long i);
/** Another name for mprPutToBuf. */
#define mprPutFmtToBuf mprPutToBuf
/** Put one byte. @return 0, or as mprGrowBuf. */
MPR_EXPORT int mprPutCharToBuf(MprBuf *buf, int c);
/** Put one byte count times. @return Bytes stored. */
MPR_EXPORT ptrdiff_t mprPutPadToBuf(MprBuf *buf, int c, ptrdiff_t count);
/** Put one byte before the contents. @return 0, or as mprGrowBuf. */
MPR_EXPORT int mprInsertCharToBuf(MprBuf *buf, int c);
/** Put a number in network byte order: the most significant byte first. Without room for all of it, nothing is
    stored. */
MPR_EXPORT void mprPutUint16ToBuf(MprBuf *buf, uint16_t num);
MPR_EXPORT void mprPutUint32ToBuf(MprBuf *buf, uint32_t num);

/* ---- Get -------------------------------------------------------------------------------------------------------- */

/** Take at most count bytes out. @return Bytes taken. */
MPR_EXPORT ptrdiff_t mprGetBlockFromBuf(MprBuf *buf, char *blk, ptrdiff_t count);
/** Take, or look at, the first byte. @return 0 to 255; -1 when there is none. */
MPR_EXPORT int mprGetCharFromBuf(MprBuf *buf);
MPR_EXPORT int mprLookAtNextCharInBuf(MprBuf *buf);
/** Look at the last byte. @return 0 to 255; -1 when there is none. */
MPR_EXPORT int mprLookAtLastCharInBuf(MprBuf *buf);
/** Take, or look at, a number in network byte order. @return 0, and nothing is taken, when fewer than its two or four
    bytes are held. */
MPR_EXPORT unsigned mprGetUint16FromBuf(MprBuf *buf);
MPR_EXPORT unsigned mprGetUint32FromBuf(MprBuf *buf);
MPR_EXPORT unsigned mprPeekUint32FromBuf(MprBuf *buf);

MPR_EXTERN_C_END
#endif /* MPR_BUFFER_H */
