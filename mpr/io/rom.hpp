// SPDX-License-Identifier: MIT
/*
    rom.hpp - Read-only files linked into the program.
 */
#pragma once

#include "mpr/file.h"

namespace mpr::io {

/** The entry of a path, as it stands in the table, with data; or nullptr. */
const MprRomInode* findRomFile(const char* path);

} // namespace mpr::io
