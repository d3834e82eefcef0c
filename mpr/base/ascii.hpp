// SPDX-License-Identifier: MIT
/*
    ascii.hpp - Kinds of characters, whatever the locale: bytes above 127 are never letters or blanks.
 */
#pragma once

#include <algorithm>
#include <string_view>

namespace mpr::base {

constexpr bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

constexpr bool isBlank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

constexpr char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

constexpr char upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
}

constexpr bool isLetter(char c) {
    return lower(c) >= 'a' && lower(c) <= 'z';
}

/** The value of a digit in any radix, 36 when it is none. */
constexpr int digitValue(char c) {
    return isDigit(c) ? c - '0' : isLetter(c) ? lower(c) - 'a' + 10 : 36;
}

/** Whether texts are equal if the case of letters is ignored. */
inline bool same(std::string_view one, std::string_view other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
}

} // namespace mpr::base
