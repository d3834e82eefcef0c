// SPDX-License-Identifier: MIT
/*
    time_parse.cpp - Dates read from text: the forms of protocols, RFC 822, 850 and 1123, asctime and ISO 8601, and
    what comes of all that was read. At the end what was not said is taken from the defaults or the present.
 */
#include "mpr/base/time_parse.hpp"

#include <utility>

#include "mpr/base/calendar.hpp"
#include "mpr/base/time_text.hpp"
#include "mpr/base/zone.hpp"

namespace mpr::base {

namespace {

/** The index of a name of which a word is the first three letters or more, or -1. */
template <std::size_t count>
int nameIndex(const std::string_view (&names)[count], std::string_view word) {
    for (std::size_t i = 0; i < count; ++i) {
        if (word.size() >= 3 && same(part(names[i], 0, word.size()), word)) {
            return static_cast<int>(i);
        }
    }
    return same(word, "sept") && count == 12 ? 8 : -1;
}

struct NamedZone {
    std::string_view name;
    int minutes;
};
constexpr NamedZone zones[] = {
    {"z", 0},      {"ut", 0},     {"utc", 0},    {"gmt", 0},    {"est", -300}, {"edt", -240}, {"cst", -360},
    {"cdt", -300}, {"mst", -420}, {"mdt", -360}, {"pst", -480}, {"pdt", -420}, {"cet", 60},   {"cest", 120},
};

/** Behind seconds: milliseconds and finer, which are cut. */
void takeFraction(TimeText& text) {
    if (text.takeBeforeDigit('.') || text.takeBeforeDigit(',')) {
        for (int weight = 100; isDigit(*text.at); ++text.at, weight /= 10) {
            text.ms += (*text.at - '0') * weight;
        }
    }
}

/** At the colon behind an hour. */
bool takeClock(TimeText& text, std::int64_t hour) {
    int minute, second = 0;
    text.take(':');
    if (!text.number(2, 2, minute)) {
        return false;
    }
    if (text.take(':')) {
        if (!text.number(2, 2, second)) {
            return false;
        }
        takeFraction(text);
    }
    return text.setTime(hour, minute, second);
}

/** ISO 8601 without colons, behind the T: hhmm or hhmmss. */
bool takeCompactClock(TimeText& text) {
    const TimeText::Number n = text.number();
    if (n.digits == 6) {
        takeFraction(text);
        return text.setTime(n.value / 10000, n.value / 100 % 100, n.value % 100);
    }
    if (n.digits == 4) {
        return text.setTime(n.value / 100, n.value % 100, 0);
    }
    return n.digits == 2 && *text.at == ':' && takeClock(text, n.value);
}

/** 2026-11-21, 21-Nov-26, behind the first number. */
bool takeDashes(TimeText& text, TimeText::Number first) {
    text.take('-');
    if (isLetter(*text.at)) {
        const int month = nameIndex(monthNames, text.word());
        const bool good = first.digits <= 2 && text.setDay(first.value) && text.setMonth(month + 1) && text.take('-');
        const TimeText::Number year = text.number();
        return good && text.setYear(year.value, year.digits);
    }
    int month, day = 1;
    if (first.digits <= 2 || !text.number(1, 2, month) || (text.take('-') && !text.number(1, 2, day))) {
        return false;
    }
    if (!text.setYear(first.value, first.digits) || !text.setMonth(month) || !text.setDay(day)) {
        return false;
    }
    if (lower(*text.at) == 't' && isDigit(text.at[1])) {
        ++text.at;
        int hour;
        return text.number(2, 2, hour) && *text.at == ':' && takeClock(text, hour);
    }
    return true;
}

/** A number that nothing is joined to. */
bool takePlain(TimeText& text, TimeText::Number n) {
    if (n.digits == 8 && !text.hasDate()) {
        const bool good =
            text.setYear(n.value / 10000, 4) && text.setMonth(n.value / 100 % 100) && text.setDay(n.value % 100);
        if (good && lower(*text.at) == 't' && isDigit(text.at[1])) {
            ++text.at;
            return takeCompactClock(text);
        }
        return good;
    }
    if (n.digits <= 2 && !text.hasDay) {
        return text.setDay(n.value);
    }
    return text.hasMonth && (n.digits == 2 || n.digits == 4) && text.setYear(n.value, n.digits);
}

bool takeNumber(TimeText& text) {
    const TimeText::Number n = text.number();
    if (n.digits < 0) {
        return false;
    }
    switch (*text.at) {
    case ':': return n.digits <= 2 && takeClock(text, n.value);
    case '-': return takeDashes(text, n);
    case '/':
    case '.': return false;
    default: return takePlain(text, n);
    }
}

/** +01:00, +0100 or +01. */
bool takeZone(TimeText& text) {
    const int sign = *text.at++ == '-' ? -1 : 1;
    text.skipSpaces();
    const TimeText::Number n = text.number();
    if (n.digits == 4) {
        return n.value / 100 <= 24 && n.value % 100 < 60 &&
               text.setZone(sign * static_cast<int>(n.value / 100 * 60 + n.value % 100));
    }
    int minutes = 0;
    if (n.digits != 2 || (text.take(':') && !text.number(2, 2, minutes))) {
        return false;
    }
    return n.value <= 24 && minutes < 60 && text.setZone(sign * static_cast<int>(n.value * 60 + minutes));
}

/** Seconds since 1970, behind the @: there may be nothing else. */
bool takeEpoch(TimeText& text) {
    const int sign = text.take('-') ? -1 : 1;
    const TimeText::Number n = text.number();
    if (n.digits < 1) {
        return false;
    }
    takeFraction(text);
    text.isEpoch = true;
    text.epochMs = sign * (n.value * 1000 + text.ms);
    text.skip();
    return *text.at == '\0';
}

bool takeName(TimeText& text) {
    const std::string_view word = text.word();
    if (const int month = nameIndex(monthNames, word); month >= 0) {
        return text.setMonth(month + 1);
    }
    if (nameIndex(weekdayNames, word) >= 0) {
        return !std::exchange(text.hasWeekday, true);
    }
    for (const NamedZone& zone : zones) {
        if (same(word, zone.name)) {
            return text.setZone(zone.minutes);
        }
    }
    return same(word, "t") && isDigit(*text.at);
}

bool takeItem(TimeText& text) {
    if constexpr (peopleTimes) {
        if (const Item item = takePeoples(text); item != Item::other) {
            return item == Item::taken;
        }
    }
    if (isDigit(*text.at)) {
        return takeNumber(text);
    }
    if (*text.at == '+' || *text.at == '-') {
        return takeZone(text);
    }
    return text.take('@') ? takeEpoch(text) : isLetter(*text.at) && takeName(text);
}

/** @return Whether the text is a date. */
bool parse(TimeText& text) {
    bool any = false;
    for (;;) {
        text.skip();
        if (*text.at == '\0') {
            return any;
        }
        const bool zone = text.hasZone, weekday = text.hasWeekday;
        if (!takeItem(text) || (any && text.isEpoch)) {
            return false;
        }
        any = any || (text.hasZone == zone && text.hasWeekday == weekday); // these alone say no time
    }
}

/** The date that was meant, without what is added to it. @return false when there is no such date. */
bool dateOf(const TimeText& text, const tm* defaults, Date today, Date& date) {
    date = today;
    if (defaults && !text.midnight) {
        // Nobody need have filled the fields in; and any number may be in them.
        const std::int64_t month = std::int64_t{defaults->tm_mon} + 1;
        date = {std::int64_t{defaults->tm_year} + 1900, static_cast<int>(month < 1 || month > 12 ? 0 : month),
                std::max(defaults->tm_mday, 1)};
    }
    date.year = text.hasYear ? text.year : date.year;
    date.month = text.hasMonth ? text.month : date.month;
    date.day = text.hasDay ? text.day : (text.hasMonth && !defaults) ? 1 : date.day;
    return !(text.midnight && text.hasDate()) && date.month >= 1 &&
           (!text.hasDay || date.day <= daysInMonth(date.year, date.month));
}

/** @param now The present in the zone that holds where the text has none. */
std::int64_t localSeconds(const TimeText& text, const tm* defaults, std::int64_t now, bool& valid) {
    Date date;
    valid = dateOf(text, defaults, dateFrom(floorDiv(now, secondsInDay)), date);
    if (!valid) {
        return 0;
    }
    const std::int64_t months = date.year * 12 + date.month - 1 + text.addedMonths;
    date.year = floorDiv(months, 12);
    date.month = static_cast<int>(floorMod(months, 12)) + 1;
    date.day = std::min(date.day, daysInMonth(date.year, date.month));

    std::int64_t ofDay = 0;
    if (text.hasTime) {
        ofDay = text.hour * 3600 + text.minute * 60 + text.second;
    } else if (defaults && !text.midnight) {
        ofDay = secondsInDayOf(*defaults);
    } else if (text.keepsMs()) {
        ofDay = floorMod(now, secondsInDay);
    }
    return (daysFrom(date) + text.addedDays) * secondsInDay + ofDay;
}
} // namespace

int parseTime(MprTime& time, const char* text, int zone, const tm* defaults, MprTime now) {
    TimeText read(text);
    if (!parse(read)) {
        return MPR_ERR_BAD_SYNTAX;
    }
    if (read.isEpoch) {
        time = read.epochMs;
        return 0;
    }
    const bool local = !read.hasZone && zone == MPR_LOCAL_TIMEZONE;
    const std::int64_t present = floorDiv(now, 1000);
    const std::int64_t offset = local ? zoneAt(present).offset : std::int64_t{read.hasZone ? read.zone : zone} * 60;
    bool valid = false;
    const std::int64_t seconds = localSeconds(read, defaults, present + offset, valid);
    if (!valid) {
        return MPR_ERR_BAD_SYNTAX;
    }
    const std::int64_t utc = local ? utcFromLocal(seconds) : seconds - offset;
    const bool exact = read.keepsMs() && !defaults;
    const std::int64_t ms = exact ? floorMod(now, 1000) : read.ms;
    MprTime result;
    if (__builtin_mul_overflow(utc, std::int64_t{1000}, &result) || __builtin_add_overflow(result, ms, &result) ||
        __builtin_add_overflow(result, read.addedMs, &result)) {
        return MPR_ERR_BAD_SYNTAX;
    }
    time = result;
    return 0;
}

} // namespace mpr::base

int mprParseTime(MprTime* time, cchar* dateString, int zone, struct tm* defaults) {
    if (!time || !dateString) {
        return MPR_ERR_BAD_ARGS;
    }
    return mpr::base::parseTime(*time, dateString, zone, defaults, mprGetTime());
}
