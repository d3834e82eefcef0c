// SPDX-License-Identifier: MIT
/*
    parser.hpp - The parser: http-parser or llhttp, whichever the build has found. parser.cpp alone knows which.

    A head is parsed in one piece, so that names and values are slices of it.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpr::http {

struct Rx;

/**
    Parse a head that HeadGuard has let through: its bytes are those of rx.head. Sets method, uri, version, lines,
    length, chunked and keepsAlive; terminates names and values.
    @param why Receives what is wrong. @return 0, or the status with which it is refused.
 */
int parseHead(Rx& rx, int mostLines, const char*& why);

/** Takes bodies in chunks apart. */
class ChunkParser {
public:
    /** What is called with each piece of the body. */
    using Sink = void (*)(void* data, const char* bytes, std::size_t length);

    void begin();
    /** @return false: this is no such body. */
    bool parse(const char* bytes, std::size_t length, Sink sink, void* data);
    bool isOver() const { return over_; }

private:
    struct Calls;

    alignas(8) unsigned char state_[128];
    Sink sink_;
    void* data_;
    bool over_;
};

} // namespace mpr::http
