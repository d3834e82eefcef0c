// SPDX-License-Identifier: MIT
/*
    ascii.hpp - Kinds of characters, whatever the locale: bytes above 127 are never letters or blanks.
 */
#pragma once

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

/** The value of a digit in any radix, 36 when it is none. */
constexpr int digitValue(char c) {
    return isDigit(c) ? c - '0' : lower(c) >= 'a' && lower(c) <= 'z' ? lower(c) - 'a' + 10 : 36;
}

} // namespace mpr::base
