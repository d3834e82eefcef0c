/* SPDX-License-Identifier: MIT */
/*
    mpr/signal.h - Signals of the system as events: their handlers run on a dispatcher and may do anything.
 */
#ifndef MPR_SIGNAL_H
#define MPR_SIGNAL_H

#include "mpr/types.h"
#include "mpr/event.h"

MPR_EXTERN_C_BEGIN

/* Flags of mprAddSignalHandler. */
#define MPR_SIGNAL_AFTER 0x1  /* Run after the handlers that exist; the default */
#define MPR_SIGNAL_BEFORE 0x2 /* Run before them */

struct MprSignal;

/** What a signal calls. @param arg As given to mprAddSignalHandler. */
typedef void (*MprSignalProc)(void *arg, struct MprSignal *sp);

/** A handler: a managed block, retained until it is removed. Programs read these members and change none. */
typedef struct MprSignal {
    int signo;
    int flags;
    MprSignalProc handler;
    void *data;
    MprDispatcher *dispatcher;
} MprSignal;

/**
    Call a procedure for a signal. Several signals that arrive before it has run count as one.
    @param signo As SIGINT. @param handler An MprSignalProc. @param arg Marked if it is a block.
    @param dispatcher NULL: the main one. @param flags MPR_SIGNAL_*.
    @return NULL when memory is short, or the signal cannot be caught, or the dispatcher was destroyed (named in the
    log). Attached threads. Does not yield. Somebody must service events.
 */
MPR_EXPORT MprSignal *mprAddSignalHandler(int signo, void *handler, void *arg, MprDispatcher *dispatcher, int flags);

/** Remove a handler. When a signal has none left, the system's default is restored. NULL is fine, and so is a second
    call. Attached threads. */
MPR_EXPORT void mprRemoveSignalHandler(MprSignal *sp);

/** SIGINT, SIGTERM and SIGQUIT call mprShutdown(MPR_EXIT_NORMAL, -1, -1); SIGPIPE and SIGXFSZ are ignored. */
MPR_EXPORT void mprAddStandardSignals(MPR_NOTHING);

MPR_EXTERN_C_END
/* Procedures of any parameters may be given without a cast: see mpr/event.h. */
#ifdef __cplusplus
template <typename... A>
inline MprSignal *mprAddSignalHandler(int signo, void (*handler)(A...), void *arg, MprDispatcher *dispatcher,
                                      int flags) {
    return mprAddSignalHandler(signo, MPR_PROC(handler), arg, dispatcher, flags);
}
#else
#define mprAddSignalHandler(signo, handler, arg, dispatcher, flags) \
    mprAddSignalHandler(signo, MPR_PROC(handler), arg, dispatcher, flags)
#endif

#endif /* MPR_SIGNAL_H */
