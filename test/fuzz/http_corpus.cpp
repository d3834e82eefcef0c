// SPDX-License-Identifier: MIT
/*
    test/fuzz/http_corpus.cpp - For a server: requests, and what makes others of them; behind them what libFuzzer has
    found, beginning with these and with the requests of test/http/malformed.cpp: as few texts as reach all it has reached
    (-merge=1 -set_cover_merge=1 -use_counters=0).
 */
#include "test/fuzz/corpus.hpp"

using namespace std::string_literals;

namespace {

std::string get(const std::string &path, const std::string &headers = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n";
}
std::string post(const std::string &path, const std::string &headers, const std::string &body) {
    return "POST " + path + " HTTP/1.1\r\nHost: a\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}
std::string chunked(const std::string &path, const std::string &body) {
    return "POST " + path + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
}
} // namespace

std::vector<std::string> fuzzTexts() {
    const std::string form = "Content-Type: multipart/form-data; boundary=B\r\n";
    const std::string part = "--B\r\nContent-Disposition: form-data; name=\"a\"";
    const std::string parts =
        part + "\r\n\r\n1\r\n" + part + "; filename=\"x.txt\"\r\nContent-Type: text/plain\r\n\r\nfile\r\n--B--\r\n";
    const std::string settle = "\xFF\x04", once = "\xFF\x08", finish = "\xFF\x0C", leave = "\xFF\x10",
                      read = "\xFF\x14", wake = "\xFF\x18", collect = "\xFF\x1C", second = "\xFF\x05",
                      many = "\xFF\xE0";
    return {
        get("/hello") + get("/hello") + get("/nothing"),
        "HEAD /b.txt HTTP/1.1\r\nHost: a\r\n\r\n" + get("/b.txt", "Connection: close\r\n"),
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\nOPTIONS /a.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /hello HTTP/1.0\r\n\r\n",
        "GET /pieces?has=500&chunk=0 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        get("/sub") + get("/sub/") + get("/") + get("/empty.txt"),
        get("/old/x?y") + get("/%2e%2e/x") + get("/.hidden") + get("//a.txt"),
        get("/gz/b.txt", "Accept-Encoding: gzip\r\n") + get("/gz/c.bin", "Accept-Encoding: deflate, *;q=0\r\n"),
        "HEAD /gz/b.txt HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n",
        get("/rate/c.bin") + settle + read + settle + get("/rate/a.txt"),
        get("/b.txt", "Range: bytes=0-9\r\n") + get("/b.txt", "Range: bytes=0-9,20-29,-5\r\n") +
            get("/b.txt", "Range: bytes=9999-\r\n") + get("/b.txt", "Range: bytes=-1\r\nIf-Range: \"x\"\r\n"),
        get("/gz/b.txt", "Range: bytes=10-4000\r\nAccept-Encoding: gzip\r\n") +
            get("/zstream?n=9000", "Range: bytes=10-20\r\nAccept-Encoding: gzip\r\n"),
        get("/stream?n=9000", "Range: bytes=10-20,400-8000\r\n"),
        get("/a.txt", "If-None-Match: *\r\n") + get("/a.txt", "If-Modified-Since: Sun, 06 Nov 2094 08:49:37 GMT\r\n") +
            get("/a.txt", "If-Match: \"x\"\r\n") +
            get("/a.txt", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
        post("/body", "", "0123456789") + post("/read", "", std::string(300, 'r')),
        post("/body", "Expect: 100-continue\r\n", "") +
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
            "Expect: 100-continue\r\n\r\n" +
            settle + "01234",
        chunked("/body", "5\r\n01234\r\n1;a=b\r\n5\r\n0\r\nX: y\r\n\r\n") + get("/hello"),
        chunked("/slow", "3\r\nabc\r\n") + settle + "3\r\nabc\r\n" + many + settle + "0\r\n\r\n",
        post("/form", "Content-Type: application/x-www-form-urlencoded\r\n", "a=1&b=%20&a=2"),
        post("/form", form, parts),
        chunked("/form", "") + settle,
        "POST /form HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" + form + "\r\n7\r\n" + parts.substr(0, 7) +
            "\r\n" + once + "1\r\n" + parts.substr(7, 1) + "\r\n0\r\n\r\n",
        post("/form", "Content-Type: application/json\r\n", "{\"a\":[1,2]}"),
        get("/session?v=1") + get("/session?v=2", "Cookie: -http-session-=abc; x=\"y\"\r\n") + get("/session?end=1"),
        get("/headers?name=X-A&value=b&path=/&type=a/b&status=201"),
        get("/headers?name=X-Evil%0d%0a&value=b%0d%0aX-Evil:%201&path=%0d%0a&type=a%0d%0aX-Evil:%201"),
        get("/redirect?to=/a%0d%0aX-Evil:%201&status=303") + get("/redirect?to=http://b/c"),
        get("/error?status=404&text=<b>") + get("/error?status=503&flags=2") + get("/hello"),
        get("/error?status=500&flush=1") + get("/hello"),
        get("/lengths?says=5&has=5") + get("/lengths?says=5&has=6"),
        get("/lengths?says=6&has=5"),
        get("/lengths?says=6&has=6&chunk=3"),
        get("/pieces?has=1000&chunk=7") + get("/pieces?has=0&chunk=7") + get("/pieces?has=5&omit=1"),
        get("/leave"),
        get("/suspend") + settle + get("/hello") + second + get("/suspend") + leave + wake + settle,
        get("/suspend") + settle + finish + settle + collect + wake,
        get("/stream?n=20000") + settle + read + settle + second + get("/stream?n=50000") + settle + leave,
        get("/stream?n=9000&pause=0") + settle + read + wake + settle,
        get("/stream?n=9000&pause=1") + settle + read + wake + settle,
        post("/stream?n=9000&pause=2", "", std::string(5000, 'x')) + settle + read,
        post("/stream?n=9000&pause=3", "", std::string(5000, 'x')) + settle + read,
        get("/zstream?n=50000", "Accept-Encoding: gzip\r\n") + settle + read + settle + get("/hello"),
        get("/rstream?n=9000") + settle + finish,
        get("/hello") + many,
        "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(60, 'x') + many,
        "\r\nGET http://a:80/hello HTTP/1.1\r\nHost: a\r\n\r\n",
        "PUT /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcDELETE /a.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
#include "test/fuzz/http_found.inc"
    };
}

std::vector<std::string> fuzzPieces() {
    return {"\r\n",
            "\r\n\r\n",
            "\r",
            "\n",
            " ",
            ":",
            "GET ",
            "HEAD ",
            "POST ",
            "OPTIONS ",
            " HTTP/1.1\r\n",
            " HTTP/1.0\r\n",
            "Host: a\r\n",
            "Content-Length: 5\r\n",
            "Content-Length: 20001\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Expect: 100-continue\r\n",
            "Connection: close\r\n",
            "Connection: keep-alive\r\n",
            "Accept-Encoding: gzip\r\n",
            "Range: bytes=1-2,4-5\r\n",
            "If-None-Match: *\r\n",
            "0\r\n\r\n",
            "5\r\n01234\r\n",
            "FFFFFFFFFFFFFFFF\r\n",
            "/hello",
            "/body",
            "/form",
            "/stream?n=5000",
            "/zstream?n=5000",
            "/rstream?n=5000",
            "/suspend",
            "/slow",
            "/gz/c.bin",
            "/rate/c.bin",
            "%00",
            "/..",
            "--B\r\n",
            "\r\n--B--\r\n",
            "\xFF\x04",
            "\xFF\x05",
            "\xFF\x08",
            "\xFF\x0C",
            "\xFF\x10",
            "\xFF\x14",
            "\xFF\x18",
            "\xFF\x1C",
            "\xFF\x60",
            "\xFF\xE0"};
}
