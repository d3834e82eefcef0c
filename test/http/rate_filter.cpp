/* SPDX-License-Identifier: MIT */
/*
    test/http/rate_filter.cpp - Responses that are sent at a rate: whole, and no faster.
 */
#include "test/http/site.hpp"
#include "test/support/http.hpp"

using namespace test;

namespace {

constexpr size_t length = 60'000;

std::string letters() {
    std::string text;
    for (size_t i = 0; i < length; i++) {
        text += static_cast<char>('a' + i % 26);
    }
    return text;
}

void writeLetters(HttpStream *stream) {
    const std::string text = letters();
    httpSetContentType(stream, "text/plain");
    httpWriteBlock(stream->writeq, text.data(), static_cast<ssize>(text.size()), 0);
    httpFinalize(stream);
}

HttpRoute *limited(HttpRoute *route, MprOff rate) {
    REQUIRE(route);
    httpSetRouteRate(route, rate);
    REQUIRE(httpAddRouteFilter(route, "rateFilter", nullptr, HTTP_STAGE_TX) == 0);
    return route;
}
} // namespace

TEST_CASE("a response is sent whole, and no faster than its route says", "[http][ratefilter]") {
    Site site;
    site.folder.write("a.txt", letters());
    limited(httpCreateActionRoute(nullptr, "/written", writeLetters), 200'000);
    limited(site.route, 200'000);
    for (cchar *path : {"/a.txt", "/written"}) {
        INFO(path);
        const MprTicks before = mprGetTicks();
        const Reply reply = site.get(path);
        CHECK(reply.status == 200);
        CHECK(reply.body == letters());
        CHECK(reply.header("Content-Length") == std::to_string(length));
        CHECK(mprGetTicks() - before >= 150); /* 300 less what may have been saved up */
    }
}

TEST_CASE("a rate is of a route and its heirs, and none is no limit", "[http][ratefilter]") {
    Site site;
    limited(site.route, 150'000);
    REQUIRE(httpCreateActionRoute(nullptr, "/heir", writeLetters)); /* Filters and rate are inherited */
    limited(httpCreateActionRoute(nullptr, "/free", writeLetters), 0);
    limited(httpCreateActionRoute(nullptr, "/less", writeLetters), -1);
    const MprTicks before = mprGetTicks();
    CHECK(site.get("/heir").body == letters());
    CHECK(mprGetTicks() - before >= 250);
    CHECK(site.get("/free").body == letters());
    CHECK(site.get("/less").body == letters());
}

TEST_CASE("parts, heads and compressed responses are sent at a rate, too", "[http][ratefilter]") {
    Site site;
    site.folder.write("a.txt", letters());
    limited(site.route, 1'000'000);
    CHECK(site.get("/a.txt", "Range: bytes=100-40099\r\n").body == letters().substr(100, 40'000));
    CHECK(site.request("HEAD", "/a.txt").header("Content-Length") == std::to_string(length));
    HttpRoute *route = httpCreateActionRoute(nullptr, "/written", writeLetters);
    REQUIRE(httpAddRouteFilter(route, "gzipFilter", nullptr, HTTP_STAGE_TX) == 0);
    const Reply reply = site.get("/written", "Accept-Encoding: gzip\r\n");
    CHECK(reply.status == 200);
    CHECK(reply.header("Content-Encoding") == "gzip");
}

TEST_CASE("a client that leaves a response which waits leaves nothing", "[http][ratefilter]") {
    Site site;
    site.folder.write("a.txt", letters());
    limited(site.route, 10'000); /* Six seconds, which nobody waits */
    site.leaves = true;
    site.get("/a.txt");
    HttpStats figures{};
    CHECK(serviceUntil([&figures] {
        httpGetStats(&figures);
        return figures.activeRequests == 0 && figures.activeConnections == 0;
    }));
}

namespace {

/* Nothing so large is anywhere: each byte says where it stands. */
constexpr MprOff large = 3'000'000'000; // more than a size of 32 bit can say

ssize fillDigits(HttpQueue *, HttpPacket *packet, MprOff pos, ssize size) {
    std::string bytes;
    for (ssize i = 0; i < size; ++i) {
        bytes += static_cast<char>('0' + (pos + i) % 10);
    }
    return mprPutBlockToBuf(packet->content, bytes.data(), size);
}

void sendLarge(HttpStream *stream) {
    HttpPacket *packet = httpCreateDataPacket(0);
    packet->flags |= HTTP_PACKET_SOLO;
    packet->fill = fillDigits;
    packet->esize = large;
    httpPutForService(stream->writeq, packet, true);
    httpFinalize(stream);
}
} // namespace

TEST_CASE("the length of a response is said that is larger than memory can be", "[http][ratefilter]") {
    Site site;
    limited(httpCreateActionRoute(nullptr, "/large", sendLarge), 1'000'000);
    site.leaves = true;
    const Reply reply = site.get("/large");
    CHECK(reply.status == 200);
    CHECK(reply.header("Content-Length") == "3000000000");
}

TEST_CASE("a response in chunks stays one", "[http][ratefilter]") {
    Server server;
    HttpRoute *route = httpCreateActionRoute(
        nullptr, "/chunks", +[](HttpStream *stream) {
            httpSetChunkSize(stream, 1000);
            const std::string text(length, 'x');
            httpWriteBlock(stream->writeq, text.data(), static_cast<ssize>(length), HTTP_BUFFER);
            httpFinalize(stream);
        });
    REQUIRE(httpAddRouteFilter(route, "rateFilter", nullptr, HTTP_STAGE_TX) == 0);
    httpSetRouteRate(route, length * 10);
    server.start();
    const Answer answer = server.get("/chunks");
    CHECK(answer["Transfer-Encoding"] == "chunked");
    CHECK(answer.body.size() == length);
}

TEST_CASE("the length of what has passed and waits for the connection is a part of the whole", "[http][rate_filter]") {
    Site site;
    HttpRoute *route = httpCreateActionRoute(nullptr, "/suspended", [](HttpStream *stream) {
        httpSuspendQueue(stream->outputq);
        httpWriteString(stream->writeq, "first");
        httpFlush(stream);
        httpWriteString(stream->writeq, "second");
        httpFinalize(stream);
        httpFlush(stream);
        httpResumeQueue(stream->outputq, true);
    });
    REQUIRE(httpAddRouteFilter(route, "rateFilter", nullptr, HTTP_STAGE_TX) == 0);
    httpSetRouteRate(route, 1'000'000);
    CHECK(site.get("/suspended").body == "firstsecond");
}
