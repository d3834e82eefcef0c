// SPDX-License-Identifier: MIT
/*
    test/fuzz/http_site.hpp - A site that has something of all: documents, forms, sessions, handlers that stream and
    suspend, filters. What a client asks for it can set: status, headers, lengths, also wrong ones.
 */
#pragma once

#include "mpr.h"
#include "mpr/http.h"
#include "test/support/http_answers.hpp"

#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace fuzz {

using namespace test;

inline std::map<std::string, std::string> documents; /* By their names */
inline std::vector<uint64> suspended;                /* Streams that wait to be woken */

/* ---- Actions ---- */

inline void answerWith(HttpStream *stream, const std::string &body) {
    if (!stream->error) { /* Parameters may have failed it: its answer is the error's */
        httpSetHeaderString(stream, "X-Sum", crcOf(body).c_str());
    }
    httpWriteBlock(stream->writeq, body.data(), static_cast<ssize>(body.size()), HTTP_BUFFER);
    httpFinalize(stream);
}
inline std::string param(HttpStream *stream, cchar *name) {
    return httpGetParam(stream, name, "");
}
inline int number(HttpStream *stream, cchar *name, int most) {
    const int value = httpGetIntParam(stream, name, 0);
    return value < 0 ? 0 : value > most ? most : value;
}
inline std::string pattern(int size) {
    std::string text(static_cast<size_t>(size), ' ');
    for (size_t i = 0; i < text.size(); i++) {
        text[i] = static_cast<char>('a' + i * i / 7 % 26);
    }
    return text;
}

inline void hello(HttpStream *stream) {
    httpWriteString(stream->writeq, "hello");
    httpFinalize(stream);
}
inline void body(HttpStream *stream) {
    const ssize length = httpGetReadCount(stream);
    answerWith(stream, std::string(httpGetBodyInput(stream), static_cast<size_t>(length)));
}
inline void readPieces(HttpStream *stream) {
    char bytes[100];
    std::string all;
    for (ssize count; (count = httpRead(stream, bytes, sizeof(bytes))) > 0;) {
        all.append(bytes, static_cast<size_t>(count));
    }
    answerWith(stream, all);
}
inline void form(HttpStream *stream) {
    cchar *params = httpGetParamsString(stream);
    std::string text = params ? params : "";
    HttpUploadFile *file;
    int next;
    for (MPR_ITERATE_ITEMS(stream->rx->files, file, next)) {
        MprPath info{};
        expect(mprGetPathInfo(file->filename, &info) == 0 && info.size == file->size, "a file of a form is another");
        text += std::string(file->name) + "=" + file->clientFilename + ";";
    }
    answerWith(stream, text);
}
inline void session(HttpStream *stream) {
    const std::string before = httpGetSessionVar(stream, "v", "none");
    if (httpGetParam(stream, "end", nullptr)) {
        httpDestroySession(stream);
    } else {
        httpSetSessionVar(stream, "v", param(stream, "v").c_str());
    }
    answerWith(stream, before);
}
inline void headers(HttpStream *stream) {
    const std::string name = param(stream, "name"), value = param(stream, "value");
    httpSetHeaderString(stream, name.c_str(), value.c_str());
    httpAddHeaderString(stream, "X-Added", value.c_str());
    httpAppendHeaderString(stream, "X-Added", value.c_str());
    httpSetCookie(stream, name.c_str(), value.c_str(), param(stream, "path").c_str(), nullptr, 0, 0);
    httpSetContentType(stream, param(stream, "type").c_str());
    httpSetStatus(stream, httpGetIntParam(stream, "status", 200));
    answerWith(stream, value);
}
inline void redirect(HttpStream *stream) {
    httpWriteString(stream->writeq, "dropped");
    httpRedirect(stream, httpGetIntParam(stream, "status", 302), param(stream, "to").c_str());
}
inline void error(HttpStream *stream) {
    httpWriteString(stream->writeq, "dropped");
    if (httpGetParam(stream, "flush", nullptr)) {
        httpFlush(stream);
    }
    httpError(stream, (httpGetIntParam(stream, "status", 400) & 0xFFF) | (number(stream, "flags", 3) << 16), "%s",
              param(stream, "text").c_str());
}
inline void lengths(HttpStream *stream) {
    httpSetContentLength(stream, number(stream, "says", 10000));
    if (httpGetParam(stream, "chunk", nullptr)) {
        httpSetChunkSize(stream, number(stream, "chunk", 1000));
    }
    const std::string text = pattern(number(stream, "has", 10000));
    httpWriteBlock(stream->writeq, text.data(), static_cast<ssize>(text.size()), HTTP_BUFFER);
    httpFinalize(stream);
}
inline void pieces(HttpStream *stream) {
    httpSetChunkSize(stream, number(stream, "chunk", 1000));
    const std::string text = pattern(number(stream, "has", 3000));
    httpSetHeaderString(stream, "X-Sum", crcOf(text).c_str());
    for (size_t at = 0; at < text.size(); at += 100) {
        const std::string piece = text.substr(at, 100);
        httpWriteBlock(stream->writeq, piece.data(), static_cast<ssize>(piece.size()), HTTP_BUFFER);
        httpFlush(stream);
    }
    if (httpGetParam(stream, "omit", nullptr)) {
        httpOmitBody(stream);
    }
    httpFinalize(stream);
    httpFlush(stream);
}
inline void suspend(HttpStream *stream) {
    suspended.push_back(stream->seqno);
}
inline void leave(HttpStream *stream) {
    httpWriteString(stream->writeq, "some");
    httpDisconnectStream(stream);
}

/* ---- Stages ---- */

/* Sends a pattern as there is room, whatever comes. Its data counts what was sent. */
inline void sendPattern(HttpQueue *q) {
    HttpStream *stream = q->stream;
    const std::string text = pattern(number(stream, "n", 50000));
    auto *sent = static_cast<int *>(stream->data);
    if (!sent) {
        stream->data = sent = static_cast<int *>(mprAllocZeroed(sizeof(int)));
        httpSetHeaderString(stream, "X-Sum", crcOf(text).c_str());
        httpSetContentType(stream, "text/plain");
    }
    const ssize count = httpWriteBlock(q, text.data() + *sent, static_cast<ssize>(text.size()) - *sent, HTTP_NON_BLOCK);
    *sent += count > 0 ? static_cast<int>(count) : 0;
    if (static_cast<size_t>(*sent) == text.size()) {
        httpFinalize(stream);
    } else if (httpGetParam(stream, "pause", nullptr)) {
        HttpQueue *ends[] = {stream->writeq, stream->outputq, stream->readq, stream->inputq};
        httpSuspendQueue(ends[number(stream, "pause", 3)]);
        suspended.push_back(stream->seqno);
    }
}
inline void dropBody(HttpQueue *, HttpPacket *) {}

/* Lets one packet through an event. */
inline void goOn(void *data, MprEvent *) {
    httpResumeQueue(static_cast<HttpQueue *>(data), true);
}
inline void passOne(HttpQueue *q) {
    HttpPacket *packet = httpGetPacket(q);
    if (!packet) {
        return;
    }
    if (!httpWillNextQueueAcceptPacket(q, packet)) {
        httpPutBackPacket(q, packet);
        return;
    }
    httpPutPacketToNext(q, packet);
    if (q->first) {
        httpSuspendQueue(q);
        mprCreateEvent(q->stream->dispatcher, "rate", 0, goOn, q, 0);
    }
}

inline void wake(HttpStream *stream, void *) {
    if (!stream) {
        return;
    }
    if (stream->tx->handler && smatch(stream->tx->handler->name, "sender")) {
        for (HttpQueue *q : {stream->writeq, stream->outputq, stream->readq, stream->inputq}) {
            httpResumeQueue(q, false);
        }
        sendPattern(stream->writeq);
    } else {
        answerWith(stream, "woken");
    }
}
inline bool wakeAll() {
    const std::vector<uint64> all = std::move(suspended);
    suspended.clear();
    for (const uint64 seqno : all) {
        expect(httpCreateEvent(seqno, wake, nullptr) == 0, "no event");
    }
    return !all.empty();
}

/* ---- Routes ---- */

inline void writeDocument(const std::string &folder, const std::string &name, const std::string &text) {
    FILE *file = fopen((folder + "/" + name).c_str(), "w");
    expect(file && fwrite(text.data(), 1, text.size(), file) == text.size() && fclose(file) == 0, "no document");
    documents[folder + "/" + name] = text;
}

inline void defineRoute(cchar *path, cchar *handler, cchar *filter, int direction) {
    HttpRoute *route = httpCreateInheritedRoute(nullptr);
    httpSetRoutePattern(route, path, 0);
    expect(httpSetRouteHandler(route, handler) == 0, "no handler");
    if (filter) {
        httpAddRouteFilter(route, filter, nullptr, direction);
    }
    httpFinalizeRoute(route);
}

inline void setLimits() {
    HttpLimits *limits = httpGetLimits();
    limits->packetSize = 2048;
    limits->keepAliveMax = 20;
    limits->uploadSize = 3000;
    limits->rxFormSize = 2000;
    limits->rxBodySize = 20000;
    limits->txBodySize = 200000;
}

inline void makeSite(const std::string &folder) {
    mkdir((folder + "/sub").c_str(), 0700);
    writeDocument(folder, "index.html", "<html>index</html>");
    writeDocument(folder, "a.txt", "0123456789");
    writeDocument(folder, "b.txt", pattern(5000));
    writeDocument(folder, "c.bin", pattern(60000));
    writeDocument(folder, "empty.txt", "");
    writeDocument(folder, "missing.html", "<html>none</html>");
    writeDocument(folder, "sub/index.html", "<html>sub</html>");
    setLimits();
    HttpRoute *all = httpGetDefaultRoute(nullptr);
    httpSetRouteDocuments(all, folder.c_str());
    httpAddRouteErrorDocument(all, 404, "/missing.html");
    const struct {
        cchar *path;
        HttpAction call;
    } actions[] = {{"/hello", hello},     {"/body", body},       {"/read", readPieces}, {"/form", form},
                   {"/session", session}, {"/headers", headers}, {"/error", error},     {"/redirect", redirect},
                   {"/lengths", lengths}, {"/pieces", pieces},   {"/leave", leave},     {"/suspend", suspend}};
    for (const auto &each : actions) {
        httpDefineAction(each.path, each.call);
    }
    HttpStage *sender = httpCreateHandler("sender", nullptr);
    sender->start = sender->writable = sendPattern;
    sender->incoming = dropBody;
    HttpStage *rate = httpCreateFilter("rate", nullptr);
    rate->outgoingService = rate->incomingService = passOne;
    defineRoute("/stream", "sender", nullptr, 0);
    defineRoute("/zstream", "sender", "gzipFilter", HTTP_STAGE_TX);
    defineRoute("/rstream", "sender", "rate", HTTP_STAGE_TX);
    for (cchar *path : {"/gz", "/rate"}) { /* The same documents below other paths */
        HttpRoute *route = httpCreateAliasRoute(all, path, folder.c_str(), 0);
        httpAddRouteFilter(route, path[1] == 'g' ? "gzipFilter" : "rate", nullptr, HTTP_STAGE_TX);
    }
    HttpRoute *slow = httpCreateActionRoute(all, "/slow", body);
    httpAddRouteFilter(slow, "rate", nullptr, HTTP_STAGE_RX);
    httpCreateAliasRoute(all, "/old", "/hello", 301);
}

} // namespace fuzz
