// SPDX-License-Identifier: MIT
/*
    origins.hpp - Where blocks were allocated: option check=where.

    Each allocation takes the long way, as with option poison, and leaves the return addresses of its callers in a table
    beside the heap, one entry an address: of blocks that stand there one after another it knows the last, freed or not,
    which is what a message about a stale pointer wants. The table does not grow. Addresses that meet in it displace one
    another, and then nothing is said. Names are looked up when a message is written.
 */
#pragma once

#include <cstddef>

#include "mpr/os/lock.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

class Origins {
public:
    /**
        Note from here on, before there are threads. Without memory for the table, or a way to find callers, nothing is
        noted.
     */
    void open();
    void close();
    bool isOpen() const { return origins_ != nullptr; }

    /** A block was allocated by the function that calls this one, on behalf of its callers. */
    [[gnu::cold, gnu::noinline]] void note(const void* block);
    /** Write to the log where a block was allocated, if that is known. Any state; the caller holds no lock. */
    [[gnu::cold]] void tell(const void* block);

private:
    static constexpr std::size_t depth = 12;
    static constexpr std::size_t count = std::size_t{1} << (sizeof(void*) == 8 ? 18 : 15);
    struct Origin {
        const void* block;
        const void* callers[depth]; // the innermost first; nullptr behind the last
    };

    Origin& placeOf(const void* block) const;
    bool find(const void* block, Origin& found);

    os::Lock lock_{os::outermost}; // while the table is read or written, and for nothing else
    Origin* origins_ = nullptr;    // memory of the system; set before there are threads
};

extern constinit Origins origins;

/** Say where a block was allocated, if the option is on. */
inline void tellOrigin(const void* block) {
    if constexpr (os::hasThreads) {
        if (origins.isOpen()) [[unlikely]] {
            origins.tell(block);
        }
    }
}

} // namespace mpr::gc
