/* SPDX-License-Identifier: MIT */
/*
    message.h - One HTTP request while it arrives, one response while it leaves: managed blocks of one exchange.

    A request collects what http-parser hands over piece by piece: target and header fields in one growing block, the
    body in another. A response owns its head and refers to its body, and carries the write request of libuv: it must
    stay reachable from its connection until libuv has called back.
 */
#pragma once

#include "mpr.hpp"
#include "text.h"

#include <array>
#include <cstdint>
#include <http_parser.h>
#include <string_view>
#include <uv.h>

namespace service {

enum class Took { yes, tooLong, noMemory };

class Request {
public:
    static constexpr std::size_t longestTarget = 2048;
    static constexpr std::size_t longestHead = 8192; // Target, names and values together
    static constexpr std::size_t mostFields = 48;
    static constexpr std::size_t largestBody = 1024 * 1024;

    void trace(mpr::Marker& m) { m(head_, body_); }

    Took addTarget(std::string_view piece);
    Took addName(std::string_view piece);
    Took addValue(std::string_view piece);
    /** Make room for a body announced by Content-Length. Large ones grow as they come: an announcement costs nothing. */
    Took expectBody(std::uint64_t length);
    Took addBody(std::string_view piece);

    std::string_view target() const { return text(0, targetLength_); }
    /** A header field, by its name in lower case. Several of one name: the first. */
    std::string_view field(std::string_view lowerName) const;
    bool hasField(std::string_view lowerName) const { return field(lowerName).data() != nullptr; }
    std::string_view body() const { return {body_.get(), bodyLength_}; }
    /** The block that holds the body, for who wants to keep it; NULL when the body is empty. */
    char* takeBody();

    http_method method = HTTP_GET;
    bool keepAlive = false;
    bool complete = false; // All of it has arrived

private:
    struct Field {
        std::uint16_t name, nameLength, value, valueLength; // In the head
    };

    std::string_view text(std::size_t at, std::size_t length) const { return {head_.get() + at, length}; }
    Took addHead(std::string_view piece);

    mpr::Member<char> head_, body_;
    std::size_t headUsed_ = 0, headRoom_ = 0;
    std::size_t bodyLength_ = 0, bodyRoom_ = 0, bodyExpected_ = 0;
    std::size_t targetLength_ = 0;
    std::size_t fieldCount_ = 0;
    bool inName_ = false; // The last piece belonged to a name
    std::array<Field, mostFields> fields_;
};

/**
    What a route answers, on the stack. The body is static text, or lies in a managed block named by owner: between
    here and the response that keeps it, nothing yields.
 */
struct Answer {
    int status = 200;
    const char* type = "text/plain; charset=utf-8";
    std::string_view body;
    char* owner = nullptr;
    FixedText<256> fields; // Further header lines, each ended by CR LF

    static Answer of(int status, std::string_view staticBody) {
        Answer answer;
        answer.status = status;
        answer.body = staticBody;
        return answer;
    }
    static Answer noMemory() { return of(503, {}); }
};

class Response {
public:
    void trace(mpr::Marker& m) { m(next, head_, body_); }

    /** @return NULL when there is no memory. */
    static Response* make(const Answer& answer, std::string_view date, bool keepAlive, bool headOnly);
    /** The interim answer to `Expect: 100-continue`. @return NULL when there is no memory. */
    static Response* makeContinue();

    std::size_t bytes() const { return buffers[0].len + buffers[1].len; }

    mpr::Member<Response> next; // Behind this one on the same connection
    uv_write_t write;
    std::array<uv_buf_t, 2> buffers; // What libuv reads: raw, but head_ and body_ keep it
    unsigned bufferCount = 0;

private:
    void point(std::string_view head, std::string_view body);

    mpr::Member<char> head_, body_;
};

} // namespace service
