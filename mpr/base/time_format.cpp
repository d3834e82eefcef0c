// SPDX-License-Identifier: MIT
/*
    time_format.cpp - Dates as text: strftime in the C locale, without its limits, and with milliseconds.
 */
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "mpr/base/calendar.hpp"
#include "mpr/base/names.hpp"
#include "mpr/base/part.hpp"
#include "mpr/memory.h"
#include "mpr/time.h"

namespace mpr::base {

namespace {

/** Writes what fits and counts what does not. */
class Formatter {
public:
    Formatter(char* buffer, std::size_t room, const std::tm& tm, int ms) : at_(buffer), room_(room), tm_(tm), ms_(ms) {}

    void expand(const char* format) {
        for (; *format != '\0'; ++format) {
            if (*format != '%') {
                put(*format);
                continue;
            }
            const char* start = format++;
            while (*format == 'E' || *format == 'O') {
                ++format;
            }
            if (*format == '\0' || !convert(*format)) {
                const std::size_t length = static_cast<std::size_t>(format - start) + (*format != '\0');
                put(std::string_view(start, length));
                if (*format == '\0') {
                    return;
                }
            }
        }
    }

    std::size_t length() const { return length_; }

private:
    void put(char c) {
        if (length_ < room_) {
            at_[length_] = c;
        }
        ++length_;
    }
    void put(std::string_view text) {
        for (const char c : text) {
            put(c);
        }
    }
    void number(std::int64_t value, int width, char pad = '0') {
        char digits[20];
        int count = 0;
        if (value < 0) {
            put('-');
        }
        for (std::uint64_t rest = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
             rest != 0 || count == 0; rest /= 10) {
            digits[count++] = static_cast<char>('0' + rest % 10);
        }
        for (int i = count; i < width; ++i) {
            put(pad);
        }
        while (count > 0) {
            put(digits[--count]);
        }
    }
    template <std::size_t count>
    void name(const std::string_view (&names)[count], int index, std::size_t length) {
        put(index >= 0 && index < static_cast<int>(count) ? part(names[index], 0, length) : std::string_view("?"));
    }
    void zoneOffset() {
        const long minutes = tm_.tm_gmtoff / 60;
        put(minutes < 0 ? '-' : '+');
        number(std::labs(minutes) / 60, 2);
        number(std::labs(minutes) % 60, 2);
    }

    /** Seconds since 1970; of a zone that is no zone, as if it were UTC. */
    std::int64_t universal() const {
        std::int64_t seconds;
        const bool zone = !__builtin_sub_overflow(secondsFrom(tm_), tm_.tm_gmtoff, &seconds);
        return zone ? seconds : secondsFrom(tm_);
    }
    std::int64_t year() const { return std::int64_t{tm_.tm_year} + 1900; }
    int hour12() const { return tm_.tm_hour % 12 == 0 ? 12 : tm_.tm_hour % 12; }
    /** Week of the year, the first of which begins with the first day of the kind given (0: Sunday). */
    std::int64_t week(int firstDay) const { return (yearDay() + 7 - (weekDay() + 7 - firstDay) % 7) / 7; }
    // Any number may stand in a struct tm: nothing is added to an int.
    std::int64_t yearDay() const { return tm_.tm_yday; }
    std::int64_t weekDay() const { return tm_.tm_wday; }

    /** ISO 8601: a week belongs to the year of its Thursday. */
    struct IsoWeek {
        std::int64_t year;
        int week;
    };
    IsoWeek isoWeek() const {
        const std::int64_t newYear = daysFrom({year(), 1, 1});
        const std::int64_t thursday = newYear + yearDay() - (weekDay() + 6) % 7 + 3;
        const std::int64_t itsYear = dateFrom(thursday).year;
        return {itsYear, static_cast<int>((thursday - daysFrom({itsYear, 1, 1})) / 7) + 1};
    }

    bool convert(char c) { return convertDate(c) || convertTime(c) || convertOther(c); }

    bool convertDate(char c) {
        switch (c) {
        case 'A': name(weekdayNames, tm_.tm_wday, 9); return true;
        case 'a': name(weekdayNames, tm_.tm_wday, 3); return true;
        case 'B': name(monthNames, tm_.tm_mon, 9); return true;
        case 'b':
        case 'h': name(monthNames, tm_.tm_mon, 3); return true;
        case 'C': number(floorDiv(year(), 100), 2); return true;
        case 'd': number(tm_.tm_mday, 2); return true;
        case 'e': number(tm_.tm_mday, 2, ' '); return true;
        case 'G': number(isoWeek().year, 4); return true;
        case 'g': number(floorMod(isoWeek().year, 100), 2); return true;
        case 'j': number(yearDay() + 1, 3); return true;
        case 'm': number(std::int64_t{tm_.tm_mon} + 1, 2); return true;
        case 'U': number(week(0), 2); return true;
        case 'u': number(tm_.tm_wday == 0 ? 7 : tm_.tm_wday, 1); return true;
        case 'V': number(isoWeek().week, 2); return true;
        case 'W': number(week(1), 2); return true;
        case 'w': number(tm_.tm_wday, 1); return true;
        case 'Y': number(year(), 4); return true;
        case 'y': number(floorMod(year(), 100), 2); return true;
        default: return false;
        }
    }

    bool convertTime(char c) {
        switch (c) {
        case 'f': number(ms_, 3); return true;
        case 'H': number(tm_.tm_hour, 2); return true;
        case 'I': number(hour12(), 2); return true;
        case 'k': number(tm_.tm_hour, 2, ' '); return true;
        case 'l': number(hour12(), 2, ' '); return true;
        case 'M': number(tm_.tm_min, 2); return true;
        case 'P': put(std::string_view(tm_.tm_hour < 12 ? "am" : "pm")); return true;
        case 'p': put(std::string_view(tm_.tm_hour < 12 ? "AM" : "PM")); return true;
        case 'S': number(tm_.tm_sec, 2); return true;
        case 's': number(universal(), 1); return true;
        case 'Z': put(std::string_view(tm_.tm_zone ? tm_.tm_zone : "GMT")); return true;
        case 'z': zoneOffset(); return true;
        default: return false;
        }
    }

    bool convertOther(char c) {
        switch (c) {
        case 'c': expand("%a %b %e %H:%M:%S %Y"); return true;
        case 'D':
        case 'x': expand("%m/%d/%y"); return true;
        case 'F': expand("%Y-%m-%d"); return true;
        case 'R': expand("%H:%M"); return true;
        case 'r': expand("%I:%M:%S %p"); return true;
        case 'T':
        case 'X': expand("%H:%M:%S"); return true;
        case 'v': expand("%e-%b-%Y"); return true;
        case '+': expand("%a %b %e %H:%M:%S %Z %Y"); return true;
        case 'n': put('\n'); return true;
        case 't': put('\t'); return true;
        case '%': put('%'); return true;
        default: return false;
        }
    }

    char* at_;
    std::size_t room_;
    std::size_t length_ = 0;
    const std::tm& tm_;
    int ms_;
};

char* format(const char* format, const std::tm& tm, int ms) {
    if (!format) {
        format = MPR_DEFAULT_DATE;
    }
    char buffer[128];
    Formatter first(buffer, sizeof(buffer), tm, ms);
    first.expand(format);
    auto* text = static_cast<char*>(mprAlloc(first.length() + 1));
    if (!text) {
        return nullptr;
    }
    if (first.length() <= sizeof(buffer)) {
        std::memcpy(text, buffer, first.length());
    } else {
        Formatter(text, first.length(), tm, ms).expand(format);
    }
    text[first.length()] = '\0';
    return text;
}
} // namespace

} // namespace mpr::base

using namespace mpr::base;

char* mprFormatTm(cchar* fmt, struct tm* timep) {
    std::tm now;
    if (!timep) {
        mprDecodeLocalTime(&now, mprGetTime());
    }
    return format(fmt, timep ? *timep : now, 0);
}

char* mprFormatLocalTime(cchar* fmt, MprTime time) {
    std::tm tm;
    mprDecodeLocalTime(&tm, time);
    return format(fmt, tm, static_cast<int>(floorMod(time, 1000)));
}

char* mprFormatUniversalTime(cchar* fmt, MprTime time) {
    std::tm tm;
    mprDecodeUniversalTime(&tm, time);
    return format(fmt, tm, static_cast<int>(floorMod(time, 1000)));
}

char* mprGetDate(char* fmt) {
    return mprFormatLocalTime(fmt, mprGetTime());
}
