// SPDX-License-Identifier: MIT
/*
    test/http/coroutine.cpp - The C++ API: routes with lambdas, handlers as coroutines, typed filters.
 */
#include "mpr/http.hpp"

#include "test/http/site.hpp"
#include "test/support/http.hpp"

#include <pthread.h>
#include <stdexcept>

using namespace test;
using namespace std::chrono_literals;
using mpr::http::Stream;
using mpr::http::Task;

namespace {

struct Note {
    explicit Note(int number) : value(number) { ++alive; }
    ~Note() { --alive; }
    int value;
    static inline std::atomic<int> alive{0};
};

std::atomic<int> wrong{0};

/* Counts itself while it exists: destructors of a coroutine's locals. */
struct Local {
    Local() { ++alive; }
    ~Local() { --alive; }
    Local(const Local &) = delete;
    Local &operator=(const Local &) = delete;
    static inline int alive = 0;
};

Task echo(Stream stream) {
    for (std::string_view piece = co_await stream.read(); !piece.empty(); piece = co_await stream.read()) {
        if (!co_await stream.write(piece)) {
            co_return;
        }
    }
}

struct Upper {
    void outgoing(HttpQueue *q, HttpPacket *packet) {
        for (char *c = httpGetPacketStart(packet); c && c < packet->content->end; ++c) {
            *c = static_cast<char>(toupper(*c));
            ++count;
        }
        total += httpGetPacketContents(packet);
        httpPutPacketToNext(q, packet);
    }
    int count = 0;
    static inline ssize total = 0;
};
} // namespace

TEST_CASE("routes with lambdas", "[http][cpp]") {
    Site site;
    int calls = 0;
    REQUIRE(mpr::http::route("GET,POST", "/hello/{name}", [&calls](Stream stream) {
        ++calls;
        stream.status(201);
        stream.header("X-Method", std::string(stream.method()).c_str());
        stream.type("text/plain");
        stream.send("Hello ");
        stream.send(stream.param("name"));
        stream.send(stream.header("x-mark"));
        stream.send(stream.param("q", "?"));
    }));
    Reply reply = site.get("/hello/joe", "X-Mark: !\r\n");
    CHECK(reply.status == 201);
    CHECK(reply.body == "Hello joe!?");
    CHECK(reply.header("X-Method") == "GET");
    CHECK(reply.header("Content-Type") == "text/plain");
    reply = site.request("POST", "/hello/ann", "Content-Type: application/x-www-form-urlencoded\r\n", "q=1");
    CHECK(reply.body == "Hello ann1");
    CHECK(site.request("DELETE", "/hello/ann").status == 405);
    CHECK(calls == 2);
}

TEST_CASE("a coroutine reads and writes", "[http][cpp]") {
    Site site;
    httpGetRouteLimits(site.route)->rxBodySize = 100 << 20;
    REQUIRE(mpr::http::route(nullptr, "/echo", echo));
    CHECK(site.get("/echo").body.empty());
    CHECK(site.request("POST", "/echo", "", "some bytes").body == "some bytes");
    CHECK(site.request("POST", "/echo", "", "byte by byte", 1).body == "byte by byte");
    const std::string chunks = "4\r\nsome\r\n6\r\n bytes\r\n0\r\n\r\n";
    CHECK(Reply(site.exchange("POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: "
                              "chunked\r\n\r\n" +
                              chunks))
              .body == "some bytes");
}

TEST_CASE("a coroutine waits for room", "[http][cpp]") {
    Site site;
    REQUIRE(mpr::http::route("GET", "/large", [](Stream stream) -> Task {
        static const std::string part(100000, 'x');
        for (int i = 0; i < 200; ++i) {
            if (!co_await stream.write(part)) {
                co_return;
            }
        }
    }));
    site.get("/none");
    collect();
    const uint64 before = stats().bytesLive;
    site.measures = true;
    const Reply reply = site.get("/large");
    CHECK(reply.body.size() == 20000000);
    CHECK(site.liveMeanwhile > 0);
    CHECK(site.liveMeanwhile < before + (1 << 20)); /* of 20 MB */
}

TEST_CASE("what a coroutine's variables reference stays while it sleeps", "[http][cpp]") {
    Site site;
    Note::alive = 0;
    REQUIRE(mpr::http::route("GET", "/sleep", [](Stream stream) -> Task {
        const Local local;
        mpr::Root<Note> root = mpr::make<Note>(1);
        mpr::Member<Note> member = mpr::make<Note>(2);
        Note *plain = mpr::make<Note>(3);
        for (int i = 0; i < 3; ++i) {
            co_await mpr::sleep(5ms);
            collect();
        }
        stream.send(std::to_string(Note::alive) + std::to_string(root->value) + std::to_string(member->value) +
                    std::to_string(plain->value));
    }));
    CHECK(site.get("/sleep").body == "3123");
    CHECK(Local::alive == 0);
    collect();
    CHECK(Note::alive == 0);
}

TEST_CASE("a coroutine whose client goes is destroyed where it waits", "[http][cpp]") {
    Site site;
    REQUIRE(mpr::http::route(nullptr, "/wait", [](Stream stream) -> Task {
        const Local local;
        co_await stream.write("begun");
        httpFlush(stream);
        if (stream.param("for") == "time") {
            for (;;) { /* a client that sends no more may read yet: what is written tells */
                co_await mpr::sleep(5ms);
                co_await stream.write("more");
                httpFlush(stream);
            }
        } else {
            while (!(co_await stream.read()).empty()) {}
        }
        stream.send("never");
    }));
    for (cchar *request : {"GET /wait?for=time HTTP/1.1\r\nHost: x\r\n\r\n",
                           "POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n..."}) {
        site.leaves = true;
        site.exchange(request);
        CHECK(serviceUntil([] { return Local::alive == 0; }));
    }
    collect();
}

TEST_CASE("a coroutine that throws is an error", "[http][cpp]") {
    Site site;
    REQUIRE(mpr::http::route("GET", "/throw", [](Stream stream) -> Task {
        const Local local;
        if (stream.param("late") == "1") {
            co_await mpr::sleep(1ms);
        }
        throw std::runtime_error("thrown");
    }));
    CHECK(site.get("/throw").status == 500);
    CHECK(site.get("/throw?late=1").status == 500);
    CHECK(Local::alive == 0);
}

TEST_CASE("a function that throws is an error", "[http][cpp]") {
    Site site;
    REQUIRE(mpr::http::route("GET", "/throw", [](Stream stream) {
        const Local local;
        stream.send("lost");
        throw std::runtime_error("thrown");
    }));
    REQUIRE(mpr::http::route("GET", "/begin", [](Stream) -> Task { throw 1; })); // no coroutine
    CHECK(site.get("/throw").status == 500);
    CHECK(site.get("/begin").status == 500);
    CHECK(Local::alive == 0);
}

TEST_CASE("a typed filter that throws fails its request, and no other", "[http][cpp]") {
    struct Throws {
        void outgoing(HttpQueue *, HttpPacket *) { throw std::runtime_error("thrown"); }
    };
    Server server;
    REQUIRE(mpr::http::filter<Throws>("throws"));
    HttpRoute *route = mpr::http::route("GET", "/throw", [](Stream stream) {
        stream.send("some");
        httpFlush(stream);
    });
    REQUIRE(httpAddRouteFilter(route, "throws", nullptr, HTTP_STAGE_TX) == 0);
    httpDefineAction("/hello", answerHello);
    server.start();
    Client client(server.port);
    CHECK(client.ask(get("/throw")).status == 500);
    CHECK(client.ask(get("/hello")).body == "hello");
}

#ifndef _LIBCPP_VERSION // with LLVM's unwinder pthread_exit ends the process wherever a destructor is above it
TEST_CASE("a thread that ends in a coroutine ends alone", "[http][cpp]") {
    static std::atomic<bool> exits;
    exits = false;
    Server server;
    httpSetEndpointWorkers(server.endpoint, 1);
    REQUIRE(mpr::http::route("GET", "/exit", [](Stream stream) -> Task {
        co_await mpr::sleep(1ms);
        stream.send("some");
        exits = true;
        pthread_exit(nullptr);
    }));
    httpDefineAction("/hello", answerHello);
    server.start();
    Client ends(server.port);
    ends.send(get("/exit"));
    eventually([] { return exits.load(); });
    CHECK(server.get("/hello").body == "hello");
}
#endif

TEST_CASE("a typed filter has an object for each request", "[http][cpp]") {
    Site site;
    REQUIRE(mpr::http::filter<Upper>("upper"));
    HttpRoute *route = mpr::http::route(nullptr, "/upper", echo);
    REQUIRE(httpAddRouteFilter(route, "upper", nullptr, HTTP_STAGE_TX) == 0);
    Upper::total = 0;
    CHECK(site.request("POST", "/upper", "", "some bytes").body == "SOME BYTES");
    CHECK(site.request("POST", "/upper", "", "more").body == "MORE");
    CHECK(Upper::total == 14);
}

TEST_CASE("a coroutine gets all of a body that comes through a filter", "[http][cpp]") {
    Site site;
    httpCreateFilter("passes", nullptr)->incoming = [](HttpQueue *q, HttpPacket *packet) {
        httpPutPacketToNext(q, packet);
    };
    HttpRoute *route = mpr::http::route(nullptr, "/echo", echo);
    REQUIRE(httpAddRouteFilter(route, "passes", nullptr, HTTP_STAGE_RX) == 0);
    for (const size_t size : {size_t{1}, size_t{1000}, size_t{100'000}}) {
        const std::string body(size, 'b');
        CHECK(site.request("POST", "/echo", "", body).body == body);
    }
}

TEST_CASE("a body that is not wanted has ended for a coroutine", "[http][cpp]") {
    Site site;
    REQUIRE(mpr::http::route(nullptr, "/unwanted", [](Stream stream) -> Task {
        httpFinalizeInput(stream);
        const std::string_view piece = co_await stream.read();
        stream.send(piece.empty() ? "ended" : "not ended");
    }));
    CHECK(site.request("POST", "/unwanted", "", "some bytes").body == "ended");
}

namespace {

struct Collects {
    ~Collects() {
        collect();
        sum += text[0] + text[999];
    }
    char text[1000] = {1};
    static inline int sum = 0;
};
} // namespace

TEST_CASE("destructors of a coroutine's locals may yield", "[http][cpp]") {
    Site site;
    REQUIRE(mpr::http::route("POST", "/yields", [](Stream stream) -> Task {
        const Local local;
        Collects first;
        Collects second;
        first.text[999] = second.text[999] = 2;
        co_await stream.write("begun");
        httpFlush(stream);
        co_await stream.read();
        co_await stream.read();
    }));
    Collects::sum = 0;
    site.leaves = true;
    site.exchange("POST /yields HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n...");
    CHECK(serviceUntil([] { return Local::alive == 0; }));
    CHECK(Collects::sum == 2 * (1 + 2));
}

TEST_CASE("a handler that returns a Task of no coroutine has made a mistake, which is named", "[http][cpp]") {
    Site site;
    REQUIRE(mpr::http::route("GET", "/none", [](Stream) { return Task{}; }));
    CHECK(site.get("/none").status == 500);
}

TEST_CASE("a handler may take its stream by reference, and use it after it has waited", "[http][cpp]") {
    Site site;
    const auto byConst = [](const Stream &stream) -> Task {
        stream.send("one ");
        co_await mpr::sleep(1ms);
        stream.send("two");
    };
    const auto byAny = [](auto &&stream) -> Task {
        stream.send("one ");
        co_await mpr::sleep(1ms);
        co_await stream.write("two");
    };
    REQUIRE(mpr::http::route("GET", "/const", byConst));
    REQUIRE(mpr::http::route("GET", "/any", byAny));
    REQUIRE(mpr::http::route("GET", "/call", [](const Stream &stream) { stream.send("called"); }));
    CHECK(site.get("/const").body == "one two");
    CHECK(site.get("/any").body == "one two");
    CHECK(site.get("/call").body == "called");
}

namespace {
struct Counts {
    Counts() { ++alive; }
    Counts(const Counts &) { ++alive; }
    ~Counts() { --alive; }
    Counts &operator=(const Counts &) = delete;
    static inline std::atomic<int> alive{0};
};

Task greet(Stream stream, std::string name, [[maybe_unused]] Counts counts, [[maybe_unused]] mpr::Root<Note> note) {
    stream.send("hello " + name + std::to_string(note->value));
    co_return;
}
} // namespace

TEST_CASE("a Task that is not begun is kept by who has it, and ends with that", "[http][cpp]") {
    Site site;
    Note::alive = 0;
    REQUIRE(mpr::http::route("GET", "/wrapped", [](Stream stream) -> Task {
        Task task = greet(stream, "somebody with a long name", {}, mpr::make<Note>(7));
        collect();
        for (int i = 0; i < 1000; i++) {
            sclone("another block of the size of a frame, or of what is in it, in the place of what was freed");
        }
        Task moved = std::move(task);
        task = greet(stream, "nobody", {}, mpr::make<Note>(8));
        return moved;
    }));
    REQUIRE(mpr::http::route("GET", "/thrown", [](Stream stream) -> Task {
        const Task task = greet(stream, "nobody", {}, mpr::make<Note>(9));
        throw std::runtime_error("no");
    }));
    CHECK(site.get("/wrapped").body == "hello somebody with a long name7");
    CHECK(site.get("/thrown").status == 500);
    CHECK(serviceUntil([] { return Counts::alive == 0; }));
    for (int i = 0; i < 3; i++) {
        collect();
    }
    CHECK(stats().misuses == 0);
}

TEST_CASE("batches take neither a filter's state nor what a coroutine's variables reference", "[http][cpp]") {
    struct State {
        unsigned seal = 0xF117E4;
        mpr::Member<char> none;
        void trace(mpr::Marker &marker) { marker(none); }
        void incoming(HttpQueue *q, HttpPacket *packet) {
            wrong += seal != 0xF117E4;
            httpPutPacketToNext(q, packet);
        }
    };
    static std::atomic<int> lost;
    wrong = lost = 0;
    Site site;
    REQUIRE_FALSE(mprSetBatches(true));
    const HttpStage *stage = mpr::http::filter<State>("sealed");
    REQUIRE(stage);
    HttpRoute *route = mpr::http::route("POST", "/batches", [](Stream stream) -> Task {
        for (int i = 0; i < 20; ++i) {
            co_await mpr::sleep(1ms);
            const char *mine = sclone("what the coroutine keeps");
            const auto other = +[](void *, MprEvent *) {
                for (int k = 0; k < 1000; k++) {
                    sclone("what another event makes");
                }
            };
            mprCreateEvent(stream.get()->dispatcher, "other", 0, MPR_PROC(other), nullptr, 0);
            co_await mpr::sleep(1ms);
            lost += !mprIsValid(mine) || !smatch(mine, "what the coroutine keeps");
        }
        for (std::string_view piece = co_await stream.read(); !piece.empty(); piece = co_await stream.read()) {
            co_await stream.write(piece);
        }
    });
    REQUIRE(route);
    httpAddRouteFilter(route, "sealed", "", HTTP_STAGE_RX);
    for (int i = 0; i < 5; i++) {
        CHECK(site.request("POST", "/batches", "", "0123456789", 3).body == "0123456789");
    }
    CHECK(wrong == 0);
    CHECK(lost == 0);
    mprSetBatches(false);
}
