/* SPDX-License-Identifier: MIT */
/*
    board.h - What other threads may see of the service, and ask of it.

    The service's state is managed memory and belongs to the thread that serves. Threads that are not attached must not
    look at it: they read these counters instead. Plain static memory, atomics only.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace service {

struct Board {
    using Count = std::atomic<std::uint64_t>;

    // Asked of the service, which looks at each tick of its clock.
    std::atomic<bool> stopWanted{false};
    std::atomic<std::size_t> cacheLimit{0}; // Bytes that the content cache may hold

    std::atomic<bool> ended{false}; // The service serves no more
    std::atomic<int> port{0};

    Count hits{0}, misses{0};    // Of the content cache
    Count evicted{0};            // Pages dropped because the cache was full
    Count pages{0}, bytes{0};    // In the cache now
    Count sessions{0};           // Alive now
    Count sessionsExpired{0};    // Dropped because of their age or number
    Count refused{0};            // Answers 503
    Count timeouts{0};           // Requests that took too long
    Count crossings{0};          // Of the redline
    Count crossedAt{0};          // Bytes committed at the first one
    Count limitHits{0};          // Allocations that met the hard limit
    Count shedPages{0}, shed{0}; // Pages, and their bytes, given up because of the redline
};

inline void bump(Board::Count& count, std::uint64_t by = 1) {
    count.fetch_add(by, std::memory_order_relaxed);
}

} // namespace service
