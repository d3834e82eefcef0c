// SPDX-License-Identifier: MIT
/*
    load_state.hpp - What a reading of the memory load means: whether memory is low, neutral or high, and where the redline
    is to be. Arithmetic only.
 */
#pragma once

#include <algorithm>
#include <cstdint>

#include "mpr/host.h"
#include "mpr/host/load_reading.hpp"

namespace mpr::host {

/** Percent of what there is that is in use; 0 when nothing is known. */
constexpr int percentOf(const LoadReading& reading) {
    if (reading.limit == noLimit || reading.limit == 0) {
        return 0;
    }
    const std::uint64_t left = std::min({reading.available, reading.ample, reading.limit});
    // So that the product fits: limits of 2^57 bytes there are not.
    return static_cast<int>(100 - left * 100 / reading.limit);
}

/**
    A state is left later than it is entered, so that a load near a bound does not make it change all the time. Low: 90 % are
    in use, or the kernel holds the process back, or for a tenth of the time some task waits for memory; until it is less than
    85 %, and 5 % of the time. High: at most 60 % are in use, and nobody waits; until it is more than 65 %.
 */
constexpr int stateOf(const LoadReading& reading, int before) {
    if (reading.source == Source::none) {
        return MPR_MEMORY_NEUTRAL;
    }
    const int percent = percentOf(reading);
    const bool wasLow = before == MPR_MEMORY_LOW;
    const bool wasHigh = before == MPR_MEMORY_HIGH;
    if (percent >= (wasLow ? 85 : 90) || reading.pressure >= (wasLow ? 500 : 1000)) {
        return MPR_MEMORY_LOW;
    }
    return percent <= (wasHigh ? 65 : 60) && reading.pressure < 100 ? MPR_MEMORY_HIGH : MPR_MEMORY_NEUTRAL;
}

/**
    The redline that a reading asks for: what counts now and what the process can still have, less a sixteenth of all for
    whoever else is there. Where nothing is left it is below what counts, and so is crossed.
    @param counted Bytes that count against the redline now.
 */
constexpr std::uint64_t redlineOf(const LoadReading& reading, std::uint64_t counted) {
    if (reading.source == Source::none || reading.limit == noLimit) {
        return noLimit;
    }
    const std::uint64_t left = std::min(reading.available, reading.ample);
    const std::uint64_t kept = reading.ample <= reading.available ? 0 : reading.limit / 16;
    if (left > kept) {
        const std::uint64_t room = left - kept;
        return room > noLimit - counted ? noLimit : counted + room;
    }
    const std::uint64_t over = kept - left + 1;
    return counted - std::min(over, counted / 2);
}

/** Whether the process should grow by so many bytes. */
constexpr bool mayGrowBy(const LoadReading& reading, std::uint64_t bytes) {
    return reading.source == Source::none || bytes <= reading.available;
}

} // namespace mpr::host
