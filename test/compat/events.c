/* SPDX-License-Identifier: MIT */
/*
    test/compat/events.c - Dispatchers, events, timers, workers, locks and conditions, used as programs for the MPR use
    them. The same text is valid C11 and C++20.

    Exits with 0 when all went well; else the failed condition is printed.

    Rooms: task
 */
#include "mpr.h"
#include "expect.h"

#include <string.h>

/* A service with a lock, a dispatcher and a heartbeat. */
typedef struct Service {
    MprMutex *mutex;
    MprDispatcher *dispatcher;
    MprEvent *heartbeat;
    MprCond *complete;
    MprList *done;
    MprHash *names;
    int beats, jobs, outside;
} Service;

static Service *service;

static void manageService(Service *sp, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(sp->mutex);
        mprMark(sp->dispatcher);
        mprMark(sp->heartbeat);
        mprMark(sp->complete);
        mprMark(sp->done);
        mprMark(sp->names);
    }
}

static void heartbeat(Service *sp, MprEvent *event) {
    EXPECT(sp == service);
    EXPECT(event->dispatcher == sp->dispatcher);
    lock(sp);
    sp->beats++;
    unlock(sp);
    if (sp->beats == 3) {
        mprStopContinuousEvent(event);
        mprSignalCond(sp->complete);
    }
}

static void job(void *data, MprWorker *worker) {
    Service *sp = (Service *) data;

    EXPECT(worker != 0);
    mprSleep(1);
    lock(sp->done);
    mprAddItem(sp->done, sfmt("job %d", mprGetListLength(sp->done)));
    unlock(sp->done);
    lock(sp->names);
    mprAddKey(sp->names, "worker", sp);
    unlock(sp->names);
    lock(sp);
    if (++sp->jobs == 5) {
        mprSignalCond(sp->complete);
    }
    unlock(sp);
}

static void fromOutside(char *text, MprEvent *event) {
    (void) event;
    EXPECT(strcmp(text, "outside") == 0);
    pfree(text);
    service->outside++;
}

static void poster(void *data, MprThread *tp) {
    char *text = (char *) palloc(8);

    (void) tp;
    memcpy(text, "outside", 8);
    EXPECT(mprCreateEventOutside((MprDispatcher *) data, fromOutside, text) == 0);
}

static void never(void *data, MprEvent *event) {
    (void) data;
    (void) event;
    EXPECT(0);
}

static void shutDown(void *data, MprEvent *event) {
    (void) data;
    (void) event;
    mprShutdown(MPR_EXIT_NORMAL, 0, 1000);
}

static void terminator(int state, int how, int status) {
    (void) state;
    EXPECT(how == MPR_EXIT_NORMAL && status == 0);
}

int main(int argc, char **argv) {
    MprEvent *event;
    char *name;
    int64 mark;
    int i;

    EXPECT(mprCreate(argc, argv, MPR_USER_EVENTS_THREAD) != 0);
    EXPECT(mprStart() == 0);
    mprAddTerminator(terminator);

    service = mprAllocObj(Service, manageService);
    mprAddRoot(service);
    service->mutex = mprCreateLock();
    service->complete = mprCreateCond();
    service->done = mprCreateList(0, 0);
    service->names = mprCreateHash(0, 0);
    service->dispatcher = mprCreateDispatcher("service", 0);
    service->heartbeat = mprCreateTimerEvent(service->dispatcher, "heartbeat", 5, heartbeat, service, 0);
    EXPECT(service->heartbeat != 0);
    mark = mprGetEventMark(service->dispatcher);
    EXPECT(mprWaitForEvent(service->dispatcher, 10000, mark) == 0);
    EXPECT(service->beats >= 1);
    while (service->beats < 3) {
        mprWaitForEvent(service->dispatcher, 1000, -1);
    }
    EXPECT(mprWaitForCond(service->complete, 10000) == 0);
    EXPECT(mprWaitForCond(service->complete, 0) < 0);

    for (i = 0; i < 5; i++) {
        while (mprStartWorker(job, service) < 0) {
            mprSleep(1);
        }
    }
    EXPECT(mprWaitForCond(service->complete, 10000) == 0);
    EXPECT(service->jobs == 5);
    lock(service->done);
    for (ITERATE_ITEMS(service->done, name, i)) {
        EXPECT(scmp(name, sfmt("job %d", i - 1)) == 0);
    }
    unlock(service->done);
    EXPECT(mprGetListLength(service->done) == 5 && mprGetHashLength(service->names) == 1);

    EXPECT(mprStartThread(mprCreateThread("poster", poster, mprGetDispatcher(), 0)) == 0);
    while (service->outside == 0) {
        mprServiceEvents(100, MPR_SERVICE_ONE_THING);
    }

    event = mprCreateEvent(0, "never", 5, never, 0, 0);
    mprRescheduleEvent(event, 60000);
    mprServiceEvents(20, 0);
    event = mprCreateEvent(0, "removed", 0, never, 0, 0);
    mprRemoveEvent(event);
    mprServiceEvents(0, MPR_SERVICE_NO_BLOCK);

    mprCreateEvent(0, "shutdown", 5, shutDown, 0, 0);
    while (!mprIsStopping()) {
        mprServiceEvents(-1, 0);
    }
    EXPECT(mprShouldDenyNewRequests());
    mprRemoveRoot(service);
    EXPECT(mprDestroy());
    return verdict();
}
