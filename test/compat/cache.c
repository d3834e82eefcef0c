/* SPDX-License-Identifier: MIT */
/*
    test/compat/cache.c - A cache as programs for the MPR use it: sessions that expire, pages of a server with the
    time of their making, counters. The same text is valid C11 and C++20.

    Rooms: task

    Exits with 0 when all went well; else the failed condition is printed.
 */
#include "mpr.h"
#include "expect.h"

typedef struct Session {
    cchar *id;
    MprCache *cache;
    MprHash *data;
} Session;

typedef struct App {
    MprCache *sessions;
    MprCache *pages;
    int64 dropped;
} App;

static App *app;

static void manageApp(App *ap, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(ap->sessions);
        mprMark(ap->pages);
    }
}

static void manageSession(Session *sp, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(sp->id);
        mprMark(sp->cache);
        mprMark(sp->data);
    }
}

/* ---- Sessions: what they know lives as long as their item ---- */

static Session *createSession(cchar *id, MprTicks lifespan) {
    Session *sp = mprAllocObj(Session, manageSession);

    sp->id = sclone(id);
    sp->cache = app->sessions;
    sp->data = mprCreateHash(0, 0);
    mprAddKey(sp->data, "user", sclone("peter"));
    EXPECT(mprWriteCache(sp->cache, sp->id, "{}", 0, lifespan, 0, MPR_CACHE_SET) == 2);
    EXPECT(mprSetCacheLink(sp->cache, sp->id, sp) == 0);
    return sp;
}

static void testSessions(void) {
    Session *sp = createSession("one", 60 * 60 * 1000);

    createSession("two", 60 * 60 * 1000);
    EXPECT(mprExpireCacheItem(app->sessions, "two", mprGetTicks() + 1) == 0);
    mprAddRoot(sp);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(smatch((cchar *) mprLookupKey(sp->data, "user"), "peter"));
    mprSleep(5);
    EXPECT(mprReadCache(app->sessions, "two", NULL, NULL) == 0);
    EXPECT(smatch(mprReadCache(app->sessions, sp->id, NULL, NULL), "{}"));
    EXPECT(mprExpireCacheItem(app->sessions, sp->id, mprGetTicks() + 60 * 1000) == 0);
    EXPECT(mprReadCache(app->sessions, sp->id, NULL, NULL) != 0);
    /* Log out */
    EXPECT(mprExpireCacheItem(app->sessions, sp->id, 0) == 0);
    EXPECT(mprReadCache(app->sessions, sp->id, NULL, NULL) == 0);
    mprRemoveRoot(sp);
}

/* ---- Pages of a server: a buffer's content and when it was made; several requests append ---- */

static void testPages(void) {
    MprBuf *buf = mprCreateBuf(0, 0);
    MprTime when = mprGetTime(), modified = 0;
    int64 version = 0;
    ssize length;

    mprPutStringToBuf(buf, "<html>");
    mprAddNullToBuf(buf);
    length = mprWriteCache(app->pages, "GET /", mprGetBufStart(buf), when, -1, 0, 0);
    EXPECT(length == 6);
    mprFlushBuf(buf);
    mprPutStringToBuf(buf, "reused");
    EXPECT(smatch(mprReadCache(app->pages, "GET /", &modified, &version), "<html>"));
    EXPECT(modified == when);
    EXPECT(mprWriteCache(app->pages, "GET /", "</html>", 0, -1, version, MPR_CACHE_APPEND) == 7);
    EXPECT(mprWriteCache(app->pages, "GET /", "</html>", 0, -1, version, MPR_CACHE_APPEND) == MPR_ERR_BAD_STATE);
    EXPECT(mprWriteCache(app->pages, "GET /", "x", 0, -1, 0, MPR_CACHE_ADD) == MPR_ERR_ALREADY_EXISTS);
    EXPECT(mprWriteCache(app->pages, "GET /", "<!doctype html>", 0, -1, 0, MPR_CACHE_PREPEND) == 15);
    EXPECT(smatch(mprLookupCache(app->pages, "GET /", NULL, NULL), "<!doctype html><html></html>"));
}

/* ---- Limits, counters, the callback ---- */

static void notify(MprCache *cache, cchar *key, cchar *data, int event) {
    EXPECT(cache == app->pages);
    EXPECT(key && data && event == MPR_CACHE_NOTIFY_REMOVE);
    app->dropped++;
}

static void testLimits(void) {
    ssize mem = 0;
    int keys = 0, i;

    mprSetCacheNotify(app->pages, notify);
    mprSetCacheLimits(app->pages, 10, 60 * 1000, 64 * 1024, 100);
    for (i = 0; i < 100; i++) {
        mprWriteCache(app->pages, sfmt("page-%d", i), "content", 0, 0, 0, MPR_CACHE_SET);
        mprIncCache(app->pages, "count", 1);
    }
    mprGetCacheStats(app->pages, &keys, &mem);
    EXPECT(keys == 10);
    EXPECT(mem > 0 && mem < 64 * 1024);
    EXPECT(mprIncCache(app->pages, "count", -100) == 0);
    EXPECT(app->dropped == 92); /* of 101 and the page before */
    EXPECT(mprRemoveCache(app->pages, "count"));
    EXPECT(!mprRemoveCache(app->pages, "count"));
    mprPruneCache(app->pages);
    mprGetCacheStats(app->pages, &keys, &mem);
    EXPECT(keys == 0 && mem == 0);
    EXPECT(app->dropped == 102);
    EXPECT(mprCreateCache(MPR_CACHE_SHARED) == app->pages);
}

int main(int argc, char **argv) {
    if (!mprCreate(argc, argv, 0)) {
        return 1;
    }
    app = mprAllocObj(App, manageApp);
    mprAddRoot(app);
    app->sessions = mprCreateCache(0);
    app->pages = mprCreateCache(MPR_CACHE_SHARED);
    testSessions();
    testPages();
    testLimits();
    app->sessions = (MprCache *) mprDestroyCache(app->sessions);
    app->pages = (MprCache *) mprDestroyCache(app->pages);
    mprRemoveRoot(app);
    EXPECT(mprDestroy());
    return verdict();
}
