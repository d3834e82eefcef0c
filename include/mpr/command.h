/* SPDX-License-Identifier: MIT */
/*
    mpr/command.h - Other programs as child processes: run and waited for, or run concurrently and read when events say
    so.

    One thread at a time uses a command; its callback may run at the same time. Attached threads only. A child inherits
    nothing of the runtime except what is said here. No signal is blocked or ignored in a child. If the application has
    closed standard input or output, its children have /dev/null there.

    The runtime waits for its children by number, so it does not touch those that the application starts by itself. It
    learns of their end by a descriptor of each child, and by SIGCHLD, which it watches from the first start on. A
    program may block or handle SIGCHLD. Where there is no such descriptor (before Linux 5.3, or when descriptors are
    short), the end is then found up to 200 ms late. In a program that ignores SIGCHLD, or waits for all children
    itself, the exit status is MPR_ERR.

    When the runtime ends, children that still run are killed, as by mprDestroyCmd, and waited for. Detached children
    are not killed. They, and those that do not end at once, are waited for by the next runtime of the process that
    starts a child.
 */
#ifndef MPR_COMMAND_H
#define MPR_COMMAND_H

#include "mpr/types.h"
#include "mpr/event.h"

MPR_EXTERN_C_BEGIN

struct MprBuf;

/** A child process, or one to come. A managed block, retained while the process runs; mprFree ends it as mprDestroyCmd
    does. Fields are for reading, except userFlags. */
typedef struct MprCmd {
    int pid;                  /* As mprGetCmdPid */
    int status;               /* When it has ended: as mprGetCmdExitStatus */
    int complete;             /* As mprIsCmdComplete found at the last event of the command */
    int userFlags;            /* The program's own */
    struct MprBuf *stdoutBuf; /* As mprGetCmdBuf */
    struct MprBuf *stderrBuf;
} MprCmd;

/* Channels. */
#define MPR_CMD_STDIN 0
#define MPR_CMD_STDOUT 1
#define MPR_CMD_STDERR 2

/**
    Called on the command's dispatcher, as an event, when a channel has something to read (or has ended, or can be
    written to), and when the process has ended (channel -1): see mprSetCmdCallback.
 */
typedef ptrdiff_t (*MprCmdProc)(MprCmd *cmd, int channel, void *data);

/* Flags of mprStartCmd and mprRunCmd. */
#define MPR_CMD_NEW_SESSION 0x1 /* In a session of its own: signals of the terminal do not reach it */
#define MPR_CMD_DETACH 0x20     /* A new session, too; it survives the command and the runtime */
#define MPR_CMD_IN 0x1000       /* Give it a pipe as standard input; else it has none */
#define MPR_CMD_OUT 0x2000      /* Connect its standard output; else it goes where ours goes */
#define MPR_CMD_ERR 0x4000      /* Connect its standard error; else it goes where ours goes */
#define MPR_CMD_EXACT_ENV 0x10  /* envp is the whole environment; else it is added to ours */

/** Make a command. @param dispatcher Of its callbacks; NULL: the main one. @return NULL when memory is short. */
MPR_EXPORT MprCmd *mprCreateCmd(MprDispatcher *dispatcher);

/**
    End it: kill the process if it runs (with MPR_CMD_NEW_SESSION all of its process group, with MPR_CMD_DETACH none),
    close the channels. The command may be started again. NULL is fine. While another thread is in mprWaitForCmd or
    mprRunCmd with it, the call is refused and named in the log.
 */
MPR_EXPORT void mprDestroyCmd(MprCmd *cmd);

/** Set the folders in which programs are looked for, separated by colons. An empty one is the current folder. NULL: the
    variable PATH. Copied. */
MPR_EXPORT void mprSetCmdSearchPath(MprCmd *cmd, const char *search);

/** Set the current directory of the child. NULL: ours. Copied. A relative path of a program is still relative to
    ours. */
MPR_EXPORT void mprSetCmdDir(MprCmd *cmd, const char *dir);
/**
    Set the environment for calls of mprStartCmd that are given none: that of mprSetCmdEnv; else that of
    mprSetCmdDefaultEnv; else ours. Copied. NULL: unset.
 */
MPR_EXPORT void mprSetCmdEnv(MprCmd *cmd, const char **env);
MPR_EXPORT void mprSetCmdDefaultEnv(MprCmd *cmd, const char **env);

/**
    Set the callback. Call it before mprStartCmd, which then enables the events of both outputs. @param data Marked with
    the command if it is a block.
 */
MPR_EXPORT void mprSetCmdCallback(MprCmd *cmd, MprCmdProc callback, void *data);

/**
    Start a program.
    @param argc,argv Its arguments; argv[0] is the program: a path, or a name that is looked for.
    @param envp "NAME=value" strings with a NULL behind them; NULL: our environment. @param flags MPR_CMD_*.
    @return 0; MPR_ERR_BAD_ARGS; MPR_ERR_BAD_STATE when it runs already, or has a callback and its dispatcher was
    destroyed; MPR_ERR_CANT_ACCESS and MPR_ERR_CANT_FIND for
    the program (named in the log); MPR_ERR_CANT_CREATE; MPR_ERR_MEMORY. Does not yield.
 */
MPR_EXPORT int mprStartCmd(MprCmd *cmd, int argc, const char **argv, const char **envp, int flags);

/** Write to the child's standard input what it takes now. @return Bytes, 0 when it takes none now, negative when it has
    ended. */
MPR_EXPORT ptrdiff_t mprWriteCmd(MprCmd *cmd, int channel, const char *buf, ptrdiff_t bufsize);
/**
    Write all of a text to the child's standard input. Waits, yielded, until the child has taken it, or has ended. Events
    run meanwhile as in mprWaitForCmd, since a child may want its output read first. The text is held meanwhile if it is
    a block. @return bufsize; fewer, or negative, when the child has ended.
 */
MPR_EXPORT ptrdiff_t mprWriteCmdBlock(MprCmd *cmd, int channel, const char *buf, ptrdiff_t bufsize);
/** Read what a channel has. @return Bytes; 0 at the end; MPR_ERR_WOULD_BLOCK when there is nothing yet;
    MPR_ERR_BAD_HANDLE. */
MPR_EXPORT ptrdiff_t mprReadCmd(MprCmd *cmd, int channel, char *buf, ptrdiff_t bufsize);
/** Close the child's standard input: there is no more input. */
MPR_EXPORT void mprFinalizeCmd(MprCmd *cmd);
/** Close a channel: what the child writes there afterwards fails. Threads: as mprDestroyCmd. */
MPR_EXPORT void mprCloseCmdFd(MprCmd *cmd, int channel);
/** Close all channels. The process continues. */
MPR_EXPORT void mprDisconnectCmd(MprCmd *cmd);
/** A buffer for an output that was connected: empty after the start, for the program's callback to fill. mprRunCmd
    fills it itself. @return NULL for other channels. */
MPR_EXPORT struct MprBuf *mprGetCmdBuf(MprCmd *cmd, int channel);
/** Our end of a channel, or -1. */
MPR_EXPORT int mprGetCmdFd(MprCmd *cmd, int channel);

/** Call the callback once, the next time that the channel is ready. Output that mprReadCmd has read to its end is not
    ready any more. */
MPR_EXPORT void mprEnableCmdEvents(MprCmd *cmd, int channel);
MPR_EXPORT void mprDisableCmdEvents(MprCmd *cmd, int channel);
/** Whether events of a channel are enabled, so that the callback will be called. */
MPR_EXPORT bool mprAreCmdEventsEnabled(MprCmd *cmd, int channel);
/** Enable, or disable, the events of both outputs. */
MPR_EXPORT void mprEnableCmdOutputEvents(MprCmd *cmd, bool on);

/**
    Wait, yielded, until the command is complete: its process has ended, and the callback, if there is one, has returned
    from the end of all output for which it still enables events. Meanwhile events of the command's dispatcher run here
    when they are the calling thread's to run, and others when nobody services: see mprWaitForEvent. The command is a
    root meanwhile. It may return before the callback has been called with channel -1, the end of the process: that is
    an event of the command's dispatcher behind those of its output, and comes when that dispatcher runs next.
    mprGetCmdExitStatus is known by then.
    @param timeout Milliseconds; negative: for ever.
    @return 0; MPR_ERR_TIMEOUT, also when the process has ended and others hold its output open; MPR_ERR_ABORTED when
    the runtime is stopping; MPR_ERR_BAD_STATE when none was started. When the command's dispatcher is destroyed
    meanwhile, the callback is called for no output any more, and only the process is waited for.
 */
MPR_EXPORT int mprWaitForCmd(MprCmd *cmd, MprTicks timeout);
/** Send the process a signal. @param signal 0: SIGTERM. @return 0; MPR_ERR_BAD_STATE when it does not run. */
MPR_EXPORT int mprStopCmd(MprCmd *cmd, int signal);
MPR_EXPORT bool mprIsCmdRunning(MprCmd *cmd);
/** Whether mprWaitForCmd would find the command complete. @return 1 or 0. */
MPR_EXPORT int mprIsCmdComplete(MprCmd *cmd);
/** The process's number, or 0. */
MPR_EXPORT int mprGetCmdPid(MprCmd *cmd);
/** Its exit status; 128 + the signal that ended it; MPR_ERR_NOT_READY while it runs. */
MPR_EXPORT int mprGetCmdExitStatus(MprCmd *cmd);

/**
    Run a command, yielded, until it has ended and closed its outputs. It has a process group of its own, which a
    terminal takes for one in the background.
    @param command Program and arguments in one text: see mprMakeArgv.
    @param in Text for its standard input, or NULL for none. Must be unmanaged, held, or rooted, as the others.
    @param out,err Receive what it writes, each a block that ends with a NUL; NULL: its output goes where ours goes.
    They are safe until the calling thread yields, and as long as the command is not started again.
    @param timeout Milliseconds; negative: for ever. When it is over, the process is killed with all that it has started
    (its process group), and waited for.
    @return Its exit status, 0 or more; MPR_ERR_TIMEOUT; others as mprStartCmd.
 */
MPR_EXPORT int mprRunCmd(MprCmd *cmd, const char *command, const char **envp, const char *in, char **out, char **err,
                         MprTicks timeout, int flags);
/** Run a command, as mprRunCmd does, from words in an array: argv[0] is the program. */
MPR_EXPORT int mprRunCmdV(MprCmd *cmd, int argc, const char **argv, const char **envp, const char *in, char **out,
                          char **err, MprTicks timeout, int flags);
/** Run a command as mprRunCmd does, without making an MprCmd first. */
MPR_EXPORT int mprRun(MprDispatcher *dispatcher, const char *command, const char *input, char **output, char **error,
                      MprTicks timeout);

MPR_EXTERN_C_END
#endif /* MPR_COMMAND_H */
