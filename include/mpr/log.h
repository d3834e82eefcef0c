/* SPDX-License-Identifier: MIT */
/*
    mpr/log.h - Logging: messages of the program and of the runtime, to one place.

    A message has tags (words that say what it is about, such as "http error"), a level from 0 (error) up, and a
    text. It goes to the handler of mprSetLogHandler (mpr/runtime.h) if there is one; else to the log that
    mprStartLogging opened; else to standard error. A line is "tags: text", written at once. Messages of the runtime
    itself go the same way, whatever the level. Messages that a handler logs itself go to standard error, so it is never
    called for them.

    A message is one line of the log, whatever is in it. Control characters except tabs, and (but for the runtime's own on
    standard error) bytes that are not UTF-8, are escaped as in C strings (in JSON as in JSON); a newline at the end is
    dropped. So nobody who chooses a part of a message can forge a line, or command a terminal. Handlers get it as it is.

    When a log cannot be written (the disk is full, for example), standard error says so once. Lost lines are
    counted: the first line that can be written again says how many.

    A message is built on the stack, never in managed memory, so that it gets out when memory is short; its text is
    cut at 2000 bytes. Logging belongs to the process: it works before mprCreate and after mprDestroy. Any thread.
    Nothing here yields, unless it says so: writing to a file is not counted as a wait.
 */
#ifndef MPR_LOG_H
#define MPR_LOG_H

#include "mpr/format.h"
#include "mpr/runtime.h"
#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

struct MprFile;

/* Flags of mprStartLogging and mprSetLogBackup. */
#define MPR_LOG_DETAILED 0x1 /* Lines start with the time (UTC) and name level and thread */
#define MPR_LOG_ANEW 0x2     /* Start with an empty file; the old one is kept as a backup if there are to be any */
#define MPR_LOG_CONFIG 0x4   /* Write mprLogConfig first */
#define MPR_LOG_CMDLINE 0x8  /* The user asked for this log on the command line; see mprGetCmdlineLogging */
#define MPR_LOG_TAGGED 0x10  /* Accepted for source compatibility: lines carry their tags anyway */
#define MPR_LOG_JSON 0x20    /* Lines are objects of JSON: time (UTC), level, tags, thread, text */

/** Log a message, if its level is at most that of mprSetLogLevel. @param tags NULL: none. */
MPR_EXPORT void mprLog(const char *tags, int level, const char *fmt, ...) MPR_PRINTF(3, 4);
/** Log a message with the tag "error" and level 0. */
MPR_EXPORT void mprError(const char *fmt, ...) MPR_PRINTF(1, 2);
/** Log a message as mprLog does: for messages that only the program's developers want. */
MPR_EXPORT void mprDebug(const char *tags, int level, const char *fmt, ...) MPR_PRINTF(3, 4);

/** Log a message without tags, if its level is at most that of mprSetLogLevel. */
MPR_EXPORT void mprRawLog(int level, const char *fmt, ...) MPR_PRINTF(2, 3);

/** The greatest level that is logged; 0 until set. */
MPR_EXPORT int mprGetLogLevel(MPR_NOTHING);
MPR_EXPORT void mprSetLogLevel(int level);

/**
    Open the log, and close the one that was open.
    @param logSpec `place`, `place:level`, `place:json` or `place:level:json`. The place is a file, which is
    appended to, or stdout, stderr, or none. The level, if given, is set as by mprSetLogLevel; json is MPR_LOG_JSON.
    NULL: stderr.
    @param flags MPR_LOG_*.
    @return 0; MPR_ERR_CANT_OPEN, or MPR_ERR_BAD_ARGS for an empty or too long name: nothing is changed, and the log
    says why.
    @remarks MPR->logPath (mpr/runtime.h) is the place, if an attached thread calls.
    A file that is made is for its owner alone (0600), whatever the umask lets others do; one that there is
    keeps its permissions, as does what takes its place when it becomes a backup. A place that is a symbolic link is
    refused; links among the folders above it are followed. Processes that are started do not inherit the file.
 */
MPR_EXPORT int mprStartLogging(const char *logSpec, int flags);

/**
    Append the log to an open file of the program's from now on, in the common form, and never rename that file: all that
    is written to it is appended. The log has a descriptor of its own, so the program may close its file. NULL: standard
    error. Attached threads. May yield if the file's buffer is to be written to a pipe.
 */
MPR_EXPORT void mprSetLogFile(struct MprFile *file);
/** The file that was set last, which the runtime retains, or NULL. Any thread. */
MPR_EXPORT struct MprFile *mprGetLogFile(MPR_NOTHING);

/**
    Keep the log small: a file that would grow past logSize becomes the first of its backups, and an empty one takes
    its place.
    @param logSize Bytes; 0 or less: no limit. @param backupCount How many backups are kept, at most 1000; 0: the
    old file is dropped.
    @param flags MPR_LOG_ANEW: at the next mprStartLogging, too.
    @remarks If the file cannot become a backup, the log continues in it, and nothing is lost. Standard error says so
    once. The next attempt comes when another logSize bytes have been written.
 */
MPR_EXPORT void mprSetLogBackup(ptrdiff_t logSize, int backupCount, int flags);

/**
    Rename a file to path.1 after path.1 has become path.2, and so on; path.count goes. A count above 1000 is taken
    for 1000.
    @return 0, also when there is no such file; MPR_ERR_CANT_WRITE, and none but path.count is lost; MPR_ERR_BAD_ARGS
    for a NULL, empty or too long path or a count below 1.
 */
MPR_EXPORT int mprBackupLog(const char *path, int count);

/** Who gets messages: the handler of mprSetLogHandler, else mprDefaultLogHandler. */
MPR_EXPORT MprLogHandler mprGetLogHandler(void);
/** @return 1 when no handler is set, else 0. */
MPR_EXPORT int mprUsingDefaultLogHandler(void);
/** Write a message where it goes without a handler: to the log that was opened, else to standard error. For handlers
    that only add to what is done without them. */
MPR_EXPORT void mprDefaultLogHandler(const char *tags, int level, const char *msg);
/** Send a message to the system's log (syslog), whatever the level in force. @param level 0: an error; 1: a warning;
    else information. */
MPR_EXPORT void mprWriteToOsLog(const char *msg, int level);
/** Say that an assertion failed: to the log, and, in debug mode (mprSetDebugMode), end the process by abort. @param loc
    Where: "file:line". @param msg What was expected. */
MPR_EXPORT void mprAssert(const char *loc, const char *msg);
/** An older name for mprError: messages for users. */
#define mprUserError mprError

/** Log who the program is and what it runs on, with the tags "mpr config". */
MPR_EXPORT void mprLogConfig(MPR_NOTHING);

/** Whether logging was asked for on the command line, so that a configuration file should not undo it. */
MPR_EXPORT bool mprGetCmdlineLogging(MPR_NOTHING);
MPR_EXPORT void mprSetCmdlineLogging(bool on);

MPR_EXTERN_C_END
#endif /* MPR_LOG_H */
