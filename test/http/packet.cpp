/* SPDX-License-Identifier: MIT */
/*
    test/http/packet.cpp - Packets as programs make them: with the end, or with bytes before their own, in one; such as say
    nothing of what they are; and fill procedures that have less than they are asked for.
 */
#include "test/support/http.hpp"

#include <cstring>

using namespace test;

namespace {

enum Shape { withEnd, withPrefix, withBoth };

HttpPacket *shaped(Shape shape) {
    HttpPacket *packet = shape == withPrefix ? httpCreateDataPacket(16) : httpCreateEndPacket();
    packet->content = mprCreateBuf(16, 0);
    mprPutStringToBuf(packet->content, "own");
    if (shape != withEnd) {
        packet->prefix = mprCreateBuf(16, 0);
        mprPutStringToBuf(packet->prefix, "before,");
    }
    return packet;
}

/* Sends a packet of a shape, behind what is in chunks if that is asked for. */
void sendShaped(HttpStream *stream) {
    const auto shape = static_cast<Shape>(httpGetIntParam(stream, "shape", 0));
    if (httpGetIntParam(stream, "chunks", 0)) {
        httpWriteString(stream->writeq, "first,");
        httpFlush(stream);
    }
    httpPutPacketToNext(stream->writeq, shaped(shape));
    if (shape == withPrefix) {
        httpPutPacketToNext(stream->writeq, httpCreateEndPacket());
    }
    httpFinalize(stream);
}

/* A filter of bodies that makes new packets of what it gets. */
template <int flags>
void remake(HttpQueue *q, HttpPacket *packet) {
    if (httpGetPacketContents(packet) > 0) {
        HttpPacket *made = httpCreatePacket(httpGetPacketContents(packet));
        made->flags |= flags;
        mprPutBlockToBuf(made->content, httpGetPacketStart(packet), httpGetPacketContents(packet));
        packet = made;
    }
    httpPutPacketToNext(q, packet);
}

void tellBody(HttpStream *stream) {
    const ssize length = slen(httpGetBodyInput(stream));
    httpWrite(stream->writeq, "%zd %s", length, httpGetParam(stream, "last", "none"));
    httpFinalize(stream);
}

constexpr ssize wholeFill = 5000, atATime = 700;

ssize fillSome(HttpQueue *, HttpPacket *packet, MprOff pos, ssize size) {
    const ssize count = std::min(size, atATime);
    for (ssize i = 0; i < count; i++) {
        mprPutCharToBuf(packet->content, 'a' + static_cast<int>((pos + i) % 26));
    }
    return count;
}
void sendFilled(HttpStream *stream) {
    HttpPacket *packet = httpCreateDataPacket(0);
    packet->fill = fillSome;
    packet->esize = wholeFill;
    httpPutPacketToNext(stream->writeq, packet);
    httpPutPacketToNext(stream->writeq, httpCreateEndPacket());
    httpFinalize(stream);
}
} // namespace

TEST_CASE("a packet that has several things in one is sent as several", "[http][packet]") {
    Server server;
    httpCreateActionRoute(nullptr, "/shaped", sendShaped);
    server.start();
    const bool chunks = GENERATE(false, true);
    const Shape shape = GENERATE(withEnd, withPrefix, withBoth);
    const std::string path = "/shaped?shape=" + std::to_string(shape) + "&chunks=" + std::to_string(chunks);
    Client client(server.port);
    for (int i = 0; i < 3; i++) { // what is behind the end would be taken for the next response
        const Answer answer = client.ask(get(path));
        CHECK(answer.status == 200);
        CHECK(answer.whole);
        CHECK(answer.body == std::string(chunks ? "first," : "") + (shape != withEnd ? "before," : "") + "own");
        CHECK(client.input.empty());
    }
}

TEST_CASE("what is told of a body is all of it, however its packets were made", "[http][packet]") {
    Server server;
    httpCreateFilter("plain", nullptr)->incoming = remake<0>;
    httpCreateFilter("solo", nullptr)->incoming = remake<HTTP_PACKET_SOLO | HTTP_PACKET_DATA>;
    for (cchar *filter : {"plain", "solo"}) {
        HttpRoute *route = httpCreateActionRoute(nullptr, sjoin("/", filter, nullptr), tellBody);
        REQUIRE(httpAddRouteFilter(route, filter, nullptr, HTTP_STAGE_RX) == 0);
    }
    server.start();
    const std::string body = "first=" + std::string(20000, 'x') + "&last=z";
    for (cchar *path : {"/plain", "/solo"}) {
        const Answer answer = server.ask(post(path, body, "Content-Type: application/x-www-form-urlencoded\r\n"));
        CHECK(answer.body == std::to_string(body.size()) + " z");
    }
}

TEST_CASE("a procedure that fills packets may have less at a time than it is asked for", "[http][packet]") {
    Server server;
    httpCreateActionRoute(nullptr, "/filled", sendFilled);
    server.start();
    std::string wanted;
    for (ssize i = 0; i < wholeFill; i++) {
        wanted += static_cast<char>('a' + i % 26);
    }
    const Answer answer = server.get("/filled");
    CHECK(answer.status == 200);
    CHECK(answer.whole);
    CHECK(answer.body == wanted);
}
