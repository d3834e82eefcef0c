// SPDX-License-Identifier: MIT
/*
    condition.cpp - Conditional requests. See condition.hpp.
 */
#include "mpr/http/condition.hpp"

#include <charconv>
#include <utility>

#include "mpr/http/date.hpp"
#include "mpr/http/grammar.hpp"

namespace mpr::http {

namespace {

bool isWeak(std::string_view etag) {
    return begins(etag, "W/");
}

std::string_view opaque(std::string_view etag) {
    return isWeak(etag) ? cut(etag, 2) : etag;
}

/** Remove a tag from the start of a list. @return The tag; empty: there is none. */
std::string_view takeTag(std::string_view& list) {
    const std::size_t open = isWeak(list) ? 2 : 0;
    const std::size_t close = cut(list, open, 1) == "\"" ? list.find('"', open + 1) : all;
    const std::string_view tag = close == all ? std::string_view() : cut(list, 0, close + 1);
    list = cut(list, tag.size());
    return tag;
}

/** @return Whether there is a date. */
bool dateOf(std::string_view field, const Representation& is, MprTime& time) {
    return field.data() && parseDate(trimmed(field), is.now, time);
}

/** Dates in fields have no parts of seconds. */
bool isModifiedSince(const Representation& is, MprTime time) {
    return is.modified / 1000 > time / 1000;
}

Outcome afterMatch(const Conditions& conditions, const Representation& is) {
    MprTime time;
    if (conditions.ifNoneMatch.data()) {
        const bool none = !is.exists || !listHas(conditions.ifNoneMatch, is.etag, false);
        return none ? Outcome::proceed : conditions.safe ? Outcome::notModified : Outcome::failed;
    }
    if (conditions.safe && is.exists && is.modified && dateOf(conditions.ifModifiedSince, is, time)) {
        return isModifiedSince(is, time) ? Outcome::proceed : Outcome::notModified;
    }
    return Outcome::proceed;
}
} // namespace

bool matchesWeakly(std::string_view one, std::string_view other) {
    return !one.empty() && opaque(one) == opaque(other);
}

bool matchesStrongly(std::string_view one, std::string_view other) {
    return !one.empty() && !isWeak(one) && one == other;
}

bool listHas(std::string_view list, std::string_view etag, bool strong) {
    list = trimmed(list);
    if (list == "*") {
        return true;
    }
    while (!list.empty()) {
        const std::string_view tag = takeTag(list);
        if (strong ? matchesStrongly(tag, etag) : matchesWeakly(tag, etag)) {
            return true;
        }
        list = trimmed(list);
        if (tag.empty() ? !begins(list, ",") : !list.empty() && list.front() != ',') {
            return false; // a list that is none
        }
        list = trimmed(cut(list, 1));
    }
    return false;
}

Outcome evaluate(const Conditions& conditions, const Representation& is) {
    MprTime time;
    if (conditions.ifMatch.data()) {
        if (!is.exists || !listHas(conditions.ifMatch, is.etag, true)) {
            return Outcome::failed;
        }
    } else if (is.exists && is.modified && dateOf(conditions.ifUnmodifiedSince, is, time)) {
        if (isModifiedSince(is, time)) {
            return Outcome::failed;
        }
    }
    return afterMatch(conditions, is);
}

bool rangeHolds(const Conditions& conditions, const Representation& is) {
    if (!conditions.ifRange.data()) {
        return true;
    }
    const std::string_view field = trimmed(conditions.ifRange);
    if (begins(field, "\"") || isWeak(field)) {
        return matchesStrongly(field, is.etag);
    }
    // A date says which bytes there were only once its second is over.
    MprTime time;
    return is.modified && dateOf(field, is, time) && is.modified / 1000 == time / 1000 &&
           is.now / 1000 > is.modified / 1000 + 1;
}

void formatFileTag(char (&out)[etagSize], long long inode, long long size, long long modified) {
    char* at = out;
    char before = '"';
    for (const long long number : {inode, size, modified}) {
        *at++ = std::exchange(before, '-');
        at = std::to_chars(at, out + etagSize, static_cast<unsigned long long>(number), 16).ptr;
    }
    *at++ = '"';
    *at = '\0';
}

} // namespace mpr::http
