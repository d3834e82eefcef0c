/* SPDX-License-Identifier: MIT */
/*
    test/http/service.cpp - The service: figures, the access log, sessions, TLS, and its end.
 */
#include "mpr/http.hpp"
#include "test/support/few_descriptors.hpp"
#include "test/support/folder.hpp"
#include "test/support/http.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <termios.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

using namespace test;

namespace {

const std::string hello = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";

std::string contents(const std::string &path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/* A place to write to whose reader reads only when told to; the standard output, unless it is named. */
class Paused {
public:
    enum Kind { named, pipe, terminal };

    Paused(Kind kind, const std::string &path) : out(dup(1)) {
        int ends[2] = {-1, -1};
        if (kind == named) {
            REQUIRE(mkfifo(path.c_str(), 0600) == 0);
            ends[0] = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        } else if (kind == pipe) {
            REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
        } else {
            ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
            REQUIRE((grantpt(ends[0]) == 0 && unlockpt(ends[0]) == 0));
            ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
            termios how;
            tcgetattr(ends[1], &how);
            cfmakeraw(&how);
            tcsetattr(ends[1], TCSANOW, &how);
        }
        REQUIRE(ends[0] >= 0);
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        fcntl(ends[0], F_SETPIPE_SZ, 4096);
        fd = ends[0];
        if (ends[1] >= 0) {
            dup2(ends[1], 1);
            close(ends[1]);
        }
    }
    ~Paused() {
        dup2(out, 1);
        close(out);
        close(fd);
    }
    Paused(const Paused &) = delete;
    Paused &operator=(const Paused &) = delete;
    std::string read() const {
        char bytes[4096];
        const ssize count = ::read(fd, bytes, sizeof(bytes));
        return std::string(bytes, static_cast<size_t>(std::max<ssize>(count, 0)));
    }

private:
    int fd, out;
};

std::string eventually(const std::string &path, const std::string &part) {
    std::string text;
    for (int i = 0; i < 1000 && text.find(part) == std::string::npos; i++) {
        mprSleep(10);
        text = contents(path);
    }
    return text;
}
} // namespace

TEST_CASE("figures", "[http][service]") {
    Server server;
    httpDefineAction("/hello", answerHello);
    server.start();
    Client client(server.port);
    for (int i = 0; i < 3; i++) {
        CHECK(client.ask(hello).status == 200);
    }
    HttpStats stats;
    httpGetStats(&stats);
    CHECK(stats.totalRequests == 3);
    CHECK(stats.totalConnections == 1);
    CHECK(stats.activeConnections == 1);
    CHECK(stats.activeClients == 1);
    CHECK(stats.heap > 0);
    CHECK(stats.heapUsed > 0);
    CHECK(std::string(httpStatsReport(0)).find("Requests") != std::string::npos);
    CHECK(httpGetHttp());
    httpGetStats(nullptr);
}

TEST_CASE("the access log has a line for each request, whatever is in it", "[http][service]") {
    Folder folder;
    const std::string path = folder / "access.log";
    Server server;
    httpDefineAction("/hello", answerHello);
    SECTION("in the common form") {
        CHECK(httpSetAccessLog(path.c_str(), HTTP_LOG_COMMON, 0, 0) == 0);
        server.start();
        server.get("/hello?a=\"b\"");
        server.ask("BAD\r\n\r\n");
        Client half(server.port); // of a head: no request
        half.send("GET /half");
        half.reset();
        const std::string text = eventually(path, " 400 ");
        CHECK(text.find("127.0.0.1 - - [") == 0);
        CHECK(text.find("\"GET /hello?a=\\u0022b\\u0022 HTTP/1.1\" 200 5\n") != std::string::npos);
        CHECK(std::count(text.begin(), text.end(), '\n') == 2);
    }
    SECTION("as JSON") {
        CHECK(httpSetAccessLog(path.c_str(), HTTP_LOG_JSON, 0, 0) == 0);
        server.start();
        server.get("/hello", "User-Agent: a\"b\\c\r\n");
        const std::string text = eventually(path, "}");
        MprJson *json = mprParseJson(text.c_str());
        REQUIRE(json);
        CHECK(std::string(mprGetJson(json, "method")) == "GET");
        CHECK(std::string(mprGetJson(json, "uri")) == "/hello");
        CHECK(std::string(mprGetJson(json, "status")) == "200");
        CHECK(std::string(mprGetJson(json, "sent")) == "5");
        CHECK(std::string(mprGetJson(json, "agent")) == "a\"b\\c");
    }
    SECTION("as JSON, whatever has to be cut") {
        CHECK(httpSetAccessLog(path.c_str(), HTTP_LOG_JSON, 0, 0) == 0);
        httpGetLimits()->uriSize = 12'000;
        server.start();
        for (size_t length : {2037u, 2038u, 2039u, 2040u, 2041u, 2042u, 2043u, 10'000u}) {
            const std::string agent(length, '\xE4');
            server.ask("GET /" + std::string(length, 'a') + "\" HTTP/1.1\r\nHost: a\r\nUser-Agent: " + agent +
                       "\r\n\r\n");
            server.ask("GET /" + agent + " HTTP/1.1\r\nHost: a\r\n\r\n");
            server.ask(std::string(length, 'G') + " / HTTP/1.1\r\nHost: a\r\n\r\n");
        }
        server.get("/hello", "User-Agent: last\r\n");
        std::string text = eventually(path, "last\"}");
        int lines = 0;
        for (size_t end; (end = text.find('\n')) != std::string::npos; lines++) {
            const std::string line = text.substr(0, end);
            INFO(line);
            MprJson *json = mprParseJson(line.c_str());
            CHECK(json);
            CHECK(mprGetJson(json, "ms"));
            CHECK(mprGetJson(json, "agent"));
            text.erase(0, end + 1);
        }
        CHECK(lines == 25);
    }
    SECTION("renamed when it is long") {
        CHECK(httpSetAccessLog(path.c_str(), HTTP_LOG_COMMON, 100, 2) == 0);
        server.start();
        for (int i = 0; i < 10 && contents(path + ".1").empty(); i++) {
            server.get("/hello");
            mprSleep(150);
        }
        CHECK_FALSE(contents(path + ".1").empty());
    }
    SECTION("renamed while there is no descriptor for a new one") {
        CHECK(httpSetAccessLog(path.c_str(), HTTP_LOG_COMMON, 100, 2) == 0);
        server.start();
        Client client(server.port);
        const auto ask = [&client](const char *uri) {
            client.ask(std::string("GET /hello?") + uri + " HTTP/1.1\r\nHost: a\r\n\r\n");
        };
        ask("first");
        {
            FewDescriptors none(0);
            const auto isRenamed = [&] { return access((path + ".1").c_str(), F_OK) == 0; };
            for (const MprTicks begin = mprGetTicks(); !isRenamed() && mprGetElapsedTicks(begin) < 60'000;) {
                ask("second");
                mprSleep(20);
            }
            for (int i = 0; i < 3; i++) { // it is not renamed again
                const auto before = std::filesystem::file_size(path + ".1");
                ask("third");
                for (const MprTicks begin = mprGetTicks();
                     std::filesystem::file_size(path + ".1") == before && mprGetElapsedTicks(begin) < 60'000;) {
                    mprSleep(10);
                }
            }
            CHECK_FALSE(access((path + ".2").c_str(), F_OK) == 0);
        }
        ask("fourth");
        CHECK(eventually(path + ".1", "fourth").find("first") != std::string::npos);
        ask("fifth");
        CHECK(eventually(path, "fifth").find("fourth") == std::string::npos);
    }
    SECTION("to a reader who has paused") {
        const auto kind = GENERATE(Paused::named, Paused::pipe, Paused::terminal);
        Paused reader(kind, path);
        CHECK(httpSetAccessLog(kind == Paused::named ? path.c_str() : "stdout", HTTP_LOG_JSON, 0, 0) == 0);
        server.start();
        std::string text;
        const auto until = [&](const std::function<bool()> &done) {
            for (const MprTicks begin = mprGetTicks(); !done() && mprGetElapsedTicks(begin) < 60'000;) {
                text += reader.read();
                mprSleep(10);
            }
            CHECK(done());
        };
        {
            Client client(server.port);
            for (int i = 0; i < 400; i++) { // 40 KiB of lines
                CHECK(client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n").status == 200);
            }
        }
        // What waits is written though no connection is there; then what comes is.
        until([&] { return std::count(text.begin(), text.end(), '\n') > 120; });
        until([&] { return Log::has("lines of the access log are lost"); });
        server.get("/hello?again");
        until([&] { return text.find("again") != std::string::npos && text.back() == '\n'; });
        httpSetAccessLog(nullptr, 0, 0, 0);
        for (size_t at = 0, end; at < text.size(); at = end + 1) { // no line is half one
            end = text.find('\n', at);
            const std::string line = text.substr(at, end - at);
            INFO(line);
            MprJson *json = mprParseJson(line.c_str());
            CHECK((json && mprGetJson(json, "ms")));
        }
    }
    SECTION("to a named pipe that nobody reads") {
        REQUIRE(mkfifo(path.c_str(), 0600) == 0);
        CHECK(httpSetAccessLog(path.c_str(), HTTP_LOG_JSON, 0, 0) == MPR_ERR_CANT_OPEN);
    }
    SECTION("in a file to which others write, too") {
        CHECK(httpSetAccessLog(path.c_str(), HTTP_LOG_JSON, 0, 0) == 0);
        const std::string other = "OTHER\n";
        const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
        server.start();
        Client client(server.port);
        for (int i = 0; i < 400; i++) {
            client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
            CHECK(write(fd, other.data(), other.size()) == 6);
        }
        close(fd);
        client.ask("GET /hello?last HTTP/1.1\r\nHost: a\r\n\r\n");
        const std::string text = eventually(path, "last");
        for (size_t at = text.find("OTHER"); at != std::string::npos; at = text.find("OTHER", at + 1)) {
            CHECK((at == 0 || text[at - 1] == '\n'));
        }
    }
    SECTION("where it cannot be") {
        CHECK(httpSetAccessLog((folder / "no/such").c_str(), HTTP_LOG_COMMON, 0, 0) == MPR_ERR_CANT_OPEN);
        CHECK(Log::has("cannot be opened"));
    }
}

TEST_CASE("sessions by cookie", "[http][service]") {
    Server server;
    httpDefineAction(
        "/count", +[](HttpStream *stream) {
            const int count = static_cast<int>(stoi(httpGetSessionVar(stream, "count", "0"))) + 1;
            CHECK(httpSetSessionVar(stream, "count", itos(count)) == 0);
            httpWrite(stream->writeq, "%d", count);
            httpFinalize(stream);
        });
    httpDefineAction(
        "/end", +[](HttpStream *stream) {
            httpDestroySession(stream);
            CHECK_FALSE(httpGetSessionID(stream));
            answerHello(stream);
        });
    httpDefineAction(
        "/none", +[](HttpStream *stream) {
            CHECK_FALSE(httpGetSession(stream, 0));
            CHECK(httpRemoveSessionVar(stream, "count") == MPR_ERR_CANT_FIND);
            answerHello(stream);
        });
    httpGetLimits()->sessionMax = 2;
    server.start();
    Answer first = server.get("/count");
    const std::string cookie = first["Set-Cookie"].substr(0, first["Set-Cookie"].find(';'));
    CHECK(cookie.find("-http-session-=") == 0);
    CHECK(cookie.size() == 15 + 64);
    CHECK(first["Set-Cookie"].find("HttpOnly") != std::string::npos);
    CHECK(first.body == "1");
    Answer second = server.get("/count", "Cookie: a=b; " + cookie + "\r\n");
    CHECK(second.body == "2");
    CHECK_FALSE(second.has("Set-Cookie"));
    CHECK(server.get("/count", "Cookie: -http-session-=0123\r\n").body == "1"); /* Not a name of one's choice */
    CHECK(server.get("/none").body == "hello");
    CHECK(server.get("/end", "Cookie: " + cookie + "\r\n").body == "hello");
    CHECK(server.get("/count", "Cookie: " + cookie + "\r\n").body == "1");
}

TEST_CASE("sessions that nobody uses are forgotten", "[http][service]") {
    Server server;
    httpGetLimits()->sessionTimeout = 100;
    httpDefineAction(
        "/id", +[](HttpStream *stream) {
            CHECK(httpGetSession(stream, 1));
            httpWriteString(stream->writeq, httpGetSessionID(stream));
            httpFinalize(stream);
        });
    server.start();
    const std::string id = server.get("/id").body;
    mprSleep(300);
    CHECK(server.get("/id", "Cookie: -http-session-=" + id + "\r\n").body != id);
}

TEST_CASE("the service ends with its connections, and with the runtime", "[http][service]") {
    Server server;
    httpDefineAction("/hello", answerHello);
    httpDefineAction(
        "/wait", +[](HttpStream *) {});
    server.start();
    Client idle(server.port), busy(server.port);
    CHECK(idle.ask(hello).status == 200);
    busy.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    mprSleep(50);
    SECTION("by a call") {
        mprCreateEvent(
            nullptr, "end", 0, +[](void *, MprEvent *) { httpDestroy(); }, nullptr, 0);
        CHECK(idle.isClosed());
        CHECK(busy.isClosed());
        for (int i = 0; httpGetHttp() && i < 500; ++i) { // the event goes on after it has closed them
            mprSleep(10);
        }
        CHECK_FALSE(httpGetHttp());
        httpDestroy();
    }
    SECTION("as it is") {}
}

TEST_CASE("the runtime's end tells all streams, whoever has run them", "[http][service]") {
    static std::atomic<int> opened, closed, began, done, gone, frames, wrong;
    opened = closed = began = done = gone = frames = wrong = 0;
    static std::thread::id self; // which ends the runtime
    self = std::this_thread::get_id();
    struct Count {
        Count() { ++frames; }
        ~Count() { --frames; }
        Count(const Count &) = delete;
        Count &operator=(const Count &) = delete;
    };
    Server server;
    httpSetEndpointWorkers(server.endpoint, GENERATE(0, 3));
    httpSetEndpointNotifier(server.endpoint, [](HttpStream *, int event, int) {
        done += event == HTTP_EVENT_DONE;
        gone += event == HTTP_EVENT_DESTROY;
    });
    HttpStage *stage = httpCreateHandler("told", nullptr);
    stage->open = [](HttpQueue *) { return ++opened * 0; };
    stage->close = [](HttpQueue *q) {
        closed++;
        mprYield(0);
        const bool goesOn =
            std::this_thread::get_id() == self && // there are no events any more, and no threads
            (mprWaitForEvent(nullptr, 1000, -1) >= 0 || mprServiceEvents(10, 0) > 0 ||
             httpStartEndpoint(q->stream->endpoint) >= 0 || mprStartWorker([](void *, MprWorker *) {}, nullptr) >= 0 ||
             mprStartThread(mprCreateThread("late", reinterpret_cast<void *>(+[](void *) {}), nullptr, 0)) !=
                 MPR_ERR_BAD_STATE);
        wrong += goesOn || httpWriteString(q->stream->writeq, "late") >= 0 || !mprAlloc(100);
    };
    stage->ready = [](HttpQueue *) { began++; };
    HttpRoute *route = httpDefineRoute(nullptr, "GET", "/told", nullptr, nullptr);
    REQUIRE(httpSetRouteHandler(route, "told") == 0);
    mpr::http::route("GET", "/sleeps", [](mpr::http::Stream) -> mpr::http::Task {
        const Count count;
        began++;
        co_await mpr::sleep(std::chrono::hours(1));
    });
    mpr::http::route("POST", "/reads", [](mpr::http::Stream stream) -> mpr::http::Task {
        const Count count;
        began++;
        co_await stream.read();
    });
    server.start();
    std::vector<std::unique_ptr<Client>> clients;
    for (const char *request : {"GET /told", "GET /sleeps", "POST /reads"}) {
        for (int i = 0; i < 4; i++) {
            clients.push_back(std::make_unique<Client>(server.port));
            clients.back()->send(request + std::string(" HTTP/1.1\r\nHost: a\r\nContent-Length: ") +
                                 (*request == 'G' ? "0" : "9") + "\r\n\r\n");
        }
    }
    test::eventually([] { return began == 12; });
    SECTION("with the endpoint open") {}
    SECTION("while the service ends already") {
        httpDestroy();
    }
    server.stop();
    server.runtime.end();
    CHECK(opened == 4);
    CHECK(closed == 4);
    CHECK(done == 12);
    CHECK(gone == 12);
    CHECK(frames == 0);
    CHECK(wrong == 0);
    for (auto &client : clients) {
        CHECK(client->isClosed());
    }
}

TEST_CASE("times as texts", "[http][service]") {
    Server server;
    CHECK(httpGetTicks("30") == 30'000);
    CHECK(httpGetTicks("30secs") == 30'000);
    CHECK(httpGetTicks("5 mins") == 300'000);
    CHECK(httpGetTicks("2hrs") == 7'200'000);
    CHECK(httpGetTicks("1day") == 86'400'000);
    CHECK(httpGetTicks("infinite") > 1'000'000'000);
    CHECK(httpGetTicks(nullptr) == 0);
    CHECK(httpGetTicks("250ms") == 250);
    CHECK(httpGetTicks("7 bananas") == 0);
    CHECK(httpGetTicks("bananas") == 0);
}
