// SPDX-License-Identifier: MIT
/*
    log_line.hpp - How a message looks as a line of the log.

    A line is one line, whatever the message holds: who chooses a part of it (a name, a header of a request) can neither make
    another line nor command the terminal that shows it.
 */
#pragma once

#include <cstddef>

namespace mpr::base {

enum class LineForm : unsigned char {
    common,   // tags: text
    detailed, // time tags level thread: text
    json,     // an object with time, level, tags, thread and text
};

inline constexpr std::size_t longestLine = 4400;

/** @param line Room for a line; what is too long for it is cut. @return Its length, newline included. */
std::size_t makeLine(char (&line)[longestLine], LineForm form, const char* tags, int level, const char* text);

} // namespace mpr::base
