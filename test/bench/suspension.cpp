// SPDX-License-Identifier: MIT
/*
    test/bench/suspension.cpp - What the monitor of suspensions costs a pause, and what it costs when it is off.

    A suspension is begun and ended, and the world stopped and let go, without anything in between: nanoseconds for both,
    medians of batches. The monitor's thread gets time to empty its ring after each batch. The clock's own time, of
    which a suspension takes two and a stop two, is printed beside.
 */
#include "mpr.h"
#include "mpr/gc/runtime.hpp"
#include "mpr/gc/suspension.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

using namespace mpr::gc;

namespace {

constexpr int batches = 101, batch = 500;

template <class Step>
double median(Step step) {
    std::vector<double> times;
    for (int i = 0; i < batches; i++) {
        const uint64 begin = mpr::os::now();
        for (int k = 0; k < batch; k++) {
            step();
        }
        times.push_back(static_cast<double>(mpr::os::now() - begin) / batch);
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    std::sort(times.begin(), times.end());
    return times[batches / 2];
}

void pauseOnce(const Cycle &cycle) MPR_UNANALYSED {
    const Suspension suspension(*attached, cycle, Loss::others);
    suspensions.worldStops(true);
    suspensions.worldGoesOn(MPR_GENERATION_YOUNG);
}
} // namespace

int main() {
    if (!mprCreate(0, nullptr, 0)) {
        return 1;
    }
    const Cycle cycle;
    const double off = median([&] { pauseOnce(cycle); });
    const double clock = median([] { static_cast<void>(mpr::os::now()); });
    if (mprStartSuspensionMonitor(nullptr) != 0) {
        return 1;
    }
    mprSetLogLevel(0);
    const double on = median([&] { pauseOnce(cycle); });
    mprStopSuspensionMonitor();
    printf("a pause, ns: monitor off %.1f, on %.1f (bar 200); the clock once %.1f\n", off, on, clock);
    mprDestroy();
    return 0;
}
