/* SPDX-License-Identifier: MIT */
/*
    mpr/http/stage.h - Stages: what handles the packets of requests and responses.

    A stage is set up once, by its procedures. It gets a queue in each direction for each request that it takes
    part in. A procedure that is NULL does what the httpDefault functions of mpr/http/queue.h do.
 */
#ifndef MPR_HTTP_STAGE_H
#define MPR_HTTP_STAGE_H

#include "mpr/http/types.h"

MPR_EXTERN_C_BEGIN

/* Flags of stages. */
#define HTTP_STAGE_TX 0x1             /* It handles what is sent */
#define HTTP_STAGE_RX 0x2             /* It handles what is received */
#define HTTP_STAGE_CONNECTOR 0x4      /* It ends a pipeline */
#define HTTP_STAGE_HANDLER 0x8        /* It answers */
#define HTTP_STAGE_FILTER 0x10        /* It stands between the two */
#define HTTP_STAGE_AUTO_FINALIZE 0x20 /* Its answer is complete when `ready` returns */

/* What `match` and `rewrite` say. */
#define HTTP_ROUTE_OK 0
#define HTTP_ROUTE_REJECT 1  /* Not for this stage, or route */
#define HTTP_ROUTE_REROUTE 2 /* The request was changed: look for a route again */
#define HTTP_ROUTE_OMIT_FILTER 3

/** A stage. Programs set the procedures and stageData. A managed block, which the service retains. */
typedef struct HttpStage {
    char *name;
    int flags;       /* HTTP_STAGE_* */
    void *stageData; /* The program's, managed: set before the endpoints start */
    /** Whether a request is for this stage. @param dir HTTP_STAGE_RX, HTTP_STAGE_TX. @return HTTP_ROUTE_*. */
    int (*match)(struct HttpStream *stream, struct HttpRoute *route, int dir);
    /** Change a request before its handler is started. @return HTTP_ROUTE_*. */
    int (*rewrite)(struct HttpStream *stream);
    /** A queue was made for a request. @return Less than 0: the request fails. */
    int (*open)(struct HttpQueue *q);
    /** The request is over. Comes when all of its procedures have returned. */
    void (*close)(struct HttpQueue *q);
    /** The headers have come. */
    void (*start)(struct HttpQueue *q);
    /** All of the body has come. */
    void (*ready)(struct HttpQueue *q);
    /** There is room again for what a handler sends. */
    void (*writable)(struct HttpQueue *q);
    /** A packet of the body has come. Of an end packet: nothing more comes. */
    void (*incoming)(struct HttpQueue *q, struct HttpPacket *packet);
    /** Handle the packets that `incoming` has put into the queue. */
    void (*incomingService)(struct HttpQueue *q);
    /** A packet that is sent has come; and: handle those that `outgoing` has put into the queue. */
    void (*outgoing)(struct HttpQueue *q, struct HttpPacket *packet);
    void (*outgoingService)(struct HttpQueue *q);
} HttpStage;

/** Make a stage, or return the one of that name. @param flags HTTP_STAGE_*. @param module The one it is in, or NULL.
    @return NULL when memory is short. */
MPR_EXPORT HttpStage *httpCreateStage(const char *name, int flags, struct MprModule *module);
MPR_EXPORT HttpStage *httpCreateHandler(const char *name, struct MprModule *module);
MPR_EXPORT HttpStage *httpCreateFilter(const char *name, struct MprModule *module);
MPR_EXPORT HttpStage *httpCreateConnector(const char *name, struct MprModule *module);
/** @return NULL: there is none of that name. */
MPR_EXPORT struct HttpStage *httpLookupStage(const char *name);

MPR_EXTERN_C_END
#endif /* MPR_HTTP_STAGE_H */
