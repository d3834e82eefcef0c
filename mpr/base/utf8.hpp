// SPDX-License-Identifier: MIT
/*
    utf8.hpp - UTF-8, RFC 3629 (2003).
 */
#pragma once

#include <cstddef>

namespace mpr::base {

/** Write a character; what is no Unicode scalar value is written as U+FFFD. @return Bytes written, 1 to 4. */
std::size_t encodeUtf8(char32_t c, char* out);

/** A character, and the bytes that it takes; without any it is none. */
struct Utf8 {
    char32_t code;
    std::size_t length;
};

/** Read the character at the start of text that a zero ends: what is too long, no scalar value or cut is none. */
Utf8 decodeUtf8(const char* text);
/** @return Bytes of the character at the start of a text that has an end; 0: there is none. */
std::size_t characterAt(const char* at, const char* end);

} // namespace mpr::base
