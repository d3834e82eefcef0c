/* SPDX-License-Identifier: MIT */
/*
    mpr/file.h - Files: opened, read, written, buffered or not; and read-only files linked into the program.

    To write to a pipe that nobody reads any more is an error, and raises no SIGPIPE.

    A file is a managed block: what is written to its buffer and the system's file are given up when it is closed, or by
    the collector when nothing references it any more. One thread uses a file at a time.

    Calls on regular files of the disk do not yield, however long they take: what the caller keeps without a root stays.
    A call that moves gigabytes, or uses a file system that may not answer (a network's), keeps collections waiting as
    long: yield around such a call, and give it unmanaged or held memory. Calls that may wait for somebody else, on
    pipes, terminals, devices and standard output, and opening one of them, yield stickily meanwhile: then whatever the
    caller still needs must be reachable from a root or held. The file itself need not be, nor a buffer or string that
    is a block of its own; a buffer inside another block must.
 */
#ifndef MPR_FILE_H
#define MPR_FILE_H

#include <fcntl.h>

#include "mpr/types.h"

#include "mpr/format.h"
#include "mpr/path.h"

MPR_EXTERN_C_BEGIN

/** An open file. A managed block. */
typedef struct MprFile {
    const char *path; /* As it was opened, for reading; it stays as long as the file */
} MprFile;

/**
    Open a file.
    @param filename Copied. A read-only file of the program's own (mprSetRomFileSystem) comes before one of the disk.
    @param omode O_RDONLY, O_WRONLY, O_RDWR, with O_CREAT, O_TRUNC, O_APPEND, O_EXCL ... A child process does not
    inherit it.
    @param perms Permissions of a file that is made.
    @return NULL when the system refuses, or memory is short.
 */
MPR_EXPORT MprFile *mprOpenFile(const char *filename, int omode, int perms);
/** Make a file of an open descriptor, which it closes when it is closed. @param omode How it was opened. */
MPR_EXPORT MprFile *mprAttachFileFd(int fd, const char *name, int omode);
/** Flush and close. @return 0; MPR_ERR_CANT_WRITE: the last data was lost; MPR_ERR_BAD_STATE: closed, or standard
    output. */
MPR_EXPORT int mprCloseFile(MprFile *file);
/** The system's descriptor; -1 when there is none. */
MPR_EXPORT int mprGetFileFd(MprFile *file);
/** Standard output and error, unbuffered. Not managed; never closed. Any attached thread may write to them. */
MPR_EXPORT MprFile *mprGetStdout(MPR_NOTHING);
MPR_EXPORT MprFile *mprGetStderr(MPR_NOTHING);
/** Standard input. Managed and retained by the runtime; never closed. @return NULL when memory is short. */
MPR_EXPORT MprFile *mprGetStdin(MPR_NOTHING);

/**
    Buffer reads and writes from now on. Reading lines and characters begins it by itself.
    @param size Bytes of the buffer; 0: 4096. @param maxSize Accepted for source compatibility: buffers do not grow.
    @return 0; MPR_ERR_BAD_ARGS; MPR_ERR_MEMORY; MPR_ERR_BAD_STATE for standard output.
 */
MPR_EXPORT int mprEnableFileBuffering(MprFile *file, ptrdiff_t size, ptrdiff_t maxSize);
/** Flush, and end buffering. What was read ahead is read again. */
MPR_EXPORT int mprDisableFileBuffering(MprFile *file);
/** Write what stands in the buffer. @return 0; MPR_ERR_CANT_WRITE: then it still stands there. */
MPR_EXPORT int mprFlushFile(MprFile *file);

/** Read bytes. @return Bytes read; 0 at the end; MPR_ERR_CANT_READ; MPR_ERR_BAD_ARGS. From a pipe fewer than asked for
    may come. */
MPR_EXPORT ptrdiff_t mprReadFile(MprFile *file, void *buf, ptrdiff_t size);
/**
    Read a line. @param size The longest, bytes; 0 or less: no limit. The rest of a longer one is read as the next.
    @param len Its length, or NULL: a line may contain NULs. @return A new string without the newline; NULL at the end,
    after an error, or when memory is short.
 */
MPR_EXPORT char *mprReadLine(MprFile *file, ptrdiff_t size, ptrdiff_t *len);
/** Read a byte. @return The byte, 0 to 255; -1 at the end or after an error. */
MPR_EXPORT int mprGetFileChar(MprFile *file);
/** Look at the next byte without reading it. @return The byte, 0 to 255; -1 at the end or after an error. */
MPR_EXPORT int mprPeekFileChar(MprFile *file);

/** Write bytes. @return count; MPR_ERR_CANT_WRITE (some may have been written); MPR_ERR_BAD_ARGS. */
MPR_EXPORT ptrdiff_t mprWriteFile(MprFile *file, const void *buf, ptrdiff_t count);
/** Write a string without its NUL. @return Its length, or an error as mprWriteFile. */
MPR_EXPORT ptrdiff_t mprWriteFileString(MprFile *file, const char *str);
MPR_EXPORT ptrdiff_t mprWriteFileFmt(MprFile *file, const char *fmt, ...) MPR_PRINTF(2, 3);
/** An older name for mprWriteFileFmt. */
MPR_EXPORT ptrdiff_t mprFprintf(MprFile *file, const char *fmt, ...) MPR_PRINTF(2, 3);
/** Write a byte. @return 1, or an error as mprWriteFile. */
MPR_EXPORT ptrdiff_t mprPutFileChar(MprFile *file, int c);
MPR_EXPORT ptrdiff_t mprPutFileString(MprFile *file, const char *str);

/**
    Move to a position. @param seekType SEEK_SET, SEEK_CUR or SEEK_END. @return The new position; MPR_ERR_BAD_ARGS
    before the start; MPR_ERR_BAD_STATE for pipes and terminals; MPR_ERR_CANT_WRITE.
 */
MPR_EXPORT MprOff mprSeekFile(MprFile *file, int seekType, MprOff distance);
/** Where the next byte is read or written. @return MPR_ERR_BAD_ARGS without a file. */
MPR_EXPORT MprOff mprGetFilePosition(MprFile *file);
/** Bytes in a file, those of its buffer included, which is flushed. @return MPR_ERR_BAD_ARGS without a file;
    MPR_ERR_BAD_STATE for pipes and terminals; MPR_ERR_CANT_WRITE. */
MPR_EXPORT MprOff mprGetFileSize(MprFile *file);
/** Make a file of the disk shorter, or longer by zeros. @return 0; MPR_ERR_CANT_OPEN; MPR_ERR_CANT_WRITE;
    MPR_ERR_BAD_ARGS. */
MPR_EXPORT int mprTruncateFile(const char *path, MprOff size);

/* ---- Files in the program ---- */

/** A read-only file in the program. A table of them ends with a path of NULL. */
typedef struct MprRomInode {
    const char *path;
    const unsigned char *data; /* NULL: a directory */
    ptrdiff_t size;            /* Bytes */
    int num;                   /* The program's */
} MprRomInode;

/** What a path belongs to: the disk or the program. Not managed. */
typedef struct MprFileSystem {
    const char *root;       /* Where it begins */
    const char *separators; /* Of paths */
    const char *newline;    /* Of text files */
    bool caseSensitive;     /* Names differ by case */
    bool hasDriveSpecs;     /* Paths may begin with a drive: never, here */
    bool readOnly;
} MprFileSystem;

/** Make files of the program readable, by mprOpenFile and as documents of HTTP. @param inodes Kept, not copied; NULL: what
    mprGetRomFiles returns. Call it before other threads open files. */
MPR_EXPORT void mprSetRomFileSystem(MprRomInode *inodes);
/** @return The table set, or NULL. A program may define this function itself to return its own table, which is then the
    one that is read unless another is set: the library's is weak. */
MPR_EXPORT MprRomInode *mprGetRomFiles(MPR_NOTHING);
/** @return The file system that would be asked for a path: never NULL. */
MPR_EXPORT MprFileSystem *mprLookupFileSystem(const char *path);

/**
    Set how many descriptors, of files and sockets, the process may have open. Those that are open stay open.
    @param limit 0 or less: as many as the system lets it. More than that is refused, and the limit is set to that; the
    log says so. Any thread. Does not yield.
 */
MPR_EXPORT void mprSetFilesLimit(int limit);

MPR_EXTERN_C_END
#endif /* MPR_FILE_H */
