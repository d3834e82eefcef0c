/* SPDX-License-Identifier: MIT */
/*
    test/compat/files.c - Paths and files as programs for the MPR use them: a configuration read line by line, a document
    tree walked, a log appended to. The same text is valid C11 and C++20.

    Exits with 0 when all went well; else the failed condition is printed.

    Rooms: io
 */
#include "mpr.h"
#include "expect.h"

#include <string.h>
#include <unistd.h>

#define SAME(text, expected) EXPECT(isSame(text, expected))

static char *dir; /* Held */

static bool isSame(cchar *text, cchar *expected) {
    return text && strcmp(text, expected) == 0;
}

static char *at(cchar *name) {
    return mprJoinPath(dir, name);
}

static void testText(void) {
    char windows[] = "a\\b\\c";

    SAME(mprGetPathBase("/docs/index.html"), "index.html");
    SAME(mprGetPathDir("/docs/index.html"), "/docs");
    SAME(mprGetPathExt("/docs/index.html"), "html");
    SAME(mprGetPathParent("/docs/sub"), "/docs");
    SAME(mprTrimPathExt("index.html"), "index");
    SAME(mprReplacePathExt("index.html", "esp"), "index.esp");
    SAME(mprJoinPathExt("index", "html"), "index.html");
    SAME(mprNormalizePath("/docs/../etc/./passwd"), "/etc/passwd");
    SAME(mprJoinPaths("/docs", "sub", "file", NULL), "/docs/sub/file");
    SAME(mprResolvePath("/usr/bin", "lib"), "/usr/lib");
    SAME(mprGetRelPath("/a/b/c", "/a/d"), "../b/c");
    SAME(mprGetPortablePath("a//b"), "a/b");
    SAME(mprGetNativePath("a//b"), "a/b");
    mprMapSeparators(windows, '/');
    SAME(windows, "a/b/c");
    EXPECT(mprIsPathAbs("/a") && !mprIsPathAbs("a"));
    EXPECT(mprIsPathRel("a") && !mprIsPathRel("/a"));
    EXPECT(mprIsPathContained("/docs/a", "/docs") && !mprIsPathContained("/docs/../a", "/docs"));
    EXPECT(mprIsPathAbs(mprGetAbsPath("x")) && mprIsPathAbs(mprGetCurrentPath()));
    EXPECT(mprSamePath("/", "/.."));
}

static void testConfiguration(void) {
    static cchar config[] = "# comment\nport = 8080\n\nname = service\n";
    MprFile *file;
    char *line, *contents;
    ssize len;
    int lines;

    EXPECT(mprWritePathContents(at("service.conf"), config, -1, 0644) == (ssize) sizeof(config) - 1);
    contents = mprReadPathContents(at("service.conf"), &len);
    EXPECT(len == (ssize) sizeof(config) - 1);
    SAME(contents, config);

    file = mprOpenFile(at("service.conf"), O_RDONLY, 0);
    EXPECT(file != 0);
    mprHold(file);
    for (lines = 0; (line = mprReadLine(file, 0, &len)) != NULL; lines++) {
        EXPECT((ssize) strlen(line) == len);
    }
    EXPECT(lines == 4);
    EXPECT(mprSeekFile(file, SEEK_SET, 2) == 2);
    EXPECT(mprPeekFileChar(file) == 'c');
    EXPECT(mprGetFileChar(file) == 'c');
    EXPECT(mprGetFilePosition(file) == 3);
    mprRelease(file);
    EXPECT(mprCloseFile(file) == 0);
}

static void testLog(void) {
    MprFile *file;
    char buf[64];
    int i;

    for (i = 0; i < 3; i++) {
        file = mprOpenFile(at("log"), O_CREAT | O_APPEND | O_WRONLY, 0640);
        EXPECT(file != 0);
        mprHold(file);
        EXPECT(mprEnableFileBuffering(file, 0, 0) == 0);
        EXPECT(mprWriteFileFmt(file, "entry %d", i) == 7);
        EXPECT(mprPutFileString(file, ";") == 1);
        EXPECT(mprPutFileChar(file, '\n') == 1);
        EXPECT(mprFlushFile(file) == 0);
        mprRelease(file);
        mprCloseFile(file);
    }
    file = mprOpenFile(at("log"), O_RDONLY, 0);
    mprHold(file);
    memset(buf, 0, sizeof(buf));
    EXPECT(mprReadFile(file, buf, sizeof(buf) - 1) == 27);
    SAME(buf, "entry 0;\nentry 1;\nentry 2;\n");
    mprRelease(file);
    mprCloseFile(file);
    EXPECT(mprOpenFile(at("none"), O_RDONLY, 0) == NULL);
}

static void testTree(void) {
    MprList *files;
    MprDirEntry *dp;
    MprPath info;
    char *name;
    int next, dirs = 0;

    EXPECT(mprMakeDir(at("web/css"), 0755, -1, -1, 1) == 0);
    EXPECT(mprCopyPath(at("log"), at("web/css/site.css"), 0644) == 0);
    EXPECT(mprPathExists(at("web/css/site.css"), R_OK));
    EXPECT(mprGetPathInfo(at("web"), &info) == 0 && info.valid && info.isDir && !info.isReg);
    EXPECT(mprGetPathInfo(at("log"), &info) == 0 && info.isReg && info.size == 27 && info.perms == 0640);
    EXPECT(mprGetPathInfo(at("none"), &info) < 0 && !info.valid);

    files = mprGetPathFiles(dir, MPR_PATH_DESCEND);
    EXPECT(files && mprGetListLength(files) == 5);
    for (ITERATE_ITEMS(files, dp, next)) {
        EXPECT(strncmp(dp->name, dir, strlen(dir)) == 0);
        dirs += dp->isDir;
    }
    EXPECT(dirs == 2);
    files = mprGlobPathFiles(dir, "**/*.css", MPR_PATH_RELATIVE);
    for (ITERATE_ITEMS(files, name, next)) {
        SAME(name, "web/css/site.css");
    }
    EXPECT(next == 1);
    EXPECT(mprDeletePath(at("web/css/site.css")) == 0);
    EXPECT(mprDeletePath(at("web/css")) == 0);
    EXPECT(mprDeletePath(at("web")) == 0);
    EXPECT(mprDeletePath(at("log")) == 0);
    EXPECT(mprDeletePath(at("service.conf")) == 0);
    EXPECT(mprDeletePath(at("service.conf")) < 0);
}

int main(int argc, char **argv) {
    if (mprCreate(argc, argv, 0) == 0) {
        return 2;
    }
    dir = mprGetTempPath(NULL);
    mprHold(dir);
    mprDeletePath(dir);
    EXPECT(mprMakeDir(dir, 0755, -1, -1, 0) == 0);

    testText();
    testConfiguration();
    testLog();
    testTree();

    EXPECT(mprDeletePath(dir) == 0);
    mprRelease(dir);
    EXPECT(mprGetRomFiles() == NULL);
    EXPECT(mprLookupFileSystem("/") != NULL);
    EXPECT(mprWriteFileString(mprGetStdout(), "") == 0);
    EXPECT(mprVerifyHeap() == 0);
    EXPECT(mprGetMemStats()->misuses == 0);
    EXPECT(mprDestroy());
    return verdict();
}
