// SPDX-License-Identifier: MIT
/*
    handle_freeing.hpp - What a free by hand, and a realloc, do to the handles of their block: see handle_hooks.hpp; and whether
    it has any.
 */
#pragma once

namespace mpr::gc {

bool releaseBlock(const void* block);
void releasedBlock(const void* block);
bool refersToBlock(const void* block);
void moveBlock(const void* from, void* to);

} // namespace mpr::gc
