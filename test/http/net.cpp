/* SPDX-License-Identifier: MIT */
/*
    test/http/net.cpp - Connections: requests one after another, bodies either way, and how connections end.
 */
#include "mpr/http/net.hpp"
#include "test/support/http.hpp"
#include "test/support/mutator.hpp"
#include "test/support/sanitizer.hpp"

#include <netinet/tcp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

using namespace test;

namespace {

void setUp(Server &server) {
    httpDefineAction("/hello", answerHello);
    httpDefineAction("/body", answerBody);
    server.start();
}
const std::string hello = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";

/* Writes piece by piece: the length is not known. */
void answerInPieces(HttpStream *stream) {
    for (int i = 0; i < 3; i++) {
        httpWrite(stream->writeq, "piece %d;", i);
        httpFlush(stream);
    }
    httpFinalize(stream);
}

void answerMuch(HttpStream *stream) {
    const std::string kilobyte(1024, 'x');
    for (int i = 0; i < 1024; i++) {
        httpWriteBlock(stream->writeq, kilobyte.data(), 1024, 0);
    }
    httpFinalize(stream);
}
} // namespace

TEST_CASE("a connection takes one request after another", "[http][net]") {
    Server server;
    setUp(server);
    Client client(server.port);
    for (int i = 0; i < 5; i++) {
        Answer answer = client.ask(hello);
        CHECK(answer.status == 200);
        CHECK(answer.body == "hello");
        CHECK(answer["Content-Length"] == "5");
        CHECK_FALSE(answer.has("Connection"));
        CHECK(answer.has("Date"));
    }
}

TEST_CASE("requests that come together are answered in their order", "[http][net]") {
    Server server;
    setUp(server);
    Client client(server.port);
    std::string requests;
    for (int i = 0; i < 50; i++) {
        requests += post("/body", "body " + std::to_string(i));
    }
    client.send(requests);
    for (int i = 0; i < 50; i++) {
        CHECK(client.receive().body == "body " + std::to_string(i));
    }
}

TEST_CASE("a request may come byte by byte", "[http][net]") {
    Server server;
    setUp(server);
    Client client(server.port);
    for (int i = 0; i < 2; i++) {
        for (char c : post("/body", "some body")) {
            client.send(std::string(1, c));
        }
        CHECK(client.receive().body == "some body");
    }
}

/* Markers read, beside the events' thread, what it stores of a head: under TSan plain stores fail here. */
TEST_CASE("heads come in pieces, are refused or cut off while everything is marked", "[http][net]") {
    Server server("everyyield=1");
    setUp(server);
    std::string lines; /* more than a request has room for at first */
    for (int i = 0; i < 20; i++) {
        lines += "X-Line: a\r\nReferer: b\r\n";
    }
    for (size_t i = 0; i < heavy(200); i++) {
        Client client(server.port);
        for (const std::string &piece : {"GET http://b/hello HTTP/1.1\r\n" + lines, std::string("Host: a\r\n\r\n")}) {
            client.send(piece);
            mprSleep(3);
        }
        CHECK(client.receive().body == "hello");
        client.send("GET /he");
        mprSleep(3);
        client.finish();
        CHECK(client.receive().status == 400);
    }
}

TEST_CASE("a connection ends where a request says so", "[http][net]") {
    Server server;
    setUp(server);
    SECTION("Connection: close") {
        Client client(server.port);
        Answer answer = client.ask("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n");
        CHECK(answer.status == 200);
        CHECK(answer["Connection"] == "close");
        CHECK(client.isClosed());
    }
    SECTION("HTTP/1.0") {
        Client client(server.port);
        CHECK(client.ask("GET /hello HTTP/1.0\r\n\r\n").body == "hello");
        CHECK(client.isClosed());
    }
    SECTION("HTTP/1.0 that asks for more") {
        Client client(server.port);
        for (int i = 0; i < 2; i++) {
            Answer answer = client.ask("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
            CHECK(answer.body == "hello");
            CHECK(answer["Connection"] == "keep-alive");
        }
    }
    SECTION("the client sends no more, and wants its answer") {
        Client client(server.port);
        client.send(hello);
        client.finish();
        CHECK(client.receive().body == "hello");
        CHECK(client.isClosed());
    }
}

TEST_CASE("HEAD is GET without the body", "[http][net]") {
    Server server;
    setUp(server);
    Client client(server.port);
    Answer answer = client.ask("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(answer.status == 200);
    CHECK(answer["Content-Length"] == "5");
    CHECK(client.ask(hello).body == "hello");
}

TEST_CASE("bodies come in chunks and at length, and go out so", "[http][net]") {
    Server server;
    httpDefineAction("/pieces", answerInPieces);
    setUp(server);
    SECTION("in chunks to the server") {
        Client client(server.port);
        const std::string request = "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                                    "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: x\r\n\r\n";
        for (int i = 0; i < 2; i++) {
            CHECK(client.ask(request).body == "hello world");
        }
        CHECK(client.ask(hello).body == "hello");
    }
    SECTION("in chunks to the client") {
        Client client(server.port);
        for (int i = 0; i < 2; i++) {
            Answer answer = client.ask("GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n");
            CHECK(answer["Transfer-Encoding"] == "chunked");
            CHECK_FALSE(answer.has("Content-Length"));
            CHECK(answer.body == "piece 0;piece 1;piece 2;");
        }
    }
    SECTION("an old client reads until the end") {
        Client client(server.port);
        Answer answer = client.ask("GET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        CHECK_FALSE(answer.has("Transfer-Encoding"));
        CHECK(answer["Connection"] == "close");
        CHECK(answer.body == "piece 0;piece 1;piece 2;");
    }
    SECTION("as large as is allowed") {
        std::string body;
        for (int i = 0; body.size() < 1000000; i++) {
            body += std::to_string(i);
        }
        Client client(server.port);
        CHECK(client.ask(post("/body", body)).body == body);
        CHECK(client.ask(hello).body == "hello");
    }
}

TEST_CASE("a client that waits for 100 gets it", "[http][net]") {
    Server server;
    setUp(server);
    Client client(server.port);
    CHECK(client.ask("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n").status ==
          100);
    CHECK(client.ask("body").body == "body");
    SECTION("but not one whose body is unwanted") {
        Answer answer =
            client.ask("POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
        CHECK(answer.status == 404);
        CHECK(answer["Connection"] == "close");
        CHECK(client.isClosed());
    }
}

TEST_CASE("a body that nobody wants is read, or the connection ends", "[http][net]") {
    Server server;
    setUp(server);
    Client client(server.port);
    SECTION("a short one") {
        CHECK(client.ask(post("/none", "short")).status == 404);
        CHECK(client.ask(hello).body == "hello");
    }
    SECTION("a long one") {
        Answer answer = client.ask(post("/none", std::string(500000, 'x')));
        CHECK(answer.status == 404);
        CHECK(answer["Connection"] == "close");
        CHECK(client.isClosed());
    }
}

TEST_CASE("a response that is larger than what the system takes goes out whole", "[http][net]") {
    Server server;
    httpDefineAction("/much", answerMuch);
    setUp(server);
    Client client(server.port);
    Answer answer = client.ask("GET /much HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(answer.whole);
    CHECK(answer.body == std::string(1 << 20, 'x'));
    CHECK(client.ask(hello).body == "hello");
}

TEST_CASE("connections that are lost leave nothing behind", "[http][net]") {
    Server server;
    httpDefineAction("/much", answerMuch);
    setUp(server);
    for (int i = 0; i < 20; i++) {
        Client client(server.port);
        client.send(i % 4 == 0   ? ""
                    : i % 4 == 1 ? "GET /he"
                    : i % 4 == 2 ? "GET /much HTTP/1.1\r\nHost: a\r\n\r\n"
                                 : post("/body", std::string(1000, 'x')).substr(0, 500));
    }
    HttpStats stats;
    for (int i = 0; i < 500; i++) {
        CHECK(server.get("/hello").body == "hello");
        httpGetStats(&stats);
        if (stats.activeConnections <= 1 && stats.activeRequests == 0) {
            break;
        }
    }
    CHECK(stats.activeConnections <= 1);
    CHECK(stats.activeRequests == 0);
}

TEST_CASE("an endpoint that stops lets requests finish", "[http][net]") {
    Server server;
    setUp(server);
    Client busy(server.port), idle(server.port);
    CHECK(idle.ask(hello).body == "hello");
    busy.send("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    CHECK(busy.receive().status == 100);
    mprCreateEvent(
        nullptr, "stop", 0, +[](void *, MprEvent *) { httpStopEndpoints(); }, nullptr, 0);
    CHECK(idle.isClosed());
    Answer answer = busy.ask("body");
    CHECK(answer.body == "body");
    CHECK(answer["Connection"] == "close");
    CHECK(busy.isClosed());
}

TEST_CASE("an endpoint that stops answers requests that have arrived", "[http][net]") {
    Server server;
    setUp(server);
    static std::atomic<bool> inside, goesOn;
    inside = goesOn = false;
    httpDefineAction(
        "/busy", +[](HttpStream *stream) { // the thread that would read what arrives
            inside = true;
            mprYield(MPR_YIELD_STICKY);
            while (!goesOn) {
                pause(1);
            }
            mprResetYield();
            httpFinalize(stream);
        });
    Client busy(server.port), client(server.port), half(server.port);
    CHECK(client.ask(hello).body == "hello");
    CHECK(half.ask(hello).body == "hello");
    busy.send(get("/busy"));
    eventually([] { return inside.load(); });
    client.send(hello);
    half.send("GET /hello HTTP/1.1\r\nHo");
    httpStopEndpoint(server.endpoint);
    goesOn = true;
    const Answer answer = client.receive();
    CHECK(answer.body == "hello");
    CHECK(client.isClosed());
    CHECK(half.isClosed());
    CHECK(half.input.empty());
}

TEST_CASE("above the redline requests are refused, also the first after a rest, and below it they are not",
          "[http][net]") {
    Server server;
    setUp(server);
    mprSetMemLimits(1, 0, -1);
    Answer refused = server.get("/hello");
    CHECK(refused.status == 503);
    CHECK(refused["Retry-After"] == "1");
    mprSetMemLimits(0, 0, -1);
    int status = 503;
    for (int i = 0; i < 500 && status == 503; i++) { // it looks again each tick of its clock
        mprSleep(10);
        status = server.get("/hello").status;
    }
    CHECK(status == 200);
}

// ---- Clients that do not read ------------------------------------------------------------------------------------

namespace {
constexpr ssize longAnswer = 1 << 18;
std::atomic<int> answersBegun{0};

/* As much as there is room for; the rest when there is room again. What was written stands in the stream's record. */
void goOnWriting(HttpStream *stream) {
    static const char kilobytes[8192] = {};
    auto at = static_cast<ssize>(reinterpret_cast<std::uintptr_t>(stream->staticData));
    for (ssize count = 1; count > 0 && at<longAnswer; at += count> 0 ? count : 0) {
        const ssize left = std::min<ssize>(sizeof(kilobytes), longAnswer - at);
        count = httpWriteBlock(stream->writeq, kilobytes, left, HTTP_NON_BLOCK);
    }
    stream->staticData = reinterpret_cast<void *>(static_cast<std::uintptr_t>(at));
    if (at >= longAnswer) {
        httpFinalize(stream);
    }
}

void answerAsThereIsRoom(HttpStream *stream) {
    httpSetContentLength(stream, longAnswer);
    httpSetStreamNotifier(stream, [](HttpStream *of, int event, int) {
        if (event == HTTP_EVENT_WRITABLE) {
            goOnWriting(of);
        }
    });
    answersBegun++;
    goOnWriting(stream);
}
} // namespace

TEST_CASE("clients that do not read take no more memory than queues hold", "[http][net]") {
    Server server("everyyield=0,everyalloc=0"); // it collects often enough
    HttpLimits *limits = httpGetLimits();
    limits->packetSize = 8 * 1024;
    limits->requestsPerClientMax = limits->connectionsPerClientMax = 1000;
    httpDefineAction("/long", answerAsThereIsRoom);
    httpDefineAction("/hello", answerHello);
    // Else the system would take all of it.
    mprSetSocketPrebindCallback([](MprSocket *listener) {
        const int little = 4096;
        return setsockopt(listener->fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof(little));
    });
    server.start();
    mprSetSocketPrebindCallback(nullptr);
    const int count = static_cast<int>(heavy(200));
    answersBegun = 0;
    CHECK(server.get("/hello").body == "hello");
    collect();
    const uint64 before = stats().bytesLive;
    std::vector<std::unique_ptr<Client>> slow;
    for (int i = 0; i < count; i++) {
        slow.push_back(std::make_unique<Client>(server.port, Client::mustConnect, 4096));
        slow.back()->send(get("/long"));
    }
    eventually([count] { return answersBegun == count; });
    // Those who read are answered meanwhile, and what the others have not read is kept within bounds.
    for (int i = 0; i < 10; i++) {
        CHECK(server.get("/hello").body == "hello");
        collect();
        const uint64 each = (stats().bytesLive - before) / static_cast<unsigned>(count);
        INFO(each);
        CHECK(each <
              3 * static_cast<uint64>(limits->packetSize));    // the handler's queue, and what is with the connection
        CHECK(each > static_cast<uint64>(limits->packetSize)); // they do not read
    }
    for (size_t i = 0; i < slow.size(); i++) {
        if (i % 10 == 0) {
            CHECK(slow[i]->receive().body.size() == static_cast<size_t>(longAnswer));
        }
        slow[i]->reset();
    }
}

// ---- Whose turn it is --------------------------------------------------------------------------------------------

namespace {

std::vector<HttpStream *> writing; // streams of the main dispatcher, which alone looks at them
std::vector<MprOff> writtenBefore;
std::atomic<int> wentOn{-1}, sums{0};
std::atomic<MprOff> writtenInAll{0};
std::atomic<bool> inGate{false}, gateIsOpen{false};

void sumUp(void *, MprEvent *) {
    MprOff all = 0;
    for (const HttpStream *stream : writing) {
        all += stream->tx->bytesWritten;
    }
    writtenInAll = all;
    sums++;
}

void waitInGate(void *, MprEvent *) {
    writtenBefore.clear();
    for (const HttpStream *stream : writing) {
        writtenBefore.push_back(stream->tx->bytesWritten);
    }
    inGate = true;
    while (!gateIsOpen) {
        mprSleep(1);
    }
}

/* Of those who write, how many have done so since the gate was closed? */
void tellWhoWentOn(HttpStream *stream) {
    int count = 0;
    for (size_t i = 0; i < writing.size(); i++) {
        count += writing[i]->tx->bytesWritten > writtenBefore[i];
    }
    wentOn = count;
    answerHello(stream);
}

void writeLong(HttpStream *stream) {
    writing.push_back(stream);
    answerAsThereIsRoom(stream);
}

/* Sizes of the system's buffers for what is accepted at a listener. */
template <int size>
int setRoom(MprSocket *listener) {
    const int room = size;
    return setsockopt(listener->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
}
} // namespace

TEST_CASE("a request is not kept waiting by all connections that can write again", "[http][net]") {
    Server server;
    REQUIRE(httpSetEndpointWorkers(server.endpoint, 0) == 0);
    httpGetLimits()->packetSize = 1024;
    httpDefineAction("/long", writeLong);
    httpDefineAction("/who", tellWhoWentOn);
    mprSetSocketPrebindCallback(setRoom<4096>);
    server.start();
    mprSetSocketPrebindCallback(nullptr);
    constexpr int count = 50;
    writing.clear();
    answersBegun = 0;
    wentOn = -1;
    inGate = gateIsOpen = false;
    std::vector<std::unique_ptr<Client>> slow;
    for (int i = 0; i < count; i++) {
        slow.push_back(std::make_unique<Client>(server.port, Client::mustConnect, 4096));
        slow.back()->send(get("/long"));
    }
    Client asks(server.port);
    eventually([] { return answersBegun == count; });
    MprOff before = -1;
    bool full = false;
    eventually([&] { // the system takes no more
        const int counted = sums;
        mprCreateEvent(nullptr, "sum", 0, reinterpret_cast<void *>(sumUp), nullptr, 0);
        eventually([counted] { return sums > counted; });
        const MprOff now = writtenInAll;
        full =
            full || std::exchange(before, now) == now; // asked once more at the end, when a last one may have written
        return full;
    });
    REQUIRE(mprCreateEvent(nullptr, "gate", 0, reinterpret_cast<void *>(waitInGate), nullptr, 0));
    eventually([] { return inGate.load(); });
    for (auto &each : slow) {
        while (each->read(1)) {}
    }
    asks.send(get("/who"));
    mprSleep(20); // until it is there, behind them
    gateIsOpen = true;
    CHECK(asks.receive().body == "hello");
    CHECK(wentOn >= 0);
    CHECK(wentOn < count / 4);
    for (size_t i = 0; i < slow.size(); i++) {
        if (i % 10 == 0) { // all get what they have asked for
            CHECK(slow[i]->receive().body.size() == static_cast<size_t>(longAnswer));
        }
        slow[i]->reset();
    }
}

namespace {
std::atomic<MprOff> mostOfAnEvent{0}, allOfThem{0};

/* Endlessly, as there is room. */
void goOnForEver(HttpStream *stream) {
    static const char bytes[16384] = {};
    static int64 event;
    static MprOff ofEvent;
    const int64 now = mprGetEventMark(stream->dispatcher);
    ofEvent = now == event ? ofEvent : 0;
    event = now;
    for (ssize count = 1; count > 0; ofEvent += count > 0 ? count : 0) {
        count = httpWriteBlock(stream->writeq, bytes, sizeof(bytes), HTTP_NON_BLOCK);
    }
    mostOfAnEvent = std::max(mostOfAnEvent.load(), ofEvent);
    allOfThem = stream->tx->bytesWritten;
}
} // namespace

TEST_CASE("a connection that takes all it can get leaves others their turn", "[http][net]") {
    Server server;
    REQUIRE(httpSetEndpointWorkers(server.endpoint, 0) == 0);
    httpDefineAction(
        "/ever", +[](HttpStream *stream) {
            httpSetContentLength(stream, MprOff{1} << 40);
            httpSetStreamNotifier(stream, [](HttpStream *of, int event, int) {
                if (event == HTTP_EVENT_WRITABLE) {
                    goOnForEver(of);
                }
            });
            goOnForEver(stream);
        });
    mprSetSocketPrebindCallback(setRoom<(4 << 20)>);
    server.start();
    mprSetSocketPrebindCallback(nullptr);
    mostOfAnEvent = allOfThem = 0;
    Client client(server.port, Client::mustConnect, 4 << 20);
    client.send(get("/ever"));
    for (size_t got = 0; got < (8 << 20) && client.read(); client.input.clear()) {
        got += client.input.size();
        CHECK(mostOfAnEvent < (1 << 20)); // while the system would take megabytes
    }
    CHECK(allOfThem > (4 << 20));
    client.reset();
}

#ifdef TCP_NOTSENT_LOWAT
namespace {
int setOwnBound(MprSocket *listener) {
    const int most = 30'000;
    setsockopt(listener->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof(most));
    return setRoom<(4 << 20)>(listener);
}
} // namespace

TEST_CASE("the system keeps little of a response that its client does not take", "[http][net]") {
    static std::atomic<int> unsent{0};
    Server server;
    REQUIRE(httpSetEndpointWorkers(server.endpoint, 0) == 0);
    httpDefineAction(
        "/unread", +[](HttpStream *stream) {
            int most = 0;
            socklen_t size = sizeof(most);
            const bool known = getsockopt(stream->sock->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, &size) == 0;
            httpSetStreamNotifier(stream, [](HttpStream *of, int event, int) {
                if (event == HTTP_EVENT_WRITABLE) {
                    goOnForEver(of);
                }
            });
            goOnForEver(stream);
            writing.push_back(stream);
            unsent = known ? std::max(most, 1) : -1;
        });
    const bool own = GENERATE(false, true); // what the program says counts
    mprSetSocketPrebindCallback(own ? setOwnBound : setRoom<(4 << 20)>);
    server.start();
    mprSetSocketPrebindCallback(nullptr);
    writing.clear();
    unsent = 0;
    Client client(server.port, Client::mustConnect, 4096);
    client.send(get("/unread"));
    eventually([] { return unsent != 0; });
    if (unsent < 0) {
        WARN("the system cannot be told"); // an emulated one
        return;
    }
    MprOff before = -1;
    eventually([&] { // until it takes no more
        const int counted = sums;
        mprCreateEvent(nullptr, "sum", 0, reinterpret_cast<void *>(sumUp), nullptr, 0);
        eventually([counted] { return sums > counted; });
        const MprOff now = writtenInAll;
        return std::exchange(before, now) == now && now > 0;
    });
    CHECK(unsent == (own ? 30'000 : 128 * 1024));
    CHECK(before < 2 * 256 * 1024); // of megabytes that would find room
    client.reset();
}
#endif

TEST_CASE("a connection that rests stays in its list, whatever becomes of its handler", "[http][net]") {
    Server server("poison=1");
    static std::atomic<MprHandle> weak;
    weak = 0;
    httpDefineAction(
        "/careless", +[](HttpStream *stream) {
            answerHello(stream);
            mprCreateEvent(stream->dispatcher, "takes", 0, reinterpret_cast<void *>(+[](HttpNet *net, MprEvent *) {
                               mprRemoveSocketHandler(net->sock);
                               weak = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, net);
                           }),
                           stream->net, 0);
        });
    httpDefineAction("/hello", answerHello);
    server.start();
    Client client(server.port);
    client.send(get("/careless"));
    CHECK(client.receive().body == "hello");
    eventually([] { return weak != 0; });
    for (int i = 0; i < 3; i++) {
        collect();
        CHECK(server.get("/hello").body == "hello"); // whose connection is put beside it
    }
    CHECK(mprGetHandle(weak));
    mprDestroyHandle(weak);
}
