/* SPDX-License-Identifier: MIT */
/*
    mpr/http/service.h - The service: what all of it has in common, where it listens, hosts, limits, figures.

    A function that is given NULL for an object does nothing, and returns NULL, 0, false or MPR_ERR_BAD_ARGS.
 */
#ifndef MPR_HTTP_SERVICE_H
#define MPR_HTTP_SERVICE_H

#include "mpr/http/types.h"

MPR_EXTERN_C_BEGIN

/* Flags of httpCreate. */
#define HTTP_CLIENT_SIDE 0x1 /* Accepted: there is no client yet */
#define HTTP_SERVER_SIDE 0x2
#define HTTP_UTILITY 0x4 /* Accepted */

/**
    Limits. Times are in milliseconds, and no limit when 0; of other limits 0 allows nothing, where it is not said. A request that exceeds one is answered with the status in parentheses;
    connections past a limit are closed. A route that inherits copies its parent's; see httpGetLimits and httpGetRouteLimits.

    A connection's memory is what the service allocates for it: input that was read and not yet used, the request with
    its headers, packets with their buffers in queues and in transit, a compressor (270,000 bytes; if there is no room
    for it, the response is not compressed), and an estimate of 40 KiB for TLS. Memory that handlers keep elsewhere does
    not count. Past the limit the request fails: with 431 if its head alone is too large, with 413 if its body is, else
    with 503. A response that has begun is cut off. Then the connection is closed.

    While more than the heap's redline (mprSetMemLimits) is in use, new requests are answered 503, connections at rest
    are closed, and a collection is asked for every second. Memory that is committed but free does not count.
 */
typedef struct HttpLimits {
    ptrdiff_t chunkSize;             /* What httpGetChunkSize says: 8 KiB. Chunks are as long as what comes at a time */
    int clientMax;                   /* Clients, by address, at a time: 512 (503) */
    ptrdiff_t connectionMemory;      /* Bytes of memory that a connection takes: 16 MiB; see below. 0: no limit */
    int connectionsMax;              /* Connections at a time: 1024. Idle ones are closed for new ones */
    int connectionsPerClientMax;     /* Connections of one address: 128 (503) */
    int headerMax;                   /* Header lines of a request: 64 (431) */
    ptrdiff_t headerSize;            /* Bytes of a request before its body: 16 KiB (431) */
    MprTicks inactivityTimeout;      /* A connection on which nothing happens: 30 s (408 in a request) */
    int keepAliveMax;                /* Requests of a connection: 1000 */
    ptrdiff_t packetSize;            /* Bytes that a queue holds before what comes has to wait: 64 KiB */
    int requestMax;                  /* Requests that are running: 1024 (503) */
    MprTicks requestTimeout;         /* A request, from its first byte to its end: 5 minutes (408) */
    MprTicks requestParseTimeout;    /* Reading a request up to its body: 10 s in all (408) */
    int requestsPerClientMax;        /* Running requests of one address: 64 (503) */
    MprOff rxBodySize;               /* Bytes of a request's body: 1 MiB (413) */
    MprOff rxFormSize;               /* Bytes of a form, which is kept in memory: 64 KiB (413) */
    int sessionMax;                  /* Sessions: 500. Past them none is made: see httpGetSession */
    MprTicks sessionTimeout;         /* A session that is not used: 30 minutes */
    MprOff txBodySize;               /* Bytes of a response's body: no limit (500) */
    MprOff uploadSize;               /* Bytes of an uploaded file: 10 MiB (413) */
    ptrdiff_t uriSize;               /* Bytes of a request's URI: 2 KiB (414) */
    ptrdiff_t webSocketsFrameSize;   /* Accepted: there are no WebSockets yet */
    ptrdiff_t webSocketsMessageSize; /* Accepted */
    ptrdiff_t webSocketsPacketSize;  /* Accepted */
    MprTicks webSocketsPing;         /* Accepted */
} HttpLimits;

/** Figures of the service. Memory in bytes. */
typedef struct HttpStats {
    unsigned long long mem;        /* Resident memory of the process */
    unsigned long long memRedline; /* Of the heap */
    unsigned long long memMax;     /* Its hard limit; 0: none */
    unsigned long long heap;       /* Taken from the system for the heap */
    unsigned long long heapPeak;   /* The most so far */
    unsigned long long heapUsed;   /* In blocks */
    unsigned long long heapFree;   /* In holes */
    int heapRegions;
    int workersBusy;
    int workersIdle;
    int workersMax;
    int activeClients; /* Addresses that are connected */
    int activeConnections;
    int activeRequests;
    int activeSessions;
    unsigned long long totalSweeps; /* Collections */
    unsigned long long totalRequests;
    unsigned long long totalConnections;
    unsigned long long cpuUsage; /* Of the process, in microseconds */
    int cpuCores;
} HttpStats;

/** Make the service, if there is none. @param flags HTTP_SERVER_SIDE; others are accepted and ignored. @return NULL when memory is
    short. */
MPR_EXPORT Http *httpCreate(int flags);
/** Stop the endpoints and close all connections: those of dispatchers whose events other threads run are closed there,
    soon. Any attached thread. mprDestroy does it, too, once no other thread is left: all are closed on the calling one,
    so each stream is told (`close`, DONE, DESTROY, the destructors of a coroutine). What these wait for does not come,
    and no event that they make runs. */
MPR_EXPORT void httpDestroy(void);
/** The service; NULL: there is none. */
MPR_EXPORT Http *httpGetHttp(void);

/** Set the value of the Server header. @param description NULL or "": nothing. Until set: nothing. */
MPR_EXPORT void httpSetSoftware(const char *description);
/** Call a procedure for each request that has come as far as its headers. @param callback NULL: none. */
MPR_EXPORT void httpSetRequestCallback(HttpRequestCallback callback);

/** The limits that routes copy, and those that do not concern a single request. Set them before the endpoints
    start. */
MPR_EXPORT struct HttpLimits *httpGetLimits(void);

/* ---- Endpoints ---- */

/**
    Make an endpoint, and its default host with a default route if there is none.
    @param ip A numeric address; NULL, "" or "*": all, of both families where the system can; "unix:/run/a.sock": a file,
    see mprListenOnSocket. Its clients have the address "unix:", and the limits for one address are none for them.
    @param port 0: the system chooses; httpGetEndpointPort says which.
    @param dispatcher Of its connections; NULL: the main one. @return NULL when memory is short.
 */
MPR_EXPORT HttpEndpoint *httpCreateEndpoint(const char *ip, int port, MprDispatcher *dispatcher);
/**
    Serve the connections of an endpoint by several threads. Each connection is given to one of so many dispatchers,
    the one with the fewest, and stays there: all of its requests are serviced one at a time. Handlers of different
    connections then run at the same time. Workers (mpr/worker.h) run them: no more at a time than mprSetMaxWorkers says.
    Call it before the endpoint starts. @param workers 1 to 64; 0: all connections are the endpoint's own dispatcher's.
    @return 0; MPR_ERR_BAD_ARGS; MPR_ERR_BAD_STATE when it listens; MPR_ERR_MEMORY.
 */
MPR_EXPORT int httpSetEndpointWorkers(HttpEndpoint *endpoint, int workers);
/** Stop an endpoint and forget it. */
MPR_EXPORT void httpDestroyEndpoint(HttpEndpoint *endpoint);
/** Listen. @return 0; MPR_ERR_CANT_OPEN: the log says why. */
MPR_EXPORT int httpStartEndpoint(HttpEndpoint *endpoint);
/** Stop listening. Open connections finish their requests before they are closed; idle ones are closed now, each by
    its dispatcher. Any attached thread. */
MPR_EXPORT void httpStopEndpoint(HttpEndpoint *endpoint);
/** Start all. @return 0, or the first error. */
MPR_EXPORT int httpStartEndpoints(void);
MPR_EXPORT void httpStopEndpoints(void);
/** The port at which an endpoint listens, or will. */
MPR_EXPORT int httpGetEndpointPort(HttpEndpoint *endpoint);
/** Notify a procedure of everything that happens to streams of an endpoint. @param fn NULL: none. */
MPR_EXPORT void httpSetEndpointNotifier(HttpEndpoint *endpoint, HttpNotifier fn);
/** Connections accepted from now on speak TLS. @param ssl Of a server (mpr/tls.h); NULL: plain. @return 0;
    MPR_ERR_BAD_STATE without TLS; MPR_ERR_BAD_ARGS. Its files are not looked at here: mprPreloadSsl says whether they can
    be used. A host whose MprSsl wants certificates of clients (mprSetSslMatch) is answered with 421 on a connection of another:
    mprSocketServesHost. */
MPR_EXPORT int httpSecureEndpoint(HttpEndpoint *endpoint, struct MprSsl *ssl);

/* ---- Hosts ---- */

/** Make a host, without a name and routes. */
MPR_EXPORT HttpHost *httpCreateHost(void);
/** @param name As clients write it in Host, without a port; case does not matter; "*.example.org": all below it.
    @return 0; MPR_ERR_BAD_ARGS; MPR_ERR_MEMORY. */
MPR_EXPORT int httpSetHostName(HttpHost *host, const char *name);
/** The route from which others inherit if nothing else is said, and the one for paths that have no other. */
MPR_EXPORT void httpSetHostDefaultRoute(HttpHost *host, HttpRoute *route);
/** Serve a host at an endpoint. The first also serves names that no host has. */
MPR_EXPORT void httpAddHostToEndpoint(HttpEndpoint *endpoint, struct HttpHost *host);
/** @return NULL: there is none of that name. */
MPR_EXPORT struct HttpHost *httpLookupHost(const char *name);
MPR_EXPORT HttpHost *httpGetDefaultHost(void);
MPR_EXPORT void httpSetDefaultHost(HttpHost *host);
/** @param host NULL: the default host. */
MPR_EXPORT HttpRoute *httpGetDefaultRoute(HttpHost *host);

/* ---- Figures and log ---- */

MPR_EXPORT void httpGetStats(HttpStats *sp);
/** Figures as lines of text. @param flags 0. @return A block; NULL when memory is short. */
MPR_EXPORT char *httpStatsReport(int flags);

/* Forms of the access log. */
#define HTTP_LOG_COMMON 0 /* The common log format of web servers */
#define HTTP_LOG_JSON 1   /* An object a line */

/**
    Log each request when it is complete. The service does not wait for a disk that is full, or a pipe or terminal
    whose reader has paused: 16 KiB of lines wait in memory, and more are lost, of which the log tells afterwards. (A
    terminal that the process may not open itself is waited for.)
    @param path A file, to which lines are added; "stdout", "stderr"; NULL: no log. @param format HTTP_LOG_*.
    @param size,backup Above so many bytes the file is renamed and begun anew, and so many old ones are kept; 0: never.
    @return 0; MPR_ERR_CANT_OPEN; MPR_ERR_MEMORY.
 */
MPR_EXPORT int httpSetAccessLog(const char *path, int format, ptrdiff_t size, int backup);

MPR_EXTERN_C_END
#endif /* MPR_HTTP_SERVICE_H */
