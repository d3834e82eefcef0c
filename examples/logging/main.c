/* SPDX-License-Identifier: MIT */
/*
    Logging, and the program itself: its arguments, its name, random numbers.

    Rooms: io
 */
#include <mpr.h>

#include <stdio.h>

int main(int argc, char **argv) {
    cchar **words;
    char *path, *text, *session;
    int count, i;

    if (!mprCreate(argc, argv, 0)) {
        return 1;
    }
    mprSetAppName("logger", "The logging example", "1.0");
    path = mprGetTempPath(0);
    if (!path) {
        perror("logging: no temporary file");
        return 1;
    }
    mprHold(path); /* Calls that go to the system yield; what is needed afterwards is retained */

    /* To a file, levels 0 to 2; at most 10 kB, and one older file. */
    mprSetLogBackup(10 * 1024, 1, 0);
    if (mprStartLogging(sfmt("%s:2", path), 0) < 0) {
        return 1;
    }
    session = mprGetRandomString(8);
    mprLog("app info", 1, "%s %s begins, session %s", mprGetAppTitle(), mprGetAppVersion(), session);
    mprLog("app detail", 5, "not written: above the level");
    count = mprMakeArgv("logger --level 2 'two words'", &words, 0);
    for (i = 1; i < count; i++) {
        mprLog("app args", 2, "argument %d is \"%s\"", i, words[i]);
    }
    mprError("as an example: %s", "nothing is wrong");

    mprStartLogging("none", 0); /* Closes the file */
    text = mprReadPathContents(path, 0);
    if (text) {
        printf("%s", text);
    } else {
        perror(path);
    }
    i = text && scontains(text, "argument 3 is \"two words\"") && !scontains(text, "not written") ? 0 : 1;
    mprDeletePath(path);
    mprRelease(path);
    return mprDestroy() ? i : 1;
}
