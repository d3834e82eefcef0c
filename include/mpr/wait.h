/* SPDX-License-Identifier: MIT */
/*
    mpr/wait.h - Waiting for I/O on descriptors: as events of a dispatcher, or by the calling thread.
 */
#ifndef MPR_WAIT_H
#define MPR_WAIT_H

#include "mpr/types.h"
#include "mpr/event.h"

MPR_EXTERN_C_BEGIN

/* Masks: what to wait for, and what came. A peer that closes, and an error, count as whatever was waited for. */
#define MPR_READABLE 0x2
#define MPR_WRITABLE 0x4

/** Waits for I/O on one descriptor. A managed block, retained while it waits. Programs read these members and change
    none. */
typedef struct MprWaitHandler {
    MprDispatcher *dispatcher; /* Whose event calls the procedure */
    int fd;
} MprWaitHandler;

/* Flags of mprCreateWaitHandler. */
#define MPR_WAIT_NEW_DISPATCHER 0x1 /* A dispatcher of its own, whatever is given: a worker calls the procedure */

/**
    Call a procedure when a descriptor is ready. One shot: once the event has been queued, the handler waits again only
    after mprWaitOn.
    @param fd A socket, pipe, terminal or the like, set to non-blocking mode by this call. Not a regular file. It should
    stay open until the handler is destroyed. If it turns out to be closed when the handler begins to wait, the log says
    so, and the procedure is called as for an error. One handler per descriptor.
    @param mask MPR_READABLE, MPR_WRITABLE, both; 0: wait for nothing yet.
    @param dispatcher NULL: the main one. @param proc An MprEventProc; its event has `mask` and `handler`.
    @param data Marked while the handler exists if it is a block; unmanaged memory is fine. @param flags MPR_WAIT_*.
    @return NULL when memory is short, the dispatcher was destroyed, or the descriptor cannot be waited for (the log
    says why). Attached threads. Does not yield. Somebody must service events.
 */
MPR_EXPORT MprWaitHandler *mprCreateWaitHandler(int fd, int mask, MprDispatcher *dispatcher, void *proc, void *data,
                                                int flags);

/**
    Set what a handler waits for from now on. @param desiredMask 0: nothing. NULL is fine.
    Attached threads. Does not yield.
 */
MPR_EXPORT void mprWaitOn(MprWaitHandler *wp, int desiredMask);

/** Set what a handler waits for, as mprWaitOn does. @return 0; MPR_ERR_BAD_STATE when the handler was destroyed;
    MPR_ERR_BAD_ARGS for NULL. */
MPR_EXPORT int mprNotifyOn(MprWaitHandler *wp, int mask);

/**
    Call a handler's procedure soon with MPR_READABLE, whatever the state of the descriptor: for programs that hold back
    data that they have read from it. As after any call of the procedure, the handler waits again only after mprWaitOn.
    NULL is fine, and so is a destroyed handler. Attached threads. Does not yield.
 */
MPR_EXPORT void mprRecallWaitHandler(MprWaitHandler *wp);
/** Recall the handler that waits for a descriptor, if there is one. */
MPR_EXPORT void mprRecallWaitHandlerByFd(int fd);

/**
    End a handler; call it before the descriptor is closed. Its procedure is not called any more, unless it runs on
    another thread at this moment. NULL is fine, and so is a second call. Attached threads. Does
    not yield.
 */
MPR_EXPORT void mprDestroyWaitHandler(MprWaitHandler *wp);
/** Another name for mprDestroyWaitHandler. */
MPR_EXPORT void mprRemoveWaitHandler(MprWaitHandler *wp);

/**
    Wait on the calling thread, yielded. Needs no handler and nobody that services events. Any thread.
    @param timeout Milliseconds; negative: for ever. @return What came; 0 when the time is up, or what came
    is not in the mask (an error or the end, for a mask of 0); MPR_ERR_BAD_HANDLE.
 */
MPR_EXPORT int mprWaitForSingleIO(int fd, int mask, MprTicks timeout);

/** Opaque: there is no such object. */
typedef struct MprWaitService MprWaitService;
/** Service events until something has run: mprServiceEvents with MPR_SERVICE_ONE_THING. @param ws Ignored. */
MPR_EXPORT void mprWaitForIO(MprWaitService *ws, MprTicks timeout);

MPR_EXTERN_C_END
/* Procedures of any parameters may be given without a cast: see mpr/event.h. */
#ifdef __cplusplus
template <typename... A>
inline MprWaitHandler *mprCreateWaitHandler(int fd, int mask, MprDispatcher *dispatcher, void (*proc)(A...), void *data,
                                            int flags) {
    return mprCreateWaitHandler(fd, mask, dispatcher, MPR_PROC(proc), data, flags);
}
#else
#define mprCreateWaitHandler(fd, mask, dispatcher, proc, data, flags) \
    mprCreateWaitHandler(fd, mask, dispatcher, MPR_PROC(proc), data, flags)
#endif

#endif /* MPR_WAIT_H */
