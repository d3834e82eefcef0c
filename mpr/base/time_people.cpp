// SPDX-License-Identifier: MIT
/*
    time_people.cpp - Dates as people write them: 11/21/2026, 6 pm, tomorrow, 2 days ago. What is not in any
    protocol, and may be left out of a build (MPR_PEOPLE_TIMES) for its kilobytes.
 */
#include <utility>

#include "mpr/base/time_text.hpp"

namespace mpr::base {

namespace {

struct Unit {
    std::string_view name;
    std::int64_t ms; // or, for what follows the calendar:
    int days;
    int months;
};
constexpr Unit units[] = {
    {"ms", 1, 0, 0},       {"s", 1000, 0, 0},       {"sec", 1000, 0, 0},     {"second", 1000, 0, 0},
    {"m", 60000, 0, 0},    {"min", 60000, 0, 0},    {"minute", 60000, 0, 0}, {"h", 3600000, 0, 0},
    {"hr", 3600000, 0, 0}, {"hour", 3600000, 0, 0}, {"d", 0, 1, 0},          {"day", 0, 1, 0},
    {"w", 0, 7, 0},        {"week", 0, 7, 0},       {"month", 0, 0, 1},      {"y", 0, 0, 12},
    {"yr", 0, 0, 12},      {"year", 0, 0, 12},
};

constexpr std::int64_t greatestAmount = 100'000'000'000;

const Unit* findUnit(std::string_view word) {
    for (const Unit& unit : units) {
        const bool plural = unit.name.size() > 1 && unit.name != "ms" && word.size() == unit.name.size() + 1 &&
                            lower(word.back()) == 's' && same(part(word, 0, word.size() - 1), unit.name);
        if (plural || same(word, unit.name)) {
            return &unit;
        }
    }
    return nullptr;
}

Item wrongUnless(bool good) {
    return good ? Item::taken : Item::wrong;
}

/** Sums stay where no later calculation can overflow. */
bool advance(TimeText& text, std::int64_t ms, std::int64_t days, std::int64_t months) {
    const auto within = [](std::int64_t& sum, std::int64_t term, std::int64_t most) {
        sum += term;
        return sum >= -most && sum <= most;
    };
    return within(text.addedMs, ms, 1'000'000'000'000'000'000) && within(text.addedDays, days, 400 * greatestYear) &&
           within(text.addedMonths, months, 12 * greatestYear);
}

bool addAmount(TimeText& text, const Unit& unit, std::int64_t value) {
    if (value < -greatestAmount || value > greatestAmount) {
        return false;
    }
    text.lastMs = value * unit.ms;
    text.lastDays = value * unit.days;
    text.lastMonths = value * unit.months;
    return advance(text, text.lastMs, text.lastDays, text.lastMonths);
}

bool takeAgo(TimeText& text) {
    const bool any = text.lastMs != 0 || text.lastDays != 0 || text.lastMonths != 0;
    const bool good = advance(text, -2 * text.lastMs, -2 * text.lastDays, -2 * text.lastMonths);
    text.lastMs = text.lastDays = text.lastMonths = 0;
    return any && good;
}

/** 11/21/2026, 21/11/2026, 2026/11/21, behind the first number. */
bool takeSlashes(TimeText& text, TimeText::Number first) {
    int second, third;
    text.take('/');
    if (!text.number(1, 2, second) || !text.take('/')) {
        return false;
    }
    if (first.digits > 2) {
        return text.setYear(first.value, first.digits) && text.setMonth(second) && text.number(1, 2, third) &&
               text.setDay(third);
    }
    const bool dayFirst = first.value > 12;
    const TimeText::Number year = text.number();
    return text.setMonth(dayFirst ? second : first.value) && text.setDay(dayFirst ? first.value : second) &&
           (year.digits == 2 || year.digits == 4) && text.setYear(year.value, year.digits);
}

/** 21.11.2026 or 21-11-2026, behind the day. */
bool takeDayFirst(TimeText& text, TimeText::Number day, char between) {
    int month;
    text.take(between);
    const bool good = text.setDay(day.value) && text.number(1, 2, month) && text.setMonth(month) && text.take(between);
    const TimeText::Number year = text.number();
    return good && (year.digits == 4 || (year.digits == 2 && between == '.')) && text.setYear(year.value, year.digits);
}

/** am or pm behind a time. */
bool setHalf(TimeText& text, bool am) {
    if (!text.hasTime || text.half || text.hour < 1 || text.hour > 12) {
        return false;
    }
    text.half = true;
    text.hour = text.hour % 12 + (am ? 0 : 12);
    return true;
}

/** A sign is that of an amount: any other is a zone's. */
Item takeNumber(TimeText& text, bool isSigned, bool negative) {
    const TimeText::Number n = text.number();
    if (n.digits < 1) {
        return isSigned ? Item::other : Item::wrong;
    }
    if (const bool hasDay = n.digits <= 2; !isSigned && (*text.at == '/' || *text.at == '.' || *text.at == '-')) {
        switch (*text.at) {
        case '/': return wrongUnless(takeSlashes(text, n));
        case '.': return wrongUnless(hasDay && takeDayFirst(text, n, '.'));
        default:
            if (hasDay && isDigit(text.at[1])) {
                return wrongUnless(takeDayFirst(text, n, '-'));
            }
            return Item::other;
        }
    }
    const bool joined = isLetter(*text.at);
    text.skipSpaces();
    const std::string_view word = text.word();
    if (const Unit* unit = findUnit(word)) {
        return wrongUnless(addAmount(text, *unit, negative ? -n.value : n.value));
    }
    if (isSigned || n.digits > 2) {
        return Item::other;
    }
    if (same(word, "am") || same(word, "pm")) {
        return wrongUnless(text.setTime(n.value, 0, 0) && setHalf(text, same(word, "am")));
    }
    if (joined && (same(word, "st") || same(word, "nd") || same(word, "rd") || same(word, "th"))) {
        return wrongUnless(text.setDay(n.value));
    }
    return Item::other;
}

Item takeWord(TimeText& text) {
    const std::string_view word = text.word();
    if (same(word, "ago")) {
        return wrongUnless(takeAgo(text));
    }
    if (same(word, "am") || same(word, "pm")) {
        return wrongUnless(setHalf(text, same(word, "am")));
    }
    if (same(word, "today") || same(word, "yesterday") || same(word, "tomorrow")) {
        const int days = same(word, "today") ? 0 : same(word, "tomorrow") ? 1 : -1;
        return wrongUnless(!std::exchange(text.midnight, true) && advance(text, 0, days, 0));
    }
    const bool nothing = same(word, "now") || same(word, "at") || same(word, "on") || same(word, "in");
    return nothing ? Item::taken : Item::other;
}
} // namespace

Item takePeoples(TimeText& text) {
    const char* const start = text.at;
    Item item = Item::other;
    if (isLetter(*text.at)) {
        item = takeWord(text);
    } else if (isDigit(*text.at)) {
        item = takeNumber(text, false, false);
    } else if (*text.at == '+' || *text.at == '-') {
        const bool negative = *text.at++ == '-';
        text.skipSpaces();
        item = takeNumber(text, true, negative);
    }
    if (item == Item::other) {
        text.at = start;
    }
    return item;
}

} // namespace mpr::base
