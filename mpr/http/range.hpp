// SPDX-License-Identifier: MIT
/*
    range.hpp - Ranges of bytes that a client asks for, and how they are named in what it is sent. RFC 9110 (2022), 14.

    A request for ranges is heeded only if it costs no more than the whole: those that overlap, are very many or add up
    to more than there is are answered with the whole, once.
 */
#pragma once

#include <string_view>

#include "mpr/path.h"

namespace mpr::http {

/** Bytes from start on, up to end, which is none of them. */
struct Range {
    MprOff start, end;
    MprOff size() const { return end - start; }
};

/** Ranges in the order in which they were asked for. */
struct Ranges {
    static constexpr int most = 32;

    enum class Answer {
        whole,         // there are none, or they are not heeded
        parts,         // count of them
        unsatisfiable, // none begins within what there is
    };

    Answer answer = Answer::whole;
    int count = 0;
    Range list[most];
};

/** @param field What Range says. @param size Bytes that there are. */
Ranges parseRanges(std::string_view field, MprOff size);

/** Bytes of the texts that follow, a zero included. */
constexpr int contentRangeSize = 80;

/** "bytes 0-499/1234" */
void formatContentRange(char (&out)[contentRangeSize], const Range& range, MprOff size);
/** "bytes *" "/1234": for 416. */
void formatNoRange(char (&out)[contentRangeSize], MprOff size);

/** multipart/byteranges: what stands before each part, and behind the last. */
class RangeParts {
public:
    static constexpr int maxHeader = 320;

    /** @param boundary,type Kept, not copied. */
    RangeParts(const char* boundary, const char* type, MprOff size) : boundary_(boundary), type_(type), size_(size) {}

    /** @return Bytes written; what of the type finds no room is left out. */
    int header(char (&out)[maxHeader], const Range& range, bool first) const;
    int trailer(char (&out)[maxHeader]) const;
    /** Bytes of it all. */
    MprOff length(const Ranges& ranges) const;

private:
    const char* boundary_;
    const char* type_;
    MprOff size_;
};

} // namespace mpr::http
