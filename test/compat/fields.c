/* SPDX-License-Identifier: MIT */
/*
    test/compat/fields.c - Members of structures as programs for the MPR read and write them: the global object, buffers, files
    and folders, sockets, commands, threads, conditions, keys, statistics. The same text is valid C11 and C++20.

    Exits with 0 when all went well; else the failed condition is printed.

    Rooms: task, io
 */
#include "mpr.h"
#include "expect.h"

#include <string.h>

/* A library's service, kept in the global object. */
typedef struct Http {
    MprList *clients;
    char *software;
} Http;

static int ran;

static void manageHttp(Http *http, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(http->clients);
        mprMark(http->software);
    }
}

static Http *createHttp(void) {
    Http *http;

    if (MPR->httpService) {
        return (Http *) MPR->httpService;
    }
    http = mprAllocObj(Http, manageHttp);
    MPR->httpService = http;
    http->clients = mprCreateList(0, 0);
    http->software = sclone("server");
    return http;
}

static void testGlobal(int argc, char **argv) {
    char *empty;

    EXPECT(MPR != 0 && MPR == mprGetMpr());
    EXPECT(MPR->argc == argc && MPR->argv == argv && smatch(MPR->argv[0], argv[0]));
    EXPECT(smatch(MPR->emptyString, "") && smatch(MPR->oneString, "1"));
    EXPECT(MPR->emptyString == mprEmptyString());
    EXPECT(MPR->ediService == 0 && MPR->ejsService == 0 && MPR->espService == 0 && MPR->heap != 0);
    MPR->mimeTypes = mprCreateHash(0, 0);
    mprAddKey(MPR->mimeTypes, "html", sclone("text/html"));
    mprAddItem(createHttp()->clients, sclone("client"));
    empty = MPR->emptyString;
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(createHttp() == MPR->httpService);
    EXPECT(smatch((cchar *) mprGetFirstItem(createHttp()->clients), "client"));
    EXPECT(smatch(createHttp()->software, "server"));
    EXPECT(smatch((cchar *) mprLookupKey(MPR->mimeTypes, "html"), "text/html"));
    EXPECT(empty == MPR->emptyString && mprIsValid(empty) && *empty == '\0');
    EXPECT(MPR->logPath == 0);
    EXPECT(mprStartLogging("stdout:2", 0) == 0);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(smatch(MPR->logPath, "stdout"));
    EXPECT(mprStartLogging("stderr:0", 0) == 0);
}

/* A parser that walks through a buffer by its members. */
static void testBuffer(void) {
    MprBuf *buf;
    char *cp;
    int words;

    buf = mprCreateBuf(64, 0);
    mprPutStringToBuf(buf, "one two three");
    mprAddNullToBuf(buf);
    words = 1;
    for (cp = buf->start; cp < buf->end; cp++) {
        words += *cp == ' ';
    }
    EXPECT(words == 3);
    EXPECT(buf->end - buf->start == mprGetBufLength(buf));
    EXPECT(buf->endbuf - buf->end == mprGetBufSpace(buf));
    buf->growBy = 1000;
    EXPECT(mprPutPadToBuf(buf, '.', 100) == 100);
    EXPECT(buf->endbuf - buf->start >= 1000 && buf->maxsize > 0);
}

static void testFiles(cchar *program) {
    MprPath info;
    MprFile *file;
    MprList *files;
    MprDirEntry *dp;
    cchar *dir;
    int next, found;

    EXPECT(mprGetPathInfo(program, &info) == 0);
    EXPECT(info.valid && info.checked && info.isReg && !info.isDir && info.size > 0 && info.inode != 0);
    EXPECT((info.perms & 0100) && info.mtime > 1000000000 && info.atime > 0 && info.ctime > 0);
    mprGetPathInfo("/there/is/none", &info);
    EXPECT(!info.valid);
    file = mprOpenFile(program, O_RDONLY, 0);
    EXPECT(file && smatch(file->path, program));
    mprCloseFile(file);
    dir = mprGetPathDir(program);
    files = mprGetPathFiles(dir, MPR_PATH_RELATIVE);
    found = 0;
    for (ITERATE_ITEMS(files, dp, next)) {
        if (smatch(dp->name, mprGetPathBaseRef(program))) {
            found = !dp->isDir && dp->size > 0 && dp->lastModified > 1000000000;
        }
    }
    EXPECT(found);
}

static void testSocket(void) {
    MprSocket *listen, *sp, *accepted;
    MprWaitHandler *wp;
    int data;

    listen = mprCreateSocket();
    mprAddRoot(listen);
    EXPECT(mprListenOnSocket(listen, "127.0.0.1", 0, 0) == listen->fd && listen->port > 0);
    EXPECT(smatch(listen->ip, "127.0.0.1"));
    sp = mprCreateSocket();
    mprAddRoot(sp);
    sp->data = &data;
    EXPECT(mprConnectSocket(sp, listen->ip, listen->port, 0) == 0 && sp->errorMsg == 0);
    mprWaitForSingleIO(listen->fd, MPR_READABLE, 10000);
    accepted = mprAcceptSocket(listen);
    EXPECT(accepted && accepted->listenSock == listen);
    wp = mprAddSocketHandler(sp, MPR_READABLE, 0, (void *) 0, 0, 0);
    EXPECT(wp == 0);
    mprCloseSocket(listen, 1);
    mprCloseSocket(accepted, 0);
    mprWaitForSingleIO(sp->fd, MPR_READABLE, 10000);
    EXPECT(mprReadSocket(sp, &data, sizeof(data)) < 0);
    EXPECT(sp->errorMsg && *sp->errorMsg && sp->data == &data);
    mprCloseSocket(sp, 1);
    mprRemoveRoot(sp);
    mprRemoveRoot(listen);
}

static ssize commandData(MprCmd *cmd, int channel, void *data) {
    MprBuf *buf;
    ssize count;

    (void) data;
    buf = channel == MPR_CMD_STDOUT ? cmd->stdoutBuf : cmd->stderrBuf;
    if (channel != MPR_CMD_STDOUT && channel != MPR_CMD_STDERR) {
        return 0;
    }
    count = mprReadCmd(cmd, channel, mprGetBufEnd(buf), mprGetBufSpace(buf));
    if (count > 0) {
        mprAdjustBufEnd(buf, count);
    }
    if (count != 0) {
        mprEnableCmdEvents(cmd, channel);
    }
    mprAddNullToBuf(buf);
    return count;
}

static void testCommand(void) {
    MprCmd *cp;
    cchar *argv[] = {"/bin/sh", "-c", "read line; echo $line; echo bad >&2; exit 5", 0};

    cp = mprCreateCmd(0);
    mprAddRoot(cp);
    EXPECT(MPR->cmdService != 0);
    cp->userFlags = 0x10;
    mprSetCmdCallback(cp, commandData, 0);
    EXPECT(mprStartCmd(cp, 3, argv, 0, MPR_CMD_IN | MPR_CMD_OUT | MPR_CMD_ERR) == 0);
    EXPECT(cp->pid > 0 && !cp->complete);
    EXPECT(mprWriteCmdBlock(cp, MPR_CMD_STDIN, "hello\n", 6) == 6);
    mprFinalizeCmd(cp);
    EXPECT(mprWaitForCmd(cp, 20000) == 0);
    EXPECT(cp->complete && cp->status == 5 && cp->userFlags == 0x10);
    EXPECT(smatch(cp->stdoutBuf->start, "hello\n"));
    EXPECT(smatch(mprGetBufStart(mprGetCmdBuf(cp, MPR_CMD_STDERR)), "bad\n"));
    mprDestroyCmd(cp);
    mprRemoveRoot(cp);
}

static void threadMain(void *data, MprThread *tp) {
    EXPECT(data == &ran && tp->data == data && smatch(tp->name, "reader"));
    __atomic_store_n(&ran, 1, __ATOMIC_RELEASE);
}

static void testThreads(void) {
    MprDispatcher *dispatcher;
    MprThread *tp;
    MprCond *cond;

    tp = mprCreateThread("reader", threadMain, &ran, 0);
    EXPECT(mprStartThread(tp) == 0);
    while (!__atomic_load_n(&ran, __ATOMIC_ACQUIRE)) {
        mprSleep(1);
    }
    cond = mprCreateCond();
    EXPECT(!cond->triggered);
    mprSignalCond(cond);
    EXPECT(cond->triggered);
    dispatcher = mprCreateDispatcher("requests", MPR_DISPATCHER_IMMEDIATE);
    EXPECT(smatch(dispatcher->name, "requests") && dispatcher->flags == MPR_DISPATCHER_IMMEDIATE);
}

static void testKeys(void) {
    MprHash *hash;
    MprKey *kp;
    int count;

    hash = mprCreateHash(0, 0);
    mprAddKeyWithType(hash, "a", "1", 1);
    mprAddKeyWithType(hash, "b", "2", 2);
    count = 0;
    for (ITERATE_KEYS(hash, kp)) {
        EXPECT(smatch(kp->key, count == 0 ? "a" : "b") && smatch((cchar *) kp->data, count == 0 ? "1" : "2"));
        EXPECT(kp->type == ++count);
    }
    count = 0;
    for (kp = 0; (kp = mprGetNextKey(hash, kp)) != 0;) {
        count += kp->type;
    }
    EXPECT(count == 3);
}

static void testStats(void) {
    MprMemStats *stats;

    stats = mprGetMemStats();
    EXPECT(stats->rss >= 100 * 1024 && stats->cpuUsage <= mprGetCPU());
    EXPECT(stats->bytesAllocatedPeak >= stats->heap && stats->bytesAllocatedPeak == stats->heapPeak);
    EXPECT(stats->numCpu > 0 && stats->pageSize > 0 && stats->ram > 0);
}

int main(int argc, char **argv) {
    if (!mprCreate(argc, argv, 0)) {
        return 2;
    }
    testGlobal(argc, argv);
    testBuffer();
    testFiles(mprGetAppPath());
    testSocket();
    testCommand();
    testThreads();
    testKeys();
    testStats();
    mprDestroy();
    EXPECT(mprGetMpr() == 0);
    return verdict();
}
