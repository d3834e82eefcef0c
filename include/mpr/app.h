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

/** What mprSetAppName has set: managed strings. Each is valid while the runtime exists or, once another is set in its
    place, until the calling thread yields. "" when there is no runtime. Attached threads. Do not yield. */
MPR_EXPORT const char *mprGetAppName(MPR_NOTHING);
MPR_EXPORT const char *mprGetAppTitle(MPR_NOTHING);
MPR_EXPORT const char *mprGetAppVersion(void);

/** Absolute path of the program file, and the folder that contains it. "" when the system does not tell. */
MPR_EXPORT const char *mprGetAppPath(MPR_NOTHING);
MPR_EXPORT const char *mprGetAppDir(MPR_NOTHING);
/** Say where the program file is; mprGetAppDir changes with it. Copied; NULL changes nothing. Attached threads. */
MPR_EXPORT void mprSetAppPath(const char *path);

/**
    Names of the machine and of what the program serves, for its own messages and headers: the runtime uses none of
    them. Until set, the host's name is the system's, the domain is what follows its first point, the server's name is
    the host's, and the address is "127.0.0.1". The getters return managed strings that are valid as long as that of
    mprGetAppName. The setters copy; NULL restores the initial value.
 */
MPR_EXPORT const char *mprGetHostName(MPR_NOTHING);
MPR_EXPORT void mprSetHostName(const char *s);
MPR_EXPORT const char *mprGetServerName(MPR_NOTHING);
MPR_EXPORT void mprSetServerName(const char *s);
MPR_EXPORT const char *mprGetDomainName(MPR_NOTHING);
MPR_EXPORT void mprSetDomainName(const char *s);
MPR_EXPORT const char *mprGetIpAddr(MPR_NOTHING);
MPR_EXPORT void mprSetIpAddr(const char *ip);

/** Set a variable of the environment; a value of NULL removes it. As with setenv, no other thread may use the
    environment meanwhile. */
MPR_EXPORT void mprSetEnv(const char *key, const char *value);

/** @return The runtime, as mprCreate did; NULL when there is none. Any thread. */
MPR_EXPORT Mpr *mprGetMpr(MPR_NOTHING);
/** The runtime, as older programs write it: MPR->argc. */
#define MPR (mprGetMpr())

/** Set the system's error number of the calling thread, for mprGetOsError and mprGetError. Any thread. */
MPR_EXPORT void mprSetOsError(int error);
MPR_EXPORT void mprSetError(int error);

/* Byte orders. */
#define MPR_LITTLE_ENDIAN 1
#define MPR_BIG_ENDIAN 2
/** @return The processor's byte order. */
MPR_EXPORT int mprGetEndian(MPR_NOTHING);

/** An empty string that may be marked and held like any block, and lives as long as the runtime. Do not write to it. */
MPR_EXPORT char *mprEmptyString(MPR_NOTHING);

/**
    Say that somebody debugs the program. The flag is for the program's own code, which may then ignore its time limits;
    those of the runtime stay in force. It is off until set, and belongs to the process, not to a runtime. Any thread.
 */
MPR_EXPORT void mprSetDebugMode(bool on);
MPR_EXPORT bool mprGetDebugMode(MPR_NOTHING);

/* Flags of mprMakeArgv. */
#define MPR_ARGV_ARGS_ONLY 0x1 /* The command starts with the first argument: argv[0] will be "" */

/**
    Split a command into words.
    @param command Words are separated by white space. Quotes, single or double, take white space and the other kind of
    quote into a word, and are removed; one that is not closed ends with the command. A backslash before a quote, inside
    quotes or not, makes it a character like any other, and two before a quote are one backslash. Any other backslash
    stays as it is. That is not what a shell does: a text of mprEscapeCmd is for a shell.
    @param argv Set to the words with a NULL behind them: one managed block that holds words and pointers.
    @return The number of words; MPR_ERR_MEMORY; MPR_ERR_BAD_ARGS when command or argv is NULL. *argv is NULL then.
    Attached threads. Does not yield.
 */
MPR_EXPORT int mprMakeArgv(const char *command, const char ***argv, int flags);

/**
    Split a command into words as mprMakeArgv does, but in place: the words stay in command, which is written to, and
    argv points to them.
    @param argv At least maxArgs pointers; no NULL is put behind the words. NULL: only count, command is not written to.
    @return The number of words, at most maxArgs if argv is given; further words are left out. MPR_ERR_BAD_ARGS
    when command is NULL. Any thread.
 */
MPR_EXPORT int mprParseArgs(char *command, char **argv, int maxArgs);

/**
    Fill buf with bytes from the system that nobody can guess.
    @param block Whether to wait, early after the machine's start, until the system has gathered enough; it then yields
    stickily (buf is held meanwhile if it is a block). Otherwise takes what there is.
    @return 0; MPR_ERR_BAD_ARGS; MPR_ERR_CANT_READ when the system has no source. Attached threads if block, else any.
 */
MPR_EXPORT int mprGetRandomBytes(char *buf, ptrdiff_t size, bool block);

/** A managed string of size random letters and digits (5.95 bits each). @return NULL for a negative size, when there is
    no memory or no source. Attached threads. Does not yield. */
MPR_EXPORT char *mprGetRandomString(ptrdiff_t size);

/** A random number from 0 to INT_MAX, as hard to guess as the bytes of mprGetRandomBytes. Any thread. */
MPR_EXPORT int mprRandom(MPR_NOTHING);

/**
    Ask for a password at the terminal of the process, without showing what is typed, or, if there is no terminal, at
    standard input. The call waits, yielded; it uses prompt only before that.
    @param prompt NULL: "Password: ".
    @return What was typed up to the end of the line; NULL at the end of input, after Ctrl-C, or when memory is short.
    Attached threads.
 */
MPR_EXPORT char *mprGetPassword(const char *prompt);

MPR_EXTERN_C_END
#endif /* MPR_APP_H */
