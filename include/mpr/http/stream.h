/* SPDX-License-Identifier: MIT */
/*
    mpr/http/stream.h - Streams: one request and its response.

    States only go up. A stream that is complete is told so by HTTP_EVENT_DONE; then its stages are closed; then comes
    HTTP_EVENT_DESTROY. All that happens when none of its procedures is under way: one that lets events run sees by the
    state that its client has gone. The stream has gone when the event returns in which that happened: others find it by
    its number, seqno, and learn that it has gone.
 */
#ifndef MPR_HTTP_STREAM_H
#define MPR_HTTP_STREAM_H

#include "mpr/http/types.h"

MPR_EXTERN_C_BEGIN

/* Events of HttpNotifier. */
#define HTTP_EVENT_STATE 1    /* The state has changed */
#define HTTP_EVENT_READABLE 2 /* A piece of the body has come, or its end */
#define HTTP_EVENT_WRITABLE 3 /* There is room for what is to be sent */
#define HTTP_EVENT_ERROR 4    /* The request has failed: stream->errorMsg */
#define HTTP_EVENT_DONE 5     /* The response has been sent, or never will be */
#define HTTP_EVENT_TIMEOUT 6  /* It has taken too long. Answered 408, unless the notifier answers */
#define HTTP_EVENT_DESTROY 7  /* The stream goes */
#define HTTP_EVENT_APP_CLOSE 8
#define HTTP_EVENT_APP_OPEN 9

/* States. */
#define HTTP_STATE_BEGIN 1
#define HTTP_STATE_CONNECTED 2
#define HTTP_STATE_FIRST 3     /* The first line has come */
#define HTTP_STATE_PARSED 4    /* The headers have come */
#define HTTP_STATE_CONTENT 5   /* The body comes */
#define HTTP_STATE_READY 6     /* All has come */
#define HTTP_STATE_RUNNING 7   /* The handler may answer at length */
#define HTTP_STATE_FINALIZED 8 /* The handler has answered */
#define HTTP_STATE_COMPLETE 9  /* The answer has been sent */

/** A stream. Programs set data, staticData, context, grid and record. A managed block. */
typedef struct HttpStream {
    HttpNet *net;
    int state; /* HTTP_STATE_* */
    struct HttpRx *rx;
    struct HttpTx *tx;
    HttpQueue *readq;   /* Where the body ends up: the handler's */
    HttpQueue *writeq;  /* Where the response begins: the handler's */
    HttpQueue *inputq;  /* Where the body begins: beside the connection */
    HttpQueue *outputq; /* Where the response ends up: beside the connection */
    MprSocket *sock;
    struct HttpLimits *limits;
    Http *http;
    MprDispatcher *dispatcher;
    HttpEndpoint *endpoint;
    HttpHost *host;
    unsigned long long seqno; /* For httpCreateEvent; never used again */
    void *context;            /* The program's: managed */
    void *data;               /* The program's: managed, marked. With batches: see mprSetBatches */
    void *staticData;         /* The program's: unmanaged, ignored */
    void *grid;               /* The program's: managed */
    void *record;             /* The program's: managed */
    char *errorMsg;           /* Why it has failed, or NULL */
    char *ip;                 /* The client's */
    int port;                 /* The client's */
    int keepAliveCount;       /* Requests that this connection may bring yet */
    MprTicks started;
    MprTicks lastActivity;
    bool active;     /* Between its first byte and its end */
    bool error;      /* It has failed */
    bool disconnect; /* The connection is to be closed */
    bool secure;     /* By TLS */
    bool upgraded;
    char *username;
} HttpStream;

/** Tell a procedure of what happens to a stream. @param notifier NULL: none. */
MPR_EXPORT void httpSetStreamNotifier(HttpStream *stream, HttpNotifier notifier);
/** Call the notifiers of a stream. */
MPR_EXPORT void httpNotify(HttpStream *stream, int event, int arg);
MPR_EXPORT void httpSetStreamContext(HttpStream *stream, void *context);
MPR_EXPORT void *httpGetStreamContext(HttpStream *stream);
/** Limits of time for this request, instead of its route's. @param requestTimeout,inactivityTimeout Milliseconds; 0: never;
    less than 0: as it is. */
MPR_EXPORT void httpSetTimeout(HttpStream *stream, MprTicks requestTimeout, MprTicks inactivityTimeout);

/** Find a stream of the calling thread's dispatchers by its number. @param proc NULL, or called at once with what was
    found and with data. @return NULL: it has gone. */
MPR_EXPORT HttpStream *httpFindStream(unsigned long long seqno, HttpEventProc proc, void *data);
/**
    Call a procedure for a stream, on its dispatcher, soon. Any thread, foreign ones too. @param data Held until then
    if it is a block; unmanaged memory is fine. @return 0: it will be called, unless the runtime ends first,
    perhaps with NULL for a stream that has gone, then by the main dispatcher; MPR_ERR_BAD_STATE: never; MPR_ERR_MEMORY;
    MPR_ERR_BAD_ARGS.
 */
MPR_EXPORT int httpCreateEvent(unsigned long long streamSeqno, HttpEventProc callback, void *data);

/**
    A request has failed. One that is complete cannot: nothing is done. If nothing of the response has been sent it becomes
    an error document; else the connection is closed. @param status HTTP_CODE_*, or'ed with HTTP_ABORT or HTTP_CLOSE.
    @param fmt Why, for the log, and for the client where the status is below 500.
 */
MPR_EXPORT void httpError(HttpStream *stream, int status, const char *fmt, ...) MPR_PRINTF(3, 4);
/** httpError for a mistake of the client: the connection is closed after the response. */
MPR_EXPORT void httpBadRequestError(HttpStream *stream, int status, const char *fmt, ...) MPR_PRINTF(3, 4);
/** httpError for a limit that is exceeded. */
MPR_EXPORT void httpLimitError(HttpStream *stream, int status, const char *fmt, ...) MPR_PRINTF(3, 4);
/** httpError with status 503, because memory is short. */
MPR_EXPORT void httpMemoryError(HttpStream *stream);
/** Close the connection. */
MPR_EXPORT void httpDisconnectStream(HttpStream *stream);
/** Why a stream has failed; "" when it has not. */
MPR_EXPORT const char *httpGetError(HttpStream *stream);

MPR_EXPORT int httpGetKeepAliveCount(HttpStream *stream);
/** Whether nothing more of the body can be read: all has been, there is none, or the stream has failed. */
MPR_EXPORT bool httpIsEof(struct HttpStream *stream);
/** Whether the handler has answered. */
MPR_EXPORT int httpIsFinalized(HttpStream *stream);
/** Whether the handler has written all that it will. */
MPR_EXPORT int httpIsOutputFinalized(HttpStream *stream);
/** Whether a request has lasted so many milliseconds. */
MPR_EXPORT bool httpRequestExpired(HttpStream *stream, MprTicks timeout);

/** Whether a connection waits by events: always, for servers. */
MPR_EXPORT bool httpGetAsync(HttpNet *net);
MPR_EXPORT void httpSetAsync(HttpNet *net, bool async);
/** Milliseconds that a text says: "30" seconds, "30secs", "250ms", "5 mins", "2hrs", "1day", "3weeks"; "unlimited" or
    "infinite": the most there are; 0 for what is none. */
MPR_EXPORT MprTicks httpGetTicks(const char *value);
/** Take the descriptor of a connection away: the caller closes it. Its streams end. What has been read from it and not yet
    from the stream is lost: bytes that a client sends behind its request, for another protocol, for example.
    @return -1: there is none. */
MPR_EXPORT int httpStealSocketHandle(HttpNet *net);

MPR_EXTERN_C_END
#endif /* MPR_HTTP_STREAM_H */
