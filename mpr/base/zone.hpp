// SPDX-License-Identifier: MIT
/*
    zone.hpp - Local time: what the system's time zone adds to UTC at a moment.
 */
#pragma once

#include <cstdint>

namespace mpr::base {

struct Zone {
    std::int64_t offset; // seconds east of Greenwich
    bool summer;
    const char* name; // the system's, for good
};

/** @param seconds Since 1970, UTC. */
Zone zoneAt(std::int64_t seconds);

/** Local seconds since 1970 as UTC. Of an hour that comes twice the first is meant; one that is left out moves forward. */
std::int64_t utcFromLocal(std::int64_t seconds);

} // namespace mpr::base
