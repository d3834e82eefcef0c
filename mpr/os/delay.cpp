// SPDX-License-Identifier: MIT
/*
    delay.cpp - Threads are delayed at random at each atomic operation: option MPR_DELAYS of the build.

    Races hide in the few nanoseconds between two atomic operations. Here they last. The compiler itself calls these
    functions, whose names and parameters are those of the thread sanitizer's run time (-fsanitize=thread, without its
    library): so no operation is forgotten, be it of a lock, of the granule map or one added tomorrow, and other builds
    do not have one instruction of it. What is not atomic costs a call that returns at once.

    A thread goes through stretches of some milliseconds. In each a few places of the program, chosen anew, are slow for
    this thread: it is held in the same gap again and again while others run on (S. Burckhardt et al., "A Randomized
    Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010, for why few places are better than all). Every
    other pass of a slow place is delayed at first, one in n / 16 or so when it is passed for the nth time: a place that is
    seldom passed is tried, and one that is passed a million times does not stop the program.

    Environment: MPR_SEED=N starts all threads' random numbers (else the clock does). MPR_DELAYS=N makes N of 1024 places
    slow at a time (64); 0 delays nothing.
 */
#include "mpr/os/delay.hpp"

#include <sched.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "mpr/os/os.hpp"

namespace mpr::os {

namespace {

constexpr std::uint32_t slowPlaces = 64;              // of 1024
constexpr std::uint32_t often = 16;                   // passes
constexpr std::uint32_t glance = 1024;                // operations between two looks at the clock
constexpr std::uint64_t greatestStretch = 30'000'000; // nanoseconds
constexpr std::uint64_t leastSleep = 50'000;
constexpr std::uint64_t greatestSleep = 500'000;

struct Delays {
    std::uint32_t operations = 1;  // until the next look at the clock
    std::uint32_t slow = 0;        // a place whose hash is less than this is slow
    std::uint32_t key = 0;         // of the hash
    std::uint64_t random = 0;      // 0: this thread has not begun
    std::uint64_t until = 0;       // then the stretch ends
    unsigned long count = 0;       // of delays
    std::uint32_t passes[16] = {}; // of slow places in this stretch, by hash
};

constinit MPR_PER_THREAD Delays delays;
constinit std::atomic<std::uint64_t> threads{0};

std::uint64_t number(const char* name, std::uint64_t otherwise) {
    const char* text = environment(name);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::uint64_t mix(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9u;
    x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EBu;
    return x ^ x >> 31;
}

std::uint32_t random(Delays& d) {
    d.random ^= d.random << 13;
    d.random ^= d.random >> 7;
    d.random ^= d.random << 17;
    return static_cast<std::uint32_t>(d.random >> 32);
}

void begin(Delays& d) {
    static const std::uint64_t seed = number("MPR_SEED", now());
    d.random = mix(seed + 0x9E37'79B9'7F4A'7C15u * (threads.fetch_add(1, std::memory_order_relaxed) + 1)) | 1;
}

void beginStretch(Delays& d, std::uint64_t time) {
    if (d.random == 0) {
        begin(d);
    }
    static const auto places = static_cast<std::uint32_t>(number("MPR_DELAYS", slowPlaces) & 1023);
    d.slow = places << 22;
    d.key = random(d);
    d.until = time + random(d) % greatestStretch;
    std::memset(d.passes, 0, sizeof(d.passes));
}

void sleepFor(std::uint64_t nanoseconds) {
    const timespec span{0, static_cast<long>(nanoseconds)};
    nanosleep(&span, nullptr);
}

/** Mostly as long as a cache miss or two, at times as long as another thread's turn, seldom longer. */
void wait(Delays& d) {
    const int before = errno;
    ++d.count;
    const std::uint32_t choice = random(d) % 64;
    if (choice < 44) {
        for (std::uint32_t spins = 10u << random(d) % 7; spins > 0; --spins) {
            relax();
        }
    } else if (choice < 60) {
        sched_yield();
    } else {
        sleepFor(leastSleep + random(d) % (greatestSleep - leastSleep));
    }
    errno = before;
}

[[gnu::noinline]] void consider(Delays& d, std::uint32_t hash) {
    if (d.operations == 0) {
        d.operations = glance;
        if (const std::uint64_t time = now(); time >= d.until) {
            beginStretch(d, time);
        }
    } else if (random(d) % (2 + d.passes[hash % 16]++ / often) == 0) {
        wait(d);
    }
}

/** @param place Address of the code that is about to do something that others may see. */
[[gnu::always_inline]] inline void pass(const void* place) {
    Delays& d = delays;
    const std::uint32_t hash =
        (static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(place)) ^ d.key) * 0x9E37'79B1u;
    if (--d.operations == 0 || hash < d.slow) [[unlikely]] {
        consider(d, hash);
    }
}

/** f with the order as a constant: that which was asked for, no stronger one. */
template <typename F>
[[gnu::always_inline]] inline auto ordered(int order, F f) {
    switch (order) {
    case __ATOMIC_RELAXED: return f(std::integral_constant<int, __ATOMIC_RELAXED>());
    case __ATOMIC_RELEASE: return f(std::integral_constant<int, __ATOMIC_RELEASE>());
    case __ATOMIC_ACQUIRE:
    case __ATOMIC_CONSUME: return f(std::integral_constant<int, __ATOMIC_ACQUIRE>());
    case __ATOMIC_ACQ_REL: return f(std::integral_constant<int, __ATOMIC_ACQ_REL>());
    default: return f(std::integral_constant<int, __ATOMIC_SEQ_CST>());
    }
}

/** Of an operation that only loads, or that failed. */
constexpr int loading(int order) {
    return order == __ATOMIC_RELEASE ? __ATOMIC_RELAXED : order == __ATOMIC_ACQ_REL ? __ATOMIC_ACQUIRE : order;
}
constexpr int storing(int order) {
    return order == __ATOMIC_ACQUIRE ? __ATOMIC_RELAXED : order == __ATOMIC_ACQ_REL ? __ATOMIC_RELEASE : order;
}
} // namespace

void perhapsDelay() {
    pass(__builtin_return_address(0));
}

unsigned long delaysSoFar() {
    return delays.count;
}

} // namespace mpr::os

// Names that the compiler makes of a size and an operation; only a macro can.
#define MPR_PASS mpr::os::pass(__builtin_return_address(0))
#define MPR_CHANGE(bits, T, name, builtin) \
    T __tsan_atomic##bits##_##name(volatile T* at, T value, int order) { \
        MPR_PASS; \
        return mpr::os::ordered(order, [=](auto o) { return builtin(at, value, o()); }); \
    }
#define MPR_EXCHANGE(bits, T, name, weak) \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile T* at, T* expected, T value, int order, int) { \
        MPR_PASS; \
        return mpr::os::ordered(order, [=](auto o) { \
            return __atomic_compare_exchange_n(at, expected, value, weak, o(), mpr::os::loading(o())); \
        }); \
    }
#define MPR_ATOMIC(bits, T) \
    T __tsan_atomic##bits##_load(const volatile T* at, int order) { \
        MPR_PASS; \
        return mpr::os::ordered(order, [=](auto o) { return __atomic_load_n(at, mpr::os::loading(o())); }); \
    } \
    void __tsan_atomic##bits##_store(volatile T* at, T value, int order) { \
        MPR_PASS; \
        mpr::os::ordered(order, [=](auto o) { __atomic_store_n(at, value, mpr::os::storing(o())); }); \
    } \
    MPR_CHANGE(bits, T, exchange, __atomic_exchange_n) \
    MPR_CHANGE(bits, T, fetch_add, __atomic_fetch_add) \
    MPR_CHANGE(bits, T, fetch_sub, __atomic_fetch_sub) \
    MPR_CHANGE(bits, T, fetch_and, __atomic_fetch_and) \
    MPR_CHANGE(bits, T, fetch_or, __atomic_fetch_or) \
    MPR_CHANGE(bits, T, fetch_xor, __atomic_fetch_xor) \
    MPR_CHANGE(bits, T, fetch_nand, __atomic_fetch_nand) \
    MPR_EXCHANGE(bits, T, strong, false) \
    MPR_EXCHANGE(bits, T, weak, true) \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T expected, T value, int order, int other) { \
        __tsan_atomic##bits##_compare_exchange_strong(at, &expected, value, order, other); \
        return expected; \
    }
#define MPR_ACCESS(size) \
    void __tsan_read##size(void*) {} \
    void __tsan_write##size(void*) {} \
    void __tsan_unaligned_read##size(void*) {} \
    void __tsan_unaligned_write##size(void*) {} \
    void __tsan_volatile_read##size(void*) {} \
    void __tsan_volatile_write##size(void*) {} \
    void __tsan_read_write##size(void*) {} \
    void __tsan_unaligned_read_write##size(void*) {}

#pragma GCC diagnostic ignored "-Wmissing-declarations"
extern "C" {
MPR_ATOMIC(8, std::uint8_t)
MPR_ATOMIC(16, std::uint16_t)
MPR_ATOMIC(32, std::uint32_t)
MPR_ATOMIC(64, std::uint64_t)

void __tsan_atomic_thread_fence(int order) {
    MPR_PASS;
    mpr::os::ordered(order, [](auto o) { __atomic_thread_fence(o()); });
}
void __tsan_atomic_signal_fence(int) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// Other threads must not look at data that is not atomic: no place for delays.
MPR_ACCESS(1)
MPR_ACCESS(2)
MPR_ACCESS(4)
MPR_ACCESS(8)
MPR_ACCESS(16)
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read_range(void*, std::size_t) {}
void __tsan_write_range(void*, std::size_t) {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}
void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
    return std::memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, std::size_t size) {
    return std::memmove(to, from, size);
}
void* __tsan_memset(void* to, int byte, std::size_t size) {
    return std::memset(to, byte, size);
}
}
