/* SPDX-License-Identifier: MIT */
/*
    test/http/tls.cpp - An endpoint that speaks TLS: requests, large bodies either way, and clients that speak
    something else.
 */
#include "test/support/http.hpp"
#include "test/tls/pair.hpp"

using namespace test;

namespace {

/* A connection with TLS, read and written in blocking mode. */
class SecureClient {
public:
    SecureClient(const House &house, int port) : sp(rooted(mprCreateSocket())), ssl(house.makeClient()) {
        REQUIRE(mprConnectSocket(sp, "127.0.0.1", port, MPR_SOCKET_BLOCK) == 0);
        REQUIRE(mprUpgradeSocket(sp, ssl, "localhost") == 0);
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
