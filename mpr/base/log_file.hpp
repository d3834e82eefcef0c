// SPDX-License-Identifier: MIT
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

/** Append the log to a descriptor, which becomes the log's own, in place of the present one. @param name For messages. */
void openLog(int file, const char* name);

/** Write "tags: text" to the console. */
void writeLine(const char* tags, const char* text);

/** Write a message to the log that is open, else to the console. */
void writeMessage(const char* tags, int level, const char* text);
/** Whether a receiver of messages is the open log itself. */
bool isLogFile(void (*receiver)(const char*, int, const char*));

/** Why a log cannot be opened or written. */
const char* reason(int error);

} // namespace mpr::base
