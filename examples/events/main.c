/* SPDX-License-Identifier: MIT */
/*
    Events: procedures that a dispatcher calls, one after another, now or when their time comes.

    The main dispatcher's events run on the thread that services events: this one.

    Rooms: task
 */
#include <mpr.h>

#include <stdio.h>
#include <string.h>

typedef struct Clock {
    int ticks;
    char *name; /* Managed */
} Clock;

static void manageClock(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(((Clock *) ptr)->name);
    }
}

static void tick(void *data, MprEvent *event) {
    Clock *clock = (Clock *) data;

    printf("%s: tick %d\n", clock->name, ++clock->ticks);
    if (clock->ticks == 3) {
        mprStopContinuousEvent(event);
    }
}

static void later(void *data, MprEvent *event) {
    printf("%s, after %d ms\n", (cchar *) data, (int) event->period);
}

static void finish(void *data, MprEvent *event) {
    (void) data;
    (void) event;
    printf("enough\n");
    mprShutdown(MPR_EXIT_NORMAL, 0, -1);
}

int main(int argc, char **argv) {
    Clock *clock;
    int status;

    /* No thread of the runtime's own for events: main services them. */
    if (!mprCreate(argc, argv, MPR_USER_EVENTS_THREAD) || mprStart() < 0) {
        return 1;
    }
    clock = mprAllocObj(Clock, manageClock);
    if (!clock || (clock->name = (char *) mprMemdup("clock", sizeof("clock"))) == 0) {
        return 1;
    }
    /* The event retains the clock, the runtime retains the event: neither needs a root. */
    if (!mprCreateTimerEvent(0, "tick", 10, tick, clock, 0) ||
        !mprCreateEvent(0, "later", 15, later, (void *) "once", 0) ||
        !mprCreateEvent(0, "now", 0, later, (void *) "at once", 0) || !mprCreateEvent(0, "finish", 100, finish, 0, 0)) {
        return 1;
    }
    mprServiceEvents(-1, 0); /* Yields between events; returns after mprShutdown */
    status = mprGetExitStatus();
    return mprDestroy() ? status : 1;
}
