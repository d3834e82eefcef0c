/*
    log_file.hpp - The log that mprStartLogging opens: a file with its backups, or a standard stream.
 */
#pragma once

#include <cstddef>

namespace mpr::base {

inline constexpr std::size_t longestPath = 1023;

/** Open a log in place of the present one. @param place As mprStartLogging, without a level. @return As mprStartLogging. */
int openLog(const char* place, int flags);

/** Write "tags: text" to the console. */
void writeLine(const char* tags, const char* text);

} // namespace mpr::base
