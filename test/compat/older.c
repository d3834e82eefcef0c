/* SPDX-License-Identifier: MIT */
/*
    test/compat/older.c - What programs written to older MPRs do besides calling functions: typedefs of their own, arguments
    where there are none, a table of files of their own, numbers of error codes, fields.

    Exits with 0 when all went well; what does not compile is an error of the compiler.

    Rooms: task, io
 */

/* Before the header, as such programs have it in a header of theirs. */
typedef long long int64;
typedef unsigned long long uint64;

#include "mpr.h"
#include "expect.h"

#include <string.h>

static const uchar hello[] = "hello";
static MprRomInode files[] = {{"/rom/hello.txt", hello, 5, 1}, {NULL, NULL, 0, 0}};

MprRomInode *mprGetRomFiles(void) {
    return files;
}

/* Numbers are in files and scripts of programs. */
static void testErrors(void) {
    static const struct {
        int code, number;
    } codes[] = {
        {MPR_ERR_OK, 0},
        {MPR_ERR, -1},
        {MPR_ERR_ABORTED, -2},
        {MPR_ERR_ALREADY_EXISTS, -3},
        {MPR_ERR_BAD_ARGS, -4},
        {MPR_ERR_BAD_FORMAT, -5},
        {MPR_ERR_BAD_HANDLE, -6},
        {MPR_ERR_BAD_STATE, -7},
        {MPR_ERR_BAD_SYNTAX, -8},
        {MPR_ERR_BAD_TYPE, -9},
        {MPR_ERR_BAD_VALUE, -10},
        {MPR_ERR_BUSY, -11},
        {MPR_ERR_CANT_ACCESS, -12},
        {MPR_ERR_CANT_ALLOCATE, -13},
        {MPR_ERR_CANT_COMPLETE, -14},
        {MPR_ERR_CANT_CONNECT, -15},
        {MPR_ERR_CANT_CREATE, -16},
        {MPR_ERR_CANT_DELETE, -17},
        {MPR_ERR_CANT_FIND, -18},
        {MPR_ERR_CANT_INITIALIZE, -19},
        {MPR_ERR_CANT_LOAD, -20},
        {MPR_ERR_CANT_OPEN, -21},
        {MPR_ERR_CANT_READ, -22},
        {MPR_ERR_CANT_WRITE, -23},
        {MPR_ERR_DELETED, -24},
        {MPR_ERR_MEMORY, -25},
        {MPR_ERR_NETWORK, -26},
        {MPR_ERR_NOT_INITIALIZED, -27},
        {MPR_ERR_NOT_READY, -28},
        {MPR_ERR_READ_ONLY, -29},
        {MPR_ERR_TIMEOUT, -30},
        {MPR_ERR_TOO_MANY, -31},
        {MPR_ERR_WONT_FIT, -32},
        {MPR_ERR_WOULD_BLOCK, -33},
    };
    size_t i;

    for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        EXPECT(codes[i].code == codes[i].number);
        EXPECT(codes[i].number == -(int) i);
    }
}

static void testTypes(void) {
    int64 number = stoi("-42");
    uint64 ticks = mprGetHiResTicks();
    long long *pointer = &number;

    EXPECT(*pointer == -42 && ticks > 0);
    EXPECT(mprIsPathAbs(mprGetAppPath()));
#if !defined(__cplusplus) && __STDC_VERSION__ <= 201710L
    /* No prototype says that there are none. */
    EXPECT(mprIsPathAbs(mprGetAppPath(NULL)));
    EXPECT(mprGetTicks(NULL) > 0);
    EXPECT(!mprIsStopping(NULL, 1));
#endif
}

static void testFiles(void) {
    MprFile *file;
    MprList *list;
    MprDirEntry *entry;
    MprPath info;
    char text[16], *dir;
    int next;

    EXPECT(mprGetRomFiles() == files);
    file = mprOpenFile("/rom/hello.txt", 0, 0);
    EXPECT(file != NULL);
    mprHold(file);
    EXPECT(mprReadFile(file, text, sizeof(text)) == 5 && memcmp(text, "hello", 5) == 0);
    mprCloseFile(file);
    mprRelease(file);

    dir = mprGetTempPath(NULL);
    mprHold(dir);
    mprDeletePath(dir);
    EXPECT(mprMakeDir(dir, 0755, -1, -1, 0) == 0);
    EXPECT(mprWritePathContents(mprJoinPath(dir, "x"), "x", -1, 0600) == 1);
    EXPECT(mprGetPathInfo(dir, &info) == 0 && info.checked && info.valid && info.isDir);
    list = mprGetPathFiles(dir, 0);
    for (ITERATE_ITEMS(list, entry, next)) {
        EXPECT(entry->size == 1 && !entry->isDir && !entry->isLink);
        EXPECT(entry->lastModified >= info.mtime - 1000);
    }
    EXPECT(next == 1);
    mprDeletePath(mprJoinPath(dir, "x"));
    mprDeletePath(dir);
    mprRelease(dir);
}

int main(int argc, char **argv) {
    if (mprCreate(argc, argv, 0) == 0) {
        return 2;
    }
    testErrors();
    testTypes();
    testFiles();
    EXPECT(mprVerifyHeap() == 0);
    EXPECT(mprDestroy());
    return verdict();
}
