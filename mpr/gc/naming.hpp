// SPDX-License-Identifier: MIT
/*
    naming.hpp - What messages say of blocks: the size, and the type or the manager, or the text in them.

    A manager has the name that mprSetManagerName gave it, as those of C++ types and of the runtime have. Others are
    described by their function.
 */
#pragma once

#include <cstddef>

#include "mpr/heap/heap.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"

namespace mpr::gc {

/** "Node", or "manager manageNode (program+0x1234)". Any state. */
void nameManager(os::Message& message, MprManager manager);

/** "0x7f0000441000 (32 bytes, Node)" for a block in use. */
void nameBlock(os::Message& message, heap::Place at);
void nameBlock(os::Message& message, const heap::Heap::Inside& at);
/** The same for what Heap::blockAround has found, pinned blocks of a range among them. */
void nameBlock(os::Message& message, const heap::Heap& heap, const void* block);

} // namespace mpr::gc
