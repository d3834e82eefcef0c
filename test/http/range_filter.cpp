// SPDX-License-Identifier: MIT
/*
    test/http/range_filter.cpp - Parts of responses: of documents in any order, of what is written in rising order.
 */
#include "test/http/site.hpp"

using namespace test;

namespace {

std::string digits(size_t size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) {
        text += static_cast<char>('0' + i % 10);
    }
    return text;
}

void writeDigits(HttpStream *stream) {
    const std::string text = digits(1000);
    stream->tx->entityLength = 1000;
    httpSetContentLength(stream, 1000);
    for (size_t at = 0; at < text.size(); at += 7) {
        httpWriteBlock(stream->writeq, text.data() + at, static_cast<ssize>(std::min<size_t>(7, text.size() - at)), 0);
    }
    httpFinalize(stream);
}

/* The bodies of the parts of a response. */
std::string joined(const Reply &reply) {
    const std::string type = reply.header("Content-Type");
    const std::string mark = "--" + type.substr(type.find("boundary=") + 9);
    std::string text;
    size_t at = reply.body.find(mark);
    while (at != std::string::npos && reply.body.compare(at + mark.size(), 2, "--") != 0) {
        const size_t begin = reply.body.find("\r\n\r\n", at) + 4;
        at = reply.body.find("\r\n" + mark, begin);
        text += reply.body.substr(begin, at - begin) + "|";
        at += 2;
    }
    return text;
}
} // namespace

TEST_CASE("a part of a response", "[http][rangefilter]") {
    Site site;
    const std::string text = digits(1000);
    site.folder.write("a.txt", text);
    HttpRoute *written = httpCreateActionRoute(nullptr, "/written", writeDigits);
    REQUIRE(written);
    for (cchar *path : {"/a.txt", "/written"}) {
        INFO(path);
        Reply reply = site.get(path, "Range: bytes=10-19\r\n");
        CHECK(reply.status == 206);
        CHECK(reply.body == "0123456789");
        CHECK(reply.header("Content-Length") == "10");
        CHECK(reply.header("Content-Range") == "bytes 10-19/1000");
        reply = site.get(path, "Range: bytes=-3\r\n");
        CHECK(reply.body == "789");
        reply = site.get(path, "Range: bytes=995-\r\n");
        CHECK(reply.body == "56789");
        reply = site.get(path, "Range: bytes=0-\r\n");
        CHECK(reply.status == 206);
        CHECK(reply.body == text);
        reply = site.get(path, "Range: bytes=1000-\r\n");
        CHECK(reply.status == 416);
        CHECK(reply.header("Content-Range") == "bytes */1000");
        CHECK(site.get(path, "Range: lines=1-2\r\n").status == 200);
        CHECK(site.get(path, "Range: bytes=0-,0-\r\n").body == text);
        CHECK(site.get(path).status == 200);
        CHECK(site.get(path, "Range: bytes=0-1\r\nIf-Range: \"other\"\r\n").status == 200);
        reply = site.get(path, "Range: bytes=0-1,100-102,998-999\r\n");
        CHECK(reply.status == 206);
        CHECK(reply.header("Content-Type").find("multipart/byteranges; boundary=") == 0);
        CHECK(reply.header("Content-Length") == std::to_string(reply.body.size()));
        CHECK(joined(reply) == "01|012|89|");
        CHECK(reply.body.find("Content-Range: bytes 100-102/1000") != std::string::npos);
        CHECK(site.request("HEAD", path, "Range: bytes=0-1\r\n").status == 200); /* RFC 9110, 14.2: GET only */
    }
    /* Documents are read where it is wanted; what is written comes as it is written. */
    CHECK(joined(site.get("/a.txt", "Range: bytes=998-999,0-1\r\n")) == "89|01|");
    CHECK(site.get("/written", "Range: bytes=998-999,0-1\r\n").body == text);
    Reply reply = site.get("/a.txt");
    CHECK(site.get("/a.txt", "Range: bytes=0-1\r\nIf-Range: " + reply.header("ETag") + "\r\n").status == 206);
    CHECK(site.get("/a.txt", "Range: bytes=0-1\r\nIf-None-Match: " + reply.header("ETag") + "\r\n").status == 304);
}

TEST_CASE("parts of a large document", "[http][rangefilter]") {
    Site site;
    const std::string text = digits(3 << 20);
    site.folder.write("a.bin", text);
    Reply reply = site.get("/a.bin", "Range: bytes=1000000-2999999\r\n");
    CHECK((reply.body == text.substr(1000000, 2000000)));
    reply = site.get("/a.bin", "Range: bytes=2000000-2999999,0-999999\r\n");
    CHECK((joined(reply) == text.substr(2000000, 1000000) + "|" + text.substr(0, 1000000) + "|"));
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

HttpPacket *largePacket(MprOff pos) {
    HttpPacket *packet = httpCreateDataPacket(0);
    packet->flags |= HTTP_PACKET_SOLO;
    packet->fill = fillDigits;
    packet->epos = pos;
    packet->esize = large;
    return packet;
}

void sendTwice(HttpStream *stream) {
    stream->tx->entityLength = 2 * large;
    httpSetContentLength(stream, 2 * large);
    httpPutForService(stream->writeq, largePacket(0), false);
    httpPutForService(stream->writeq, largePacket(large), true);
    CHECK(stream->writeq->count > 0);
    CHECK(httpGetQueueRoom(stream->writeq) == 0);
    httpFinalize(stream);
}

void sendTwiceToNobody(HttpStream *stream) {
    httpPutForService(stream->writeq, largePacket(0), false);
    httpPutForService(stream->writeq, largePacket(large), false);
    CHECK(httpGetQueueRoom(stream->writeq) == 0);
    httpDiscardQueueData(stream->writeq, true);
    CHECK(stream->writeq->count == 0);
    CHECK(httpGetQueueRoom(stream->writeq) > 0);
    httpFinalize(stream);
}
} // namespace

TEST_CASE("parts of what is larger than memory can be", "[http][rangefilter]") {
    Site site;
    REQUIRE(httpCreateActionRoute(nullptr, "/twice", sendTwice));
    REQUIRE(httpCreateActionRoute(nullptr, "/nobody", sendTwiceToNobody));
    Reply reply = site.get("/twice", "Range: bytes=5999999985-\r\n");
    CHECK(reply.status == 206);
    CHECK(reply.header("Content-Length") == "15");
    CHECK(reply.body == "567890123456789");
    reply = site.get("/twice", "Range: bytes=2999999995-3000000004\r\n");
    CHECK(reply.body == "5678901234");
    CHECK(joined(site.get("/twice", "Range: bytes=2147483646-2147483649,4294967294-4294967297\r\n")) == "6789|4567|");
    CHECK(site.get("/nobody").status == 200);
}
