/* SPDX-License-Identifier: MIT */
/*
    test/http/malformed.cpp - Requests that are none, or that two programs on the way may read differently: the status
    that they get, and that the connection is closed. Then that what is right, however odd, is answered.
 */
#include "test/support/http.hpp"

#include <atomic>
#include <cstring>
#include <string_view>

using namespace test;
using namespace std::string_literals;

namespace {

struct Case {
    std::string request;
    int status;
};

/* The rest of a request that begins as it should. */
std::string with(const std::string &headers) {
    return "GET /hello HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n";
}
std::string chunked(const std::string &body) {
    return "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
}
std::string hosted(const std::string &host) {
    return "GET /hello HTTP/1.1\r\n" + host + "\r\n";
}
std::string target(const std::string &uri, const std::string &method = "GET") {
    return method + " " + uri + " HTTP/1.1\r\nHost: a\r\n\r\n";
}
std::string line(const std::string &text) {
    return text + "\r\nHost: a\r\n\r\n";
}

const Case refused[] = {
    // The request line
    {line("GET"), 400},
    {line("GET /hello"), 400},
    {line("GET /hello "), 400},
    {line("GET  /hello HTTP/1.1"), 400},
    {line("GET /hello  HTTP/1.1"), 400},
    {line(" GET /hello HTTP/1.1"), 400},
    {line("GET\t/hello HTTP/1.1"), 400},
    {line("GET /hello\tHTTP/1.1"), 400},
    {line("GET /hello HTTP/1.1 "), 400},
    {line("GET /hello HTTP/1.1 x"), 400},
    {line("GET /hello HTTP/1.1\tx"), 400},
    {line("GET /hel lo HTTP/1.1"), 400},
    {line("GET /hello http/1.1"), 400},
    {line("GET /hello HTTPS/1.1"), 400},
    {line("GET /hello HTTP"), 400},
    {line("GET /hello HTTP/"), 400},
    {line("GET /hello HTTP/1"), 400},
    {line("GET /hello HTTP/1."), 400},
    {line("GET /hello HTTP/.1"), 400},
    {line("GET /hello HTTP/1,1"), 400},
    {line("GET /hello HTTP/1.1.1"), 400},
    {line("GET /hello HTTP/11"), 400},
    {line("GET /hello HTTP/1.10"), 400},
    {line("GET /hello HTTP/01.1"), 400},
    {line("GET /hello HTTP/1.x"), 400},
    {line("GET /hello HTTP/a.b"), 400},
    {line("GET /hello HTTP/-1.1"), 400},
    {line("GET /hello HTTP/ 1.1"), 400},
    {line("GET /hello XTTP/1.1"), 400},
    {line("GET /hello HTTP/1.9"), 505},
    {line("GET /hello HTTP/1.2"), 505},
    {line("GET /hello HTTP/2.0"), 505},
    {line("GET /hello HTTP/0.9"), 505},
    {line("GET /hello HTTP/3.0"), 505},
    {line("GET /hello HTTP/9.9"), 505},
    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 501},
    // Methods
    {target("/hello", "get"), 501},
    {target("/hello", "Get"), 501},
    {target("/hello", "FOO"), 501},
    {target("/hello", "GETT"), 501},
    {target("/hello", "GE"), 501},
    {target("/hello", "G@T"), 400},
    {target("/hello", "\x80"), 400},
    {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"s, 400},
    {"SSH-2.0-OpenSSH_9.2\r\n\r\n", 400},
    {"<policy-file-request/>\r\n\r\n", 400},
    {target("a:80", "CONNECT"), 405},
    {target("/hello", "CONNECT"), 405},
    // Targets
    {target("hello"), 400},
    {target("*"), 400},
    {target("**", "OPTIONS"), 400},
    {target("?a"), 400},
    {target("#a"), 400},
    {target("/hello#a"), 400},
    {target("/hel\\lo"), 400},
    {target("/hel\x01lo"), 400},
    {target("/hel\x7Flo"), 400},
    {target("/hel\xC3\xA4lo"), 400},
    {target("/%"), 400},
    {target("/%4"), 400},
    {target("/%zz"), 400},
    {target("/%00"), 400},
    {target("/hello%00.html"), 400},
    {target("/../etc/passwd"), 400},
    {target("/a/../../etc/passwd"), 400},
    {target("/%2e%2e/etc/passwd"), 400},
    {target("/a/%2e%2e/%2e%2e/etc"), 400},
    {target("/..%2fetc"), 400},
    {target("/a%5cb"), 400},
    {target("/%0d%0aa:b"), 400},
    {target("ftp://a/hello"), 400},
    {target("http:///hello"), 400},
    {target("http://b@a/hello"), 400},
    {target("http://a:x/hello"), 400},
    {target("http://a:99999/hello"), 400},
    {target("http:/hello"), 400},
    {target("//"), 404},
    {target("/" + std::string(2100, 'a')), 414},
    {target("/hello?" + std::string(2100, 'a')), 414},
    {"GET /" + std::string(20000, 'a'), 414},
    // Ends of lines
    {"GET /hello HTTP/1.1\nHost: a\n\n", 400},
    {"GET /hello HTTP/1.1\r\nHost: a\n\r\n", 400},
    {"GET /hello HTTP/1.1\nHost: a\r\n\r\n", 400},
    {"GET /hello HTTP/1.1\r\nHost: a\r\n\n", 400},
    {"GET /hello HTTP/1.1\rHost: a\r\r", 400},
    {"GET /hello HTTP/1.1\r\r\nHost: a\r\n\r\n", 400},
    {"GET /hello HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", 400},
    {"GET /hello HTTP/1.1\r\nHost: a\r\nX: b\r\r\n\r\n", 400},
    {"\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"\rGET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"\r\n\r\n\r\n\r\n\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"\0GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"s, 400},
    {"GET /hello HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n"s, 400},
    // Headers
    {with("X : a\r\n"), 400},
    {with("X\t: a\r\n"), 400},
    {with(" X: a\r\n"), 400},
    {with("X: a\r\n b\r\n"), 400},
    {with("X: a\r\n\tb\r\n"), 400},
    {with("X: a\r\n \r\n"), 400},
    {"GET /hello HTTP/1.1\r\n Host: a\r\n\r\n", 400},
    {with("X\r\n"), 400},
    {with(": a\r\n"), 400},
    {with("X Y: a\r\n"), 400},
    {with("X(Y): a\r\n"), 400},
    {with("X\"Y: a\r\n"), 400},
    {with("X/Y: a\r\n"), 400},
    {with("X\xC3\xA4: a\r\n"), 400},
    {with("X: a\x01\r\n"), 400},
    {with("X: a\x7F\r\n"), 400},
    {with("X: a\x1B[2J\r\n"), 400},
    {with("X: a\x0B\r\n"), 400},
    {with(std::string(20000, 'a')), 431},
    {with("X: " + std::string(20000, 'a') + "\r\n"), 431},
    {with("Expect: 200-maybe\r\n"), 417},
    // Host
    {hosted(""), 400},
    {hosted("Host:\r\n"), 400},
    {hosted("Host: \r\n"), 400},
    {hosted("Host: a\r\nHost: a\r\n"), 400},
    {hosted("Host: a\r\nHost: b\r\n"), 400},
    {hosted("Host: a\r\nhost: b\r\n"), 400},
    {hosted("Host: b@a\r\n"), 400},
    {hosted("Host: a/b\r\n"), 400},
    {hosted("Host: a,b\r\n"), 400},
    {hosted("Host: a b\r\n"), 400},
    {hosted("Host: a?b\r\n"), 400},
    {hosted("Host: a#b\r\n"), 400},
    {hosted("Host: a:b\r\n"), 400},
    {hosted("Host: a:80:80\r\n"), 400},
    {hosted("Host: a:-1\r\n"), 400},
    {hosted("Host: a:65536\r\n"), 400},
    {hosted("Host: a:999999999999\r\n"), 400},
    {hosted("Host: :80\r\n"), 400},
    {hosted("Host: [::1\r\n"), 400},
    {hosted("Host: []\r\n"), 400},
    {hosted("Host: [g]\r\n"), 400},
    {hosted("Host: [::1]x\r\n"), 400},
    {hosted("Host: http://a\r\n"), 400},
    {hosted("Host: <a>\r\n"), 400},
    {hosted("Host: a\\b\r\n"), 400},
    // Lengths and codings
    {with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400},
    {with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400},
    {with("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"), 400},
    {with("Content-Length: 5\r\nContent-Length: 6\r\n"), 400},
    {with("Content-Length: 5\r\nContent-Length: 5\r\n"), 400},
    {with("Content-Length: 5, 5\r\n"), 400},
    {with("Content-Length: 5 5\r\n"), 400},
    {with("Content-Length: +5\r\n"), 400},
    {with("Content-Length: -5\r\n"), 400},
    {with("Content-Length: 0x5\r\n"), 400},
    {with("Content-Length: 5a\r\n"), 400},
    {with("Content-Length: 5.0\r\n"), 400},
    {with("Content-Length:\r\n"), 400},
    {with("Content-Length: a\r\n"), 400},
    {with("Content-Length: 99999999999999999999\r\n"), 400},
    {with("Content-Length: 18446744073709551617\r\n"), 400},
    {with("Content-Length: 5;\r\n"), 400},
    {with("Content-Length: \"5\"\r\n"), 400},
    {with("Content_Length: 5\r\nContent-Length : 5\r\n"), 400},
    {with("Transfer-Encoding: gzip\r\n"), 501},
    {with("Transfer-Encoding: gzip, chunked\r\n"), 501},
    {with("Transfer-Encoding: chunked, gzip\r\n"), 501},
    {with("Transfer-Encoding: chunked, chunked\r\n"), 501},
    {with("Transfer-Encoding: chunked, identity\r\n"), 501},
    {with("Transfer-Encoding: identity\r\n"), 501},
    {with("Transfer-Encoding: xchunked\r\n"), 501},
    {with("Transfer-Encoding: chunkedx\r\n"), 501},
    {with("Transfer-Encoding: \"chunked\"\r\n"), 501},
    {with("Transfer-Encoding: chunked;q=1\r\n"), 501},
    {with("Transfer-Encoding:\r\n"), 501},
    {with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
    {with("Transfer-Encoding : chunked\r\n"), 400},
    {with("Transfer-Encoding:\x0B chunked\r\n"), 400},
    {"POST /body HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    // Chunks
    {chunked("x\r\n"), 400},
    {chunked("\r\n"), 400},
    {chunked(";a\r\n"), 400},
    {chunked("-1\r\n"), 400},
    {chunked("+1\r\na\r\n0\r\n\r\n"), 400},
    {chunked("0x1\r\na\r\n0\r\n\r\n"), 400},
    {chunked(" 1\r\na\r\n0\r\n\r\n"), 400},
    {chunked("1 \r\na\r\n0\r\n\r\n"), 400},
    {chunked("1\t;a\r\na\r\n0\r\n\r\n"), 400},
    {chunked("1\na\n0\n\n"), 400},
    {chunked("1\r\na\n0\r\n\r\n"), 400},
    {chunked("1\r\nab\r\n0\r\n\r\n"), 400},
    {chunked("2\r\na\r\n0\r\n\r\n"), 400},
    {chunked("1\r\na0\r\n\r\n"), 400},
    {chunked("1\r\na\r0\r\n\r\n"), 400},
    {chunked("1;a\nb\r\na\r\n0\r\n\r\n"), 400},
    {chunked("1;a\rb\r\na\r\n0\r\n\r\n"), 400},
    {chunked("1;" + std::string(300, 'a') + "\r\na\r\n0\r\n\r\n"), 400},
    {chunked("1\r\na\r\n0\r\nX: a\nY: b\r\n\r\n"), 400},
    {chunked("1\r\na\r\n0\r\n X: a\r\n\r\n"), 400},
    {chunked("1\r\na\r\n0\r\nX: a\r\n b\r\n\r\n"), 400},
    {chunked("1\r\na\r\n0\r\n" + std::string(5000, 'a') + "\r\n\r\n"), 400},
    {chunked("ffffffffffffffff\r\na"), 400},
    {chunked("10000000000000000\r\na"), 400},
    // Cut off
    {"GET", 400},
    {"GET /hello HTTP/1.1\r\nHost: a\r\n", 400},
    {"GET /hello HTTP/1.1\r\nHost: a", 400},
    {"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc", 400},
    {chunked("5\r\nab"), 400},
    {chunked("1\r\na\r\n"), 400},
    {chunked("1\r\na\r\n0\r\n"), 400},
};

const Case taken[] = {
    {with(""), 200},
    {"\r\n" + with(""), 200},
    {with("X:\r\n"), 200},
    {with("X:a\r\n"), 200},
    {with("X: \t a \t \r\n"), 200},
    {with("X: \xC3\xA4\r\n"), 200},
    {with("X: a\r\nX: b\r\n"), 200},
    {with("!#$%&'*+-.^_`|~09: a\r\n"), 200},
    {with("Content-Length: 0\r\n"), 200},
    {with("Content-Length: 000\r\n"), 200},
    {with("transfer-encoding: CHUNKED\r\n") + "0\r\n\r\n", 200},
    {hosted("Host: a:80\r\n"), 200},
    {hosted("Host: a:\r\n"), 200},
    {hosted("HOST: [::1]:8080\r\n"), 200},
    {hosted("Host: 127.0.0.1\r\n"), 200},
    {"GET /hello HTTP/1.0\r\n\r\n", 200},
    {target("http://a/hello"), 200},
    {target("HTTP://A:80/hello?a=b"), 200},
    {target("/hello?a=b&c=%zz"), 200},
    {target("/%68ello"), 200},
    {target("/a/../hello"), 200},
    {target("/./hello"), 200},
    {target("*", "OPTIONS"), 204},
    {chunked("1\r\na\r\n0\r\n\r\n"), 200},
    {chunked("1;x=y\r\na\r\n0\r\n\r\n"), 200},
    {chunked("01\r\na\r\n00\r\n\r\n"), 200},
    {chunked("A\r\n0123456789\r\n0\r\nX: y\r\n\r\n"), 200},
};

void setUp(Server &server) {
    httpDefineAction("/hello", answerHello);
    httpDefineAction("/body", answerBody);
    server.start();
}

/* Text that can be shown. */
std::string printable(const std::string &text) {
    std::string shown;
    for (char c : text.substr(0, 200)) {
        shown += c == '\r'                                ? "\\r"
                 : c == '\n'                              ? "\\n\n"
                 : isprint(static_cast<unsigned char>(c)) ? std::string(1, c)
                                                          : "?";
    }
    return shown;
}
} // namespace

TEST_CASE("a request that is none gets the right status, and its connection is closed", "[http][malformed]") {
    Server server;
    setUp(server);
    for (const Case &each : refused) {
        INFO(printable(each.request));
        Client client(server.port);
        client.send(each.request);
        client.finish();
        Answer answer = client.receive();
        CHECK(answer.status == each.status);
        CHECK(answer.whole);
        CHECK((answer["Connection"] == "close" || each.status == 404));
        CHECK(client.isClosed());
        CHECK(client.input.empty());
    }
    CHECK(std::size(refused) >= 150);
    CHECK(server.get("/hello").body == "hello");
}

TEST_CASE("of the lines of a request that is none nothing is told", "[http][malformed]") {
    Server server;
    static std::atomic<int> told, raw;
    told = raw = 0;
    httpSetEndpointNotifier(
        server.endpoint, +[](HttpStream *stream, int event, int) {
            if (event == HTTP_EVENT_ERROR) {
                told++;
                for (cchar *name : {"User-Agent", "Host", "Cookie"}) {
                    cchar *value = httpGetHeader(stream, name);
                    raw += value && strpbrk(value, "\r\n");
                }
                raw += mprGetHashLength(httpGetHeaderHash(stream)) > 0;
            }
        });
    setUp(server);
    const Answer answer =
        server.ask("GET /hello HTTP/1.1\r\nHost: a\r\nUser-Agent: u\r\nCookie: k=1\r\nno colon\r\n\r\n");
    CHECK(answer.status == 400);
    CHECK(told == 1);
    CHECK(raw == 0);
}

TEST_CASE("a request that is none gets no less for coming byte by byte", "[http][malformed]") {
    Server server;
    setUp(server);
    int number = 0;
    for (const Case &each : refused) {
        if (each.request.size() > 200 || ++number % 7 != 0) {
            continue;
        }
        INFO(printable(each.request));
        Client client(server.port);
        for (char c : each.request) {
            client.send(std::string(1, c));
        }
        client.finish();
        CHECK(client.receive().status == each.status);
    }
}

TEST_CASE("what is odd and right is answered", "[http][malformed]") {
    Server server;
    setUp(server);
    for (const Case &each : taken) {
        INFO(printable(each.request));
        CHECK(server.ask(each.request).status == each.status);
    }
}

TEST_CASE("what follows a request that is none is not answered", "[http][malformed]") {
    Server server;
    setUp(server);
    Client client(server.port);
    client.send(with("Content-Length: 5\r\nContent-Length: 6\r\n") + with("") + with(""));
    CHECK(client.receive().status == 400);
    CHECK(client.isClosed());
    CHECK(client.input.empty());
}
