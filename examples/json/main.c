/* SPDX-License-Identifier: MIT */
/*
    json - A configuration parsed, read by paths, merged with what a user wants, saved and loaded again.

        cc main.c -lmpr -luv -lpthread

    Rooms: io
 */
#include <mpr.h>
#include <stdio.h>
#include <string.h>

static cchar defaults[] = "{\n"
                          "    \"server\": { \"port\": 80, \"hosts\": [ \"localhost\" ] },\n"
                          "    \"routes\": [\n"
                          "        { \"pattern\": \"/api\", \"methods\": [ \"GET\", \"POST\" ], \"cache\": false },\n"
                          "        { \"pattern\": \"/\", \"methods\": [ \"GET\" ], \"cache\": true }\n"
                          "    ]\n"
                          "}\n";

/* What a person writes: comments, names without quotes. + appends, as mprBlendJson says. */
static cchar wishes[] = "// My board\n"
                        "{\n"
                        "    server: { port: 8080, '+hosts': [ 'board.local' ] },\n"
                        "    log: { level: 2 },\n"
                        "}\n";

static MprJson *configure(void) {
    MprJsonRules relaxed = {MPR_JSON_RELAXED, 0, 0};
    MprJson *config, *own;
    cchar *mistake;

    if ((config = mprParseJsonText(defaults, -1, NULL, &mistake)) == 0 ||
        (own = mprParseJsonText(wishes, -1, &relaxed, &mistake)) == 0) {
        printf("%s\n", mistake);
        return 0;
    }
    return mprBlendJson(config, own, MPR_JSON_COMBINE) == 0 ? config : 0;
}

static void show(MprJson *config) {
    MprJson *route;
    int index;

    printf("port %s, hosts %s\n", mprGetJson(config, "server.port"), mprGetJson(config, "server.hosts"));
    for (ITERATE_JSON(mprGetJsonObj(config, "routes"), route, index)) {
        printf("route %d: %s for %s\n", index, mprReadJson(route, "pattern"), mprGetJson(route, "methods"));
    }
    printf("cached: %s\n", mprGetJson(config, "routes[cache == true].pattern"));
}

static bool failed(cchar *path) {
    fprintf(stderr, "json: %s: %s\n", path, strerror(mprGetOsError()));
    return false;
}

static bool saveAndLoad(MprJson *config) {
    char *path;
    MprJson *again;
    bool same;

    if ((path = mprGetTempPath(NULL)) == 0) {
        return false;
    }
    mprSetJson(config, "server.hosts[$]", "192.168.0.7", 0);
    mprSetJson(config, "log.path", "/var/log/board", 0);
    if (mprSaveJson(config, path, MPR_JSON_PRETTY) < 0) {
        return failed(path);
    }
    if ((again = mprLoadJson(path)) == 0) {
        return false; /* The log says why */
    }
    same = smatch(mprJsonToString(again, 0), mprJsonToString(config, 0));
    printf("%s\n", mprJsonToString(again, 0));
    return (mprDeletePath(path) == 0 || failed(path)) && same;
}

int main(int argc, char **argv) {
    MprJson *config;
    cchar *mistake;
    bool good;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    if ((good = (config = configure()) != 0)) {
        show(config);
        good = saveAndLoad(config);
    }
    if (mprParseJsonText("{\n  \"a\": tru\n}", -1, NULL, &mistake) == 0) {
        printf("%s\n", mistake);
    }
    return mprDestroy() && good ? 0 : 1;
}
