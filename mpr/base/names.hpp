// SPDX-License-Identifier: MIT
/*
    names.hpp - Weekdays and months in English, as dates are written in protocols whatever the locale.
 */
#pragma once

#include <string_view>

namespace mpr::base {

inline constexpr std::string_view weekdayNames[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};
inline constexpr std::string_view monthNames[] = {"January",   "February", "March",    "April",
                                                  "May",       "June",     "July",     "August",
                                                  "September", "October",  "November", "December"};

} // namespace mpr::base
