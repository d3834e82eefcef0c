// SPDX-License-Identifier: MIT
/*
    encode.cpp - Text made safe for HTML, shells, SQL and URIs. See mpr/encode.h.

    Each encoding says what one byte becomes; the text is walked twice, to measure and to write.
 */
#include "mpr/encode.h"

#include <cstring>
#include <string_view>

#include "mpr/base/ascii.hpp"
#include "mpr/base/string.hpp"
#include "mpr/string.h"

using namespace mpr::base;

namespace {

/** @param encode From a byte and room for its code to the code. */
template <class Encode>
char* encoded(cchar* text, Encode encode) {
    char room[3];
    std::size_t length = 0;
    text = text ? text : "";
    for (cchar* at = text; *at != '\0'; ++at) {
        if (__builtin_add_overflow(length, encode(*at, room).size(), &length)) {
            return nullptr;
        }
    }
    char* out = newString(length);
    char* to = out;
    for (cchar* at = text; out && *at != '\0'; ++at) {
        const std::string_view code = encode(*at, room);
        std::memcpy(to, code.data(), code.size());
        to += code.size();
    }
    return out;
}

bool within(cchar* set, char c) {
    return std::strchr(set, c) != nullptr;
}

bool unreserved(char c) {
    return isDigit(c) || isLetter(c) || within("-._~", c);
}

/** The byte that %XX stands for; 0 when these are no such three characters. */
char decoded(cchar* at) {
    const int high = at[0] == '%' ? digitValue(at[1]) : 36;
    const int low = high < 16 ? digitValue(at[2]) : 36;
    return low < 16 ? static_cast<char>(high * 16 + low) : '\0';
}

/** @param out May be where the text stands: what is written is no longer. @return out */
char* decode(cchar* at, char* out) {
    char* to = out;
    while (*at != '\0') {
        const char c = decoded(at);
        *to++ = c ? c : *at == '+' ? ' ' : *at;
        at += c ? 3 : 1;
    }
    *to = '\0';
    return out;
}
} // namespace

char* mprEscapeCmd(cchar* cmd, int escChar) {
    const char escape = escChar ? static_cast<char>(escChar) : '\\';
    return encoded(cmd, [escape](char c, char* room) -> std::string_view {
        const bool special = within("&;|<>()[]{}$`'\"\\*?~^#!\n", c);
        room[0] = escape;
        room[special ? 1 : 0] = c;
        return {room, special ? std::size_t{2} : std::size_t{1}};
    });
}

char* mprEscapeHtml(cchar* html) {
    return encoded(html, [](char c, char* room) -> std::string_view {
        switch (c) {
        case '&': return "&amp;";
        case '<': return "&lt;";
        case '>': return "&gt;";
        case '"': return "&quot;";
        case '\'': return "&#39;";
        default: room[0] = c; return {room, 1};
        }
    });
}

char* mprUriEncode(cchar* uri, int map) {
    cchar* kept = (map & MPR_ENCODE_URI) ? ":/?#[]@!$&'()*+,;=%" : "";
    return encoded(uri, [kept](char c, char* room) -> std::string_view {
        if (unreserved(c) || within(kept, c)) {
            room[0] = c;
            return {room, 1};
        }
        const auto byte = static_cast<uchar>(c);
        room[0] = '%';
        room[1] = "0123456789ABCDEF"[byte >> 4];
        room[2] = "0123456789ABCDEF"[byte & 15];
        return {room, 3};
    });
}

char* mprUriDecode(cchar* uri) {
    uri = uri ? uri : "";
    std::size_t length = 0;
    for (cchar* at = uri; *at != '\0'; ++length) {
        at += decoded(at) ? 3 : 1;
    }
    char* out = newString(length);
    return out ? decode(uri, out) : nullptr;
}

char* mprUriDecodeInSitu(char* uri) {
    return uri ? decode(uri, uri) : nullptr;
}

char* mprEscapeSQL(cchar* cmd) {
    return encoded(cmd, [](char c, char* room) -> std::string_view {
        room[0] = room[1] = c;
        return {room, c == '\'' ? std::size_t{2} : std::size_t{1}};
    });
}
