// SPDX-License-Identifier: MIT
/*
    range_filter.cpp - "rangeFilter": the parts of a response that a client has asked for (RFC 9110, 14 and 13.1.5).

    It decides when the first packet of the body comes. Parts are served of a response to GET with status 200 whose
    length is known. Bytes that are elsewhere are not fetched if they are not sent, and parts of them may come in any
    order; of bytes that are written, in rising order only: else the whole is sent.
 */
#include "mpr/app.h"
#include "mpr/barrier.h"
#include "mpr/base/retain.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/http/conditional.hpp"
#include "mpr/http/grammar.hpp"
#include "mpr/http/packet.hpp"
#include "mpr/http/range.hpp"
#include "mpr/http/references.hpp"
#include "mpr/http/stages.hpp"
#include "mpr/http/stream.hpp"
#include "mpr/string.h"

namespace mpr::http {

namespace {

/** Of a response that is sent in parts. A managed block, the queue's data. */
struct Parts {
    char* type;     // references
    char* boundary; // nullptr: there is one part
    Ranges ranges;
    MprOff size; // of the whole
    MprOff at;   // of it: where the next packet begins
    int next;    // the part that is not yet complete
    bool begun;  // its header was sent

    RangeParts texts() const { return {boundary, type, size}; }
};

void manageParts(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, 2);
    }
}
static_assert(offsetof(Parts, ranges) >= 2 * sizeof(void*));
const gc::ManagerName named(manageParts, "mpr::http::Parts");

/** What staticData of a queue says: it has been decided. */
constinit char decided;

// ---- Whether ----------------------------------------------------------------------------------------------------

MprOff wholeSize(const HttpTx* tx) {
    return tx->entityLength >= 0 ? tx->entityLength : tx->length;
}

bool isWhole(const HttpPacket* packet, MprOff size) {
    return packet->esize == size && packet->epos == 0;
}

bool rises(const Ranges& ranges) {
    for (int i = 1; i < ranges.count; ++i) {
        if (ranges.list[i].start < ranges.list[i - 1].end) {
            return false;
        }
    }
    return true;
}

bool mayServe(HttpStream* stream) {
    return stream->tx->status == HTTP_CODE_OK && wholeSize(stream->tx) >= 0 &&
           !httpGetTxHeader(stream, "Content-Encoding");
}

void setLength(HttpStream* stream, const Parts* parts) {
    const Range& first = parts->ranges.list[0];
    httpSetContentLength(stream, parts->boundary ? parts->texts().length(parts->ranges) : first.size());
}

bool announce(HttpStream* stream, Parts* parts) {
    const char* set = httpGetTxHeader(stream, "Content-Type");
    const char* type = set ? set : stream->tx->mimeType;
    if (parts->ranges.count == 1) {
        char text[contentRangeSize];
        formatContentRange(text, parts->ranges.list[0], parts->size);
        httpSetHeaderString(stream, "Content-Range", text);
    } else {
        constexpr ssize boundarySize = 24;
        setRef(parts, parts->boundary, mprGetRandomString(boundarySize));
        setRef(parts, parts->type, type ? sclone(type) : nullptr);
        if (!parts->boundary) {
            return false;
        }
        httpSetHeader(stream, "Content-Type", "multipart/byteranges; boundary=%s", parts->boundary);
    }
    httpSetStatus(stream, HTTP_CODE_PARTIAL);
    setLength(stream, parts);
    return true;
}

void refuse(HttpStream* stream, MprOff size) {
    char text[contentRangeSize];
    formatNoRange(text, size);
    httpSetHeaderString(stream, "Content-Range", text);
    httpError(stream, HTTP_CODE_RANGE_NOT_SATISFIABLE, "none of the ranges is within the %lld bytes", size);
}

void decide(HttpQueue* q) {
    HttpStream* stream = q->stream;
    q->staticData = &decided;
    if (!mayServe(stream)) {
        return;
    }
    const char* field = httpGetHeader(stream, "range");
    if (!field || !rangeHolds(conditionsOf(stream), representationOf(stream))) {
        return;
    }
    const MprOff size = wholeSize(stream->tx);
    const Ranges ranges = parseRanges(field, size);
    if (ranges.answer == Ranges::Answer::unsatisfiable) {
        refuse(stream, size);
        return;
    }
    if (ranges.answer == Ranges::Answer::whole || (!isWhole(q->first, size) && !rises(ranges))) {
        return;
    }
    auto* parts = base::makeReferring<Parts>(manageParts);
    if (!parts) {
        return; // the whole is an answer, too
    }
    parts->ranges = ranges;
    parts->size = size;
    if (announce(stream, parts)) {
        setRef(q, q->queueData, parts);
    }
}

// ---- Parts ------------------------------------------------------------------------------------------------------

/** A packet with what stands between parts. */
HttpPacket* textPacket(const char* text, int size) {
    HttpPacket* packet = httpCreateDataPacket(size);
    if (packet) {
        packet->flags |= HTTP_PACKET_RANGE;
        mprPutBlockToBuf(packet->content, text, size);
    }
    return packet;
}

HttpPacket* headerPacket(const Parts* parts, int part) {
    char text[RangeParts::maxHeader];
    return textPacket(text, parts->texts().header(text, parts->ranges.list[part], part == 0));
}

HttpPacket* trailerPacket(const Parts* parts) {
    char text[RangeParts::maxHeader];
    return textPacket(text, parts->texts().trailer(text));
}

bool putBack(HttpQueue* q, HttpPacket* packet) {
    if (!packet) {
        httpMemoryError(q->stream);
        return false;
    }
    httpPutBackPacket(q, packet);
    return true;
}

/** Replace the packet that stands for the whole by some for its parts: the last goes back first. */
void splitWhole(HttpQueue* q, const Parts* parts, HttpPacket* whole) {
    bool good = !parts->boundary || putBack(q, trailerPacket(parts));
    for (int i = parts->ranges.count - 1; good && i >= 0; --i) {
        HttpPacket* part = httpClonePacket(whole);
        if (part) {
            part->epos = parts->ranges.list[i].start;
            part->esize = parts->ranges.list[i].size();
        }
        good = putBack(q, part) && (!parts->boundary || putBack(q, headerPacket(parts, i)));
    }
    setRef(q, q->queueData, nullptr);
    httpDefaultService(q);
}

/** Split off the part at the start of a packet that is sent, or nothing. @return That part. */
HttpPacket* cutNext(Parts* parts, HttpPacket*& packet) {
    const Range& range = parts->ranges.list[parts->next];
    const MprOff length = bytesOf(packet);
    const MprOff skipped = range.start > parts->at ? range.start - parts->at : 0;
    if (skipped >= length) {
        parts->at += length;
        packet = nullptr;
        return nullptr;
    }
    httpAdjustPacketStart(packet, skipped);
    parts->at += skipped;
    HttpPacket* part = packet;
    const MprOff wanted = range.end - parts->at;
    packet = wanted < bytesOf(part) ? split(part, wanted) : nullptr;
    parts->at += bytesOf(part);
    return part;
}

/** Send what of a packet belongs to parts. */
bool sendParts(HttpQueue* q, Parts* parts, HttpPacket* packet) {
    while (packet && parts->next < parts->ranges.count) {
        HttpPacket* part = cutNext(parts, packet);
        if (!part) {
            return true;
        }
        const base::Rooted kept(part), rest(packet); // filters behind may yield
        if (parts->boundary && !parts->begun) {
            HttpPacket* header = headerPacket(parts, parts->next);
            if (!header) {
                httpMemoryError(q->stream);
                return false;
            }
            httpPutPacketToNext(q, header);
        }
        parts->begun = parts->at < parts->ranges.list[parts->next].end;
        parts->next += !parts->begun;
        httpPutPacketToNext(q, part);
    }
    return true;
}

bool sendEnd(HttpQueue* q, const Parts* parts, HttpPacket* end) {
    const base::Rooted kept(end);
    if (parts->boundary) {
        HttpPacket* trailer = trailerPacket(parts);
        if (!trailer) {
            httpMemoryError(q->stream);
            return false;
        }
        httpPutPacketToNext(q, trailer);
    }
    httpPutPacketToNext(q, end);
    return true;
}

void service(HttpQueue* q) {
    if (!q->staticData && q->first) {
        decide(q);
    }
    auto* parts = static_cast<Parts*>(q->queueData);
    if (!parts) {
        httpDefaultService(q);
        return;
    }
    if (q->first && isWhole(q->first, parts->size)) {
        splitWhole(q, parts, httpGetPacket(q));
        return;
    }
    while (q->first && httpWillNextQueueAcceptSize(q, 1)) {
        HttpPacket* packet = httpGetPacket(q);
        if (!(isEnd(packet) ? sendEnd(q, parts, packet) : sendParts(q, parts, packet))) {
            return;
        }
    }
}

int match(HttpStream* stream, HttpRoute*, int) {
    return smatch(stream->rx->method, "GET") && httpGetHeader(stream, "range") ? HTTP_ROUTE_OK : HTTP_ROUTE_REJECT;
}
} // namespace

bool defineRangeFilter(Http& http) {
    HttpStage* stage = defineStage(http, "rangeFilter", HTTP_STAGE_FILTER | HTTP_STAGE_TX);
    if (stage) {
        stage->match = match;
        stage->outgoingService = service;
    }
    return stage;
}

} // namespace mpr::http
