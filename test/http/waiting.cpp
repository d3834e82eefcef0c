/* SPDX-License-Identifier: MIT */
/*
    test/http/waiting.cpp - Calls of handlers that let the connection go on, or wait: nothing else of the handler is called
    meanwhile, and nothing that they wait for stays away.

    Most clients here send all of a request before they read, and both ends have little room, so that whoever must not wait
    for the other is found out.
 */
#include "test/support/http.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

using namespace test;

namespace {

constexpr ssize length = 1 << 18;

const std::string &numbers() {
    static const std::string text = [] {
        std::string all;
        for (int i = 0; all.size() < length; i++) {
            all += std::to_string(i) + " ";
        }
        return all.substr(0, length);
    }();
    return text;
}

/* The client's end takes and keeps little, too. */
class Narrow {
public:
    Narrow() {
        httpGetLimits()->packetSize = 1024;
        httpGetLimits()->rxBodySize = 16 << 20;
        httpGetLimits()->connectionMemory = 32 << 20;
    }

    HttpStage *handler(cchar *path) {
        HttpStage *stage = httpCreateHandler(path, nullptr);
        HttpRoute *const route = httpCreateInheritedRoute(nullptr);
        httpSetRoutePattern(route, path, 0);
        REQUIRE(httpSetRouteHandler(route, path) == 0);
        httpFinalizeRoute(route);
        return stage;
    }
    void start() {
        mprSetSocketPrebindCallback([](MprSocket *listener) {
            // The system opens a window of a few kilobytes ten times a second only.
            const int out = 4096, in = 128 * 1024;
            setsockopt(listener->fd, SOL_SOCKET, SO_RCVBUF, &in, sizeof(in));
            return setsockopt(listener->fd, SOL_SOCKET, SO_SNDBUF, &out, sizeof(out));
        });
        server.start();
        mprSetSocketPrebindCallback(nullptr);
    }
    /* Send all, then read. */
    Answer ask(const std::string &request) const {
        Client client(server.port, Client::mustConnect, 4096);
        return client.ask(request);
    }
    /* Read while it is sent. */
    Answer askAtOnce(const std::string &request) const {
        Client client(server.port, Client::mustConnect, 4096);
        std::thread sends([&] { client.send(request); });
        Answer answer = client.receive();
        sends.join();
        return answer;
    }

    Server server;
};

/* More than the system takes of a client that is not read. */
const std::string tooMuch(6 << 20, 'm');

void writeAll(HttpQueue *q, int flags) {
    CHECK(httpWriteBlock(q->stream->writeq, numbers().data(), length, flags) == length);
}

void passOn(HttpQueue *q, HttpPacket *packet) {
    httpPutPacketToNext(q, packet);
}

/* ---- A handler that writes as much as is taken ---- */

std::atomic<int> mostWithin{0};

/* A handler writes until nothing more is taken, so slowly that there is room again meanwhile. At the end it records what it
   has written. */
void writeUntilFull(HttpStream *stream) {
    static int within;
    mostWithin = std::max(mostWithin.load(), ++within);
    auto at = static_cast<ssize>(reinterpret_cast<std::uintptr_t>(stream->staticData));
    ssize count = 1;
    while (count > 0 && at < length) {
        const ssize wanted = std::min<ssize>(5000, length - at);
        count = httpWriteBlock(stream->writeq, numbers().data() + at, wanted, HTTP_NON_BLOCK);
        at += std::max<ssize>(count, 0);
        if (count < wanted) {
            pollfd descriptor{stream->sock->fd, POLLOUT, 0};
            poll(&descriptor, 1, 20000);
        }
    }
    stream->staticData = reinterpret_cast<void *>(static_cast<std::uintptr_t>(at));
    if (at >= length) {
        httpFinalize(stream);
    }
    within--;
}

/* ---- One that sends back what comes ---- */

int echoFlags;

void echo(HttpQueue *q, HttpPacket *packet) {
    if (packet->flags & HTTP_PACKET_END) {
        httpFinalize(q->stream);
        return;
    }
    const std::string text(packet->content->start, packet->content->end); // which the program keeps while it waits
    httpWriteBlock(q->stream->writeq, text.data(), static_cast<ssize>(text.size()), echoFlags);
}

/* ---- One that reads in a notifier ---- */

void readWhenTold(HttpStream *stream, int event, int) {
    static int within;
    static std::string all;
    char piece[100];
    if (event != HTTP_EVENT_READABLE) {
        return;
    }
    mostWithin = std::max(mostWithin.load(), ++within);
    ssize count = 0;
    while ((count = httpReadBlock(stream, piece, sizeof(piece), -1, HTTP_BLOCK)) > 0) {
        all.append(piece, static_cast<size_t>(count));
    }
    if (within-- == 1 && httpIsEof(stream) && !httpIsFinalized(stream)) {
        httpWriteBlock(stream->writeq, all.data(), static_cast<ssize>(all.size()), 0);
        httpFinalize(stream);
        all.clear();
    }
}
} // namespace

TEST_CASE("nothing else of a handler is called while it writes, though there is room again", "[http][waiting]") {
    Narrow narrow;
    httpDefineAction(
        "/numbers", +[](HttpStream *stream) {
            httpSetContentLength(stream, length);
            httpSetStreamNotifier(stream, [](HttpStream *of, int event, int) {
                if (event == HTTP_EVENT_WRITABLE) {
                    writeUntilFull(of);
                }
            });
            writeUntilFull(stream);
        });
    narrow.start();
    mostWithin = 0;
    const Answer answer = narrow.ask(get("/numbers"));
    CHECK(answer.whole);
    CHECK((answer.body == numbers()));
    CHECK(mostWithin == 1);
}

TEST_CASE("what comes while a handler writes is given to it afterwards", "[http][waiting]") {
    echoFlags = GENERATE(0, HTTP_BLOCK);
    CAPTURE(echoFlags);
    Narrow narrow;
    narrow.handler("/echo")->incoming = echo;
    narrow.start();
    const Answer answer = narrow.askAtOnce(post("/echo", numbers()));
    CHECK(answer.whole);
    CHECK((answer.body == numbers()));
}

TEST_CASE("a handler that writes takes the body meanwhile, where it is not called with it", "[http][waiting]") {
    Narrow narrow;
    narrow.handler("/drops")->start = +[](HttpQueue *q) {
        httpFinalizeInput(q->stream);
        writeAll(q, HTTP_BLOCK);
        httpFinalize(q->stream);
    };
    narrow.handler("/refuses")->start = +[](HttpQueue *q) {
        httpSetStatus(q->stream, 403);
        writeAll(q, HTTP_BUFFER);
        httpFinalize(q->stream);
        httpFlushQueue(q->stream->writeq, HTTP_BLOCK);
    };
    HttpStage *const keeps = narrow.handler("/keeps");
    keeps->start = +[](HttpQueue *q) { writeAll(q, HTTP_BLOCK); };
    keeps->ready = +[](HttpQueue *q) {
        CHECK(httpGetReadCount(q->stream) == static_cast<ssize>(tooMuch.size()));
        httpFinalize(q->stream);
    };
    narrow.start();
    for (cchar *path : {"/drops", "/refuses", "/keeps"}) {
        CAPTURE(path);
        const Answer answer = narrow.ask(post(path, tooMuch));
        CHECK(answer.status == (std::string(path) == "/refuses" ? 403 : 200));
        CHECK((answer.body == numbers()));
    }
}

TEST_CASE("an event reads the body while the handler waits for room", "[http][waiting]") {
    Narrow narrow;
    static std::atomic<ssize> read{0};
    narrow.handler("/both")->start = +[](HttpQueue *q) {
        httpCreateEvent(
            q->stream->seqno,
            +[](HttpStream *stream, void *) {
                char bytes[1000];
                ssize count = 0;
                while ((count = httpReadBlock(stream, bytes, sizeof(bytes), -1, HTTP_BLOCK)) > 0) {
                    read += count;
                }
            },
            nullptr);
        writeAll(q, HTTP_BLOCK);
        httpFinalize(q->stream);
    };
    narrow.start();
    read = 0;
    const Answer answer = narrow.ask(post("/both", tooMuch));
    CHECK((answer.body == numbers()));
    eventually([] { return read == static_cast<ssize>(tooMuch.size()); });
}

TEST_CASE("a notifier that waits for the body is called once for all of it", "[http][waiting]") {
    Narrow narrow;
    httpSetEndpointNotifier(narrow.server.endpoint, readWhenTold);
    narrow.handler("/note");
    narrow.start();
    mostWithin = 0;
    SECTION("in one piece") {
        CHECK(narrow.ask(post("/note", "0123456789")).body == "0123456789");
    }
    SECTION("in chunks") {
        const std::string request = "POST /note HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                                    "4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n";
        CHECK(narrow.ask(request).body == "0123456789");
    }
    SECTION("byte by byte") {
        Client client(narrow.server.port);
        const std::string body = numbers().substr(0, 2000), request = post("/note", body);
        client.send(request.substr(0, request.size() - body.size()));
        for (const char each : body) {
            client.send(std::string(1, each));
            client.read(0); // yields
        }
        CHECK((client.receive().body == body));
    }
    CHECK(mostWithin == 1);
}

TEST_CASE("a handler that waits for the body has its client go on", "[http][waiting]") {
    Narrow narrow;
    narrow.handler("/expects")->start = +[](HttpQueue *q) {
        char bytes[100];
        const ssize count = httpReadBlock(q->stream, bytes, sizeof(bytes), -1, HTTP_BLOCK);
        httpWriteBlock(q->stream->writeq, bytes, count, 0);
        httpFinalize(q->stream);
    };
    narrow.start();
    Client client(narrow.server.port);
    client.send("POST /expects HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    CHECK(client.receive().status == 100);
    CHECK(client.ask("body").body == "body");
}

TEST_CASE("a queue that others resume goes on while a handler waits for room", "[http][waiting]") {
    Narrow narrow;
    static bool waits;
    waits = GENERATE(true, false);
    CAPTURE(waits);
    httpDefineAction(
        "/resumed", +[](HttpStream *stream) {
            httpSuspendQueue(stream->outputq);
            mprCreateEvent(stream->dispatcher, "resume", 50,
                           reinterpret_cast<void *>(+[](HttpQueue *q, MprEvent *) { httpResumeQueue(q, false); }),
                           stream->outputq, 0);
            writeAll(stream->writeq, waits ? HTTP_BLOCK : HTTP_BUFFER);
            httpFlushQueue(stream->writeq, HTTP_BLOCK);
            httpFinalize(stream);
        });
    narrow.start();
    CHECK((narrow.ask(get("/resumed")).body == numbers()));
}

TEST_CASE("a stage may let the connection go on while it is serviced", "[http][waiting]") {
    Narrow narrow;
    httpCreateFilter("flushes", nullptr)->outgoingService = +[](HttpQueue *q) {
        while (HttpPacket *packet = httpGetPacket(q)) {
            if (!httpWillNextQueueAcceptPacket(q, packet)) {
                httpPutBackPacket(q, packet);
                return;
            }
            httpPutPacketToNext(q, packet);
            httpFlush(q->stream);
        }
    };
    httpDefineAction("/hello", answerHello);
    HttpRoute *const route = httpCreateActionRoute(
        nullptr, "/flushed", +[](HttpStream *stream) {
            writeAll(stream->writeq, HTTP_BUFFER);
            httpFinalize(stream);
        });
    REQUIRE(httpAddRouteFilter(route, "flushes", nullptr, HTTP_STAGE_TX) == 0);
    narrow.start();
    CHECK((narrow.ask(get("/flushed")).body == numbers()));
    CHECK(narrow.ask(get("/hello")).body == "hello");
}

TEST_CASE("a handler waits for room behind a filter that passes on what it is given", "[http][waiting]") {
    Narrow narrow;
    httpGetLimits()->connectionMemory = 512 << 10;
    for (cchar *name : {"first", "second"}) {
        httpCreateFilter(name, nullptr)->outgoing = passOn;
    }
    HttpRoute *const route = httpCreateActionRoute(
        nullptr, "/much", +[](HttpStream *stream) {
            for (int i = 0; i < 16; i++) {
                writeAll(stream->writeq, HTTP_BLOCK);
            }
            httpFinalize(stream);
        });
    for (cchar *name : {"first", "second"}) {
        REQUIRE(httpAddRouteFilter(route, name, nullptr, HTTP_STAGE_TX) == 0);
    }
    narrow.start();
    std::string all;
    for (int i = 0; i < 16; i++) {
        all += numbers();
    }
    CHECK((narrow.ask(get("/much")).body == all));
}

TEST_CASE("a handler waits for what a filter has added, too", "[http][waiting]") {
    Narrow narrow;
    httpGetLimits()->inactivityTimeout = 60000;
    static int added;
    added = 0;
    httpCreateFilter("adds", nullptr)->outgoingService = +[](HttpQueue *q) {
        httpDefaultService(q);
        if (added++ < 3) {
            httpWriteBlock(q->stream->writeq, "more,", 5, HTTP_BUFFER); // goes on when it is serviced
        }
    };
    HttpRoute *const route = httpCreateActionRoute(
        nullptr, "/added", +[](HttpStream *stream) {
            httpWriteString(stream->writeq, "first,");
            for (int i = 0; i < 3; i++) {
                mprWaitForEvent(stream->dispatcher, 1, -1);
            }
            httpFlushQueue(stream->writeq, HTTP_BLOCK);
            answerHello(stream);
        });
    REQUIRE(httpAddRouteFilter(route, "adds", nullptr, HTTP_STAGE_TX) == 0);
    narrow.start();
    CHECK(narrow.ask(get("/added")).body == "first,more,more,more,hello");
}

TEST_CASE("a filter does not wait for a handler that is below it", "[http][waiting]") {
    Narrow narrow;
    httpGetLimits()->inactivityTimeout = 60000;
    httpCreateFilter("expands", nullptr)->incoming = +[](HttpQueue *q, HttpPacket *packet) {
        if (httpGetPacketContents(packet) > 0) {
            CHECK(httpWriteBlock(q->nextQ, numbers().data(), length, HTTP_BLOCK) == length);
            httpFlushQueue(q->nextQ, HTTP_BLOCK);
        } else {
            httpPutPacketToNext(q, packet);
        }
    };
    static std::atomic<ssize> came;
    came = 0;
    HttpStage *stage = narrow.handler("/expanded");
    stage->incoming = [](HttpQueue *q, HttpPacket *packet) { httpPutForService(q, packet, false); };
    stage->ready = [](HttpQueue *q) {
        came = httpGetReadCount(q->stream);
        answerHello(q->stream);
    };
    REQUIRE(httpAddRouteFilter(httpLookupRoute(nullptr, "/expanded"), "expands", nullptr, HTTP_STAGE_RX) == 0);
    narrow.start();
    CHECK(narrow.ask(post("/expanded", "x")).body == "hello");
    CHECK(came == length);
}

TEST_CASE("a filter that is given a response does not wait for room above it", "[http][waiting]") {
    Narrow narrow;
    static int asked;
    asked = 0;
    httpCreateFilter("adds", nullptr)->outgoing = +[](HttpQueue *q, HttpPacket *packet) {
        const int before = asked++;
        httpPutPacketToNext(q, packet);
        if (before < 3) {
            writeAll(q->stream->writeq, HTTP_BLOCK);
            httpFlushQueue(q->stream->writeq, HTTP_BLOCK);
        } else if (before == 3) {
            httpFinalize(q->stream);
        }
    };
    HttpRoute *const route = httpCreateActionRoute(
        nullptr, "/added", +[](HttpStream *stream) {
            writeAll(stream->writeq, HTTP_BUFFER);
            httpFlush(stream);
        });
    REQUIRE(httpAddRouteFilter(route, "adds", nullptr, HTTP_STAGE_TX) == 0);
    narrow.start();
    const Answer answer = narrow.ask(get("/added"));
    CHECK(answer.status == 200);
    CHECK(answer.body.size() == 4 * length);
    CHECK((answer.body == numbers() + numbers() + numbers() + numbers()));
}

TEST_CASE("who answers a request that takes too long has it end well though its body never comes", "[http][waiting]") {
    Narrow narrow;
    static std::atomic<int> told;
    told = 0;
    httpSetEndpointNotifier(
        narrow.server.endpoint, +[](HttpStream *stream, int event, int) {
            if (event == HTTP_EVENT_TIMEOUT) {
                told++;
                httpWriteString(stream->writeq, "late");
                httpFinalize(stream);
            }
        });
    narrow.handler("/late")->start = +[](HttpQueue *q) { httpSetTimeout(q->stream, 100, 100); };
    narrow.start();
    Client client(narrow.server.port);
    client.send("POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
    const Answer answer = client.receive();
    CHECK(answer.status == 200);
    CHECK(answer.body == "late");
    CHECK(client.isClosed());
    CHECK(told == 1);
}

TEST_CASE("a stage is not closed under a call of its own that waits", "[http][waiting]") {
    Narrow narrow;
    static std::atomic<int> closed, within, left;
    closed = within = left = 0;
    HttpStage *stage = narrow.handler("/waits");
    stage->open = [](HttpQueue *) { return 0; };
    stage->ready = [](HttpQueue *q) {
        httpWriteBlock(q->stream->writeq, numbers().data(), length, HTTP_BLOCK);
        within += closed;
        left++;
    };
    stage->close = [](HttpQueue *) { closed++; };
    narrow.start();
    for (int i = 1; i <= 3; i++) {
        Client client(narrow.server.port, Client::mustConnect, 4096);
        client.send(get("/waits"));
        client.read();
        client.reset();
        eventually([i] { return left == i && closed == i; });
    }
    CHECK(within == 0 + 1 + 2); // those of the requests before
}

namespace {

/* A handler that keeps the packets of a body in its queue, and takes them from there. */
struct Taken {
    static inline std::string all;
    static inline bool ended, waits;
    static void take(HttpQueue *q, HttpPacket *packet) {
        httpPutForService(q, packet, false);
        const bool first = all.empty();
        while (HttpPacket *each = httpGetPacket(q)) {
            CHECK(!ended);
            all.append(httpGetPacketString(each));
            ended = each->flags & HTTP_PACKET_END;
        }
        if (first && waits) {
            httpWriteBlock(q->stream->writeq, numbers().data(), 20'000, HTTP_BLOCK);
        }
        if (ended) {
            httpWriteBlock(q->stream->writeq, all.data(), static_cast<ssize>(all.size()), HTTP_BUFFER);
            httpFinalize(q->stream);
        }
    }
};

/* One packet at a time, each by an event. */
void goOn(void *data, MprEvent *) {
    httpResumeQueue(static_cast<HttpQueue *>(data), true);
}
void passSlowly(HttpQueue *q) {
    HttpPacket *packet = httpGetPacket(q);
    if (packet && httpWillNextQueueAcceptPacket(q, packet)) {
        httpPutPacketToNext(q, packet);
        httpSuspendQueue(q);
        mprCreateEvent(q->stream->dispatcher, "slow", 5, goOn, q, 0);
    } else if (packet) {
        httpPutBackPacket(q, packet);
    }
}
} // namespace

TEST_CASE("a body that is kept and taken comes in order, whoever waits and whatever filters there are",
          "[http][waiting]") {
    Narrow narrow;
    HttpStage *stage = narrow.handler("/keeps");
    stage->start = [](HttpQueue *q) {
        Taken::all.clear();
        Taken::ended = false;
        Taken::waits = *httpGetQueryString(q->stream) == 'w';
    };
    stage->incoming = Taken::take;
    httpCreateFilter("passes", nullptr)->incoming = passOn;
    REQUIRE(httpAddRouteFilter(httpLookupRoute(nullptr, "/keeps"), "passes", nullptr, HTTP_STAGE_RX) == 0);
    narrow.start();
    const std::string body = numbers().substr(0, 30'000);
    for (cchar *path : {"/keeps", "/keeps?wait"}) {
        Client client(narrow.server.port);
        const std::string request = post(path, body);
        client.send(request.substr(0, request.size() - body.size() + 10));
        mprSleep(20);
        client.send(request.substr(request.size() - body.size() + 10));
        const Answer answer = client.receive();
        CHECK(answer.body == (*(path + 6) ? numbers().substr(0, 20'000) : "") + body);
    }
}

TEST_CASE("a handler is ready when all of the body has come through its filters", "[http][waiting]") {
    Narrow narrow;
    httpGetLimits()->packetSize = 64 * 1024;
    httpCreateFilter("slow", nullptr)->incomingService = passSlowly;
    REQUIRE(httpAddRouteFilter(httpCreateActionRoute(nullptr, "/slow", answerBody), "slow", nullptr, HTTP_STAGE_RX) ==
            0);
    HttpRoute *reads = httpCreateActionRoute(nullptr, "/reads", [](HttpStream *) {});
    REQUIRE(httpAddRouteFilter(reads, "slow", nullptr, HTTP_STAGE_RX) == 0);
    HttpStage *reader = narrow.handler("/reader");
    REQUIRE(httpAddRouteFilter(httpLookupRoute(nullptr, "/reader"), "slow", nullptr, HTTP_STAGE_RX) == 0);
    reader->start = [](HttpQueue *q) {
        std::string all;
        char bytes[1000];
        while (!httpIsEof(q->stream)) {
            const ssize count = httpReadBlock(q->stream, bytes, sizeof(bytes), -1, HTTP_BLOCK);
            all.append(bytes, static_cast<size_t>(std::max<ssize>(count, 0)));
        }
        httpWriteBlock(q, all.data(), static_cast<ssize>(all.size()), HTTP_BUFFER);
        httpFinalize(q->stream);
    };
    narrow.start();
    const std::string body = numbers().substr(0, 30'000);
    CHECK(narrow.server.ask(post("/slow", body)).body == body);
    CHECK(narrow.server.ask(post("/reader", body)).body == body);
    Client client(narrow.server.port); // a reader whose client leaves finds the end, too
    client.send("POST /reader HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    client.reset();
    CHECK(narrow.server.ask(post("/slow", body)).body == body);
}

TEST_CASE("a handler that waits for room is held to the limit of inactivity", "[http][waiting]") {
    Narrow narrow;
    httpGetLimits()->inactivityTimeout = 300;
    httpGetLimits()->requestTimeout = 3'600'000;
    static std::atomic<int> left;
    left = 0;
    httpDefineAction(
        "/waits", +[](HttpStream *stream) {
            for (int i = 0; i < 100 && !stream->error; i++) {
                httpWriteBlock(stream->writeq, numbers().data(), length, HTTP_BLOCK);
            }
            left++;
        });
    narrow.start();
    Client client(narrow.server.port, Client::mustConnect, 4096);
    client.send(get("/waits")); // and reads nothing
    eventually([] { return left == 1; });
}
