/* SPDX-License-Identifier: MIT */
/*
    test/compat/names.c - Every name that MPR programs use, with its result and parameters: each is there, may be assigned
    to a pointer to such a function without a cast, and is in the library. What the functions do is tested elsewhere.

    Exits with 0 when all went well; a name that is missing or has other types is an error of the compiler or linker.

    Rooms: task, io
 */
#include "mpr.h"
#include "expect.h"

#define HAVE(result, name, parameters) \
    do { \
        result(*volatile function) parameters = name; \
        EXPECT(function != NULL); \
        names++; \
    } while (0)

static int names;

static void testMemory(void) {
    HAVE(void *, mprAllocMem, (size_t size, int flags));
    HAVE(uint64, mprGetCPU, (void) );
    HAVE(MprMemStats *, mprGetMemStats, (void) );
    HAVE(size_t, mprGetMem, (void) );
    HAVE(int, mprGetPageSize, (void) );
    HAVE(size_t, mprGetBlockSize, (cvoid * ptr));
    HAVE(bool, mprHasMemError, (void) );
    HAVE(int, mprIsValid, (cvoid * ptr));
    HAVE(int, mprMemcmp, (cvoid * b1, size_t b1Len, cvoid * b2, size_t b2Len));
    HAVE(size_t, mprMemcpy, (void *dest, size_t destMax, cvoid *src, size_t nbytes));
    HAVE(void *, mprMemdup, (cvoid * ptr, size_t size));
    HAVE(void, mprPrintMem, (cchar * msg, int flags));
    HAVE(void *, mprRealloc, (void *ptr, size_t size));
    HAVE(void, mprResetMemError, (void) );
    HAVE(void, mprSetMemNotifier, (MprMemNotifier cback));
    HAVE(int, mprGetMemState, (void) );
    HAVE(void, mprSetMemError, (void) );
    HAVE(void, mprSetMemLimits, (ssize warnHeap, ssize maximum, ssize cache));
    HAVE(void, mprSetMemPolicy, (int policy));
    HAVE(void *, mprSetManager, (void *ptr, MprManager manager));
    HAVE(void *, mprVirtAlloc, (size_t size, int mode));
    HAVE(void, mprVirtFree, (void *ptr, size_t size));
    HAVE(void *, palloc, (size_t size));
    HAVE(void, pfree, (void *ptr));
    HAVE(void *, prealloc, (void *ptr, size_t size));
    HAVE(size_t, psize, (void *ptr));
    HAVE(void *, mprSetName, (void *ptr, cchar *name));
    HAVE(void *, mprAlloc, (size_t size));
    HAVE(void *, mprAllocZeroed, (size_t size));
    HAVE(void *, mprReallocMem, (void *ptr, size_t size));
    HAVE(void *, mprMemdupMem, (cvoid * ptr, size_t size));
    HAVE(void *, mprAllocFast, (size_t usize));
}

static void testCollection(void) {
    HAVE(void, mprAddRoot, (cvoid * ptr));
    HAVE(int, mprGC, (int flags));
    HAVE(bool, mprEnableGC, (bool on));
    HAVE(void, mprHold, (cvoid * ptr));
    HAVE(void, mprHoldBlocks, (cvoid * ptr, ...));
    HAVE(void, mprRelease, (cvoid * ptr));
    HAVE(void, mprReleaseBlocks, (cvoid * ptr, ...));
    HAVE(void, mprRemoveRoot, (cvoid * ptr));
    HAVE(void, mprMark, (cvoid * ptr)); /* Takes what is const, too */
}

static void testThreads(void) {
    HAVE(MprThread *, mprCreateThread, (cchar * name, void *proc, void *data, ssize stackSize));
    HAVE(MprOsThread, mprGetCurrentOsThread, (void) );
    HAVE(MprThread *, mprGetCurrentThread, (void) );
    HAVE(cchar *, mprGetCurrentThreadName, (void) );
    HAVE(bool, mprSetThreadYield, (MprThread * tp, bool on));
    HAVE(int, mprStartThread, (MprThread * thread));
    HAVE(void, mprYield, (int flags));
    HAVE(bool, mprNeedYield, (void) );
    HAVE(void, mprResetYield, (void) );
    HAVE(int, mprSetThreadData, (MprThreadLocal * tls, void *value));
}

static void testWorkers(void) {
    HAVE(void, mprSetMaxWorkers, (int count));
    HAVE(int, mprGetMaxWorkers, (void) );
    HAVE(int, mprStartWorker, (MprWorkerProc proc, void *data));
}

static void testLocksConditionsAtomics(void) {
    HAVE(MprCond *, mprCreateCond, (void) );
    HAVE(void, mprResetCond, (MprCond * cond));
    HAVE(int, mprWaitForCond, (MprCond * cond, MprTicks timeout));
    HAVE(void, mprSignalCond, (MprCond * cond));
    HAVE(MprMutex *, mprCreateLock, (void) );
    HAVE(MprMutex *, mprInitLock, (MprMutex * mutex));
    HAVE(MprSpin *, mprCreateSpinLock, (void) );
    HAVE(void, mprLock, (MprMutex * lock));
    HAVE(void, mprUnlock, (MprMutex * lock));
    HAVE(void, mprSpinLock, (MprSpin * lock));
    HAVE(void, mprSpinUnlock, (MprSpin * lock));
    HAVE(void, mprGlobalLock, (void) );
    HAVE(void, mprGlobalUnlock, (void) );
    HAVE(int, mprAtomicCas, (void *volatile *target, void *expected, cvoid *value));
    HAVE(void, mprAtomicAdd, (volatile int *target, int value));
    HAVE(void, mprAtomicAdd64, (volatile int64 * target, int64 value));
}

static void testDispatchersAndEvents(void) {
    HAVE(MprDispatcher *, mprCreateDispatcher, (cchar * name, int flags));
    HAVE(MprDispatcher *, mprGetDispatcher, (void) );
    HAVE(int, mprServiceEvents, (MprTicks delay, int flags));
    HAVE(int, mprWaitForEvent, (MprDispatcher * dispatcher, MprTicks timeout, int64 mark));
    HAVE(int64, mprGetEventMark, (MprDispatcher * dispatcher));
    HAVE(MprEvent *, mprCreateEvent,
         (MprDispatcher * dispatcher, cchar * name, MprTicks period, void *proc, void *data, int flags));
    HAVE(MprEvent *, mprCreateLocalEvent,
         (MprDispatcher * dispatcher, cchar * name, MprTicks period, void *proc, void *data, int flags));
    HAVE(MprEvent *, mprCreateTimerEvent,
         (MprDispatcher * dispatcher, cchar * name, MprTicks period, void *proc, void *data, int flags));
    HAVE(void, mprRemoveEvent, (MprEvent * event));
    HAVE(void, mprStopContinuousEvent, (MprEvent * event));
    HAVE(void, mprRescheduleEvent, (MprEvent * event, MprTicks period));
    HAVE(int, mprStartDispatcher, (MprDispatcher * dispatcher));
    HAVE(int, mprCreateEventOutside, (MprDispatcher * dispatcher, void *proc, void *data));
}

static void testWaitingForIO(void) {
    HAVE(void, mprWaitOn, (MprWaitHandler * wp, int desiredMask));
}

static void testStrings(void) {
    HAVE(char *, fmt, (char *buf, ssize maxSize, cchar *fmt, ...));
    HAVE(char *, mprSprintf, (char *buf, ssize maxSize, cchar *fmt, ...));
    HAVE(char *, itos, (int64 value));
    HAVE(char *, itosradix, (int64 value, int radix));
    HAVE(char *, itosbuf, (char *buf, ssize size, int64 value, int radix));
    HAVE(int, scaselesscmp, (cchar * s1, cchar * s2));
    HAVE(char *, scaselesscontains, (cchar * str, cchar * pattern));
    HAVE(bool, scaselessmatch, (cchar * s1, cchar * s2));
    HAVE(char *, schr, (cchar * str, int c));
    HAVE(char *, sclone, (cchar * str));
    HAVE(int, scmp, (cchar * s1, cchar * s2));
    HAVE(char *, scontains, (cchar * str, cchar * pattern));
    HAVE(ssize, scopy, (char *dest, ssize destMax, cchar *src));
    HAVE(cchar *, sends, (cchar * str, cchar * suffix));
    HAVE(char *, sfmt, (cchar * fmt, ...));
    HAVE(char *, sfmtv, (cchar * fmt, va_list args));
    HAVE(char *, sjoin, (cchar * str, ...));
    HAVE(cchar *, sjoinArgs, (int argc, cchar **argv, cchar *sep));
    HAVE(ssize, slen, (cchar * str));
    HAVE(char *, slower, (cchar * str));
    HAVE(bool, smatch, (cchar * s1, cchar * s2));
    HAVE(int, sncaselesscmp, (cchar * s1, cchar * s2, ssize len));
    HAVE(char *, snclone, (cchar * str, ssize len));
    HAVE(int, sncmp, (cchar * s1, cchar * s2, ssize len));
    HAVE(char *, sncontains, (cchar * str, cchar * pattern, ssize limit));
    HAVE(ssize, sncopy, (char *dest, ssize destMax, cchar *src, ssize len));
    HAVE(bool, snumber, (cchar * s));
    HAVE(char *, stitle, (cchar * str));
    HAVE(char *, srchr, (cchar * str, int c));
    HAVE(char *, sreplace, (cchar * str, cchar * pattern, cchar * replacement));
    HAVE(char *, ssplit, (char *str, cchar *delim, char **last));
    HAVE(bool, sstarts, (cchar * str, cchar * prefix));
    HAVE(char *, stemplate, (cchar * str, struct MprHash * tokens));
    HAVE(int64, stoi, (cchar * str));
    HAVE(int64, stoiradix, (cchar * str, int radix, int *err));
    HAVE(bool, smatchsec, (cchar * s1, cchar * s2));
    HAVE(char *, sncaselesscontains, (cchar * str, cchar * pattern, ssize limit));
    HAVE(char *, spbrk, (cchar * str, cchar * set));
    HAVE(ssize, sspn, (cchar * str, cchar * set));
    HAVE(char *, ssub, (cchar * str, ssize offset, ssize length));
    HAVE(char *, scamel, (cchar * str));
    HAVE(void, serase, (char *str));
    HAVE(char *, srejoin, (char *buf, ...));
    HAVE(char *, srejoinv, (char *buf, va_list args));
    HAVE(double, stof, (cchar * str));
    HAVE(bool, sfnumber, (cchar * s));
    HAVE(MprList *, stolist, (cchar * src));
    HAVE(int, mprIsNan, (double value));
    HAVE(int, mprIsInfinite, (double value));
    HAVE(int, mprIsZero, (double value));
    HAVE(char *, stok, (char *str, cchar *delim, char **last));
    HAVE(char *, sptok, (char *str, cchar *pattern, char **last));
    HAVE(char *, strim, (cchar * str, cchar * set, int where));
    HAVE(char *, supper, (cchar * str));
}

static void testFormatting(void) {
    HAVE(ssize, mprEprintf, (cchar * fmt, ...));
    HAVE(ssize, mprPrintf, (cchar * fmt, ...));
    HAVE(ssize, print, (cchar * fmt, ...));
}

static void testBuffers(void) {
    HAVE(void, mprAddNullToBuf, (MprBuf * buf));
    HAVE(void, mprAdjustBufEnd, (MprBuf * buf, ssize count));
    HAVE(void, mprAdjustBufStart, (MprBuf * buf, ssize count));
    HAVE(char *, mprBufToString, (MprBuf * buf));
    HAVE(MprBuf *, mprCreateBuf, (ssize initialSize, ssize maxSize));
    HAVE(MprBuf *, mprCloneBuf, (MprBuf * orig));
    HAVE(void, mprFlushBuf, (MprBuf * buf));
    HAVE(ssize, mprGetBlockFromBuf, (MprBuf * buf, char *blk, ssize count));
    HAVE(char *, mprGetBufEnd, (MprBuf * buf));
    HAVE(ssize, mprGetBufLength, (MprBuf * buf));
    HAVE(ssize, mprGetBufSize, (MprBuf * buf));
    HAVE(ssize, mprGetBufSpace, (MprBuf * buf));
    HAVE(char *, mprGetBufStart, (MprBuf * buf));
    HAVE(int, mprGetCharFromBuf, (MprBuf * buf));
    HAVE(int, mprGrowBuf, (MprBuf * buf, ssize count));
    HAVE(int, mprLookAtNextCharInBuf, (MprBuf * buf));
    HAVE(ssize, mprPutBlockToBuf, (MprBuf * buf, cchar * ptr, ssize size));
    HAVE(int, mprPutCharToBuf, (MprBuf * buf, int c));
    HAVE(ssize, mprPutToBuf, (MprBuf * buf, cchar * fmt, ...));
    HAVE(ssize, mprPutIntToBuf, (MprBuf * buf, int64 i));
    HAVE(ssize, mprPutStringToBuf, (MprBuf * buf, cchar * str));
    HAVE(ssize, mprPutSubStringToBuf, (MprBuf * buf, cchar * str, ssize count));
    HAVE(uint, mprGetUint32FromBuf, (MprBuf * buf));
    HAVE(void, mprPutUint16ToBuf, (MprBuf * buf, uint16 num));
    HAVE(void, mprPutUint32ToBuf, (MprBuf * buf, uint32 num));
    HAVE(ssize, mprPutPadToBuf, (MprBuf * buf, int c, ssize count));
    HAVE(int, mprInsertCharToBuf, (MprBuf * buf, int c));
    HAVE(int, mprLookAtLastCharInBuf, (MprBuf * buf));
    HAVE(void, mprCompactBuf, (MprBuf * buf));
    HAVE(void, mprResetBufIfEmpty, (MprBuf * buf));
    HAVE(void, mprSetBufMax, (MprBuf * buf, ssize maxSize));
    HAVE(int, mprSetBufSize, (MprBuf * buf, ssize size, ssize maxSize));
    HAVE(void, mprSetBufRefillProc, (MprBuf * buf, MprBufProc fn, void *arg));
    HAVE(MprBufProc, mprGetBufRefillProc, (MprBuf * buf));
    HAVE(int, mprRefillBuf, (MprBuf * buf));
    HAVE(char *, mprGetBuf, (MprBuf * buf));
    HAVE(char *, mprCloneBufMem, (MprBuf * bp));
    HAVE(char *, mprCloneBufAsString, (MprBuf * bp));
    HAVE(uint, mprGetUint16FromBuf, (MprBuf * buf));
    HAVE(uint, mprPeekUint32FromBuf, (MprBuf * buf));
}

static void testLists(void) {
    HAVE(int, mprAddItem, (MprList * list, cvoid * item));
    HAVE(int, mprAddNullItem, (MprList * list));
    HAVE(MprList *, mprCloneList, (MprList * src));
    HAVE(MprList *, mprCreateList, (int size, int flags));
    HAVE(MprList *, mprCreateListFromWords, (cchar * str));
    HAVE(void *, mprGetFirstItem, (MprList * list));
    HAVE(void *, mprGetItem, (MprList * list, int index));
    HAVE(void *, mprGetLastItem, (MprList * list));
    HAVE(int, mprGetListLength, (MprList * list));
    HAVE(void *, mprGetNextItem, (MprList * list, int *lastIndex));
    HAVE(void *, mprGetNextStableItem, (MprList * list, int *lastIndex));
    HAVE(int, mprCopyListContents, (MprList * dest, MprList * src));
    HAVE(int, mprInsertItemAtPos, (MprList * list, int index, cvoid *item));
    HAVE(char *, mprListToString, (MprList * list, cchar * join));
    HAVE(int, mprLookupItem, (MprList * list, cvoid * item));
    HAVE(int, mprLookupStringItem, (MprList * list, cchar * str));
    HAVE(int, mprRemoveItem, (MprList * list, cvoid * item));
    HAVE(int, mprRemoveItemAtPos, (MprList * list, int index));
    HAVE(void *, mprSetItem, (MprList * list, int index, cvoid *item));
    HAVE(void *, mprSort, (void *base, ssize num, ssize width, MprSortProc compare, void *ctx));
    HAVE(MprList *, mprSortList, (MprList * list, MprSortProc compare, void *ctx));
    HAVE(MprKeyValue *, mprCreateKeyPair, (cchar * key, cchar * value, int flags));
    HAVE(void *, mprPopItem, (MprList * list));
    HAVE(int, mprPushItem, (MprList * list, cvoid * item));
}

static void testHashes(void) {
    HAVE(MprKey *, mprAddDuplicateKey, (MprHash * table, cvoid * key, cvoid * ptr));
    HAVE(MprKey *, mprAddKey, (MprHash * table, cvoid * key, cvoid * ptr));
    HAVE(MprKey *, mprAddKeyFmt, (MprHash * table, cvoid * key, cchar * fmt, ...));
    HAVE(MprHash *, mprCloneHash, (MprHash * table));
    HAVE(MprHash *, mprCreateHash, (int hashSize, int flags));
    HAVE(MprKey *, mprGetFirstKey, (MprHash * table));
    HAVE(MprKey *, mprGetNextKey, (MprHash * table, MprKey * last));
    HAVE(int, mprGetHashLength, (MprHash * table));
    HAVE(void *, mprLookupKey, (MprHash * table, cvoid * key));
    HAVE(MprKey *, mprLookupKeyEntry, (MprHash * table, cvoid * key));
    HAVE(int, mprRemoveKey, (MprHash * table, cvoid * key));
    HAVE(MprHash *, mprBlendHash, (MprHash * target, MprHash * other));
    HAVE(char *, mprHashKeysToString, (MprHash * hash, cchar * join));
    HAVE(char *, mprHashToString, (MprHash * hash, cchar * join));
    HAVE(MprHash *, mprCreateHashFromWords, (cchar * str));
}

static void testFiles(void) {
    HAVE(MprRomInode *, mprGetRomFiles, (void) );
    HAVE(MprFileSystem *, mprLookupFileSystem, (cchar * path));
    HAVE(int, mprCloseFile, (MprFile * file));
    HAVE(int, mprEnableFileBuffering, (MprFile * file, ssize size, ssize maxSize));
    HAVE(int, mprFlushFile, (MprFile * file));
    HAVE(int, mprGetFileChar, (MprFile * file));
    HAVE(MprOff, mprGetFilePosition, (MprFile * file));
    HAVE(MprFile *, mprGetStdout, (void) );
    HAVE(MprFile *, mprOpenFile, (cchar * filename, int omode, int perms));
    HAVE(int, mprPeekFileChar, (MprFile * file));
    HAVE(ssize, mprPutFileChar, (MprFile * file, int c));
    HAVE(ssize, mprPutFileString, (MprFile * file, cchar * str));
    HAVE(ssize, mprReadFile, (MprFile * file, void *buf, ssize size));
    HAVE(char *, mprReadLine, (MprFile * file, ssize size, ssize * len));
    HAVE(MprOff, mprSeekFile, (MprFile * file, int seekType, MprOff distance));
    HAVE(ssize, mprWriteFile, (MprFile * file, cvoid * buf, ssize count));
    HAVE(ssize, mprWriteFileFmt, (MprFile * file, cchar * fmt, ...));
    HAVE(ssize, mprWriteFileString, (MprFile * file, cchar * str));
}

static void testPaths(void) {
    HAVE(int, mprCopyPath, (cchar * from, cchar * to, int omode));
    HAVE(int, mprDeletePath, (cchar * path));
    HAVE(char *, mprGetAbsPath, (cchar * path));
    HAVE(cchar *, mprGetCurrentPath, (void) );
    HAVE(char *, mprGetNativePath, (cchar * path));
    HAVE(char *, mprGetPathBase, (cchar * path));
    HAVE(char *, mprGetPathDir, (cchar * path));
    HAVE(char *, mprGetPathExt, (cchar * path));
    HAVE(MprList *, mprGetPathFiles, (cchar * dir, int flags));
    HAVE(MprList *, mprGlobPathFiles, (cchar * path, cchar * patterns, int flags));
    HAVE(int, mprGetPathInfo, (cchar * path, MprPath * info));
    HAVE(char *, mprGetPathParent, (cchar * path));
    HAVE(char *, mprGetPortablePath, (cchar * path));
    HAVE(char *, mprGetRelPath, (cchar * dest, cchar * origin));
    HAVE(char *, mprGetTempPath, (cchar * tmpDir));
    HAVE(bool, mprIsPathContained, (cchar * path, cchar * dir));
    HAVE(bool, mprIsPathAbs, (cchar * path));
    HAVE(bool, mprIsPathRel, (cchar * path));
    HAVE(char *, mprJoinPath, (cchar * base, cchar * path));
    HAVE(char *, mprJoinPaths, (cchar * base, ...));
    HAVE(char *, mprJoinPathExt, (cchar * path, cchar * ext));
    HAVE(int, mprMakeDir, (cchar * path, int perms, int owner, int group, bool makeMissing));
    HAVE(void, mprMapSeparators, (char *path, int separator));
    HAVE(char *, mprNormalizePath, (cchar * path));
    HAVE(bool, mprPathExists, (cchar * path, int omode));
    HAVE(char *, mprReadPathContents, (cchar * path, ssize * lenp));
    HAVE(char *, mprReplacePathExt, (cchar * path, cchar * ext));
    HAVE(char *, mprResolvePath, (cchar * base, cchar * path));
    HAVE(bool, mprIsAbsPathContained, (cchar * path, cchar * dir));
    HAVE(char *, mprTrimPathDrive, (cchar * path));
    HAVE(char *, mprTrimPathComponents, (cchar * path, int count));
    HAVE(char *, mprGetPathFirstDir, (cchar * path));
    HAVE(cchar *, mprGetPathBaseRef, (cchar * path));
    HAVE(int, mprSamePathCount, (cchar * path1, cchar * path2, ssize len));
    HAVE(bool, mprIsPathSeparator, (cchar * path, cchar c));
    HAVE(cchar *, mprGetPathSeparators, (cchar * path));
    HAVE(int, mprSamePath, (cchar * path1, cchar * path2));
    HAVE(char *, mprTransformPath, (cchar * path, int flags));
    HAVE(char *, mprTrimPathExt, (cchar * path));
    HAVE(ssize, mprWritePathContents, (cchar * path, cchar * buf, ssize len, int mode));
}

static void testSockets(void) {
    HAVE(bool, mprHasSecureSockets, (void) );
    HAVE(MprSocket *, mprAcceptSocket, (MprSocket * listen));
    HAVE(MprWaitHandler *, mprAddSocketHandler,
         (MprSocket * sp, int mask, MprDispatcher *dispatcher, void *proc, void *data, int flags));
    HAVE(void, mprCloseSocket, (MprSocket * sp, bool graceful));
    HAVE(int, mprConnectSocket, (MprSocket * sp, cchar * ip, int port, int flags));
    HAVE(MprSocket *, mprCreateSocket, (void) );
    HAVE(void, mprDisconnectSocket, (MprSocket * sp));
    HAVE(void, mprEnableSocketEvents, (MprSocket * sp, int mask));
    HAVE(char *, mprGetSocketState, (MprSocket * sp));
    HAVE(bool, mprHasDualNetworkStack, (void) );
    HAVE(bool, mprHasIPv6, (void) );
    HAVE(bool, mprIsSocketEof, (MprSocket * sp));
    HAVE(Socket, mprListenOnSocket, (MprSocket * sp, cchar * ip, int port, int flags));
    HAVE(int, mprParseSocketAddress, (cchar * address, cchar * *ip, int *port, int *secure, int defaultPort));
    HAVE(ssize, mprReadSocket, (MprSocket * sp, void *buf, ssize size));
    HAVE(void, mprRemoveSocketHandler, (MprSocket * sp));
    HAVE(int, mprSetSocketBlockingMode, (MprSocket * sp, bool on));
    HAVE(bool, mprSocketHandshaking, (MprSocket * sp));
    HAVE(Socket, mprStealSocketHandle, (MprSocket * sp));
    HAVE(int, mprUpgradeSocket, (MprSocket * sp, struct MprSsl * ssl, cchar * peerName));
    HAVE(ssize, mprWriteSocket, (MprSocket * sp, cvoid * buf, ssize len));
    HAVE(ssize, mprWriteSocketVector, (MprSocket * sp, MprIOVec * iovec, int count));
}

static void testCommands(void) {
    HAVE(void, mprCloseCmdFd, (MprCmd * cmd, int channel));
    HAVE(MprCmd *, mprCreateCmd, (MprDispatcher * dispatcher));
    HAVE(void, mprDestroyCmd, (MprCmd * cmd));
    HAVE(void, mprEnableCmdEvents, (MprCmd * cmd, int channel));
    HAVE(void, mprEnableCmdOutputEvents, (MprCmd * cmd, bool on));
    HAVE(void, mprFinalizeCmd, (MprCmd * cmd));
    HAVE(int, mprGetCmdExitStatus, (MprCmd * cmd));
    HAVE(int, mprGetCmdFd, (MprCmd * cmd, int channel));
    HAVE(ssize, mprReadCmd, (MprCmd * cmd, int channel, char *buf, ssize bufsize));
    HAVE(int, mprRun,
         (MprDispatcher * dispatcher, cchar * command, cchar * input, char **output, char **error, MprTicks timeout));
    HAVE(int, mprRunCmd,
         (MprCmd * cmd, cchar * command, cchar * *envp, cchar * in, char **out, char **err, MprTicks timeout,
          int flags));
    HAVE(void, mprSetCmdCallback, (MprCmd * cmd, MprCmdProc callback, void *data));
    HAVE(void, mprSetCmdSearchPath, (MprCmd * cmd, cchar * search));
    HAVE(int, mprStartCmd, (MprCmd * cmd, int argc, cchar **argv, cchar **envp, int flags));
    HAVE(int, mprWaitForCmd, (MprCmd * cmd, MprTicks timeout));
}

static void testSignals(void) {
    HAVE(void, mprRemoveSignalHandler, (MprSignal * sp));
    HAVE(void, mprAddStandardSignals, (void) );
    HAVE(MprSignal *, mprAddSignalHandler, (int signo, void *handler, void *arg, MprDispatcher *dispatcher, int flags));
}

static void testLogging(void) {
    HAVE(int, mprBackupLog, (cchar * path, int count));
    HAVE(void, mprError, (cchar * fmt, ...));
    HAVE(void, mprLog, (cchar * tags, int level, cchar *fmt, ...));
    HAVE(void, mprLogConfig, (void) );
    HAVE(void, mprSetLogBackup, (ssize logSize, int backupCount, int flags));
    HAVE(MprLogHandler, mprSetLogHandler, (MprLogHandler handler));
    HAVE(int, mprStartLogging, (cchar * logSpec, int flags));
    HAVE(MprLogHandler, mprGetLogHandler, (void) );
    HAVE(int, mprUsingDefaultLogHandler, (void) );
    HAVE(void, mprDefaultLogHandler, (cchar * tags, int level, cchar *msg));
    HAVE(void, mprWriteToOsLog, (cchar * msg, int level));
    HAVE(void, mprAssert, (cchar * loc, cchar * msg));
    HAVE(void, mprRawLog, (int level, cchar *fmt, ...));
    HAVE(void, mprDebug, (cchar * tags, int level, cchar *fmt, ...));
}

static void testEncoding(void) {
    HAVE(char *, mprEscapeCmd, (cchar * cmd, int escChar));
    HAVE(char *, mprEscapeHtml, (cchar * html));
    HAVE(char *, mprEscapeSQL, (cchar * cmd));
    HAVE(char *, mprUriDecode, (cchar * uri));
    HAVE(char *, mprUriDecodeInSitu, (char *uri));
}

static void testTimeAndOthers(void) {
    HAVE(int, mprCompareTime, (MprTime t1, MprTime t2));
    HAVE(void, mprDecodeLocalTime, (struct tm * timep, MprTime time));
    HAVE(void, mprDecodeUniversalTime, (struct tm * timep, MprTime time));
    HAVE(char *, mprFormatLocalTime, (cchar * fmt, MprTime time));
    HAVE(char *, mprFormatUniversalTime, (cchar * fmt, MprTime time));
    HAVE(char *, mprFormatTm, (cchar * fmt, struct tm * timep));
    HAVE(MprTicks, mprGetTicks, (void) );
    HAVE(MprTime, mprGetTime, (void) );
    HAVE(char *, mprGetDate, (char *fmt));
    HAVE(uint64, mprGetHiResTicks, (void) );
    HAVE(MprTicks, mprGetRemainingTicks, (MprTicks mark, MprTicks timeout));
    HAVE(MprTicks, mprGetElapsedTicks, (MprTicks mark));
    HAVE(MprTime, mprGetElapsedTime, (MprTime mark));
    HAVE(int, mprParseTime, (MprTime * time, cchar * dateString, int timezone, struct tm *defaults));
    HAVE(MprTime, mprMakeTime, (struct tm * timep));
    HAVE(MprTime, mprMakeUniversalTime, (struct tm * timep));
    HAVE(int, mprGetTimeZoneOffset, (MprTime when));
}

static void testTheRuntimeItself(void) {
    HAVE(void, mprNop, (void *ptr));
    HAVE(void, mprAddTerminator, (MprTerminator terminator));
    HAVE(Mpr *, mprCreate, (int argc, char **argv, int flags));
    HAVE(bool, mprDestroy, (void) );
    HAVE(char *, mprEmptyString, (void) );
    HAVE(cchar *, mprGetAppDir, (void) );
    HAVE(cchar *, mprGetAppName, (void) );
    HAVE(cchar *, mprGetAppPath, (void) );
    HAVE(Mpr *, mprGetMpr, (void) );
    HAVE(cchar *, mprGetAppTitle, (void) );
    HAVE(bool, mprGetCmdlineLogging, (void) );
    HAVE(bool, mprGetDebugMode, (void) );
    HAVE(int, mprGetError, (void) );
    HAVE(int, mprGetExitStatus, (void) );
    HAVE(int, mprGetLogLevel, (void) );
    HAVE(int, mprGetRandomBytes, (char *buf, ssize size, bool block));
    HAVE(char *, mprGetRandomString, (ssize size));
    HAVE(int, mprGetOsError, (void) );
    HAVE(bool, mprIsStopping, (void) );
    HAVE(int, mprMakeArgv, (cchar * command, cchar * **argv, int flags));
    HAVE(int, mprParseArgs, (char *command, char **argv, int maxArgs));
    HAVE(int, mprSetAppName, (cchar * name, cchar * title, cchar * version));
    HAVE(void, mprSetAppPath, (cchar * path));
    HAVE(cchar *, mprGetHostName, (void) );
    HAVE(void, mprSetHostName, (cchar * s));
    HAVE(cchar *, mprGetServerName, (void) );
    HAVE(void, mprSetServerName, (cchar * s));
    HAVE(cchar *, mprGetDomainName, (void) );
    HAVE(void, mprSetDomainName, (cchar * s));
    HAVE(cchar *, mprGetIpAddr, (void) );
    HAVE(void, mprSetIpAddr, (cchar * ip));
    HAVE(void, mprSetEnv, (cchar * key, cchar * value));
    HAVE(void, mprSetError, (int error));
    HAVE(void, mprSetOsError, (int error));
    HAVE(int, mprGetEndian, (void) );
    HAVE(int, mprRandom, (void) );
    HAVE(void *, mprGetKey, (cchar * key));
    HAVE(void, mprSetKey, (cchar * key, void *value));
    HAVE(void, mprSetDebugMode, (bool on));
    HAVE(void, mprSetExitStatus, (int status));
    HAVE(void, mprSetLogLevel, (int level));
    HAVE(void, mprSetExitTimeout, (MprTicks timeout));
    HAVE(void, mprSetFilesLimit, (int limit));
    HAVE(bool, mprShouldDenyNewRequests, (void) );
    HAVE(void, mprSleep, (MprTicks msec));
    HAVE(int, mprStart, (void) );
    HAVE(void, mprShutdown, (int exitStrategy, int status, MprTicks timeout));
}

/* Calls that fewer programs make. */
static void testMoreThreads(void) {
    HAVE(void, mprNap, (MprTicks msec));
    HAVE(void, mprSetThreadStackSize, (ssize size));
    HAVE(int, mprStartOsThread, (cchar * name, void *proc, void *data, MprThread *tp));
    HAVE(int, mprSyncThreads, (MprTicks timeout));
}

static void testMoreWorkers(void) {
    HAVE(void, mprActivateWorker, (MprWorker * worker, MprWorkerProc proc, void *data));
    HAVE(void, mprDedicateWorker, (MprWorker * worker));
    HAVE(ssize, mprGetBusyWorkerCount, (void) );
    HAVE(void, mprGetWorkerStats, (MprWorkerStats * stats));
    HAVE(void, mprReleaseWorker, (MprWorker * worker));
    HAVE(void, mprSetWorkerStackSize, (int size));
    HAVE(void, mprSetWorkerStartCallback, (MprWorkerProc start));
    HAVE(void, mprStopWorkers, (void) );
}

static void testMoreConditions(void) {
    HAVE(void, mprSignalMultiCond, (MprCond * cond));
    HAVE(int, mprWaitForMultiCond, (MprCond * cond, MprTicks timeout));
}

static void testMoreEvents(void) {
    HAVE(int, mprDispatchersAreIdle, (void) );
    HAVE(void, mprEnableContinuousEvent, (MprEvent * event, int enable));
    HAVE(int, mprGetEventCount, (MprDispatcher * dispatcher));
    HAVE(void, mprSignalDispatcher, (MprDispatcher * dispatcher));
}

static void testMoreWaiting(void) {
    HAVE(int, mprNotifyOn, (MprWaitHandler * wp, int mask));
    HAVE(void, mprRecallWaitHandler, (MprWaitHandler * wp));
    HAVE(void, mprRecallWaitHandlerByFd, (Socket fd));
    HAVE(void, mprWaitForIO, (MprWaitService * ws, MprTicks timeout));
}

static void testMoreCommands(void) {
    HAVE(bool, mprAreCmdEventsEnabled, (MprCmd * cmd, int channel));
    HAVE(void, mprDisconnectCmd, (MprCmd * cmd));
    HAVE(MprBuf *, mprGetCmdBuf, (MprCmd * cmd, int channel));
    HAVE(int, mprIsCmdComplete, (MprCmd * cmd));
    HAVE(int, mprRunCmdV,
         (MprCmd * cmd, int argc, cchar **argv, cchar **envp, cchar *in, char **out, char **err, MprTicks timeout,
          int flags));
    HAVE(void, mprSetCmdDefaultEnv, (MprCmd * cmd, cchar * *env));
    HAVE(void, mprSetCmdDir, (MprCmd * cmd, cchar * dir));
    HAVE(void, mprSetCmdEnv, (MprCmd * cmd, cchar * *env));
    HAVE(ssize, mprWriteCmdBlock, (MprCmd * cmd, int channel, cchar *buf, ssize bufsize));
}

static void testMoreSockets(void) {
    HAVE(MprSocket *, mprCloneSocket, (MprSocket * sp));
    HAVE(ssize, mprFlushSocket, (MprSocket * sp));
    HAVE(bool, mprGetSocketBlockingMode, (MprSocket * sp));
    HAVE(int, mprGetSocketError, (MprSocket * sp));
    HAVE(int, mprGetSocketInfo,
         (cchar * ip, int port, int *family, int *protocol, struct sockaddr **addr, Socklen *addrlen));
    HAVE(bool, mprIsIPv6, (cchar * ip));
    HAVE(bool, mprIsSocketV6, (MprSocket * sp));
    HAVE(MprOff, mprSendFileToSocket,
         (MprSocket * sock, MprFile * file, MprOff offset, MprOff bytes, MprIOVec * beforeVec, int beforeCount,
          MprIOVec *afterVec, int afterCount));
    HAVE(int, mprSetMaxSocketAccept, (int max));
    HAVE(void, mprSetSocketDispatcher, (MprSocket * sp, MprDispatcher * dispatcher));
    HAVE(void, mprSetSocketEof, (MprSocket * sp, bool eof));
    HAVE(void, mprSetSocketPrebindCallback, (MprSocketPrebind callback));
    HAVE(bool, mprSocketHasBuffered, (MprSocket * sp));
    HAVE(bool, mprSocketHasBufferedRead, (MprSocket * sp));
    HAVE(bool, mprSocketHasBufferedWrite, (MprSocket * sp));
}

static void testMoreFiles(void) {
    HAVE(ssize, mprFprintf, (struct MprFile * file, cchar * fmt, ...));
    HAVE(MprOff, mprGetFileSize, (MprFile * file));
    HAVE(struct MprFile *, mprGetLogFile, (void) );
    HAVE(char *, mprGetPathLink, (cchar * path));
    HAVE(MprFile *, mprGetStderr, (void) );
    HAVE(MprFile *, mprGetStdin, (void) );
    HAVE(bool, mprIsPathDir, (cchar * path));
    HAVE(int, mprMakeLink, (cchar * path, cchar * target, bool hard));
    HAVE(bool, mprMatchPath, (cchar * path, cchar * pattern));
    HAVE(char *, mprSearchPath, (cchar * path, int flags, cchar *search, ...));
    HAVE(void, mprSetLogFile, (struct MprFile * file));
    HAVE(int, mprTruncateFile, (cchar * path, MprOff size));
}

static void testMoreRuntime(void) {
    HAVE(bool, mprCancelShutdown, (void) );
    HAVE(int, mprDaemon, (void) );
    HAVE(char *, mprGetPassword, (cchar * prompt));
    HAVE(int, mprGetState, (void) );
    HAVE(bool, mprIsDestroyed, (void) );
    HAVE(bool, mprIsDestroying, (void) );
    HAVE(bool, mprIsIdle, (bool traceRequests));
    HAVE(void, mprRestart, (void) );
    HAVE(bool, mprServicesAreIdle, (bool traceRequests));
    HAVE(MprIdleCallback, mprSetIdleCallback, (MprIdleCallback idleCallback));
    HAVE(bool, mprShouldAbortRequests, (void) );
}

/* Those that are macros: they take a type, or what else no function can. */
typedef struct Item {
    int value;
} Item;

static void manageItem(Item *item, int flags) {
    (void) item;
    (void) flags;
}

static void testMacros(void) {
    Item *item;

    item = mprAllocObj(Item, manageItem);
    EXPECT(item && item->value == 0);
    item = mprAllocObjWithFlags(Item, manageItem, MPR_ALLOC_ZERO);
    EXPECT(item && item->value == 0);
    item = mprAllocObjNoZero(Item, manageItem);
    EXPECT(item && mprGetBlockSize(item) >= sizeof(Item));
    item = mprAllocStruct(Item);
    EXPECT(item && item->value == 0);
    item = mprAllocStructNoZero(Item);
    EXPECT(item && mprGetName(item));
    mprCopyName(item, item);
    EXPECT(MPR == mprGetMpr());
    EXPECT(mprAllocBlock(100, MPR_ALLOC_ZERO) != NULL);
    EXPECT(mprRequestGC(MPR_GC_NO_BLOCK) == 0);
}

/* Values that programs have compiled in. */
static void testFlags(void) {
    EXPECT(MPR_ALLOC_MANAGER == 1 && MPR_ALLOC_ZERO == 2 && MPR_ALLOC_HOLD == 4);
    EXPECT(MPR_MANAGE_FREE == 1 && MPR_MANAGE_MARK == 2);
    EXPECT(MPR_YIELD_DEFAULT == 0 && MPR_YIELD_COMPLETE == 1 && MPR_YIELD_STICKY == 2);
    EXPECT(MPR_GC_FORCE == 1 && MPR_GC_NO_BLOCK == 2 && MPR_GC_COMPLETE == 4);
    EXPECT(MPR_ALLOC_POLICY_NOTHING == 0 && MPR_ALLOC_POLICY_PRUNE == 1 && MPR_ALLOC_POLICY_RESTART == 2);
    EXPECT(MPR_ALLOC_POLICY_EXIT == 3 && MPR_ALLOC_POLICY_ABORT == 4);
    EXPECT(MPR_MEM_WARNING == 1 && MPR_MEM_LIMIT == 2 && MPR_MEM_FAIL == 4 && MPR_MEM_TOO_BIG == 8);
    EXPECT(sizeof(MprTicks) == 8 && sizeof(MprTime) == 8 && sizeof(int64) == 8 && sizeof(uint64) == 8);
    EXPECT(sizeof(ssize) == sizeof(size_t) && (ssize) -1 < 0);
}

int main(int argc, char **argv) {
    EXPECT(mprCreate(argc, argv, 0));
    testMemory();
    testCollection();
    testThreads();
    testWorkers();
    testLocksConditionsAtomics();
    testDispatchersAndEvents();
    testWaitingForIO();
    testStrings();
    testFormatting();
    testBuffers();
    testLists();
    testHashes();
    testFiles();
    testPaths();
    testSockets();
    testCommands();
    testSignals();
    testLogging();
    testEncoding();
    testTimeAndOthers();
    testTheRuntimeItself();
    testMoreThreads();
    testMoreWorkers();
    testMoreConditions();
    testMoreEvents();
    testMoreWaiting();
    testMoreCommands();
    testMoreSockets();
    testMoreFiles();
    testMoreRuntime();
    testMacros();
    testFlags();
    EXPECT(mprDestroy());
    printf("%d functions\n", names);
    return verdict();
}
