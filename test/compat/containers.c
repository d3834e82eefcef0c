/* SPDX-License-Identifier: MIT */
/*
    test/compat/containers.c - Lists, hashes and times as programs for the MPR use them: a route table with parameters, an
    inventory, a calendar. The same text is valid C11 and C++20.

    Exits with 0 when all went well; else the failed condition is printed.
 */
#include "mpr.h"
#include "expect.h"

#include <stdlib.h>
#include <string.h>

typedef struct Route {
    char *name;
    MprHash *params;
    MprList *methods;
    MprTime created;
} Route;

typedef struct App {
    MprList *routes;
    MprHash *byName;
    MprKeyValue *pair;
} App;

static App *app;

static void manageRoute(Route *route, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(route->name);
        mprMark(route->params);
        mprMark(route->methods);
    }
}

static void manageApp(App *ap, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(ap->routes);
        mprMark(ap->byName);
        mprMark(ap->pair);
    }
}

static char *copyText(cchar *str) {
    return (char *) mprMemdup(str, strlen(str) + 1);
}

static Route *createRoute(cchar *name, cchar *methods) {
    Route *route;

    if ((route = mprAllocObj(Route, manageRoute)) == 0) {
        return 0;
    }
    route->name = copyText(name);
    route->params = mprCreateHash(-1, MPR_HASH_CASELESS);
    route->methods = mprCreateListFromWords(methods);
    route->created = mprGetTime();
    mprAddItem(app->routes, route);
    mprAddKey(app->byName, name, route);
    return route;
}

static int compareRoute(cvoid *p1, cvoid *p2, void *ctx) {
    Route **r1 = (Route **) p1, **r2 = (Route **) p2;

    EXPECT(ctx == app);
    return strcmp((*r1)->name, (*r2)->name);
}

static void testRoutes(void) {
    Route *route;
    MprKey *kp;
    char *method;
    cchar *data;
    int next, nextMethod, count;

    createRoute("/users", "GET POST");
    createRoute("/admin", "GET, PUT");
    route = createRoute("/login", "POST");
    mprAddKey(route->params, "Timeout", copyText("30"));
    mprAddKeyFmt(route->params, "limit", "%d", 100);

    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(mprGetListLength(app->routes) == 3);
    EXPECT(app->routes->length == 3);
    mprSortList(app->routes, compareRoute, app);

    count = 0;
    for (ITERATE_ITEMS(app->routes, route, next)) {
        EXPECT(mprLookupKey(app->byName, route->name) == route);
        EXPECT(app->routes->items[next - 1] == route);
        for (ITERATE_ITEMS(route->methods, method, nextMethod)) {
            EXPECT(strlen(method) >= 3);
            count++;
        }
    }
    EXPECT(count == 5);
    route = (Route *) mprGetFirstItem(app->routes);
    EXPECT(strcmp(route->name, "/admin") == 0);
    EXPECT(strcmp(mprListToString(route->methods, "|"), "GET|PUT") == 0);

    route = (Route *) mprLookupKey(app->byName, "/login");
    EXPECT(strcmp((char *) mprLookupKey(route->params, "timeout"), "30") == 0);
    EXPECT(strcmp((char *) mprLookupKey(route->params, "LIMIT"), "100") == 0);
    count = 0;
    for (ITERATE_KEYS(route->params, kp)) {
        data = (cchar *) kp->data;
        EXPECT(kp->key && data && kp->type == 0);
        kp->type = 3;
        count += atoi(data);
    }
    EXPECT(count == 130);
    EXPECT(mprLookupKeyEntry(route->params, "limit")->type == 3);
    for (kp = 0; (kp = mprGetNextKey(route->params, kp)) != 0;) {
        mprRemoveKey(route->params, kp->key);
    }
    EXPECT(mprGetHashLength(route->params) == 0);
    EXPECT(mprGetFirstKey(route->params) == 0);
}

static void testStatics(void) {
    static cchar *const words[] = {"one", "two", "three", 0};
    MprHash *table = mprCreateHash(17, MPR_HASH_STATIC_ALL | MPR_HASH_UNIQUE | MPR_HASH_STABLE);
    MprList *list = mprCreateList(3, MPR_LIST_STATIC_VALUES | MPR_LIST_STABLE);
    MprList *clone;
    cchar *word;
    int i, next;

    for (i = 0; words[i]; i++) {
        EXPECT(mprAddKey(table, words[i], words[i]) != 0);
        EXPECT(mprAddItem(list, words[i]) == i);
    }
    EXPECT(mprAddKey(table, "two", "again") == 0);
    EXPECT(mprLookupKey(table, "two") == words[1]);
    EXPECT(mprAddNullItem(list) >= 0);
    EXPECT(list->items[3] == 0 && mprGetListLength(list) == 3);
    EXPECT(mprLookupItem(list, words[2]) == 2);
    EXPECT(mprLookupStringItem(list, "one") == 0);
    EXPECT(mprLookupItem(list, "none") < 0);

    clone = mprCloneList(list);
    EXPECT(mprInsertItemAtPos(clone, 0, "zero") == 0);
    EXPECT(mprSetItem(clone, 1, "uno") == words[0]);
    EXPECT(mprRemoveItem(clone, words[1]) == 2);
    EXPECT(mprRemoveItemAtPos(clone, 9) < 0);
    i = 0;
    for (ITERATE_ITEMS(clone, word, next)) {
        i += (int) strlen(word);
    }
    EXPECT(i == 12);
    EXPECT(strcmp((cchar *) mprPopItem(clone), "three") == 0);
    EXPECT(mprPushItem(clone, "four") == 2);
    EXPECT(strcmp((cchar *) mprGetLastItem(clone), "four") == 0);
    mprSortList(clone, NULL, NULL);
    EXPECT(strcmp((cchar *) mprGetItem(clone, 0), "four") == 0);
}

static void testPairs(void) {
    app->pair = mprCreateKeyPair("name", "value", 0);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(strcmp(app->pair->key, "name") == 0);
    EXPECT(strcmp((char *) app->pair->value, "value") == 0);
}

static void testBlend(void) {
    MprHash *base = mprCreateHash(0, 0), *more = mprCreateHash(0, 0), *clone;

    mprAddKey(base, "a", copyText("1"));
    mprAddKey(more, "a", copyText("2"));
    mprAddKey(more, "b", copyText("3"));
    clone = mprCloneHash(base);
    EXPECT(mprBlendHash(base, more) == base);
    EXPECT(strcmp((char *) mprLookupKey(base, "a"), "2") == 0);
    EXPECT(strcmp((char *) mprLookupKey(clone, "a"), "1") == 0);
    EXPECT(strcmp(mprHashKeysToString(base, "+"), "a+b") == 0);
    EXPECT(mprAddDuplicateKey(base, "a", copyText("4")) != 0);
    EXPECT(mprGetHashLength(base) == 3);
}

static int compareInt(cvoid *p1, cvoid *p2, void *ctx) {
    (void) ctx;
    return *(const int *) p1 - *(const int *) p2;
}

static void testTime(void) {
    int numbers[] = {5, 3, 9, 1};
    struct tm tm;
    MprTime time, when;
    MprTicks mark = mprGetTicks();

    mprSort(numbers, 4, sizeof(int), compareInt, NULL);
    EXPECT(numbers[0] == 1 && numbers[3] == 9);

    EXPECT(mprParseTime(&time, "Thu, 01 Jan 1970 00:01:00 GMT", MPR_LOCAL_TIMEZONE, NULL) == 0);
    EXPECT(time == 60 * MPR_TICKS_PER_SEC);
    EXPECT(strcmp(mprFormatUniversalTime(MPR_HTTP_DATE, time), "Thu, 01 Jan 1970 00:01:00 GMT") == 0);
    mprDecodeUniversalTime(&tm, time);
    EXPECT(tm.tm_min == 1 && tm.tm_year == 70);
    EXPECT(strcmp(mprFormatTm("%Y-%m-%d", &tm), "1970-01-01") == 0);
    when = mprGetTime();
    EXPECT(mprParseTime(&time, mprFormatLocalTime(MPR_ISO_DATE, when), MPR_UTC_TIMEZONE, NULL) == 0);
    EXPECT(time == when - when % 1000);
    EXPECT(mprCompareTime(time, when) <= 0);
    EXPECT(mprParseTime(&time, "no date", MPR_UTC_TIMEZONE, NULL) < 0);
    EXPECT(mprGetDate(NULL) != 0);
    EXPECT(mprGetElapsedTicks(mark) >= 0);
    EXPECT(mprGetRemainingTicks(mark, 60000) <= 60000);
    EXPECT(mprGetElapsedTime(when) >= 0);
    EXPECT(mprGetHiResTicks() > 0);
}

int main(int argc, char **argv) {
    if (mprCreate(argc, argv, 0) == 0) {
        return 2;
    }
    app = mprAllocObj(App, manageApp);
    mprAddRoot(app);
    app->routes = mprCreateList(-1, 0);
    app->byName = mprCreateHash(-1, 0);

    testRoutes();
    testStatics();
    testPairs();
    testBlend();
    testTime();

    EXPECT(mprVerifyHeap() == 0);
    EXPECT(mprGetMemStats()->misuses == 0);
    mprRemoveRoot(app);
    EXPECT(mprDestroy());
    return verdict();
}
