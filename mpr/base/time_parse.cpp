/*
    time_parse.cpp - Dates read from text.

    The text is read from left to right as a sequence of items: a date, a time of day, a zone, a word, an amount. What an
    item is follows from its first number and the character behind it. Each may come once. At the end what was not said is
    taken from the defaults or the present.
 */
#include "mpr/base/time_parse.hpp"

#include <algorithm>
#include <utility>
#include <string_view>

#include "mpr/base/calendar.hpp"
#include "mpr/base/names.hpp"
#include "mpr/base/part.hpp"
#include "mpr/base/zone.hpp"

namespace mpr::base {

namespace {

constexpr char small(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}
constexpr bool isDigit(char c) {
    return c >= '0' && c <= '9';
}
constexpr bool isLetter(char c) {
    return small(c) >= 'a' && small(c) <= 'z';
}

bool same(std::string_view one, std::string_view other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](char a, char b) { return small(a) == small(b); });
}

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

const Unit* findUnit(std::string_view word) {
    for (const Unit& unit : units) {
        const bool plural = unit.name.size() > 1 && unit.name != "ms" && word.size() == unit.name.size() + 1 &&
                            small(word.back()) == 's' && same(part(word, 0, word.size() - 1), unit.name);
        if (plural || same(word, unit.name)) {
            return &unit;
        }
    }
    return nullptr;
}

struct NamedZone {
    std::string_view name;
    int minutes;
};
constexpr NamedZone zones[] = {
    {"z", 0},      {"ut", 0},     {"utc", 0},    {"gmt", 0},    {"est", -300}, {"edt", -240}, {"cst", -360},
    {"cdt", -300}, {"mst", -420}, {"mdt", -360}, {"pst", -480}, {"pdt", -420}, {"cet", 60},   {"cest", 120},
};

constexpr std::int64_t greatestYear = 200'000'000; // that MprTime can say, and then some
constexpr std::int64_t greatestAmount = 100'000'000'000;

class Parser {
public:
    explicit Parser(const char* text) : at_(text) {}

    bool parse() {
        for (;;) {
            skip();
            if (*at_ == '\0') {
                return any_;
            }
            if (!item()) {
                return false;
            }
            any_ = true;
        }
    }

    /** @param now The present in the zone that holds where the text has none. */
    std::int64_t localSeconds(const tm* defaults, std::int64_t now, bool& valid) const;

    bool absolute() const { return epoch_; }
    std::int64_t epochMs() const { return epochMs_; }
    bool hasZone() const { return hasZone_; }
    std::int64_t zoneSeconds() const { return std::int64_t{zone_} * 60; }
    bool keepsMs() const { return !hasTime_ && !hasDate() && !midnight_; }
    std::int64_t addedMs() const { return addedMs_; }
    int ms() const { return ms_; }

private:
    struct Number {
        std::int64_t value;
        int digits;
    };

    bool hasDate() const { return hasYear_ || hasMonth_ || hasDay_; }

    void skip() {
        for (;;) {
            if (*at_ == '(') {
                while (*at_ != '\0' && *at_ != ')') {
                    ++at_;
                }
                if (*at_ == '\0') {
                    return; // an open parenthesis reads as the end
                }
                ++at_;
            } else if (*at_ == ' ' || *at_ == '\t' || *at_ == ',' || *at_ == '\n' || *at_ == '\r') {
                ++at_;
            } else {
                return;
            }
        }
    }
    bool take(char c) {
        if (*at_ != c) {
            return false;
        }
        ++at_;
        return true;
    }
    bool takeBeforeDigit(char c) { return *at_ == c && isDigit(at_[1]) && take(c); }

    /** More digits than a date can have make the number invalid: digits is then -1. */
    Number number() {
        Number n{0, 0};
        for (; isDigit(*at_); ++at_) {
            if (n.digits >= 0) {
                n.value = n.value * 10 + (*at_ - '0');
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
        const char* start = at_;
        while (isLetter(*at_)) {
            ++at_;
        }
        return {start, static_cast<std::size_t>(at_ - start)};
    }
    /** What a word would be from here on, behind spaces; nothing is taken. */
    std::string_view peekWord() {
        const char* start = at_;
        while (*at_ == ' ') {
            ++at_;
        }
        const std::string_view found = word();
        at_ = start;
        return found;
    }

    bool setYear(std::int64_t year, int digits) {
        if (hasYear_ || digits < 1) {
            return false;
        }
        hasYear_ = true;
        year_ = digits > 2 ? year : year < 69 ? year + 2000 : year + 1900;
        return year_ <= greatestYear;
    }
    bool setMonth(std::int64_t month) {
        if (hasMonth_ || month < 1 || month > 12) {
            return false;
        }
        hasMonth_ = true;
        month_ = static_cast<int>(month);
        return true;
    }
    bool setDay(std::int64_t day) {
        if (hasDay_ || day < 1 || day > 31) {
            return false;
        }
        hasDay_ = true;
        day_ = static_cast<int>(day);
        return true;
    }
    bool setZone(int minutes) {
        if (hasZone_) {
            return false;
        }
        hasZone_ = true;
        zone_ = minutes;
        return true;
    }
    bool setTime(int hour, int minute, int second) {
        if (hasTime_ || hour > 24 || minute > 59 || second > 60 || (hour == 24 && (minute > 0 || second > 0))) {
            return false;
        }
        hasTime_ = true;
        hour_ = hour;
        minute_ = minute;
        second_ = second;
        return true;
    }

    bool item() {
        if (isDigit(*at_)) {
            return numeric(1);
        }
        if (*at_ == '+' || *at_ == '-') {
            return signedItem();
        }
        if (take('@')) {
            return epoch();
        }
        return isLetter(*at_) && named(word());
    }

    bool numeric(int sign);
    bool dashed(Number first);
    bool slashed(Number first);
    bool clock(int hour);
    bool compactClock();
    bool halfDay();
    void fraction();
    bool plain(Number n);
    bool amount(std::int64_t value, int sign);
    bool signedItem();
    bool epoch();
    bool named(std::string_view text);
    bool nearDay(int days) { return !std::exchange(midnight_, true) && advance(0, days, 0); }
    bool advance(std::int64_t ms, std::int64_t days, std::int64_t months);

    const char* at_;
    bool any_ = false;
    bool hasYear_ = false, hasMonth_ = false, hasDay_ = false, hasTime_ = false, hasZone_ = false, hasWeekday_ = false;
    bool midnight_ = false; // of the day that a word names
    bool epoch_ = false;
    std::int64_t year_ = 0;
    int month_ = 0, day_ = 0, hour_ = 0, minute_ = 0, second_ = 0, ms_ = 0, zone_ = 0;
    std::int64_t addedMs_ = 0, addedDays_ = 0, addedMonths_ = 0;
    std::int64_t lastMs_ = 0, lastDays_ = 0, lastMonths_ = 0; // the last amount, which "ago" turns round
    std::int64_t epochMs_ = 0;
};

bool Parser::numeric(int sign) {
    const Number n = number();
    if (n.digits < 0) {
        return false;
    }
    if (const Unit* unit = findUnit(peekWord()); unit || sign < 0) {
        return amount(n.value, sign);
    }
    switch (*at_) {
    case ':': return n.digits <= 2 && clock(static_cast<int>(n.value));
    case '-': return dashed(n);
    case '/': return slashed(n);
    case '.':
        if (n.digits <= 2 && take('.')) {
            int month;
            return setDay(n.value) && number(1, 2, month) && setMonth(month) && take('.') && slashed(Number{-1, 0});
        }
        return false;
    default: return plain(n);
    }
}

/** 2026-11-21, 21-11-2026, 21-Nov-26. */
bool Parser::dashed(Number first) {
    take('-');
    if (isLetter(*at_)) {
        const int month = nameIndex(monthNames, word());
        const bool good = first.digits <= 2 && setDay(first.value) && setMonth(month + 1) && take('-');
        const Number year = number();
        return good && setYear(year.value, year.digits);
    }
    int second;
    if (!number(1, 2, second)) {
        return false;
    }
    if (first.digits <= 2) {
        const bool good = setDay(first.value) && setMonth(second) && take('-');
        const Number year = number();
        return good && year.digits == 4 && setYear(year.value, year.digits);
    }
    int day = 1;
    if (take('-') && !number(1, 2, day)) {
        return false;
    }
    if (!setYear(first.value, first.digits) || !setMonth(second) || !setDay(day)) {
        return false;
    }
    if (small(*at_) == 't' && isDigit(at_[1])) {
        ++at_;
        int hour;
        return number(2, 2, hour) && *at_ == ':' && clock(hour);
    }
    return true;
}

/** 11/21/2026, 21/11/2026, 2026/11/21; with a first of no digits: the year behind "21.11." */
bool Parser::slashed(Number first) {
    if (first.digits == 0) {
        const Number year = number();
        return (year.digits == 2 || year.digits == 4) && setYear(year.value, year.digits);
    }
    int second, third;
    take('/');
    if (!number(1, 2, second) || !take('/')) {
        return false;
    }
    if (first.digits > 2) {
        return setYear(first.value, first.digits) && setMonth(second) && number(1, 2, third) && setDay(third);
    }
    const bool dayFirst = first.value > 12;
    const Number year = number();
    return setMonth(dayFirst ? second : first.value) && setDay(dayFirst ? first.value : second) &&
           (year.digits == 2 || year.digits == 4) && setYear(year.value, year.digits);
}

/** At the colon behind an hour. */
bool Parser::clock(int hour) {
    int minute, second = 0;
    take(':');
    if (!number(2, 2, minute)) {
        return false;
    }
    if (take(':')) {
        if (!number(2, 2, second)) {
            return false;
        }
        fraction();
    }
    return setTime(hour, minute, second) && halfDay();
}

/** Behind seconds: milliseconds and finer, which are cut. */
void Parser::fraction() {
    if (takeBeforeDigit('.') || takeBeforeDigit(',')) {
        for (int weight = 100; isDigit(*at_); ++at_, weight /= 10) {
            ms_ += (*at_ - '0') * weight;
        }
    }
}

/** An optional am or pm behind a time. */
bool Parser::halfDay() {
    const std::string_view next = peekWord();
    const bool am = same(next, "am");
    if (!am && !same(next, "pm")) {
        return true;
    }
    while (*at_ == ' ') {
        ++at_;
    }
    word();
    if (hour_ < 1 || hour_ > 12) {
        return false;
    }
    hour_ = hour_ % 12 + (am ? 0 : 12);
    return true;
}

/** ISO 8601 without colons, behind the T: hhmm or hhmmss. */
bool Parser::compactClock() {
    const Number n = number();
    if (n.digits == 6) {
        fraction();
        return setTime(static_cast<int>(n.value / 10000), static_cast<int>(n.value / 100 % 100),
                       static_cast<int>(n.value % 100));
    }
    if (n.digits == 4) {
        return setTime(static_cast<int>(n.value / 100), static_cast<int>(n.value % 100), 0);
    }
    return n.digits == 2 && *at_ == ':' && clock(static_cast<int>(n.value));
}

/** A number that nothing is joined to. */
bool Parser::plain(Number n) {
    if (n.digits == 8 && !hasDate()) {
        const bool good = setYear(n.value / 10000, 4) && setMonth(n.value / 100 % 100) && setDay(n.value % 100);
        if (good && small(*at_) == 't' && isDigit(at_[1])) {
            ++at_;
            return compactClock();
        }
        return good;
    }
    const std::string_view next = peekWord();
    if (n.digits <= 2 && (same(next, "am") || same(next, "pm"))) {
        return setTime(static_cast<int>(n.value), 0, 0) && halfDay();
    }
    if (n.digits <= 2 && !hasDay_) {
        if (const std::string_view suffix = word(); !suffix.empty() && !same(suffix, "st") && !same(suffix, "nd") &&
                                                    !same(suffix, "rd") && !same(suffix, "th")) {
            at_ -= suffix.size(); // 21Nov2026
        }
        return setDay(n.value);
    }
    return hasMonth_ && (n.digits == 2 || n.digits == 4) && setYear(n.value, n.digits);
}

/** A number and, behind it, its unit. */
bool Parser::amount(std::int64_t value, int sign) {
    while (*at_ == ' ') {
        ++at_;
    }
    const Unit* unit = findUnit(word());
    if (!unit || value > greatestAmount) {
        return false;
    }
    lastMs_ = sign * value * unit->ms;
    lastDays_ = sign * value * unit->days;
    lastMonths_ = sign * value * unit->months;
    return advance(lastMs_, lastDays_, lastMonths_);
}

/** Sums stay where no later calculation can overflow. */
bool Parser::advance(std::int64_t ms, std::int64_t days, std::int64_t months) {
    const auto within = [](std::int64_t& sum, std::int64_t term, std::int64_t most) {
        sum += term;
        return sum >= -most && sum <= most;
    };
    return within(addedMs_, ms, 1'000'000'000'000'000'000) && within(addedDays_, days, 400 * greatestYear) &&
           within(addedMonths_, months, 12 * greatestYear);
}

/** A zone (+01:00, +0100, +01) or an amount (+1h). */
bool Parser::signedItem() {
    const int sign = *at_++ == '-' ? -1 : 1;
    while (*at_ == ' ') {
        ++at_;
    }
    const char* start = at_;
    const Number n = number();
    if (n.digits < 1) {
        return false;
    }
    if (findUnit(peekWord())) {
        return amount(n.value, sign);
    }
    if (n.digits == 4) {
        return n.value / 100 <= 24 && n.value % 100 < 60 &&
               setZone(sign * static_cast<int>(n.value / 100 * 60 + n.value % 100));
    }
    int minutes = 0;
    if (n.digits != 2 || at_ != start + 2 || (take(':') && !number(2, 2, minutes))) {
        return false;
    }
    return n.value <= 24 && minutes < 60 && setZone(sign * static_cast<int>(n.value * 60 + minutes));
}

bool Parser::epoch() {
    const int sign = take('-') ? -1 : 1;
    const Number n = number();
    if (n.digits < 1 || epoch_) {
        return false;
    }
    fraction();
    epoch_ = true;
    epochMs_ = sign * (n.value * 1000 + ms_);
    skip();
    return *at_ == '\0';
}

bool Parser::named(std::string_view text) {
    if (const int month = nameIndex(monthNames, text); month >= 0) {
        return setMonth(month + 1);
    }
    if (nameIndex(weekdayNames, text) >= 0) {
        return !std::exchange(hasWeekday_, true);
    }
    for (const NamedZone& zone : zones) {
        if (same(text, zone.name)) {
            return setZone(zone.minutes);
        }
    }
    if (same(text, "ago")) {
        const bool any = lastMs_ != 0 || lastDays_ != 0 || lastMonths_ != 0;
        const bool good = advance(-2 * lastMs_, -2 * lastDays_, -2 * lastMonths_);
        lastMs_ = lastDays_ = lastMonths_ = 0;
        return any && good;
    }
    if (same(text, "today") || same(text, "yesterday") || same(text, "tomorrow")) {
        return nearDay(same(text, "today") ? 0 : same(text, "tomorrow") ? 1 : -1);
    }
    return same(text, "now") || same(text, "at") || same(text, "on") || same(text, "in") ||
           (same(text, "t") && isDigit(*at_));
}

std::int64_t Parser::localSeconds(const tm* defaults, std::int64_t now, bool& valid) const {
    const Date today = dateFrom(floorDiv(now, secondsInDay));
    Date date =
        defaults ? Date{std::int64_t{defaults->tm_year} + 1900, defaults->tm_mon + 1, defaults->tm_mday} : today;
    if (midnight_) {
        date = today;
    }
    date.day = std::max(date.day, 1); // of defaults that nobody filled in
    date.year = hasYear_ ? year_ : date.year;
    date.month = hasMonth_ ? month_ : date.month;
    date.day = hasDay_ ? day_ : (hasMonth_ && !defaults) ? 1 : date.day;
    valid = !(midnight_ && hasDate()) && date.month >= 1 && date.month <= 12 &&
            (!hasDay_ || date.day <= daysInMonth(date.year, date.month));
    if (!valid) {
        return 0;
    }
    const std::int64_t months = date.year * 12 + date.month - 1 + addedMonths_;
    date.year = floorDiv(months, 12);
    date.month = static_cast<int>(floorMod(months, 12)) + 1;
    date.day = std::min(date.day, daysInMonth(date.year, date.month));

    std::int64_t ofDay = 0;
    if (hasTime_) {
        ofDay = hour_ * 3600 + minute_ * 60 + second_;
    } else if (defaults && !midnight_) {
        ofDay = defaults->tm_hour * 3600 + defaults->tm_min * 60 + defaults->tm_sec;
    } else if (keepsMs()) {
        ofDay = floorMod(now, secondsInDay);
    }
    return (daysFrom(date) + addedDays_) * secondsInDay + ofDay;
}
} // namespace

int parseTime(MprTime& time, const char* text, int zone, const tm* defaults, MprTime now) {
    Parser parser(text);
    if (!parser.parse()) {
        return MPR_ERR_BAD_SYNTAX;
    }
    if (parser.absolute()) {
        time = parser.epochMs();
        return 0;
    }
    const bool local = !parser.hasZone() && zone == MPR_LOCAL_TIMEZONE;
    const std::int64_t present = floorDiv(now, 1000);
    const std::int64_t offset = local              ? zoneAt(present).offset
                                : parser.hasZone() ? parser.zoneSeconds()
                                                   : std::int64_t{zone} * 60;
    bool valid = false;
    const std::int64_t seconds = parser.localSeconds(defaults, present + offset, valid);
    if (!valid) {
        return MPR_ERR_BAD_SYNTAX;
    }
    const std::int64_t utc = local ? utcFromLocal(seconds) : seconds - offset;
    const bool exact = parser.keepsMs() && !defaults;
    const std::int64_t ms = exact ? floorMod(now, 1000) : parser.ms();
    MprTime result;
    if (__builtin_mul_overflow(utc, std::int64_t{1000}, &result) || __builtin_add_overflow(result, ms, &result) ||
        __builtin_add_overflow(result, parser.addedMs(), &result)) {
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
