/* SPDX-License-Identifier: MIT */
/*
    mpr/app.h - The program itself: its name, its arguments, and randomness.
 */
#ifndef MPR_APP_H
#define MPR_APP_H

#include "mpr/runtime.h"
#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/**
    Say who the program is. Parameters are copied; NULL leaves what was.
    @param name One word, for file names and messages. Until set: the base name of the program file.
    @param title For people. Until set: the name. @param version Until set: "".
    @return 0, or MPR_ERR_MEMORY. Attached threads. Does not yield.
 */
MPR_EXPORT int mprSetAppName(const char *name, const char *title, const char *version);

/** Managed strings, good until the thread yields after they were set anew; else while the runtime exists. "" when there is no
    runtime. Attached threads. Do not yield. */
MPR_EXPORT const char *mprGetAppName(MPR_NOTHING);
MPR_EXPORT const char *mprGetAppTitle(MPR_NOTHING);
MPR_EXPORT const char *mprGetAppVersion(void);

/** Absolute path of the program file, and the folder that it is in. "" when the system does not tell. */
MPR_EXPORT const char *mprGetAppPath(MPR_NOTHING);
MPR_EXPORT const char *mprGetAppDir(MPR_NOTHING);
/** Say where the program file is; mprGetAppDir follows. Copied; NULL changes nothing. Attached threads. */
MPR_EXPORT void mprSetAppPath(const char *path);

/**
    Names of the machine and of what the program serves, for its own messages and headers: the runtime uses none of them.
    The host's name is the system's until set, the domain what follows its first point; the server's name is the host's; the
    address "127.0.0.1". Managed strings, as those above; what is set is copied, and NULL is the first value again.
 */
MPR_EXPORT const char *mprGetHostName(MPR_NOTHING);
MPR_EXPORT void mprSetHostName(const char *s);
MPR_EXPORT const char *mprGetServerName(MPR_NOTHING);
MPR_EXPORT void mprSetServerName(const char *s);
MPR_EXPORT const char *mprGetDomainName(MPR_NOTHING);
MPR_EXPORT void mprSetDomainName(const char *s);
MPR_EXPORT const char *mprGetIpAddr(MPR_NOTHING);
MPR_EXPORT void mprSetIpAddr(const char *ip);

/** Set a variable of the environment; a value of NULL removes it. As with setenv, no other thread may use the environment
    meanwhile. */
MPR_EXPORT void mprSetEnv(const char *key, const char *value);

/** @return The runtime, as mprCreate did; NULL when there is none. Any thread. */
MPR_EXPORT Mpr *mprGetMpr(MPR_NOTHING);
/** The runtime, as older programs write it: MPR->argc. */
#define MPR (mprGetMpr())

/** Set the system's error number of the calling thread, which mprGetOsError and mprGetError tell. Any thread. */
MPR_EXPORT void mprSetOsError(int error);
MPR_EXPORT void mprSetError(int error);

/* Orders of bytes. */
#define MPR_LITTLE_ENDIAN 1
#define MPR_BIG_ENDIAN 2
/** @return The processor's. */
MPR_EXPORT int mprGetEndian(MPR_NOTHING);

/** An empty string that may be marked and held as any block, and lives as long as the runtime. Not to be written to. */
MPR_EXPORT char *mprEmptyString(MPR_NOTHING);

/**
    Say that somebody debugs the program: a flag for its own code, which may leave out its time limits then. The runtime's
    are as they are. Off until set; of the process, whichever runtime exists. Any thread.
 */
MPR_EXPORT void mprSetDebugMode(bool on);
MPR_EXPORT bool mprGetDebugMode(MPR_NOTHING);

/* Flags of mprMakeArgv. */
#define MPR_ARGV_ARGS_ONLY 0x1 /* The command starts with the first argument: argv[0] will be "" */

/**
    Split a command into words.
    @param command Words are separated by white space. Quotes, single or double, take white space and the other kind of quote
    into a word, and are removed; one that is not closed ends with the command. A backslash before a quote, inside quotes or
    not, makes it a character like any other, and two before a quote are one backslash. Any other backslash stays as it is.
    That is not what a shell does: a text of mprEscapeCmd is for a shell.
    @param argv Set to the words with a NULL behind them: one managed block that holds words and pointers.
    @return The number of words; MPR_ERR_MEMORY; MPR_ERR_BAD_ARGS when command or argv is NULL. *argv is NULL then. Attached
    threads. Does not yield.
 */
MPR_EXPORT int mprMakeArgv(const char *command, const char ***argv, int flags);

/**
    The same in place: the words stay in command, which is written to, and argv points to them.
    @param argv At least maxArgs pointers; no NULL is put behind the words. NULL: only count, command is not written to.
    @return The number of words, at most maxArgs if argv is given; further words are left out. MPR_ERR_BAD_ARGS as above. Any
    thread.
 */
MPR_EXPORT int mprParseArgs(char *command, char **argv, int maxArgs);

/**
    Bytes that nobody can guess, from the system.
    @param block Whether to wait, early after the machine's start, until the system has gathered enough; it then yields stickily
    (buf is held meanwhile if it is a block). Otherwise takes what there is.
    @return 0; MPR_ERR_BAD_ARGS; MPR_ERR_CANT_READ when the system has no source. Attached threads if block, else any.
 */
MPR_EXPORT int mprGetRandomBytes(char *buf, ptrdiff_t size, bool block);

/** A managed string of size random letters and digits (5.95 bits each). @return NULL for a negative size, when there is no
    memory or no source. Attached threads. Does not yield. */
MPR_EXPORT char *mprGetRandomString(ptrdiff_t size);

/** A random number from 0 to INT_MAX; as hard to guess as those bytes. Any thread. */
MPR_EXPORT int mprRandom(MPR_NOTHING);

/**
    Ask for a password at the terminal of the process, without showing what is typed; without one, at standard input. Waits,
    yielded; prompt is used before that. @param prompt NULL: "Password: ". @return What was typed up to the end of the line; NULL at
    the end of input, after Ctrl-C, or when memory is short. Attached threads.
 */
MPR_EXPORT char *mprGetPassword(const char *prompt);

MPR_EXTERN_C_END
#endif /* MPR_APP_H */
