// SPDX-License-Identifier: MIT
/*
    date.hpp - Dates in header fields: written in one form, read in three. RFC 9110 (2022), 5.6.7.
 */
#pragma once

#include <string_view>

#include "mpr/types.h"

namespace mpr::http {

/** Bytes of a date as it is written, with the zero behind it. */
constexpr int dateSize = 30;

/** Write a date: "Sun, 06 Nov 1994 08:49:37 GMT". Years before 0 and after 9999 are taken for the nearest. */
void formatDate(char (&out)[dateSize], MprTime time);

/**
    Read a date: the form above; RFC 850's, "Sunday, 06-Nov-94 08:49:37 GMT"; or asctime's, "Sun Nov  6 08:49:37 1994".
    Case counts. The weekday has to be one, not that of the date. A year of two digits is within 50 years of now.
    @param now What time it is. @return Whether it is one; if not time is untouched.
 */
bool parseDate(std::string_view text, MprTime now, MprTime& time);

} // namespace mpr::http
