// SPDX-License-Identifier: MIT
/*
    test/http/gzip_filter.cpp - Compressed responses: which are, what is said of them, and that they come back.
 */
#include "test/http/site.hpp"

#include <atomic>
#include <zlib.h>

using namespace test;

namespace {

std::string lines(size_t size) {
    std::string text;
    while (text.size() < size) {
        text += "line " + std::to_string(text.size()) + "\n";
    }
    text.resize(size);
    return text;
}

std::string inflated(const std::string &data, int bits) {
    z_stream zlib = {};
    REQUIRE(inflateInit2(&zlib, bits) == Z_OK);
    std::string out(8 << 20, '\0');
    zlib.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
    zlib.avail_in = static_cast<uInt>(data.size());
    zlib.next_out = reinterpret_cast<Bytef *>(out.data());
    zlib.avail_out = static_cast<uInt>(out.size());
    const int code = inflate(&zlib, Z_FINISH);
    CHECK(code == Z_STREAM_END);
    CHECK(zlib.avail_in == 0);
    out.resize(zlib.total_out);
    inflateEnd(&zlib);
    return out;
}

constexpr int gzip = 15 + 16, deflated = 15;
constexpr cchar *accepts = "Accept-Encoding: gzip, deflate\r\n";

void writeLines(HttpStream *stream) {
    const int size = httpGetIntParam(stream, "size", 0), piece = httpGetIntParam(stream, "piece", 1000);
    const std::string text = lines(static_cast<size_t>(size));
    httpSetContentType(stream, httpGetParam(stream, "type", "text/plain"));
    httpSetHeaderString(stream, "ETag", "\"tag\"");
    for (int at = 0; at < size; at += piece) {
        httpWriteBlock(stream->writeq, text.data() + at, std::min(piece, size - at), 0);
        if (httpTestParam(stream, "flush")) {
            httpFlush(stream);
        }
    }
    httpFinalize(stream);
}

class Compressing : public Site {
public:
    Compressing() {
        httpAddRouteFilter(route, "gzipFilter", nullptr, HTTP_STAGE_TX);
        REQUIRE(httpCreateActionRoute(nullptr, "/lines", writeLines));
    }
};
} // namespace

TEST_CASE("a response is compressed", "[http][gzipfilter]") {
    Compressing site;
    Reply reply = site.get("/lines?size=100000", accepts);
    CHECK(reply.status == 200);
    CHECK(reply.header("Content-Encoding") == "gzip");
    CHECK(reply.header("Vary") == "Accept-Encoding");
    CHECK(reply.header("ETag") == "W/\"tag\"");
    CHECK(reply.body.size() < 50000);
    CHECK((inflated(reply.body, gzip) == lines(100000)));
    reply = site.get("/lines?size=100000", "Accept-Encoding: gzip;q=0.1, deflate\r\n");
    CHECK(reply.header("Content-Encoding") == "deflate");
    CHECK((inflated(reply.body, deflated) == lines(100000)));
    reply = site.get("/lines?size=3000&flush=1&piece=100", accepts);
    CHECK((inflated(reply.body, gzip) == lines(3000)));
    reply = site.get("/lines?size=4000000&piece=100000", accepts);
    CHECK((inflated(reply.body, gzip) == lines(4000000)));
    /* A response that is there as a whole has a length, if the compressor is done with it at once. */
    reply = site.request("HEAD", "/lines?size=100000", accepts);
    CHECK(reply.header("Content-Length").empty());
}

TEST_CASE("a document is compressed", "[http][gzipfilter]") {
    Compressing site;
    const std::string text = lines(300000);
    site.folder.write("a.txt", text);
    site.folder.write("a.png", text);
    Reply reply = site.get("/a.txt", accepts);
    CHECK(reply.header("Content-Encoding") == "gzip");
    CHECK(reply.header("Accept-Ranges").empty());
    CHECK((inflated(reply.body, gzip) == text));
    /* The weak tag is good for a cache. */
    const std::string etag = reply.header("ETag");
    CHECK(etag.compare(0, 3, "W/\"") == 0);
    CHECK(site.get("/a.txt", std::string(accepts) + "If-None-Match: " + etag + "\r\n").status == 304);
    reply = site.get("/a.txt");
    CHECK((reply.body == text));
    CHECK("W/" + reply.header("ETag") == etag);
    CHECK(reply.header("Vary") == "Accept-Encoding");
    CHECK(site.get("/a.png", accepts).header("Content-Encoding").empty());
    reply = site.request("HEAD", "/a.txt", accepts);
    CHECK(reply.header("Content-Encoding") == "gzip");
    CHECK(reply.header("Content-Length").empty());
    reply = site.get("/a.txt", std::string(accepts) + "Range: bytes=0-9999\r\n");
    CHECK(reply.status == 206);
    CHECK(reply.header("Content-Encoding").empty());
    CHECK((reply.body == text.substr(0, 10000)));
}

TEST_CASE("what has not changed, and a part, vary with what is accepted as the whole does", "[http][gzipfilter]") {
    Compressing site;
    site.folder.write("lines.txt", lines(20000));
    const std::string tag = site.get("/lines.txt", accepts).header("ETag");
    CHECK(tag.compare(0, 3, "W/\"") == 0);
    const Reply same = site.get("/lines.txt", std::string(accepts) + "If-None-Match: " + tag + "\r\n");
    CHECK(same.status == 304);
    CHECK(same.header("Vary") == "Accept-Encoding");
    CHECK(same.header("ETag") == tag);
    site.folder.write("short.txt", "short");
    const Reply small = site.get("/short.txt", accepts);
    CHECK(small.header("Vary").empty());
    const std::string strong = small.header("ETag");
    const Reply unchanged = site.get("/short.txt", std::string(accepts) + "If-None-Match: " + strong + "\r\n");
    CHECK(unchanged.status == 304);
    CHECK(unchanged.header("ETag") == strong);
    CHECK(unchanged.header("Vary").empty());
    const Reply part = site.get("/lines.txt", std::string(accepts) + "Range: bytes=0-99\r\n");
    CHECK(part.status == 206);
    CHECK(part.header("Vary") == "Accept-Encoding");
    CHECK((part.body == lines(100)));
}

TEST_CASE("a response that is not worth it, or not accepted, is sent as it is", "[http][gzipfilter]") {
    Compressing site;
    CHECK(site.get("/lines?size=100", accepts).header("Content-Encoding").empty());
    CHECK(site.get("/lines?size=100", accepts).header("Vary").empty());
    CHECK(site.get("/lines?size=100000&type=image/png", accepts).header("Content-Encoding").empty());
    Reply reply = site.get("/lines?size=100000");
    CHECK(reply.header("Content-Encoding").empty());
    CHECK(reply.header("Vary") == "Accept-Encoding");
    CHECK(reply.header("ETag") == "\"tag\"");
    CHECK((reply.body == lines(100000)));
    CHECK(site.get("/lines?size=100000", "Accept-Encoding: gzip;q=0\r\n").header("Content-Encoding").empty());
    CHECK(site.get("/nothing", accepts).status == 404);
    CHECK(site.get("/nothing", accepts).header("Content-Encoding").empty());
}

TEST_CASE("a large response is compressed in many events", "[http][gzipfilter]") {
    Compressing site;
    const std::string text = lines(4 << 20);
    site.folder.write("a.txt", text);
    static std::atomic<int64> before, after;
    before = after = 0;
    httpSetEndpointNotifier(
        site.endpoint, +[](HttpStream *stream, int event, int arg) {
            if (event == HTTP_EVENT_STATE && arg == HTTP_STATE_PARSED) {
                before = mprGetEventMark(stream->dispatcher);
            } else if (event == HTTP_EVENT_DONE) {
                after = mprGetEventMark(stream->dispatcher);
            }
        });
    const Reply reply = site.get("/a.txt", accepts);
    CHECK((inflated(reply.body, gzip) == text));
    CHECK(after - before >= 4 * 1024 / 128);
}

TEST_CASE("one connection uses a compressor again", "[http][gzipfilter]") {
    Compressing site;
    site.get("/lines?size=100000", accepts);
    collect();
    const uint64 before = stats().bytesLive;
    std::string requests;
    for (int i = 0; i < 20; ++i) {
        requests += std::string("GET /lines?size=20000 HTTP/1.1\r\nHost: localhost\r\n") + accepts +
                    (i == 19 ? "Connection: close\r\n\r\n" : "\r\n");
    }
    const std::string replies = site.exchange(requests);
    int count = 0;
    for (size_t at = 0; (at = replies.find("Content-Encoding: gzip", at)) != std::string::npos; ++at) {
        ++count;
    }
    CHECK(count == 20);
    collect();
    CHECK(stats().bytesLive < before + 300000);
}

TEST_CASE("a response is not compressed where its connection may not take the memory", "[http][gzip]") {
    Compressing site;
    httpGetLimits()->connectionMemory = GENERATE(500'000, 200'000);
    const Reply reply = site.get("/lines?size=5000", accepts);
    CHECK(reply.status == 200);
    CHECK(reply.header("Content-Encoding") == (httpGetLimits()->connectionMemory < 270'000 ? "" : "gzip"));
    if (reply.header("Content-Encoding").empty()) {
        CHECK(reply.body == lines(5000));
    }
}
