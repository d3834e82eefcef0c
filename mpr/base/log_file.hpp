/*
    log_file.hpp - The log that mprStartLogging opens: a file with its backups, or a standard stream.
 */
#pragma once

#include <cstddef>

#include "mpr/base/log_line.hpp"

namespace mpr::base {

inline constexpr std::size_t longestPath = 1023;

/**
    Open a log in place of the present one. @param place As mprStartLogging, without what follows it. @param anew Start with
    an empty file. @return 0 or the number of the system's error.
 */
int openLog(const char* place, LineForm form, bool anew);

/** Write "tags: text" to the console. */
void writeLine(const char* tags, const char* text);

/** Why a log cannot be opened or written. */
const char* reason(int error);

} // namespace mpr::base
