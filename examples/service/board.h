/* SPDX-License-Identifier: MIT */
/*
    board.h - What other threads may see of the service, and ask of it.

    The service's state is managed memory and belongs to the loop thread alone. Threads that are not attached, or that
    have yielded for long, must not look at it: they read these counters instead. Plain static memory, atomics only.
 */
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace service {

struct Board {
    using Count = std::atomic<std::uint64_t>;

    // Asked of the service; the loop looks at them at each tick of its clock.
    std::atomic<bool> stopWanted{false};
    std::atomic<std::size_t> cacheLimit{0}; // Bytes that the content cache may hold

    // Told by the service.
    std::atomic<int> port{0};
    std::atomic<bool> listening{false};
    std::atomic<bool> ended{false}; // The loop is over
    Count requests{0};
    std::array<Count, 6> answers{}; // By hundreds of the status
    Count hits{0}, misses{0};       // Of the content cache
    Count evicted{0};               // Pages dropped because the cache was full
    Count pages{0}, pageBytes{0};   // In the cache now
    Count sessions{0};              // Alive now
    Count sessionsMade{0}, sessionsExpired{0};
    Count connections{0}; // Open now
    Count accepted{0}, refused{0}, timeouts{0};
    Count outOfMemory{0}; // Answers 503 because an allocation returned NULL

    // Memory trouble: see redline.h.
    Count crossings{0}; // Of the redline
    Count crossedAt{0}; // Bytes committed at the first one
    Count limitHits{0}; // Allocations that met the hard limit
    Count shedPages{0}, shedBytes{0};
};

inline void bump(Board::Count& count, std::uint64_t by = 1) {
    count.fetch_add(by, std::memory_order_relaxed);
}

} // namespace service
