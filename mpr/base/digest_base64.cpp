// SPDX-License-Identifier: MIT
/*
    digest_base64.cpp - Base64 (RFC 4648, 2006). See mpr/digest.h.

    Decoding takes what encoding writes and nothing else, so that a text has one code: who compares codes compares
    texts.
 */
#include <cstring>

#include "mpr/base/ascii.hpp"
#include "mpr/base/base64.hpp"
#include "mpr/base/digest.hpp"
#include "mpr/base/string.hpp"
#include "mpr/digest.h"
#include "mpr/log.h"
#include "mpr/string.h"

using namespace mpr::base;

namespace {

/** Of a letter. */
unsigned valueOf(char c) {
    if (isDigit(c)) {
        return static_cast<unsigned>(c - '0' + 52);
    }
    if (isLetter(c)) {
        return static_cast<unsigned>(c == lower(c) ? c - 'a' + 26 : c - 'A');
    }
    return c == '+' ? 62 : 63;
}

std::nullptr_t refuse(cchar* why, std::size_t at) {
    mprLog("digest", 2, "mprDecode64: no Base64: %s at character %lld", why, static_cast<int64>(at) + 1);
    return nullptr;
}

/** How many = follow the letters and end the text; 4 when something else does. */
std::size_t padding(cchar* at) {
    const std::size_t count = std::strspn(at, "=");
    return at[count] == '\0' ? count : 4;
}
} // namespace

namespace mpr::base {

char* encode64(const void* data, std::size_t length) {
    std::size_t size = 0;
    if (__builtin_mul_overflow(length / 3 + (length % 3 ? 1 : 0), std::size_t{4}, &size)) {
        return nullptr;
    }
    char* const out = newString(size);
    if (out) {
        writeBase64(out, static_cast<const unsigned char*>(data), length);
    }
    return out;
}

} // namespace mpr::base

char* mprEncode64(cchar* str) {
    return mprEncode64Block(str, -1);
}

char* mprEncode64Block(cchar* buf, ssize len) {
    len = len < 0 ? slen(buf) : len;
    return buf || len == 0 ? encode64(buf, static_cast<std::size_t>(len)) : nullptr;
}

char* mprDecode64(cchar* str) {
    return mprDecode64Block(str, nullptr, 0);
}

char* mprDecode64Block(cchar* buf, ssize* len, int flags) {
    buf = buf ? buf : "";
    const std::size_t count = std::strspn(buf, base64Letters);
    const std::size_t last = count % 4; // letters of a group that is not full
    const bool open = (flags & MPR_DECODE_TOKEQ) && (buf[count] == '\0' || buf[count] == '=');
    if (!open && padding(buf + count) != (4 - last) % 4) {
        return buf[count] == '\0' || buf[count] == '=' ? refuse("wrong padding", count)
                                                       : refuse("none of its letters", count);
    }
    if (last == 1) {
        return refuse("a single letter", count);
    }
    // Two letters have four bits too many, three have two.
    if (last && (valueOf(buf[count - 1]) & (last == 2 ? 15 : 3)) != 0) {
        return refuse("bits that stand for nothing", count);
    }
    const std::size_t length = count / 4 * 3 + (last ? last - 1 : 0);
    char* const out = newString(length);
    unsigned group = 0;
    std::size_t done = 0;
    for (std::size_t i = 0; out && i < count; ++i) {
        group = group << 6 | valueOf(buf[i]);
        if (i % 4 != 0) {
            out[done++] = static_cast<char>(group >> (6 - i % 4 * 2));
        }
    }
    if (out && len) {
        *len = static_cast<ssize>(length);
    }
    return out;
}
