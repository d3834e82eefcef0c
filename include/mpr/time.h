/* SPDX-License-Identifier: MIT */
/*
    mpr/time.h - Clocks, dates, and dates as text.

    MprTicks count milliseconds of a clock that never goes back: for timeouts and durations. MprTime counts milliseconds
    since 1970-01-01 00:00 UTC, negative before, by the system's clock, which may be set: for dates. Dates are those of
    the Gregorian calendar, extended to all years.

    Local time is that of the system, or of the environment variable TZ as it was when first asked.

    Threads: clocks and decoding any thread; what returns a string, attached threads. None of these calls yields.
 */
#ifndef MPR_TIME_H
#define MPR_TIME_H

#include <time.h>

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/* Formats: see mprFormatTm. */
#define MPR_DEFAULT_DATE "%a %b %d %T %Y %Z" /* Sat Nov 21 06:15:37 2026 CET */
#define MPR_RFC_DATE "%a, %d %b %Y %T %Z"    /* RFC 822, with a four-digit year */
#define MPR_HTTP_DATE "%a, %d %b %Y %T GMT"  /* RFC 9110: for mprFormatUniversalTime */
#define MPR_ISO_DATE "%Y-%m-%dT%T%z"         /* ISO 8601 */
#define MPR_ISO_UTC_DATE "%Y-%m-%dT%T.%fZ"   /* 2026-11-21T06:15:37.250Z: for mprFormatUniversalTime */
#define MPR_LOG_DATE "%D %T"                 /* 11/21/26 06:15:37 */

/* Time zones of mprParseTime, or minutes east of Greenwich. */
#define MPR_UTC_TIMEZONE 0
#define MPR_LOCAL_TIMEZONE 0x7fffffff

/* Milliseconds. */
#define MPR_TICKS_PER_SEC 1000
#define MPR_MAX_TIMEOUT INT64_MAX /* For ever */

/** The monotonic clock, milliseconds. */
MPR_EXPORT MprTicks mprGetTicks(MPR_NOTHING);
/** The monotonic clock, nanoseconds: as fine as the system has it. */
MPR_EXPORT unsigned long long mprGetHiResTicks(MPR_NOTHING);
/** Milliseconds since mark, an earlier mprGetTicks(). */
MPR_EXPORT MprTicks mprGetElapsedTicks(MprTicks mark);
/** What is left of a timeout that began at mark, milliseconds; negative once it has passed. */
MPR_EXPORT MprTicks mprGetRemainingTicks(MprTicks mark, MprTicks timeout);

/** The system's time. */
MPR_EXPORT MprTime mprGetTime(MPR_NOTHING);
/** Milliseconds since mark, an earlier mprGetTime(). */
MPR_EXPORT MprTime mprGetElapsedTime(MprTime mark);
/** @return -1, 0 or 1: t1 is before, at or after t2. */
MPR_EXPORT int mprCompareTime(MprTime t1, MprTime t2);

/** Take a time apart, in local time or UTC. All fields are set, tm_gmtoff and tm_zone too. */
MPR_EXPORT void mprDecodeLocalTime(struct tm *timep, MprTime time);
MPR_EXPORT void mprDecodeUniversalTime(struct tm *timep, MprTime time);

/**
    Format a date. @param fmt As of strftime in the C locale; NULL: MPR_DEFAULT_DATE.
      %A %a   weekday          %B %b %h  month          %C  century            %c  "%a %b %e %H:%M:%S %Y"
      %D      "%m/%d/%y"       %d %e     day (padded by 0, by a space)         %F  "%Y-%m-%d"
      %f      milliseconds, three digits (0 in mprFormatTm)                    %G %g %V  ISO 8601 year, in two digits, week
      %H %k   hour (0, space)  %I %l     hour of 12     %j  day of the year    %M  minute   %m  month
      %n %t   newline, tab     %P %p     am, AM         %R  "%H:%M"            %r  "%I:%M:%S %p"
      %S      second           %s        seconds since 1970                    %T  "%H:%M:%S"
      %U %W   week from the first Sunday, Monday        %u %w  weekday from Monday = 1, from Sunday = 0
      %v      "%e-%b-%Y"       %X %x     "%T", "%D"     %Y %y  year (four digits at least), in two digits
      %Z %z   time zone: its name, as +hhmm             %+  "%a %b %e %T %Z %Y"                     %%  %
    %E and %O before a letter change nothing; other letters are copied as they are.
    @return A new string, or NULL when memory is short.
 */
MPR_EXPORT char *mprFormatTm(const char *fmt, struct tm *timep);
MPR_EXPORT char *mprFormatLocalTime(const char *fmt, MprTime time);
MPR_EXPORT char *mprFormatUniversalTime(const char *fmt, MprTime time);
/** Format the present, in local time. @param fmt As mprFormatTm. */
MPR_EXPORT char *mprGetDate(char *fmt);

/** Compose a time from a struct tm, taken as local time or as UTC, whatever its zone says. Fields may be out of range:
    the 32nd of a month is in the next. Weekday and day of the year are not looked at. @return 0 for NULL; the nearest
    time that there is. Any thread. */
MPR_EXPORT MprTime mprMakeTime(struct tm *timep);
MPR_EXPORT MprTime mprMakeUniversalTime(struct tm *timep);
/** Milliseconds that local time is ahead of UTC at a moment. Any thread. */
MPR_EXPORT int mprGetTimeZoneOffset(MprTime when);

/**
    Read a date.
    @param time Where it is put; untouched after an error.
    @param dateString One of
      - RFC 822 and 1123 (Sat, 21 Nov 2026 06:15:37 GMT), RFC 850 (Saturday, 21-Nov-26 06:15:37 GMT), asctime
        (Sat Nov 21 06:15:37 2026), date(1);
      - ISO 8601: 2026-11-21, 2026-11-21T06:15:37.123+01:00, 20261121T061537Z;
      - 11/21/2026 (month first, unless it cannot be), 2026/11/21, 21.11.2026, 21-11-2026, 21 Nov 2026, Nov 21, 2026;
      - a time of day: 6:15, 06:15:37.5, 6:15 pm, 6pm; before or after a date, or alone;
      - now, today, yesterday, tomorrow (the last three at 00:00, or with a time of day);
      - an amount and its unit: 2 days ago, +1h, -30 min, in 3 weeks; units: ms s sec second m min minute h hr hour d day
        w week month y yr year, and their plurals. Days and longer follow the calendar; a day that a month does not have
        becomes its last;
      - @ and seconds since 1970.
    A library that was built with MPR_PEOPLE_TIMES=OFF, for a small board, reads the forms of protocols alone: no dates
    with slashes or points or with the day first in digits, no am and pm, no near days, no amounts.
    Case does not matter; a weekday and text in parentheses are ignored. Years of two digits lie from 1969 to 2068.
    Zones: Z, UT, UTC, GMT, those of North America (EST, PDT ...), CET, CEST, +hh, +hhmm, +hh:mm.
    @param zone The zone when the text has none: MPR_LOCAL_TIMEZONE, MPR_UTC_TIMEZONE or minutes east.
    @param defaults Fields that the text lacks. NULL: today's date, and 00:00 where there is a date.
    @return 0; MPR_ERR_BAD_SYNTAX; MPR_ERR_BAD_ARGS for NULL.
 */
MPR_EXPORT int mprParseTime(MprTime *time, const char *dateString, int zone, struct tm *defaults);

MPR_EXTERN_C_END
#endif /* MPR_TIME_H */
