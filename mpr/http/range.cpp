// SPDX-License-Identifier: MIT
/*
    range.cpp - Ranges of bytes. See range.hpp.
 */
#include "mpr/http/range.hpp"

#include "mpr/format.h"
#include "mpr/http/grammar.hpp"

namespace mpr::http {

namespace {

enum class Kind { none, outside, range };

/** "first-last", "first-", "-count". @param range Set when it is within the size. */
Kind parseOne(std::string_view text, MprOff size, Range& range) {
    const bool dash = text.find('-') != all;
    const std::string_view first = take(text, '-');
    const std::string_view last = text;
    long long from = 0, to = 0;
    if (!dash || (!first.empty() && !readNumber(first, from)) || (!last.empty() && !readNumber(last, to)) ||
        (first.empty() && last.empty()) || (!first.empty() && !last.empty() && to < from)) {
        return Kind::none;
    }
    if (first.empty()) {
        range = {to < size ? size - to : 0, size};
        return to > 0 && size > 0 ? Kind::range : Kind::outside;
    }
    range = {from, last.empty() || to >= size ? size : to + 1};
    return from < size ? Kind::range : Kind::outside;
}

/** Whether it is served as asked: no two overlap, so they are no more than the whole. */
bool areApart(const Ranges& ranges) {
    for (int i = 0; i < ranges.count; ++i) {
        for (int j = 0; j < i; ++j) {
            if (ranges.list[i].start < ranges.list[j].end && ranges.list[j].start < ranges.list[i].end) {
                return false;
            }
        }
    }
    return true;
}
} // namespace

Ranges parseRanges(std::string_view field, MprOff size) {
    Ranges ranges;
    const bool has = field.find('=') != all;
    if (!same(trimmed(take(field, '=')), "bytes") || !has) {
        return ranges;
    }
    bool any = false;
    while (!field.empty()) {
        const std::string_view text = trimmed(take(field, ','));
        Range range;
        const Kind kind = text.empty() ? Kind::outside : parseOne(text, size, range);
        if (kind == Kind::none || (kind == Kind::range && ranges.count == Ranges::most)) {
            return {};
        }
        any = any || !text.empty();
        if (kind == Kind::range) {
            ranges.list[ranges.count++] = range;
        }
    }
    if (any && areApart(ranges)) {
        ranges.answer = ranges.count > 0 ? Ranges::Answer::parts : Ranges::Answer::unsatisfiable;
    }
    return ranges;
}

void formatContentRange(char (&out)[contentRangeSize], const Range& range, MprOff size) {
    fmt(out, sizeof(out), "bytes %lld-%lld/%lld", range.start, range.end - 1, size);
}

void formatNoRange(char (&out)[contentRangeSize], MprOff size) {
    fmt(out, sizeof(out), "bytes */%lld", size);
}

int RangeParts::header(char (&out)[maxHeader], const Range& range, bool first) const {
    char content[contentRangeSize];
    formatContentRange(content, range, size_);
    fmt(out, sizeof(out), "%s--%s\r\nContent-Range: %s\r\n%s%.100s%s\r\n", first ? "" : "\r\n", boundary_, content,
        type_ ? "Content-Type: " : "", type_ ? type_ : "", type_ ? "\r\n" : "");
    return static_cast<int>(std::strlen(out));
}

int RangeParts::trailer(char (&out)[maxHeader]) const {
    fmt(out, sizeof(out), "\r\n--%s--\r\n", boundary_);
    return static_cast<int>(std::strlen(out));
}

MprOff RangeParts::length(const Ranges& ranges) const {
    char text[maxHeader];
    MprOff length = trailer(text);
    for (int i = 0; i < ranges.count; ++i) {
        length += header(text, ranges.list[i], i == 0) + ranges.list[i].size();
    }
    return length;
}

} // namespace mpr::http
