// SPDX-License-Identifier: MIT
/*
    utf8.cpp - Characters to and from UTF-8.
 */
#include "mpr/base/utf8.hpp"

#include <cstring>

namespace mpr::base {

namespace {

/** As decodeUtf8: it has two callers that want it inline. */
constexpr Utf8 decode(const char* text) {
    const auto first = static_cast<unsigned char>(*text);
    if (first < 0x80) {
        return {first, 1};
    }
    const std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (length == 0) {
        return {0, 0};
    }
    char32_t code = first & (0x7fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        const auto next = static_cast<unsigned char>(text[i]);
        if ((next & 0xc0) != 0x80) {
            return {0, 0};
        }
        code = code << 6 | (next & 0x3f);
    }
    const bool shortest = code >= (length == 2 ? 0x80u : length == 3 ? 0x800u : 0x10000u);
    const bool scalar = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return shortest && scalar ? Utf8{code, length} : Utf8{0, 0};
}
} // namespace

std::size_t encodeUtf8(char32_t c, char* out) {
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

Utf8 decodeUtf8(const char* text) {
    return decode(text);
}

std::size_t characterAt(const char* at, const char* end) {
    char last[4] = {};
    if (end - at < 4) {
        at = static_cast<const char*>(std::memcpy(last, at, static_cast<std::size_t>(end - at)));
    }
    return decode(at).length;
}

} // namespace mpr::base
