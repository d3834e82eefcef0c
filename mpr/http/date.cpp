// SPDX-License-Identifier: MIT
/*
    date.cpp - Dates in header fields. See date.hpp.

    A form is a pattern of a character per character of the date, so that nothing is read that does not stand in its
    place.
 */
#include "mpr/http/date.hpp"

#include <ctime>

#include "mpr/http/grammar.hpp"
#include "mpr/time.h"

namespace mpr::http {

namespace {

constexpr std::string_view days = "SunMonTueWedThuFriSat";
constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::string_view restOfDays[] = {"day", "day", "sday", "nesday", "rsday", "day", "urday"};

/** Which of names, three letters each, a text is; -1: none. */
int nameIn(std::string_view names, std::string_view text) {
    for (std::size_t i = 0; i < names.size(); i += 3) {
        if (cut(names, i, 3) == text) {
            return static_cast<int>(i / 3);
        }
    }
    return -1;
}

/** What a pattern found. Letters of patterns: D a digit of the day, d one or a blank, Y h m s digits of the rest; w
    and b stand for the letters of a weekday and of a month; all else for itself. */
class Reader {
public:
    bool read(std::string_view pattern, std::string_view text) {
        if (text.size() != pattern.size()) {
            return false;
        }
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (!readOne(pattern[i], text, i)) {
                return false;
            }
        }
        return month_ >= 0 && day_ >= 1 && day_ <= daysIn() && hour_ < 24 && minute_ < 60 && second_ <= 60;
    }

    void setCentury(int thisYear) {
        year_ += thisYear / 100 * 100;
        year_ += year_ > thisYear + 50 ? -100 : year_ <= thisYear - 50 ? 100 : 0;
    }

    MprTime time() const {
        std::tm parts = {};
        parts.tm_year = year_ - 1900;
        parts.tm_mon = month_;
        parts.tm_mday = day_;
        parts.tm_hour = hour_;
        parts.tm_min = minute_;
        parts.tm_sec = second_;
        return mprMakeUniversalTime(&parts);
    }

private:
    bool readOne(char kind, std::string_view text, std::size_t at) {
        switch (kind) {
        case 'w': return at > 0 || nameIn(days, cut(text, 0, 3)) >= 0;
        case 'b': month_ = month_ < 0 ? nameIn(months, cut(text, at, 3)) : month_; return month_ >= 0;
        case 'd': return text[at] == ' ' || digit(day_, text[at]);
        case 'D': return digit(day_, text[at]);
        case 'Y': return digit(year_, text[at]);
        case 'h': return digit(hour_, text[at]);
        case 'm': return digit(minute_, text[at]);
        case 's': return digit(second_, text[at]);
        default: return text[at] == kind;
        }
    }

    static bool digit(int& number, char c) {
        number = 10 * number + (c - '0');
        return isDigit(c);
    }

    int daysIn() const {
        constexpr int lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        const bool common = year_ % 4 != 0 || (year_ % 100 == 0 && year_ % 400 != 0);
        return lengths[month_] - (month_ == 1 && common && !twoDigits());
    }
    bool twoDigits() const { return year_ < 100; }

    int year_ = 0, month_ = -1, day_ = 0, hour_ = 0, minute_ = 0, second_ = 0;
};

/** RFC 850's form: the weekday is a whole word. */
bool readOldForm(Reader& reader, std::string_view text) {
    const std::string_view weekday = take(text, ',');
    const int day = nameIn(days, cut(weekday, 0, 3));
    return day >= 0 && cut(weekday, 3) == restOfDays[day] && reader.read(" DD-bbb-YY hh:mm:ss GMT", text);
}
} // namespace

void formatDate(char (&out)[dateSize], MprTime time) {
    constexpr MprTime least = -62'167'219'200'000, most = 253'402'300'799'000;
    std::tm parts;
    mprDecodeUniversalTime(&parts, time < least ? least : time > most ? most : time);
    char* at = out;
    const auto put = [&at](std::string_view text) {
        std::memcpy(at, text.data(), text.size());
        at += text.size();
    };
    const auto number = [&at](int value) {
        *at++ = static_cast<char>('0' + value / 10);
        *at++ = static_cast<char>('0' + value % 10);
    };
    put(cut(days, 3 * static_cast<std::size_t>(parts.tm_wday), 3));
    put(", ");
    number(parts.tm_mday);
    put(" ");
    put(cut(months, 3 * static_cast<std::size_t>(parts.tm_mon), 3));
    put(" ");
    number((parts.tm_year + 1900) / 100);
    number((parts.tm_year + 1900) % 100);
    put(" ");
    number(parts.tm_hour);
    put(":");
    number(parts.tm_min);
    put(":");
    number(parts.tm_sec);
    put({" GMT", sizeof(" GMT")});
}

bool parseDate(std::string_view text, MprTime now, MprTime& time) {
    Reader fixed, old, plain;
    if (fixed.read("www, DD bbb YYYY hh:mm:ss GMT", text)) {
        time = fixed.time();
    } else if (plain.read("www bbb dD hh:mm:ss YYYY", text)) {
        time = plain.time();
    } else if (readOldForm(old, text)) {
        std::tm parts;
        mprDecodeUniversalTime(&parts, now);
        old.setCentury(parts.tm_year + 1900);
        time = old.time();
    } else {
        return false;
    }
    return true;
}

} // namespace mpr::http
