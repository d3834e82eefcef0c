// SPDX-License-Identifier: MIT
/*
    queue.cpp - Queues: the C API of mpr/http/queue.h, and which of them are serviced.

    Queues that have something to do hang in a list of their connection, and are serviced one after another by its
    event: so the stack does not grow with the pipeline. A queue whose successor is full waits (`waits`), and is
    scheduled when there is room.
 */
#include <algorithm>
#include <limits>
#include <utility>

#include "mpr/base/retain.hpp"
#include "mpr/event.h"
#include "mpr/gc/census.hpp"
#include "mpr/http/net.hpp"
#include "mpr/http/packet.hpp"

using namespace mpr::http;

namespace {

void manageQueue(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        const auto* q = static_cast<Queue*>(ptr);
        markAll(q->nextQ, q->prevQ, q->first, q->last, q->stream, q->net, q->stage, q->pair, q->queueData,
                q->nextScheduled, q->nextRemoved);
        mprMarkRef(&q->name);
    }
}
const mpr::gc::ManagerName namedQueue(manageQueue, "HttpQueue");

/** There is room in a queue again: those go on that have waited for it. */
void resumeFeeders(HttpQueue* q) {
    q->flags &= ~HTTP_QUEUE_FULL;
    if (q->direction == HTTP_QUEUE_RX) {
        resumeBody(*q->net);
    }
    for (HttpQueue* each = q->prevQ; each; each = each->prevQ) {
        if (own(each)->waits) {
            httpResumeQueue(each, false);
            return;
        }
    }
}

/** The bytes of a queue are fewer. */
void lessen(HttpQueue* q, MprOff size) {
    addBytes(*q, -size);
    holdsLess(*q);
}

/** Whether a queue takes no more. @param size Of a packet for it: the connector's takes none that its connection would not
    write for a while, for such a packet may as well wait where it is, and nothing else is made for its place. */
bool isFull(const HttpQueue* q, MprOff size = 0) {
    const MprOff held = heldBy(*q);
    const bool waits = q == q->stream->outputq && held > q->low;
    return held >= q->max || (waits && held + std::min<MprOff>(size, q->packetSize) > q->max);
}

/** Whether the stage of a queue passes on what it is given, since it has nothing that services what it would keep. */
bool passesOn(const HttpQueue* q) {
    const HttpStage& stage = *q->stage;
    const bool keeps = q->direction == HTTP_QUEUE_TX ? !stage.outgoing || stage.outgoingService
                                                     : !stage.incoming || stage.incomingService;
    return q->nextQ && !keeps;
}

/** Find the queue that has no room for what is put into one: that one, or one behind to which stages pass it on.
    @return nullptr: there is none. */
template <class TakesNoMore>
HttpQueue* findFirst(HttpQueue* q, TakesNoMore takesNoMore) {
    while (!takesNoMore(q)) {
        if (!passesOn(q)) {
            return nullptr;
        }
        q = q->nextQ;
    }
    return q;
}

HttpQueue* findFull(HttpQueue* q, MprOff size) {
    return findFirst(q, [size](const HttpQueue* each) { return isFull(each, size); });
}

/** Have a queue wait until there is room in one behind it. */
void waitFor(HttpQueue* full, HttpQueue* q) {
    full->flags |= HTTP_QUEUE_FULL;
    q->flags |= HTTP_QUEUE_SUSPENDED;
    own(q)->waits = true;
}

/** A packet has come to a queue, at either end. */
void holdsMore(HttpQueue* q, HttpPacket* packet) {
    addBytes(*q, bytesOf(packet));
    count(own(q->stream)->memory, packet);
    if (q->count >= q->max) {
        q->flags |= HTTP_QUEUE_FULL;
    }
}

bool holdsAny(const HttpQueue* q) {
    return q->last && (q->last->flags & heldPacket);
}

/** The last packet of a queue that its stage has been given, or put there itself; nullptr: there is none. */
HttpPacket* lastGiven(const HttpQueue* q) {
    if (!holdsAny(q)) {
        return q->last;
    }
    HttpPacket* last = nullptr;
    for (HttpPacket* each = q->first; !(each->flags & heldPacket); each = each->next) {
        last = each;
    }
    return last;
}

/** @param before nullptr: at the head. */
void insert(HttpQueue* q, HttpPacket* before, HttpPacket* packet) {
    publish(packet);
    if (!packet->stream) {
        setRef(packet, packet->stream, q->stream);
    }
    setRef(packet, packet->next, before ? before->next : q->first);
    if (before) {
        setRef(before, before->next, packet);
    } else {
        setRef(q, q->first, packet);
    }
    if (!packet->next) {
        setRef(q, q->last, packet);
    }
    holdsMore(q, packet);
}

/** @param before nullptr: the head. @return The packet behind; nullptr: there is none. */
HttpPacket* removeBehind(HttpQueue* q, HttpPacket* before) {
    HttpPacket* packet = before ? before->next : q->first;
    if (!packet) {
        return nullptr;
    }
    if (before) {
        setRef(before, before->next, packet->next);
    } else {
        setRef(q, q->first, packet->next);
    }
    if (!packet->next) {
        setRef(q, q->last, before);
    }
    setRef(packet, packet->next, nullptr);
    uncount(own(q->stream)->memory, packet);
    lessen(q, bytesOf(packet));
    return packet;
}

void append(HttpQueue* q, HttpPacket* packet) {
    packet->flags &= ~heldPacket;
    insert(q, lastGiven(q), packet);
}

/** Put a packet into a queue without giving it to its stage. */
void hold(HttpQueue* q, HttpPacket* packet) {
    insert(q, q->last, packet);
    packet->flags |= heldPacket;
}

/** The queue that gets what is put into one: the next if its procedure has removed it, and has a packet yet. */
HttpQueue* inPlaceOf(HttpQueue* q) {
    while (q && own(q)->removed) {
        q = q->nextQ;
    }
    return q;
}

/** Call what services a queue. */
void callService(HttpQueue* q) {
    const auto service = q->direction == HTTP_QUEUE_TX ? q->stage->outgoingService : q->stage->incomingService;
    if (service) {
        callStage(*q->stage, [=] { service(q); });
    } else if (q->nextQ) {
        httpDefaultService(q);
    }
}

/** Whether a packet is the end and has bytes besides. */
bool endsWithBytes(const HttpPacket* packet) {
    return (packet->flags & HTTP_PACKET_END) && bytesOf(packet) > 0;
}

/** Whether a packet of the program's has several things in one, on its way to the connection: bytes before its own, or its
    bytes and the end. Stages know packets of one kind. */
bool isCompound(const HttpQueue& q, const HttpPacket* packet) {
    return q.direction == HTTP_QUEUE_TX &&
           (endsWithBytes(packet) || (packet->prefix && mprGetBufLength(packet->prefix) > 0));
}

/** Put such a packet as several. */
void putApart(HttpQueue* q, HttpPacket* packet) {
    HttpPacket* before = httpCreateDataPacket(0);
    HttpPacket* end = endsWithBytes(packet) ? httpCreateEndPacket() : packet;
    if (!before || !end) {
        httpMemoryError(q->stream);
        return;
    }
    const mpr::base::Rooted keptPacket(packet), keptEnd(end); // the first may yield
    setRef(before, before->content, packet->prefix);
    setRef(packet, packet->prefix, nullptr);
    if (before->content) {
        httpPutPacket(q, before);
    }
    if (end != packet) {
        packet->flags ^= HTTP_PACKET_END | HTTP_PACKET_DATA;
        httpPutPacket(q, packet);
    }
    httpPutPacket(q, end);
}

/** Whether a packet may go through a queue without a stop. */
bool passes(const HttpQueue* q, const HttpPacket* packet) {
    return !q->first && !(q->flags & HTTP_QUEUE_SUSPENDED) && q->nextQ && !findFull(q->nextQ, bytesOf(packet)) &&
           bytesOf(packet) <= q->nextQ->packetSize;
}
} // namespace

void mpr::http::addBytes(HttpQueue& q, MprOff bytes) {
    constexpr MprOff most = std::numeric_limits<ssize>::max();
    MprOff& sum = static_cast<Queue&>(q).bytes;
    __builtin_add_overflow(sum, bytes, &sum); // it wraps
    q.count = static_cast<ssize>(std::clamp(sum, -most, most));
}

MprOff mpr::http::heldBy(const HttpQueue& q) {
    return static_cast<const Queue&>(q).bytes + (&q == q.stream->outputq ? q.net->outCount : 0);
}

void mpr::http::holdsLess(HttpQueue& q) {
    if ((q.flags & HTTP_QUEUE_FULL) && heldBy(q) <= q.low) {
        resumeFeeders(&q);
    }
}

bool mpr::http::flows(const Stream& stream) {
    for (HttpQueue* first : {stream.writeq, stream.inputq}) {
        for (HttpQueue* q = first; q; q = q->nextQ) {
            if (own(q)->unopened) {
                return false;
            }
        }
    }
    return stream.opened;
}

HttpPacket* mpr::http::takeAllHeld(Queue& q) {
    HttpPacket* const first = takeHeld(q);
    HttpPacket* last = first;
    while (HttpPacket* next = last ? takeHeld(q) : nullptr) {
        setRef(last, last->next, next);
        last = next;
    }
    return first;
}

bool mpr::http::drains(const HttpQueue& from) {
    if (from.direction == HTTP_QUEUE_RX) { // the handler is not given anything below a call that waits
        return false;
    }
    for (const HttpQueue* q = &from; q; q = q->nextQ) {
        if (q->flags & HTTP_QUEUE_SERVICED) {
            return false;
        }
    }
    return flows(*own(from.stream));
}

HttpPacket* mpr::http::takeHeld(HttpQueue& q) {
    HttpPacket* packet = removeBehind(&q, lastGiven(&q));
    if (packet) {
        packet->flags &= ~heldPacket;
    }
    return packet;
}

Queue* mpr::http::makeQueue(Stream& stream, HttpStage* stage, int direction) {
    auto* q = mpr::base::makeReferring<Queue>(manageQueue);
    if (q) {
        q->name = stage->name;
        q->stage = stage;
        q->stream = &stream;
        q->net = stream.net;
        q->direction = direction;
        httpSetQueueLimits(q, stream.limits, -1, -1, -1, -1);
    }
    return q;
}

void mpr::http::closeQueue(Queue& q) {
    if (q.opened) {
        q.opened = false;
        if (q.stage->close) {
            callStage(*q.stage, [&q] { q.stage->close(&q); });
        }
    }
}

bool mpr::http::serviceScheduled(HttpNet& net) {
    bool any = false;
    while (Queue* q = net.firstScheduled) {
        setRef(&net, net.firstScheduled, q->nextScheduled);
        if (!net.firstScheduled) {
            setRef(&net, net.lastScheduled, nullptr);
        }
        setRef(q, q->nextScheduled, nullptr);
        q->flags &= ~HTTP_QUEUE_SCHEDULED;
        Stream& stream = *own(q->stream);
        if (q == stream.readq && stream.waits) { // see Waiting
            stream.heldBack = stream.heldInput = true;
        } else if (!(q->flags & HTTP_QUEUE_SUSPENDED) && !q->removed && !stream.gone) {
            any = any || !(q->flags & HTTP_QUEUE_SERVICED);
            const HttpQueue* before = std::exchange(net.inTurn, q);
            httpServiceQueue(q);
            net.inTurn = before;
        }
    }
    return any;
}

// ---- Put and get ------------------------------------------------------------------------------------------------

void httpPutForService(struct HttpQueue* q, HttpPacket* packet, bool serviceQ) {
    if (!q || !packet || !mayChange("httpPutForService", *q->stream)) {
        return;
    }
    if (own(q)->removed) {
        httpPutPacket(q, packet);
        return;
    }
    append(q, packet);
    if (serviceQ) {
        httpScheduleQueue(q);
    }
}

void httpPutPacket(struct HttpQueue* q, HttpPacket* packet) {
    q = inPlaceOf(q);
    if (!q || !packet) {
        return;
    }
    publish(packet);
    Stream& stream = *own(q->stream);
    if (own(q)->unopened) {
        hold(q, packet);
        return;
    }
    if (q == stream.readq) {
        if (packet->flags & HTTP_PACKET_END) {
            stream.endCame = true;
            pumpSoon(*stream.net);
        }
        // See Waiting; a filter may have more that comes before what is waited for; and what came before is still held.
        if (stream.waits || stream.filters || stream.heldInput || holdsAny(q)) {
            takesPackets(*q->stage) ? hold(q, packet) : append(q, packet);
            stream.heldInput = true;
            stream.heldBack = stream.heldBack || stream.waits;
            return;
        }
    }
    give(*q, packet);
}

void mpr::http::give(HttpQueue& to, HttpPacket* packet) {
    HttpQueue* q = &to;
    if (isCompound(*q, packet)) {
        putApart(q, packet);
        return;
    }
    const bool goesOut = q->direction == HTTP_QUEUE_TX;
    Stream& stream = *own(q->stream);
    const bool isFilters = !goesOut && q != stream.readq && q != stream.inputq;
    const bool before = std::exchange(stream.filters, stream.filters || isFilters);
    if (const auto put = goesOut ? q->stage->outgoing : q->stage->incoming) {
        callStage(*q->stage, [=] { put(q, packet); });
    } else {
        goesOut ? httpDefaultOutgoing(q, packet) : httpDefaultIncoming(q, packet);
    }
    stream.filters = before;
    if (!before && stream.heldInput) {
        pumpSoon(*stream.net);
    }
}

void httpPutPacketToNext(struct HttpQueue* qp, HttpPacket* packet) {
    httpPutPacket(qp ? qp->nextQ : nullptr, packet);
}

void httpPutBackPacket(struct HttpQueue* q, HttpPacket* packet) {
    q = inPlaceOf(q);
    if (!q || !packet) {
        return;
    }
    insert(q, nullptr, packet);
}

HttpPacket* httpGetPacket(struct HttpQueue* q) {
    if (!q) {
        return nullptr;
    }
    Stream& stream = *own(q->stream);
    stream.takes = stream.takes || q == stream.readq;
    return removeBehind(q, nullptr);
}

void httpDiscardQueueData(HttpQueue* q, bool removePackets) {
    if (!q) {
        return;
    }
    MprOff removed = 0;
    HttpPacket* kept = nullptr;
    HttpPacket* each = q->first;
    setRef(q, q->first, nullptr);
    setRef(q, q->last, nullptr);
    while (each) {
        HttpPacket* next = each->next;
        removed += bytesOf(each);
        if (!removePackets || (each->flags & HTTP_PACKET_END)) {
            if (each->content) {
                mprFlushBuf(each->content);
            }
            each->esize = 0;
            setRef(each, each->next, nullptr);
            if (kept) {
                setRef(kept, kept->next, each);
            } else {
                setRef(q, q->first, each);
            }
            kept = each;
            setRef(q, q->last, each);
        } else {
            uncount(own(q->stream)->memory, each);
        }
        each = next;
    }
    lessen(q, removed);
}

void httpJoinPackets(struct HttpQueue* q, ssize size) {
    HttpPacket* head = q ? q->first : nullptr;
    while (head && mayJoinNext(head)) {
        HttpPacket* next = head->next;
        if ((size >= 0 && bytesOf(next) > size - bytesOf(head)) || httpJoinPacket(head, next) != 0) {
            return;
        }
        setRef(head, head->next, next->next);
        uncount(own(q->stream)->memory, next);
        count(own(q->stream)->memory, head);
        if (q->last == next) {
            setRef(q, q->last, head);
        }
    }
}

// ---- Service ----------------------------------------------------------------------------------------------------

void httpScheduleQueue(HttpQueue* queue) {
    if (!queue || (queue->flags & (HTTP_QUEUE_SCHEDULED | HTTP_QUEUE_SUSPENDED)) || own(queue)->removed ||
        own(queue->stream)->gone || !mayChange("httpScheduleQueue", *queue->stream)) {
        return;
    }
    Queue* q = own(queue);
    HttpNet* net = q->net;
    q->flags |= HTTP_QUEUE_SCHEDULED;
    if (net->lastScheduled) {
        setRef(net->lastScheduled, net->lastScheduled->nextScheduled, q);
    } else {
        setRef(net, net->firstScheduled, q);
    }
    setRef(net, net->lastScheduled, q);
    pumpSoon(*net);
}

void httpServiceQueue(HttpQueue* q) {
    if (!q || own(q)->unopened) {
        return;
    }
    if (q->flags & HTTP_QUEUE_SERVICED) { // its procedure lets the connection go on
        own(q)->serviceAgain = true;
        return;
    }
    asService(q, [q] { callService(q); });
}

void httpSuspendQueue(HttpQueue* q) {
    if (q) {
        q->flags |= HTTP_QUEUE_SUSPENDED;
    }
}

bool httpResumeQueue(HttpQueue* q, bool force) {
    const bool suspended = q && (q->flags & HTTP_QUEUE_SUSPENDED);
    if (suspended || (q && force)) {
        q->flags &= ~HTTP_QUEUE_SUSPENDED;
        own(q)->waits = false;
        httpScheduleQueue(q);
    }
    return suspended;
}

bool httpIsQueueSuspended(HttpQueue* q) {
    return q && (q->flags & HTTP_QUEUE_SUSPENDED);
}

bool httpIsNextQueueSuspended(HttpQueue* q) {
    return q && httpIsQueueSuspended(q->nextQ);
}

bool httpIsQueueEmpty(HttpQueue* q) {
    return !q || !q->first;
}

bool httpFlushQueue(HttpQueue* q, int flags) {
    if (!q || !mayChange("httpFlushQueue", *q->stream)) {
        return false;
    }
    const HttpNet& net = *q->net;
    sendUntil(*q, [=, &net] {
        const bool isOver = net.failed || net.phase == HttpNet::Phase::closed || own(q->stream)->gone;
        return !(flags & HTTP_BLOCK) || q->count <= 0 || isOver || !drains(*q);
    });
    return q->count < q->max;
}

// ---- Room -------------------------------------------------------------------------------------------------------

ssize httpGetQueueRoom(HttpQueue* q) {
    return q && !findFull(q, 0) ? static_cast<ssize>(q->max - heldBy(*q)) : 0;
}

bool httpWillQueueAcceptPacket(HttpQueue* q, HttpQueue* nextQ, HttpPacket* packet) {
    if (!q || !nextQ) {
        return false;
    }
    const MprOff size = bytesOf(packet);
    if (size == 0) {
        return true;
    }
    if (HttpQueue* full = findFull(nextQ, size)) {
        waitFor(full, q);
        return false;
    }
    if (size > nextQ->packetSize && !(packet->flags & HTTP_PACKET_SOLO)) {
        if (HttpPacket* rest = httpSplitPacket(packet, nextQ->packetSize)) {
            httpPutBackPacket(q, rest);
        }
    }
    return true;
}

bool httpWillNextQueueAcceptPacket(HttpQueue* q, HttpPacket* packet) {
    return q && httpWillQueueAcceptPacket(q, q->nextQ, packet);
}

bool httpWillNextQueueAcceptSize(HttpQueue* q, ssize size) {
    if (!q || !q->nextQ) {
        return false;
    }
    HttpQueue* full = findFirst(q->nextQ, [size](const HttpQueue* each) {
        const MprOff held = heldBy(*each);
        return size > 0 && held > 0 && held + size > each->max; // what is empty would never wake q
    });
    if (full) {
        waitFor(full, q);
    }
    return !full;
}

void httpSetQueueLimits(HttpQueue* q, struct HttpLimits* limits, ssize packetSize, ssize low, ssize max, ssize) {
    if (!q) {
        return;
    }
    constexpr ssize leastPacket = 1024;
    const ssize size = limits ? std::max(limits->packetSize, leastPacket) : q->packetSize;
    q->packetSize = packetSize > 0 ? packetSize : size;
    q->max = max > 0 ? max : size;
    q->low = low >= 0 ? low : q->max / 4;
}

// ---- What stages do that say nothing else -----------------------------------------------------------------------

void httpDefaultIncoming(HttpQueue* q, HttpPacket* packet) {
    if (!q || !packet) {
        return;
    }
    if (q->stage->incomingService) {
        httpPutForService(q, packet, true);
    } else if (q->nextQ) {
        httpPutPacketToNext(q, packet);
    } else {
        httpPutForService(q, packet, false);
    }
}

void httpDefaultOutgoing(HttpQueue* q, HttpPacket* packet) {
    if (!q || !packet) {
        return;
    }
    if (!q->stage->outgoingService && passes(q, packet)) {
        httpPutPacketToNext(q, packet);
    } else {
        httpPutForService(q, packet, true);
    }
}

void httpDefaultService(HttpQueue* q) {
    while (HttpPacket* packet = httpGetPacket(q)) {
        if (!httpWillNextQueueAcceptPacket(q, packet)) {
            httpPutBackPacket(q, packet);
            return;
        }
        httpPutPacketToNext(q, packet);
    }
}

// ---- The rest ---------------------------------------------------------------------------------------------------

void httpRemoveQueue(HttpQueue* q) {
    if (!q || !q->prevQ || !q->nextQ) { // nothing replaces an end of the pipeline
        return;
    }
    while (HttpPacket* packet = httpGetPacket(q)) { // the queue that waits for room in this one continues
        httpPutPacket(q->nextQ, packet);
    }
    setRef(q->prevQ, q->prevQ->nextQ, q->nextQ);
    setRef(q->nextQ, q->nextQ->prevQ, q->prevQ);
    setRef(q, q->prevQ, nullptr); // its procedure may have a packet yet to pass on to the next
    own(q)->removed = true;
    setRef(own(q), own(q)->nextRemoved, own(q->stream)->removed);
    setRef(own(q->stream), own(q->stream)->removed, own(q));
    closeQueue(*own(q));
}

void* httpGetQueueData(HttpStream* stream) {
    return stream && stream->writeq ? stream->writeq->queueData : nullptr;
}
