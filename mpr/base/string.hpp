// SPDX-License-Identifier: MIT
/*
    string.hpp - Making managed strings, for the files of this room.
 */
#pragma once

#include <cstddef>
#include <string_view>

namespace mpr::base {

/** A managed string of length bytes to be written by the caller, terminated. nullptr when there is no memory. */
char* newString(std::size_t length);

/** A string with these contents. */
char* newString(const char* text, std::size_t length);

/** Bytes before the zero, at most as many as given. */
std::size_t boundedLength(const char* text, std::size_t most);

/**
    The first place of a pattern in the bytes before the zero, at most as many as given; nullptr: none. Linear, where
    string_view::find is quadratic. @param caseless A-Z is taken for a-z.
 */
const char* search(const char* text, std::size_t most, std::string_view pattern, bool caseless);

} // namespace mpr::base
