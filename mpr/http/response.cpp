// SPDX-License-Identifier: MIT
/*
    response.cpp - What a client is sent: the C API of mpr/http/response.h.
 */
#include <algorithm>
#include <cstdarg>

#include "mpr/base/retain.hpp"
#include "mpr/embed.h"
#include "mpr/encode.h"
#include "mpr/http/grammar.hpp"
#include "mpr/http/net.hpp"
#include "mpr/http/packet.hpp"
#include "mpr/http/uri.hpp"
#include "mpr/log.h"
#include "mpr/string.h"

namespace mpr::http {

namespace {

/** The queue of the connector, which there may not be yet. */
HttpQueue* output(Stream& stream) {
    if (!stream.outputq) {
        setRef(&stream, stream.outputq, makeQueue(stream, stream.http->connector, HTTP_QUEUE_TX));
    }
    return stream.outputq;
}

/** Whether nothing can be set any more, of which the log is told. */
bool isLate(const HttpStream* stream, cchar* key) {
    if (stream->tx->flags & HTTP_TX_HEADERS_CREATED) {
        mprLog("http", 3, "%s is set too late: the headers have been sent", key);
        return true;
    }
    return false;
}

bool isHeader(cchar* key, cchar* value) {
    if (!isToken(key) || !isFieldValue(value)) {
        mprLog("error http", 0, "the header %s is none, and is not sent", key);
        return false;
    }
    return true;
}

/** Headers that say how the body ends are not set as text. @return Whether it was one. */
bool isFraming(HttpStream* stream, cchar* key, cchar* value) {
    if (same(key, "Content-Length")) {
        httpSetContentLength(stream, stoi(value));
        return true;
    }
    if (same(key, "Connection")) {
        own(stream)->out().closes = own(stream)->out().closes || hasWord(value, "close");
        return !hasWord(value, "upgrade");
    }
    return same(key, "Transfer-Encoding");
}

enum class How { set, add, append };

/** @param given What value was made of: without memory there is none. A header less may mean something else. */
void putHeader(HttpStream* stream, cchar* key, cchar* given, char* value, How how) {
    if (stream && key && given && !value) {
        httpMemoryError(stream);
        return;
    }
    if (!stream || !key || !value || isLate(stream, key) || !isHeader(key, value) || isFraming(stream, key, value)) {
        return;
    }
    MprHash* headers = stream->tx->headers;
    const auto* before = static_cast<const char*>(how == How::set ? nullptr : mprLookupKey(headers, key));
    if (how == How::add && before) {
        return;
    }
    if (how == How::append && before) {
        if (same(key, "Set-Cookie")) {
            if (!mprAddDuplicateKey(headers, key, value)) {
                httpMemoryError(stream);
            }
            return;
        }
        value = sjoin(before, ", ", value, nullptr);
    }
    if (!value || !mprAddKey(headers, key, value)) {
        httpMemoryError(stream);
    }
}

/** The packet at the end of a queue, if it takes more. */
HttpPacket* openPacket(const HttpQueue* q) {
    HttpPacket* last = q->last;
    const bool open = last && (last->flags & HTTP_PACKET_DATA) && !(last->flags & HTTP_PACKET_SOLO) && last->content &&
                      last->esize == 0 && httpGetPacketContents(last) < q->packetSize;
    return open ? last : nullptr;
}

/** Put bytes at the end of a queue. @return How many: all, or fewer than what a packet takes. */
ssize putBytes(HttpQueue* q, cchar* buf, ssize size) {
    constexpr ssize leastRoom = 512;
    HttpPacket* packet = openPacket(q);
    const ssize count = std::min(size, q->packetSize - (packet ? httpGetPacketContents(packet) : 0));
    if (packet) {
        if (!putAll(packet->content, buf, count)) {
            return MPR_ERR_MEMORY;
        }
        addBytes(*q, count);
        http::count(own(q->stream)->memory, packet);
        if (q->count >= q->max) {
            q->flags |= HTTP_QUEUE_FULL;
        }
        return count;
    }
    packet = httpCreateDataPacket(std::max(count, leastRoom));
    if (!packet || mprPutBlockToBuf(packet->content, buf, count) != count) {
        return MPR_ERR_MEMORY;
    }
    httpPutForService(q, packet, false);
    return count;
}

bool isOver(const HttpQueue* q) {
    const Stream& stream = *own(q->stream);
    return stream.gone || stream.error || stream.tx->finalizedOutput || stream.net->failed;
}

/** A queue is full: have its bytes sent, and if that is not enough wait until there is room. @return false: the
    stream is over. */
bool awaitRoom(HttpQueue* q, bool waits) {
    if (!drains(*q)) { // there will be no room for as long as the call waits
        return !isOver(q);
    }
    return sendUntil(*q, [=] { return !waits || isOver(q) || q->count < q->max; }) && !isOver(q);
}

bool isInvalid(const HttpUri* uri) {
    return uri && !uri->valid;
}
} // namespace

void dropOutput(Stream& stream) {
    const auto drop = [](HttpQueue* q) {
        httpDiscardQueueData(q, true);
        while (httpGetPacket(q)) {} // ends
    };
    for (HttpQueue* q = stream.writeq; q && q != stream.outputq; q = q->nextQ) {
        drop(q);
    }
    drop(stream.outputq); // which filters are not linked to yet when they are asked whether they are wanted
}

void answer(Stream& stream, std::string_view body) {
    Tx& tx = stream.out();
    tx.finalized = tx.finalizedInput = tx.finalizedOutput = true;
    tx.length = -1;
    HttpQueue* q = output(stream);
    const auto length = static_cast<ssize>(body.size());
    HttpPacket* packet = q && length > 0 ? httpCreateDataPacket(length) : nullptr;
    HttpPacket* last = q ? httpCreateEndPacket() : nullptr;
    if (!last || (length > 0 && !packet)) {
        failForMemory(*stream.net);
        return;
    }
    if (packet) {
        mprPutBlockToBuf(packet->content, body.data(), length);
        httpPutForService(q, packet, false);
    }
    last->last = true;
    httpPutForService(q, last, true);
    if (stream.net->waitingQueue != q) { // a program's handler may have suspended it
        httpResumeQueue(q, false);
    }
}

} // namespace mpr::http

using namespace mpr::http;

// ---- Status and headers -----------------------------------------------------------------------------------------

void httpSetStatus(HttpStream* stream, int status) {
    if (stream && !isLate(stream, "the status")) {
        // Others below 200 are not the end of a response: the next one would be taken for it.
        const bool valid = (status >= HTTP_CODE_OK && status <= 999) || status == HTTP_CODE_SWITCHING_PROTOCOLS;
        stream->tx->status = valid ? status : HTTP_CODE_INTERNAL_SERVER_ERROR;
        stream->tx->responded = true;
    }
}

void httpSetHeaderString(HttpStream* stream, cchar* key, cchar* value) {
    putHeader(stream, key, value, value ? sclone(value) : nullptr, How::set);
}

void httpAddHeaderString(HttpStream* stream, cchar* key, cchar* value) {
    putHeader(stream, key, value, value ? sclone(value) : nullptr, How::add);
}

void httpAppendHeaderString(HttpStream* stream, cchar* key, cchar* value) {
    putHeader(stream, key, value, value ? sclone(value) : nullptr, How::append);
}

void httpSetHeader(HttpStream* stream, cchar* key, cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    putHeader(stream, key, fmt, fmt ? sfmtv(fmt, args) : nullptr, How::set);
    va_end(args);
}

void httpAddHeader(HttpStream* stream, cchar* key, cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    putHeader(stream, key, fmt, fmt ? sfmtv(fmt, args) : nullptr, How::add);
    va_end(args);
}

void httpAppendHeader(HttpStream* stream, cchar* key, cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    putHeader(stream, key, fmt, fmt ? sfmtv(fmt, args) : nullptr, How::append);
    va_end(args);
}

int httpRemoveHeader(HttpStream* stream, cchar* key) {
    if (stream && key && same(key, "Content-Length")) {
        const bool had = stream->tx->length >= 0;
        httpSetContentLength(stream, -1);
        return had ? 0 : MPR_ERR_CANT_FIND;
    }
    return stream && key ? mprRemoveKey(stream->tx->headers, key) : MPR_ERR_CANT_FIND;
}

cchar* httpGetTxHeader(HttpStream* stream, cchar* key) {
    return stream && key ? static_cast<cchar*>(mprLookupKey(stream->tx->headers, key)) : nullptr;
}

void httpSetContentType(HttpStream* stream, cchar* mimeType) {
    httpSetHeaderString(stream, "Content-Type", mimeType);
}

void httpSetContentLength(HttpStream* stream, MprOff length) {
    if (stream && !isLate(stream, "Content-Length")) {
        stream->tx->length = std::max(length, MprOff{-1});
    }
}

void httpSetChunkSize(HttpStream* stream, ssize size) {
    if (stream) {
        stream->tx->chunkSize = size;
    }
}

ssize httpGetChunkSize(HttpStream* stream) {
    return !stream ? 0 : stream->tx->chunkSize < 0 ? stream->limits->chunkSize : stream->tx->chunkSize;
}

void httpRedirect(HttpStream* stream, int status, cchar* uri) {
    if (!stream || (stream->tx->flags & HTTP_TX_HEADERS_CREATED)) {
        return;
    }
    status = status ? status : HTTP_CODE_MOVED_TEMPORARILY;
    dropOutput(*own(stream));
    httpSetStatus(stream, status);
    if (status < HTTP_CODE_MULTIPLE_CHOICES || status >= HTTP_CODE_BAD_REQUEST) {
        answer(*own(stream), {});
        return;
    }
    HttpUri* target = readUri(uri ? uri : "/");
    char* location = httpUriToString(httpResolveUri(stream, nullptr, target), 0);
    // Without memory nobody is sent elsewhere: clients keep where a page has moved for good.
    if (!location && !isInvalid(target) && !isInvalid(stream->rx->parsedUri)) {
        httpMemoryError(stream);
        return;
    }
    httpSetHeaderString(stream, "Location", location ? location : "/");
    httpSetContentType(stream, "text/html; charset=utf-8");
    answer(*own(stream),
           viewOf(sfmt("<!DOCTYPE html>\n<html><head><title>%s</title></head>\n<body><p>See <a href=\"%s\">there</a>."
                       "</p></body></html>\n",
                       httpLookupStatus(status), mprEscapeHtml(location ? location : "/"))));
}

// ---- The body ---------------------------------------------------------------------------------------------------

ssize httpWriteBlock(HttpQueue* q, cchar* buf, ssize size, int flags) {
    if (!q || !buf || size < 0) {
        return MPR_ERR_BAD_ARGS;
    }
    if (isOver(q) || !mayChange("httpWriteBlock", *q->stream)) {
        return MPR_ERR_BAD_STATE;
    }
    q->stream->tx->responded = true;
    ssize total = 0;
    while (total < size) {
        if (q->count >= q->max && !(flags & HTTP_BUFFER)) {
            const mpr::base::Hold kept(mprBlockOf(buf)); // filters that send the queue may yield
            const bool goesOn = awaitRoom(q, flags & HTTP_BLOCK);
            if (!goesOn || ((flags & HTTP_NON_BLOCK) && q->count >= q->max)) {
                break;
            }
        }
        const ssize count = putBytes(q, buf + total, size - total);
        if (count < 0) {
            return total > 0 ? total : count;
        }
        total += count;
        if (!keepsWithin(*q->net, HTTP_CODE_SERVICE_UNAVAILABLE)) {
            return MPR_ERR_MEMORY;
        }
    }
    if (total < size) {
        own(q->stream)->wantsRoom = true;
    }
    if (!(flags & HTTP_BUFFER)) {
        httpScheduleQueue(q);
    }
    return total > 0 || size == 0 || !isOver(q) ? total : MPR_ERR_BAD_STATE;
}

ssize httpWriteString(HttpQueue* q, cchar* s) {
    return s ? httpWriteBlock(q, s, slen(s), 0) : MPR_ERR_BAD_ARGS;
}

ssize httpWrite(HttpQueue* q, cchar* fmt, ...) {
    if (!q || !fmt) {
        return MPR_ERR_BAD_ARGS;
    }
    va_list args;
    va_start(args, fmt);
    char* text = sfmtv(fmt, args);
    va_end(args);
    return text ? httpWriteString(q, text) : MPR_ERR_MEMORY;
}

ssize httpFormatResponse(HttpStream* stream, cchar* fmt, ...) {
    if (!stream || !fmt || !stream->writeq) {
        return MPR_ERR_BAD_ARGS;
    }
    va_list args;
    va_start(args, fmt);
    char* text = sfmtv(fmt, args);
    va_end(args);
    httpDiscardQueueData(stream->writeq, true);
    httpSetContentLength(stream, -1); // of what was written
    return text ? httpWriteString(stream->writeq, text) : MPR_ERR_MEMORY;
}

void httpFlush(HttpStream* stream) {
    if (stream && stream->writeq) {
        httpFlushQueue(stream->writeq, 0);
    }
}

void httpFinalizeOutput(HttpStream* stream) {
    if (!stream || stream->tx->finalizedOutput || own(stream)->gone || !mayChange("httpFinalizeOutput", *stream)) {
        return;
    }
    stream->tx->finalizedOutput = stream->tx->responded = true;
    stream->tx->finalized = stream->tx->finalizedInput;
    HttpQueue* q = stream->writeq ? stream->writeq : output(*own(stream));
    HttpPacket* last = q ? httpCreateEndPacket() : nullptr;
    if (!last) {
        stream->net->failed = true;
        return;
    }
    last->last = true;
    httpPutForService(q, last, true);
}

void httpFinalizeInput(HttpStream* stream) {
    if (stream && !stream->tx->finalizedInput && mayChange("httpFinalizeInput", *stream)) {
        stream->tx->finalizedInput = true;
        stream->tx->finalized = stream->tx->finalizedOutput;
        pumpSoon(*stream->net);
    }
}

void httpFinalize(HttpStream* stream) {
    if (stream && !stream->tx->finalized && mayChange("httpFinalize", *stream)) {
        stream->tx->finalizedInput = true;
        httpFinalizeOutput(stream);
        stream->tx->finalized = true;
        pumpSoon(*stream->net);
    }
}

void httpOmitBody(HttpStream* stream) {
    if (stream && !isLate(stream, "the body")) {
        stream->tx->flags |= HTTP_TX_NO_BODY;
        if (!stream->tx->finalizedOutput) { // the end is to be sent
            dropOutput(*own(stream));
        }
    }
}

void httpSetResponded(HttpStream* stream) {
    if (stream) {
        stream->tx->responded = true;
    }
}
