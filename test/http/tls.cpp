/* SPDX-License-Identifier: MIT */
/*
    test/http/tls.cpp - An endpoint that speaks TLS: requests, large bodies either way, and clients that speak
    something else.
 */
#include "mpr/http/service.hpp"
#include "test/support/http.hpp"
#include "test/support/mutator.hpp"
#include "test/tls/pair.hpp"

#include <atomic>
#include <memory>
#include <thread>

using namespace test;

namespace {

/* A connection with TLS, read and written in blocking mode. */
class SecureClient {
public:
    SecureClient(const House &house, int port, cchar *name = "localhost")
        : sp(rooted(mprCreateSocket())), ssl(house.makeClient()) {
        REQUIRE(mprConnectSocket(sp, "127.0.0.1", port, MPR_SOCKET_BLOCK) == 0);
        REQUIRE(mprUpgradeSocket(sp, ssl, name) == 0);
    }
    ~SecureClient() {
        mprCloseSocket(sp, true);
        mprRemoveRoot(ssl);
        mprRemoveRoot(sp);
    }
    std::string ask(const std::string &request, size_t most) const {
        CHECK(mprWriteSocket(sp, request.data(), static_cast<ssize>(request.size())) ==
              static_cast<ssize>(request.size()));
        std::string answer;
        static char bytes[16384];
        ssize count = 0;
        while (answer.size() < most && (count = mprReadSocket(sp, bytes, sizeof(bytes))) > 0) {
            answer.append(bytes, static_cast<size_t>(count));
        }
        return answer;
    }

private:
    MprSocket *sp;
    MprSsl *ssl;
};
} // namespace

TEST_CASE("an endpoint speaks TLS", "[http][tls]") {
    Server server;
    House house;
    httpDefineAction(
        "/secure", +[](HttpStream *stream) {
            httpWriteString(stream->writeq, stream->secure ? "secure" : "plain");
            httpFinalize(stream);
        });
    httpDefineAction(
        "/body", +[](HttpStream *stream) {
            httpSetContentLength(stream, httpGetReadCount(stream));
            answerBody(stream);
        });
    MprSsl *ssl = house.makeServer();
    CHECK(httpSecureEndpoint(server.endpoint, ssl) == 0);
    server.start();
    {
        SecureClient client(house, server.port);
        const std::string request = "GET /secure HTTP/1.1\r\nHost: localhost\r\n\r\n";
        for (int i = 0; i < 2; i++) {
            const std::string answer = client.ask(request, 60);
            CHECK(answer.find("HTTP/1.1 200 OK\r\n") == 0);
            CHECK(answer.find("\r\n\r\nsecure") != std::string::npos);
        }
    }
    {
        SecureClient client(house, server.port);
        const std::string body(500'000, 'x');
        const std::string answer = client.ask(post("/body", body, "Connection: close\r\n"), SIZE_MAX);
        CHECK(answer.find("HTTP/1.1 200 OK\r\n") == 0);
        CHECK(answer.size() > body.size());
        CHECK((answer.substr(answer.size() - body.size()) == body));
    }
    Client plain(server.port);
    CHECK(plain.ask("GET /secure HTTP/1.1\r\nHost: a\r\n\r\n").status == 0);
    CHECK(plain.isClosed());
    server.stop();
    mprRemoveRoot(ssl);
}

namespace {
MprSsl *guarded;

MprSsl *matchGuarded(MprSocket *, cchar *host) {
    return str(host).ends_with("second.local") ? guarded : nullptr;
}
} // namespace

TEST_CASE("a host that wants certificates of clients answers on no connection of another host", "[http][tls]") {
    Server server;
    House house;
    Identity other;
    Identity::sign(other, {.name = "second", .hosts = "DNS:second.local"}, &house.root);
    const bool wants = GENERATE(true, false);
    guarded = House::makeServer(house.files.certificates("second.pem", other), house.files.key("second.key", other));
    mprVerifySslPeer(guarded, wants ? "optional" : "none");
    mprSetSslCaFile(guarded, house.ca.c_str());
    httpDefineAction("/hello", answerHello);
    MprSsl *ssl = house.makeServer();
    mprSetSslMatch(ssl, matchGuarded);
    httpSecureEndpoint(server.endpoint, ssl);
    server.start();
    const auto get = [&](const char *asked, const std::string &target, const std::string &host) {
        SecureClient client(house, server.port, asked);
        return client.ask("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n", SIZE_MAX)
            .substr(9, 3);
    };
    const std::string refused = wants ? "421" : "200";
    CHECK(get("localhost", "/hello", "localhost") == "200");
    CHECK(get("localhost", "/hello", "other.local") == "200");
    CHECK(get("localhost", "/hello", "second.local") == refused);
    CHECK(get("localhost", "/hello", "second.local:443") == refused);
    CHECK(get("localhost", "https://second.local/hello", "localhost") == refused);
    CHECK(get("127.0.0.1", "/hello", "second.local") == refused); // a client that asks for no name
    CHECK(get("localhost", "/hello", "SECOND.local") == refused);
    CHECK(get("SECOND.local", "/hello", "second.local") == "200");
    CHECK(get("second.local", "/hello", "Second.local:443") == "200");
    CHECK(get("second.local", "/hello", "localhost") == "200"); // which wants less
    server.stop();
    mprRemoveRoot(ssl);
    mprRemoveRoot(guarded);
}

TEST_CASE("a first host that wants certificates does not answer for names that nobody has", "[http][tls]") {
    Server server;
    House house;
    guarded = house.makeServer();
    mprVerifySslPeer(guarded, "require");
    mprSetSslCaFile(guarded, house.ca.c_str());
    HttpHost *host = httpCreateHost();
    REQUIRE(httpSetHostName(host, GENERATE("second.local", "*.second.local")) == 0);
    httpAddHostToEndpoint(server.endpoint, host);
    httpSetHostDefaultRoute(host, httpGetDefaultRoute(nullptr));
    httpDefineAction("/hello", answerHello);
    MprSsl *ssl = house.makeServer();
    mprSetSslMatch(ssl, matchGuarded);
    httpSecureEndpoint(server.endpoint, ssl);
    server.start();
    for (const char *name : {"Host: nobody", "Host: second.local.", "Host: [::1]:443", "X: HTTP/1.0"}) {
        SecureClient client(house, server.port);
        const bool old = strstr(name, "HTTP/1.0");
        const std::string request = "GET /hello HTTP/1." + std::string(old ? "0" : "1") + "\r\n" + name;
        CHECK(client.ask(request + "\r\nConnection: close\r\n\r\n", SIZE_MAX).substr(9, 3) == "421");
    }
    server.stop();
    mprRemoveRoot(ssl);
    mprRemoveRoot(guarded);
}

TEST_CASE("who reads to the end over TLS is told of it, not left to wait for the end of the connection",
          "[http][tls]") {
    Server server;
    House house;
    httpDefineAction("/hello", answerHello);
    MprSsl *ssl = house.makeServer();
    CHECK(httpSecureEndpoint(server.endpoint, ssl) == 0);
    server.start();
    {
        SecureClient client(house, server.port);
        const std::string first = client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 60);
        CHECK(first.find("HTTP/1.1 200 OK\r\n") == 0);
        mprStopContinuousEvent(mpr::http::shared.clock); // which ends connections that are not read to their end
        const std::string answer = client.ask("GET /hello HTTP/1.0\r\n\r\n", SIZE_MAX);
        CHECK(answer.find("\r\n\r\nhello") != std::string::npos);
        mprRestartContinuousEvent(mpr::http::shared.clock);
    }
    server.stop();
    mprRemoveRoot(ssl);
}

TEST_CASE("a handshake that takes too long is ended, whoever else comes meanwhile", "[http][tls]") {
    Server server;
    House house;
    MprSsl *ssl = house.makeServer();
    CHECK(httpSecureEndpoint(server.endpoint, ssl) == 0);
    httpGetLimits()->inactivityTimeout = 500;
    server.start();
    std::atomic<bool> ended{false};
    std::atomic<int> sent{0};
    const Client client(server.port);
    std::thread slow([&] {
        std::string piece("\x16\x03\x01\x40\x00", 5); // a record that does not end soon
        while (!ended && client.send(piece) && sent < 16'000) {
            piece = "x";
            sent++;
            test::pause(2);
        }
        ended = true;
    });
    std::unique_ptr<Client> before;
    const auto isEnded = [&] {
        auto next = std::make_unique<Client>(server.port); // is younger than the slow one
        const int seen = sent;
        test::until([&] { return ended || sent > seen + 10; });
        before = std::move(next);
        return ended.load();
    };
    eventually(isEnded);
    ended = true;
    slow.join();
    CHECK(sent < 16'000);
    before.reset();
    server.stop();
    mprRemoveRoot(ssl);
}
