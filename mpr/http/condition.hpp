// SPDX-License-Identifier: MIT
/*
    condition.hpp - Conditional requests: whether what a client has, or thinks there is, is what there is. RFC 9110
    (2022), 8.8 and 13.
 */
#pragma once

#include <string_view>

#include "mpr/types.h"

namespace mpr::http {

/** Conditions of a request; data() is nullptr for a missing field. */
struct Conditions {
    std::string_view ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince, ifRange;
    bool safe; // GET or HEAD
};

/** What there is. */
struct Representation {
    bool exists;
    std::string_view etag; // in quotes, perhaps after W/; empty: none
    MprTime modified;      // 0: not known
    MprTime now;
};

enum class Outcome { proceed, notModified, failed };

/** What becomes of a request: 13.2.2. If-Range is not looked at. A date that is none is as if it were not there. */
Outcome evaluate(const Conditions& conditions, const Representation& is);

/** Whether ranges are to be heeded: there is no If-Range, or it is what there is, byte by byte: 13.1.5. */
bool rangeHolds(const Conditions& conditions, const Representation& is);

/** Whether two tags are the same, as they are for a cache; and if both are strong, byte by byte. */
bool matchesWeakly(std::string_view one, std::string_view other);
bool matchesStrongly(std::string_view one, std::string_view other);
/** Whether a list of tags, or *, has one. A list that is none has it not. */
bool listHas(std::string_view list, std::string_view etag, bool strong);

/** Bytes of the tag of a file, a zero included. */
constexpr int etagSize = 64;

/** The tag of a file: another file, length or time of change gives another. @param modified Seconds. */
void formatFileTag(char (&out)[etagSize], long long inode, long long size, long long modified);

} // namespace mpr::http
