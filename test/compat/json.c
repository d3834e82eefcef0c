/* SPDX-License-Identifier: MIT */
/*
    test/compat/json.c - JSON as programs for the MPR use it: a package description, routes of a server, request
    parameters, a form's answer, an environment. The same text is valid C11 and C++20.

    Rooms: io

    Exits with 0 when all went well; else the failed condition is printed.
 */
#include "mpr.h"
#include "expect.h"

#include <stdlib.h>
#include <string.h>

typedef struct App {
    MprJson *config;
    MprList *scripts;
    MprHash *options;
    cchar *name; /* Values of a tree are managed strings: they are kept like any */
    cchar *version;
} App;

static App *app;

static void manageApp(App *ap, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(ap->config);
        mprMark(ap->scripts);
        mprMark(ap->options);
        mprMark(ap->name);
        mprMark(ap->version);
    }
}

/* ---- A package: read, and what it says handed on to lists and tables ---- */

static cchar package[] =
    "{\n"
    "    name: 'blog', // as its author writes it\n"
    "    version: \"1.2.0\",\n"
    "    scripts: { build: 'make', test: 'make test', },\n"
    "    files: [ '*.html', 'css/**', ],\n"
    "    app: { mode: 'debug', http: { ports: [ 80, 443 ], auth: { realms: { admin: 'x', user: 'y' } } } },\n"
    "    users: [\n"
    "        { name: 'john', age: 30, phone: '206-1' },\n"
    "        { name: 'mary', age: 50, phone: '425-1' },\n"
    "    ],\n"
    "}\n";

static void testRead(void) {
    MprJson *obj, *child, *users;
    cchar *path;
    int index, count;

    app->config = mprParseJson(package);
    EXPECT(app->config != 0);
    app->name = mprGetJson(app->config, "name");
    app->version = mprReadJson(app->config, "version");
    app->scripts = mprCreateList(0, 0);
    app->options = mprCreateHash(0, 0);
    for (ITERATE_JSON(mprGetJsonObj(app->config, "files"), child, index)) {
        EXPECT(child->type & MPR_JSON_VALUE);
        EXPECT((child->type & MPR_JSON_DATA_TYPE) == MPR_JSON_STRING);
        mprAddItem(app->scripts, child->value);
    }
    EXPECT(index == 2);
    obj = mprGetJsonObj(app->config, "app.http.auth.realms");
    EXPECT(obj && obj->type == MPR_JSON_OBJ && obj->length == 2);
    for (ITERATE_JSON(obj, child, index)) {
        mprAddKey(app->options, child->name, child->value);
    }
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(smatch(app->name, "blog"));
    EXPECT(smatch(app->version, "1.2.0"));
    EXPECT(smatch((cchar *) mprGetItem(app->scripts, 1), "css/**"));
    EXPECT(smatch((cchar *) mprLookupKey(app->options, "user"), "y"));

    EXPECT(stoi(mprGetJson(app->config, "app.http.ports[1]")) == 443);
    EXPECT(smatch(mprGetJson(app->config, "users[name == 'john'].phone"), "206-1"));
    EXPECT(smatch(mprGetJson(app->config, "users[age >= 50].name"), "mary"));
    EXPECT(smatch(mprGetJson(app->config, "users[phone ~ ^206].name"), "john"));
    EXPECT(smatch(mprGetJson(app->config, "users[-1].name"), "mary"));
    EXPECT(mprGetJson(app->config, "app.http.none") == 0);
    EXPECT(mprGetJsonObj(app->config, "none") == 0);
    users = mprQueryJson(app->config, "users..name", 0, 0);
    EXPECT(users && users->type == MPR_JSON_ARRAY && mprGetJsonLength(users) == 2);
    users = mprQueryJson(app->config, "users[0:1]", 0, 0);
    EXPECT(mprGetJsonLength(users) == 2);
    EXPECT(mprGetJsonLength(mprQueryJson(app->config, "nobody", 0, 0)) == 0);
    EXPECT(mprReadJsonValue(mprGetJsonObj(app->config, "scripts"), "make test") ==
           mprReadJsonObj(mprGetJsonObj(app->config, "scripts"), "test"));
    path = stemplateJson("/${name}/${version}/${app.mode}", app->config);
    EXPECT(smatch(path, "/blog/1.2.0/debug"));
    count = 0;
    for (ITERATE_JSON(app->config, child, index)) {
        count += (child->type & MPR_JSON_OBJ) ? 1 : 0;
    }
    EXPECT(count == 2);
}

/* ---- Changes ---- */

static void testWrite(void) {
    MprJson *obj, *removed, *array;

    obj = mprCreateJson(MPR_JSON_OBJ);
    EXPECT(mprSetJson(obj, "user.name", "ann", 0) == 0);
    EXPECT(mprSetJson(obj, "user.zip", "98103", MPR_JSON_STRING) == 0);
    EXPECT(mprSetJson(obj, "user.age", "42", MPR_JSON_NUMBER) == 0);
    EXPECT(mprSetJson(obj, "user.tags[$]", "new", 0) == 0);
    EXPECT(mprSetJson(obj, "user.admin", "true", 0) == 0);
    EXPECT(mprWriteJson(obj, "a.b", "low level", MPR_JSON_STRING) == 0);
    array = mprCreateJson(MPR_JSON_ARRAY);
    EXPECT(mprWriteJsonObj(array, 0, mprCreateJsonValue("1", MPR_JSON_NUMBER)) == 0);
    EXPECT(mprSetJsonObj(obj, "list", array) == 0);
    EXPECT(smatch(mprJsonToString(obj, MPR_JSON_QUOTES),
                  "{\"user\":{\"name\":\"ann\",\"zip\":\"98103\",\"age\":42,\"tags\":[\"new\"],\"admin\":true},"
                  "\"a.b\":\"low level\",\"list\":[1]}"));
    EXPECT(mprGetJsonObj(obj, "user.age")->type == (MPR_JSON_VALUE | MPR_JSON_NUMBER));
    EXPECT(mprGetJsonObj(obj, "user.admin")->type == (MPR_JSON_VALUE | MPR_JSON_TRUE));

    removed = mprRemoveJson(obj, "user.tags");
    EXPECT(mprGetJsonLength(removed) == 1);
    EXPECT(mprGetJson(obj, "user.tags") == 0);
    EXPECT(mprRemoveJsonChild(obj, mprReadJsonObj(obj, "a.b")) != 0);
    EXPECT(mprGetJsonLength(obj) == 2);
    EXPECT(mprQueryJson(obj, "user.name", "eve", 0) == obj);
    EXPECT(smatch(mprGetJson(mprCloneJson(obj), "user.name"), "eve"));
}

static void testBlend(void) {
    MprJson *dest, *src;

    dest = mprParseJson("{ dirs: { cache: '/tmp' }, files: [ 'a' ], flags: '-g', mode: 'debug' }");
    src = mprParseJson(
        "{ dirs: { log: '/var' }, '+files': [ 'b' ], '+flags': '-O2', '=mode': 'release', '?mode': 'x', '?new': 'y' }");
    EXPECT(mprBlendJson(dest, src, MPR_JSON_COMBINE) == 0);
    EXPECT(smatch(mprJsonToString(dest, MPR_JSON_QUOTES),
                  "{\"dirs\":{\"cache\":\"/tmp\",\"log\":\"/var\"},\"files\":[\"a\",\"b\"],\"flags\":\"-g "
                  "-O2\",\"mode\":\"release\","
                  "\"new\":\"y\"}"));
    src = mprParseJson("{ dirs: { only: 1 }, files: [ 'c' ] }");
    EXPECT(mprBlendJson(dest, src, MPR_JSON_OVERWRITE) == 0);
    EXPECT(smatch(mprGetJson(dest, "dirs"), "{only:1}"));
    EXPECT(smatch(mprGetJson(dest, "files"), "[\"c\"]"));
    EXPECT(mprBlendJson(dest, src, MPR_JSON_APPEND) == 0);
    EXPECT(mprGetJsonLength(mprGetJsonObj(dest, "files")) == 2);
}

/* ---- Requests and answers: strict ---- */

static void testAnswers(void) {
    MprHash *params;
    MprJson *json;
    MprBuf *buf;
    MprList *env;
    cchar *error;

    params = mprDeserialize("{ \"id\": 7, \"name\": \"a \\\"quoted\\\" name\" }");
    EXPECT(params && mprGetHashLength(params) == 2);
    EXPECT(smatch((cchar *) mprLookupKey(params, "id"), "7"));
    EXPECT(mprDeserializeInto("{ \"more\": true }", params) == params);
    EXPECT(
        smatch(mprSerialize(params, MPR_JSON_QUOTES), "{\"id\":7,\"name\":\"a \\\"quoted\\\" name\",\"more\":true}"));
    json = mprHashToJson(params);
    EXPECT(smatch(mprGetJson(json, "name"), "a \"quoted\" name"));
    EXPECT(mprGetHashLength(mprJsonToHash(json)) == 3);

    buf = mprCreateBuf(0, 0);
    mprPutCharToBuf(buf, '{');
    mprFormatJsonName(buf, "key", MPR_JSON_QUOTES);
    mprPutCharToBuf(buf, ':');
    mprFormatJsonValue(buf, MPR_JSON_STRING, "line\nline", 0);
    mprPutCharToBuf(buf, ',');
    mprFormatJsonName(buf, "n", MPR_JSON_QUOTES);
    mprPutCharToBuf(buf, ':');
    mprFormatJsonValue(buf, MPR_JSON_NUMBER, "1.50", 0);
    mprPutStringToBuf(buf, ",\"s\":");
    mprFormatJsonString(buf, "x\ty");
    mprPutCharToBuf(buf, '}');
    mprAddNullToBuf(buf);
    EXPECT(smatch(mprGetBufStart(buf), "{\"key\":\"line\\nline\",\"n\":1.50,\"s\":\"x\\ty\"}"));
    json = mprParseJsonEx(mprGetBufStart(buf), 0, 0, 0, &error);
    EXPECT(json && !error && smatch(mprGetJson(json, "n"), "1.50"));
    EXPECT(mprParseJsonEx("{\n  \"a\": \n}", 0, 0, 0, &error) == 0);
    EXPECT(scontains(error, "line 3") != 0);
    EXPECT(mprParseJsonInto("{\"n\": 2, \"m\": [] }", json) == json && smatch(mprGetJson(json, "n"), "2"));

    env = mprJsonToEnv(mprParseJson("{ \"web\": { \"port\": 80 } }"), "app", 0);
    EXPECT(mprGetListLength(env) == 1 && smatch((cchar *) mprGetItem(env, 0), "APP_WEB_PORT=80"));
}

static void testFiles(void) {
    MprJson *json;
    char *path;

    path = mprGetTempPath(0);
    EXPECT(mprSaveJson(app->config, path, MPR_JSON_PRETTY | MPR_JSON_QUOTES) == 0);
    json = mprLoadJson(path);
    EXPECT(json != 0);
    EXPECT(smatch(mprJsonToString(json, MPR_JSON_QUOTES), mprJsonToString(app->config, MPR_JSON_QUOTES)));
    EXPECT(mprDeletePath(path) == 0);
}

/* ---- A tree built by callbacks: a program that refuses what it does not know ---- */

static int blocks;

static int checkBlock(MprJsonParser *parser, cchar *name, bool leave) {
    (void) parser;
    (void) name;
    blocks += leave ? -1 : 1;
    return 0;
}

static int setValue(MprJsonParser *parser, MprJson *obj, cchar *name, MprJson *child) {
    if (smatch(name, (cchar *) parser->data)) {
        mprSetJsonError(parser, "Unknown property '%s'", name);
        return MPR_ERR_BAD_FORMAT;
    }
    return mprWriteJsonObj(obj, name, child);
}

static void testCallbacks(void) {
    MprJsonCallback cb;
    cchar *error;
    char unknown[] = "bad";

    memset(&cb, 0, sizeof(cb));
    cb.checkBlock = checkBlock;
    cb.setValue = setValue;
    EXPECT(smatch(mprJsonToString(mprParseJsonEx("{ good: { a: [ 1 ] } }", &cb, unknown, 0, &error), 0),
                  "{good:{a:[1]}}"));
    EXPECT(blocks == 0);
    EXPECT(mprParseJsonEx("{ good: 1,\n bad: 2 }", &cb, unknown, 0, &error) == 0);
    EXPECT(scontains(error, "Unknown property 'bad'") && scontains(error, "line 2"));
}

int main(int argc, char **argv) {
    MprJsonRules relaxed;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    if ((app = mprAllocObj(App, manageApp)) == 0) {
        return 1;
    }
    mprAddRoot(app);
    memset(&relaxed, 0, sizeof(relaxed));
    relaxed.flags = MPR_JSON_RELAXED;
    mprSetJsonRules(&relaxed);
    testRead();
    testWrite();
    testBlend();
    testFiles();
    testCallbacks();
    mprSetJsonRules(0);
    testAnswers();
    mprLogJson(5, app->config, "not at this level");
    EXPECT(mprDestroy());
    return verdict();
}
