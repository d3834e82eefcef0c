/* SPDX-License-Identifier: MIT */
/*
    mpr/http/queue.h - Queues: where packets wait for a stage of a request.

    A queue that holds more than `max` bytes is full: the queue that feeds it is suspended until it holds `low` or
    fewer. So a response that its client does not read stops at its handler, and a body that its handler does not take
    stops at the socket.
 */
#ifndef MPR_HTTP_QUEUE_H
#define MPR_HTTP_QUEUE_H

#include "mpr/http/types.h"

MPR_EXTERN_C_BEGIN

/* Directions. */
#define HTTP_QUEUE_TX 0
#define HTTP_QUEUE_RX 1

/* Flags of queues, and of writing and flushing. */
#define HTTP_QUEUE_SUSPENDED 0x1 /* It is not serviced */
#define HTTP_QUEUE_SERVICED 0x2  /* It is being serviced */
#define HTTP_QUEUE_SCHEDULED 0x4 /* It will be */
#define HTTP_QUEUE_FULL 0x8      /* The queue that feeds it waits */

#define HTTP_BLOCK 1     /* Wait until there is room: yields */
#define HTTP_NON_BLOCK 2 /* Write what there is room for */
#define HTTP_BUFFER 4    /* Keep what is written until more comes, or a flush */

/** A queue. Programs set queueData and staticData. A managed block. */
typedef struct HttpQueue {
    const char *name;
    ptrdiff_t count; /* Bytes held */
    int flags;       /* HTTP_QUEUE_* */
    struct HttpQueue *nextQ;
    struct HttpQueue *prevQ;
    HttpPacket *first;
    HttpPacket *last;
    struct HttpStream *stream;
    HttpNet *net;
    HttpStage *stage;
    struct HttpQueue *pair; /* That of the same stage in the other direction */
    void *queueData;        /* The program's: managed, marked. With batches: see mprSetBatches */
    void *staticData;       /* The program's: unmanaged, ignored */
    ptrdiff_t max;          /* Bytes at which it is full */
    ptrdiff_t low;          /* Bytes at which it has room again */
    ptrdiff_t packetSize;   /* Bytes of a packet, at most, that it is given */
    int direction;          /* HTTP_QUEUE_* */
} HttpQueue;

/** Put a packet at the end of a queue. @param serviceQ Schedule it. */
MPR_EXPORT void httpPutForService(struct HttpQueue *q, HttpPacket *packet, bool serviceQ);
/** Give a packet to the stage of a queue. */
MPR_EXPORT void httpPutPacket(struct HttpQueue *q, HttpPacket *packet);
/** Give a packet to the stage of the next queue. */
MPR_EXPORT void httpPutPacketToNext(struct HttpQueue *qp, HttpPacket *packet);
/** Put a packet back to the head. */
MPR_EXPORT void httpPutBackPacket(struct HttpQueue *q, HttpPacket *packet);
/** Take the first packet. The queue that feeds it continues when there is room. @return NULL: there is none. */
MPR_EXPORT HttpPacket *httpGetPacket(struct HttpQueue *q);
/** Have a queue serviced soon. */
MPR_EXPORT void httpScheduleQueue(HttpQueue *q);
/** Service a queue now. */
MPR_EXPORT void httpServiceQueue(HttpQueue *q);
/** Do not service a queue until httpResumeQueue. An error is answered all the same: where nobody resumes a queue, the
    stream ends with its limits of time. */
MPR_EXPORT void httpSuspendQueue(HttpQueue *q);
/** @param force Service it in any case. @return Whether it was suspended. */
MPR_EXPORT bool httpResumeQueue(HttpQueue *q, bool force);
MPR_EXPORT bool httpIsQueueSuspended(HttpQueue *q);
MPR_EXPORT bool httpIsNextQueueSuspended(HttpQueue *q);
MPR_EXPORT bool httpIsQueueEmpty(HttpQueue *q);
/** Pass on the packets of a queue. @param flags HTTP_BLOCK: until all has gone, where that can be
    (httpWriteBlock); yields. @return Whether there is room. */
MPR_EXPORT bool httpFlushQueue(HttpQueue *q, int flags);
/** Drop data. @param removePackets Their packets, too; false: their contents. */
MPR_EXPORT void httpDiscardQueueData(HttpQueue *q, bool removePackets);
/** Bytes until it is full. */
MPR_EXPORT ptrdiff_t httpGetQueueRoom(HttpQueue *q);
/** Whether nextQ has room for a packet. If it has room for a piece, the rest is put back into q; if for none, q is
    suspended. */
MPR_EXPORT bool httpWillQueueAcceptPacket(HttpQueue *q, HttpQueue *nextQ, HttpPacket *packet);
MPR_EXPORT bool httpWillNextQueueAcceptPacket(HttpQueue *q, HttpPacket *packet);
/** Whether nextQ has room for so many bytes; an empty one takes any. If not, q is suspended. */
MPR_EXPORT bool httpWillNextQueueAcceptSize(HttpQueue *q, ptrdiff_t size);
/** Take a filter's queue out of its pipeline. The next queue gets its packets, and its stage's close is called.
    Queues of handlers and connectors stay. */
MPR_EXPORT void httpRemoveQueue(HttpQueue *q);
/** The queueData of the handler's sending queue. */
MPR_EXPORT void *httpGetQueueData(struct HttpStream *stream);
/** @param limits NULL, or where sizes come from that are -1. @param packetSize,low,max Of the queue; -1: as limits
    say. @param window Accepted. */
MPR_EXPORT void httpSetQueueLimits(HttpQueue *q, struct HttpLimits *limits, ptrdiff_t packetSize, ptrdiff_t low,
                                   ptrdiff_t max, ptrdiff_t window);
/** The procedures of stages that have NULL: pass packets on, or keep them for the service. */
MPR_EXPORT void httpDefaultIncoming(HttpQueue *q, HttpPacket *packet);
MPR_EXPORT void httpDefaultOutgoing(HttpQueue *q, HttpPacket *packet);
MPR_EXPORT void httpDefaultService(HttpQueue *q);

MPR_EXTERN_C_END
#endif /* MPR_HTTP_QUEUE_H */
