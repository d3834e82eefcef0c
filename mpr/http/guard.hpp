// SPDX-License-Identifier: MIT
/*
    guard.hpp - What a parser is not given: bytes that servers and proxies read differently (request smuggling).

    RFC 9112, 2.2, 5 and 7.1, taken strictly. A line ends by CR LF, and neither stands anywhere else. No line is
    folded. A chunk's size is followed by an extension or CR LF, its data by CR LF. The parsers that the room may be
    built with differ in what of this they let through.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpr::http {

/** Looks for the end of a head. */
class HeadGuard {
public:
    enum class Found : std::uint8_t { more, end, wrong };

    void begin() { *this = HeadGuard(); }
    /**
        Look at the bytes of a head so far.
        @param length All of them; those that were looked at before are not again.
        @return end: the head has size() bytes. wrong: it can be none.
     */
    Found look(const char* head, std::size_t length);
    std::size_t size() const { return at_; }
    /** Bytes before the request line: empty lines, of which there may be some. */
    std::size_t leading() const { return leading_; }
    int lines() const { return lines_; }
    /** Whether the request line has come. */
    bool hasFirst() const { return lines_ > 0; }

private:
    std::uint32_t at_ = 0; // the line that begins here has not ended
    std::uint32_t seen_ = 0;
    std::uint32_t leading_ = 0;
    int lines_ = 0; // without the empty one at the end
};

/** Follows the framing of a body in chunks. */
class ChunkGuard {
public:
    void begin() { *this = ChunkGuard(); }
    /** @return How many bytes of these may be parsed; fewer than length only if what follows is wrong, or behind the
        body's end. */
    std::size_t look(const char* bytes, std::size_t length);
    bool isWrong() const { return state_ == State::wrong; }
    /** The body is over. */
    bool isOver() const { return state_ == State::over; }

private:
    enum class State : std::uint8_t {
        size,
        extension,
        sizeEnd,
        data,
        dataCr,
        dataLf,
        line,
        lineText,
        lineEnd,
        over,
        wrong
    };
    static constexpr int longestLine = 256; // of a size with its extension
    static constexpr int longestTrailer = 4096;

    State step(char c);
    State inSize(char c);
    State inTrailer(char c);

    std::uint64_t left_ = 0; // of the chunk's data
    int digits_ = 0;
    int lineLength_ = 0;
    int trailer_ = 0;
    State state_ = State::size;
};

} // namespace mpr::http
