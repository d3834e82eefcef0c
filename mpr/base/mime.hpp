// SPDX-License-Identifier: MIT
/*
    mime.hpp - Tables of MIME types, for files that fill them.
 */
#pragma once

struct MprHash;

namespace mpr::base {

/** A table of what the library knows. nullptr when memory is short. */
MprHash* makeMimeTypes();

/** Add lines of types and extensions. @param name Of their file, for the log. @return false when memory is short. */
bool addMimeTypes(MprHash* table, const char* text, const char* name);

} // namespace mpr::base
