/* SPDX-License-Identifier: MIT */
/*
    mpr/path.h - Paths: taken apart, put together, normalised; and what they name in the file system.

    The separator is "/". Functions of the first part look at text only, those of the second part ask the system.
    Attached threads. They do not yield, however long they take: see mpr/file.h. The exceptions are calls that read or
    write contents and may wait for somebody else: pipes, terminals, devices. A path of 4096 bytes or more is an error
    in the second part.

    Strings returned are new and managed; NULL means that memory is short, or what else is said.
 */
#ifndef MPR_PATH_H
#define MPR_PATH_H

#include "mpr/types.h"

#include "mpr/list.h"

MPR_EXTERN_C_BEGIN

/** A position in or the size of a file, bytes. */
typedef long long MprOff;

/* ---- Text only ---- */

/** Whether a path begins with "/". NULL does neither. */
MPR_EXPORT bool mprIsPathAbs(const char *path);
MPR_EXPORT bool mprIsPathRel(const char *path);

/**
    Remove "." and empty parts, and ".." together with the part before it. "/.." is "/"; a relative path keeps a ".." at
    its start. "" and NULL give ".".
 */
MPR_EXPORT char *mprNormalizePath(const char *path);

/** What follows the last separator: "c.txt" of "/a/b/c.txt", "" of "/a/". The base of "/" is "/". NULL of NULL. */
MPR_EXPORT char *mprGetPathBase(const char *path);
/** What stands before the last separator: "/a/b" of "/a/b/c.txt", "/" of "/a", "." of "a". NULL of NULL. Of "a/" it is
    "a", so that it and the base are the whole path; elsewhere that may differ. */
MPR_EXPORT char *mprGetPathDir(const char *path);
/** The directory above, normalised: "/a" of "/a/b/", "/" of "/", "." of "a", ".." of ".", "../.." of "..". A relative
    path has a relative parent, whatever the current directory is; elsewhere that may differ. */
MPR_EXPORT char *mprGetPathParent(const char *path);
/** What follows the last "." of the base: "gz" of "a.tar.gz". NULL when there is no ".". */
MPR_EXPORT char *mprGetPathExt(const char *path);
/** The path without its extension and the "." before it. */
MPR_EXPORT char *mprTrimPathExt(const char *path);
/** Append an extension, with or without its ".", to a path that has none. */
MPR_EXPORT char *mprJoinPathExt(const char *path, const char *ext);
/** Replace the extension, if there is one, by another. NULL or "": remove it. */
MPR_EXPORT char *mprReplacePathExt(const char *path, const char *ext);

/** Join a path to a base, and normalise the result. An absolute path is returned itself. If one of them is NULL or "",
    the result is the other. */
MPR_EXPORT char *mprJoinPath(const char *base, const char *path);
/** Join several paths, one after another, as mprJoinPath does. The last argument is NULL. */
MPR_EXPORT char *mprJoinPaths(const char *base, ...);
/** Path as seen from the directory in which base stands, as a link in a document of that name: "/a/c" for "/a/b" and
    "c", base itself for "" and NULL. Source: RFC 3986 (2005), 5.2. */
MPR_EXPORT char *mprResolvePath(const char *base, const char *path);

/** The base of a path, as mprGetPathBase, within path itself. */
MPR_EXPORT const char *mprGetPathBaseRef(const char *path);
/** The first part: "a" of "a/b/c", "/" of an absolute path. NULL of NULL. */
MPR_EXPORT char *mprGetPathFirstDir(const char *path);
/** The path without its first count parts or, if count is negative, without its last -count parts; "" when no part is
    left. NULL of NULL. */
MPR_EXPORT char *mprTrimPathComponents(const char *path, int count);
/** The path without its drive. Paths have none here, so this is a copy. NULL of NULL. */
MPR_EXPORT char *mprTrimPathDrive(const char *path);
/** Whether path is dir or lies below it; both are absolute. Their text is compared, normalised. */
MPR_EXPORT bool mprIsAbsPathContained(const char *path, const char *dir);
/** @return 1 when the first len characters of both paths, or all if there are fewer, are the same; else 0. */
MPR_EXPORT int mprSamePathCount(const char *path1, const char *path2, ptrdiff_t len);
/** The characters that separate the parts of a path; whether a character is one of them. @param path May be NULL. */
MPR_EXPORT const char *mprGetPathSeparators(const char *path);
MPR_EXPORT bool mprIsPathSeparator(const char *path, const char c);

/** Whether a whole path matches a pattern: see mprGlobPathFiles. Here neither ',' nor a leading '!' means anything. */
MPR_EXPORT bool mprMatchPath(const char *path, const char *pattern);

/** Write another separator for each "/" and "\\". */
MPR_EXPORT void mprMapSeparators(char *path, int separator);
/** The path normalised, in the form of the system, and with "/" (here the same). */
MPR_EXPORT char *mprGetNativePath(const char *path);
MPR_EXPORT char *mprGetPortablePath(const char *path);

/* ---- Of the file system ---- */

/** What a path names. */
typedef struct MprPath {
    MprTime atime, ctime, mtime; /* Last access, change of status, change of contents: seconds since 1970 */
    MprOff size;                 /* Bytes */
    long long inode;
    bool exists, valid; /* Both: the fields mean something */
    bool checked;       /* The system was asked */
    bool isDir, isReg;  /* Of a link: what its target is */
    bool isLink;        /* The path is a symbolic link. If its target is missing the fields are those of the link */
    int perms;          /* The nine permission bits and the three above */
    int owner, group;
} MprPath;

/** What mprGetPathFiles lists. A managed block. */
typedef struct MprDirEntry {
    char *name;           /* Managed */
    MprTime lastModified; /* Seconds since 1970 */
    MprOff size;          /* Bytes */
    bool isDir;           /* Or a link to a directory */
    bool isLink;
} MprDirEntry;

/* Flags of mprTransformPath. */
#define MPR_PATH_ABS 0x1 /* Absolute */
#define MPR_PATH_REL 0x2 /* Relative to the current directory */

/* Flags of mprGetPathFiles and mprGlobPathFiles. */
#define MPR_PATH_DESCEND 0x1     /* Directories below, too; links to directories are not followed */
#define MPR_PATH_DEPTH_FIRST 0x2 /* A directory after its contents instead of before */
#define MPR_PATH_INC_HIDDEN 0x4  /* Names that begin with ".", too */
#define MPR_PATH_NO_DIRS 0x8     /* Do not list directories */
#define MPR_PATH_RELATIVE 0x10   /* Names relative to the directory listed; otherwise they begin with it */

/* Flags of mprSearchPath. */
#define MPR_SEARCH_EXE 0x1 /* A file that may be executed */
#define MPR_SEARCH_DIR 0x2 /* A directory; otherwise anything else */

/** The current directory; NULL when it was removed. */
MPR_EXPORT const char *mprGetCurrentPath(MPR_NOTHING);
/** The path as an absolute one, normalised. */
MPR_EXPORT char *mprGetAbsPath(const char *path);
/** The way from origin (NULL: the current directory) to dest: "../c" for "/a/c" and "/a/b"; "." when they are the
    same. */
MPR_EXPORT char *mprGetRelPath(const char *dest, const char *origin);
/** Normalise. @param flags MPR_PATH_ABS, MPR_PATH_REL or 0. */
MPR_EXPORT char *mprTransformPath(const char *path, int flags);
/** Whether path is dir or lies below it, by their absolute text. */
MPR_EXPORT bool mprIsPathContained(const char *path, const char *dir);
/** @return 1 when both name the same file, through links too, or are the same path; else 0. */
MPR_EXPORT int mprSamePath(const char *path1, const char *path2);

/** Whether there is such a path. @param omode R_OK, W_OK, X_OK: and may be used so; F_OK (0). */
MPR_EXPORT bool mprPathExists(const char *path, int omode);
/** Whether a path is a directory, or a link to one. */
MPR_EXPORT bool mprIsPathDir(const char *path);
/** What a symbolic link names. @return NULL when the path is none. */
MPR_EXPORT char *mprGetPathLink(const char *path);
/**
    Find the first folder that has a file. @param search Folders separated by ":" (MPR_SEARCH_SEP), and more such
    texts; the last argument is NULL. @param flags MPR_SEARCH_*.
    @return Its path, normalised; NULL when there is none. An absolute path is not looked for elsewhere.
 */
MPR_EXPORT char *mprSearchPath(const char *path, int flags, const char *search, ...);
/** @param info Filled; zeros after an error. @return 0; MPR_ERR_CANT_ACCESS; MPR_ERR_BAD_ARGS. */
MPR_EXPORT int mprGetPathInfo(const char *path, MprPath *info);

/**
    List a directory, in the order of names.
    @return A list of MprDirEntry, empty for an empty directory; NULL when dir cannot be read or memory is short. What
    cannot be read below it is left out.
 */
MPR_EXPORT MprList *mprGetPathFiles(const char *dir, int flags);
/**
    List the files below a directory that match patterns.
    @param path The directory. @param patterns Separated by commas: "?" is any character, "*" any number of them,
    "[a-z]" one of a set and "[!a-z]" none of it, none of them "/"; two stars and "/" are any number of directories; a
    pattern that begins with "!" excludes what the others find. They are compared with the path below the directory.
    @param flags MPR_PATH_*; MPR_PATH_DESCEND follows from the patterns.
    @return A list of strings in the order of names, or NULL as mprGetPathFiles.
 */
MPR_EXPORT MprList *mprGlobPathFiles(const char *path, const char *patterns, int flags);

/**
    Make a directory. @param perms For instance 0755. @param owner,group -1 leaves them. @param makeMissing Those above,
    too.
    @return 0, also when there is such a directory; MPR_ERR_CANT_CREATE; MPR_ERR_BAD_ARGS.
 */
MPR_EXPORT int mprMakeDir(const char *path, int perms, int owner, int group, bool makeMissing);
/** Make a link. @param path What it names. @param target Where the link is made. @param hard Another name of the same
    file, otherwise a symbolic link. @return 0; MPR_ERR_CANT_CREATE; MPR_ERR_BAD_ARGS. */
MPR_EXPORT int mprMakeLink(const char *path, const char *target, bool hard);
/** Delete a file, link or empty directory. @return 0; MPR_ERR_CANT_ACCESS: there is none; MPR_ERR_CANT_DELETE. */
MPR_EXPORT int mprDeletePath(const char *path);
/**
    Copy a file's contents. A file that exists is overwritten. Copying a file onto itself does nothing.
    @param omode Permissions of the copy, which it has before it has contents; 0 or less: those of the file.
    @return 0; MPR_ERR_CANT_OPEN; MPR_ERR_CANT_CREATE, also when not all could be written. A new file is then removed.
 */
MPR_EXPORT int mprCopyPath(const char *from, const char *to, int omode);
/** Make an empty file with a new name. @param tmpDir Its folder; NULL: the system's for such files. @return Its path,
    or NULL. */
MPR_EXPORT char *mprGetTempPath(const char *tmpDir);

/** Read a file. @param lenp Its length, or NULL. @return The contents with a NUL behind them; NULL when it cannot be
    read. */
MPR_EXPORT char *mprReadPathContents(const char *path, ptrdiff_t *lenp);
/**
    Replace a file's contents. @param buf,len The contents; -1: a string. If it is a block of its own it need not be
    rooted.
    @param mode Permissions if it is made; 0 or less: 0644.
    @return len; MPR_ERR_CANT_OPEN; MPR_ERR_CANT_WRITE; MPR_ERR_BAD_ARGS.
 */
MPR_EXPORT ptrdiff_t mprWritePathContents(const char *path, const char *buf, ptrdiff_t len, int mode);

MPR_EXTERN_C_END
#endif /* MPR_PATH_H */
