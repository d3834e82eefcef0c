// SPDX-License-Identifier: MIT
/*
    base64.hpp - The letters of Base64 (RFC 4648, 2006), and bytes written in them, wherever the text stands.
 */
#pragma once

#include <cstddef>

namespace mpr::base {

inline constexpr char base64Letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Write bytes as Base64, four letters for each three or fewer. @return Behind the last letter; no zero follows it. */
inline char* writeBase64(char* to, const unsigned char* from, std::size_t length) {
    for (; length > 0; to += 4) {
        const std::size_t count = length < 3 ? length : 3;
        const unsigned group =
            from[0] * 65536u + (count > 1 ? from[1] * 256u : 0u) + (count > 2 ? unsigned{from[2]} : 0u);
        for (unsigned i = 0; i < 4; ++i) {
            to[i] = i <= count ? base64Letters[group >> (18 - 6 * i) & 63] : '=';
        }
        from += count;
        length -= count;
    }
    return to;
}

} // namespace mpr::base
