/* SPDX-License-Identifier: MIT */
/*
    mime - Types by extension: those that the library knows, and a program's own.

        cc main.c -lmpr

    Rooms: io
 */
#include <mpr.h>
#include <stdio.h>

int main(int argc, char **argv) {
    const char *type;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    /* Without a table, which takes no memory. */
    printf("index.html: %s\n", mprLookupMime(NULL, "index.html"));

    if ((MPR->mimeTypes = mprCreateMimeTypes(NULL)) == 0) {
        return 1;
    }
    mprAddMime(MPR->mimeTypes, "page", "text/x-page");
    mprSetMimeProgram(MPR->mimeTypes, "text/x-page", "/usr/bin/render");
    if ((type = mprLookupMime(MPR->mimeTypes, "/srv/www/index.page")) != 0) {
        printf("index.page: %s, by %s\n", type, mprGetMimeProgram(MPR->mimeTypes, type));
    }
    return mprDestroy() && type ? 0 : 1;
}
