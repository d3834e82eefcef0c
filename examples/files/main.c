/* SPDX-License-Identifier: MIT */
/*
    files - A log written through a buffer and read line by line, forwards and from a position.

    Calls that go to the system yield: the file is held, so that it outlives them. (While such a call runs the runtime
    holds it, too; between calls the program must.)

        cc main.c -lmpr -luv -lpthread

    Rooms: io
 */
#include <mpr.h>
#include <stdio.h>

static bool writeLog(cchar *path) {
    MprFile *file;
    int i;

    if ((file = mprOpenFile(path, O_CREAT | O_TRUNC | O_WRONLY, 0644)) == 0) {
        perror(path);
        return false;
    }
    mprHold(file);
    mprEnableFileBuffering(file, 8192, 0); /* From here on most writes are copies */
    for (i = 1; i <= 1000; i++) {
        if (mprWriteFileFmt(file, "%d: the value is %d\n", i, i * i) < 0) {
            break;
        }
    }
    mprRelease(file);
    if (mprCloseFile(file) < 0 || i < 1001) { /* Closing says whether the last data could be written */
        fprintf(stderr, "%s: not all could be written: data is lost\n", path);
        return false;
    }
    return true;
}

static bool readLog(cchar *path) {
    MprFile *file;
    MprOff middle = 0;
    ssize length;
    char *line;
    int lines = 0;

    if ((file = mprOpenFile(path, O_RDONLY, 0)) == 0) {
        perror(path);
        return false;
    }
    mprHold(file);
    while ((line = mprReadLine(file, 0, &length)) != 0) {
        if (++lines == 500) {
            middle = mprGetFilePosition(file);
        }
    }
    mprSeekFile(file, SEEK_SET, middle);
    line = mprReadLine(file, 0, &length); /* Safe until this thread yields */
    printf("%d lines; the one at byte %lld, of length %d: %s\n", lines, (long long) middle, (int) length,
           line ? line : "");
    mprRelease(file);
    if (mprCloseFile(file) < 0 || lines != 1000 || length != 24) {
        fprintf(stderr, "%s: cannot be read to its end\n", path);
        return false;
    }
    return true;
}

int main(int argc, char **argv) {
    char *path;
    bool good;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1; /* The runtime has said why */
    }
    if ((path = mprGetTempPath(NULL)) == 0) {
        perror("files: no temporary file");
        return 1;
    }
    mprHold(path);
    good = writeLog(path) && readLog(path);
    mprDeletePath(path);
    mprRelease(path);
    if (mprWriteFileString(mprGetStdout(), good ? "done\n" : "failed\n") < 0) {
        perror("files: standard output");
        good = false;
    }
    return mprDestroy() && good ? 0 : 1;
}
