/* SPDX-License-Identifier: MIT */
/*
    mpr/http/request.h - The request of a client: headers, parameters, cookies, the body.

    Texts live as long as the request: const ones, that is, and members; where another is returned it is made for the caller, and
    nothing else keeps it over a yield. Those of parameters live until they are set anew or removed. Names of headers match
    in any case. A header that came several times has its values joined by ", ".
 */
#ifndef MPR_HTTP_REQUEST_H
#define MPR_HTTP_REQUEST_H

#include "mpr/http/types.h"

MPR_EXTERN_C_BEGIN

/** The receive side of a stream. Texts are NULL where the client has not sent such a header. */
typedef struct HttpRx {
    char *method;
    char *uri;               /* As sent; the path and query of an absolute one */
    char *pathInfo;          /* The path, decoded and without the route's prefix: begins with a slash */
    char *scriptName;        /* The route's prefix, or "" */
    char *extraPath;         /* What follows an extension in the path, if httpTrimExtraPath was called */
    MprOff bytesRead;        /* Of the body */
    MprOff length;           /* Of the body; 0 when there is none; -1 when it comes in chunks */
    MprOff remainingContent; /* Of the body; how much of it may come yet */
    struct HttpStream *stream;
    HttpRoute *route;
    HttpSession *session; /* After httpGetSession */
    MprHash *headers;
    struct HttpUri *parsedUri;
    MprJson *params; /* Of query, form and route; made by httpGetParams and its kin */
    MprList *files;  /* HttpUploadFile: what was uploaded */
    bool eof;        /* All of the body has come */
    bool form;       /* The body is a form */
    bool json;       /* The body is JSON */
    bool upload;     /* The body has files in it */
    int status;      /* Of clients */
    char *statusMessage;
    char *accept;
    char *acceptEncoding;
    char *acceptLanguage;
    char *authType; /* The first word of Authorization, in lower case */
    char *cookie;
    char *connection;
    char *hostHeader;
    char *mimeType; /* Content-Type */
    char *origin;
    char *originalUri; /* As first sent, whatever httpSetUri has done */
    char *pragma;
    char *referrer;
    char *userAgent;
    MprTime since; /* Accepted for source compatibility, as the next two: never set */
    bool ifModified;
    bool ifMatch;
    MprHash *svars; /* Accepted: variables of a server */
} HttpRx;

/* ---- Headers ---- */

/** Of several lines of that name all, with ", " between them, "; " for Cookie: so are the members of HttpRx that are lists.
    @return NULL: there is none of that name. */
MPR_EXPORT const char *httpGetHeader(struct HttpStream *stream, const char *key);
/** All, as lines "Name: value\n". */
MPR_EXPORT char *httpGetHeaders(struct HttpStream *stream);
/** All, by name. */
MPR_EXPORT MprHash *httpGetHeaderHash(struct HttpStream *stream);
/** Bytes of the body; 0 when there is none; -1 when it comes in chunks. */
MPR_EXPORT MprOff httpGetContentLength(struct HttpStream *stream);
/** What follows "?" in the URI, not decoded; "" without. */
MPR_EXPORT const char *httpGetQueryString(struct HttpStream *stream);

/* ---- Parameters: of the query, of a form or JSON in the body once it has come, of the route's pattern; 1000 at most (400) ---- */

MPR_EXPORT const char *httpGetParam(struct HttpStream *stream, const char *var, const char *defaultValue);
MPR_EXPORT int httpGetIntParam(struct HttpStream *stream, const char *var, int defaultValue);
MPR_EXPORT MprJson *httpGetParams(struct HttpStream *stream);
MPR_EXPORT void httpSetParam(struct HttpStream *stream, const char *var, const char *value);
MPR_EXPORT void httpSetIntParam(struct HttpStream *stream, const char *var, int value);
/** @return Whether there is such a parameter: 1 or 0. */
MPR_EXPORT int httpTestParam(struct HttpStream *stream, const char *var);
MPR_EXPORT bool httpMatchParam(struct HttpStream *stream, const char *var, const char *expected);
MPR_EXPORT void httpRemoveParam(struct HttpStream *stream, const char *var);
/** All as "name=value&name=value", encoded and sorted by name. */
MPR_EXPORT const char *httpGetParamsString(struct HttpStream *stream);

/* ---- Cookies ---- */

/** @return NULL: there is none of that name. */
MPR_EXPORT const char *httpGetCookie(struct HttpStream *stream, const char *name);
/** As sent; NULL: none. */
MPR_EXPORT const char *httpGetCookies(struct HttpStream *stream);

/* ---- The body ---- */

/** The part of the body that has arrived and was not read yet, as a string, which lives until that is read or more arrives: the
    next yield, for a handler that is not given the body as a whole. @return "" when there is none, and when memory
    is short: then the request has failed. */
MPR_EXPORT const char *httpGetBodyInput(struct HttpStream *stream);
/** Bytes that can be read now. */
MPR_EXPORT ptrdiff_t httpGetReadCount(struct HttpStream *stream);
/** Read what has come. @return Bytes; 0 when there are none: see httpIsEof. Does not yield. */
MPR_EXPORT ptrdiff_t httpRead(struct HttpStream *stream, char *buffer, ptrdiff_t size);
/** Read as httpRead does, and wait if there is nothing yet. Until it returns nothing else of the stream's handler is
    called: see httpWriteBlock. @param timeout Milliseconds; -1: the inactivity limit.
    @param flags HTTP_BLOCK: wait for some bytes, which yields: buffer must be rooted or unmanaged. HTTP_NON_BLOCK: wait
    for none. */
MPR_EXPORT ptrdiff_t httpReadBlock(struct HttpStream *stream, char *buffer, ptrdiff_t size, MprTicks timeout,
                                   int flags);
/** Read what has come, as a string. @return NULL when memory is short. */
MPR_EXPORT char *httpReadString(struct HttpStream *stream);

/* ---- The rest ---- */

/** The status of the response. */
MPR_EXPORT int httpGetStatus(struct HttpStream *stream);
/** The reason phrase of the status of the response, as httpLookupStatus gives it. */
MPR_EXPORT const char *httpGetStatusMessage(struct HttpStream *stream);
/** The reason phrase of a status, such as "Not Found"; "Custom error" for one that is not known. */
MPR_EXPORT const char *httpLookupStatus(int status);
/** Treat the request as one for another URI. Call it in `rewrite`. @return 0; MPR_ERR_BAD_ARGS for what is none. */
MPR_EXPORT int httpSetUri(struct HttpStream *stream, const char *uri);
MPR_EXPORT void httpSetMethod(struct HttpStream *stream, const char *method);
/** Cut pathInfo after the first segment that has an extension; the rest becomes extraPath. */
MPR_EXPORT void httpTrimExtraPath(struct HttpStream *stream);
/** Whether the client already has what tx->etag and tx->fileInfo describe, according to its If- headers. */
MPR_EXPORT bool httpContentNotModified(struct HttpStream *stream);
/** Whether the client's If-Match or If-None-Match allows the response to be sent for this tag, as If-None-Match is
    weak, If-Match strong. */
MPR_EXPORT bool httpMatchEtag(struct HttpStream *stream, char *requestedEtag);
/** Whether a time of change meets If-Modified-Since or else If-Unmodified-Since; true when there is neither. */
MPR_EXPORT bool httpMatchModified(struct HttpStream *stream, MprTime time);

MPR_EXTERN_C_END
#endif /* MPR_HTTP_REQUEST_H */
