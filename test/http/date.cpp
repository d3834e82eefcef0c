// SPDX-License-Identifier: MIT
/*
    test/http/date.cpp - Dates in header fields: one form out, three in.
 */
#include "test/support/runtime.hpp"

#include "mpr/http/date.hpp"

using namespace test;
using namespace mpr::http;

namespace {

constexpr MprTime example = 784111777000; /* RFC 9110's */
constexpr MprTime now = 1795000000000;    /* 2026 */

std::string formatted(MprTime time) {
    char out[dateSize];
    formatDate(out, time);
    return out;
}

MprTime parsed(std::string_view text) {
    MprTime time = -1;
    return parseDate(text, now, time) ? time : -1;
}
} // namespace

TEST_CASE("dates are written in one form", "[http][date]") {
    CHECK(formatted(example) == "Sun, 06 Nov 1994 08:49:37 GMT");
    CHECK(formatted(example + 999) == "Sun, 06 Nov 1994 08:49:37 GMT");
    CHECK(formatted(0) == "Thu, 01 Jan 1970 00:00:00 GMT");
    CHECK(formatted(-1000) == "Wed, 31 Dec 1969 23:59:59 GMT");
    CHECK(formatted(INT64_MAX) == "Fri, 31 Dec 9999 23:59:59 GMT");
    CHECK(formatted(INT64_MIN) == "Sat, 01 Jan 0000 00:00:00 GMT");
    CHECK(formatted(951782400000) == "Tue, 29 Feb 2000 00:00:00 GMT");
}

TEST_CASE("dates are read in three forms", "[http][date]") {
    CHECK(parsed("Sun, 06 Nov 1994 08:49:37 GMT") == example);
    CHECK(parsed("Sunday, 06-Nov-94 08:49:37 GMT") == example);
    CHECK(parsed("Sun Nov  6 08:49:37 1994") == example);
    CHECK(parsed("Wed, 09 Nov 1994 08:49:37 GMT") == example + 3 * 86400000LL);
    CHECK(parsed("Wednesday, 09-Nov-94 08:49:37 GMT") == example + 3 * 86400000LL);
    CHECK(parsed("Tue, 29 Feb 2000 00:00:00 GMT") == 951782400000);
    CHECK(parsed("Sun, 06 Nov 1994 08:49:60 GMT") == example + 23000);
    /* Two digits: within fifty years. */
    CHECK(formatted(parsed("Friday, 01-Jan-76 00:00:00 GMT")) == "Wed, 01 Jan 2076 00:00:00 GMT");
    CHECK(formatted(parsed("Friday, 01-Jan-77 00:00:00 GMT")) == "Sat, 01 Jan 1977 00:00:00 GMT");
}

TEST_CASE("what is no date of HTTP", "[http][date]") {
    for (cchar *text : {"",
                        "now",
                        "tomorrow",
                        "2 days ago",
                        "Sun",
                        "Sun, 6 Nov 1994 08:49:37 GMT",
                        "Sun,  6 Nov 1994 08:49:37 GMT",
                        "Sun, 06 Nov 1994 08:49:37",
                        "Sun, 06 Nov 1994 08:49:37 UTC",
                        "Sun, 06 Nov 1994 08:49:37 GMT ",
                        "sun, 06 nov 1994 08:49:37 gmt",
                        "Sun, 06 Nov 1994 24:00:00 GMT",
                        "Sun, 06 Nov 1994 08:60:00 GMT",
                        "Sun, 06 Nov 1994 08:00:61 GMT",
                        "Sun, 31 Apr 1994 08:49:37 GMT",
                        "Sun, 00 Nov 1994 08:49:37 GMT",
                        "Xxx, 06 Nov 1994 08:49:37 GMT",
                        "Sun, 06 Foo 1994 08:49:37 GMT",
                        "Sun, 29 Feb 1900 00:00:00 GMT",
                        "Sun, 29 Feb 2026 00:00:00 GMT",
                        "Sunda, 06-Nov-94 08:49:37 GMT",
                        "Sonday, 06-Nov-94 08:49:37 GMT",
                        "Sunday, 06-Nov-1994 08:49:37 GMT",
                        "Sun Nov 6 08:49:37 1994",
                        "Sun Nov 06 08:49:37 94",
                        "Sun, -6 Nov 1994 08:49:37 GMT",
                        "Sun, 06 Nov +994 08:49:37 GMT",
                        "784111777"}) {
        INFO(text);
        CHECK(parsed(text) == -1);
    }
    CHECK(parsed(std::string_view("Sun, 06 Nov 1994 08:49:37 GMT", 28)) == -1);
    CHECK(parsed(std::string(1000000, ',')) == -1);
}

TEST_CASE("dates come back", "[http][date]") {
    for (MprTime time = -62167219200000; time < 253402300800000; time += 86399999000LL * 97) {
        const MprTime seconds = time / 1000 * 1000;
        REQUIRE(parsed(formatted(seconds)) == seconds);
    }
}
