// SPDX-License-Identifier: MIT
/*
    calendar.hpp - Days and dates of the Gregorian calendar, extended to all years.

    Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms" (2013): years begin in March, so that the leap day is
    the last of a year, and repeat every 400 years, which are 146097 days.
 */
#pragma once

#include <cstdint>
#include <ctime>

namespace mpr::base {

inline constexpr std::int64_t secondsInDay = 86400;

/** Division and remainder towards minus infinity. */
constexpr std::int64_t floorDiv(std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}
constexpr std::int64_t floorMod(std::int64_t a, std::int64_t b) {
    const std::int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

struct Date {
    std::int64_t year;
    int month; // 1 to 12
    int day;   // 1 to 31
};

constexpr bool isLeap(std::int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

constexpr int daysInMonth(std::int64_t year, int month) {
    constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && isLeap(year) ? 29 : days[month - 1];
}

/** Days since 1970-01-01. */
constexpr std::int64_t daysFrom(Date date) {
    const std::int64_t year = date.year - (date.month <= 2);
    const std::int64_t era = floorDiv(year, 400);
    const std::int64_t yearOfEra = year - era * 400;
    const std::int64_t dayOfYear = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
    const std::int64_t dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear;
    return era * 146097 + dayOfEra - 719468;
}

constexpr Date dateFrom(std::int64_t days) {
    const std::int64_t shifted = days + 719468;
    const std::int64_t era = floorDiv(shifted, 146097);
    const std::int64_t dayOfEra = shifted - era * 146097;
    const std::int64_t yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146096) / 365;
    const std::int64_t dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
    const std::int64_t month = (5 * dayOfYear + 2) / 153; // from March
    const int day = static_cast<int>(dayOfYear - (153 * month + 2) / 5 + 1);
    const int civilMonth = static_cast<int>(month < 10 ? month + 3 : month - 9);
    return {yearOfEra + era * 400 + (civilMonth <= 2), civilMonth, day};
}

/** Sunday is 0. */
constexpr int weekday(std::int64_t days) {
    return static_cast<int>(floorMod(days + 4, 7));
}

/** The time of day in a struct tm, whatever numbers are in it. */
constexpr std::int64_t secondsInDayOf(const std::tm& tm) {
    return std::int64_t{tm.tm_hour} * 3600 + std::int64_t{tm.tm_min} * 60 + tm.tm_sec;
}

/** What stands in a struct tm, as seconds since 1970 if it were UTC. Its month may be out of range. */
constexpr std::int64_t secondsFrom(const std::tm& tm) {
    const std::int64_t year = std::int64_t{tm.tm_year} + 1900 + floorDiv(tm.tm_mon, 12);
    const std::int64_t days = daysFrom({year, static_cast<int>(floorMod(tm.tm_mon, 12)) + 1, 1}) + tm.tm_mday - 1;
    return days * secondsInDay + secondsInDayOf(tm);
}

/** Take seconds apart. The fields of the time zone and of summer time stay as they are. */
inline void decode(std::tm& tm, std::int64_t seconds) {
    const std::int64_t days = floorDiv(seconds, secondsInDay);
    const int rest = static_cast<int>(seconds - days * secondsInDay);
    const Date date = dateFrom(days);
    tm.tm_year = static_cast<int>(date.year - 1900);
    tm.tm_mon = date.month - 1;
    tm.tm_mday = date.day;
    tm.tm_hour = rest / 3600;
    tm.tm_min = rest / 60 % 60;
    tm.tm_sec = rest % 60;
    tm.tm_wday = weekday(days);
    tm.tm_yday = static_cast<int>(days - daysFrom({date.year, 1, 1}));
}

} // namespace mpr::base
