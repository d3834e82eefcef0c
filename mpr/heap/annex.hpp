// SPDX-License-Identifier: MIT
/*
    annex.hpp - Calls by which the collector and its heap reach the heaps with pinned blocks.

    The first call of mpr/pinned.h puts these into the collector's heap. Until then there is nothing to call, and a
    static link without mpr/pinned.h has none of the code behind it. Nothing here is asked on the shortest paths: the
    marker asks for an address that no region of its table has, mprFree for a block that it may not free at once.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/heap/place.hpp"

namespace mpr::heap {

struct Annex {
    /**
        The pinned block in use that begins at an address, any address; a null region: none does. Its place has no
        address when the block lies in a range of the program's (Region::address leads elsewhere then). Any thread.
     */
    Place (*find)(const void* address);
    /** mprFree of a pinned block. @return 0, MPR_ERR_BAD_ARGS (named), or 1: no pinned block begins there. */
    int (*free)(void* block);
    /** Whether pinned blocks lie where an address is. Any thread. */
    bool (*contains)(const void* address);
    /** Without threads: mark the pinned block that begins at an address. @return Whether there is one. */
    bool (*mark)(const void* address);
    /** Without threads: everything is marked, so free what is not. */
    void (*sweep)();

    // ---- With threads. On duty ----
    /** Threads are stopped, and a major collection has marked: what is unmarked is dead. @param retain Nothing is. */
    void (*beginSweep)(bool retain);
    /** Sweep for some microseconds. @return false when nothing is left. */
    bool (*sweepSome)(std::size_t& blocks);
    /** The sweep has ended. @param keep Bytes of free memory that may stay committed. */
    void (*endSweep)(std::size_t keep);
    /** See Heap::verify and Heap::forEachBlock. */
    int (*verify)();
    /** See Heap::tell. */
    void (*tell)();
    void (*forEachBlock)(void (*visit)(void* context, Byte* block, std::size_t n, Byte h), void* context);
    /** Blocks in use. */
    std::size_t (*blocks)();
    /** Bytes of addresses of regions that are the runtime's own. Any thread. */
    std::uint64_t (*reserved)();
    /** The runtime has ended. */
    void (*close)();
    /** The block around an address, which may be any; nullptr: none, or it is in the collector's table. Any thread. */
    void* (*around)(const void* address);
};

} // namespace mpr::heap
