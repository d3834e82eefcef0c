// SPDX-License-Identifier: MIT
/*
    gzip_filter.cpp - "gzipFilter": responses compressed by zlib, as the client accepts them (RFC 9110, 12.5.3).

    It decides when the first packet of the body comes, for by then the handler has said what it is. Compressed is
    what has status 200, a media type that gets much shorter, no coding of its own, and a length that is not known or
    worth it. Then the length goes, a strong tag becomes a weak one, since other bytes are sent for it, and Vary tells
    caches.

    A compressor is taken from those that wait, so one state is used again, by one connection or by several; most of
    them at a time are limited, for each takes 260 KiB: who gets none is answered without. It goes back when the body
    is complete.

    BREACH: a response that has a secret in it and beside it what the client has sent, compressed, tells of the secret
    by its length. Routes of such responses do not use this filter, or mask the secret anew in each response.
 */
#include "mpr/barrier.h"
#include "mpr/base/retain.hpp"
#include "mpr/event.h"
#include "mpr/gc/census.hpp"
#include "mpr/http/deflater.hpp"
#include "mpr/http/grammar.hpp"
#include "mpr/http/negotiate.hpp"
#include "mpr/http/net.hpp"
#include "mpr/http/references.hpp"
#include "mpr/http/stages.hpp"
#include "mpr/http/stream.hpp"
#include "mpr/memory.h"
#include "mpr/os/lock.hpp"
#include "mpr/stats.h"
#include "mpr/string.h"

namespace mpr::http {

namespace {

constexpr int level = 6;
constexpr ssize mostAtOnce = 128 * 1024; // bytes that an event compresses: some milliseconds
constexpr MprOff leastLength = 1000;     // shorter ones fit into a segment of TCP as they are

// ---- Compressors ------------------------------------------------------------------------------------------------

/** Those that wait, and how many there are. A managed block, the stage's data. */
struct Deflaters {
    static constexpr int spares = 2;
    Deflater* spare[spares]; // references
};

void manageDeflaters(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(static_cast<Deflaters*>(ptr)->spare, Deflaters::spares);
    }
}
const gc::ManagerName named(manageDeflaters, "mpr::http::Deflaters");

constinit os::Lock lock; // guards those that wait, and
constinit int atWork = 0;

constexpr unsigned sizeOfDeflater = 270'000; // bytes that zlib takes at this level

/** How many may be at work: all of them take an eighth of the heap at most. */
int mostAtWork() {
    constexpr unsigned long long size = sizeOfDeflater, most = 64;
    MprMemStats stats;
    mprReadMemStats(&stats);
    const unsigned long long fit = stats.maxHeap / 8 / size;
    return static_cast<int>(stats.maxHeap == 0 || fit > most ? most : fit);
}

Deflaters* deflatersOf(const HttpQueue* q) {
    return static_cast<Deflaters*>(q->stage->stageData);
}

/** One of those that wait. */
Deflater* takeSpare(Deflaters* all) {
    const os::Locked guard(lock);
    for (Deflater*& spare : all->spare) {
        if (Deflater* taken = spare) {
            setRef(all, spare, nullptr);
            ++atWork;
            return taken;
        }
    }
    return nullptr;
}

/** Another one. @return nullptr when there are too many, or memory is short. */
Deflater* addDeflater() {
    const int most = mostAtWork();
    {
        const os::Locked guard(lock);
        if (atWork >= most) {
            return nullptr;
        }
        ++atWork;
    }
    Deflater* made = makeDeflater(level);
    if (!made) {
        const os::Locked guard(lock);
        --atWork;
    }
    return made;
}

Deflater* takeDeflater(Deflaters* all) {
    Deflater* spare = takeSpare(all);
    return spare ? spare : addDeflater();
}

void giveBack(Deflaters* all, Deflater* deflater) {
    const os::Locked guard(lock);
    --atWork;
    for (Deflater*& spare : all->spare) {
        if (!spare) {
            setRef(all, spare, deflater);
            return;
        }
    }
}

// ---- Whether ----------------------------------------------------------------------------------------------------

/** What staticData of a queue says; queueData is the compressor while it is at work. */
constinit char passes, compresses, finished;

bool says(const HttpQueue* q, const char& what) {
    return q->staticData == &what;
}

std::string_view typeOf(HttpStream* stream) {
    const char* set = httpGetTxHeader(stream, "Content-Type");
    return viewOf(set ? set : stream->tx->mimeType);
}

/** Bytes of the body, or of the document that a part is of or that has not changed; -1: not known. */
MprOff lengthOf(HttpQueue* q) {
    const HttpTx* tx = q->stream->tx;
    if (tx->status != HTTP_CODE_OK) {
        return tx->fileInfo.valid ? tx->fileInfo.size : -1;
    }
    return tx->length >= 0 ? tx->length : tx->finalizedOutput ? own(q)->bytes : -1;
}

/** Whether what is asked for, all of it, a part or whether it has changed, is compressed for clients that accept that. */
bool varies(HttpQueue* q) {
    HttpStream* stream = q->stream;
    const int status = stream->tx->status;
    const MprOff length = lengthOf(q);
    return (status == HTTP_CODE_OK || status == HTTP_CODE_PARTIAL || status == HTTP_CODE_NOT_MODIFIED) &&
           (length < 0 || length >= leastLength) && !httpGetTxHeader(stream, "Content-Encoding") &&
           (isCompressible(typeOf(stream)) || begins(typeOf(stream), "multipart/byteranges")) && // of what is, perhaps
           viewOf(httpGetTxHeader(stream, "Cache-Control")).find("no-transform") == all;
}

/** Other bytes may be sent for the tag. */
void weakenTag(HttpStream* stream) {
    const std::string_view etag = viewOf(httpGetTxHeader(stream, "ETag"));
    if (begins(etag, "\"")) {
        httpSetHeader(stream, "ETag", "W/%s", etag.data());
    }
}

void setHeaders(HttpStream* stream, Coding coding) {
    httpSetHeaderString(stream, "Content-Encoding", nameOf(coding));
    weakenTag(stream);
    httpRemoveHeader(stream, "Content-Length");
    httpRemoveHeader(stream, "Accept-Ranges");
}

void letGo(HttpQueue* q, Deflater* deflater) {
    setRef(q, q->queueData, nullptr);
    own(q->stream)->memory -= sizeOfDeflater;
    giveBack(deflatersOf(q), deflater);
}

/** Decide for a response whose first packets have come. */
void decide(HttpQueue* q) {
    HttpStream* stream = q->stream;
    q->staticData = &passes;
    if (!varies(q)) {
        return;
    }
    httpAppendHeaderString(stream, "Vary", "Accept-Encoding");
    const Coding coding = chooseCoding(viewOf(httpGetHeader(stream, "accept-encoding")));
    if (coding == Coding::identity || stream->tx->status == HTTP_CODE_PARTIAL) {
        return;
    }
    if (stream->tx->status == HTTP_CODE_NOT_MODIFIED) {
        weakenTag(stream);
        return;
    }
    if ((stream->tx->flags & HTTP_TX_NO_BODY) || smatch(stream->rx->method, "HEAD")) {
        setHeaders(stream, coding); // HEAD: what GET would say
        stream->tx->flags |= HTTP_TX_NO_LENGTH;
        return;
    }
    Deflater* deflater = mayTake(*q->net, sizeOfDeflater) ? takeDeflater(deflatersOf(q)) : nullptr;
    if (!deflater) {
        return;
    }
    own(stream)->memory += sizeOfDeflater;
    setRef(q, q->queueData, deflater);
    q->staticData = &compresses;
    if (beginBody(deflater, coding)) {
        setHeaders(stream, coding);
    } else {
        letGo(q, deflater);
        q->staticData = &passes;
    }
}

// ---- Compress ---------------------------------------------------------------------------------------------------

void finish(HttpQueue* q) {
    if (auto* deflater = static_cast<Deflater*>(q->queueData)) {
        letGo(q, deflater);
    }
    q->staticData = &finished;
}

/** Bytes of room for what some input may become: most of it at once, and no more than a packet has. */
ssize roomFor(const HttpQueue* q, ssize size) {
    const ssize guess = size / 2 + 256;
    return guess < q->packetSize ? guess : q->packetSize;
}

/** Compress some bytes, which the caller keeps: filters behind may yield. @return false: the request has failed. */
bool compress(HttpQueue* q, const char* input, ssize size, Flush flush) {
    auto* deflater = static_cast<Deflater*>(q->queueData);
    for (bool done = false; !done;) {
        if (q->queueData != deflater) { // closed meanwhile
            return false;
        }
        HttpPacket* out = httpCreateDataPacket(roomFor(q, size));
        if (!out) {
            httpMemoryError(q->stream);
            return false;
        }
        const Deflated step = deflateSome(deflater, input, static_cast<std::size_t>(size), mprGetBufEnd(out->content),
                                          static_cast<std::size_t>(mprGetBufSpace(out->content)), flush);
        mprAdjustBufEnd(out->content, static_cast<ssize>(step.given));
        input += step.taken;
        size -= static_cast<ssize>(step.taken);
        done = step.done;
        if (step.given > 0) {
            httpPutPacketToNext(q, out);
        }
    }
    return true;
}

/** What came because a packet was full waits for more; what came before it was is waited for. */
Flush flushFor(const HttpQueue* q, const HttpPacket* packet, ssize size) {
    if (q->first) {
        return isEnd(q->first) && packet->esize == 0 ? Flush::finish : Flush::no;
    }
    return packet->esize == 0 && size < q->packetSize ? Flush::all : Flush::no;
}

/** Compress a packet of data, or of bytes that are elsewhere some. */
bool compressPacket(HttpQueue* q, HttpPacket* packet) {
    HttpPacket* piece = packet;
    if (packet->esize > 0) {
        piece = loadSome(q, packet);
        if (!piece) {
            return false;
        }
    }
    const ssize size = httpGetPacketContents(piece);
    const Flush flush = piece == packet ? flushFor(q, packet, size) : Flush::no;
    if (piece != packet && packet->esize > 0) {
        httpPutBackPacket(q, packet);
    }
    const base::Rooted kept(piece);
    if (!compress(q, size > 0 ? httpGetPacketStart(piece) : "", size, flush)) {
        return false;
    }
    if (flush == Flush::finish) {
        finish(q);
    }
    return true;
}

bool compressNext(HttpQueue* q, HttpPacket* packet) {
    if (says(q, compresses) && isData(packet)) {
        return compressPacket(q, packet);
    }
    if (says(q, compresses) && isEnd(packet)) {
        const base::Rooted kept(packet);
        if (!compress(q, "", 0, Flush::finish)) {
            return false;
        }
        finish(q);
    }
    httpPutPacketToNext(q, packet);
    return true;
}

void goOn(void* data, MprEvent*) {
    auto* q = static_cast<HttpQueue*>(data);
    if (!own(q->stream)->gone) {
        httpResumeQueue(q, true);
    }
}

/** Have the rest done by another event, so that the thread yields and other connections have their turn. */
void pause(HttpQueue* q) {
    httpSuspendQueue(q);
    if (!mprCreateEvent(q->stream->dispatcher, "http.gzip", 0, goOn, q, 0)) {
        httpResumeQueue(q, true);
    }
}

void service(HttpQueue* q) {
    if (!q->staticData && q->first) {
        decide(q);
    }
    if (says(q, passes)) {
        httpDefaultService(q);
        return;
    }
    for (ssize done = 0; q->first && httpWillNextQueueAcceptSize(q, 1);) {
        if (done >= mostAtOnce) {
            pause(q);
            return;
        }
        HttpPacket* packet = httpGetPacket(q);
        const ssize size = httpGetPacketLength(packet);
        done += size < q->packetSize ? size : q->packetSize;
        if (!compressNext(q, packet)) {
            return;
        }
    }
}

void close(HttpQueue* q) {
    finish(q);
}

int open(HttpQueue*) {
    return 0; // so that close is called
}
} // namespace

bool defineGzipFilter(Http& http) {
    HttpStage* stage = defineStage(http, "gzipFilter", HTTP_STAGE_FILTER | HTTP_STAGE_TX);
    Deflaters* deflaters = stage ? base::makeReferring<Deflaters>(manageDeflaters) : nullptr;
    if (deflaters) {
        stage->stageData = deflaters;
        stage->open = open;
        stage->close = close;
        stage->outgoingService = service;
    }
    return deflaters;
}

} // namespace mpr::http
