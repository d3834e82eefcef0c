/* SPDX-License-Identifier: MIT */
/*
    test/http/local_socket.cpp - Endpoints that listen at a path: for curl, and for many clients that share an address.
 */
#include "test/support/folder.hpp"
#include "test/support/http.hpp"

#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <thread>
#include <vector>

using namespace test;

namespace {

/* Connect, ask, and read until the server closes. */
std::string talk(const std::string &path, const std::string &request) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    strcpy(name.sun_path, path.c_str());
    std::string reply;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    timeval patience{20, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, reinterpret_cast<sockaddr *>(&name), sizeof(name)) == 0) {
        ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
        char bytes[16384];
        for (ssize_t count; (count = TEMP_FAILURE_RETRY(recv(fd, bytes, sizeof(bytes), 0))) > 0;) {
            reply.append(bytes, static_cast<size_t>(count));
        }
    }
    ::close(fd);
    return reply;
}

/* Talk to a server on an attached thread, which yields so that no collection waits. */
std::string ask(const std::string &path, const std::string &request) {
    mprYield(MPR_YIELD_STICKY);
    std::string reply = talk(path, request);
    mprResetYield();
    return reply;
}

/* The output of a program. */
std::string output(const std::string &command) {
    std::string text;
    mprYield(MPR_YIELD_STICKY);
    if (FILE *pipe = popen(command.c_str(), "r")) {
        char bytes[4096];
        for (size_t count; (count = fread(bytes, 1, sizeof(bytes), pipe)) > 0;) {
            text.append(bytes, count);
        }
        pclose(pipe);
    }
    mprResetYield();
    return text;
}

void answerAddress(HttpStream *stream) {
    httpWrite(stream->writeq, "%s %d", stream->ip, stream->port);
    httpFinalize(stream);
}

/* A server at a port and at a path. */
struct LocalServer : Server {
    LocalServer() {
        local = httpCreateEndpoint(("unix:" + path).c_str(), 0, nullptr);
        REQUIRE(local);
        spread(local);
        httpDefineAction("/hello", answerHello);
        httpDefineAction("/address", answerAddress);
    }

    Folder folder;
    std::string path = folder / "http.sock";
    HttpEndpoint *local = nullptr;
};

const std::string last = " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
} // namespace

TEST_CASE("an endpoint at a path answers, until it stops", "[http][localsocket]") {
    LocalServer server;
    server.start();
    CHECK(ask(server.path, "GET /hello" + last).find("\r\n\r\nhello") != std::string::npos);
    CHECK(ask(server.path, "GET /address" + last).find("\r\n\r\nunix: 0") != std::string::npos);
    CHECK(httpGetEndpointPort(server.local) == 0);
    CHECK(server.get("/hello").body == "hello");
    httpStopEndpoint(server.local);
    CHECK(ask(server.path, "GET /hello" + last).empty());
    for (int i = 0; std::filesystem::exists(server.path) && i < 1000; i++) { // the thread that accepts removes it
        mprSleep(10);
    }
    CHECK_FALSE(std::filesystem::exists(server.path));
    REQUIRE(httpStartEndpoint(server.local) == 0);
    CHECK(ask(server.path, "GET /hello" + last).find("\r\n\r\nhello") != std::string::npos);
    server.stop();
    server.runtime.end();
    CHECK_FALSE(std::filesystem::exists(server.path));
}

TEST_CASE("an endpoint at a path starts while the one before is being closed", "[http][localsocket]") {
    LocalServer server;
    server.start();
    for (int i = 0; i < 500; i++) {
        httpStopEndpoint(server.local); // the file is removed by the thread of events
        REQUIRE(httpStartEndpoint(server.local) == 0);
    }
    CHECK(ask(server.path, "GET /hello" + last).find("\r\n\r\nhello") != std::string::npos);
}

TEST_CASE("curl asks an endpoint at a path", "[http][localsocket]") {
    LocalServer server;
    server.start();
    const std::string version = output("curl --version 2>/dev/null");
    const std::string got = output("curl -s --max-time 20 --unix-socket '" + server.path + "' http://any/hello");
    CHECK(got == (version.empty() ? "" : "hello")); /* Boards have none */
}

TEST_CASE("limits for one address are none for clients at a path", "[http][localsocket]") {
    LocalServer server;
    httpGetLimits()->connectionsPerClientMax = 1;
    httpGetLimits()->requestsPerClientMax = 1;
    static std::atomic<int> inside;
    inside = 0;
    httpDefineAction(
        "/meet", +[](HttpStream *stream) {
            inside++;
            httpSetTimeout(stream, 20000, 20000);
        });
    httpDefineAction("/hello", answerHello);
    server.start();
    std::vector<std::thread> clients;
    std::atomic<int> over{0};
    for (int i = 0; i < 3; i++) {
        clients.emplace_back([&server, &over] {
            talk(server.path, "GET /meet" + last);
            over++;
        });
    }
    for (int i = 0; inside < 3 && i < 2000; i++) {
        mprSleep(10);
    }
    CHECK(inside == 3);
    httpDestroy();
    while (over < 3) {
        mprSleep(10);
    }
    for (auto &each : clients) {
        each.join();
    }
}
