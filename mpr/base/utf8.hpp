/*
    utf8.hpp - UTF-8, RFC 3629 (2003).
 */
#pragma once

#include <cstddef>

namespace mpr::base {

/** Write a character; what is no Unicode scalar value is written as U+FFFD. @return Bytes written, 1 to 4. */
constexpr std::size_t encodeUtf8(char32_t c, char (&out)[4]) {
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        c = 0xfffd;
    }
    const auto tail = [c](unsigned shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3f)); };
    if (c < 0x80) {
        out[0] = static_cast<char>(c);
        return 1;
    }
    if (c < 0x800) {
        out[0] = static_cast<char>(0xc0 | (c >> 6));
        out[1] = tail(0);
        return 2;
    }
    if (c < 0x10000) {
        out[0] = static_cast<char>(0xe0 | (c >> 12));
        out[1] = tail(6);
        out[2] = tail(0);
        return 3;
    }
    out[0] = static_cast<char>(0xf0 | (c >> 18));
    out[1] = tail(12);
    out[2] = tail(6);
    out[3] = tail(0);
    return 4;
}

} // namespace mpr::base
