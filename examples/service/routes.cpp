// SPDX-License-Identifier: MIT
/*
    routes.cpp - The actions: help, session, content, statistics. Each answers one request.

    A session or page that an action has found is safe without a root: this thread yields between requests, never in
    here. What a request refers to beyond that, its session and the body that is being sent, is a field of the HTTP
    room's that is marked: stream->data, packet->data.

    An allocation that returns NULL is answered 503: httpMemoryError.
 */
#include "service.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <initializer_list>

namespace service {
namespace {

constexpr char help[] = "An HTTP service in managed memory.\n"
                        "\n"
                        "GET    /                     this text\n"
                        "POST   /session              a new session; its cookie is sid\n"
                        "GET    /session              what is known of it: visits, recent paths\n"
                        "DELETE /session              end it\n"
                        "GET    /content/NAME?size=N  a page of N bytes, made when not in the cache\n"
                        "PUT    /content/NAME         store a page; POST does the same\n"
                        "DELETE /content/NAME         drop a page\n"
                        "GET    /stats                counters and memory, JSON\n";

constexpr std::string_view contentPrefix = "/content/";
constexpr std::size_t ordinarySize = 4096; // Of a generated page

Store* store; // Rooted by the caller that serves

bool is(HttpStream* stream, std::string_view method) {
    return stream->rx->method == method;
}

void answer(HttpStream* stream, int status, const char* text) {
    httpSetStatus(stream, status);
    httpWriteString(stream->writeq, text);
    httpFinalize(stream);
}

void showHelp(HttpStream* stream) {
    answer(stream, HTTP_CODE_OK, help);
}

/** Called when the headers of a request have come. */
void beginRequest(HttpStream* stream) {
    stream->tx->mimeType = "text/plain; charset=utf-8"; // Unless its action says otherwise
    const char* id = httpGetCookie(stream, "sid");
    Session* session = id ? store->sessions.use(id, mprGetTicks()) : nullptr;
    if (session && !session->remember(stream->rx->pathInfo)) {
        httpMemoryError(stream);
    }
    stream->data = session;
}

// ---- Sessions ----

void addSession(HttpStream* stream) {
    Session* session = store->sessions.add(mprGetTicks());
    if (!session) {
        httpMemoryError(stream);
        return;
    }
    httpSetStatus(stream, HTTP_CODE_CREATED);
    stream->tx->mimeType = "application/json";
    httpSetCookie(stream, "sid", session->id(), "/", nullptr, 0, HTTP_COOKIE_HTTP | HTTP_COOKIE_SAME_STRICT);
    httpWrite(stream->writeq, "{\"id\":\"%s\"}\n", session->id());
    httpFinalize(stream);
}

void describeSession(HttpStream* stream, Session& session) {
    MprBuf* text = mprCreateBuf(0, 0);
    if (!text) {
        httpMemoryError(stream);
        return;
    }
    mprPutToBuf(text, "{\"id\":\"%s\",\"visits\":%d,\"age\":%.3f,\"recent\":[", session.id(), ++session.visits,
                static_cast<double>(mprGetTicks() - session.born) / 1000);
    for (std::size_t ago = 0; const char* path = session.recent(ago); ++ago) {
        mprPutStringToBuf(text, ago ? "," : "");
        mprFormatJsonString(text, path);
    }
    mprPutStringToBuf(text, "]}\n");
    stream->tx->mimeType = "application/json";
    httpWriteBlock(stream->writeq, mprGetBufStart(text), mprGetBufLength(text), 0);
    httpFinalize(stream);
}

void onSession(HttpStream* stream) {
    auto* session = static_cast<Session*>(stream->data);
    if (is(stream, "POST")) {
        addSession(stream);
    } else if (!session) {
        answer(stream, HTTP_CODE_UNAUTHORIZED, "401 No session: POST /session gives one, the cookie sid shows it\n");
    } else if (is(stream, "DELETE")) {
        store->sessions.remove(session);
        answer(stream, HTTP_CODE_NO_CONTENT, "");
    } else {
        describeSession(stream, *session);
    }
}

// ---- Content ----

/** Put some bytes of a page into a packet, when the connection has room for them. */
std::ptrdiff_t copyPage(HttpQueue*, HttpPacket* packet, MprOff at, std::ptrdiff_t size) {
    return mprPutBlockToBuf(packet->content, static_cast<char*>(packet->data) + at, size);
}

/** Answer with a body that the packet keeps until it has been sent. */
void sendPage(HttpStream* stream, char* body, std::size_t size, const char* cache) {
    HttpPacket* packet = size > 0 ? httpCreateDataPacket(0) : nullptr;
    if (packet) {
        packet->data = body;
        packet->esize = static_cast<MprOff>(size);
        packet->fill = copyPage;
        httpPutForService(stream->writeq, packet, false);
    } else if (size > 0) {
        httpMemoryError(stream);
        return;
    }
    httpSetHeaderString(stream, "X-Cache", cache);
    httpFinalize(stream);
}

void readContent(HttpStream* stream, std::string_view name) {
    const std::string_view query = httpGetQueryString(stream);
    const bool sized = query.substr(0, 5) == "size=";
    std::size_t size = ordinarySize;
    if (sized) {
        const char* end = query.data() + query.size();
        const auto [rest, error] = std::from_chars(query.data() + 5, end, size);
        if (error != std::errc() || (rest != end && *rest != '&') || size == 0 || size > Content::largestPage) {
            answer(stream, HTTP_CODE_BAD_REQUEST, "400 size is a number of bytes, 1 to 1048576\n");
            return;
        }
    }
    Page* page = store->content.use(name);
    if (page && (page->stored || !sized || page->size == size)) {
        bump(store->board.hits);
        sendPage(stream, page->body.get(), page->size, "hit");
        return;
    }
    bump(store->board.misses);
    char* body = generatePage(name, size);
    if (!body || store->content.store(name, body, size, false) == Content::Stored::noMemory) {
        httpMemoryError(stream);
        return;
    }
    sendPage(stream, body, size, "miss");
}

void writeContent(HttpStream* stream, std::string_view name) {
    const auto size = static_cast<std::size_t>(httpGetReadCount(stream));
    char* body = httpReadString(stream);
    switch (body ? store->content.store(name, body, size, true) : Content::Stored::noMemory) {
    case Content::Stored::created:
        httpSetHeaderString(stream, "Location", stream->rx->pathInfo);
        answer(stream, HTTP_CODE_CREATED, "stored\n");
        break;
    case Content::Stored::replaced: answer(stream, HTTP_CODE_NO_CONTENT, ""); break;
    case Content::Stored::noMemory: httpMemoryError(stream); break;
    }
}

void onContent(HttpStream* stream) {
    std::string_view name = stream->rx->pathInfo;
    name.remove_prefix(std::min(contentPrefix.size(), name.size()));
    if (!Content::validName(name)) {
        answer(stream, HTTP_CODE_BAD_REQUEST,
               "400 A name has 1 to 100 letters, digits, dots, minus signs, underscores\n");
    } else if (is(stream, "PUT") || is(stream, "POST")) {
        writeContent(stream, name);
    } else if (!is(stream, "DELETE")) {
        readContent(stream, name);
    } else if (store->content.remove(name)) {
        answer(stream, HTTP_CODE_NO_CONTENT, "");
    } else {
        answer(stream, HTTP_CODE_NOT_FOUND, "404 Not in the cache\n");
    }
}

// ---- Statistics ----

/** Write an object: numbers, and their names in one text, behind a blank each. */
void writeFigures(HttpStream* stream, const char* group, const char* names,
                  std::initializer_list<unsigned long long> numbers) {
    httpWrite(stream->writeq, "\"%s\":{", group);
    const char* before = "";
    for (const unsigned long long number : numbers) {
        const char* name = names + 1;
        names = name + std::strcspn(name, " ");
        httpWrite(stream->writeq, "%s\"%.*s\":%llu", before, static_cast<int>(names - name), name, number);
        before = ",";
    }
    httpWriteString(stream->writeq, "}");
}

void showStats(HttpStream* stream) {
    const Board& board = store->board;
    HttpQueue* q = stream->writeq;
    HttpStats http;
    MprMemStats memory;
    httpGetStats(&http);
    mprReadMemStats(&memory);
    stream->tx->mimeType = "application/json";
    httpWriteString(q, "{");
    writeFigures(stream, "service", " requests connections accepted refused timeouts sessions sessionsExpired",
                 {http.totalRequests, static_cast<unsigned>(http.activeConnections), http.totalConnections,
                  board.refused, board.timeouts, board.sessions, board.sessionsExpired});
    httpWriteString(q, ",");
    writeFigures(
        stream, "content", " pages bytes limit hits misses evicted shed",
        {board.pages, board.bytes, board.cacheLimit, board.hits, board.misses, board.evicted, board.shedPages});
    httpWriteString(q, ",");
    writeFigures(stream, "memory",
                 " heap heapPeak redline max live free largestFree resident blocksAllocated blocksFreed bytesAllocated"
                 " redlines errors misuses",
                 {memory.heap, memory.heapPeak, memory.warnHeap, memory.maxHeap, memory.bytesLive, memory.bytesFree,
                  memory.largestFree, memory.rss, memory.blocksAllocated, memory.blocksFreed, memory.bytesAllocated,
                  memory.redlines, memory.errors, memory.misuses});
    httpWrite(q, ",\"collector\":{\"collections\":%llu,\"minor\":%llu,\"major\":%llu", memory.collections,
              memory.collectionsMinor, memory.collectionsMajor);
    const auto times = [stream, q](const char* name, const MprTimes& t) { // Nanoseconds
        httpWriteString(q, ",");
        writeFigures(stream, name, " count p50 p99 p999 max", {t.count, t.p50, t.p99, t.p999, t.max});
    };
    times("pause", memory.pause);
    times("stall", memory.stall);
    times("rendezvous", memory.rendezvous);
    times("mark", memory.mark);
    times("sweep", memory.sweep);
    httpWriteString(q, "}}\n");
    httpFinalize(stream);
}

// ---- All together ----

/** Called with all that happens to requests. */
void count(HttpStream* stream, int event, int) {
    if (event == HTTP_EVENT_TIMEOUT) {
        bump(store->board.timeouts);
    } else if (event == HTTP_EVENT_DONE && stream->tx->status == HTTP_CODE_SERVICE_UNAVAILABLE) {
        bump(store->board.refused);
    }
}

bool addRoute(const char* methods, const char* pattern, HttpAction action) {
    HttpRoute* route = httpCreateActionRoute(nullptr, pattern, action);
    httpSetRouteMethods(route, methods);
    return route;
}

} // namespace

bool addRoutes(Store& theStore, HttpEndpoint* endpoint) {
    store = &theStore;
    HttpLimits* limits = httpGetLimits();
    limits->headerSize = 8192;
    limits->connectionsPerClientMax = limits->connectionsMax; // All clients of a demo have one address
    limits->requestsPerClientMax = limits->requestMax;
    limits->rxBodySize = limits->rxFormSize = Content::largestPage;
    httpSetRequestCallback(beginRequest);
    httpSetEndpointNotifier(endpoint, count);
    HttpRoute* other = httpGetDefaultRoute(nullptr); // Those below inherit from it: no files, no ranges of them
    httpClearRouteStages(other, HTTP_STAGE_RX | HTTP_STAGE_TX);
    httpSetRouteTarget(other, "write", "404 Nothing here: GET / tells what there is\n");
    return addRoute("GET", "^/$", showHelp) && addRoute("GET,POST,DELETE", "^/session$", onSession) &&
           addRoute("GET,PUT,POST,DELETE", "^/content/*", onContent) && addRoute("GET", "^/stats$", showStats);
}

} // namespace service
