// SPDX-License-Identifier: MIT
/*
    guard.cpp - See guard.hpp.
 */
#include "mpr/http/guard.hpp"

#include <algorithm>
#include <cstring>

namespace mpr::http {

namespace {

constexpr std::uint32_t mostLeading = 8; // bytes: four empty lines, of clients that end a body by one too many

int hexDigit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/** A control character that no line has: all but a tab. */
bool isControl(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < ' ' && byte != '\t') || byte == 0x7F;
}

bool hasControl(const char* bytes, std::size_t length) {
    return std::any_of(bytes, bytes + length, isControl);
}

constexpr std::uint64_t each = 0x0101010101010101;

/** Whether some byte of eight may be a control character: less than a blank, or 0x7F. A tab is, too. */
bool mayHaveControl(const char* bytes) {
    constexpr std::uint64_t top = each * 0x80;
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    const std::uint64_t differs = word ^ (each * 0x7F);
    const std::uint64_t less = (word - each * ' ') & ~word;
    const std::uint64_t same = (differs - each) & ~differs;
    return ((less | same) & top) != 0;
}

/** Whether a line, without its end, has nothing in it that lines must not have. */
bool isClean(const char* line, std::size_t length) {
    constexpr std::size_t step = sizeof(std::uint64_t);
    for (; length >= step; line += step, length -= step) {
        if (mayHaveControl(line) && hasControl(line, step)) {
            return false;
        }
    }
    std::uint64_t rest = each * ' ';
    std::memcpy(&rest, line, length);
    return !mayHaveControl(reinterpret_cast<const char*>(&rest)) || !hasControl(line, length);
}
} // namespace

HeadGuard::Found HeadGuard::look(const char* head, std::size_t length) {
    for (;;) {
        const char* begin = head + at_;
        const char* from = head + (seen_ > at_ ? seen_ : at_);
        const auto* end =
            static_cast<const char*>(std::memchr(from, '\n', length - static_cast<std::size_t>(from - head)));
        if (!end) {
            // A line is examined when it has ended. But a lone CR may be all that ever arrives.
            seen_ = static_cast<std::uint32_t>(length);
            const std::size_t known = length - at_;
            const bool cr = known > 0 && head[length - 1] == '\r';
            return isClean(begin, known - (cr ? 1 : 0)) ? Found::more : Found::wrong;
        }
        const auto size = static_cast<std::size_t>(end - begin);
        if (size == 0 || begin[size - 1] != '\r' || !isClean(begin, size - 1)) {
            return Found::wrong;
        }
        at_ = seen_ = static_cast<std::uint32_t>(end - head) + 1;
        if (size == 1) {
            if (lines_ > 0) {
                return Found::end;
            }
            leading_ += 2;
            if (leading_ > mostLeading) {
                return Found::wrong;
            }
            continue;
        }
        if (*begin == ' ' || *begin == '\t') {
            return Found::wrong;
        }
        ++lines_;
    }
}

ChunkGuard::State ChunkGuard::inSize(char c) {
    const int digit = hexDigit(c);
    if (digit >= 0 && state_ == State::size) {
        left_ = left_ << 4 | static_cast<unsigned>(digit);
        return ++digits_ > 15 ? State::wrong : State::size;
    }
    if (digits_ == 0) {
        return State::wrong;
    }
    if (c == '\r') {
        return State::sizeEnd;
    }
    // No blank before ';': RFC 9112 calls it bad, and parsers disagree.
    return (c == ';' || state_ == State::extension) && !isControl(c) ? State::extension : State::wrong;
}

ChunkGuard::State ChunkGuard::inTrailer(char c) {
    if (++trailer_ > longestTrailer) {
        return State::wrong;
    }
    if (c == '\r') {
        return State::lineEnd;
    }
    const bool begins = state_ == State::line;
    return isControl(c) || (begins && (c == ' ' || c == '\t')) ? State::wrong : State::lineText;
}

ChunkGuard::State ChunkGuard::step(char c) {
    switch (state_) {
    case State::size:
    case State::extension: return ++lineLength_ > longestLine ? State::wrong : inSize(c);
    case State::sizeEnd:
        lineLength_ = digits_ = 0;
        return c != '\n' ? State::wrong : left_ > 0 ? State::data : State::line;
    case State::dataCr: return c == '\r' ? State::dataLf : State::wrong;
    case State::dataLf: return c == '\n' ? State::size : State::wrong;
    case State::line: lineLength_ = 0; [[fallthrough]];
    case State::lineText: ++lineLength_; return inTrailer(c);
    case State::lineEnd: return c != '\n' ? State::wrong : lineLength_ == 1 ? State::over : State::line;
    default: return state_;
    }
}

std::size_t ChunkGuard::look(const char* bytes, std::size_t length) {
    std::size_t at = 0;
    while (at < length && state_ != State::over && state_ != State::wrong) {
        if (state_ == State::data) {
            const std::size_t piece = length - at < left_ ? length - at : static_cast<std::size_t>(left_);
            at += piece;
            left_ -= piece;
            state_ = left_ > 0 ? State::data : State::dataCr;
            continue;
        }
        state_ = step(bytes[at]);
        at += state_ == State::wrong ? 0 : 1;
    }
    return at;
}

} // namespace mpr::http
