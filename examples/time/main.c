/* SPDX-License-Identifier: MIT */
/*
    time - Dates formatted and read, and a duration measured.

        cc main.c -lmpr -luv -lpthread
 */
#include <mpr.h>
#include <stdio.h>

int main(int argc, char **argv) {
    static cchar *const texts[] = {
        "Sat, 21 Nov 2026 06:15:37 GMT",
        "2026-11-21T07:15:37+01:00",
        "Nov 21, 2026 6:15:37 am",
        "@1795241737",
        "tomorrow at 10:30",
        "2 weeks ago",
    };
    MprTicks mark = mprGetTicks();
    MprTime time;
    int i, same = 0;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    printf("now: %s\n", mprGetDate(NULL));
    for (i = 0; i < (int) (sizeof(texts) / sizeof(texts[0])); i++) {
        if (mprParseTime(&time, texts[i], MPR_UTC_TIMEZONE, NULL) < 0) {
            printf("%s: no date\n", texts[i]);
            return 1;
        }
        printf("%-30s %s\n", texts[i], mprFormatUniversalTime(MPR_HTTP_DATE, time));
        same += time == (MprTime) 1795241737 * MPR_TICKS_PER_SEC;
    }
    if (mprParseTime(&time, "2026-02-29", MPR_LOCAL_TIMEZONE, NULL) != MPR_ERR_BAD_SYNTAX) {
        return 1; /* 2026 is no leap year */
    }
    printf("took %lld ms\n", (long long) mprGetElapsedTicks(mark)); /* By the clock that never goes back */
    return mprDestroy() && same == 4 ? 0 : 1;
}
