/* SPDX-License-Identifier: MIT */
/*
    test/http/workers.cpp - Endpoints whose connections are spread over several threads: what runs at the same time and
    what does not, and how all of it ends.
 */
#include "test/support/folder.hpp"
#include "test/support/http.hpp"
#include "test/support/mutator.hpp"
#include "test/support/sanitizer.hpp"

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

using namespace test;

namespace {

const std::string hello = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
const std::string where = "GET /where HTTP/1.1\r\nHost: a\r\n\r\n";
const std::string waits = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";

HttpStats figures() {
    HttpStats stats{};
    httpGetStats(&stats);
    return stats;
}

std::atomic<int> inside{0}, most{0}; /* handlers that run, and how many have at once */
std::atomic<uint64> waiting{0};      /* a stream */

/* Until as many handlers have run at once as the query says, and some milliseconds more if another might come. */
void meet(HttpStream *stream) {
    const int count = ++inside;
    for (int before = most; before < count && !most.compare_exchange_weak(before, count);) {}
    const int wanted = httpGetIntParam(stream, "wanted", 0);
    until([wanted] { return most >= wanted; });
    for (int i = 0; most <= wanted && i < httpGetIntParam(stream, "more", 0); i++) {
        mprSleep(1);
    }
    inside--;
    answerHello(stream);
}

void tellDispatcher(HttpStream *stream) {
    httpWrite(stream->writeq, "%p", static_cast<void *>(stream->dispatcher));
    httpFinalize(stream);
}

void answerLater(HttpStream *stream) {
    waiting = stream->seqno;
}

/* A server of so many workers, whatever the environment says. */
class Spread : public Server {
public:
    explicit Spread(int workers) {
        REQUIRE(httpSetEndpointWorkers(endpoint, workers) == 0);
        inside = most = 0;
        waiting = 0;
        httpDefineAction("/hello", answerHello);
        httpDefineAction("/meet", meet);
        httpDefineAction("/where", tellDispatcher);
        httpDefineAction("/wait", answerLater);
    }
};

using Clients = std::vector<std::unique_ptr<Client>>;

Clients connected(const Server &server, int count) {
    Clients clients;
    for (int i = 0; i < count; i++) {
        clients.push_back(std::make_unique<Client>(server.port));
        CHECK(clients.back()->ask(hello).body == "hello");
    }
    return clients;
}

/* Return when a client's connection is at rest. An answer comes before: the event that brought the request goes on. */
void awaitRest(Client &client) {
    void *dispatcher = nullptr;
    REQUIRE(sscanf(client.ask(where).body.c_str(), "%p", &dispatcher) == 1);
    static std::atomic<bool> over;
    over = false;
    const auto next = +[](void *, MprEvent *) { over = true; };
    REQUIRE(mprCreateEvent(static_cast<MprDispatcher *>(dispatcher), "next", 0, next, nullptr, 0));
    eventually([] { return over.load(); });
}
} // namespace

TEST_CASE("workers of an endpoint are set before it starts", "[http][workers]") {
    Server server;
    CHECK(httpSetEndpointWorkers(nullptr, 1) == MPR_ERR_BAD_ARGS);
    CHECK(httpSetEndpointWorkers(server.endpoint, -1) == MPR_ERR_BAD_ARGS);
    CHECK(httpSetEndpointWorkers(server.endpoint, 65) == MPR_ERR_BAD_ARGS);
    CHECK(httpSetEndpointWorkers(server.endpoint, 64) == 0);
    CHECK(httpSetEndpointWorkers(server.endpoint, 0) == 0);
    httpDefineAction("/hello", answerHello);
    server.start();
    CHECK(httpSetEndpointWorkers(server.endpoint, 1) == MPR_ERR_BAD_STATE);
    CHECK(server.get("/hello").body == "hello");
}

TEST_CASE("as many requests run at once as there are workers", "[http][workers]") {
    const int workers = GENERATE(1, 2, 4);
    Spread server(workers);
    server.start();
    Clients clients = connected(server, 2 * workers);
    const std::string more = GENERATE("0", "100");
    const std::string request =
        "GET /meet?wanted=" + std::to_string(workers) + "&more=" + more + " HTTP/1.1\r\nHost: a\r\n\r\n";
    for (auto &each : clients) {
        each->send(request);
    }
    for (auto &each : clients) {
        CHECK(each->receive().body == "hello");
    }
    CHECK(most == workers);
}

TEST_CASE("connections are spread evenly, and stay where they are", "[http][workers]") {
    constexpr int workers = 4;
    Spread server(workers);
    server.start();
    Clients clients = connected(server, 3 * workers);
    std::multiset<std::string> dispatchers;
    for (auto &each : clients) {
        const std::string dispatcher = each->ask(where).body;
        dispatchers.insert(dispatcher);
        CHECK(each->ask(where).body == dispatcher);
    }
    for (auto &each : dispatchers) {
        CHECK(dispatchers.count(each) == 3);
    }
    /* The next comes to the one that has the fewest. */
    const std::string left = clients[5]->ask(where).body;
    clients[5]->close();
    eventually([] { return figures().activeConnections == 3 * workers - 1; });
    CHECK(server.ask(where).body == left);
}

TEST_CASE("a stream of a worker is woken by any thread", "[http][workers]") {
    Spread server(2);
    server.start();
    const bool foreign = GENERATE(false, true);
    Clients clients = connected(server, 2);
    for (auto &each : clients) {
        waiting = 0;
        each->send(waits);
        eventually([] { return waiting != 0; });
        static MprDispatcher *there;
        static std::atomic<int> result;
        const auto wake = [] {
            result = httpCreateEvent(
                waiting,
                +[](HttpStream *stream, void *) {
                    there = stream->dispatcher;
                    httpWriteString(stream->writeq, mprGetCurrentWorker() ? "worker" : "other");
                    httpFinalize(stream);
                },
                nullptr);
        };
        if (foreign) {
            std::thread(wake).join();
        } else {
            wake();
        }
        CHECK(each->receive().body == "worker");
        CHECK(result == 0);
        CHECK(there != mprGetDispatcher());
    }
}

TEST_CASE("any thread stops an endpoint: those at rest are closed, requests finish, nobody connects",
          "[http][workers]") {
    Spread server(3);
    server.start();
    Clients idle = connected(server, 6);
    Client busy(server.port);
    busy.send(waits);
    eventually([] { return waiting != 0; });
    SECTION("the caller of no event") {
        httpStopEndpoint(server.endpoint);
    }
    SECTION("an event of the main dispatcher") {
        mprCreateEvent(
            nullptr, "stop", 0, +[](void *, MprEvent *) { httpStopEndpoints(); }, nullptr, 0);
    }
    SECTION("a handler of another connection") {
        httpDefineAction(
            "/stop", +[](HttpStream *stream) {
                httpStopEndpoints();
                answerHello(stream);
            });
        CHECK(server.get("/stop").body == "hello");
    }
    for (auto &each : idle) {
        CHECK(each->isClosed());
    }
    Client late(server.port, Client::mayFail);
    late.send(hello);
    CHECK(late.isClosed());
    CHECK(late.input.empty());
    CHECK(httpCreateEvent(
              waiting, +[](HttpStream *stream, void *) { answerHello(stream); }, nullptr) == 0);
    Answer answer = busy.receive();
    CHECK(answer.body == "hello");
    CHECK(answer["Connection"] == "close");
    CHECK(busy.isClosed());
    /* It may start again at its port. */
    REQUIRE(httpStartEndpoint(server.endpoint) == 0);
    CHECK(httpGetEndpointPort(server.endpoint) == server.port);
    CHECK(server.get("/hello").body == "hello");
}

TEST_CASE("a stop that is seen late leaves alone who has come after the next start", "[http][workers]") {
    Spread server(1);
    server.start();
    Client before(server.port), busy(server.port);
    CHECK(before.ask(hello).body == "hello");
    busy.send("GET /meet?wanted=2 HTTP/1.1\r\nHost: a\r\n\r\n"); // the thread of all connections is there
    eventually([] { return inside == 1; });
    httpStopEndpoint(server.endpoint);
    REQUIRE(httpStartEndpoint(server.endpoint) == 0);
    Client after(server.port);
    eventually([] { return figures().activeConnections == 3; });
    most = 2;
    CHECK(busy.receive().body == "hello");
    CHECK(busy.isClosed());
    CHECK(before.isClosed());
    CHECK(after.ask(hello).body == "hello");
    CHECK(after.ask(hello).body == "hello");
}

TEST_CASE("any thread ends the service, and another may begin", "[http][workers]") {
    Spread server(3);
    server.start();
    Clients idle = connected(server, 6);
    Client busy(server.port), half(server.port);
    busy.send(waits);
    half.send("GET /he");
    eventually([] { return waiting != 0; });
    httpDestroy();
    CHECK_FALSE(httpGetHttp());
    for (auto &each : idle) {
        CHECK(each->isClosed());
    }
    CHECK(busy.isClosed());
    CHECK(half.isClosed());
    CHECK(busy.input.empty());
    eventually([] { return figures().activeConnections == 0 && figures().activeRequests == 0; });
    CHECK(figures().activeClients == 0);
    REQUIRE(httpCreate(HTTP_SERVER_SIDE));
    HttpEndpoint *next = httpCreateEndpoint("127.0.0.1", 0, nullptr);
    CHECK(httpSetEndpointWorkers(next, 2) == 0);
    httpDefineAction("/hello", answerHello);
    REQUIRE(httpStartEndpoint(next) == 0);
    CHECK(Client(httpGetEndpointPort(next)).ask(hello).body == "hello");
}

TEST_CASE("past the redline workers close their connections at rest", "[http][workers]") {
    Spread server(3);
    server.start();
    Clients idle = connected(server, 40); /* More than are told at a time */
    mprSetMemLimits(1, 0, -1);
    for (auto &each : idle) {
        CHECK(each->isClosed());
    }
    mprSetMemLimits(0, 0, -1);
}

TEST_CASE("there are no more sessions than are allowed, whoever makes them at once", "[http][workers]") {
    Spread server(4);
    constexpr int allowed = 5;
    httpGetLimits()->sessionMax = allowed;
    httpDefineAction(
        "/session", +[](HttpStream *stream) {
            httpWriteString(stream->writeq, httpCreateSession(stream) ? "yes" : "no");
            httpFinalize(stream);
        });
    server.start();
    Clients clients = connected(server, 16);
    for (auto &each : clients) {
        each->send("GET /session HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    int made = 0;
    for (auto &each : clients) {
        made += each->receive().body == "yes";
    }
    CHECK(made <= allowed);
    CHECK(figures().activeSessions == made);
    CHECK(server.get("/session").body == (made < allowed ? "yes" : "no"));
}

// ---- All at once ------------------------------------------------------------------------------------------------

namespace {

/* A connection of a foreign thread, which no collection waits for. */
class Peer {
public:
    explicit Peer(int port) : fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        timeval patience{20, 0};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        open = connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
    }
    ~Peer() { ::close(fd); }
    Peer(const Peer &) = delete;
    Peer &operator=(const Peer &) = delete;

    void reset() const {
        const linger now{1, 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    bool send(const std::string &bytes) const {
        return open && ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize>(bytes.size());
    }
    /* An answer with Content-Length; "" head when the connection has ended before its first byte; a head and no body
       when it is cut off. */
    Answer receive() const {
        Answer answer;
        std::string input;
        size_t end = std::string::npos, length = 0;
        char bytes[4096];
        for (;;) {
            if (end != std::string::npos && input.size() >= end + 4 + length) {
                answer.body = input.substr(end + 4, length);
                answer.whole = true;
                return answer;
            }
            const ssize count = open ? TEMP_FAILURE_RETRY(recv(fd, bytes, sizeof(bytes), 0)) : 0;
            if (count <= 0) {
                answer.head = input;
                return answer;
            }
            input.append(bytes, static_cast<size_t>(count));
            end = input.find("\r\n\r\n");
            if (end != std::string::npos) {
                answer.head = input.substr(0, end + 2);
                answer.status = atoi(answer.head.c_str() + 9);
                length = strtoul(answer["Content-Length"].c_str(), nullptr, 10);
            }
        }
    }
    Answer ask(const std::string &request) const { return send(request) ? receive() : Answer(); }

    bool open;

private:
    int fd;
};

std::atomic<bool> stops{false}; /* the endpoint */
std::atomic<int> answered{0}, wrong{0};

/* An answer is whole and as it should be; when the endpoint stops there may be none at all. */
bool isRight(const Answer &answer, const std::string &body) {
    const bool right = answer.whole && answer.status == 200 && answer.body == body;
    const bool none = stops && !answer.whole && answer.head.empty();
    answered += right;
    wrong += !right && !none;
    return right;
}

void keepAlive(int port) {
    const Peer peer(port);
    for (int i = 0; i < 5 && isRight(peer.ask(hello), "hello"); i++) {}
}

void abandon(int port, int turn) {
    const Peer peer(port);
    const std::string request = post("/body", std::string(20000, 'x'));
    peer.send(turn % 3 == 0 ? request : request.substr(0, turn % 3 == 1 ? 30 : 10000));
    if (turn % 2) {
        peer.reset();
    }
}

void countInSession(int port) {
    std::string cookie;
    for (int i = 1; i <= 3; i++) {
        const Peer peer(port);
        const Answer answer = peer.ask("GET /count HTTP/1.1\r\nHost: a\r\n" + cookie + "\r\n");
        if (!isRight(answer, std::to_string(i))) {
            return;
        }
        if (i == 1) {
            cookie = "Cookie: " + answer["Set-Cookie"].substr(0, answer["Set-Cookie"].find(';')) + "\r\n";
        }
    }
    const Peer peer(port);
    isRight(peer.ask("GET /end HTTP/1.1\r\nHost: a\r\n" + cookie + "\r\n"), "hello");
}

void upload(int port) {
    const std::string body = "--XyZ\r\nContent-Disposition: form-data; name=f; filename=a.txt\r\n\r\n" +
                             std::string(30000, 'u') + "\r\n--XyZ--\r\n";
    const Peer peer(port);
    isRight(peer.ask(post("/up", body, "Content-Type: multipart/form-data; boundary=XyZ\r\n")), "30000");
}

void disturb(int turn) {
    httpCreateEvent(
        static_cast<uint64>(turn) + 1, +[](HttpStream *, void *) {}, nullptr);
}

void defineAll() {
    httpDefineAction("/body", answerBody);
    httpDefineAction(
        "/count", +[](HttpStream *stream) {
            const int count = static_cast<int>(stoi(httpGetSessionVar(stream, "count", "0"))) + 1;
            wrong += httpSetSessionVar(stream, "count", itos(count)) != 0;
            httpWrite(stream->writeq, "%d", count);
            httpFinalize(stream);
        });
    httpDefineAction(
        "/end", +[](HttpStream *stream) {
            httpDestroySession(stream);
            answerHello(stream);
        });
    httpDefineAction(
        "/up", +[](HttpStream *stream) {
            const auto *file = static_cast<HttpUploadFile *>(mprGetFirstItem(stream->rx->files));
            httpWrite(stream->writeq, "%lld", file ? static_cast<long long>(file->size) : -1);
            httpFinalize(stream);
        });
}
} // namespace

TEST_CASE("all at once: requests one after another, new and aborted connections, sessions, uploads, and the end",
          "[http][workers][stress]") {
    const int workers = GENERATE(0, 1, 2, 4);
    Folder folder;
    Spread server(workers);
    defineAll();
    REQUIRE(httpSetAccessLog((folder / "access.log").c_str(), HTTP_LOG_JSON, 0, 0) == 0);
    server.start();
    stops = false;
    answered = wrong = 0;
    const int turns = static_cast<int>(heavy(200)) + 4;
    int routes = 0;
    std::atomic<int> running{0}, turn{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; i++) {
        running++;
        threads.emplace_back([&running, &turn, port = server.port, turns, i] {
            for (int j = 0; j < turns || !stops; j++) {
                const int kind = (i + j) % 5;
                kind == 0   ? keepAlive(port)
                : kind == 1 ? abandon(port, j)
                : kind == 2 ? countInSession(port)
                : kind == 3 ? upload(port)
                            : disturb(j);
                turn++;
            }
            running--;
        });
    }
    while (turn < 6 * turns) {
        collect();
        figures();
        httpStatsReport(0);
        httpCreateActionRoute(nullptr, sfmt("/more%d", ++routes), answerHello);
        CHECK(server.get("/more" + std::to_string(routes)).body == "hello");
        mprSleep(5);
    }
    stops = true;
    httpStopEndpoints();
    eventually([&running] { return running == 0; });
    for (auto &each : threads) {
        each.join();
    }
    eventually([] { return figures().activeConnections == 0; });
    const HttpStats last = figures();
    CHECK(last.activeRequests == 0);
    CHECK(last.activeClients == 0);
    CHECK(answered > 0);
    CHECK(wrong == 0);
}

namespace {
std::atomic<bool> released{false};

/* No other event of its dispatcher runs meanwhile. */
void block(HttpStream *stream) {
    inside++;
    while (!released) {
        mprSleep(1);
    }
    answerHello(stream);
}
} // namespace

TEST_CASE("there are never more connections than allowed, while those leave that rest", "[http][workers]") {
    Spread server(1);
    httpGetLimits()->connectionsMax = 2;
    httpDefineAction("/block", block);
    released = false;
    server.start();
    Client resting(server.port);
    CHECK(resting.ask(hello).status == 200);
    Client blocking(server.port);
    blocking.send(get("/block"));
    eventually([] { return inside == 1; });
    // Who rests is told to leave, but its dispatcher is busy.
    Clients newcomers;
    for (int i = 0; i < 3; i++) {
        newcomers.push_back(std::make_unique<Client>(server.port));
        newcomers.back()->send(hello);
    }
    int seen = 0;
    for (int i = 0; i < 50; i++) {
        mprSleep(2);
        seen = std::max(seen, figures().activeConnections);
    }
    CHECK(seen == 2);
    released = true;
    CHECK(resting.isClosed());
    CHECK(blocking.receive().body == "hello");
    int served = 0;
    for (auto &each : newcomers) {
        const int status = each->receive().status; // whoever finds all others at work is told so
        CHECK((status == 200 || status == 503));
        served += status == 200;
    }
    CHECK(served >= 1);
    CHECK(figures().activeConnections <= 2);
}

TEST_CASE("whoever comes does not wait for a busy worker while another has a connection at rest", "[http][workers]") {
    Spread server(2);
    httpGetLimits()->connectionsMax = 3;
    httpDefineAction("/block", block);
    released = false;
    server.start();
    Clients resting = connected(server, 1); // of the first worker; this has rested longest
    awaitRest(*resting[0]);
    resting.push_back(std::make_unique<Client>(server.port));
    awaitRest(*resting[1]);
    Client blocking(server.port);
    blocking.send(get("/block"));
    eventually([] { return inside == 1; });
    Client newcomer(server.port);
    newcomer.send(hello);
    CHECK(newcomer.read(10000)); // the other worker closes its own
    CHECK(newcomer.receive().body == "hello");
    CHECK(inside == 1);
    CHECK(resting[1]->isClosed());
    CHECK(figures().activeConnections <= 3);
    released = true;
    CHECK(blocking.receive().body == "hello");
    CHECK(resting[0]->isClosed());
}

namespace {

/* What an event is for, and what that references. */
struct Letter {
    char *text;
};

void manageLetter(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<Letter *>(ptr)->text);
    }
}

std::atomic<bool> gateIsReached{false}, gateIsOpen{false};
std::atomic<int> lettersRead{0}, lettersWhole{0};

void waitAtGate(HttpStream *, void *) {
    gateIsReached = true;
    while (!gateIsOpen) {
        mprSleep(1);
    }
}

void readLetter(HttpStream *, void *data) {
    const auto *letter = static_cast<Letter *>(data);
    const bool whole = mprIsValid(letter->text) && smatch(letter->text, "what the event is for");
    lettersWhole += whole ? 1 : 0;
    lettersRead++;
}
} // namespace

TEST_CASE("what an event's data references stays until a busy worker has come to it", "[http][workers]") {
    Spread server(1);
    server.start();
    Client client(server.port);
    client.send(waits);
    eventually([] { return waiting != 0; });
    gateIsReached = gateIsOpen = false;
    lettersRead = lettersWhole = 0;
    REQUIRE(httpCreateEvent(waiting, waitAtGate, nullptr) == 0);
    eventually([] { return gateIsReached.load(); });
    constexpr int count = 20;
    for (int i = 0; i < count; i++) {
        auto *letter = static_cast<Letter *>(mprAllocManaged(sizeof(Letter), manageLetter, MPR_ALLOC_MANAGER));
        letter->text = sclone("what the event is for");
        REQUIRE(httpCreateEvent(waiting, readLetter, letter) == 0);
    }
    /* The main dispatcher has given them to the worker's, for it carries out orders one after another. */
    static std::atomic<bool> given;
    given = false;
    REQUIRE(httpCreateEvent(
                0, +[](HttpStream *, void *) { given = true; }, nullptr) == 0);
    eventually([] { return given.load(); });
    for (int i = 0; i < 3; i++) {
        collect();
        for (int j = 0; j < 1000; j++) {
            sclone("another text, no longer."); /* in the place of what was freed */
        }
    }
    CHECK(lettersRead == 0);
    gateIsOpen = true;
    eventually([] { return lettersRead == count; });
    CHECK(lettersWhole == count);
}

TEST_CASE("connections whose dispatcher is destroyed are closed, and nothing of them is lost before",
          "[http][workers]") {
    Spread server(0);
    static MprDispatcher *dispatcher;
    dispatcher = mprCreateDispatcher("own", 0);
    mprAddRoot(dispatcher);
    HttpEndpoint *own = httpCreateEndpoint("127.0.0.1", 0, dispatcher);
    server.start();
    const int port = httpGetEndpointPort(own);
    const bool busy = GENERATE(false, true);
    Client running(port), resting(port);
    CHECK(resting.ask(hello).body == "hello");
    running.send(waits);
    eventually([] { return waiting != 0; });
    if (busy) { /* One of its events runs meanwhile, and an order waits behind it */
        gateIsReached = gateIsOpen = false;
        REQUIRE(httpCreateEvent(waiting, waitAtGate, nullptr) == 0);
        eventually([] { return gateIsReached.load(); });
    }
    static std::atomic<int> told, found;
    told = found = 0;
    const auto tell = +[](HttpStream *stream, void *) {
        found += stream ? 1 : 0;
        told++;
    };
    REQUIRE(httpCreateEvent(waiting, tell, nullptr) == 0);
    if (!busy) {
        eventually([] { return told == 1; });
    }
    mprDestroyDispatcher(dispatcher);
    resting.send(hello); /* What waits for it finds no dispatcher */
    for (int i = 0; i < 3; i++) {
        mprSleep(10);
        collect();
    }
    if (busy) {
        CHECK(figures().activeConnections == 2); /* Nobody touches them while that event runs */
        gateIsOpen = true;
    }
    CHECK(resting.isClosed());
    CHECK(running.isClosed());
    eventually([] { return told == 1 && figures().activeConnections == 0 && figures().activeRequests == 0; });
    CHECK(found == (busy ? 0 : 1));
    REQUIRE(httpCreateEvent(waiting, tell, nullptr) == 0);
    eventually([] { return told == 2; });
    CHECK(server.get("/hello").body == "hello");
    server.stop();
    mprRemoveRoot(dispatcher);
}

TEST_CASE("an order is carried out though its dispatcher is destroyed and the last connection left before",
          "[http][workers]") {
    Spread server(0);
    static MprDispatcher *dispatcher;
    dispatcher = mprCreateDispatcher("own", 0);
    mprAddRoot(dispatcher);
    HttpEndpoint *own = httpCreateEndpoint("127.0.0.1", 0, dispatcher);
    server.start();
    Client client(httpGetEndpointPort(own));
    client.send(waits);
    eventually([] { return waiting != 0; });
    gateIsReached = gateIsOpen = false;
    const auto leaveAtGate = +[](HttpStream *stream, void *data) {
        waitAtGate(stream, data);
        httpDisconnectStream(stream);
    };
    REQUIRE(httpCreateEvent(waiting, leaveAtGate, nullptr) == 0);
    eventually([] { return gateIsReached.load(); });
    static std::atomic<int> told, found, given;
    told = found = given = 0;
    const auto tell = +[](HttpStream *stream, void *) {
        found += stream ? 1 : 0;
        told++;
    };
    REQUIRE(httpCreateEvent(waiting, tell, nullptr) == 0);
    REQUIRE(httpCreateEvent(
                0, +[](HttpStream *, void *) { given = 1; }, nullptr) == 0);
    eventually([] { return given == 1; }); /* So the order is the other dispatcher's now */
    mprDestroyDispatcher(dispatcher);
    httpDestroyEndpoint(own);
    gateIsOpen = true;
    CHECK(client.isClosed());
    eventually([] { return figures().activeConnections == 0; });
    collect();
    eventually([] { return told == 1; });
    CHECK(found == 0);
    server.stop();
    mprRemoveRoot(dispatcher);
}
