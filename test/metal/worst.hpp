// SPDX-License-Identifier: MIT
/*
    test/metal/worst.hpp - How the worst cases of an allocator are sought on a Cortex-M, and counted in instructions.

    toolchains/metal/run makes each instruction take 1024 ns of the machine's time, in which the system timer counts 20 or 25
    times. How often is measured with a loop of known length; an empty call is subtracted.

    Worst cases are sought in two ways: at random, in a heap that is nearly full of blocks of all sizes; and by building
    each costly situation (a block between two holes, a context that must be closed and another opened) many times.
 */
#pragma once

#include "test/metal/say.hpp"

#include <cstdint>
#include <cstring>
#include <initializer_list>

/* The program's: it allocates and frees what is asked for, and notes what that took. */
void* allocate(std::size_t size);
void give(void* block);
/** Whether a quarter of the heap is free. */
bool hasRoom();

inline std::uint32_t random() {
    static std::uint32_t state = 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

// ---- Counting ---------------------------------------------------------------------------------------------------

inline std::uint32_t timer() {
    return *reinterpret_cast<volatile std::uint32_t*>(0xE000E018);
}

/** Counts of the timer in 1000 instructions, and in an empty call. */
inline std::uint32_t perThousand = 0, empty = 0;

template <typename F>
[[gnu::always_inline]] inline std::uint32_t counts(F&& f) {
    const std::uint32_t before = timer();
    f();
    const std::uint32_t after = timer();
    return (before - after) & 0xFFFFFF;
}

/** Instructions that f takes. */
template <typename F>
[[gnu::always_inline]] inline std::uint32_t instructions(F&& f) {
    const std::uint32_t spent = counts(f);
    return spent > empty ? ((spent - empty) * 1000 + perThousand / 2) / perThousand : 0;
}

/** A loop of two instructions a turn. */
inline void loop(std::uint32_t turns) {
    __asm__ volatile(".syntax unified\n1: subs %0, %0, #1\n bne 1b" : "+l"(turns) : : "cc");
}

/** @return Whether instructions can be counted: by a machine of which each takes the same time. */
inline bool calibrate() {
    empty = counts([] {});
    perThousand = counts([] { loop(2000); }) - counts([] { loop(1500); });
    const std::uint32_t check = instructions([] { loop(300); });
    const bool right = perThousand > 10'000 && check >= 590 && check < 610;
    if (!right) {
        say("worst: a loop of 600 instructions is counted as another number; is this not QEMU with -icount?\n");
    }
    return right;
}

struct Cost {
    const char* name;
    std::uint32_t worst = 0, calls = 0;
    std::uint64_t sum = 0;

    void note(std::uint32_t count) {
        worst = count > worst ? count : worst;
        sum += count;
        ++calls;
    }
    void report() const {
        say(name);
        say(": worst ");
        say(worst);
        say(" instructions, mean ");
        say(calls ? static_cast<std::uint32_t>(sum / calls) : 0);
        say(", of ");
        say(calls);
        say(" calls\n");
    }
};

// ---- Seeking ----------------------------------------------------------------------------------------------------

constexpr int places = 300;
inline void* blocks[places];

inline void atRandom(std::uint32_t greatest, int steps) {
    for (int step = 0; step < steps; ++step) {
        void*& place = blocks[random() % places];
        if (place) {
            give(place);
            place = nullptr;
        } else {
            const std::size_t size = random() % (random() % 4 == 0 ? greatest : 48) + 1;
            if (hasRoom()) {
                place = allocate(size);
            }
        }
    }
    for (void*& place : blocks) {
        if (place) {
            give(place);
        }
        place = nullptr;
    }
}

/** Neighbours of one size; then every other one goes, then those between two holes. */
inline void coalesce(std::size_t size) {
    int count = 0;
    while (count < places && hasRoom()) {
        blocks[count++] = allocate(size);
    }
    for (int i = 0; i < count; i += 2) {
        give(blocks[i]);
    }
    for (int i = 1; i < count; i += 2) {
        give(blocks[i]);
    }
    std::memset(blocks, 0, sizeof(blocks));
}

inline void seek() {
    for (std::size_t block = 8; block <= 1600; block = block * 3 / 2) {
        coalesce(block);
    }
    atRandom(64, 3000);
    atRandom(400, 3000);
    atRandom(2000, 3000);
}

#ifdef __ARM_FEATURE_CLZ
inline constexpr std::uint32_t bound = 260;
#else
inline constexpr std::uint32_t bound = 450; // ARMv6-M: leading zeros are counted by a function, constants are loaded
#endif
