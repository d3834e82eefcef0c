// SPDX-License-Identifier: MIT
/*
    test/base/time.cpp - Clocks, dates taken apart, formatted and read.

    The C library is the reference where it can be one: timegm, localtime_r, strftime.
 */
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include "mpr/base/calendar.hpp"
#include "mpr/base/time_parse.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string>
#include <vector>

using namespace test;

namespace {

/* A time zone for one test case. */
class InZone {
public:
    explicit InZone(cchar *name) {
        setenv("TZ", name, 1);
        tzset();
    }
    ~InZone() {
        unsetenv("TZ");
        tzset();
    }
};

constexpr cchar *berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
constexpr cchar *newYork = "EST5EDT,M3.2.0,M11.1.0";

std::string utc(cchar *format, MprTime time) {
    char *text = mprFormatUniversalTime(format, time);
    return text ? text : "(null)";
}

std::string local(cchar *format, MprTime time) {
    char *text = mprFormatLocalTime(format, time);
    return text ? text : "(null)";
}

/* Sat 2026-11-21 06:15:37.250 UTC */
constexpr MprTime now = 1795241737250;

/* What a text means at that moment, in ISO 8601 with milliseconds, or an error. */
std::string parsed(cchar *text, int zone = MPR_UTC_TIMEZONE, struct tm *defaults = nullptr) {
    MprTime time = -12345;
    int error = mpr::base::parseTime(time, text, zone, defaults, now);
    if (error != 0) {
        return time == -12345 ? "error " + std::to_string(error) : "touched";
    }
    return utc("%FT%T.%f", time);
}

constexpr cchar *badSyntax = "error -8";

/* Whether people's form of a date means that, or is no date where such forms are left out. */
bool peoples(cchar *text, std::string expected, int zone = MPR_UTC_TIMEZONE) {
    return parsed(text, zone) == (mpr::base::peopleTimes ? expected : badSyntax);
}

} // namespace

TEST_CASE("clocks go forward", "[base][time]") {
    Runtime runtime;
    uint64 fine = mprGetHiResTicks();
    MprTime time = mprGetTime();
    MprTicks ticks = mprGetTicks(); // the last: the thread may have to wait between them
    CHECK(std::llabs(time / 1000 - ::time(nullptr)) <= 1);
    while (mprGetElapsedTicks(ticks) < 3) {}
    CHECK(mprGetHiResTicks() - fine >= 2000000);
    CHECK(mprGetTicks() >= ticks + 3);
    CHECK(mprGetElapsedTime(time) >= 2);
    CHECK(mprGetRemainingTicks(ticks, 1000000) <= 999997);
    CHECK(mprGetRemainingTicks(ticks, 1000000) > 0);
    CHECK(mprGetRemainingTicks(ticks, 1) < 0);
    CHECK(mprGetRemainingTicks(mprGetTicks() + 1000000, INT64_MAX) == INT64_MAX);
    CHECK(mprCompareTime(1, 2) == -1);
    CHECK(mprCompareTime(2, 2) == 0);
    CHECK(mprCompareTime(-1, INT64_MIN) == 1);
}

/** Seconds before and after 1970 that the C library of 32-bit systems knows of, too. */
constexpr int64_t libraryReach = sizeof(time_t) == 8 ? 172800000000 : INT32_MAX;

TEST_CASE("the calendar is that of the C library, and turns back into itself", "[base][time]") {
    Random random(1);
    for (size_t i = 0; i < heavy(200000); i++) {
        auto days = static_cast<int64_t>(random.below(4000000)) - 2000000;
        auto date = mpr::base::dateFrom(days);
        REQUIRE(mpr::base::daysFrom(date) == days);
    }
    constexpr int64_t most = libraryReach / 86400;
    for (size_t i = 0; i < heavy(200000); i++) {
        auto days = static_cast<int64_t>(random.below(2 * most)) - most;
        auto date = mpr::base::dateFrom(days);
        time_t seconds = static_cast<time_t>(days * 86400);
        struct tm tm;
        gmtime_r(&seconds, &tm);
        REQUIRE(date.year == tm.tm_year + 1900);
        REQUIRE(date.month == tm.tm_mon + 1);
        REQUIRE(date.day == tm.tm_mday);
        REQUIRE(mpr::base::weekday(days) == tm.tm_wday);
    }
}

TEST_CASE("times are taken apart as the C library does, in every zone", "[base][time]") {
    Runtime runtime;
    for (cchar *name : {"UTC0", berlin, newYork, "IST-5:30", "NZST-12NZDT,M9.5.0,M4.1.0/3"}) {
        InZone zone(name);
        Random random(2);
        constexpr int64_t most = std::min<int64_t>(4000000000, libraryReach) * 1000;
        for (size_t i = 0; i < heavy(20000); i++) {
            auto time = static_cast<MprTime>(random.next() % static_cast<uint64_t>(2 * most)) - most;
            struct tm expected, tm;
            time_t seconds = static_cast<time_t>(mpr::base::floorDiv(time, 1000));
            localtime_r(&seconds, &expected);
            mprDecodeLocalTime(&tm, time);
            INFO(name << " " << time);
            REQUIRE(tm.tm_year == expected.tm_year);
            REQUIRE(tm.tm_yday == expected.tm_yday);
            REQUIRE(tm.tm_mon == expected.tm_mon);
            REQUIRE(tm.tm_mday == expected.tm_mday);
            REQUIRE(tm.tm_hour == expected.tm_hour);
            REQUIRE(tm.tm_min == expected.tm_min);
            REQUIRE(tm.tm_sec == expected.tm_sec);
            REQUIRE(tm.tm_wday == expected.tm_wday);
            REQUIRE(tm.tm_isdst == expected.tm_isdst);
            REQUIRE(tm.tm_gmtoff == expected.tm_gmtoff);
            REQUIRE(std::string(tm.tm_zone) == expected.tm_zone);
        }
    }
    mprDecodeLocalTime(nullptr, 0);
    mprDecodeUniversalTime(nullptr, 0);
}

TEST_CASE("the ends of time", "[base][time]") {
    Runtime runtime;
    CHECK(utc("%FT%T.%f", 0) == "1970-01-01T00:00:00.000");
    CHECK(utc("%FT%T.%f", -1) == "1969-12-31T23:59:59.999");
    CHECK(utc("%FT%T.%f", INT64_MAX) == "292278994-08-17T07:12:55.807");
    CHECK(utc("%FT%T.%f", INT64_MIN) == "-292275055-05-16T16:47:04.192");
    CHECK(utc("%F", -62135596800001) == "0000-12-31");
    CHECK(utc("%F", 951782400000) == "2000-02-29");
    CHECK(utc("%F", -2203891200000) == "1900-03-01");
    CHECK(!local("%F", INT64_MAX).empty());
    CHECK(!local("%F", INT64_MIN).empty());
}

TEST_CASE("formats agree with strftime", "[base][time]") {
    Runtime runtime;
    InZone zone(berlin);
    Random random(3);
    constexpr cchar *letters[] = {"%A", "%a", "%B", "%b", "%C", "%c", "%D", "%d", "%e",  "%F", "%G",
                                  "%g", "%H", "%h", "%I", "%j", "%k", "%l", "%M", "%m",  "%n", "%P",
                                  "%p", "%R", "%r", "%S", "%s", "%T", "%t", "%U", "%u",  "%V", "%W",
                                  "%w", "%X", "%x", "%Y", "%y", "%Z", "%z", "%%", "%Ey", "%Od"};
    for (size_t i = 0; i < heavy(3000); i++) {
        /* Years of four digits */
        auto time = static_cast<MprTime>(random.next() % 200000000000000u) - 30000000000000;
        struct tm tm;
        mprDecodeLocalTime(&tm, time);
        for (cchar *letter : letters) {
            if (std::string(letter) == "%s" && std::abs(time / 1000) > (sizeof(long) == 8 ? libraryReach : INT32_MAX)) {
                continue; // strftime of 32-bit systems knows no more of its own, whatever a time_t has
            }
            char expected[100];
            size_t length = strftime(expected, sizeof(expected), letter, &tm);
            INFO(letter << " at " << time);
            REQUIRE(local(letter, time) == std::string(expected, length));
        }
    }
}

TEST_CASE("formats of protocols", "[base][time]") {
    Runtime runtime;
    InZone zone(newYork);
    CHECK(utc(MPR_HTTP_DATE, now) == "Sat, 21 Nov 2026 06:15:37 GMT");
    CHECK(utc(MPR_RFC_DATE, now) == "Sat, 21 Nov 2026 06:15:37 GMT");
    CHECK(utc(MPR_ISO_DATE, now) == "2026-11-21T06:15:37+0000");
    CHECK(local(MPR_ISO_DATE, now) == "2026-11-21T01:15:37-0500");
    CHECK(utc(MPR_ISO_UTC_DATE, now) == "2026-11-21T06:15:37.250Z");
    CHECK(utc(MPR_ISO_UTC_DATE, -1) == "1969-12-31T23:59:59.999Z");
    CHECK(local(MPR_DEFAULT_DATE, now) == "Sat Nov 21 01:15:37 2026 EST");
    CHECK(local(nullptr, now) == "Sat Nov 21 01:15:37 2026 EST");
    CHECK(local(MPR_LOG_DATE, now) == "11/21/26 01:15:37");
    CHECK(local("%+", now) == "Sat Nov 21 01:15:37 EST 2026");
    CHECK(local("%v %f", now) == "21-Nov-2026 250");
}

TEST_CASE("odd formats and odd dates", "[base][time]") {
    Runtime runtime;
    CHECK(utc("", now).empty());
    CHECK(utc("%", now) == "%");
    CHECK(utc("100%", now) == "100%");
    CHECK(utc("%Q %E %O", now) == "%Q %E %O");
    CHECK(utc("%E", now) == "%E");
    CHECK(utc("\xc3\xa9%Y", now) == "\xc3\xa9"
                                    "2026");
    std::string longer(1000, 'x');
    CHECK(utc((longer + "%Y").c_str(), now) == longer + "2026");
    struct tm tm = {};
    tm.tm_mon = 77;
    tm.tm_wday = -1;
    CHECK(std::string(mprFormatTm("%b %A %Z %z", &tm)) == "? ? GMT +0000");
    CHECK(std::string(mprFormatTm("%Y", nullptr)) >= "2024");
    char format[] = "%s";
    CHECK(std::llabs(atoll(mprGetDate(format)) - ::time(nullptr)) <= 1);
    mprSetMemLimits(0, static_cast<ssize>(stats().heap), -1);
    while (mprAlloc(1000)) {}
    CHECK(!mprFormatUniversalTime(longer.c_str(), now));
}

TEST_CASE("any numbers in a struct tm make a text", "[base][time]") {
    Runtime runtime;
    constexpr int ints[] = {INT_MIN, INT_MIN + 1, -100000, -1, 0, 1, 11, 12, 59, 366, 10000000, INT_MAX - 1, INT_MAX};
    Random random(6);
    for (size_t i = 0; i < heavy(2000); i++) {
        struct tm tm = {};
        for (int *field :
             {&tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &tm.tm_wday, &tm.tm_yday}) {
            *field = ints[random.below(13)];
        }
        tm.tm_gmtoff = random.chance(3) ? LONG_MIN : random.chance(3) ? LONG_MAX : 3600;
        cchar *text =
            mprFormatTm("%A %a %B %b %C %c %d %e %G %g %H %I %j %k %l %M %m %P %S %s %U %u %V %W %w %Y %y %z", &tm);
        REQUIRE(slen(text) > 50);
        mprYield(0);
    }
}

TEST_CASE("dates of protocols are read", "[base][time]") {
    Runtime runtime;
    constexpr cchar *same[] = {
        "Sat, 21 Nov 2026 06:15:37 GMT",
        "Sat, 21 Nov 2026 06:15:37 UT",
        "Sat, 21 Nov 2026 06:15:37 +0000",
        "Sat, 21 Nov 2026 07:15:37 +0100 (CET)",
        "21 Nov 2026 01:15:37 EST",
        "Saturday, 21-Nov-26 06:15:37 GMT",
        "Sat Nov 21 06:15:37 2026",
        "Sat Nov 21 06:15:37 UTC 2026",
        "2026-11-21T06:15:37Z",
        "2026-11-21T06:15:37.000Z",
        "2026-11-21 06:15:37",
        "2026-11-21t06:15:37z",
        "2026-11-21T07:15:37+01:00",
        "2026-11-21T07:15:37+01",
        "2026-11-20T22:45:37-0730",
        "2026-11-21T11:45:37+05:30",
        "20261121T061537Z",
        "20261121 06:15:37",
        "  06:15:37   21 november 2026  ",
        "21Nov2026 06:15:37",
        "@1795241737",
    };
    for (cchar *text : same) {
        INFO(text);
        CHECK(parsed(text) == "2026-11-21T06:15:37.000");
    }
    constexpr cchar *sameToPeople[] = {
        "11/21/2026 06:15:37",        "21/11/2026 06:15:37", "2026/11/21 06:15:37",
        "21.11.2026 06:15:37",        "21-11-2026 06:15:37", "November 21, 2026 6:15:37 AM",
        "nov 21st 2026 at 6:15:37am", "11/21/26 06:15:37",   "21 Nov 2026 6:15:37 GMT am",
    };
    for (cchar *text : sameToPeople) {
        INFO(text);
        CHECK(peoples(text, "2026-11-21T06:15:37.000"));
    }
    CHECK(parsed("2026-11-21T06:15:37.123456789Z") == "2026-11-21T06:15:37.123");
    CHECK(parsed("2026-11-21T06:15:37,5Z") == "2026-11-21T06:15:37.500");
    CHECK(parsed("@-1.5") == "1969-12-31T23:59:58.500");
    CHECK(parsed("2026-11-21") == "2026-11-21T00:00:00.000");
    CHECK(parsed("2026-11") == "2026-11-01T00:00:00.000");
    CHECK(parsed("Nov 2026") == "2026-11-01T00:00:00.000");
    CHECK(parsed("20261121T0615Z") == "2026-11-21T06:15:00.000");
    CHECK(parsed("1 Jan 1900") == "1900-01-01T00:00:00.000");
    CHECK(parsed("0001-01-01") == "0001-01-01T00:00:00.000");
    CHECK(parsed("12345-06-07") == "12345-06-07T00:00:00.000");
    CHECK(parsed("1 Jan 69") == "1969-01-01T00:00:00.000");
    CHECK(parsed("1 Jan 68") == "2068-01-01T00:00:00.000");
    CHECK(parsed("29 Feb 2024") == "2024-02-29T00:00:00.000");
    CHECK(parsed("2016-12-31T23:59:60Z") == "2017-01-01T00:00:00.000");
    CHECK(parsed("2026-11-21T24:00:00") == "2026-11-22T00:00:00.000");
}

TEST_CASE("times of day", "[base][time]") {
    Runtime runtime;
    CHECK(parsed("10:30") == "2026-11-21T10:30:00.000");
    CHECK(parsed("10:30:15.25") == "2026-11-21T10:30:15.250");
    CHECK(peoples("6pm", "2026-11-21T18:00:00.000"));
    CHECK(peoples("12 am", "2026-11-21T00:00:00.000"));
    CHECK(peoples("12:30 PM", "2026-11-21T12:30:00.000"));
    CHECK(parsed("10:30 Dec 24") == "2026-12-24T10:30:00.000");
    CHECK(parsed("24 Dec 10:30") == "2026-12-24T10:30:00.000");
}

TEST_CASE("near days and amounts", "[base][time]") {
    Runtime runtime;
    CHECK(peoples("now", "2026-11-21T06:15:37.250"));
    CHECK(peoples("today", "2026-11-21T00:00:00.000"));
    CHECK(peoples("Yesterday", "2026-11-20T00:00:00.000"));
    CHECK(peoples("tomorrow", "2026-11-22T00:00:00.000"));
    CHECK(peoples("tomorrow at 10:30", "2026-11-22T10:30:00.000"));
    CHECK(peoples("2 days ago", "2026-11-19T06:15:37.250"));
    CHECK(peoples("+1h", "2026-11-21T07:15:37.250"));
    CHECK(peoples("-30 min", "2026-11-21T05:45:37.250"));
    CHECK(peoples("in 3 weeks", "2026-12-12T06:15:37.250"));
    CHECK(peoples("1 hour 30 minutes", "2026-11-21T07:45:37.250"));
    CHECK(peoples("500ms ago", "2026-11-21T06:15:36.750"));
    CHECK(peoples("1 sec ago", "2026-11-21T06:15:36.250"));
    CHECK(peoples("9 months ago", "2026-02-21T06:15:37.250"));
    CHECK(peoples("+1 y", "2027-11-21T06:15:37.250"));
    CHECK(peoples("2024-01-31 +1 month", "2024-02-29T00:00:00.000"));
    CHECK(peoples("2024-02-29 +1 year", "2025-02-28T00:00:00.000"));
    CHECK(peoples("2024-03-01 -1 day", "2024-02-29T00:00:00.000"));
    CHECK(peoples("today +36h", "2026-11-22T12:00:00.000"));
    CHECK(peoples("now +1d +1h", "2026-11-22T07:15:37.250"));
}

TEST_CASE("zones: the text's, the caller's, the system's", "[base][time]") {
    Runtime runtime;
    InZone zone(berlin);
    CHECK(parsed("2026-11-21 06:15", 90) == "2026-11-21T04:45:00.000");
    CHECK(parsed("2026-11-21 06:15", -300) == "2026-11-21T11:15:00.000");
    CHECK(parsed("2026-11-21 06:15Z", -300) == "2026-11-21T06:15:00.000");
    CHECK(parsed("2026-11-21 06:15", MPR_LOCAL_TIMEZONE) == "2026-11-21T05:15:00.000");
    CHECK(parsed("2026-07-21 06:15", MPR_LOCAL_TIMEZONE) == "2026-07-21T04:15:00.000");
    CHECK(peoples("1 day ago", "2026-11-20T06:15:37.250", MPR_LOCAL_TIMEZONE));
    CHECK(peoples("30 days ago", "2026-10-22T05:15:37.250", MPR_LOCAL_TIMEZONE)); /* Summer: the same hour */
    CHECK(peoples("today", "2026-11-20T23:00:00.000", MPR_LOCAL_TIMEZONE));
    CHECK(peoples("today", "2026-11-20T07:00:00.000", -420)); /* There it is the 20th */
    /* Changes of 2026: March 29, October 25. */
    CHECK(parsed("2026-03-29 01:59", MPR_LOCAL_TIMEZONE) == "2026-03-29T00:59:00.000");
    CHECK(parsed("2026-03-29 02:30", MPR_LOCAL_TIMEZONE) == "2026-03-29T01:30:00.000");
    CHECK(parsed("2026-03-29 03:00", MPR_LOCAL_TIMEZONE) == "2026-03-29T01:00:00.000");
    CHECK(parsed("2026-10-25 01:59", MPR_LOCAL_TIMEZONE) == "2026-10-24T23:59:00.000");
    CHECK(parsed("2026-10-25 02:30", MPR_LOCAL_TIMEZONE) == "2026-10-25T00:30:00.000");
    CHECK(parsed("2026-10-25 03:00", MPR_LOCAL_TIMEZONE) == "2026-10-25T02:00:00.000");
}

TEST_CASE("defaults fill what the text lacks", "[base][time]") {
    Runtime runtime;
    struct tm defaults = {};
    defaults.tm_year = 111;
    defaults.tm_mon = 3;
    defaults.tm_mday = 30;
    defaults.tm_hour = 9;
    defaults.tm_min = 8;
    defaults.tm_sec = 7;
    CHECK(parsed("2026-11-21", 0, &defaults) == "2026-11-21T09:08:07.000");
    CHECK(parsed("10:30", 0, &defaults) == "2011-04-30T10:30:00.000");
    CHECK(parsed("Feb", 0, &defaults) == "2011-02-28T09:08:07.000");
    struct tm empty = {};
    CHECK(parsed("10:30", 0, &empty) == "1900-01-01T10:30:00.000");
}

TEST_CASE("what is no date is refused and changes nothing", "[base][time]") {
    Runtime runtime;
    constexpr cchar *bad[] = {
        "",
        "   ",
        "hello",
        "now hello",
        "tomorrow @100",
        "12:00:00.7 @100.5",
        "Z",
        "Mon",
        "Mon, +01:00",
        "2026-13-01",
        "2026-00-10",
        "2026-11-31",
        "2026-02-29",
        "29 Feb 2026",
        "1900-02-29",
        "32 Nov 2026",
        "0 Nov 2026",
        "25:00",
        "24:01",
        "10:60",
        "10:30:61",
        "13:00 pm",
        "0 am",
        "10:3",
        "2026-11-21T06",
        "2026-11-21 2026-11-22",
        "10:30 11:30",
        "Sat Sun 21 Nov 2026",
        "21 Nov 2026 GMT EST",
        "2026-11-21T06:15:37+25:00",
        "2026-11-21T06:15:37+01:60",
        "2026-11-21T06:15:37+1",
        "2026",
        "123456",
        "99999999999999999999-01-01",
        "11/21",
        "11/21/026",
        "13/13/2026",
        "1.2",
        "1.2.3",
        "ago",
        "5 ago",
        "+",
        "-5",
        "+99999999999999999999h",
        "999999999999999 days",
        "@",
        "@12 now",
        "@x",
        "today 2026-11-21",
        "today tomorrow",
        "\xff\xfe",
        "2026-11-21\x01",
        "21 Nov 2026;",
    };
    for (cchar *text : bad) {
        INFO(text);
        CHECK(parsed(text) == badSyntax);
    }
    MprTime time = 5;
    CHECK(mprParseTime(&time, nullptr, 0, nullptr) == MPR_ERR_BAD_ARGS);
    CHECK(mprParseTime(nullptr, "now", 0, nullptr) == MPR_ERR_BAD_ARGS);
    CHECK(time == 5);
    CHECK(mprParseTime(&time, "00:00", 0, nullptr) == 0);
    CHECK(std::llabs(time - mprGetTime()) < 100'000'000);
}

TEST_CASE("any time comes back from its text", "[base][time]") {
    Runtime runtime;
    InZone zone(newYork);
    Random random(4);
    for (size_t i = 0; i < heavy(20000); i++) {
        auto time = static_cast<MprTime>(random.next() % 200000000000000u) - 30000000000000;
        MprTime whole = mpr::base::floorDiv(time, 1000) * 1000, back;
        for (cchar *format : {MPR_HTTP_DATE, MPR_ISO_DATE, "%A, %d %b %Y %T %z", "%Y-%m-%d %H:%M:%S Z", "@%s"}) {
            std::string text = utc(format, time);
            INFO(text);
            REQUIRE(mprParseTime(&back, text.c_str(), 300, nullptr) == 0);
            REQUIRE(back == whole);
        }
        REQUIRE(mprParseTime(&back, utc(MPR_ISO_UTC_DATE, time).c_str(), 300, nullptr) == 0);
        REQUIRE(back == time);
        REQUIRE(mprParseTime(&back, local(MPR_DEFAULT_DATE, time).c_str(), 0, nullptr) == 0);
        REQUIRE(back == whole);
        REQUIRE(mprParseTime(&back, local("%c", time).c_str(), MPR_LOCAL_TIMEZONE, nullptr) == 0);
        bool again = local("%c", back) == local("%c", time); /* But for an hour that comes twice */
        REQUIRE(again);
    }
}

TEST_CASE("any bytes at all give a date or an error", "[base][time]") {
    Runtime runtime;
    Random random(5);
    constexpr cchar *parts[] = {"21",       "2026",
                                "-",        "/",
                                ":",        ".",
                                "Nov",      "sat",
                                "+",        "T",
                                "Z",        "ago",
                                "1",        "day",
                                "now",      "@",
                                "(x",       ")",
                                "pm",       ",",
                                " ",        "0",
                                "9",        "999999999999",
                                "h",        "\x80",
                                "est",      "20261121",
                                "year",     "months",
                                "tomorrow", "24",
                                "60",       "12345678901234567890"};
    constexpr int ints[] = {INT_MIN, INT_MIN + 1, -100000, -1, 0, 1, 11, 12, 59, 86400, 10000000, INT_MAX - 1, INT_MAX};
    auto anyInt = [&] { return ints[random.below(13)]; };
    int dates = 0;
    for (size_t i = 0; i < heavy(300000); i++) {
        struct tm defaults = {};
        for (int *field : {&defaults.tm_year, &defaults.tm_mon, &defaults.tm_mday, &defaults.tm_hour, &defaults.tm_min,
                           &defaults.tm_sec}) {
            *field = anyInt();
        }
        std::string text;
        for (size_t n = random.below(12); n > 0; n--) {
            text += parts[random.below(sizeof(parts) / sizeof(parts[0]))];
        }
        MprTime time = 0;
        int error = mprParseTime(&time, text.c_str(), random.chance(50) ? MPR_LOCAL_TIMEZONE : anyInt(),
                                 random.chance(50) ? &defaults : nullptr);
        REQUIRE((error == 0 || error == MPR_ERR_BAD_SYNTAX));
        dates += error == 0;
    }
    CHECK(dates > static_cast<int>(heavy(1000)));
}
