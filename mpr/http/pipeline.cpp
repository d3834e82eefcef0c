// SPDX-License-Identifier: MIT
/*
    pipeline.cpp - The queues of a stream: handler, filters, connector, in both directions.

        writeq (handler) -> filters -> outputq (connector)      inputq (connector) -> filters -> readq (handler)
 */
#include <algorithm>

#include "mpr/base/retain.hpp"
#include "mpr/http/route.hpp"
#include "mpr/http/stream.hpp"
#include "mpr/list.h"

namespace mpr::http {

namespace {

void link(HttpQueue* before, HttpQueue* behind) {
    setRef(before, before->nextQ, behind);
    setRef(behind, behind->prevQ, before);
}

void pairUp(HttpQueue* a, HttpQueue* b) {
    if (a && b) {
        setRef(a, a->pair, b);
        setRef(b, b->pair, a);
    }
}

/** Give a filter that is open what stages before have written in their open. What comes meanwhile is held, too. */
void giveHeldOfOpen(HttpQueue& q) {
    while (HttpPacket* packet = takeAllHeld(*own(&q))) {
        while (packet) { // out of the queue, which its procedure may empty
            HttpPacket* next = packet->next;
            const base::Rooted rest(next);
            setRef(packet, packet->next, nullptr);
            own(&q)->removed ? httpPutPacket(&q, packet) : give(q, packet);
            packet = next;
        }
    }
}

bool open(HttpQueue* q) {
    if (!q->stage->open) {
        return true;
    }
    own(q)->opened = true;
    const int result = callStage(*q->stage, [q] { return q->stage->open(q); });
    if (own(q)->unopened) {
        giveHeldOfOpen(*q);
    }
    own(q)->unopened = false;
    return result >= 0;
}

/** Whether a filter is for a request. */
bool wants(const FilterEntry& entry, Stream& stream, int direction) {
    return entry.accepts(stream) &&
           (!entry.stage->match || callStage(*entry.stage, [&] {
                                       return entry.stage->match(&stream, stream.rx->route, direction);
                                   }) == HTTP_ROUTE_OK);
}

/** Put the queues of a route's filters behind one. @return The last; nullptr when memory is short. */
HttpQueue* addFilters(Stream& stream, MprList* filters, HttpQueue* behind, int direction) {
    const int stageDirection = direction == HTTP_QUEUE_TX ? HTTP_STAGE_TX : HTTP_STAGE_RX;
    for (int i = 0; i < mprGetListLength(filters); ++i) {
        const auto* entry = static_cast<FilterEntry*>(mprGetItem(filters, i));
        if (wants(*entry, stream, stageDirection)) {
            HttpQueue* q = makeQueue(stream, entry->stage, direction);
            if (!q) {
                return nullptr;
            }
            own(q)->unopened = entry->stage->open;
            link(behind, q);
            behind = q;
        }
    }
    return behind;
}

/** A filter in both directions has a pair of queues. */
void pairFilters(Stream& stream) {
    for (HttpQueue* tx = stream.writeq->nextQ; tx && tx != stream.outputq; tx = tx->nextQ) {
        for (HttpQueue* rx = stream.inputq->nextQ; rx && rx != stream.readq; rx = rx->nextQ) {
            if (rx->stage == tx->stage) {
                pairUp(tx, rx);
            }
        }
    }
}

/** Call a function for each queue of both directions. It may change the pipeline. */
template <typename Call>
void each(Stream& stream, Call call) {
    for (HttpQueue* first : {stream.writeq, stream.inputq}) {
        for (HttpQueue* q = first; q;) {
            HttpQueue* next = q->nextQ;
            call(q);
            q = q->nextQ ? q->nextQ : next; // it may have removed the next one, or itself
        }
    }
}

bool makeEnds(Stream& stream, HttpStage* handler, HttpStage* connector) {
    HttpQueue* ends[] = {makeQueue(stream, handler, HTTP_QUEUE_TX), makeQueue(stream, handler, HTTP_QUEUE_RX),
                         makeQueue(stream, connector, HTTP_QUEUE_RX)};
    HttpQueue* output = stream.outputq ? stream.outputq : makeQueue(stream, connector, HTTP_QUEUE_TX);
    if (!ends[0] || !ends[1] || !ends[2] || !output) {
        return false;
    }
    setRef(&stream, stream.writeq, ends[0]);
    setRef(&stream, stream.readq, ends[1]);
    setRef(&stream, stream.inputq, ends[2]);
    setRef(&stream, stream.outputq, output);
    pairUp(ends[0], ends[1]);
    pairUp(ends[2], output);
    return true;
}

} // namespace

void roomForBody(Stream& stream) {
    const MprOff most = std::min<MprOff>(mostOfBody(stream), PTRDIFF_MAX / 2);
    if (!takesPackets(*stream.readq->stage) && most >= stream.readq->max) {
        stream.readq->max = static_cast<ssize>(most) + 1;
    }
}

bool openPipeline(Stream& stream) {
    const HttpRoute* route = stream.rx->route;
    if (!makeEnds(stream, stream.tx->handler, stream.http->connector)) {
        httpMemoryError(&stream);
        return false;
    }
    HttpQueue* lastTx = addFilters(stream, route ? route->outputFilters : nullptr, stream.writeq, HTTP_QUEUE_TX);
    HttpQueue* lastRx = addFilters(stream, route ? route->inputFilters : nullptr, stream.inputq, HTTP_QUEUE_RX);
    if (!lastTx || !lastRx) {
        httpMemoryError(&stream);
        return false;
    }
    link(lastTx, stream.outputq);
    link(lastRx, stream.readq);
    pairFilters(stream);
    if (!stream.notifier) { // else it may read what has come: see tellReadable()
        roomForBody(stream);
    }
    stream.opened = true;
    bool opened = true;
    each(stream, [&opened, &stream](HttpQueue* q) {
        opened = opened && !stream.error && (q == stream.readq || q == stream.writeq || open(q));
    });
    // A handler has two queues, and is opened once: last, for it may write and read.
    opened = opened && !stream.error && open(stream.writeq);
    if (!opened && !stream.error) {
        fail(stream, HTTP_CODE_INTERNAL_SERVER_ERROR, "a stage cannot be opened");
    }
    return opened && !stream.error;
}

void startPipeline(Stream& stream) {
    each(stream, [&stream](HttpQueue* q) {
        const bool second = q == stream.readq || (q->pair && q->direction == HTTP_QUEUE_RX);
        if (q->stage->start && !second && !isSettled(stream)) {
            callStage(*q->stage, [q] { q->stage->start(q); });
        }
    });
}

void readyPipeline(Stream& stream) {
    if (stream.writeq->stage->ready && !stream.tx->finalized) {
        HttpQueue* q = stream.writeq;
        callStage(*q->stage, [q] { q->stage->ready(q); });
        if ((stream.writeq->stage->flags & HTTP_STAGE_AUTO_FINALIZE) && !stream.tx->finalized) {
            httpFinalize(&stream);
        }
    }
}

void writablePipeline(Stream& stream) {
    if (stream.writeq->stage->writable) {
        HttpQueue* q = stream.writeq;
        callStage(*q->stage, [q] { q->stage->writable(q); });
    }
    notify(stream, HTTP_EVENT_WRITABLE, 0);
}

void closePipeline(Stream& stream) {
    if (!stream.opened) {
        return;
    }
    stream.opened = false;
    each(stream, [](HttpQueue* q) { closeQueue(*own(q)); });
}

} // namespace mpr::http
