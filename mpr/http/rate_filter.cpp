// SPDX-License-Identifier: MIT
/*
    rate_filter.cpp - "rateFilter": no more bytes a second of a response than its route allows.

    A token bucket: what may be sent grows with time, up to a tenth of a second's worth, and a timer goes on when a
    twentieth of a second's worth has come together. What is not sent yet stays where it is, so the handler waits by the
    limits of its queue, and a document's bytes are not even read.
 */
#include <algorithm>

#include "mpr/barrier.h"
#include "mpr/event.h"
#include "mpr/gc/census.hpp"
#include "mpr/http/packet.hpp"
#include "mpr/http/references.hpp"
#include "mpr/http/route.hpp"
#include "mpr/http/stages.hpp"
#include "mpr/string.h"
#include "mpr/time.h"

namespace mpr::http {

namespace {

constexpr MprTicks second = 1000;
constexpr MprTicks most = second / 10;  // time whose worth may be saved up
constexpr MprTicks least = second / 20; // time whose worth is waited for

/** Of a response that is sent at a rate. A managed block, the queue's data. */
struct Bucket {
    MprEvent* timer; // reference: ends a wait
    MprOff rate;     // bytes a second
    MprTicks since;  // from when on time counts; before that all has been spent
    bool waits;
};

void manageBucket(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<Bucket*>(ptr)->timer);
    }
}
const gc::ManagerName named(manageBucket, "mpr::http::Bucket");

Bucket* bucketOf(const HttpQueue* q) {
    return static_cast<Bucket*>(q->queueData);
}

/** What so much time is worth. At least a byte, or nobody would ever go on. */
MprOff worth(const Bucket& bucket, MprTicks time) {
    const MprOff whole = bucket.rate / second * time + bucket.rate % second * time / second;
    return std::max<MprOff>(whole, 1);
}

/** Bytes that may be sent now. */
MprOff saved(Bucket& bucket) {
    const MprTicks now = mprGetTicks();
    bucket.since = std::max(bucket.since, now - most);
    return now > bucket.since ? worth(bucket, now - bucket.since) : 0;
}

/** They are: time that they are worth counts no more. Rounded up, so that rounding makes no rate higher. */
void spend(Bucket& bucket, MprOff bytes) {
    const MprOff seconds = bytes / bucket.rate, rest = bytes % bucket.rate;
    bucket.since += seconds * second + (rest * second + bucket.rate - 1) / bucket.rate;
}

void goOn(void* data, MprEvent*) {
    auto* q = static_cast<HttpQueue*>(data);
    bucketOf(q)->waits = false;
    if (!own(q->stream)->gone) {
        httpResumeQueue(q, true);
    }
}

/** Wait until enough has come together. */
void pause(HttpQueue* q) {
    Bucket& bucket = *bucketOf(q);
    const MprTicks wait = std::max<MprTicks>(bucket.since + least - mprGetTicks(), 1);
    httpSuspendQueue(q);
    if (!bucket.waits) {
        bucket.waits = true;
        mprRescheduleEvent(bucket.timer, wait);
    }
}

/** The length of a body of which all is here: said, or it would have to go out in chunks. */
void sayLength(HttpQueue* q) {
    HttpTx* tx = q->stream->tx;
    bool all = tx->finalizedOutput && tx->length < 0 && tx->chunkSize <= 0 && !(tx->flags & HTTP_TX_HEADERS_CREATED);
    for (const HttpQueue* before = q->prevQ; before; before = before->prevQ) {
        all = all && before->count == 0;
    }
    if (all && q->last && isEnd(q->last)) {
        MprOff length = 0; // with what has passed, and waits for the connection
        for (HttpQueue* each = q; each; each = each->nextQ) {
            length += own(each)->bytes;
        }
        httpSetContentLength(q->stream, length);
    }
}

/** Send what may be sent of the first packet. @return false: no more now. */
bool sendSome(HttpQueue* q) {
    Bucket& bucket = *bucketOf(q);
    const MprOff length = bytesOf(q->first);
    const MprOff room = length > 0 ? saved(bucket) : 0;
    if (length > 0 && room < std::min(length, worth(bucket, least))) {
        pause(q);
        return false;
    }
    HttpPacket* packet = httpGetPacket(q);
    if (length > room) {
        HttpPacket* rest = split(packet, room);
        if (!rest) {
            httpMemoryError(q->stream);
            return false;
        }
        httpPutBackPacket(q, rest);
    }
    if (!httpWillNextQueueAcceptPacket(q, packet)) {
        httpPutBackPacket(q, packet);
        return false;
    }
    spend(bucket, bytesOf(packet));
    httpPutPacketToNext(q, packet);
    return true;
}

void service(HttpQueue* q) {
    sayLength(q);
    while (q->first && !bucketOf(q)->waits && sendSome(q)) {}
}

int match(HttpStream* stream, HttpRoute* route, int) {
    return route && route->rate > 0 && !smatch(stream->rx->method, "HEAD") ? HTTP_ROUTE_OK : HTTP_ROUTE_REJECT;
}

int open(HttpQueue* q) {
    auto* bucket = base::makeReferring<Bucket>(manageBucket);
    MprEvent* timer = bucket ? mprCreateEvent(q->stream->dispatcher, "http.rate", 0, reinterpret_cast<void*>(goOn), q,
                                              MPR_EVENT_DONT_QUEUE)
                             : nullptr;
    if (!timer) {
        httpMemoryError(q->stream);
        return MPR_ERR_MEMORY;
    }
    bucket->timer = timer;
    bucket->rate = q->stream->rx->route->rate;
    bucket->since = mprGetTicks() - least;
    setRef(q, q->queueData, bucket);
    return 0;
}

void close(HttpQueue* q) {
    if (const Bucket* bucket = bucketOf(q)) {
        mprRemoveEvent(bucket->timer);
    }
}
} // namespace

bool defineRateFilter(Http& http) {
    HttpStage* stage = defineStage(http, "rateFilter", HTTP_STAGE_FILTER | HTTP_STAGE_TX);
    if (stage) {
        stage->match = match;
        stage->open = open;
        stage->close = close;
        stage->outgoingService = service;
    }
    return stage;
}

} // namespace mpr::http
