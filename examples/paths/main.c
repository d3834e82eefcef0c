/* SPDX-License-Identifier: MIT */
/*
    paths - Paths put together and taken apart; a directory made, listed, searched and removed.

    Calls that ask the system yield, so what is needed after one is held or rooted before it.

        cc main.c -lmpr -luv -lpthread

    Rooms: io
 */
#include <mpr.h>
#include <stdio.h>

static int list(cchar *dir) {
    MprList *files;
    MprDirEntry *entry;
    char *name;
    int next, found = 0;

    if ((files = mprGetPathFiles(dir, MPR_PATH_DESCEND | MPR_PATH_RELATIVE)) == 0) {
        perror(dir);
        return -1;
    }
    for (ITERATE_ITEMS(files, entry, next)) {
        printf("  %s%s, %lld bytes\n", entry->name, entry->isDir ? "/" : "", (long long) entry->size);
    }
    if ((files = mprGlobPathFiles(dir, "**/*.txt,!**/b.*", MPR_PATH_RELATIVE)) == 0) {
        perror(dir);
        return -1;
    }
    for (ITERATE_ITEMS(files, name, next)) {
        printf("  %s matches\n", name);
        found++;
    }
    return found;
}

int main(int argc, char **argv) {
    static cchar *const names[] = {"a.txt", "b.txt", "sub/c.txt", "sub/d.log"};
    char *temporary, *dir, *path;
    int i, found;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    path = mprJoinPaths("/srv", "www", "../data/./report.txt", NULL); /* Text only: no yield */
    printf("%s: directory %s, base %s, extension %s, as PDF %s\n", path, mprGetPathDir(path), mprGetPathBase(path),
           mprGetPathExt(path), mprReplacePathExt(path, "pdf"));

    if ((temporary = mprGetTempPath(NULL)) == 0 || (dir = mprJoinPathExt(temporary, "dir")) == 0) {
        perror("paths: no temporary file");
        return 1;
    }
    mprHoldBlocks(temporary, dir, NULL); /* Everything below yields */
    if (mprMakeDir(mprJoinPath(dir, "sub"), 0755, -1, -1, true) < 0) {
        perror(dir);
        return 1;
    }
    for (i = 0; i < 4; i++) {
        if (mprWritePathContents(mprJoinPath(dir, names[i]), "contents", -1, 0644) != 8) {
            perror(names[i]);
            return 1;
        }
    }
    found = list(dir);
    for (i = 3; i >= 0; i--) {
        mprDeletePath(mprJoinPath(dir, names[i]));
    }
    mprDeletePath(mprJoinPath(dir, "sub"));
    mprDeletePath(dir);
    mprDeletePath(temporary);
    i = mprPathExists(dir, 0);
    if (i) {
        fprintf(stderr, "%s: cannot be deleted\n", dir);
    }
    mprReleaseBlocks(temporary, dir, NULL);
    return mprDestroy() && found == 2 && !i ? 0 : 1;
}
