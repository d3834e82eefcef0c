// SPDX-License-Identifier: MIT
/*
    clock.cpp - Clocks: of the machine, of the process, of a thread.
 */
#include "mpr/os/os.hpp"

#include <time.h>

namespace mpr::os {

/** 0 when there is no such clock. */
static std::uint64_t nanoseconds(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

static std::int64_t milliseconds(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

std::uint64_t now() {
    return nanoseconds(CLOCK_MONOTONIC);
}

std::int64_t lastTick() {
    return milliseconds(CLOCK_MONOTONIC_COARSE);
}

std::int64_t wallTime() {
    return milliseconds(CLOCK_REALTIME);
}

std::uint64_t cpuTime() {
    return nanoseconds(CLOCK_PROCESS_CPUTIME_ID) / 1000u;
}

std::uint64_t usedBy(std::uint32_t number) {
    return nanoseconds(
        static_cast<clockid_t>(~number << 3 | 6)); // as pthread_getcpuclockid has it, which asks for a pthread_t
}

} // namespace mpr::os
