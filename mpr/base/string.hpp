// SPDX-License-Identifier: MIT
/*
    string.hpp - Making managed strings, for the files of this room.
 */
#pragma once

#include <cstddef>

namespace mpr::base {

/** A managed string of length bytes to be written by the caller, terminated. nullptr when there is no memory. */
char* newString(std::size_t length);

/** A string with these contents. */
char* newString(const char* text, std::size_t length);

/** Bytes before the zero, at most as many as given. */
std::size_t boundedLength(const char* text, std::size_t most);

} // namespace mpr::base
