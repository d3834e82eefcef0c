// SPDX-License-Identifier: MIT
/*
    time_parse.hpp - mprParseTime with the present as a parameter, for tests.
 */
#pragma once

#include "mpr/time.h"

namespace mpr::base {

/** Whether the forms of time_people.cpp are read, too. */
#ifdef MPR_NO_PEOPLE_TIMES
inline constexpr bool peopleTimes = false;
#else
inline constexpr bool peopleTimes = true;
#endif

int parseTime(MprTime& time, const char* text, int zone, const struct tm* defaults, MprTime now);

} // namespace mpr::base
