// SPDX-License-Identifier: MIT
/*
    test/metal/worst.cpp - The worst case of allocation and free on a Cortex-M, in instructions.

    toolchains/metal/run makes each instruction take 1024 ns of the machine's time, in which the system timer counts 20 or 25
    times. How often is measured with a loop of known length; an empty call is subtracted.

    Worst cases are sought in two ways: at random, in a heap that is nearly full of blocks of all sizes; and by building
    each costly situation (a block between two holes, a context that must be closed and another opened) many times.
 */
#include <mpr.h>
#include <mpr/board.h>

#include "test/metal/say.hpp"

#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace {

std::uint32_t random() {
    static std::uint32_t state = 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

// ---- Counting ---------------------------------------------------------------------------------------------------

std::uint32_t timer() {
    return *reinterpret_cast<volatile std::uint32_t*>(0xE000E018);
}

/** Counts of the timer in 1000 instructions, and in an empty call. */
std::uint32_t perThousand = 0, empty = 0;

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
void loop(std::uint32_t turns) {
    __asm__ volatile(".syntax unified\n1: subs %0, %0, #1\n bne 1b" : "+l"(turns) : : "cc");
}

/** @return Whether instructions can be counted: by a machine of which each takes the same time. */
bool calibrate() {
    empty = counts([] {});
    perThousand = counts([] { loop(2000); }) - counts([] { loop(1500); });
    const std::uint32_t check = instructions([] { loop(300); });
    return perThousand > 10'000 && check >= 590 && check < 610;
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

Cost allocation{"alloc"}, release{"free"};
bool notified = false;

void* allocate(std::size_t size) {
    void* block = nullptr;
    // The budget is spent for long; the collector learns that anew, from the allocation that is measured.
    mprEnableGC(false);
    mprEnableGC(true);
    notified = false;
    const std::uint32_t count = instructions([&] { block = mprAlloc(size); });
    if (!notified) { // the notifier is the program's: of a refusal, and once after it, that memory is well
        allocation.note(count);
    }
    return block;
}

void give(void* block) {
    release.note(instructions([&] { mprFree(block); }));
}

// ---- Seeking ----------------------------------------------------------------------------------------------------

constexpr int places = 300;
void* blocks[places];

std::size_t heapSize = 0;

/** Fill three quarters of what there is. */
bool hasRoom() {
    return mprGetMemStats()->bytesLive < heapSize - heapSize / 4;
}

void atRandom(std::uint32_t greatest, int steps) {
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
void coalesce(std::size_t size) {
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

alignas(16) char buffer[1024 * 1024];
} // namespace

int main() {
    if (!calibrate()) {
        say("worst: a loop of 600 instructions is counted as another number; is this not QEMU with -icount?\n");
        return 1;
    }
    for (const std::size_t size : {std::size_t{16}, std::size_t{32}, std::size_t{128}, std::size_t{1024}}) {
        if (!mprCreateInBuffer(buffer, size * 1024, 0)) {
            return 1;
        }
        // The collector is on, so that an allocation may have to ask for a collection; without a yield it does not come.
        mprSetMemNotifier([](int, int, std::size_t, std::size_t) { notified = true; });
        heapSize = size * 1024;
        for (std::size_t block = 8; block <= 1600; block = block * 3 / 2) {
            coalesce(block);
        }
        atRandom(64, 3000);
        atRandom(400, 3000);
        atRandom(2000, 3000);
        if (mprVerifyHeap() != 0 || !mprDestroy()) {
            return 1;
        }
    }
    allocation.report();
    release.report();
#ifdef __ARM_FEATURE_CLZ
    constexpr std::uint32_t bound = 260;
#else
    constexpr std::uint32_t bound = 450; // ARMv6-M: leading zeros are counted by a function, constants are loaded
#endif
    return allocation.worst <= bound && release.worst <= bound ? 0 : 1;
}
