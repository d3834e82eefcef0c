// SPDX-License-Identifier: MIT
/*
    time_text.hpp - A date while it is read: the text, and what it has said so far.

    The text is read from left to right as a sequence of items: a date, a time of day, a zone, a word. What an item is follows
    from its first characters. Each may come once. Items of protocols are in time_parse.cpp, people's in time_people.cpp.
 */
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "mpr/base/ascii.hpp"
#include "mpr/base/names.hpp"
#include "mpr/base/part.hpp"
#include "mpr/time.h"

namespace mpr::base {

inline constexpr std::int64_t greatestYear = 200'000'000; // that MprTime can say, and then some

struct TimeText {
    struct Number {
        std::int64_t value;
        int digits;
    };

    explicit TimeText(const char* text) : at(text) {}

    bool hasDate() const { return hasYear || hasMonth || hasDay; }
    /** Whether only amounts were given, so that the present counts to the millisecond. */
    bool keepsMs() const { return !hasTime && !hasDate() && !midnight; }

    /** Step over blanks, commas and what stands in parentheses; one that is not closed reads as the end. */
    void skip() {
        for (;;) {
            if (*at == '(') {
                while (*at != '\0' && *at != ')') {
                    ++at;
                }
                if (*at == '\0') {
                    return;
                }
                ++at;
            } else if (*at == ' ' || *at == '\t' || *at == ',' || *at == '\n' || *at == '\r') {
                ++at;
            } else {
                return;
            }
        }
    }
    void skipSpaces() {
        while (*at == ' ') {
            ++at;
        }
    }
    bool take(char c) {
        if (*at != c) {
            return false;
        }
        ++at;
        return true;
    }
    bool takeBeforeDigit(char c) { return *at == c && isDigit(at[1]) && take(c); }

    /** More digits than a date can have make the number invalid: digits is then -1. */
    Number number() {
        Number n{0, 0};
        for (; isDigit(*at); ++at) {
            if (n.digits >= 0) {
                n.value = n.value * 10 + (*at - '0');
                n.digits = n.digits < 15 ? n.digits + 1 : -1;
            }
        }
        return n;
    }
    bool number(int least, int most, int& value) {
        const Number n = number();
        value = static_cast<int>(n.value);
        return n.digits >= least && n.digits <= most;
    }
    std::string_view word() {
        const char* start = at;
        while (isLetter(*at)) {
            ++at;
        }
        return {start, static_cast<std::size_t>(at - start)};
    }

    bool setYear(std::int64_t value, int digits) {
        if (hasYear || digits < 1) {
            return false;
        }
        hasYear = true;
        year = digits > 2 ? value : value < 69 ? value + 2000 : value + 1900;
        return year <= greatestYear;
    }
    bool setMonth(std::int64_t value) {
        if (hasMonth || value < 1 || value > 12) {
            return false;
        }
        hasMonth = true;
        month = static_cast<int>(value);
        return true;
    }
    bool setDay(std::int64_t value) {
        if (hasDay || value < 1 || value > 31) {
            return false;
        }
        hasDay = true;
        day = static_cast<int>(value);
        return true;
    }
    bool setZone(int minutes) {
        if (hasZone) {
            return false;
        }
        hasZone = true;
        zone = minutes;
        return true;
    }
    bool setTime(std::int64_t h, std::int64_t m, std::int64_t s) {
        if (hasTime || h > 24 || m > 59 || s > 60 || (h == 24 && (m > 0 || s > 0))) {
            return false;
        }
        hasTime = true;
        hour = static_cast<int>(h);
        minute = static_cast<int>(m);
        second = static_cast<int>(s);
        return true;
    }

    const char* at;
    bool hasYear = false, hasMonth = false, hasDay = false, hasTime = false, hasZone = false, hasWeekday = false;
    std::int64_t year = 0;
    int month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0, zone = 0;
    bool isEpoch = false; // seconds since 1970, and nothing else
    std::int64_t epochMs = 0;

    // Of people's items:
    bool midnight = false; // of the day that a word names
    bool half = false;     // am or pm
    std::int64_t addedMs = 0, addedDays = 0, addedMonths = 0;
    std::int64_t lastMs = 0, lastDays = 0, lastMonths = 0; // the last amount, which "ago" turns round
};

/** What became of an item. */
enum class Item { taken, wrong, other };

/** Take an item that is people's, of no protocol. @return other when it is none of theirs: nothing is taken then. */
Item takePeoples(TimeText& text);

} // namespace mpr::base
