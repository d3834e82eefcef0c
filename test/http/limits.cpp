/* SPDX-License-Identifier: MIT */
/*
    test/http/limits.cpp - Limits: at them and past them; and times, past which a connection ends.
 */
#include "test/support/few_descriptors.hpp"
#include "test/support/folder.hpp"
#include "test/support/http.hpp"
#include "test/support/mutator.hpp"

#include <atomic>
#include <list>

using namespace test;

namespace {

HttpLimits *limited(Server &) {
    httpDefineAction("/hello", answerHello);
    httpDefineAction("/body", answerBody);
    httpDefineAction(
        "/wait", +[](HttpStream *) {});
    return httpGetLimits();
}
const std::string hello = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
const std::string waits = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";

/* Wait until so many requests are running. */
void awaitRequests(int count) {
    HttpStats now{};
    for (int i = 0; now.activeRequests != count && i < 2000; i++) {
        mprSleep(10);
        httpGetStats(&now);
    }
    CHECK(now.activeRequests == count);
}

/* A head of so many bytes. */
std::string headOf(size_t size) {
    std::string head = "GET /hello HTTP/1.1\r\nHost: a\r\nX: ";
    return head + std::string(size - head.size() - 4, 'x') + "\r\n\r\n";
}
std::string uriOf(size_t size) {
    return "GET /hello?" + std::string(size - 7, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n";
}
} // namespace

TEST_CASE("heads: bytes, lines, and those of the URI", "[http][limits]") {
    Server server;
    HttpLimits *limits = limited(server);
    limits->headerSize = 1000;
    limits->headerMax = 5;
    limits->uriSize = 300;
    server.start();
    CHECK(server.ask(headOf(999)).status == 200);
    CHECK(server.ask(headOf(1000)).status == 200);
    CHECK(server.ask(headOf(1001)).status == 431);
    CHECK(server.ask(uriOf(299)).status == 200);
    CHECK(server.ask(uriOf(300)).status == 200);
    CHECK(server.ask(uriOf(301)).status == 414);
    const std::string begin = "GET /hello HTTP/1.1\r\nHost: a\r\n";
    CHECK(server.ask(begin + "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n").status == 200);
    CHECK(server.ask(begin + "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\n\r\n").status == 431);
}

TEST_CASE("many header lines, where they are allowed", "[http][limits]") {
    Server server;
    limited(server)->headerMax = 200;
    httpDefineAction(
        "/last", +[](HttpStream *stream) {
            httpWriteString(stream->writeq, httpGetHeader(stream, "X-198"));
            httpFinalize(stream);
        });
    server.start();
    std::string lines;
    for (int i = 0; i < 199; i++) {
        lines += "X-" + std::to_string(i) + ": " + std::to_string(i) + "\r\n";
    }
    CHECK(server.get("/last", lines).body == "198");
    CHECK(server.get("/last", lines + "Y: 1\r\n").status == 431);
}

TEST_CASE("bodies: by their length, in chunks, and forms", "[http][limits]") {
    Server server;
    HttpLimits *limits = limited(server);
    limits->rxBodySize = 1000;
    limits->rxFormSize = 100;
    server.start();
    const std::string form = "Content-Type: application/x-www-form-urlencoded\r\n";
    const auto chunks = [](int size) {
        return "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n0123456789abcdef\r\n" +
               std::string(sfmt("%x\r\n", size - 16)) + std::string(static_cast<size_t>(size - 16), 'x') +
               "\r\n0\r\n\r\n";
    };
    CHECK(server.ask(post("/body", std::string(999, 'x'))).status == 200);
    CHECK(server.ask(post("/body", std::string(1000, 'x'))).status == 200);
    CHECK(server.ask(post("/body", std::string(1001, 'x'))).status == 413);
    CHECK(server.ask(chunks(999)).status == 200);
    CHECK(server.ask(chunks(1000)).status == 200);
    CHECK(server.ask(chunks(1001)).status == 413);
    CHECK(server.ask(post("/body", std::string(100, 'x'), form)).status == 200);
    CHECK(server.ask(post("/body", std::string(101, 'x'), form)).status == 413);
}

TEST_CASE("a response's body", "[http][limits]") {
    Server server;
    limited(server)->txBodySize = 5;
    httpDefineAction(
        "/trickle", +[](HttpStream *stream) {
            for (int i = 0; i < 2; i++) {
                httpWriteString(stream->writeq, "123");
                httpFlushQueue(stream->writeq, HTTP_NON_BLOCK);
                mprWaitForEvent(stream->dispatcher, 10, -1);
            }
            httpFinalize(stream);
        });
    server.start();
    CHECK(server.get("/hello").whole);
    CHECK(server.ask(post("/body", "12345")).body == "12345");
    Answer answer = server.ask(post("/body", "123456"));
    CHECK(answer.status == 500); // nothing was sent when it was known
    CHECK(answer.whole);
    answer = server.get("/trickle");
    CHECK(answer.status == 200);
    CHECK_FALSE(answer.whole);
    CHECK(Log::has("more bytes than are allowed"));
}

TEST_CASE("a range that is not sent is not named", "[http][limits]") {
    Server server;
    httpDefineAction(
        "/range", +[](HttpStream *stream) {
            httpSetHeaderString(stream, "Content-Range", "bytes 0-9/*");
            httpError(stream, httpGetIntParam(stream, "status", 500), "none");
        });
    server.start();
    CHECK_FALSE(server.get("/range").has("Content-Range"));
    CHECK(server.get("/range?status=416").has("Content-Range"));
}

TEST_CASE("requests of a connection", "[http][limits]") {
    Server server;
    limited(server)->keepAliveMax = 3;
    server.start();
    Client client(server.port);
    CHECK_FALSE(client.ask(hello).has("Connection"));
    CHECK_FALSE(client.ask(hello).has("Connection"));
    CHECK(client.ask(hello)["Connection"] == "close");
    CHECK(client.isClosed());
}

TEST_CASE("connections: those at rest make room, then new ones are refused", "[http][limits]") {
    Server server;
    HttpLimits *limits = limited(server);
    limits->connectionsMax = 3;
    server.start();
    Client first(server.port), second(server.port), third(server.port);
    for (Client *each : {&first, &second, &third}) {
        CHECK(each->ask(hello).status == 200);
    }
    first.send(waits);
    awaitRequests(1);
    Client fourth(server.port);
    fourth.send(waits);
    if (workersWanted() < 2) {    /* Else they rest from then on when each thread has noticed */
        CHECK(second.isClosed()); /* It has rested longest */
    }
    awaitRequests(2);
    Client fifth(server.port);
    fifth.send(waits);
    CHECK(second.isClosed());
    CHECK(third.isClosed());
    awaitRequests(3);
    Client sixth(server.port);
    Answer answer = sixth.receive();
    CHECK(answer.status == 503);
    CHECK(answer.has("Retry-After"));
    CHECK(sixth.isClosed());
}

TEST_CASE("without descriptors those at rest make room, and documents are not to be had", "[http][limits]") {
    Server server;
    Folder folder;
    folder.write("a.txt", "a");
    limited(server);
    httpSetRouteDocuments(httpGetDefaultRoute(nullptr), folder.root.c_str());
    server.start();
    Client first(server.port), second(server.port);
    CHECK(first.ask(hello).status == 200);
    CHECK(second.ask("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n").status == 200);
    CHECK(second.ask(hello).status == 200); // the document has been closed
    {
        const FewDescriptors none(0);
        CHECK(second.ask("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n").status == 503);
        CHECK(second.ask("GET /b.txt HTTP/1.1\r\nHost: a\r\n\r\n").status == 404);
    }
    CHECK(second.ask("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n").status == 200);
    CHECK(second.ask(hello).status == 200);
    const FewDescriptors one(1);
    Client third(server.port);
    CHECK(third.ask(hello).status == 200);
    CHECK(first.isClosed());
    CHECK(second.ask(hello).status == 200);
}

TEST_CASE("connections of a client", "[http][limits]") {
    Server server;
    limited(server)->connectionsPerClientMax = 2;
    server.start();
    Client first(server.port), second(server.port);
    CHECK(first.ask(hello).status == 200);
    CHECK(second.ask(hello).status == 200);
    Client third(server.port);
    CHECK(third.receive().status == 503);
    first.close();
    int status = 0;
    for (int i = 0; status != 200 && i < 1000; i++) {
        Client again(server.port);
        again.send(hello);
        status = again.receive().status;
    }
    CHECK(status == 200);
}

TEST_CASE("clients, by their addresses", "[http][limits]") {
    Server server;
    limited(server)->clientMax = 2;
    server.start();
    Client first(server.port, Client::mustConnect, 0, 2), second(server.port, Client::mustConnect, 0, 3);
    CHECK(first.ask(hello).status == 200);
    CHECK(second.ask(hello).status == 200);
    {
        Client known(server.port, Client::mustConnect, 0, 2); /* A client may have many connections */
        CHECK(known.ask(hello).status == 200);
    }
    Client third(server.port, Client::mustConnect, 0, 4);
    CHECK(third.receive().status == 503);
    first.close();
    int status = 0;
    for (int i = 0; status != 200 && i < 1000; i++) { /* Until the server has noticed */
        Client again(server.port, Client::mustConnect, 0, 4);
        again.send(hello);
        status = again.receive().status;
    }
    CHECK(status == 200);
    CHECK(second.ask(hello).status == 200);
}

TEST_CASE("requests at a time, of all and of a client", "[http][limits]") {
    Server server;
    HttpLimits *limits = limited(server);
    (GENERATE(false, true) ? limits->requestMax : limits->requestsPerClientMax) = 2;
    server.start();
    Client first(server.port), second(server.port);
    first.send(waits);
    second.send(waits);
    awaitRequests(2);
    CHECK(server.get("/hello").status == 503);
    first.reset();
    awaitRequests(1);
    CHECK(server.get("/hello").status == 200);
}

TEST_CASE("a request may take so long to arrive, however it comes", "[http][limits]") {
    Server server;
    HttpLimits *limits = limited(server);
    limits->requestParseTimeout = 300;
    limits->inactivityTimeout = 60'000;
    server.start();
    Client client(server.port);
    CHECK(client.ask(hello).status == 200);
    const std::string head = "GET /hello HTTP/1.1\r\nHost: a\r\nX: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    for (char c : head) {
        client.send(std::string(1, c)); /* Something happens all the time */
        if (client.read(20)) {
            break;
        }
    }
    Answer answer = client.receive();
    CHECK(answer.status == 408);
    CHECK(answer["Connection"] == "close");
    CHECK(client.isClosed());
}

TEST_CASE("a connection on which nothing happens ends, and a request that lasts", "[http][limits]") {
    Server server;
    HttpLimits *limits = limited(server);
    SECTION("before a request, and between two") {
        limits->inactivityTimeout = 1000; // in which a request comes, though the machine stand still for a while
        server.start();
        Client silent(server.port), client(server.port);
        CHECK(client.ask(hello).status == 200);
        CHECK(silent.isClosed());
        CHECK(client.isClosed());
        CHECK(client.input.empty());
    }
    SECTION("in a body") {
        limits->inactivityTimeout = 1000;
        server.start();
        Client client(server.port);
        CHECK(client.ask("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc").status == 408);
        CHECK(client.isClosed());
    }
    SECTION("in the handler") {
        limits->requestTimeout = 200;
        server.start();
        Client client(server.port);
        CHECK(client.ask(waits).status == 408);
        CHECK(client.isClosed());
    }
    SECTION("after the client has closed its side, whatever times the stream has") {
        limits->inactivityTimeout = 200;
        httpDefineAction(
            "/long", +[](HttpStream *stream) { httpSetTimeout(stream, 0, 0); });
        server.start();
        Client client(server.port);
        client.send(get("/long"));
        client.finish();
        CHECK(client.receive().status == 408);
        CHECK(client.isClosed());
    }
    SECTION("a stream has times of its own") {
        httpDefineAction(
            "/short", +[](HttpStream *stream) { httpSetTimeout(stream, 200, -1); });
        server.start();
        Client client(server.port);
        CHECK(client.ask("GET /short HTTP/1.1\r\nHost: a\r\n\r\n").status == 408);
    }
}

TEST_CASE("a client that does not read its answer holds little, and not for ever", "[http][limits]") {
    Server server;
    HttpLimits *limits = limited(server);
    limits->inactivityTimeout = 500;
    httpDefineAction(
        "/much", +[](HttpStream *stream) {
            static const std::string piece(1'000'000, 'x');
            for (int i = 0; i < 20; i++) {
                httpWriteBlock(stream->writeq, piece.data(), static_cast<ssize>(piece.size()), HTTP_BUFFER);
            }
            httpFinalize(stream);
        });
    server.start();
    Client client(server.port);
    client.send("GET /much HTTP/1.1\r\nHost: a\r\n\r\n");
    HttpStats now{};
    for (int i = 0; i < 1000; i++) {
        mprSleep(10);
        httpGetStats(&now);
        if (now.totalConnections == 1 && now.activeConnections == 0) {
            break;
        }
    }
    CHECK(now.activeConnections == 0);
    CHECK(now.activeRequests == 0);
}

TEST_CASE("past the redline requests are refused, and connections at rest closed", "[http][limits]") {
    Server server;
    limited(server);
    server.start();
    Client idle(server.port);
    CHECK(idle.ask(hello).status == 200);
    mprSetMemNotifier(+[](int, int, size_t, size_t) {});
    void *ballast = mprAlloc(8 << 20);
    mprAddRoot(ballast);
    mprSetMemLimits(2 << 20, 0, -1);
    CHECK(idle.isClosed());
    Answer answer = server.get("/hello");
    CHECK(answer.status == 503);
    CHECK(answer.has("Retry-After"));
    mprSetMemLimits(0, 0, -1);
    int status = 503;
    for (int i = 0; status != 200 && i < 1000; i++) {
        status = server.get("/hello").status;
        mprSleep(10);
    }
    CHECK(status == 200);
    mprRemoveRoot(ballast);
}

TEST_CASE("memory that is in pieces but free does not have requests refused", "[http][limits]") {
    constexpr int count = 4096;
    constexpr size_t size = 4000;
    Server server;
    limited(server);
    server.start();
    void *few[count / 4];
    for (int i = 0; i < count; i++) { // one of four stays: in each chunk of a region there is one
        void *block = mprAlloc(size);
        if (i % 4 == 0) {
            mprAddRoot(few[i / 4] = block);
        }
    }
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    constexpr ptrdiff_t redline = count * size / 2;
    mprSetMemLimits(redline, 0, -1);
    HttpStats now{};
    for (int i = 0; i < 20; i++) { // ticks of the clock
        mprSleep(10);
        CHECK(server.get("/hello").status == 200);
    }
    // While a sweep goes on nobody knows how much is free: dead blocks count as in use, and so do pieces among them.
    static std::atomic<bool> sweeps, ends;
    sweeps = ends = false;
    mprAllocManaged(
        16,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_FREE) {
                sweeps = true;
                untilUnyielded([] { return ends.load(); });
            }
        },
        0);
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    CHECK(until([] { return sweeps.load(); }));
    for (int i = 0; i < 5; i++) {
        mprSleep(10);
        CHECK(server.get("/hello").status == 200);
    }
    ends = true;
    httpGetStats(&now);
    CHECK(now.heap > redline);
    for (void *block : few) {
        mprRemoveRoot(block);
    }
}

TEST_CASE("what the program gives up past the redline is collected, though nobody asks for it", "[http][limits]") {
    Server server;
    limited(server);
    server.start();
    void *ballast = mprAlloc(8 << 20);
    mprAddRoot(ballast);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    mprSetMemLimits(4 << 20, 0, -1);
    CHECK(server.get("/hello").status == 503);
    mprRemoveRoot(ballast);
    int status = 503;
    for (int i = 0; status != 200 && i < 300; i++) {
        mprSleep(10);
        status = server.get("/hello").status;
    }
    CHECK(status == 200);
}

TEST_CASE("the defaults are finite", "[http][limits]") {
    Server server;
    const HttpLimits *limits = httpGetLimits();
    CHECK(limits->headerMax > 0);
    CHECK(limits->headerSize > 0);
    CHECK(limits->rxBodySize > 0);
    CHECK(limits->rxFormSize > 0);
    CHECK(limits->uploadSize > 0);
    CHECK(limits->uriSize > 0);
    CHECK(limits->connectionsMax > 0);
    CHECK(limits->requestParseTimeout > 0);
    CHECK(limits->inactivityTimeout > 0);
    CHECK(limits->requestTimeout > 0);
}

// ---- The memory of a connection ----------------------------------------------------------------------------------

namespace {

constexpr size_t muchToSay = 100'000;

/* All of it at once, in memory. */
void answerMuchAtOnce(HttpStream *stream) {
    const std::string text(muchToSay, 'x');
    httpWriteBlock(stream->writeq, text.data(), static_cast<ssize>(text.size()), HTTP_BUFFER);
    httpFinalize(stream);
}

/* A server whose connections may take so much. */
struct Narrow : Server {
    explicit Narrow(ptrdiff_t memory) {
        limited(*this)->connectionMemory = memory;
        httpDefineAction("/much", answerMuchAtOnce);
        start();
    }
};

Answer muchWithin(ptrdiff_t memory) {
    return Narrow(memory).ask(get("/much"));
}
} // namespace

TEST_CASE("the memory of a connection: below its limit, at it, and past it", "[http][limits]") {
    ptrdiff_t fails = muchToSay / 2, passes = 4 * muchToSay;
    while (passes - fails > 1) { // what a response takes is the service's affair
        const ptrdiff_t between = fails + (passes - fails) / 2;
        (muchWithin(between).status == 200 ? passes : fails) = between;
    }
    CHECK(passes > ptrdiff_t{muchToSay});
    CHECK(muchWithin(passes + 1).body.size() == muchToSay);
    CHECK(muchWithin(passes).body.size() == muchToSay);
    Narrow server(passes - 1);
    Client client(server.port);
    const Answer refused = client.ask(get("/much"));
    CHECK(refused.status == 503);
    CHECK(refused["Connection"] == "close");
    CHECK(client.isClosed());
    CHECK(server.get("/hello").body == "hello");
}

TEST_CASE("the memory of a connection is that of one request after another", "[http][limits]") {
    Narrow server(2 * muchToSay);
    Client client(server.port);
    for (int i = 0; i < 20; i++) {
        CHECK(client.ask(get("/much")).body.size() == muchToSay);
        CHECK(client.ask(post("/body", std::string(1000, 'x'))).body.size() == 1000);
    }
    std::string requests;
    for (int i = 0; i < 5; i++) {
        requests += get("/much");
    }
    client.send(requests);
    for (int i = 0; i < 5; i++) {
        CHECK(client.receive().body.size() == muchToSay);
    }
}

TEST_CASE("what takes the memory of a connection says with what it fails", "[http][limits]") {
    Narrow server(16'000);
    CHECK(server.ask(headOf(1000)).status == 200);
    CHECK(server.ask(headOf(12'000)).status == 431);
    Client client(server.port);
    const Answer body = client.ask(post("/wait", std::string(30'000, 'x')));
    CHECK(body.status == 413);
    CHECK(body["Connection"] == "close");
    CHECK(client.isClosed());
    CHECK(server.get("/much").status == 503);
}

TEST_CASE("a response that has begun is cut off when it takes too much memory", "[http][limits]") {
    static std::atomic<bool> told{false};
    told = false;
    Server server;
    limited(server)->connectionMemory = 100'000;
    httpDefineAction(
        "/begun", +[](HttpStream *stream) {
            httpSetContentLength(stream, 200'000);
            httpWriteString(stream->writeq, "begun");
            httpFlush(stream);
            const std::string text(199'995, 'x');
            const ssize size = static_cast<ssize>(text.size());
            told = httpWriteBlock(stream->writeq, text.data(), size, HTTP_BUFFER) == MPR_ERR_MEMORY && stream->error &&
                   httpWriteString(stream->writeq, "more") < 0;
        });
    server.start();
    const Answer answer = server.get("/begun");
    CHECK(answer.status == 200);
    CHECK_FALSE(answer.whole);
    CHECK(told);
}

TEST_CASE("connections without a limit for their memory", "[http][limits]") {
    CHECK(muchWithin(0).body.size() == muchToSay);
}
