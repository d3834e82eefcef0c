/* SPDX-License-Identifier: MIT */
/*
    test/http/order.cpp - Programs that do things in another order than most: answer before there is a handler, write while a
    stage is opened, put back what they got, end a request under a call that has not returned, wait one on top of the other.
*/
#include "test/support/http.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using namespace test;

namespace {

HttpRoute *routeTo(cchar *pattern, cchar *handler) {
    HttpRoute *route = httpCreateInheritedRoute(nullptr);
    httpSetRoutePattern(route, pattern, 0);
    REQUIRE(httpSetRouteHandler(route, handler) == 0);
    return route;
}
HttpPacket *packetOf(cchar *text) {
    HttpPacket *packet = httpCreateDataPacket(slen(text) + 1);
    mprPutStringToBuf(packet->content, text);
    return packet;
}

int runningRequests() {
    HttpStats stats;
    httpGetStats(&stats);
    return static_cast<int>(stats.activeRequests);
}

} // namespace

TEST_CASE("filters get nothing before they have been opened", "[http][order]") {
    Server server;
    static std::atomic<int> opened, early;
    opened = early = 0;
    static const auto look = [] { early += opened == 0; };
    HttpStage *filter = httpCreateFilter("lateFilter", nullptr);
    filter->open = [](HttpQueue *) {
        opened = 1;
        return 0;
    };
    filter->outgoingService = [](HttpQueue *q) {
        look();
        httpDefaultService(q);
    };
    HttpStage *first = httpCreateFilter("firstFilter", nullptr); // writes in its own open, which is called before
    first->open = [](HttpQueue *q) {
        HttpPacket *packet = httpCreateDataPacket(16);
        mprPutStringToBuf(packet->content, "first,");
        httpPutPacketToNext(q, packet);
        httpFlush(q->stream);
        return 0;
    };
    HttpStage *stage = httpCreateHandler("opener", nullptr);
    stage->open = [](HttpQueue *q) {
        httpWriteString(q, "opened,");
        httpFlush(q->stream);
        return 0;
    };
    stage->ready = [](HttpQueue *q) {
        httpWriteString(q, "ready");
        httpFinalize(q->stream);
    };
    HttpRoute *route = routeTo("/opener", "opener");
    REQUIRE(httpAddRouteFilter(route, "firstFilter", nullptr, HTTP_STAGE_TX) == 0);
    REQUIRE(httpAddRouteFilter(route, "lateFilter", nullptr, HTTP_STAGE_TX) == 0);
    httpFinalizeRoute(route);
    server.start();
    CHECK(server.get("/opener").body == "first,opened,ready");
    CHECK(early == 0);
    CHECK(opened == 1);
}

TEST_CASE("a handler may write and read while it is opened, whatever filters there are", "[http][order]") {
    Server server;
    HttpStage *stage = httpCreateHandler("opener", nullptr);
    stage->open = [](HttpQueue *q) {
        char bytes[100];
        httpReadBlock(q->stream, bytes, sizeof(bytes), 10, HTTP_BLOCK);
        httpWriteString(q, "opened,");
        httpFlush(q->stream);
        return 0;
    };
    stage->ready = [](HttpQueue *q) {
        httpWriteString(q, "ready");
        httpFinalize(q->stream);
    };
    HttpRoute *route = routeTo("/opener", "opener");
    REQUIRE(httpAddRouteFilter(route, "rateFilter", nullptr, HTTP_STAGE_TX) == 0);
    httpSetRouteRate(route, 1'000'000);
    httpFinalizeRoute(route);
    server.start();
    const std::string form =
        "--XyZ\r\nContent-Disposition: form-data; name=\"a\"; filename=\"f\"\r\n\r\nbytes\r\n--XyZ--\r\n";
    CHECK(server.ask(post("/opener", form, "Content-Type: multipart/form-data; boundary=XyZ\r\n")).body ==
          "opened,ready");
}

TEST_CASE("an answer that is given before there is a handler stays", "[http][order]") {
    Server server;
    httpSetRequestCallback([](HttpStream *stream) {
        if (std::strcmp(stream->rx->uri, "/moved") == 0) {
            httpRedirect(stream, 302, "/elsewhere");
        } else if (std::strcmp(stream->rx->uri, "/taken") == 0) {
            httpSetStatus(stream, 202);
            httpFinalize(stream);
        }
    });
    httpDefineAction("/moved", answerHello);
    HttpStage *filter = httpCreateFilter("gate", nullptr);
    filter->open = [](HttpQueue *q) {
        httpRedirect(q->stream, 303, "/login");
        return 0;
    };
    REQUIRE(httpAddRouteFilter(httpCreateActionRoute(nullptr, "/gated", answerHello), "gate", nullptr, HTTP_STAGE_TX) ==
            0);
    server.start();
    Client client(server.port); // all on one connection: each answer ends where it says
    CHECK(client.ask(get("/moved")).status == 302);
    CHECK(client.ask(get("/taken")).status == 202);
    CHECK(client.ask(get("/gated")).status == 303);
    CHECK(client.ask(get("/none")).status == 404);
}

TEST_CASE("what a notifier refuses is refused, OPTIONS of the server, too", "[http][order]") {
    Server server;
    httpSetEndpointNotifier(server.endpoint, [](HttpStream *stream, int event, int arg) {
        if (event == HTTP_EVENT_STATE && arg == HTTP_STATE_FIRST) {
            httpError(stream, 403, "not you");
        }
    });
    server.start();
    CHECK(server.ask("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").status == 403);
}

TEST_CASE("a request that ends while its first states are told is not counted for ever", "[http][order]") {
    Server server;
    httpSetEndpointNotifier(server.endpoint, [](HttpStream *stream, int event, int arg) {
        if (event == HTTP_EVENT_STATE && arg == HTTP_STATE_PARSED) {
            httpCreateEvent(
                stream->seqno, [](HttpStream *gone, void *) { httpDisconnectStream(gone); }, nullptr);
            for (int i = 0; i < 1000 && stream->active; i++) {
                mprWaitForEvent(stream->dispatcher, 10, -1);
            }
        }
    });
    httpDefineAction("/hello", answerHello);
    server.start();
    for (int i = 0; i < 3; i++) {
        CHECK(server.get("/hello").status == 0);
    }
    eventually([] { return runningRequests() == 0; });
}

TEST_CASE("a handler that says only that it has written all is done", "[http][order]") {
    Server server;
    httpDefineAction(
        "/written", +[](HttpStream *stream) {
            httpWriteString(stream->writeq, "all");
            httpFinalizeOutput(stream);
        });
    httpDefineAction("/hello", answerHello);
    server.start();
    Client client(server.port);
    client.send(get("/written") + get("/hello"));
    CHECK(client.receive().body == "all");
    CHECK(client.receive().body == "hello");
    eventually([] { return runningRequests() == 0; });
}

TEST_CASE("a handler that has written all may read on", "[http][order]") {
    Server server;
    static std::atomic<long> total;
    total = 0;
    HttpStage *stage = httpCreateHandler("early", nullptr);
    stage->incoming = [](HttpQueue *q, HttpPacket *packet) { httpPutForService(q, packet, false); };
    stage->ready = [](HttpQueue *q) {
        httpWriteString(q, "all");
        httpFinalizeOutput(q->stream);
        httpFlush(q->stream);
        const auto readAll = +[](HttpStream *stream, void *) {
            char bytes[1000];
            while (const ssize count = stream ? httpRead(stream, bytes, sizeof(bytes)) : 0) {
                total += count;
            }
            httpFinalize(stream);
        };
        httpCreateEvent(q->stream->seqno, readAll, nullptr);
    };
    httpFinalizeRoute(routeTo("/early", "early"));
    httpDefineAction("/hello", answerHello);
    server.start();
    Client client(server.port);
    client.send(post("/early", std::string(5000, 'b')) + get("/hello"));
    CHECK(client.receive().body == "all");
    CHECK(client.receive().body == "hello");
    CHECK(total == 5000);
}

TEST_CASE("a body goes on coming when a part of a packet was put back", "[http][order]") {
    Server server;
    static constexpr ssize part = 3000;
    HttpStage *stage = httpCreateHandler("parts", nullptr);
    static const auto readOn = +[](void *data, MprEvent *event) {
        auto *stream = static_cast<HttpStream *>(data);
        char bytes[part];
        httpGetBodyInput(stream); // joins what has come
        const ssize count = httpRead(stream, bytes, sizeof(bytes));
        auto &total = *static_cast<long *>(stream->staticData);
        total += count > 0 ? count : 0;
        if (stream->rx->eof && httpGetReadCount(stream) == 0) {
            mprRemoveEvent(event);
            httpWrite(stream->writeq, "%ld", total);
            httpFinalize(stream);
        }
    };
    static long total;
    total = 0;
    stage->incoming = [](HttpQueue *q, HttpPacket *packet) { httpPutForService(q, packet, false); };
    stage->start = [](HttpQueue *q) {
        q->stream->staticData = &total;
        mprCreateTimerEvent(q->stream->dispatcher, "parts", 1, reinterpret_cast<void *>(readOn), q->stream, 0);
    };
    httpFinalizeRoute(routeTo("/parts", "parts"));
    server.start();
    CHECK(server.ask(post("/parts", std::string(400'000, 'b'))).body == "400000");
}

TEST_CASE("the next request begins when a call in which the one before has ended returns", "[http][order]") {
    Server server;
    static std::atomic<bool> mayReturn;
    mayReturn = false;
    httpDefineAction(
        "/late", +[](HttpStream *stream) {
            httpCreateEvent(
                stream->seqno,
                [](HttpStream *found, void *) {
                    httpWriteString(found->writeq, "late");
                    httpFinalize(found);
                    while (!mayReturn) {
                        mprWaitForEvent(found->dispatcher, 10, -1);
                    }
                },
                nullptr);
        });
    httpDefineAction("/hello", answerHello);
    server.start();
    Client client(server.port);
    client.send(get("/late") + get("/hello"));
    CHECK(client.receive().body == "late");
    mayReturn = true;
    CHECK(client.receive().body == "hello");
}

TEST_CASE("a connection reads no further ahead while a filter of its body waits", "[http][order]") {
    Server server;
    static std::atomic<bool> mayReturn;
    mayReturn = false;
    HttpStage *filter = httpCreateFilter("waiter", nullptr);
    filter->incoming = [](HttpQueue *q, HttpPacket *packet) {
        mprAddRoot(packet);
        if (!mayReturn) {
            httpFlush(q->stream); // which lets the connection go on
        }
        while (!mayReturn) {
            mprWaitForEvent(q->stream->dispatcher, 10, -1);
        }
        mprRemoveRoot(packet);
        httpPutPacketToNext(q, packet);
    };
    HttpRoute *route = httpCreateActionRoute(nullptr, "/waiter", answerBody);
    REQUIRE(httpAddRouteFilter(route, "waiter", nullptr, HTTP_STAGE_RX) == 0);
    httpGetLimits()->rxBodySize = 2'000'000;
    httpGetLimits()->rxFormSize = 2'000'000;
    server.start();
    Client client(server.port);
    const std::string body(1'000'000, 'b');
    std::thread sender([&] { client.send(post("/waiter", body)); });
    mprSleep(300);
    HttpStats figures;
    httpGetStats(&figures);
    mayReturn = true;
    const Answer answer = client.receive();
    sender.join();
    CHECK(answer.body.size() == body.size());
    CHECK(figures.heapUsed < 600'000);
}

TEST_CASE("a handler gets a body in its order, though it waits in the middle of a filter's packets", "[http][order]") {
    Server server;
    HttpStage *filter = httpCreateFilter("splitter", nullptr);
    filter->incoming = [](HttpQueue *q, HttpPacket *packet) {
        const ssize length = httpGetPacketContents(packet);
        HttpPacket *rest = length > 1 ? httpSplitPacket(packet, length / 2) : nullptr;
        if (rest) {
            mprAddRoot(rest);
        }
        httpPutPacketToNext(q, packet);
        httpFlush(q->stream); // and the connection goes on meanwhile
        if (rest) {
            mprRemoveRoot(rest);
            httpPutPacketToNext(q, rest);
        }
    };
    HttpStage *stage = httpCreateHandler("greedy", nullptr);
    stage->incoming = [](HttpQueue *q, HttpPacket *packet) {
        HttpStream *stream = q->stream;
        if (packet->flags & HTTP_PACKET_END) {
            httpFinalize(stream);
            return;
        }
        httpWriteBlock(stream->writeq, httpGetPacketStart(packet), httpGetPacketContents(packet), 0);
        char bytes[64];
        const ssize count = httpReadBlock(stream, bytes, sizeof(bytes), 200, HTTP_BLOCK);
        if (count > 0) {
            httpWriteBlock(stream->writeq, bytes, count, 0);
        }
        if (stream->rx->eof && httpGetReadCount(stream) == 0) {
            httpFinalize(stream);
        }
    };
    HttpRoute *route = routeTo("/greedy", "greedy");
    REQUIRE(httpAddRouteFilter(route, "splitter", nullptr, HTTP_STAGE_RX) == 0);
    httpFinalizeRoute(route);
    server.start();
    Client client(server.port);
    client.send("POST /greedy HTTP/1.1\r\nHost: a\r\nContent-Length: 32\r\n\r\n0123456789ABCDEF");
    mprSleep(50);
    client.send("GHIJKLMNOPQRSTUV");
    CHECK(client.receive().body == "0123456789ABCDEFGHIJKLMNOPQRSTUV");
}

TEST_CASE("HEAD waits for no rate", "[http][order]") {
    Server server;
    HttpRoute *route = httpCreateActionRoute(
        nullptr, "/rated", +[](HttpStream *stream) {
            static const std::string much(1'000'000, 'r');
            httpWriteBlock(stream->writeq, much.data(), static_cast<ssize>(much.size()), 0);
            httpFinalize(stream);
        });
    REQUIRE(httpAddRouteFilter(route, "rateFilter", nullptr, HTTP_STAGE_TX) == 0);
    httpSetRouteRate(route, 1000);
    httpDefineAction("/hello", answerHello);
    server.start();
    Client client(server.port);
    client.send("HEAD /rated HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hello"));
    CHECK(client.receive(true).status == 200);
    CHECK(client.receive().body == "hello"); // in a quarter of an hour else
}

TEST_CASE("a handler on which another waits for long is not late for that", "[http][order]") {
    Server server;
    static std::atomic<bool> isThere;
    isThere = false;
    httpDefineAction(
        "/much", +[](HttpStream *stream) {
            static const std::string piece(100'000, 'm');
            for (int i = 0; i < 100; i++) {
                httpWriteBlock(stream->writeq, piece.data(), static_cast<ssize>(piece.size()), HTTP_BLOCK);
            }
            httpFinalize(stream);
        });
    httpDefineAction(
        "/above", +[](HttpStream *stream) {
            httpSetTimeout(stream, 0, 0);
            isThere = true;
            const MprTicks begun = mprGetTicks();
            while (mprGetTicks() - begun < 3500) { // of the clock that looks for what is late
                mprWaitForEvent(stream->dispatcher, 10, -1);
            }
            answerHello(stream);
        });
    httpGetLimits()->inactivityTimeout = 1000;
    server.start();
    Client much(server.port, Client::mustConnect, 4096), above(server.port);
    much.send(get("/much"));
    REQUIRE(much.read());
    above.send(get("/above"));
    eventually([] { return isThere.load(); });
    CHECK(much.receive().body.size() == 10'000'000);
    CHECK(above.receive().body == "hello");
}

TEST_CASE("handlers that wait one on top of the other leave half of the stack", "[http][order]") {
    Server server;
    static std::atomic<int> most, depth;
    most = depth = 0;
    httpDefineAction(
        "/deep", +[](HttpStream *stream) {
            char much[64 * 1024];
            memset(much, 'd', sizeof(much));
            most = std::max(most.load(), ++depth);
            for (int i = 0; i < 100; i++) {
                httpWriteBlock(stream->writeq, much, sizeof(much), HTTP_BLOCK);
            }
            --depth;
            httpFinalize(stream);
        });
    const unsigned many =
        150 * static_cast<unsigned>(std::max(workersWanted(), 1)); // of 64 KiB and more: 10 MB a stack
    httpGetLimits()->connectionsPerClientMax = httpGetLimits()->requestsPerClientMax = static_cast<int>(many);
    server.start();
    std::vector<std::unique_ptr<Client>> clients;
    for (unsigned i = 0; i < many; i++) {
        clients.push_back(std::make_unique<Client>(server.port, Client::mustConnect, 4096));
        clients.back()->send(get("/deep"));
    }
    eventually([] { return most > 10; });
    mprSleep(200);
    CHECK(most < static_cast<int>(many));
    for (auto &client : clients) {
        client->close();
    }
    eventually([] { return depth == 0 && runningRequests() == 0; });
}

TEST_CASE("a complete request cannot fail any more, nor the one behind it for its sake", "[http][order]") {
    Server server;
    httpSetEndpointNotifier(server.endpoint, [](HttpStream *stream, int event, int) {
        if (event == HTTP_EVENT_DESTROY) {
            httpError(stream, 500 | HTTP_CLOSE, "too late");
        }
    });
    httpDefineAction("/hello", answerHello);
    server.start();
    Client client(server.port);
    client.send(get("/hello") + get("/hello"));
    CHECK(client.receive().body == "hello");
    CHECK(client.receive().body == "hello");
    CHECK(client.ask(get("/hello")).status == 200);
}

TEST_CASE("what is answered twice is answered as it was last, wherever that is", "[http][order]") {
    Server server;
    HttpStage *filter = httpCreateFilter("twice", nullptr);
    filter->match = [](HttpStream *stream, HttpRoute *, int) {
        httpRedirect(stream, 302, "/first");
        httpRedirect(stream, 303, "/last");
        return HTTP_ROUTE_OK;
    };
    REQUIRE(httpAddRouteFilter(httpCreateActionRoute(nullptr, "/twice", answerHello), "twice", nullptr,
                               HTTP_STAGE_TX | HTTP_STAGE_RX) == 0);
    HttpStage *late = httpCreateFilter("late", nullptr);
    late->outgoing = [](HttpQueue *q, HttpPacket *packet) { // its head has not been sent yet
        httpRedirect(q->stream, 303, "/login");
        httpPutPacketToNext(q, packet);
    };
    REQUIRE(httpAddRouteFilter(httpCreateActionRoute(nullptr, "/late", answerHello), "late", nullptr, HTTP_STAGE_TX) ==
            0);
    server.start();
    Client client(server.port);
    for (cchar *path : {"/twice", "/late", "/twice"}) {
        const Answer answer = client.ask(get(path));
        CHECK(answer.status == 303);
        CHECK(answer.whole);
        CHECK(answer["Connection"] != "close");
    }
}

TEST_CASE("a filter that takes itself out passes on what it has", "[http][order]") {
    Server server;
    static HttpStage *filter;
    filter = httpCreateFilter("once", nullptr);
    filter->outgoing = [](HttpQueue *q, HttpPacket *packet) {
        mprAddRoot(packet);
        httpRemoveQueue(q);
        cchar *how = httpGetQueryString(q->stream);
        if (*how == 'b') {
            httpPutBackPacket(q, packet);
            httpScheduleQueue(q->stream->outputq);
        } else {
            *how == 's' ? httpPutForService(q, packet, true) : httpPutPacketToNext(q, packet);
        }
        mprRemoveRoot(packet);
    };
    REQUIRE(httpAddRouteFilter(httpCreateActionRoute(nullptr, "/once", answerHello), "once", nullptr, HTTP_STAGE_TX) ==
            0);
    server.start();
    for (cchar *path : {"/once?next", "/once?service", "/once?back"}) {
        CHECK(server.get(path).body == "hello");
    }
}

TEST_CASE("205 has no body", "[http][order]") {
    Server server;
    httpDefineAction(
        "/reset", +[](HttpStream *stream) {
            httpSetStatus(stream, HTTP_CODE_RESET);
            answerHello(stream);
        });
    server.start();
    const Answer answer = server.get("/reset");
    CHECK(answer.status == 205);
    CHECK(answer["Content-Length"] == "0");
    CHECK(answer.body.empty());
}

TEST_CASE("those who are told of a head may wait: the body comes to the handler, and is not cut off", "[http][order]") {
    Server server;
    httpSetEndpointNotifier(server.endpoint, [](HttpStream *stream, int event, int arg) {
        if (event == HTTP_EVENT_STATE && arg == HTTP_STATE_PARSED) {
            char bytes[10];
            httpReadBlock(stream, bytes, sizeof(bytes), 50, HTTP_BLOCK);
            mprWaitForEvent(stream->dispatcher, 20, -1);
            const std::string much(100'000, 'x'); // for which there is no room as long as there is no pipeline
            httpWriteBlock(stream->writeq, much.data(), static_cast<ssize>(much.size()), HTTP_BLOCK);
        }
    });
    httpDefineAction("/body", answerBody);
    server.start();
    const std::string body(5000, 'b');
    Client client(server.port);
    client.send(post("/body", body));
    client.finish();
    CHECK(client.receive().body == body);
}

TEST_CASE("limits of time that a program has set for a request hold, whatever its route says", "[http][order]") {
    Server server;
    httpGetLimits()->requestTimeout = 3'600'000;
    httpGetLimits()->inactivityTimeout = 0; // none
    httpSetRequestCallback([](HttpStream *stream) {
        if (std::strcmp(stream->rx->uri, "/late") == 0) {
            httpSetTimeout(stream, 300, 300);
        }
    });
    httpDefineAction("/late", [](HttpStream *) {});
    httpDefineAction("/hello", answerHello);
    server.start();
    CHECK(server.get("/late").status == 408);
    CHECK(server.get("/hello").body == "hello");
}

TEST_CASE("what is written or comes while filters are opened goes through them in order", "[http][order]") {
    Server server;
    HttpStage *first = httpCreateFilter("firstFilter", nullptr); // writes in its open, and has the connection go on
    first->open = [](HttpQueue *q) {
        if (q->direction == HTTP_QUEUE_TX) {
            httpPutPacketToNext(q, packetOf("first,"));
        }
        for (int i = 0; i < 5; i++) {
            httpFlush(q->stream);
            mprWaitForEvent(q->stream->dispatcher, 5, -1);
        }
        return 0;
    };
    HttpStage *second = httpCreateFilter("upper", nullptr);
    second->open = [](HttpQueue *) { return 0; };
    second->outgoing = [](HttpQueue *q, HttpPacket *packet) {
        for (char *c = httpGetPacketStart(packet); c && c < packet->content->end; c++) {
            *c = static_cast<char>(toupper(*c));
        }
        httpPutPacketToNext(q, packet);
    };
    second->incoming = [](HttpQueue *q, HttpPacket *packet) { httpPutPacketToNext(q, packet); };
    HttpRoute *route = httpCreateActionRoute(nullptr, "/body", answerBody);
    for (cchar *name : {"firstFilter", "upper"}) {
        REQUIRE(httpAddRouteFilter(route, name, nullptr, HTTP_STAGE_TX | HTTP_STAGE_RX) == 0);
    }
    server.start();
    std::string body, answer = "FIRST,";
    for (int i = 0; body.size() < 40'000; i++) {
        body += std::to_string(i) + "x";
    }
    for (const char c : body) {
        answer += static_cast<char>(toupper(c));
    }
    CHECK(server.ask(post("/body", body)).body == answer);
}

TEST_CASE("a filter may keep, or remove itself from, what comes while it is opened", "[http][order]") {
    Server server;
    httpCreateFilter("writes", nullptr)->open = [](HttpQueue *q) {
        for (cchar *text : {"one ", "two ", "three "}) {
            httpPutPacketToNext(q, packetOf(text));
        }
        return 0;
    };
    HttpStage *keeps = httpCreateFilter("keeps", nullptr);
    keeps->open = [](HttpQueue *) { return 0; };
    keeps->outgoing = [](HttpQueue *q, HttpPacket *packet) {
        httpPutForService(q, packet, false);
        while (HttpPacket *each = httpGetPacket(q)) {
            httpPutPacketToNext(q, each);
        }
    };
    HttpStage *leaves = httpCreateFilter("leaves", nullptr);
    leaves->open = [](HttpQueue *) { return 0; };
    leaves->outgoing = [](HttpQueue *q, HttpPacket *packet) {
        httpRemoveQueue(q);
        httpPutPacketToNext(q, packet);
    };
    HttpStage *begins = httpCreateFilter("begins", nullptr); // with what is for its service
    begins->open = [](HttpQueue *q) {
        httpPutForService(q, packetOf("banner "), true);
        return 0;
    };
    begins->outgoing = [](HttpQueue *q, HttpPacket *packet) {
        if (httpGetPacketContents(packet) > 0) {
            mprPutCharToBuf(packet->content, '!');
        }
        httpPutForService(q, packet, true);
    };
    for (cchar *name : {"keeps", "leaves", "begins"}) {
        const std::string path = std::string("/") + name;
        HttpRoute *route = httpCreateActionRoute(nullptr, path.c_str(), answerHello);
        REQUIRE(httpAddRouteFilter(route, "writes", nullptr, HTTP_STAGE_TX) == 0);
        REQUIRE(httpAddRouteFilter(route, name, nullptr, HTTP_STAGE_TX) == 0);
    }
    server.start();
    CHECK(server.get("/keeps").body == "one two three hello");
    CHECK(server.get("/leaves").body == "one two three hello");
    CHECK(server.get("/begins").body == "banner one !two !three !hello!");
}
