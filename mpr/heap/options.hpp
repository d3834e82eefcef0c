// SPDX-License-Identifier: MIT
/*
    options.hpp - What may be chosen when a runtime is made. Parsed in one place from one string.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/heap/granule.hpp"

namespace mpr::heap {

struct Options {
    unsigned regionShift = defaultRegionShift; // log2 of the region size in bytes
    std::size_t reserve = 0;                   // bytes committed from the start
    std::size_t young = 0;                     // least bytes between collections; 0: from the cache size
    unsigned growth = 100;                     // percent of the live size between collections
    unsigned extra = 50;                       // percent of the live size that garbage may take besides
    std::size_t stack = 256 * 1024;            // of the collector's thread
    std::size_t marks = 0;                     // mark stack; 0: large, as far as address space is cheap
    unsigned markers = 0;                      // threads that mark in a pause; 0: as many as processors, up to four
    /**
        After each marking: trace again, and compare; look for fields, globals, and words of stacks, that hold what dies. And
        whether to note where blocks are allocated, and to end the process when a mistake was named.
     */
    enum Check : Byte { marking = 1, fields = 2, globals = 4, abort = 8, stacks = 16, where = 32 };
    Byte check = 0;                           // any of them
    std::uintptr_t mask = ~std::uintptr_t{0}; // which bits of a word that these look at may be an address
    /** Whether there is something to look for after each marking. */
    bool looks() const { return (check & marking) != 0; }
#ifdef MPR_CHECKED
    bool poison = true; // fill free memory, and look whether it changes
#else
    bool poison = false;
#endif
    bool hugePages = false;                                     // the system may back the heap with them
    bool batches = false;                                       // of all threads, from the start
    enum { off, on, asEnvironment } everyYield = asEnvironment; // collect at each yield point
    unsigned everyAlloc = 0;                                    // ask for a collection at every Nth allocation
    unsigned cpuPercent = 10;                                   // of the time that collections should take
    std::uint64_t pauseBudget = 400'000;                        // nanoseconds that a pause should last at most
    std::uint64_t deadline = 500'000'000;                       // nanoseconds until a late thread is named

    /** Apply "name=value,...". @return false: a message has named the bad item and nothing has changed. */
    bool parse(const char* spec);
};

} // namespace mpr::heap
