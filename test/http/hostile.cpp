/* SPDX-License-Identifier: MIT */
/*
    test/http/hostile.cpp - Handlers, stages and notifiers that do what none should, and clients that leave meanwhile:
    others are served, nothing hangs, and no client is told anything that the program has not said.
 */
#include "test/support/http.hpp"

#include <atomic>
#include <string>

using namespace test;

namespace {

std::string answersOf(Client &client, int count) {
    std::string text;
    for (int i = 0; i < count; i++) {
        text += client.receive().body + " ";
    }
    return text;
}

std::atomic<int> inside{0}, deepest{0}, told{0}, left{0};
} // namespace

TEST_CASE("a response ends once, whatever its handler puts behind its end", "[http][hostile]") {
    Server server;
    httpDefineAction("/hello", answerHello);
    httpDefineAction(
        "/ends", +[](HttpStream *stream) {
            httpSetChunkSize(stream, 100);
            httpWriteString(stream->writeq, "a");
            httpPutPacket(stream->writeq, httpCreateEndPacket());
            httpPutPacket(stream->writeq, httpCreateEndPacket());
            httpWriteString(stream->writeq, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
            httpFinalize(stream);
        });
    server.start();
    Client client(server.port);
    client.send(get("/ends") + get("/hello"));
    CHECK(answersOf(client, 2) == "a hello ");
    client.send(get("/ends") + get("/hello"));
    CHECK(answersOf(client, 2) == "a hello ");
}

TEST_CASE("a body is left out after the end, too", "[http][hostile]") {
    Server server;
    httpDefineAction(
        "/omit", +[](HttpStream *stream) {
            httpWriteString(stream->writeq, "dropped");
            httpFinalize(stream);
            httpOmitBody(stream);
        });
    httpDefineAction(
        "/omitted", +[](HttpStream *stream) {
            httpOmitBody(stream);
            httpWriteString(stream->writeq, "dropped");
            httpFinalize(stream);
        });
    httpDefineAction("/hello", answerHello);
    server.start();
    Client client(server.port);
    for (cchar *path : {"/omit", "/omitted"}) {
        Answer answer = client.ask(get(path));
        CHECK(answer.status == 200);
        CHECK(answer["Content-Length"] == "0"); /* Or the client would wait for a body */
        CHECK(client.ask(get("/hello")).body == "hello");
    }
}

TEST_CASE("what a handler makes of status and method leaves each response its own", "[http][hostile]") {
    Server server;
    httpDefineAction("/hello", answerHello);
    httpDefineAction(
        "/continue", +[](HttpStream *stream) {
            httpSetStatus(stream, 100);
            httpWriteString(stream->writeq, "body");
            httpFinalize(stream);
        });
    httpDefineAction(
        "/method", +[](HttpStream *stream) {
            httpSetMethod(stream, std::string(stream->rx->method) == "HEAD" ? "GET" : "HEAD");
            httpWriteString(stream->writeq, "body");
            httpFinalize(stream);
        });
    server.start();
    Client client(server.port);
    Answer answer = client.ask(get("/continue"));
    CHECK(answer.status == 500);
    CHECK(answer.body == "body");
    CHECK(client.ask(get("/method")).body == "body");
    CHECK(client.ask("HEAD /method HTTP/1.1\r\nHost: a\r\n\r\n").status == 200);
    CHECK(client.ask(get("/hello")).body == "hello");
}

TEST_CASE("an error whose document breaks its promise cuts the connection", "[http][hostile]") {
    Server server;
    httpDefineAction("/hello", answerHello);
    httpDefineAction(
        "/length", +[](HttpStream *stream) {
            httpError(stream, 404, "%s", "none");
            httpSetContentLength(stream, 1000);
        });
    server.start();
    Client client(server.port);
    client.send(get("/length") + get("/hello") + get("/hello"));
    CHECK(client.isClosed());
    CHECK(client.input.find("hello") == std::string::npos);
}

TEST_CASE("a type of content has no line's end in it", "[http][hostile]") {
    Server server;
    httpDefineAction(
        "/type", +[](HttpStream *stream) {
            stream->tx->mimeType = "text/plain\r\nX-Evil: 1";
            httpWriteString(stream->writeq, "body");
            httpFinalize(stream);
        });
    server.start();
    Answer answer = server.get("/type");
    CHECK(answer.body == "body");
    CHECK_FALSE(answer.has("X-Evil"));
}

TEST_CASE("the next request waits until the handler of the one before has returned", "[http][hostile]") {
    Server server;
    httpDefineAction(
        "/flush", +[](HttpStream *stream) {
            inside++;
            deepest = std::max<int>(deepest, inside);
            httpWriteString(stream->writeq, "f");
            httpFinalize(stream);
            httpFlush(stream);
            inside--;
        });
    server.start();
    inside = deepest = 0;
    constexpr int many = 200;
    std::string requests;
    for (int i = 0; i < many; i++) {
        requests += get("/flush");
    }
    Client client(server.port);
    client.send(requests);
    int answered = 0;
    while (answered < many && client.receive().body == "f") {
        answered++;
    }
    CHECK(answered == many);
    CHECK(deepest == 1);
}

TEST_CASE("a notifier may answer a request that takes too long", "[http][hostile]") {
    static bool flushes;
    flushes = GENERATE(true, false);
    CAPTURE(flushes);
    Server server;
    httpDefineAction("/hello", answerHello);
    httpDefineAction(
        "/late", +[](HttpStream *stream) { httpSetTimeout(stream, 100, 100); });
    httpSetEndpointNotifier(
        server.endpoint, +[](HttpStream *stream, int event, int) {
            if (event == HTTP_EVENT_TIMEOUT) {
                told++;
                httpWriteString(stream->writeq, "late");
                httpFinalize(stream);
                if (flushes) {
                    httpFlush(stream);
                }
            }
        });
    server.start();
    told = 0;
    Client client(server.port);
    CHECK(client.ask(get("/late")).body == "late");
    CHECK(client.ask(get("/hello")).body == "hello");
    CHECK(told == 1);
}

TEST_CASE("a notifier may flush at the end of its stream", "[http][hostile]") {
    Server server;
    httpDefineAction("/hello", answerHello);
    httpSetEndpointNotifier(
        server.endpoint, +[](HttpStream *stream, int event, int) {
            told += event == HTTP_EVENT_DONE;
            httpFlush(stream);
        });
    server.start();
    told = 0;
    Client client(server.port);
    for (int i = 0; i < 3; i++) {
        CHECK(client.ask(get("/hello")).body == "hello");
    }
    eventually([] { return told == 3; });
}

TEST_CASE("a handler may end the service under itself", "[http][hostile]") {
    Server server;
    httpDefineAction(
        "/destroy", +[](HttpStream *stream) {
            httpDestroy();
            CHECK(httpWriteString(stream->writeq, "x") < 0);
            CHECK_FALSE(httpGetSession(stream, 1));
            CHECK(httpSetSessionVar(stream, "a", "b") < 0);
            httpDestroySession(stream);
            httpError(stream, 500, "%s", "late");
            httpFinalize(stream);
            httpFlush(stream);
            left++;
        });
    server.start();
    left = 0;
    Client client(server.port), idle(server.port);
    client.send(get("/destroy"));
    eventually([] { return left == 1; });
    CHECK(client.isClosed());
    CHECK(idle.isClosed());
}

TEST_CASE("whatever queue is suspended, errors are answered", "[http][hostile]") {
    Server server;
    static HttpQueue *(*queueOf)(HttpStream *);
    httpDefineAction("/hello", answerHello);
    httpDefineAction(
        "/error", +[](HttpStream *stream) {
            httpSuspendQueue(queueOf(stream));
            httpWriteString(stream->writeq, "dropped");
            httpError(stream, 404, "%s", "none");
        });
    httpDefineAction(
        "/redirect", +[](HttpStream *stream) {
            httpSuspendQueue(queueOf(stream));
            httpRedirect(stream, 302, "/hello");
        });
    httpDefineAction(
        "/late", +[](HttpStream *stream) {
            httpSetTimeout(stream, 100, 100);
            httpSuspendQueue(queueOf(stream));
        });
    server.start();
    for (const auto each :
         {+[](HttpStream *stream) { return stream->writeq; }, +[](HttpStream *stream) { return stream->outputq; },
          +[](HttpStream *stream) { return stream->readq; }, +[](HttpStream *stream) { return stream->inputq; }}) {
        queueOf = each;
        Client client(server.port);
        CHECK(client.ask(get("/error")).status == 404);
        CHECK(client.ask(get("/redirect")).status == 302);
        CHECK(client.ask(get("/hello")).body == "hello");
        CHECK(client.ask(get("/late")).status == 408);
    }
}

TEST_CASE("an answer that nobody lets go out ends with the time of its request", "[http][hostile]") {
    Server server;
    httpDefineAction(
        "/stuck", +[](HttpStream *stream) {
            httpSetTimeout(stream, 100, 100);
            httpSuspendQueue(stream->outputq);
            httpWriteString(stream->writeq, "never");
            httpFinalize(stream);
        });
    server.start();
    Client client(server.port);
    CHECK(client.ask(get("/stuck")).status == 408);
    CHECK(client.isClosed());
}

TEST_CASE("a client leaves while its handler waits for room", "[http][hostile]") {
    Server server;
    httpDefineAction("/hello", answerHello);
    httpDefineAction(
        "/block", +[](HttpStream *stream) {
            static const std::string piece(100'000, 'b');
            auto *kept = sclone("kept");
            stream->data = kept;
            ssize count = 1;
            while (count > 0) {
                count = httpWriteBlock(stream->writeq, piece.data(), static_cast<ssize>(piece.size()), HTTP_BLOCK);
            }
            collect();
            /* What is left of the stream can be looked at as long as its handler runs. */
            CHECK(std::string(static_cast<char *>(stream->data)) == "kept");
            CHECK(std::string(stream->rx->pathInfo) == "/block");
            httpError(stream, 500, "%s", "too late");
            httpFinalize(stream);
            httpFlush(stream);
            left++;
        });
    server.start();
    left = 0;
    for (int i = 0; i < 5; i++) {
        Client client(server.port);
        client.send(get("/block"));
        client.read();
        if (i % 2) {
            client.reset();
        }
        client.close();
        eventually([i] { return left == i + 1; });
    }
    CHECK(server.get("/hello").body == "hello");
}

TEST_CASE("a client leaves while a stage waits in its events", "[http][hostile]") {
    Server server;
    httpDefineAction("/hello", answerHello);
    HttpStage *stage = httpCreateHandler("waiter", nullptr);
    stage->incoming = +[](HttpQueue *q, HttpPacket *) {
        HttpStream *stream = q->stream;
        for (int i = 0; i < 200 && stream->state < HTTP_STATE_COMPLETE; i++) {
            httpFlush(stream);
            mprWaitForEvent(stream->dispatcher, 10, -1);
            collect();
        }
        CHECK(stream->state == HTTP_STATE_COMPLETE);
        left++;
    };
    HttpRoute *route = httpCreateInheritedRoute(nullptr);
    httpSetRoutePattern(route, "/wait", 0);
    REQUIRE(httpSetRouteHandler(route, "waiter") == 0);
    httpFinalizeRoute(route);
    server.start();
    left = 0;
    for (int i = 0; i < 3; i++) {
        Client client(server.port);
        client.send("POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
        mprSleep(50);
        client.reset();
        client.close();
        eventually([i] { return left == i + 1; });
    }
    CHECK(server.get("/hello").body == "hello");
}

TEST_CASE("a client leaves while an event for its stream waits", "[http][hostile]") {
    Server server;
    static std::atomic<uint64> seqno{0};
    httpDefineAction(
        "/suspend", +[](HttpStream *stream) { seqno = stream->seqno; });
    server.start();
    left = 0;
    for (int i = 0; i < 3; i++) {
        seqno = 0;
        told = 0; // or the client leaves before the event has its stream
        Client client(server.port);
        client.send(get("/suspend"));
        eventually([] { return seqno != 0; });
        CHECK(httpCreateEvent(
                  seqno,
                  +[](HttpStream *stream, void *) {
                      told = 1;
                      for (int j = 0; j < 200 && stream->state < HTTP_STATE_COMPLETE; j++) {
                          mprWaitForEvent(stream->dispatcher, 10, -1);
                          collect();
                      }
                      CHECK(stream->state == HTTP_STATE_COMPLETE);
                      httpFinalize(stream);
                      left++;
                  },
                  nullptr) == 0);
        eventually([] { return told == 1; });
        client.reset();
        client.close();
        eventually([i] { return left == i + 1; });
    }
}

TEST_CASE("a client leaves while a filter waits that was scheduled from elsewhere", "[http][hostile]") {
    Server server;
    static std::atomic<HttpStream *> pending{nullptr};
    static std::atomic<int> kept;
    HttpStage *stage = httpCreateFilter("waits", nullptr);
    stage->outgoingService = +[](HttpQueue *q) {
        const HttpNet *net = q->net;
        HttpStream *stream = q->stream;
        told = 1;
        for (int i = 0; i < 200 && stream->state < HTTP_STATE_COMPLETE; i++) {
            mprWaitForEvent(stream->dispatcher, 10, -1);
            collect();
        }
        kept += mprIsValid(net) && mprIsValid(stream);
        left++;
    };
    HttpRoute *route = httpCreateActionRoute(
        nullptr, "/suspend", +[](HttpStream *stream) { pending = stream; });
    REQUIRE(httpAddRouteFilter(route, "waits", nullptr, HTTP_STAGE_TX) == 0);
    server.start();
    left = kept = 0;
    for (int i = 0; i < 3; i++) {
        pending = nullptr;
        told = 0;
        Client client(server.port);
        client.send(get("/suspend"));
        eventually([] { return pending != nullptr; });
        const auto schedule = +[](void *, MprEvent *) { httpScheduleQueue(pending.load()->writeq->nextQ); };
        REQUIRE(
            mprCreateEvent(pending.load()->dispatcher, "schedule", 0, reinterpret_cast<void *>(schedule), nullptr, 0));
        eventually([] { return told == 1; });
        client.reset();
        client.close();
        eventually([i] { return left == i + 1; });
    }
    CHECK(kept == 3);
}

TEST_CASE("a client that sends no more is answered and let go", "[http][hostile]") {
    Server server;
    static std::atomic<uint64> seqno{0};
    httpDefineAction(
        "/suspend", +[](HttpStream *stream) { seqno = stream->seqno; });
    server.start();
    for (cchar *rest : {"", "GET / HT"}) {
        INFO("behind the request: " << rest);
        seqno = 0;
        Client client(server.port);
        client.send(get("/suspend") + rest);
        client.finish();
        eventually([] { return seqno != 0; });
        mprSleep(50); /* It is known that nothing more comes */
        CHECK(httpCreateEvent(
                  seqno, +[](HttpStream *stream, void *) { answerHello(stream); }, nullptr) == 0);
        CHECK(client.receive().body == "hello");
        if (*rest) {
            CHECK(client.receive().status == 400);
        }
        CHECK(client.isClosed(5000));
    }
    collect();
    HttpStats stats{};
    eventually([&stats] {
        httpGetStats(&stats);
        return stats.activeConnections == 0;
    });
}

TEST_CASE("half a body is refused though its client has ended while another request was answered", "[http][hostile]") {
    Server server;
    static std::atomic<uint64> seqno{0};
    httpDefineAction(
        "/suspend", +[](HttpStream *stream) { seqno = stream->seqno; });
    httpDefineAction("/body", answerBody);
    server.start();
    const std::string chunks = "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n";
    const std::string whole = GENERATE_COPY(post("/body", "12345"), "POST /body HTTP/1.1\r\nHost: a\r\n" + chunks);
    for (size_t missing : {0, 1, 2, 5}) {
        seqno = 0;
        Client client(server.port);
        client.send(get("/suspend") + whole.substr(0, whole.size() - missing));
        client.finish();
        eventually([] { return seqno != 0; });
        mprSleep(50); // all has been read, and the end
        CHECK(httpCreateEvent(
                  seqno, +[](HttpStream *stream, void *) { answerHello(stream); }, nullptr) == 0);
        CHECK(client.receive().body == "hello");
        const Answer answer = client.receive();
        CHECK(answer.status == (missing ? 400 : 200));
        CHECK((missing || answer.body == "12345"));
        CHECK(client.isClosed(5000));
    }
}

TEST_CASE("half a head holds up no endpoint that stops", "[http][hostile]") {
    Server server;
    httpGetLimits()->requestParseTimeout = 3'600'000;
    server.start();
    Client half(server.port);
    half.send("GET /");
    HttpStats stats{};
    eventually([&stats] {
        httpGetStats(&stats);
        return stats.activeConnections == 1;
    });
    mprSleep(50);
    mprCreateEvent(
        nullptr, "stop", 0, +[](void *, MprEvent *) { httpStopEndpoints(); }, nullptr, 0);
    CHECK(half.isClosed(5000));
    httpGetStats(&stats);
    eventually([&stats] {
        httpGetStats(&stats);
        return stats.activeConnections == 0;
    });
}

TEST_CASE("endpoints on dispatchers of their own look after their connections themselves", "[http][hostile]") {
    Server server;
    httpGetLimits()->requestParseTimeout = 100;
    static MprDispatcher *dispatcher;
    static std::atomic<int> elsewhere;
    elsewhere = told = inside = deepest = 0;
    dispatcher = mprCreateDispatcher("own", 0);
    mprAddRoot(dispatcher);
    HttpEndpoint *own = httpCreateEndpoint("127.0.0.1", 0, dispatcher);
    httpSetEndpointNotifier(
        own, +[](HttpStream *, int event, int) {
            if (event == HTTP_EVENT_TIMEOUT) {
                told++;
                deepest = std::max<int>(deepest, inside);
            }
        });
    httpDefineAction(
        "/busy", +[](HttpStream *stream) {
            httpSetTimeout(stream, 100, 100);
            inside++;
            mprSleep(500);
            inside--;
            answerHello(stream);
        });
    server.start();
    Client late(httpGetEndpointPort(own)), busy(httpGetEndpointPort(own));
    late.send("GET /");
    mprSleep(20);
    busy.send(get("/busy"));
    CHECK(late.isClosed());
    busy.receive();
    CHECK(told >= 1);
    CHECK(deepest == 0); /* Nobody was told while another event of the dispatcher ran */
    server.stop();
    mprRemoveRoot(dispatcher);
}
