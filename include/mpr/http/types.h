/* SPDX-License-Identifier: MIT */
/*
    mpr/http/types.h - The types of the HTTP room, its status codes, and the procedures that it calls.
 */
#ifndef MPR_HTTP_TYPES_H
#define MPR_HTTP_TYPES_H

#include "mpr/types.h" /* First: behind mpr.hpp it is what declares the short names that the others use */

#include "mpr/buffer.h"
#include "mpr/event.h"
#include "mpr/file.h"
#include "mpr/hash.h"
#include "mpr/json.h"
#include "mpr/list.h"
#include "mpr/module.h"
#include "mpr/socket.h"

MPR_EXTERN_C_BEGIN

typedef struct Http Http;                 /**< The service, one of a runtime. Opaque */
typedef struct HttpEndpoint HttpEndpoint; /**< An address at which the service listens. Opaque */
typedef struct HttpHost HttpHost;         /**< Routes for the names that clients ask for. Opaque */
typedef struct HttpNet HttpNet;           /**< A connection. Opaque */
typedef struct HttpRoute HttpRoute;       /**< How requests for a set of paths are answered. Opaque */
typedef struct HttpSession HttpSession;   /**< What is remembered of a client between requests. Opaque */
typedef struct HttpLimits HttpLimits;
typedef struct HttpPacket HttpPacket;
typedef struct HttpQueue HttpQueue;
typedef struct HttpRx HttpRx;
typedef struct HttpStage HttpStage;
typedef struct HttpStream HttpStream;
typedef struct HttpTx HttpTx;
typedef struct HttpUri HttpUri;

/** Called for what happens to a stream. @param event HTTP_EVENT_*. @param arg Of HTTP_EVENT_STATE: the state,
    HTTP_STATE_*; else 0. */
typedef void (*HttpNotifier)(struct HttpStream *stream, int event, int arg);
/** Answers a request: see httpDefineAction. */
typedef void (*HttpAction)(struct HttpStream *stream);
/** Called by httpCreateEvent. @param stream NULL: it has gone. */
typedef void (*HttpEventProc)(struct HttpStream *stream, void *data);
/** Called when a request has been read as far as its headers, before a route is looked for. */
typedef void (*HttpRequestCallback)(struct HttpStream *stream);
/** Called before the headers of a response are written. */
typedef void (*HttpHeadersCallback)(void *arg);
/** Fills a packet with bytes that it stands for. @param pos Where in all those bytes, @param size and how many.
    @return Bytes put into the packet's content, some at least; else it is an error. */
typedef ptrdiff_t (*HttpFillProc)(struct HttpQueue *q, struct HttpPacket *packet, MprOff pos, ptrdiff_t size);

/* Status codes: RFC 9110 and, where it is said, others. */
#define HTTP_CODE_CONTINUE 100
#define HTTP_CODE_SWITCHING_PROTOCOLS 101
#define HTTP_CODE_OK 200
#define HTTP_CODE_CREATED 201
#define HTTP_CODE_ACCEPTED 202
#define HTTP_CODE_NOT_AUTHORITATIVE 203
#define HTTP_CODE_NO_CONTENT 204
#define HTTP_CODE_RESET 205
#define HTTP_CODE_PARTIAL 206
#define HTTP_CODE_MULTIPLE_CHOICES 300
#define HTTP_CODE_MOVED_PERMANENTLY 301
#define HTTP_CODE_MOVED_TEMPORARILY 302
#define HTTP_CODE_SEE_OTHER 303
#define HTTP_CODE_NOT_MODIFIED 304
#define HTTP_CODE_USE_PROXY 305
#define HTTP_CODE_TEMPORARY_REDIRECT 307
#define HTTP_CODE_PERMANENT_REDIRECT 308
#define HTTP_CODE_BAD_REQUEST 400
#define HTTP_CODE_UNAUTHORIZED 401
#define HTTP_CODE_PAYMENT_REQUIRED 402
#define HTTP_CODE_FORBIDDEN 403
#define HTTP_CODE_NOT_FOUND 404
#define HTTP_CODE_BAD_METHOD 405
#define HTTP_CODE_NOT_ACCEPTABLE 406
#define HTTP_CODE_PROXY_AUTHENTICATION_REQUIRED 407
#define HTTP_CODE_REQUEST_TIMEOUT 408
#define HTTP_CODE_CONFLICT 409
#define HTTP_CODE_GONE 410
#define HTTP_CODE_LENGTH_REQUIRED 411
#define HTTP_CODE_PRECOND_FAILED 412
#define HTTP_CODE_REQUEST_TOO_LARGE 413
#define HTTP_CODE_REQUEST_URL_TOO_LARGE 414
#define HTTP_CODE_UNSUPPORTED_MEDIA_TYPE 415
#define HTTP_CODE_RANGE_NOT_SATISFIABLE 416
#define HTTP_CODE_EXPECTATION_FAILED 417
#define HTTP_CODE_IM_A_TEAPOT 418 /* RFC 2324 */
#define HTTP_CODE_MISDIRECTED_REQUEST 421
#define HTTP_CODE_UNPROCESSABLE_CONTENT 422
#define HTTP_CODE_UPGRADE_REQUIRED 426
#define HTTP_CODE_TOO_MANY_REQUESTS 429         /* RFC 6585 */
#define HTTP_CODE_REQUEST_HEADERS_TOO_LARGE 431 /* RFC 6585 */
#define HTTP_CODE_INTERNAL_SERVER_ERROR 500
#define HTTP_CODE_NOT_IMPLEMENTED 501
#define HTTP_CODE_BAD_GATEWAY 502
#define HTTP_CODE_SERVICE_UNAVAILABLE 503
#define HTTP_CODE_GATEWAY_TIMEOUT 504
#define HTTP_CODE_BAD_VERSION 505
#define HTTP_CODE_INSUFFICIENT_STORAGE 507 /* RFC 4918 */
#define HTTP_CODE_COMMS_ERROR 550          /* The peer has gone: no response, for the log only */

/* Or'ed to a code given to httpError. */
#define HTTP_CODE_MASK 0xFFFF
#define HTTP_ABORT 0x10000 /* Close the connection at once, without a response */
#define HTTP_CLOSE 0x20000 /* Close the connection after the response */

MPR_EXTERN_C_END
#endif /* MPR_HTTP_TYPES_H */
