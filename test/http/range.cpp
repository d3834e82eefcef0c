// SPDX-License-Identifier: MIT
/*
    test/http/range.cpp - Ranges of bytes: those that are served, those that are not, and how they are named.
 */
#include "test/support/runtime.hpp"

#include "mpr/http/range.hpp"

using namespace test;
using namespace mpr::http;

namespace {

std::string told(std::string_view field, MprOff size = 1000) {
    const Ranges ranges = parseRanges(field, size);
    if (ranges.answer != Ranges::Answer::parts) {
        return ranges.answer == Ranges::Answer::whole ? "whole" : "416";
    }
    std::string text;
    for (int i = 0; i < ranges.count; ++i) {
        text += (i ? " " : "") + std::to_string(ranges.list[i].start) + "-" + std::to_string(ranges.list[i].end);
    }
    return text;
}
} // namespace

TEST_CASE("ranges of bytes", "[http][range]") {
    CHECK(told("bytes=0-499") == "0-500");
    CHECK(told("bytes=500-") == "500-1000");
    CHECK(told("bytes=-500") == "500-1000");
    CHECK(told("bytes=-5000") == "0-1000");
    CHECK(told("bytes=0-0") == "0-1");
    CHECK(told("bytes=0-9999") == "0-1000");
    CHECK(told("bytes=999-") == "999-1000");
    CHECK(told("bytes=0-0,-1") == "0-1 999-1000");
    CHECK(told("bytes=500-600,0-1") == "500-601 0-2");
    CHECK(told("Bytes = 0-1 , 5-6 ,") == "0-2 5-7");
    CHECK(told("bytes=0-1,2-3") == "0-2 2-4");
    CHECK(told("bytes=5-6,2000-3000") == "5-7");
    CHECK(told("bytes=0-99999999999999999999999") == "0-1000");
    CHECK(told("bytes=-99999999999999999999999") == "0-1000");
    CHECK(told("bytes=0-9223372036854775807", INT64_MAX) == "0-9223372036854775807");
}

TEST_CASE("ranges that are beyond all there is", "[http][range]") {
    CHECK(told("bytes=1000-") == "416");
    CHECK(told("bytes=1000-2000,5000-") == "416");
    CHECK(told("bytes=-0") == "416");
    CHECK(told("bytes=99999999999999999999999-") == "416");
    CHECK(told("bytes=0-", 0) == "416");
    CHECK(told("bytes=-5", 0) == "416");
}

TEST_CASE("ranges that are not heeded", "[http][range]") {
    for (cchar *field :
         {"", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=a-b", "bytes=5-1", "bytes=1", "items=0-1", "bytes=0-1-2",
          "bytes=0x1-2", "bytes=+1-2", "bytes=1-2,x", "bytes=- 1-", "bytes=0 - 1", "bytes=0-\t1", "0-1", "bytes 0-1"}) {
        INFO(field);
        CHECK(told(field) == "whole");
    }
}

TEST_CASE("ranges never add up to more than the whole", "[http][range]") {
    CHECK(told("bytes=0-,0-") == "whole");
    CHECK(told("bytes=0-10,10-20") == "whole");
    CHECK(told("bytes=-1,0-") == "whole");
    std::string many = "bytes=0-0";
    for (int i = 1; i < Ranges::most; ++i) {
        many += "," + std::to_string(2 * i) + "-" + std::to_string(2 * i);
    }
    CHECK(parseRanges(many, 1000).count == Ranges::most);
    CHECK(told(many + ",900-") == "whole");
    std::string hundreds = "bytes=";
    for (int i = 0; i < 100000; ++i) {
        hundreds += "0-,";
    }
    CHECK(told(hundreds) == "whole");
    CHECK(told("bytes=" + std::string(1000000, ',')) == "whole");
}

TEST_CASE("ranges are named", "[http][range]") {
    char text[contentRangeSize];
    formatContentRange(text, {0, 500}, 1234);
    CHECK(std::string(text) == "bytes 0-499/1234");
    formatNoRange(text, 1234);
    CHECK(std::string(text) == "bytes */1234");
    formatContentRange(text, {INT64_MAX - 2, INT64_MAX - 1}, INT64_MAX);
    CHECK(std::string(text) == "bytes 9223372036854775805-9223372036854775805/9223372036854775807");
}

TEST_CASE("parts of several ranges", "[http][range]") {
    const Ranges ranges = parseRanges("bytes=0-0,-1", 1000);
    const RangeParts parts("B", "text/plain", 1000);
    char text[RangeParts::maxHeader];
    std::string whole;
    for (int i = 0; i < ranges.count; ++i) {
        whole.append(text, static_cast<size_t>(parts.header(text, ranges.list[i], i == 0)));
        whole += "x";
    }
    whole.append(text, static_cast<size_t>(parts.trailer(text)));
    CHECK(whole == "--B\r\nContent-Range: bytes 0-0/1000\r\nContent-Type: text/plain\r\n\r\nx"
                   "\r\n--B\r\nContent-Range: bytes 999-999/1000\r\nContent-Type: text/plain\r\n\r\nx"
                   "\r\n--B--\r\n");
    CHECK(parts.length(ranges) == static_cast<MprOff>(whole.size()));
    const std::string large(10000, 't');
    const RangeParts cutParts("B", large.c_str(), 1000);
    CHECK(cutParts.header(text, {0, 1}, true) < RangeParts::maxHeader);
    CHECK(std::string(text).substr(std::string(text).size() - 4) == "\r\n\r\n");
    const RangeParts untyped("B", nullptr, 1000);
    CHECK(untyped.header(text, {0, 1}, true) > 0);
    CHECK(std::string(text) == "--B\r\nContent-Range: bytes 0-0/1000\r\n\r\n");
}
