// SPDX-License-Identifier: MIT
/*
    connector.cpp - The stage between a pipeline and its connection: it puts headers before a response, and has it in
    chunks where its length is not known.

    The length is known if the program has said so, or if all of the body is there when the first of it arrives: then
    headers and body go out in one write.
 */
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "mpr/http/grammar.hpp"
#include "mpr/http/net.hpp"
#include "mpr/http/packet.hpp"
#include "mpr/http/route.hpp"
#include "mpr/http/stages.hpp"
#include "mpr/string.h"

namespace mpr::http {

namespace {

/** RFC 9110: a status without content, and without headers of one. */
bool hasNoContent(int status) {
    return status == HTTP_CODE_NO_CONTENT || status < HTTP_CODE_OK;
}

/** RFC 9110: what has no body, whatever its headers say of one. The method is the one sent (httpSetMethod). */
bool isBodiless(const Stream& stream) {
    return hasNoContent(stream.tx->status) || stream.tx->status == HTTP_CODE_NOT_MODIFIED ||
           (stream.in().head && std::strcmp(stream.in().head, "HEAD") == 0);
}

/** It may have none, or its handler omits it. RFC 9110 wants 205 without, as a body of no bytes. */
bool hasNoBody(const Stream& stream) {
    return (stream.tx->flags & HTTP_TX_NO_BODY) || stream.tx->status == HTTP_CODE_RESET || isBodiless(stream);
}

/** The length of a body of which all is in queues. @return -1: it is not known. */
MprOff lengthInQueues(const HttpQueue* output, const HttpPacket* first) {
    MprOff length = 0;
    bool ended = false;
    const auto add = [&length, &ended](const HttpPacket* packet) {
        length += bytesOf(packet);
        ended = ended || (packet->flags & HTTP_PACKET_END);
    };
    add(first);
    for (const HttpQueue* q = output; q && !ended; q = q->prevQ) {
        const bool ours = q == output; // its procedures are this file's
        if (!ours && q->stage->outgoingService) {
            break; // which may change what is in its queue
        }
        for (const HttpPacket* each = q->first; each && !ended; each = each->next) { // what is behind is not sent
            add(each);
        }
        if (!ours && q->stage->outgoing) {
            break; // which may change what is before
        }
    }
    return ended ? length : -1;
}

// ---- Headers ----------------------------------------------------------------------------------------------------

/** Writes the head of a response into a buffer. */
class HeadWriter {
public:
    explicit HeadWriter(MprBuf* buf) : buf_(buf) {}

    void put(std::string_view text) {
        const auto size = static_cast<ssize>(text.size());
        if (size <= buf_->endbuf - buf_->end) [[likely]] { // which a call for each piece would take as long to find out
            std::memcpy(buf_->end, text.data(), text.size());
            buf_->end += size;
            return;
        }
        whole_ = mprPutBlockToBuf(buf_, text.data(), size) == size && whole_;
    }
    /** Whether there was memory for all of it. */
    bool isWhole() const { return whole_; }
    void line(std::string_view name, std::string_view value) {
        put(name);
        put(": ");
        put(value);
        put("\r\n");
    }
    void line(std::string_view name, MprOff number) {
        char digits[24];
        const char* end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
        line(name, std::string_view(digits, static_cast<std::size_t>(end - digits)));
    }
    void status(int code) {
        if (code == HTTP_CODE_OK) {
            put("HTTP/1.1 200 OK\r\n");
            return;
        }
        char digits[16];
        const int length = std::snprintf(digits, sizeof(digits), "%d", code);
        put("HTTP/1.1 ");
        put({digits, static_cast<std::size_t>(length)});
        put(" ");
        put(httpLookupStatus(code));
        put("\r\n");
    }

private:
    MprBuf* buf_;
    bool whole_ = true;
};

/** How the body's end will be found: by its length, by chunks, or by that of the connection. */
void chooseFraming(Stream& stream, MprOff length) {
    Tx& tx = stream.out();
    const bool noLength = tx.flags & HTTP_TX_NO_LENGTH;
    if (tx.length < 0 && length >= 0 && !noLength && tx.chunkSize <= 0) {
        tx.length = length;
    }
    if (tx.length < 0 || noLength) {
        tx.chunks = stream.in().versionMinor > 0 && tx.chunkSize != 0;
        tx.closes = tx.closes || !tx.chunks;
    }
}

/** Whether the connection can take another request after this one. */
bool mustClose(const Stream& stream) {
    constexpr MprOff mostDrained = 64 * 1024; // bytes of a body that nobody wants: less than a new connection costs
    const Rx& rx = stream.in();
    if (!rx.keepsAlive || stream.keepAliveCount <= 1 || stream.net->closes || stream.disconnect || stream.http->ended) {
        return true;
    }
    if (rx.eof) {
        return false;
    }
    const bool unwanted = stream.tx->finalized || stream.tx->finalizedInput;
    return unwanted && (rx.expects || rx.length < 0 || rx.length - rx.bytesRead > mostDrained);
}

/** @param hasType The program has set Content-Type. */
void writeBodyHeaders(const Stream& stream, HeadWriter& writer, bool noBody, bool hasType) {
    const Tx& tx = stream.out();
    if (hasNoContent(tx.status)) {
        return;
    }
    const bool isType = tx.mimeType && isFieldValue(tx.mimeType); // a program may have got it from a client
    if (isType && !hasType && (tx.length != 0 || noBody)) {
        writer.line("Content-Type", tx.mimeType);
    }
    if (noBody && tx.length < 0) {
        return;
    }
    if (tx.chunks) {
        writer.line("Transfer-Encoding", "chunked");
    } else if (tx.length >= 0 && !(tx.flags & HTTP_TX_NO_LENGTH) && tx.status != HTTP_CODE_NOT_MODIFIED) {
        writer.line("Content-Length", tx.length);
    }
}

/** Which of the headers that are sent in any case the program has set. */
struct SetHeaders {
    bool date = false, type = false;
};

SetHeaders writeSetHeaders(const Stream& stream, HeadWriter& writer) {
    SetHeaders set;
    MprKey* kp = nullptr;
    while ((kp = mprGetNextKey(stream.tx->headers, kp))) {
        const std::string_view name = kp->key;
        set.date = set.date || same(name, "Date");
        set.type = set.type || same(name, "Content-Type");
        writer.line(name, static_cast<const char*>(kp->data));
    }
    while ((kp = mprGetNextKey(stream.tx->cookies, kp))) {
        writer.line("Set-Cookie", static_cast<const char*>(kp->data));
    }
    return set;
}

/** @return The head; nullptr when memory is short. */
HttpPacket* makeHead(Stream& stream, const HttpQueue* q, const HttpPacket* first) {
    Tx& tx = stream.out();
    applyHeaders(stream);
    const bool noBody = hasNoBody(stream);
    if (noBody && !isBodiless(stream)) { // a client has to be told, or it waits for one
        tx.length = 0;
        tx.flags &= ~HTTP_TX_NO_LENGTH;
    }
    tx.closes = tx.closes || mustClose(stream);
    if (!noBody || tx.length >= 0 || (tx.finalizedOutput && !(tx.flags & HTTP_TX_NO_BODY))) {
        chooseFraming(stream, lengthInQueues(q, first));
    }
    HttpPacket* head = httpCreateHeaderPacket();
    if (!head) {
        return nullptr;
    }
    HeadWriter writer(head->content);
    writer.status(tx.status);
    const SetHeaders set = writeSetHeaders(stream, writer);
    if (!set.date) {
        writer.put({dateLine().text, DateLine::length});
    }
    if (stream.http->serverHeader) {
        writer.put(stream.http->serverHeader);
    }
    if (tx.closes) {
        writer.line("Connection", "close");
        stream.net->closes = true;
    } else if (stream.in().versionMinor == 0) {
        writer.line("Connection", "keep-alive");
    }
    writeBodyHeaders(stream, writer, noBody, set.type);
    writer.put("\r\n");
    if (!writer.isWhole()) {
        return nullptr;
    }
    tx.flags |= HTTP_TX_HEADERS_CREATED | (noBody ? HTTP_TX_NO_BODY : 0);
    tx.responded = true;
    tx.chunks = tx.chunks && !noBody;
    return head;
}

// ---- The body ---------------------------------------------------------------------------------------------------

/** "size\r\n" before the data of a chunk, and the end of the one before it. */
bool putChunkPrefix(Tx& tx, HttpPacket* packet, ssize size) {
    char text[32];
    const char* begin = tx.sent > 0 ? "\r\n" : "";
    const int length = size > 0 ? std::snprintf(text, sizeof(text), "%s%zx\r\n", begin, static_cast<std::size_t>(size))
                                : std::snprintf(text, sizeof(text), "%s0\r\n\r\n", begin);
    MprBuf* prefix = mprCreateBuf(length, 0);
    if (!prefix) {
        return false;
    }
    mprPutBlockToBuf(prefix, text, length);
    setRef(packet, packet->prefix, prefix);
    return true;
}

/** Put back the bytes that a packet stands for beyond some. @return false when memory is short. */
bool cutTo(HttpQueue* q, HttpPacket* packet, ssize most) {
    if (packet->esize > most) {
        httpPutBackPacket(q, httpSplitPacket(packet, most));
    }
    return packet->esize <= most;
}

/** Get the bytes that a packet stands for, some at least. Those beyond a packet's size are put back. */
bool fillPacket(HttpQueue* q, HttpPacket* packet) {
    if (!cutTo(q, packet, q->packetSize)) {
        return false;
    }
    const auto size = static_cast<ssize>(packet->esize);
    if (!packet->content) {
        setRef(packet, packet->content, mprCreateBuf(size, 0));
    }
    packet->esize = 0;
    const ssize count = packet->content ? callFill(q, packet, packet->fill, packet->epos, size) : 0;
    packet->esize = count > 0 ? size : 0;
    const bool isCut = count > 0 && count <= size && cutTo(q, packet, count); // what did not come at once
    packet->esize = 0;
    return isCut;
}

/** Whether the connection may send bytes straight from their file. Few bytes of several parts go out in one write. */
bool goesFromFile(const HttpQueue* q, const HttpPacket* packet) {
    constexpr MprOff least = 16 * 1024;
    const Stream& stream = *own(q->stream);
    return isOfDocument(packet) && (packet->esize >= least || packet->esize == stream.tx->length) &&
           !stream.out().chunks && !stream.secure && mprGetFileFd(stream.tx->file) >= 0;
}

constexpr char tooLong[] = "the response has more bytes than are allowed";
constexpr ssize mostOfFile = 1024 * 1024; // of a file that a connection is given at a time

/** A response that breaks its own promise: the client must not take what came for all. */
void breakOff(Stream& stream, const char* why) {
    httpError(&stream, HTTP_CODE_INTERNAL_SERVER_ERROR | HTTP_ABORT, "%s", why);
}

/** A piece of a response is lost for want of memory. It may be one of an error document. */
void breakOffForMemory(Stream& stream) {
    httpMemoryError(&stream);
    breakOff(stream, "memory is short");
}

void sendData(HttpQueue* q, Stream& stream, HttpPacket* packet) {
    Tx& tx = stream.out();
    if (tx.flags & HTTP_TX_NO_BODY) {
        return;
    }
    const bool isThere =
        goesFromFile(q, packet) ? cutTo(q, packet, mostOfFile) : packet->esize <= 0 || fillPacket(q, packet);
    if (!isThere) {
        breakOff(stream, "what was to be sent cannot be read");
        return;
    }
    const ssize size = lengthOf(packet);
    if (size == 0) {
        return;
    }
    if (!tx.chunks && tx.length >= 0 && tx.sent + size > tx.length) {
        breakOff(stream, "more is written than Content-Length says");
        return;
    }
    if (stream.limits->txBodySize > 0 && !stream.error && tx.sent + size > stream.limits->txBodySize) {
        breakOff(stream, tooLong);
        return;
    }
    if (tx.chunks && !putChunkPrefix(tx, packet, size)) {
        breakOffForMemory(stream);
        return;
    }
    tx.sent += size;
    tx.bytesWritten += size;
    send(*q->net, packet);
}

void sendEnd(HttpQueue* q, Stream& stream, HttpPacket* packet) {
    Tx& tx = stream.out();
    tx.endSent = true;
    if (tx.chunks) {
        if (!putChunkPrefix(tx, packet, 0)) {
            breakOffForMemory(stream);
            return;
        }
        send(*q->net, packet);
    } else if (!(tx.flags & HTTP_TX_NO_BODY) && tx.length >= 0 && tx.sent < tx.length) {
        breakOff(stream, "less is written than Content-Length says");
    }
}

/** Get the bytes that the first packet of a response stands for: as long as there is no head, their want can be told. */
bool fillFirst(HttpQueue* q, Stream& stream, HttpPacket* packet) {
    if (packet->esize == 0 || isOfDocument(packet) || hasNoBody(stream) || fillPacket(q, packet)) {
        return true;
    }
    if (packet->content) {
        httpError(&stream, HTTP_CODE_INTERNAL_SERVER_ERROR, "what was to be sent cannot be read");
    } else {
        httpMemoryError(&stream);
    }
    return false;
}

/** As long as there is no head, a client can be told that its response is too long. An error document has no limit. */
bool isWithinLimit(HttpQueue* q, Stream& stream, const HttpPacket* packet) {
    const MprOff most = stream.limits->txBodySize;
    if (most <= 0 || stream.error || hasNoBody(stream)) {
        return true;
    }
    const MprOff length = std::max({stream.tx->length, lengthInQueues(q, packet), bytesOf(packet)});
    if (length > most) {
        httpError(&stream, HTTP_CODE_INTERNAL_SERVER_ERROR, "%s", tooLong);
    }
    return length <= most;
}

void sendPacket(HttpQueue* q, Stream& stream, HttpPacket* packet) {
    if (stream.out().endSent) {
        return; // data after an end would be the start of the next response
    }
    if (!(stream.tx->flags & HTTP_TX_HEADERS_CREATED)) {
        if (!fillFirst(q, stream, packet) || !isWithinLimit(q, stream, packet)) {
            return;
        }
        HttpPacket* head = makeHead(stream, q, packet);
        if (!head && !stream.error) {
            httpMemoryError(&stream);
            return;
        }
        if (!head) {
            failForMemory(*q->net);
            return;
        }
        send(*q->net, head);
    }
    if (packet->flags & HTTP_PACKET_END) {
        sendEnd(q, stream, packet);
    } else {
        sendData(q, stream, packet);
    }
}

void serviceOutput(HttpQueue* q) {
    Stream& stream = *own(q->stream);
    HttpNet& net = *q->net;
    while (q->first && !net.failed && !stream.gone) {
        if (net.outCount > q->low) { // enough for the next write: more would be memory that only waits
            q->flags |= HTTP_QUEUE_SUSPENDED;
            setRef(&net, net.waitingQueue, q);
            return;
        }
        sendPacket(q, stream, httpGetPacket(q));
    }
}

/** Whether a packet may go to the connection as it comes: where this queue would be serviced next, and nothing of the
    program's runs before. Until then headers may be set. */
bool goesOn(HttpQueue* q) {
    const HttpQueue* from = q->prevQ;
    const HttpNet& net = *q->net;
    return from && net.inTurn == from && !from->stage->outgoingService && !net.firstScheduled && !q->first &&
           !(q->flags & (HTTP_QUEUE_SERVICED | HTTP_QUEUE_SUSPENDED)) && net.outCount <= q->low && !net.failed &&
           !own(q->stream)->gone;
}

void takeOutput(HttpQueue* q, HttpPacket* packet) {
    if (!goesOn(q)) {
        httpPutForService(q, packet, true);
        return;
    }
    asService(q, [q, packet] { sendPacket(q, *own(q->stream), packet); });
    if (q->first) { // what was more than one packet takes
        httpScheduleQueue(q);
    }
}
} // namespace

bool defineConnector(Http& http) {
    HttpStage* stage = defineStage(http, "netConnector", HTTP_STAGE_CONNECTOR);
    if (stage) {
        stage->outgoing = takeOutput;
        stage->outgoingService = serviceOutput;
    }
    setRef(&http, http.connector, stage);
    // What this stage does itself: a program may name it.
    return stage && defineStage(http, "chunkFilter", HTTP_STAGE_FILTER);
}

} // namespace mpr::http
