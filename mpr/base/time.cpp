// SPDX-License-Identifier: MIT
/*
    time.cpp - Clocks, and times taken apart.
 */
#include "mpr/time.h"

#include "mpr/base/calendar.hpp"
#include "mpr/base/zone.hpp"
#include "mpr/os/os.hpp"

namespace mpr::base {

namespace {
/** A moment that a 32-bit time_t can say, in a year of the same form (weekdays and leap day): of its zone one may assume
    that it follows today's rules. */
std::int64_t withinTimeT(std::int64_t seconds) {
    const std::int64_t days = floorDiv(seconds, secondsInDay);
    const Date date = dateFrom(days);
    const std::int64_t newYear = daysFrom({date.year, 1, 1});
    std::int64_t year = 2009; // 28 years have all forms
    while (isLeap(year) != isLeap(date.year) || weekday(daysFrom({year, 1, 1})) != weekday(newYear)) {
        ++year;
    }
    return seconds + (daysFrom({year, 1, 1}) - newYear) * secondsInDay;
}
} // namespace

Zone zoneAt(std::int64_t seconds) {
    if (static_cast<std::time_t>(seconds) != seconds) {
        seconds = withinTimeT(seconds);
    }
    const auto time = static_cast<std::time_t>(seconds);
    std::tm tm{};
    if (!localtime_r(&time, &tm)) {
        return {0, false, "GMT"};
    }
    return {tm.tm_gmtoff, tm.tm_isdst > 0, tm.tm_zone ? tm.tm_zone : ""};
}

std::int64_t utcFromLocal(std::int64_t seconds) {
    // The zone a day before and after is that of either side of a change nearby.
    const std::int64_t before = seconds - zoneAt(seconds - secondsInDay).offset;
    const std::int64_t after = seconds - zoneAt(seconds + secondsInDay).offset;
    if (zoneAt(before).offset == seconds - before) {
        return before;
    }
    if (zoneAt(after).offset == seconds - after) {
        return after;
    }
    return before; // left out: the clock had been put forward
}

} // namespace mpr::base

using namespace mpr::base;
namespace os = mpr::os;

MprTicks mprGetTicks(void) {
    return static_cast<MprTicks>(os::now() / 1'000'000u);
}

uint64 mprGetHiResTicks(void) {
    return os::now();
}

MprTicks mprGetElapsedTicks(MprTicks mark) {
    return mprGetTicks() - mark;
}

MprTicks mprGetRemainingTicks(MprTicks mark, MprTicks timeout) {
    MprTicks left;
    // A timeout of "for ever" is the largest number there is.
    return __builtin_sub_overflow(timeout, mprGetElapsedTicks(mark), &left) ? timeout : left;
}

MprTime mprGetTime(void) {
    return os::wallTime();
}

MprTime mprGetElapsedTime(MprTime mark) {
    return mprGetTime() - mark;
}

int mprCompareTime(MprTime t1, MprTime t2) {
    return (t1 > t2) - (t1 < t2);
}

void mprDecodeLocalTime(struct tm* timep, MprTime time) {
    if (timep) {
        const std::int64_t seconds = floorDiv(time, 1000);
        const Zone zone = zoneAt(seconds);
        *timep = {};
        decode(*timep, seconds + zone.offset);
        timep->tm_isdst = zone.summer;
        timep->tm_gmtoff = static_cast<long>(zone.offset);
        timep->tm_zone = zone.name;
    }
}

void mprDecodeUniversalTime(struct tm* timep, MprTime time) {
    if (timep) {
        *timep = {};
        decode(*timep, floorDiv(time, 1000));
        timep->tm_zone = "GMT";
    }
}

namespace {
/** The nearest time that can be said. */
MprTime timeFrom(std::int64_t seconds) {
    MprTime time;
    return __builtin_mul_overflow(seconds, 1000, &time) ? (seconds < 0 ? INT64_MIN : INT64_MAX) : time;
}
} // namespace

MprTime mprMakeTime(struct tm* timep) {
    return timep ? timeFrom(utcFromLocal(secondsFrom(*timep))) : 0;
}

MprTime mprMakeUniversalTime(struct tm* timep) {
    return timep ? timeFrom(secondsFrom(*timep)) : 0;
}

int mprGetTimeZoneOffset(MprTime when) {
    return static_cast<int>(zoneAt(floorDiv(when, 1000)).offset * 1000);
}
