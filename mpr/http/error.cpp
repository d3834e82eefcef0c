// SPDX-License-Identifier: MIT
/*
    error.cpp - Requests that fail, and what their clients are told.

    As long as nothing of a response is on its way it becomes an error document, which goes straight to the connector:
    what a handler or a filter has begun is dropped. After that the connection is cut, for a client must not take a
    part for all.
 */
#include <cstdarg>
#include <cstring>

#include "mpr/encode.h"
#include "mpr/http/grammar.hpp"
#include "mpr/http/net.hpp"
#include "mpr/http/route.hpp"
#include "mpr/http/uri.hpp"
#include "mpr/log.h"
#include "mpr/string.h"

namespace mpr::http {

namespace {

constinit char memoryIsShort[] = "memory is short";

/** The text that people see. */
char* documentFor(int status, const char* message) {
    const char* title = httpLookupStatus(status);
    return sfmt(
        "<!DOCTYPE html>\n<html><head><title>%d %s</title></head>\n<body><h1>%d %s</h1><p>%s</p></body></html>\n",
        status, title, status, title, mprEscapeHtml(message));
}

/** A document of the program's for this status: its client is sent there. */
const char* ownDocument(const Stream& stream, int status) {
    const HttpRoute* route = stream.rx->route;
    return route && route->errorDocuments ? static_cast<const char*>(mprLookupKey(route->errorDocuments, itos(status)))
                                          : nullptr;
}

/** Whether a request is for a document itself, which its client would be sent to again and again. */
bool isFor(const Stream& stream, const char* uri) {
    const HttpUri *parsed = readUri(uri), *asked = stream.rx->parsedUri;
    return !parsed || !asked || viewOf(parsed->path) == viewOf(asked->path);
}

void sendDocument(Stream& stream, int status, const char* message) {
    Tx& tx = stream.out();
    dropOutput(stream);
    MprHash* kept = tx.headers;
    setRef(&tx, tx.headers, mprCreateHash(0, MPR_HASH_CASELESS | MPR_HASH_STABLE));
    if (!tx.headers) {
        failForMemory(*stream.net);
        return;
    }
    for (const char* name : {"Allow", "Retry-After", "WWW-Authenticate", "Content-Range"}) {
        if (const void* value = mprLookupKey(kept, name)) {
            mprAddKey(tx.headers, name, value);
        }
    }
    if (status != HTTP_CODE_RANGE_NOT_SATISFIABLE) { // it was of what is sent no more
        httpRemoveHeader(&stream, "Content-Range");
    }
    if (status == HTTP_CODE_SERVICE_UNAVAILABLE) {
        httpAddHeaderString(&stream, "Retry-After", "1");
    }
    tx.status = status;
    tx.flags &= ~HTTP_TX_NO_BODY;
    tx.chunkSize = -1;
    httpSetHeaderString(&stream, "Cache-Control", "no-store");
    if (const char* uri = ownDocument(stream, status)) {
        if (documentError(stream, status)) {
            return;
        }
        if (!isFor(stream, uri)) {
            tx.status = HTTP_CODE_MOVED_TEMPORARILY;
            httpSetHeaderString(&stream, "Location", uri);
        }
    }
    httpSetContentType(&stream, "text/html; charset=utf-8");
    answer(stream, viewOf(documentFor(status, message)));
}

/** No more of a response, or of the connection. */
void cut(Stream& stream) {
    stream.disconnect = true;
    stream.tx->finalized = stream.tx->finalizedInput = stream.tx->finalizedOutput = true;
    stream.net->failed = true;
}

void failWith(Stream& stream, int flags, char* message) {
    const int code = flags & HTTP_CODE_MASK;
    const int status = code >= HTTP_CODE_OK && code <= 999 ? code : HTTP_CODE_INTERNAL_SERVER_ERROR;
    HttpNet& net = *stream.net;
    if (stream.gone || stream.state == HTTP_STATE_COMPLETE) { // its connection is another request's, soon
        return;
    }
    if (flags & HTTP_CLOSE) {
        stream.out().closes = true;
    }
    if (stream.error) {
        if (flags & HTTP_ABORT) { // what has failed may fail again in its error document
            cut(stream);
            pumpSoon(net);
        }
        return;
    }
    stream.error = true;
    if (message == memoryIsShort) {
        setText(stream.errorMsg, memoryIsShort);
    } else {
        setRef(&stream, stream.errorMsg, message);
    }
    const bool isOurs = status == HTTP_CODE_INTERNAL_SERVER_ERROR || message == memoryIsShort;
    const int level = isOurs ? 0 : 2; // what is wrong here, and what clients do
    mprLog("http error", level, "%s port %d: %s %s: %d %s", stream.ip ? stream.ip : "?", stream.port,
           stream.rx->method ? stream.rx->method : "-", stream.rx->originalUri ? stream.rx->originalUri : "-", status,
           message ? message : "");
    if ((flags & HTTP_ABORT) || (stream.tx->flags & HTTP_TX_HEADERS_CREATED)) {
        cut(stream);
    } else {
        const bool tell = status < HTTP_CODE_INTERNAL_SERVER_ERROR && message;
        sendDocument(stream, status, tell ? message : "");
    }
    notify(stream, HTTP_EVENT_ERROR, 0);
    pumpSoon(net);
}

void failSaying(Stream& stream, int flags, const char* format, va_list args) {
    failWith(stream, flags, sfmtv(format, args));
}
} // namespace

void fail(Stream& stream, int status, const char* format, ...) {
    va_list args;
    va_start(args, format);
    failSaying(stream, status, format, args);
    va_end(args);
}

} // namespace mpr::http

using namespace mpr::http;

void httpError(HttpStream* stream, int status, cchar* fmt, ...) {
    if (stream && mayChange("httpError", *stream)) {
        va_list args;
        va_start(args, fmt);
        failSaying(*own(stream), status, fmt, args);
        va_end(args);
    }
}

void httpBadRequestError(HttpStream* stream, int status, cchar* fmt, ...) {
    if (stream && mayChange("httpBadRequestError", *stream)) {
        va_list args;
        va_start(args, fmt);
        failSaying(*own(stream), status | HTTP_CLOSE, fmt, args);
        va_end(args);
    }
}

void httpLimitError(HttpStream* stream, int status, cchar* fmt, ...) {
    if (stream && mayChange("httpLimitError", *stream)) {
        va_list args;
        va_start(args, fmt);
        failSaying(*own(stream), status, fmt, args);
        va_end(args);
    }
}

void httpMemoryError(HttpStream* stream) {
    if (stream && mayChange("httpMemoryError", *stream)) {
        failWith(*own(stream), HTTP_CODE_SERVICE_UNAVAILABLE | HTTP_CLOSE, memoryIsShort);
    }
}

cchar* httpGetError(HttpStream* stream) {
    return stream && stream->errorMsg ? stream->errorMsg : "";
}

void httpFormatError(HttpStream* stream, int status, cchar* fmt, ...) {
    if (!stream || (stream->tx->flags & HTTP_TX_HEADERS_CREATED)) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    char* message = sfmtv(fmt, args);
    va_end(args);
    httpDiscardQueueData(stream->writeq, true);
    httpSetContentLength(stream, -1); // of what was written
    httpSetStatus(stream, status);
    httpSetContentType(stream, "text/html; charset=utf-8");
    httpWriteString(stream->writeq, documentFor(status, message ? message : ""));
}
