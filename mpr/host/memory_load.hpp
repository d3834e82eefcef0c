// SPDX-License-Identifier: MIT
/*
    memory_load.hpp - For tests of the memory load.
*/
#pragma once

namespace mpr::host {

/** Read the files of /proc and /sys below this folder, "" for the real ones, and each time anew. Not copied. */
void setLoadRoot(const char* root);

/** A host that says how much memory there is has come, or gone. */
void askHostOfLoad(bool on);

} // namespace mpr::host
