/* SPDX-License-Identifier: MIT */
/*
    mpr/http/response.h - The response to a client: status, headers, the body.

    Headers can be set until the first byte of the body is sent, which happens when the queue is full, by httpFlush,
    or when the handler finalizes. Names match in any case, and are sent as written. A name or value that is no header
    (it has a line's end in it) is refused and logged.
 */
#ifndef MPR_HTTP_RESPONSE_H
#define MPR_HTTP_RESPONSE_H

#include "mpr/http/types.h"
#include "mpr/path.h"

MPR_EXTERN_C_BEGIN

/* Flags of HttpTx. */
#define HTTP_TX_NO_BODY 0x1         /* The response has no body, whatever is written */
#define HTTP_TX_HEADERS_CREATED 0x2 /* The headers are on their way */
#define HTTP_TX_NO_LENGTH 0x4       /* Send no Content-Length */
#define HTTP_TX_NO_CHECK 0x8        /* Accepted for source compatibility: files are below the documents */
#define HTTP_TX_NO_MAP 0x10         /* Do not look for a file */

/** The send side of a stream. Programs set filename, ext, etag, mimeType, handler, entityLength, file and fileInfo. */
typedef struct HttpTx {
    const char *filename; /* The file that answers */
    int status;           /* HTTP_CODE_* */
    bool finalized;       /* The handler has answered */
    bool finalizedInput;  /* It wants no more of the body */
    bool finalizedOutput; /* It has written all */
    bool responded;       /* It has begun to answer */
    int flags;            /* HTTP_TX_* */
    MprOff bytesWritten;  /* Of the body */
    ptrdiff_t chunkSize;  /* -1: as the limits say; 0: not in chunks */
    MprHash *headers;     /* Those set; others are added when they are sent */
    MprHash *cookies;     /* Set-Cookie by name */
    MprOff length;        /* Of the body; -1: not known */
    MprOff entityLength;  /* Of the whole of which the body is a part; -1: not known */
    char *ext;            /* The extension of filename or path, without a dot */
    char *etag;           /* In quotes */
    HttpStage *handler;
    const char *mimeType; /* Content-Type, if it is not set */
    struct HttpUri *parsedUri;
    MprFile *file; /* Open, while the file handler sends it */
    MprPath fileInfo;
} HttpTx;

MPR_EXPORT void httpSetStatus(struct HttpStream *stream, int status);

/* ---- Headers. Set: in place of others. Add: if there is none. Append: to the value there is, after ", ";
    Set-Cookie: as another header. ---- */

MPR_EXPORT void httpSetHeader(struct HttpStream *stream, const char *key, const char *fmt, ...) MPR_PRINTF(3, 4);
MPR_EXPORT void httpSetHeaderString(struct HttpStream *stream, const char *key, const char *value);
MPR_EXPORT void httpAddHeader(struct HttpStream *stream, const char *key, const char *fmt, ...) MPR_PRINTF(3, 4);
MPR_EXPORT void httpAddHeaderString(struct HttpStream *stream, const char *key, const char *value);
MPR_EXPORT void httpAppendHeader(struct HttpStream *stream, const char *key, const char *fmt, ...) MPR_PRINTF(3, 4);
MPR_EXPORT void httpAppendHeaderString(struct HttpStream *stream, const char *key, const char *value);
/** @return 0; MPR_ERR_CANT_FIND. */
MPR_EXPORT int httpRemoveHeader(struct HttpStream *stream, const char *key);
/** @return NULL: it is not set. */
MPR_EXPORT const char *httpGetTxHeader(struct HttpStream *stream, const char *key);
MPR_EXPORT void httpSetContentType(struct HttpStream *stream, const char *mimeType);
/** Promise a body of that many bytes; -1: none is promised, as after httpRemoveHeader of "Content-Length". A response that writes
    more or fewer is logged, and its connection is closed. */
MPR_EXPORT void httpSetContentLength(struct HttpStream *stream, MprOff length);
/** @param size 0: no chunks, so that the connection ends the body; less, as at first: chunks where the length of the body is not
    known; more: chunks even if it is. Each is as long as what comes at a time. */
MPR_EXPORT void httpSetChunkSize(struct HttpStream *stream, ptrdiff_t size);
MPR_EXPORT ptrdiff_t httpGetChunkSize(struct HttpStream *stream);

/* Flags of httpSetCookie. */
#define HTTP_COOKIE_SECURE 0x1
#define HTTP_COOKIE_HTTP 0x2 /* HttpOnly */
#define HTTP_COOKIE_SAME_LAX 0x10
#define HTTP_COOKIE_SAME_STRICT 0x20
#define HTTP_COOKIE_SAME_NONE 0x40

/** @param path NULL: "/". @param domain NULL: the host alone. @param lifespan Milliseconds; 0: as long as the browser
    runs. */
MPR_EXPORT void httpSetCookie(struct HttpStream *stream, const char *name, const char *value, const char *path,
                              const char *domain, MprTicks lifespan, int flags);
/** Tell the client to forget a cookie. */
MPR_EXPORT void httpRemoveCookie(struct HttpStream *stream, const char *name);

/** Answer with a redirection. @param status 0: 302. @param uri Relative to the request's. Finalizes. */
MPR_EXPORT void httpRedirect(struct HttpStream *stream, int status, const char *uri);
/** Answer with a text, in place of what was written and of a length that was promised. @return Its length. Finalizes nothing. */
MPR_EXPORT ptrdiff_t httpFormatResponse(struct HttpStream *stream, const char *fmt, ...) MPR_PRINTF(2, 3);
/** Answer with an error document: status, and why. Does not finalize. */
MPR_EXPORT void httpFormatError(struct HttpStream *stream, int status, const char *fmt, ...) MPR_PRINTF(3, 4);

/* ---- The body ---- */

/** Write to a queue, stream->writeq mostly. @return Bytes; less than 0 when the stream has failed or was finalized. */
MPR_EXPORT ptrdiff_t httpWrite(HttpQueue *q, const char *fmt, ...) MPR_PRINTF(2, 3);
MPR_EXPORT ptrdiff_t httpWriteString(HttpQueue *q, const char *s);
/** Until it returns nothing else of the stream's handler is called: neither with more of the body, nor to say that there is
    room, nor with the next state.
    @param flags HTTP_BUFFER, or 0: all is taken; HTTP_NON_BLOCK: what there is room for; HTTP_BLOCK: all, waiting for
    room, which yields. The others yield where a full queue is sent on through a filter that does; buf stays, whatever it is
    in. There is no wait where none would help:
    before filters have been opened, in a filter's procedure that is called by what sends the queue, and for queues of a
    body. Calls that wait on one thread end in the reverse of their order: one for a client that reads slowly holds up those
    below it, as long as its limits of time allow. Where clients are not to be trusted, write what there is room for
    (HTTP_NON_BLOCK, `writable`), or in coroutines. */
MPR_EXPORT ptrdiff_t httpWriteBlock(HttpQueue *q, const char *buf, ptrdiff_t size, int flags);
/** Send what was written; the headers go with the first of it. */
MPR_EXPORT void httpFlush(struct HttpStream *stream);
/** The handler has answered: all is written, and no more is read. */
MPR_EXPORT void httpFinalize(struct HttpStream *stream);
/** All is written. When all of the body has been read, too, the request is complete. */
MPR_EXPORT void httpFinalizeOutput(struct HttpStream *stream);
/** No more of the body is wanted: what comes is dropped. */
MPR_EXPORT void httpFinalizeInput(struct HttpStream *stream);
/** Send no body. */
MPR_EXPORT void httpOmitBody(struct HttpStream *stream);
/** The handler has begun to answer. */
MPR_EXPORT void httpSetResponded(struct HttpStream *stream);

MPR_EXTERN_C_END
#endif /* MPR_HTTP_RESPONSE_H */
