// SPDX-License-Identifier: MIT
/*
    target.hpp - What is decided when mpr is compiled: how much of the machine there is, and how large tables are.

    MPR_COOPERATIVE (set by CMake where there is no operating system): one thread, and no memory but the caller's buffer. The
    collector then runs inside a yield of that thread (gc/cooperative.cpp), locks and waits are nothing, and
    tables are small. What costs static memory can be chosen by the definitions below; toolchains/README.md says what
    each costs.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mpr::os {

#ifdef MPR_COOPERATIVE
inline constexpr bool cooperative = true;
#else
inline constexpr bool cooperative = false;
#endif

/** More than one thread may call. */
inline constexpr bool hasThreads = !cooperative;
/** The heap may take pages from the system; else there is only the caller's buffer. */
inline constexpr bool hasPages = !cooperative;
inline constexpr bool hasEnvironment = !cooperative;
/** Collections of the young only, and marking beside the threads. In a buffer with one thread every collection is full. */
inline constexpr bool hasGenerations = !cooperative;

#ifdef MPR_RANGE_BITS
inline constexpr unsigned rangeBits = MPR_RANGE_BITS;
#else
/** Log2 of the size ranges of free queues to a power of two. */
inline constexpr unsigned rangeBits = cooperative ? 2 : 4;
#endif
static_assert(rangeBits >= 1 && rangeBits <= 4);

#ifdef MPR_GRANULE_BITS
inline constexpr unsigned granuleBits = MPR_GRANULE_BITS;
#else
/** Log2 of the most granules in a region or buffer, 24 at most. Cooperative: a buffer of 1 MiB. */
inline constexpr unsigned granuleBits = cooperative ? 17 : 24;
#endif
static_assert(granuleBits >= 12 && granuleBits <= 24);

#ifdef MPR_QUICK_SIZES
inline constexpr std::size_t quickSizes = MPR_QUICK_SIZES;
#else
/** Block sizes, in granules, that a thread keeps quick lists of: these are there to meet others at the lock less often. */
inline constexpr std::size_t quickSizes = hasThreads ? 64 : 0;
#endif
static_assert(hasThreads || quickSizes == 0);
static_assert(quickSizes <= 64);

/** Characters in a message: each message stands on the stack. */
inline constexpr std::size_t messageLength = cooperative ? 160 : 400;
/** Pruners, and terminators, that can be added. */
inline constexpr int callbackPlaces = cooperative ? 4 : 16;
/** Whether times are kept as distributions (12 KiB), or as count, sum and greatest only. */
inline constexpr bool distributions = !cooperative;

inline constexpr std::size_t cacheLine = cooperative ? sizeof(void*) : 64;

/** What std::atomic is, for values that only one thread uses: the same calls without atomic instructions. */
template <typename T>
class Plain {
public:
    constexpr Plain(T value = {}) : value_(value) {}
    T load(std::memory_order = {}) const { return value_; }
    void store(T value, std::memory_order = {}) { value_ = value; }
    T exchange(T value, std::memory_order = {}) {
        const T before = value_;
        value_ = value;
        return before;
    }
    T fetch_add(T by, std::memory_order = {}) { return exchange(value_ + by); }
    bool compare_exchange_strong(T& expected, T value, std::memory_order = {}, std::memory_order = {}) {
        const bool same = value_ == expected;
        (same ? value_ : expected) = same ? value : value_;
        return same;
    }
    bool compare_exchange_weak(T& expected, T value, std::memory_order = {}, std::memory_order = {}) {
        return compare_exchange_strong(expected, value);
    }

private:
    T value_;
};

/** A value that several threads may use, where there are several. */
template <typename T>
using Shared = std::conditional_t<hasThreads, std::atomic<T>, Plain<T>>;

/** A total: blocks, granules, events. Without an operating system it has the processor's width, and wraps. */
using Total = std::conditional_t<hasThreads, std::uint64_t, std::size_t>;
using Counter = Shared<Total>;
/** A sum of nanoseconds, which needs 64 bits everywhere. */
using TimeSum = Shared<std::uint64_t>;

} // namespace mpr::os

/* A variable of each thread, reached without a call. Not a constant: storage classes cannot be computed. */
#ifdef MPR_COOPERATIVE
#define MPR_PER_THREAD
#else
#define MPR_PER_THREAD __attribute__((tls_model("initial-exec"))) thread_local
#endif

/* An attribute, not a constant, for the same reason: a function on the shortest paths is expanded where it is called, except
   where memory for code is scarcer than time; there, too, what such paths rarely need is not kept apart from them. */
#ifdef MPR_COOPERATIVE
#define MPR_INLINE inline
#define MPR_APART
#else
#define MPR_INLINE [[gnu::always_inline]] inline
#define MPR_APART [[gnu::cold, gnu::noinline]]
#endif
