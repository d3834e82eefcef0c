// SPDX-License-Identifier: MIT
/*
    delay.cpp - In builds with MPR_DELAYS threads are delayed at atomic operations, in others never.
 */
#include "mpr/os/delay.hpp"

#include "mpr/heap/map.hpp"
#include "mpr/os/lock.hpp"
#include "test/catch.hpp"

#ifdef MPR_DELAYS

#include <atomic>
#include <cstdlib>

namespace os = mpr::os;

namespace {
/** Call f until the calling thread has been delayed in it; places become slow by chance, a stretch lasts milliseconds. */
template <typename F>
bool isDelayedIn(F&& f) {
    for (int round = 0; round < 10'000'000; ++round) {
        const unsigned long before = os::delaysSoFar();
        for (int i = 0; i < 1000; ++i) {
            f();
        }
        if (os::delaysSoFar() != before) {
            return true;
        }
    }
    return false;
}
bool isOff() {
    const char* rate = std::getenv("MPR_DELAYS");
    return rate && std::atoi(rate) == 0;
}
} // namespace

TEST_CASE("threads are delayed at atomic operations, at locks, in the granule map and at system calls", "[delay]") {
    if (isOff()) {
        return;
    }
    static std::atomic<int> word{0};
    CHECK(isDelayedIn([] { word.fetch_add(1, std::memory_order_relaxed); }));
    CHECK(isDelayedIn([] { word.load(std::memory_order_relaxed); }));
    static os::Lock lock;
    CHECK(isDelayedIn([] { const os::Locked locked(lock); }));
    static mpr::heap::Byte bytes[64] = {};
    CHECK(isDelayedIn([] { mpr::heap::GranuleMap(bytes).set(8, 1); }));
    CHECK(isDelayedIn([] { os::perhapsDelay(); }));
    // What no other thread may see is no place for delays.
    const unsigned long before = os::delaysSoFar();
    [[maybe_unused]] static volatile int plain;
    for (int i = 0; i < 1'000'000; ++i) {
        plain = i;
    }
    CHECK(os::delaysSoFar() == before);
}

#endif
