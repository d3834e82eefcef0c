/*
    time_parse.hpp - mprParseTime with the present as a parameter, for tests.
 */
#pragma once

#include "mpr/time.h"

namespace mpr::base {

int parseTime(MprTime& time, const char* text, int zone, const struct tm* defaults, MprTime now);

} // namespace mpr::base
