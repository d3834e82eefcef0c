/* SPDX-License-Identifier: MIT */
/*
    test/compat/mime.c - MIME types as programs for the MPR use them: a server with a file of types, and programs for
    some. The same text is valid C11 and C++20.

    Rooms: io

    Exits with 0 when all went well; else the failed condition is printed.
 */
#include "mpr.h"
#include "expect.h"

#include <stdio.h>

static cchar types[] = "# Types of a server\n"
                       "text/html   html htm\n"
                       "text/x-page page\n"
                       "application/x-tool tool t\n";

int main(int argc, char **argv) {
    MprKey *kp;
    MprMime *mime;
    cchar *type;
    char *path;
    int count;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    MPR->mimeTypes = mprCreateMimeTypes(NULL);
    EXPECT(MPR->mimeTypes != 0);
    EXPECT(smatch(mprLookupMime(MPR->mimeTypes, "css"), "text/css"));
    EXPECT(mprLookupMime(MPR->mimeTypes, "page") == 0);

    path = mprGetTempPath(NULL);
    EXPECT(mprWritePathContents(path, types, -1, 0644) > 0);
    MPR->mimeTypes = mprCreateMimeTypes(path);
    mprDeletePath(path);
    EXPECT(smatch(mprLookupMime(MPR->mimeTypes, "page"), "text/x-page"));
    EXPECT((mime = mprAddMime(MPR->mimeTypes, "own", "text/x-own")) != 0);
    EXPECT(smatch(mime->type, "text/x-own") && mime->program == 0);
    if ((type = mprLookupMime(MPR->mimeTypes, mprGetPathExt("/srv/www/index.own"))) == 0) {
        type = "text/plain";
    }
    EXPECT(smatch(type, "text/x-own"));

    EXPECT(mprSetMimeProgram(MPR->mimeTypes, "application/x-tool", "/usr/bin/tool") == 0);
    EXPECT(smatch(mprGetMimeProgram(MPR->mimeTypes, "application/x-tool"), "/usr/bin/tool"));
    count = 0;
    for (ITERATE_KEY_DATA(MPR->mimeTypes, kp, mime)) {
        if (mime->program) {
            EXPECT(smatch(kp->key, "tool") || smatch(kp->key, "t"));
            count++;
        }
    }
    EXPECT(count == 2);
    EXPECT(mprDestroy());
    return verdict();
}
