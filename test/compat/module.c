/* SPDX-License-Identifier: MIT */
/*
    test/compat/module.c - Modules as programs for the MPR use them: handlers of a server that are part of the program
    or loaded by name, their data, a finalizer, a search path. The same text is valid C11 and C++20.

    Rooms: io

    Exits with 0 when all went well; else the failed condition is printed.
 */
#include "mpr.h"
#include "expect.h"

typedef struct Server {
    MprHash *handlers;
    int stopped;
} Server;

static Server *server;

static void manageServer(Server *sp, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(sp->handlers);
    }
}

static int stopHandler(MprModule *mp) {
    EXPECT(smatch(mp->name, "fileHandler"));
    server->stopped++;
    return 0;
}

static int fileHandlerInit(void *data, MprModule *mp) {
    Server *sp = (Server *) data;

    mprAddKey(sp->handlers, mp->name, mp);
    mprSetModuleFinalizer(mp, stopHandler);
    return 0;
}

/* A part of the program. */
static void testStatic(void) {
    MprModule *mp = mprCreateModule("fileHandler", NULL, "fileHandlerInit", server);

    EXPECT(mp != 0);
    mprSetModuleEntry(mp, fileHandlerInit);
    EXPECT(mprLoadModule(mp) == 0);
    EXPECT(mprLookupKey(server->handlers, "fileHandler") == mp);
    EXPECT(mprLookupModule("fileHandler") == mp);
    EXPECT(mprLookupModuleData("fileHandler") == server);
    mprSetModuleTimeout(mp, 60 * 1000);
    mp->lastActivity = mprGetTicks();
    EXPECT(mprStopModule(mp) == 0);
    EXPECT(server->stopped == 1);
    EXPECT(mprStartModule(mp) == 0);
    EXPECT(mprUnloadModule(mp) == 0);
    EXPECT(server->stopped == 2);
}

/* One that is not there. */
static void testMissing(void) {
    MprModule *mp;

    mprSetModuleSearchPath(sjoin(mprGetAppDir(), MPR_SEARCH_SEP, "/no/such/folder", NULL));
    EXPECT(scontains(mprGetModuleSearchPath(), ":/no/such/folder") != 0);
    EXPECT(mprSearchForModule("mod_none") == 0);
    mp = mprCreateModule("noneHandler", "mod_none", "noneHandlerInit", server);
    EXPECT(mp && mprLoadModule(mp) < 0);
    EXPECT(mprLookupModule("noneHandler") == mp);
}

static void ignore(cchar *tags, int level, cchar *msg) {
    (void) tags, (void) level, (void) msg;
}

int main(int argc, char **argv) {
    if (!mprCreate(argc, argv, 0)) {
        return 1;
    }
    mprSetLogHandler(ignore);
    server = mprAllocObj(Server, manageServer);
    mprAddRoot(server);
    server->handlers = mprCreateHash(0, 0);
    testStatic();
    testMissing();
    mprRemoveRoot(server);
    EXPECT(mprDestroy());
    return verdict();
}
