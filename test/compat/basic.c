/* SPDX-License-Identifier: MIT */
/*
    test/compat/basic.c - A small service as programs for the MPR write it: a session table with managed sessions,
    names, buffers and a worker thread. The same text is valid C11 and C++20.

    Exits with 0 when all went well; else the failed condition is printed.

    Rooms: task
 */
#include "mpr.h"
#include "expect.h"

#include <stdio.h>
#include <string.h>

typedef struct Session {
    struct Session *next;
    char *name;
    unsigned char *data;
    ssize length;
    FILE *file; /* A resource outside the heap */
} Session;

typedef struct Server {
    Session *sessions;
    MprThread *worker;
    int count;
    int done; /* Set by the worker's thread */
} Server;

static int sessionsFreed;
static int pressure;

static void manageSession(void *ptr, int flags) {
    Session *sp = (Session *) ptr;

    if (flags & MPR_MANAGE_MARK) {
        mprMark(sp->next);
        mprMark(sp->name);
        mprMark(sp->data);
    } else if (flags & MPR_MANAGE_FREE) {
        if (sp->file) {
            fclose(sp->file);
            sp->file = 0;
        }
        sessionsFreed++;
    }
}

static void manageServer(Server *server, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(server->sessions);
        mprMark(server->worker);
    }
}

static char *copyName(cchar *name) {
    return (char *) mprMemdup(name, strlen(name) + 1);
}

static Session *createSession(Server *server, cchar *name) {
    Session *sp;

    if ((sp = mprAllocObj(Session, manageSession)) == 0) {
        return 0;
    }
    EXPECT(sp->next == 0 && sp->name == 0 && sp->data == 0 && sp->file == 0);
    sp->name = copyName(name);
    sp->file = tmpfile();
    sp->next = server->sessions;
    server->sessions = sp;
    server->count++;
    return sp;
}

/* Append to a session's data; it is the only reference. */
static int append(Session *sp, cchar *text) {
    ssize len = (ssize) strlen(text);
    unsigned char *data;

    if ((data = (unsigned char *) mprRealloc(sp->data, (size_t) (sp->length + len + 1))) == 0) {
        return MPR_ERR_MEMORY;
    }
    memcpy(&data[sp->length], text, (size_t) len + 1);
    sp->data = data;
    sp->length += len;
    return 0;
}

static void testSessions(Server *server) {
    Session *sp;
    char name[32];
    int i;

    for (i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "session-%d", i);
        sp = createSession(server, name);
        EXPECT(sp != 0);
        EXPECT(append(sp, "hello ") == 0);
        EXPECT(append(sp, name) == 0);
        mprYield(0);
    }
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(sessionsFreed == 0);
    for (sp = server->sessions, i = 99; sp; sp = sp->next, i--) {
        snprintf(name, sizeof(name), "session-%d", i);
        EXPECT(strcmp(sp->name, name) == 0);
        EXPECT(memcmp(sp->data, "hello ", 6) == 0);
        EXPECT(strcmp((char *) &sp->data[6], name) == 0);
        EXPECT(mprGetBlockSize(sp->data) >= (size_t) sp->length + 1);
    }
    EXPECT(i == -1);

    /* Drop half of them. */
    for (sp = server->sessions; sp && sp->next; sp = sp->next) {
        sp->next = sp->next->next;
    }
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(sessionsFreed == 50);
}

static void testHolds(void) {
    char *text = copyName("held");
    char *temporary = copyName("temporary");

    mprHold(text);
    mprHoldBlocks(text, temporary, NULL);
    mprYield(MPR_YIELD_COMPLETE);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(mprIsValid(text) && strcmp(text, "held") == 0);
    EXPECT(mprIsValid(temporary));
    mprReleaseBlocks(text, temporary, NULL);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(mprIsValid(text));
    EXPECT(!mprIsValid(temporary));
    mprRelease(text);
    EXPECT(mprFree(text) == 0);
}

static void work(void *data, MprThread *tp) {
    Server *server = (Server *) data;
    int i;

    EXPECT(mprGetCurrentThread() == tp);
    EXPECT(strcmp(mprGetCurrentThreadName(), "worker") == 0);
    for (i = 0; i < 100000; i++) {
        char *block = (char *) mprAllocZeroed(100);
        EXPECT(block != 0 && block[0] == 0 && block[99] == 0);
        memset(block, i, 100);
        if (mprNeedYield()) {
            mprYield(0);
        }
        EXPECT(server->count == 100);
    }
    __atomic_store_n(&server->done, 1, __ATOMIC_RELEASE);
}

static void testThread(Server *server) {
    server->worker = mprCreateThread("worker", work, server, 0);
    EXPECT(server->worker != 0);
    EXPECT(mprStartThread(server->worker) == 0);
    while (!__atomic_load_n(&server->done, __ATOMIC_ACQUIRE)) {
        mprGC(MPR_GC_FORCE);
    }
    server->worker = 0;
    while (mprGetMemStats()->threads > 1) {
        mprYield(0);
    }
}

static void notify(int cause, int policy, size_t size, size_t total) {
    EXPECT(policy == MPR_ALLOC_POLICY_NOTHING);
    EXPECT(cause == MPR_MEM_WARNING || cause == MPR_MEM_LIMIT || cause == MPR_MEM_WELL);
    EXPECT(total > 0 && size > 0);
    pressure |= cause;
}

static void testLimits(void) {
    int i;

    mprSetMemNotifier(notify);
    mprSetMemPolicy(MPR_ALLOC_POLICY_NOTHING);
    mprSetMemLimits(16 * 1024 * 1024, 32 * 1024 * 1024, -1);
    for (i = 0; i < 1000 && mprAlloc(100 * 1024); i++) {}
    EXPECT(i < 1000);
    EXPECT(pressure == (MPR_MEM_WARNING | MPR_MEM_LIMIT)); /* and not well */
    EXPECT(mprHasMemError());
    mprResetMemError();
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(mprAlloc(100 * 1024) != 0);
    EXPECT(!mprHasMemError());
    mprSetMemNotifier(0);
    mprSetMemLimits(0, 0, -1);
}

static void testCollectorOff(void) {
    void *block;
    int i;

    EXPECT(mprEnableGC(false));
    for (i = 0; i < 1000; i++) {
        block = mprAllocMem(64, MPR_ALLOC_ZERO | MPR_ALLOC_MANAGER);
        EXPECT(mprSetManager(block, manageSession) == block);
        EXPECT(mprFree(block) == 0);
    }
    EXPECT(!mprEnableGC(true));
}

int main(int argc, char **argv) {
    Mpr *mpr;
    Server *server;

    if ((mpr = mprCreate(argc, argv, 0)) == 0) {
        printf("Cannot create the runtime\n");
        return 2;
    }
    EXPECT(mprIsValid(mpr));
    server = mprAllocObj(Server, manageServer);
    mprAddRoot(server);

    testSessions(server);
    testHolds();
    testThread(server);
    testLimits();
    testCollectorOff();

    mprRemoveRoot(server);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(sessionsFreed == 1100);
    EXPECT(mprVerifyHeap() == 0);
    EXPECT(mprGetMemStats()->misuses == 0);
    EXPECT(mprDestroy());
    return verdict();
}
