// SPDX-License-Identifier: MIT
/*
    memory.hpp - Lasting memory: for what may outlive the runtime, so not of its heap: malloc's, or the host's.
*/
#pragma once

#include <cstddef>

namespace mpr::task {

/** @return nullptr: there is none. Any thread, in any state. */
void* allocateLasting(std::size_t size);
void freeLasting(void* memory);

/** Have the host's pages for it from the beginning. @return false: the host refuses. */
bool openLasting();

} // namespace mpr::task
