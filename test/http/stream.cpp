/* SPDX-License-Identifier: MIT */
/*
    test/http/stream.cpp - Streams: handlers, filters and notifiers as programs write them; states, events from other
    threads, and what a program stores in a stream.
 */
#include "test/support/dying.hpp"
#include "test/support/http.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

using namespace test;

namespace {

/* What has happened, in order. The events' thread may note while the test looks. */
std::vector<std::string> happened;
std::mutex mutex;
void note(const std::string &what) {
    std::lock_guard guard(mutex);
    happened.push_back(what);
}
size_t count() {
    std::lock_guard guard(mutex);
    return happened.size();
}
std::string all() {
    std::lock_guard guard(mutex);
    std::string text;
    for (auto &each : happened) {
        text += each + " ";
    }
    happened.clear();
    return text;
}

/* ---- A handler with all procedures ---- */

int openHandler(HttpQueue *) {
    note("open");
    return 0;
}
void closeHandler(HttpQueue *) {
    note("close");
}
void startHandler(HttpQueue *) {
    note("start");
}
void incomingHandler(HttpQueue *q, HttpPacket *packet) {
    note(packet->flags & HTTP_PACKET_END ? "end" : "data:" + std::string(httpGetPacketString(packet)));
    httpPutForService(q, packet, false);
}
void readyHandler(HttpQueue *q) {
    note("ready");
    httpWriteString(q, "answer");
    httpFinalize(q->stream);
}
HttpStage *makeHandler() {
    HttpStage *stage = httpCreateHandler("testHandler", nullptr);
    stage->open = openHandler;
    stage->close = closeHandler;
    stage->start = startHandler;
    stage->incoming = incomingHandler;
    stage->ready = readyHandler;
    return stage;
}
HttpRoute *routeTo(cchar *pattern, cchar *handler) {
    HttpRoute *route = httpCreateInheritedRoute(nullptr);
    httpSetRoutePattern(route, pattern, 0);
    REQUIRE(httpSetRouteHandler(route, handler) == 0);
    httpFinalizeRoute(route);
    return route;
}

/* ---- A filter that writes in capitals, both ways ---- */

void capitals(HttpPacket *packet) {
    for (char *c = httpGetPacketStart(packet); c && c < packet->content->end; c++) {
        *c = static_cast<char>(toupper(static_cast<unsigned char>(*c)));
    }
}
void outgoingCapitals(HttpQueue *q, HttpPacket *packet) {
    capitals(packet);
    httpPutPacketToNext(q, packet);
}
void serviceCapitals(HttpQueue *q) {
    while (HttpPacket *packet = httpGetPacket(q)) {
        if (!httpWillNextQueueAcceptPacket(q, packet)) {
            httpPutBackPacket(q, packet);
            return;
        }
        capitals(packet);
        httpPutPacketToNext(q, packet);
    }
}

/* ---- A handler that writes much, as there is room ---- */

constexpr ssize much = 3'000'000;
void writeMuch(HttpQueue *q) {
    static const std::string piece(10'000, 'm');
    auto *done = static_cast<ssize *>(q->queueData);
    while (*done < much) {
        const ssize size = std::min(static_cast<ssize>(piece.size()), much - *done);
        const ssize count = httpWriteBlock(q, piece.data(), size, HTTP_NON_BLOCK);
        if (count < 0) {
            return;
        }
        *done += count;
        if (count < size) {
            return; // until there is room
        }
    }
    httpFinalize(q->stream);
}
void startMuch(HttpQueue *q) {
    q->queueData = mprAllocZeroed(sizeof(ssize)); /* a plain assignment */
}

/* ---- Others ---- */

std::atomic<uint64> seqno{0};
void suspend(HttpStream *stream) {
    auto *text = sclone("kept");
    stream->data = text; /* a plain assignment */
    seqno = stream->seqno;
}
void wake(HttpStream *stream, void *data) {
    if (!stream) {
        note("gone");
        return;
    }
    httpWrite(stream->writeq, "%s %s", static_cast<char *>(stream->data), static_cast<char *>(data));
    httpFinalize(stream);
}
void notifier(HttpStream *, int event, int arg) {
    note(event == HTTP_EVENT_STATE     ? "state" + std::to_string(arg)
         : event == HTTP_EVENT_DONE    ? "done"
         : event == HTTP_EVENT_DESTROY ? "destroy"
         : event == HTTP_EVENT_ERROR   ? "error"
                                       : "other");
}
} // namespace

TEST_CASE("a handler's procedures are called in their order", "[http][stream]") {
    Server server;
    makeHandler();
    routeTo("/handler", "testHandler");
    server.start();
    all();
    SECTION("without a body") {
        CHECK(server.get("/handler").body == "answer");
        eventually([] { return count() == 5; });
        CHECK(all() == "open start end ready close ");
    }
    SECTION("with one") {
        Client client(server.port);
        client.send("POST /handler HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n");
        CHECK(client.receive().status == 100);
        CHECK(client.ask("0123456789").body == "answer");
        eventually([] { return count() == 6; });
        CHECK(all() == "open start data:0123456789 end ready close ");
    }
}

TEST_CASE("notifiers are told of states, the end, and failures", "[http][stream]") {
    Server server;
    httpDefineAction("/hello", answerHello);
    httpSetEndpointNotifier(server.endpoint, notifier);
    server.start();
    all();
    CHECK(server.get("/hello").status == 200);
    std::string told;
    eventually([&told] {
        told += all();
        return told.find("destroy") != std::string::npos;
    });
    CHECK(told == "state3 state4 state5 other state6 state7 state8 state9 done destroy ");
    CHECK(server.get("/none").status == 404);
    told.clear();
    eventually([&told] {
        told += all();
        return told.find("destroy") != std::string::npos;
    });
    CHECK(told.find("error") != std::string::npos);
}

TEST_CASE("filters change what passes, in both directions", "[http][stream]") {
    Server server;
    HttpStage *direct = httpCreateFilter("capitals", nullptr);
    direct->outgoing = outgoingCapitals;
    direct->incoming = outgoingCapitals;
    HttpStage *queued = httpCreateFilter("queuedCapitals", nullptr);
    queued->outgoingService = serviceCapitals;
    queued->incomingService = serviceCapitals;
    for (cchar *name : {"capitals", "queuedCapitals"}) {
        HttpRoute *in = httpCreateActionRoute(nullptr, sfmt("/in/%s", name), answerBody);
        CHECK(httpAddRouteFilter(in, name, nullptr, HTTP_STAGE_RX) == 0);
        HttpRoute *out = httpCreateActionRoute(nullptr, sfmt("/out/%s", name), answerBody);
        CHECK(httpAddRouteFilter(out, name, nullptr, HTTP_STAGE_TX) == 0);
    }
    server.start();
    std::string body, upper;
    for (int i = 0; i < 100'000; i++) {
        body += static_cast<char>('a' + i % 26);
        upper += static_cast<char>('A' + i % 26);
    }
    for (cchar *path : {"/in/capitals", "/out/capitals", "/in/queuedCapitals", "/out/queuedCapitals"}) {
        INFO(path);
        CHECK(server.ask(post(path, body)).body == upper);
        CHECK(server.ask(post(path, "a")).body == "A");
        CHECK(server.ask(post(path, "")).body == "");
    }
}

TEST_CASE("a filter that leaves its pipeline is closed, and what it holds goes on", "[http][stream]") {
    Server server;
    all();
    HttpStage *stage = httpCreateFilter("leaver", nullptr);
    stage->open = openHandler;
    stage->close = closeHandler;
    HttpRoute *route = httpCreateActionRoute(
        nullptr, "/leaver", +[](HttpStream *stream) {
            HttpQueue *q = stream->writeq->nextQ;
            httpSuspendQueue(q);
            httpWriteString(stream->writeq, "held ");
            httpServiceQueue(stream->writeq);
            CHECK(q->count == 5);
            httpRemoveQueue(q);
            CHECK(all() == "open close ");
            CHECK(q->count == 0);
            CHECK(stream->writeq->nextQ == stream->outputq);
            for (HttpQueue *end : {q, stream->writeq, stream->outputq, stream->inputq, stream->readq}) {
                httpRemoveQueue(end);
            }
            httpWriteString(stream->writeq, "more");
            httpFinalize(stream);
        });
    REQUIRE(httpAddRouteFilter(route, "leaver", nullptr, HTTP_STAGE_TX) == 0);
    server.start();
    Client client(server.port);
    for (int i = 0; i < 2; i++) {
        CHECK(client.ask(get("/leaver")).body == "held more");
        CHECK(all().empty()); /* Not closed again at the end */
    }
}

TEST_CASE("a filter that was taken out while it was to be serviced is serviced no more", "[http][stream]") {
    Server server;
    all();
    HttpStage *stage = httpCreateFilter("late", nullptr);
    stage->open = openHandler;
    stage->close = closeHandler;
    stage->outgoingService = +[](HttpQueue *q) {
        note("service");
        httpDefaultService(q);
    };
    HttpRoute *route = httpCreateActionRoute(
        nullptr, "/late", +[](HttpStream *stream) {
            HttpQueue *q = stream->writeq->nextQ;
            httpScheduleQueue(q);
            httpRemoveQueue(q);
            httpScheduleQueue(q);
            answerHello(stream);
        });
    REQUIRE(httpAddRouteFilter(route, "late", nullptr, HTTP_STAGE_TX) == 0);
    server.start();
    CHECK(server.get("/late").body == "hello");
    CHECK(all() == "open close ");
}

TEST_CASE("what a stage leaves behind on its thread is put right before the next procedure runs", "[http][stream]") {
    Server server;
    static std::atomic<int> ran;
    ran = 0;
    HttpStage *stage = httpCreateFilter("careless", nullptr);
    stage->outgoingService = +[](HttpQueue *q) {
        httpDefaultService(q);
        mprYield(MPR_YIELD_STICKY);
    };
    HttpRoute *route = httpCreateActionRoute(nullptr, "/careless", answerHello);
    REQUIRE(httpAddRouteFilter(route, "careless", nullptr, HTTP_STAGE_TX) == 0);
    httpSetEndpointNotifier(server.endpoint, [](HttpStream *, int event, int) {
        ran += event == HTTP_EVENT_DONE && mprAlloc(10);
        mprYield(MPR_YIELD_STICKY);
    });
    server.start();
    CHECK(server.get("/careless").body == "hello");
    CHECK(server.get("/careless").body == "hello");
    eventually([] { return ran == 2; });
    CHECK(Log::has("HTTP stage \"careless\": its procedure has returned yielded"));
    CHECK(Log::has("HTTP notifier: its procedure has returned yielded"));
    CHECK_FALSE(Log::has("event \""));
}

TEST_CASE("a filter may take itself out where it is serviced, and wait there", "[http][stream]") {
    Server server;
    static std::atomic<bool> stays;
    stays = false;
    HttpStage *stage = httpCreateFilter("goer", nullptr);
    stage->outgoingService = +[](HttpQueue *q) {
        httpRemoveQueue(q);
        for (int i = 0; i < 3; i++) {
            mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        }
        stays = mprIsValid(q) && smatch(q->name, "goer");
    };
    HttpRoute *route = httpCreateActionRoute(nullptr, "/goer", answerHello);
    REQUIRE(httpAddRouteFilter(route, "goer", nullptr, HTTP_STAGE_TX) == 0);
    server.start();
    CHECK(server.get("/goer").body == "hello");
    CHECK(stays);
}

TEST_CASE("a stage may take the next one out while it is opened", "[http][stream]") {
    Server server;
    all();
    HttpStage *taker = httpCreateFilter("taker", nullptr);
    taker->open = +[](HttpQueue *q) {
        httpRemoveQueue(q->nextQ);
        return 0;
    };
    HttpRoute *route = httpCreateActionRoute(nullptr, "/taker", answerHello);
    for (cchar *name : {"taken", "other"}) {
        HttpStage *stage = httpCreateFilter(name, nullptr);
        stage->open = +[](HttpQueue *q) {
            note(q->name);
            return 0;
        };
        stage->close = closeHandler;
    }
    for (cchar *name : {"taker", "taken", "other"}) {
        REQUIRE(httpAddRouteFilter(route, name, nullptr, HTTP_STAGE_TX) == 0);
    }
    server.start();
    CHECK(server.get("/taker").body == "hello");
    std::string text;
    eventually([&text] { return (text += all()).find("close") != std::string::npos; });
    CHECK(text == "other close ");
}

TEST_CASE("a handler may set headers after the first packet of its answer", "[http][stream]") {
    Server server;
    HttpStage *stage = httpCreateHandler("earlyHandler", nullptr);
    stage->ready = [](HttpQueue *q) {
        HttpPacket *packet = httpCreateDataPacket(5);
        mprPutStringToBuf(packet->content, "early");
        httpPutPacketToNext(q, packet);
        httpSetContentType(q->stream, "text/x-early");
        httpFinalize(q->stream);
    };
    routeTo("/early", "earlyHandler");
    /* A filter sets one in its service procedure, behind its first packet. */
    HttpStage *filter = httpCreateFilter("earlyFilter", nullptr);
    filter->outgoingService = [](HttpQueue *q) {
        while (HttpPacket *packet = httpGetPacket(q)) {
            httpPutPacketToNext(q, packet);
            if (!(q->stream->tx->flags & HTTP_TX_HEADERS_CREATED)) {
                httpSetHeaderString(q->stream, "X-Early", "yes");
            }
        }
    };
    httpDefineAction("/hello", answerHello);
    REQUIRE(httpAddRouteFilter(httpCreateActionRoute(nullptr, "/filtered", answerHello), "earlyFilter", nullptr,
                               HTTP_STAGE_TX) == 0);
    server.start();
    Answer answer = server.get("/early");
    CHECK(answer.body == "early");
    CHECK(answer["Content-Type"] == "text/x-early");
    CHECK(answer["Content-Length"] == "5");
    answer = server.get("/filtered");
    CHECK(answer.body == "hello");
    CHECK(answer["X-Early"] == "yes");
    CHECK(answer["Content-Length"] == "5");
}

TEST_CASE("headers may be set until what was scheduled has been serviced", "[http][stream]") {
    Server server;
    HttpStage *stage = httpCreateHandler("slowHandler", nullptr);
    stage->start = [](HttpQueue *q) { httpWriteString(q, "begun,"); };
    stage->incomingService = [](HttpQueue *q) {
        while (HttpPacket *packet = httpGetPacket(q)) {
            if (packet->flags & HTTP_PACKET_END) {
                httpSetHeaderString(q->stream, "X-Late", "yes");
                httpWriteString(q->stream->writeq, "ended");
                httpFinalize(q->stream);
            }
        }
    };
    routeTo("/slow", "slowHandler");
    stage = httpCreateHandler("servingHandler", nullptr);
    stage->ready = [](HttpQueue *q) {
        httpWriteString(q, "begun,");
        httpServiceQueue(q);
        httpSetHeaderString(q->stream, "X-Late", "yes");
        httpWriteString(q, "ended");
        httpFinalize(q->stream);
    };
    routeTo("/serving", "servingHandler");
    server.start();
    for (const char *path : {"/slow", "/serving"}) {
        INFO(path);
        const Answer answer = server.get(path);
        CHECK(answer.body == "begun,ended");
        CHECK(answer["X-Late"] == "yes");
        CHECK(answer["Content-Length"] == "11");
    }
}

TEST_CASE("nobody is told to continue in the middle of an answer", "[http][stream]") {
    Server server;
    HttpStage *stage = httpCreateHandler("hastyHandler", nullptr);
    stage->start = [](HttpQueue *q) {
        httpWriteString(q, "before the body,");
        httpFlush(q->stream);
    };
    stage->ready = [](HttpQueue *q) {
        httpWriteString(q, "after it");
        httpFinalize(q->stream);
    };
    routeTo("/hasty", "hastyHandler");
    server.start();
    Client client(server.port);
    client.send("POST /hasty HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    CHECK(client.ask("body").body == "before the body,after it");
}

TEST_CASE("what a filter collects to its end has its length", "[http][stream]") {
    Server server;
    HttpStage *filter = httpCreateFilter("collector", nullptr);
    filter->outgoing = [](HttpQueue *q, HttpPacket *packet) {
        httpPutForService(q, packet, packet->flags & HTTP_PACKET_END);
    };
    REQUIRE(httpAddRouteFilter(httpCreateActionRoute(nullptr, "/collected", answerHello), "collector", nullptr,
                               HTTP_STAGE_TX) == 0);
    server.start();
    const Answer answer = server.get("/collected");
    CHECK(answer.body == "hello");
    CHECK(answer["Content-Length"] == "5");
}

TEST_CASE("what a filter has ended has its length, whatever comes behind it", "[http][stream]") {
    Server server;
    HttpStage *filter = httpCreateFilter("repeater", nullptr); // of a packet it makes one that the next takes in pieces
    filter->outgoingService = [](HttpQueue *q) {
        while (HttpPacket *packet = httpGetPacket(q)) {
            for (int i = 0; i < 20'000 && packet->content && i < httpGetPacketContents(packet); i++) {
                mprPutCharToBuf(packet->content, packet->content->start[i]);
            }
            httpPutPacketToNext(q, packet);
        }
    };
    httpCreateFilter("nothing", nullptr);
    HttpRoute *route = httpCreateActionRoute(nullptr, "/repeated", answerHello);
    REQUIRE(httpAddRouteFilter(route, "repeater", nullptr, HTTP_STAGE_TX) == 0);
    REQUIRE(httpAddRouteFilter(route, "nothing", nullptr, HTTP_STAGE_TX) == 0);
    httpGetLimits()->packetSize = 4096;
    server.start();
    const Answer answer = server.get("/repeated");
    CHECK(answer.body.size() == 20'005);
    CHECK(answer["Content-Length"] == "20005");
}

TEST_CASE("a handler that writes as there is room holds little", "[http][stream]") {
    Server server;
    HttpStage *stage = httpCreateHandler("muchHandler", nullptr);
    stage->start = startMuch;
    stage->ready = writeMuch;
    stage->writable = writeMuch;
    routeTo("/much", "muchHandler");
    httpDefineAction("/hello", answerHello);
    server.start();
    Client slow(server.port);
    slow.send(get("/much"));
    mprSleep(50);
    /* The server writes until the system takes no more. */
    const auto holdsLittle = [] {
        collect();
        return stats().bytesLive < 2'000'000;
    };
    eventually(holdsLittle);
    CHECK(server.get("/hello").body == "hello"); /* Others go on */
    Answer answer = slow.receive();
    CHECK(answer.whole);
    CHECK(answer.body == std::string(much, 'm'));
    CHECK(slow.ask(get("/hello")).body == "hello");
}

TEST_CASE("a stream is woken from other threads, foreign ones too, and is known to have gone", "[http][stream]") {
    Server server;
    httpDefineAction("/suspend", suspend);
    server.start();
    const bool foreign = GENERATE(false, true);
    static char word[] = "woken";
    Client client(server.port);
    seqno = 0;
    client.send(get("/suspend"));
    eventually([] { return seqno != 0; });
    collect(); /* What stream->data holds lives on */
    const auto post = [] { CHECK(httpCreateEvent(seqno, wake, word) == 0); };
    if (foreign) {
        std::thread(post).join();
    } else {
        post();
    }
    CHECK(client.receive().body == "kept woken");
    all();
    eventually([] { return httpFindStream(seqno, nullptr, nullptr) == nullptr; });
    post();
    eventually([] { return count() == 1; });
    CHECK(all() == "gone ");
    CHECK(httpCreateEvent(1, nullptr, nullptr) == MPR_ERR_BAD_ARGS);
}

TEST_CASE("what a program keeps for an event is held until then", "[http][stream]") {
    Server server;
    httpDefineAction("/suspend", suspend);
    server.start();
    Client client(server.port);
    seqno = 0;
    client.send(get("/suspend"));
    eventually([] { return seqno != 0; });
    CHECK(httpCreateEvent(seqno, wake, sclone("block")) == 0);
    collect();
    CHECK(client.receive().body == "kept block");
}

TEST_CASE("a handler fails before and after it has begun to answer", "[http][stream]") {
    Server server;
    httpDefineAction(
        "/before", +[](HttpStream *stream) {
            httpWriteString(stream->writeq, "dropped");
            httpError(stream, 418, "I am <%s>", "short & stout");
        });
    httpDefineAction(
        "/after", +[](HttpStream *stream) {
            httpWriteString(stream->writeq, "some");
            httpFlush(stream);
            httpError(stream, 500, "too late");
        });
    httpDefineAction(
        "/less", +[](HttpStream *stream) {
            httpSetContentLength(stream, 10);
            httpWriteString(stream->writeq, "some");
            httpFinalize(stream);
        });
    httpDefineAction(
        "/status", +[](HttpStream *stream) { httpError(stream, httpGetIntParam(stream, "code", 0), "go"); });
    httpDefineAction(
        "/abort", +[](HttpStream *stream) { httpError(stream, 400 | HTTP_ABORT, "go"); });
    httpDefineAction(
        "/close", +[](HttpStream *stream) { httpError(stream, 400 | HTTP_CLOSE, "go"); });
    httpDefineAction(
        "/disconnect", +[](HttpStream *stream) { httpDisconnectStream(stream); });
    httpDefineAction(
        "/unreadable", +[](HttpStream *stream) {
            HttpPacket *packet = httpCreateDataPacket(0);
            packet->esize = 5;
            packet->fill = [](HttpQueue *, HttpPacket *, MprOff, ptrdiff_t) -> ptrdiff_t { return MPR_ERR_CANT_READ; };
            httpPutForService(stream->writeq, packet, false);
            httpFinalize(stream);
        });
    httpDefineAction(
        "/memory", +[](HttpStream *stream) { httpMemoryError(stream); });
    server.start();
    SECTION("before") {
        Client client(server.port);
        Answer answer = client.ask(get("/before"));
        CHECK(answer.status == 418);
        CHECK(answer.body.find("I am &lt;short &amp; stout&gt;") != std::string::npos);
        CHECK(client.ask(get("/before")).status == 418);
    }
    SECTION("after") {
        Client client(server.port);
        Answer answer = client.ask(get("/after"));
        CHECK(answer.status == 200);
        CHECK_FALSE(answer.whole);
        CHECK(Log::has("too late"));
    }
    SECTION("less than it has announced") {
        Client client(server.port);
        CHECK_FALSE(client.ask(get("/less")).whole);
        CHECK(Log::has("less is written"));
    }
    SECTION("with a status that is none") {
        for (cchar *code : {"0", "6", "100", "199", "1000", "65535"}) {
            CHECK(server.get("/status?code=" + std::string(code)).status == 500);
        }
        CHECK(server.get("/status?code=999").status == 999);
    }
    SECTION("without an answer") {
        for (cchar *path : {"/abort", "/disconnect"}) {
            Client client(server.port);
            CHECK(client.ask(get(path)).status == 0);
            CHECK(client.isClosed());
        }
    }
    SECTION("with the last answer") {
        Client client(server.port);
        Answer answer = client.ask(get("/close"));
        CHECK(answer.status == 400);
        CHECK(answer["Connection"] == "close");
        CHECK(client.isClosed());
    }
    SECTION("because what it sends cannot be had") {
        Answer answer = server.get("/unreadable");
        CHECK(answer.status == 500);
        CHECK(answer.whole);
    }
    SECTION("for want of memory") {
        Answer answer = server.get("/memory");
        CHECK(answer.status == 503);
        CHECK(answer["Retry-After"] == "1");
    }
}

TEST_CASE("a handler waits for room, and for the body, in calls that yield", "[http][stream]") {
    Server server;
    httpDefineAction(
        "/block", +[](HttpStream *stream) {
            static const std::string piece(100'000, 'b');
            for (int i = 0; i < 30; i++) {
                httpWriteBlock(stream->writeq, piece.data(), static_cast<ssize>(piece.size()), HTTP_BLOCK);
            }
            httpFinalize(stream);
        });
    HttpStage *stage = httpCreateHandler("reader", nullptr);
    stage->start = +[](HttpQueue *q) {
        static char bytes[1000];
        ssize total = 0, count = 0;
        while ((count = httpReadBlock(q->stream, bytes, sizeof(bytes), -1, HTTP_BLOCK)) > 0) {
            total += count;
        }
        httpWrite(q, "%d", static_cast<int>(total));
        httpFinalize(q->stream);
    };
    routeTo("/reader", "reader");
    server.start();
    CHECK(server.get("/block").body == std::string(3'000'000, 'b'));
    CHECK(server.ask(post("/reader", std::string(300'000, 'r'))).body == "300000");
}

TEST_CASE("headers of a response are as they were set, added and appended", "[http][stream]") {
    Server server;
    httpDefineAction(
        "/headers", +[](HttpStream *stream) {
            httpSetStatus(stream, 201);
            httpSetHeader(stream, "X-Set", "%d", 1);
            httpSetHeaderString(stream, "x-set", "2");
            httpAddHeaderString(stream, "X-Set", "3");
            httpAddHeader(stream, "X-Add", "%s", "4");
            httpAppendHeaderString(stream, "X-Add", "5");
            httpAppendHeader(stream, "X-New", "%d", 6);
            httpSetHeaderString(stream, "X-Gone", "7");
            CHECK(httpRemoveHeader(stream, "x-gone") == 0);
            CHECK(httpRemoveHeader(stream, "x-gone") == MPR_ERR_CANT_FIND);
            httpSetHeaderString(stream, "X-Evil", "a\r\nX-More: b");
            httpSetHeaderString(stream, "X Evil", "a");
            httpSetHeaderString(stream, "X\x10", "a");
            httpSetHeaderString(stream, "X-Screen", "\x1B[2J");
            httpSetHeaderString(stream, "X-Tab", "a\tb");
            httpSetHeaderString(stream, "Transfer-Encoding", "gzip");
            httpSetHeaderString(stream, "Content-Length", "4");
            httpSetContentType(stream, "text/x-test");
            httpSetCookie(stream, "biscuit", "crumb", nullptr, nullptr, 0, HTTP_COOKIE_HTTP);
            CHECK(std::string(httpGetTxHeader(stream, "x-add")) == "4, 5");
            httpWriteString(stream->writeq, "body");
            httpFinalize(stream);
        });
    httpSetSoftware("test/1");
    server.start();
    Answer answer = server.get("/headers");
    CHECK(answer.status == 201);
    CHECK((answer["X-Set"] == "2" || answer["x-set"] == "2"));
    CHECK(answer["X-Add"] == "4, 5");
    CHECK(answer["X-New"] == "6");
    CHECK_FALSE(answer.has("X-Gone"));
    CHECK_FALSE(answer.has("X-Evil"));
    CHECK_FALSE(answer.has("X-More"));
    CHECK_FALSE(answer.has("X\x10"));
    CHECK_FALSE(answer.has("X-Screen"));
    CHECK(answer["X-Tab"] == "a\tb");
    CHECK_FALSE(answer.has("Transfer-Encoding"));
    CHECK(answer["Content-Length"] == "4");
    CHECK(answer["Content-Type"] == "text/x-test");
    CHECK(answer["Set-Cookie"].find("biscuit=crumb") == 0);
    CHECK(answer["Server"] == "test/1");
}

TEST_CASE("what a client has sent is told by the request's members and calls", "[http][stream]") {
    Server server;
    httpDefineAction(
        "/request", +[](HttpStream *stream) {
            HttpRx *rx = stream->rx;
            CHECK(std::string(rx->method) == "POST");
            CHECK(std::string(rx->uri) == "/request?a=1&b=%20x&a=2");
            CHECK(std::string(rx->originalUri) == rx->uri);
            CHECK(std::string(rx->pathInfo) == "/request");
            CHECK(std::string(rx->scriptName).empty());
            CHECK(std::string(rx->hostHeader) == "localhost");
            CHECK(std::string(rx->userAgent) == "test");
            CHECK(std::string(rx->accept) == "*/*");
            CHECK(std::string(rx->authType) == "basic");
            CHECK(rx->form);
            CHECK(rx->eof);
            CHECK(rx->length == 7);
            CHECK(rx->bytesRead == 7);
            CHECK(std::string(httpGetHeader(stream, "X-TWICE")) == "1, 2");
            CHECK_FALSE(httpGetHeader(stream, "X-None"));
            CHECK(std::string(static_cast<cchar *>(mprLookupKey(rx->headers, "x-twice"))) == "1, 2");
            CHECK(mprGetHashLength(httpGetHeaderHash(stream)) == 8);
            CHECK(std::string(httpGetHeaders(stream)).find("Host: localhost\n") != std::string::npos);
            CHECK(std::string(httpGetQueryString(stream)) == "a=1&b=%20x&a=2");
            CHECK(std::string(httpGetParam(stream, "a", "")) == "1");
            CHECK(std::string(httpGetParam(stream, "b", "")) == " x");
            CHECK(std::string(httpGetParam(stream, "c", "")) == "3");
            CHECK(httpGetIntParam(stream, "d", 0) == 4);
            CHECK(std::string(httpGetParam(stream, "e", "none")) == "none");
            CHECK(httpTestParam(stream, "c"));
            CHECK_FALSE(httpTestParam(stream, "e"));
            CHECK(httpMatchParam(stream, "d", "4"));
            httpSetIntParam(stream, "e", 5);
            httpRemoveParam(stream, "a");
            CHECK(std::string(httpGetParamsString(stream)) == "b=%20x&c=3&d=4&e=5");
            CHECK(std::string(httpGetCookie(stream, "two")) == "2");
            CHECK_FALSE(httpGetCookie(stream, "three"));
            CHECK(std::string(stream->ip) == "127.0.0.1");
            CHECK(stream->port > 0);
            CHECK(httpGetContentLength(stream) == 7);
            CHECK(std::string(httpGetBodyInput(stream)) == "c=3&d=4");
            char buf[4];
            CHECK(httpRead(stream, buf, 4) == 4);
            CHECK(std::string(httpReadString(stream)) == "d=4");
            CHECK(httpRead(stream, buf, 4) == 0);
            answerHello(stream);
        });
    server.start();
    CHECK(
        server
            .ask(post("/request?a=1&b=%20x&a=2", "c=3&d=4",
                      "User-Agent: test\r\nAccept: */*\r\nX-Twice: 1\r\nx-twice: 2\r\nCookie: one=1; two=2\r\n"
                      "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\nAuthorization: Basic abc\r\n"))
            .body == "hello");
}

TEST_CASE("a request's members that are lists have all lines of their header", "[http][stream]") {
    Server server;
    httpDefineAction(
        "/lists", +[](HttpStream *stream) {
            const HttpRx *rx = stream->rx;
            mprYield(MPR_YIELD_COMPLETE);
            httpWrite(stream->writeq, "%s|%s|%s|%s|%s", rx->accept, rx->acceptEncoding, rx->acceptLanguage, rx->cookie,
                      rx->userAgent);
            httpFinalize(stream);
        });
    server.start();
    CHECK(server
              .get("/lists", "Accept: a/b\r\nCookie: one=1\r\naccept: c/d\r\nAccept: e/f\r\nAccept-Encoding: br\r\n"
                             "Accept-Encoding: x\r\nAccept-Language: de\r\nCookie: two=2\r\nUser-Agent: u\r\n")
              .body == "a/b, c/d, e/f|br, x|de|one=1; two=2|u");
}

TEST_CASE("a packet that has no room for another is as it was", "[http][stream]") {
    Runtime runtime;
    HttpPacket *packet = httpCreateDataPacket(8), *other = httpCreateDataPacket(6);
    REQUIRE(packet);
    REQUIRE(other);
    mprSetBufMax(packet->content, 8);
    mprPutStringToBuf(packet->content, "first");
    mprPutStringToBuf(other->content, "second");
    CHECK(httpJoinPacket(packet, other) == MPR_ERR_MEMORY);
    CHECK(std::string(httpGetPacketString(packet)) == "first");
    CHECK(std::string(httpGetPacketString(other)) == "second");
}

TEST_CASE("a part of a body that cannot be joined is not taken for all of it", "[http][stream]") {
    Server server;
    httpDefineAction(
        "/body", +[](HttpStream *stream) {
            mprSetBufMax(stream->readq->first->content, 1); /* As when memory is short: it grows no more */
            httpWrite(stream->writeq, "%d", static_cast<int>(slen(httpGetBodyInput(stream))));
            httpFinalize(stream);
        });
    httpDefineAction(
        "/form", +[](HttpStream *stream) {
            mprSetBufMax(stream->readq->first->content, 1);
            httpWrite(stream->writeq, "%d", static_cast<int>(slen(httpGetParam(stream, "x", "none"))));
            httpFinalize(stream);
        });
    server.start();
    const std::string text(30'000, 'x');
    const std::string head = " HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    for (const std::string path : {"/body", "/form"}) {
        Client client(server.port);
        const Answer answer = client.ask("POST " + path + head + "Content-Length: 30002\r\n\r\nx=" + text);
        INFO(path << " told " << answer.body);
        CHECK(answer.status == 503);
    }
}

/* Start a server with a filter of bodies. @return What it says of the parameters a and b of a form. */
static std::string paramsThrough(Server &server, cchar *filter, const std::string &form) {
    HttpRoute *route = httpCreateActionRoute(
        nullptr, "/form", +[](HttpStream *stream) {
            httpWrite(stream->writeq, "%s,%s", httpGetParam(stream, "a", "none"), httpGetParam(stream, "b", "none"));
            httpFinalize(stream);
        });
    REQUIRE(httpAddRouteFilter(route, filter, nullptr, HTTP_STAGE_RX) == 0);
    server.start();
    return server.ask(post("/form", form, "Content-Type: application/x-www-form-urlencoded\r\n")).body;
}

TEST_CASE("a form that a filter has put together is read as a whole", "[http][stream]") {
    Server server;
    httpCreateFilter("remakes", nullptr)->incoming = [](HttpQueue *q, HttpPacket *packet) {
        for (cchar *text : {"a=1&", "b=2"}) {        // before what has come, and again before its end
            HttpPacket *made = httpCreatePacket(16); // of no kind
            mprPutStringToBuf(made->content, text);
            httpPutPacketToNext(q, made);
        }
        httpPutPacketToNext(q, packet);
    };
    CHECK(paramsThrough(server, "remakes", "x") == "1,2xa=1");
}

TEST_CASE("parameters of a form that a filter holds come when it has passed the form on", "[http][stream]") {
    Server server;
    HttpStage *filter = httpCreateFilter("holds", nullptr);
    filter->incoming = [](HttpQueue *q, HttpPacket *packet) {
        if (!(packet->flags & HTTP_PACKET_END)) {
            httpPutForService(q, packet, false);
            return;
        }
        CHECK_FALSE(httpGetParam(q->stream, "a", nullptr)); // nothing of the body has come to where it is read
        while (HttpPacket *held = httpGetPacket(q)) {
            httpPutPacketToNext(q, held);
        }
        httpPutPacketToNext(q, packet);
    };
    filter->incomingService = [](HttpQueue *) {};
    CHECK(paramsThrough(server, "holds", "a=5") == "5,none");
}

TEST_CASE("texts that are told of a request live as long as it does", "[http][stream]") {
    Server server;
    httpDefineAction(
        "/texts", +[](HttpStream *stream) {
            cchar *cookie = httpGetCookie(stream, "name"), *object = httpGetParam(stream, "object", "none"),
                  *all = httpGetParamsString(stream);
            CHECK(httpGetCookie(stream, "name") == cookie);
            for (int round = 0; round < 3; round++) {
                mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
                for (int i = 0; i < 1000; i++) {
                    memset(mprAlloc(static_cast<size_t>(16 + i % 100)), '#', static_cast<size_t>(16 + i % 100));
                }
            }
            CHECK((mprIsValid(cookie) && mprIsValid(object) && mprIsValid(all)));
            CHECK(std::string(cookie) == "a value that is long enough");
            CHECK(std::string(object) == "{\"x\":[1,2,3]}");
            CHECK(std::string(all).find("object=") == 0);
            answerHello(stream);
        });
    server.start();
    CHECK(server
              .ask(post("/texts", "{\"object\":{\"x\":[1,2,3]}}",
                        "Content-Type: application/json\r\nCookie: name=a value that is long enough\r\n"))
              .body == "hello");
}

TEST_CASE("what is said in place of a response has a length of its own", "[http][stream]") {
    Server server;
    httpDefineAction(
        "/length", +[](HttpStream *stream) {
            httpSetContentLength(stream, 100);
            httpWriteString(stream->writeq, "some of it");
            switch (httpGetIntParam(stream, "how", 0)) {
            case 0: httpFormatError(stream, 404, "no %s", "such thing"); break;
            case 1: httpFormatResponse(stream, "another"); break;
            case 2: CHECK(httpRemoveHeader(stream, "content-length") == 0); break;
            default: httpSetContentLength(stream, -1); break;
            }
            httpFinalize(stream);
        });
    server.start();
    for (cchar *path : {"/length?how=0", "/length?how=1", "/length?how=2", "/length?how=3"}) {
        const Answer answer = server.get(path);
        INFO(path);
        CHECK(answer.status == (path[12] == '0' ? 404 : 200));
        CHECK(answer.whole);
        CHECK(answer.body.find(path[12] == '0'   ? "no such thing"
                               : path[12] == '1' ? "another"
                                                 : "some of it") != std::string::npos);
    }
}

TEST_CASE("of bytes that find no memory nothing is sent", "[http][stream]") {
    Server server;
    static ssize result;
    httpDefineAction(
        "/write", +[](HttpStream *stream) {
            HttpQueue *q = stream->writeq;
            httpWriteBlock(q, "hello", 5, HTTP_BUFFER);
            mprSetBufMax(q->last->content, 1); /* It grows no more */
            const std::string more(600, 'x');
            result = httpWriteBlock(q, more.data(), 600, HTTP_BUFFER);
            httpFinalize(stream);
        });
    server.start();
    CHECK(server.get("/write").body == "hello");
    CHECK(result == MPR_ERR_MEMORY);
}

TEST_CASE("a value for which there is no memory is not set, and a redirection not sent", "[http][stream]") {
    Server server;
    static const std::string large(8 << 20, 'x');
    static int result;
    static std::string value;
    httpDefineAction(
        "/session", +[](HttpStream *stream) {
            httpSetSessionVar(stream, "x", "before");
            mprSetMemLimits(0, static_cast<ssize>(stats().heap) + (4 << 20), -1);
            result = httpSetSessionVar(stream, "x", large.c_str());
            mprSetMemLimits(0, 0, -1);
            value = httpGetSessionVar(stream, "x", "none");
            answerHello(stream);
        });
    httpDefineAction(
        "/redirect", +[](HttpStream *stream) {
            mprSetMemLimits(0, static_cast<ssize>(stats().heap) + (4 << 20), -1);
            httpRedirect(stream, HTTP_CODE_MOVED_PERMANENTLY, ("/" + large).c_str());
            mprSetMemLimits(0, 0, -1);
        });
    server.start();
    CHECK(server.get("/session").status == 200);
    CHECK(result == MPR_ERR_MEMORY);
    CHECK(value == "before");
    CHECK(server.get("/redirect").status == 503);
}

TEST_CASE("stages and packets are of the kind that they were made as", "[http][stream]") {
    Server server;
    HttpStage *connector = httpCreateConnector("ownConnector", nullptr);
    REQUIRE(connector);
    CHECK((connector->flags & (HTTP_STAGE_CONNECTOR | HTTP_STAGE_HANDLER | HTTP_STAGE_FILTER)) == HTTP_STAGE_CONNECTOR);
    CHECK(httpLookupStage("ownConnector") == connector);
    CHECK(httpCreateConnector(nullptr, nullptr) == nullptr);

    constexpr int kinds = HTTP_PACKET_HEADER | HTTP_PACKET_DATA | HTTP_PACKET_END;
    HttpPacket *header = httpCreateHeaderPacket();
    HttpPacket *end = httpCreateEndPacket();
    REQUIRE((header && end));
    CHECK((header->flags & kinds) == HTTP_PACKET_HEADER);
    CHECK((end->flags & kinds) == HTTP_PACKET_END);
    REQUIRE(header->content); // which is for header lines
    CHECK(mprPutStringToBuf(header->content, "Name: value\r\n") == 13);
    CHECK(httpGetPacketLength(header) == 13);
}

TEST_CASE("an empty queue takes any size, since nothing in it would wake who waits", "[http][stream]") {
    Server server;
    httpDefineAction(
        "/room", +[](HttpStream *stream) {
            HttpQueue *q = stream->writeq;
            const bool takes = httpWillNextQueueAcceptSize(q, 100 * q->nextQ->max);
            httpWriteString(q, takes && !httpIsQueueSuspended(q) ? "yes" : "no");
            httpFinalize(stream);
        });
    server.start();
    CHECK(server.get("/room").body == "yes");
}

/* ---- The end ---- */

namespace {

std::atomic<int> lateEnds;

/* What lives as long as the stream, and ends it: as programs do that know no better. */
struct Ender {
    HttpStream *stream;
};
void manageEnder(void *ptr, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        HttpStream *stream = static_cast<Ender *>(ptr)->stream;
        httpError(stream, 500, "late");
        httpFinalize(stream);
        httpDisconnectStream(stream);
        lateEnds += httpCreateEvent(stream->seqno, wake, nullptr) != 0;
    }
}
} // namespace

TEST_CASE("a manager may not change a stream that is alive: that is its dispatcher's to do", "[http][stream]") {
    Server server("poison=1");
    static std::atomic<HttpStream *> pending;
    pending = nullptr;
    httpDefineAction(
        "/never", +[](HttpStream *stream) { pending = stream; });
    server.start();
    Client client(server.port);
    client.send(get("/never"));
    eventually([] { return pending != nullptr; });
    useWhileDying([] { return mprAlloc(40); },
                  [](void *) {
                      HttpStream *const stream = pending;
                      httpWriteString(stream->writeq, "late");
                      httpError(stream, 500, "late");
                      httpFinalize(stream);
                      httpDisconnectStream(stream);
                      httpScheduleQueue(stream->writeq);
                  });
    for (const char *function :
         {"httpWriteBlock", "httpError", "httpFinalize", "httpDisconnectStream", "httpScheduleQueue"}) {
        INFO(function);
        CHECK(Log::has(std::string(function) + "(0x0): called by a manager on the collector's thread"));
    }
    CHECK(stats().misuses == 5 * Dying::users);
    httpCreateEvent(
        pending.load()->seqno, +[](HttpStream *stream, void *) { answerHello(stream); }, nullptr);
    CHECK(client.receive().body == "hello");
    CHECK(stats().misuses == 5 * Dying::users);
}

TEST_CASE("managers that mprDestroy calls may end a stream that dies with their block", "[http][stream]") {
    lateEnds = 0;
    for (int i = 1; i <= 2; i++) {
        Server server("poison=1");
        httpDefineAction(
            "/never", +[](HttpStream *stream) {
                auto *ender = static_cast<Ender *>(mprAllocManaged(sizeof(Ender), manageEnder, 0));
                ender->stream = stream;
                mprSetRef(stream, &stream->data, ender);
                seqno = stream->seqno;
            });
        httpDefineAction("/hello", answerHello);
        server.start();
        Client client(server.port);
        seqno = 0;
        client.send(get("/never"));
        eventually([] { return seqno != 0; });
        CHECK(server.get("/hello").status == 200);
        server.stop();
        server.runtime.end();
        CHECK(lateEnds == i);
    }
}
