/* SPDX-License-Identifier: MIT */
/*
    test/http/shortage.cpp - Requests for which there is no memory: their clients are told, the log says what was
    missing, and later requests are answered.
 */
#include "test/support/hoard.hpp"
#include "test/support/http.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

using namespace test;

namespace {

const std::string hello = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";

/* Takes all memory, again and again: what the server's garbage gives back, too. */
class Shortage {
public:
    Shortage() { mprSetMemLimits(0, static_cast<ssize>(stats().heap), -1); }
    ~Shortage() { end(); }
    Shortage(const Shortage &) = delete;
    Shortage &operator=(const Shortage &) = delete;

    void take() {
        for (size_t size = 1 << 20; size >= 32; size = size > 512 ? size / 2 : size - 16) { // blocks wait by their size
            hoard.grow(size);
        }
    }
    void end() {
        hoard.drop();
        mprSetMemLimits(0, 0, -1);
        collect();
    }

private:
    Hoard hoard;
};

/* All memory is taken but for so many bytes, in pieces that lie apart: what is small does not find room where something
   larger has found none. */
class Remainder {
public:
    static constexpr size_t piece = 4096;

    explicit Remainder(size_t bytes) {
        Hoard last;
        for (size_t size = 0; size < bytes + piece; size += piece) {
            last.add(piece);
            walls.add(piece);
        }
        shortage.emplace(); // from now on there is no more than that
        shortage->take();
        const size_t all = last.bytes;
        REQUIRE(all >= bytes);
        while (last.count > 0) {
            last.pop();
        }
        for (size_t over = all - bytes; over >= 32; over -= over < 512 ? over : 512) {
            walls.add(over < 512 ? over : 512);
        }
    }

private:
    std::optional<Shortage> shortage;
    Hoard walls;
};

std::atomic<int> held{0}; /* requests that are not answered: their memory is in use */

void hold(HttpStream *) {
    held++;
}

/* What is answered at last when memory is short: to one request after another, each on a connection of its own that was
   there before. */
Answer answerInNeed(Server &server, const std::string &request) {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 60; i++) {
        clients.push_back(std::make_unique<Client>(server.port));
        clients.back()->ask(hello);
    }
    held = 0;
    Answer answer;
    Shortage shortage;
    for (auto &each : clients) {
        shortage.take();
        const int before = held;
        each->send(request);
        while (held == before && !each->isClosed(5)) {}
        if (held == before) {
            answer = each->receive();
            break;
        }
    }
    for (auto &each : clients) {
        each->reset(); /* Nobody waits for answers any more */
    }
    return answer;
}
} // namespace

TEST_CASE("a request for which there is no memory is answered so, and logged", "[http][shortage]") {
    Server server;
    httpDefineAction("/hello", answerHello);
    httpDefineAction("/hold", hold);
    server.start();
    const bool posts = GENERATE(false, true);
    const Answer answer = answerInNeed(server, posts ? post("/hold", std::string(5000, 'x')) : get("/hold"));
    CHECK(answer.status == 503);
    CHECK(answer["Retry-After"] == "1");
    CHECK(answer["Connection"] == "close");
    CHECK((Log::has("no memory for") || Log::has("memory is short")));
    HttpStats figures{};
    for (int i = 0; i < 1000; i++) {
        mprSleep(10);
        httpGetStats(&figures);
        if (figures.activeRequests == 0) {
            break;
        }
    }
    CHECK(figures.activeRequests == 0);
    CHECK(server.get("/hello").body == "hello");
}

namespace {

/* A stream that waits for its answer. */
std::atomic<uint64> number{0};
std::atomic<HttpStream *> pending{nullptr};
std::atomic<bool> inGate{false}, gateOpen{false}, found{false}, done{false};
std::atomic<Shortage *> shortage{nullptr};

void answerLater(HttpStream *stream) {
    pending = stream;
    number = stream->seqno;
}
void takeAll(HttpStream *, void *) {
    shortage.load()->take();
}
void answerInShortage(HttpStream *stream, void *) {
    found = stream != nullptr;
    shortage.load()->end();
    if (stream) {
        answerHello(stream);
    }
    done = true;
}
void waitInGate(void *, MprEvent *) {
    inGate = true;
    while (!gateOpen) {
        mprSleep(1);
    }
}
void finalizeInShortage(void *, MprEvent *) {
    shortage.load()->take();
    httpFinalize(pending);
}
void *proc(MprEventProc p) {
    return reinterpret_cast<void *>(p);
}
} // namespace

TEST_CASE("an order finds its stream at another dispatcher though memory is short", "[http][shortage]") {
    Server server;
    REQUIRE(httpSetEndpointWorkers(server.endpoint, 1) == 0);
    httpDefineAction("/later", answerLater);
    server.start();
    for (int i = 0; i < 5; i++) {
        Client client(server.port);
        number = 0;
        client.send(get("/later"));
        eventually([] { return number != 0; });
        Shortage scarce;
        shortage = &scarce;
        inGate = gateOpen = found = done = false;
        REQUIRE(mprCreateEvent(nullptr, "gate", 0, proc(waitInGate), nullptr, 0));
        eventually([] { return inGate.load(); });
        // All are on their way before the first is called.
        for (int each = 0; each < 4; each++) { // what one of them has left is taken by the next
            REQUIRE(httpCreateEvent(0, takeAll, nullptr) == 0);
        }
        REQUIRE(httpCreateEvent(number, answerInShortage, nullptr) == 0);
        gateOpen = true;
        eventually([] { return done.load(); });
        CHECK(found);
        CHECK(client.receive().body == "hello");
    }
}

TEST_CASE("a stream goes on that was finalized when memory is short", "[http][shortage]") {
    Server server;
    httpDefineAction("/later", answerLater);
    httpDefineAction("/hello", answerHello);
    server.start();
    for (int i = 0; i < 5; i++) {
        Client client(server.port);
        pending = nullptr;
        client.send(get("/later"));
        eventually([] { return pending != nullptr; });
        Shortage scarce;
        shortage = &scarce;
        REQUIRE(mprCreateEvent(pending.load()->dispatcher, "finalize", 0, proc(finalizeInShortage), nullptr, 0));
        // It is answered, told that memory is short, or closed.
        while (client.input.empty() && client.read()) {}
        CHECK((!client.input.empty() || client.isClosed(0)));
        scarce.end();
        CHECK(server.get("/hello").body == "hello");
    }
}

TEST_CASE("a service is there as a whole, or not at all where memory ends while it is made", "[http][shortage]") {
    Runtime runtime;
    mprSetLogLevel(0);
    int failures = 0;
    for (size_t left = 0; !httpGetHttp() && left < 400'000; left += 256) {
        const Remainder remainder(left);
        const bool made = httpCreate(HTTP_SERVER_SIDE) != nullptr;
        CHECK(made == (httpGetHttp() != nullptr));
        failures += !made;
        if (!made && left % 4096 == 0) {
            collect(); // what was made before memory ended is kept, or gone and forgotten
        }
    }
    CHECK(failures > 0);
    REQUIRE(httpGetHttp());
    collect();
    CHECK(stats().misuses == 0);
    for (cchar *name : {"netConnector", "chunkFilter", "actionHandler", "fileHandler", "gzipFilter", "rangeFilter",
                        "rateFilter", "uploadFilter"}) {
        INFO(name);
        CHECK(httpLookupStage(name));
    }
    CHECK(httpGetDefaultHost());
    HttpRoute *route = httpGetDefaultRoute(nullptr);
    CHECK(route);
    CHECK(httpSetRouteHandler(route, "actionHandler") == 0);
}

TEST_CASE("an endpoint that cannot keep its address does not listen at all addresses", "[http][shortage]") {
    Runtime runtime;
    REQUIRE(httpCreate(HTTP_SERVER_SIDE));
    const std::string address(200, '1');
    HttpEndpoint *endpoint = nullptr;
    for (size_t left = 0; !endpoint && left < 10'000; left += 32) {
        const Remainder remainder(left);
        endpoint = httpCreateEndpoint(address.c_str(), 0, nullptr);
    }
    REQUIRE(endpoint);
    CHECK(httpStartEndpoints() == MPR_ERR_CANT_OPEN); // there is no such address
}

namespace {
std::atomic<size_t> left{0};
std::atomic<int> known{0}, failed{0}, lost{0};

void lookForParam(HttpStream *stream) {
    {
        const Remainder remainder(left);
        const bool found = httpGetParam(stream, "name", nullptr) != nullptr;
        known += found;
        failed += stream->error;
        lost += !found && !stream->error;
    }
    answerHello(stream);
}
} // namespace

TEST_CASE("a body whose parameters find no memory is not one without parameters", "[http][shortage]") {
    Server server;
    httpDefineAction("/param", lookForParam);
    server.start();
    const bool isJson = GENERATE(false, true);
    const std::string type = isJson ? "application/json" : "application/x-www-form-urlencoded";
    const std::string body = isJson ? R"({"name": "value", "other": {"list": [1, 2, 3]}})" : "name=value&other=more";
    known = failed = lost = 0;
    for (left = 0; left < 3000; left += 96) {
        const Answer answer = server.ask(post("/param", body, "Content-Type: " + type + "\r\n"));
        CHECK((answer.status == 200 || answer.status == 503));
    }
    CHECK(known > 0);
    CHECK(failed > 0);
    CHECK(lost == 0);
}

namespace {

/* The bytes of a packet come, and then all memory is taken. */
ssize fillAndTake(HttpQueue *, HttpPacket *packet, MprOff, ssize size) {
    const std::string bytes(static_cast<size_t>(size), 'x');
    const ssize count = mprPutBlockToBuf(packet->content, bytes.data(), size);
    shortage.load()->take();
    return count;
}

/* Whether its end is known or not: in chunks. */
void answerInChunks(HttpStream *stream) {
    httpSetChunkSize(stream, 1000);
    for (auto *fill : {static_cast<HttpFillProc>(nullptr), fillAndTake}) {
        HttpPacket *packet = httpCreateDataPacket(fill ? 0 : 100);
        if (fill) {
            packet->fill = fill;
            packet->esize = 100;
            packet->flags |= HTTP_PACKET_SOLO;
        } else {
            mprPutBlockToBuf(packet->content, std::string(100, 'x').data(), 100);
        }
        httpPutPacket(stream->writeq, packet);
    }
    httpFinalize(stream);
}
} // namespace

TEST_CASE("a chunk that finds no memory is missed by its client", "[http][shortage]") {
    Server server;
    httpDefineAction("/chunks", answerInChunks);
    httpDefineAction("/hello", answerHello);
    server.start();
    for (int i = 0; i < 5; i++) {
        Shortage scarce;
        shortage = &scarce;
        Client client(server.port);
        const Answer answer = client.ask(get("/chunks"));
        CHECK_FALSE(answer.whole);
        CHECK(client.isClosed());
        scarce.end();
        CHECK(server.get("/hello").body == "hello");
    }
}
