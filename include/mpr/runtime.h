/* SPDX-License-Identifier: MIT */
/*
    mpr/runtime.h - The runtime's life: create, configure, log, end.

    One runtime exists per process at a time. The Mpr object is the ultimate root of all managed memory.

    Misuse is named, not obeyed. A call by a thread in the wrong state does nothing, returns what it returns for a
    failure, and is named in the log with the function, the thread and its state; statistics count all (misuses),
    the log names at most 32 at once and 8 a second, and says how many it left out. The states:
      not attached          see mprAttachThread
      yielded, exempt       by mprYield(MPR_YIELD_STICKY), mprSetThreadYield. Functions that such a thread may call say
                            so: yields, locks, waits, holds, root references, permanent memory
      MPR_MANAGE_MARK       a manager called so may call mprMark and the like, and ask mprIsValid and mprGetBlockSize
      notifier, pruner      neither may yield nor wait for the collector
      no runtime            before mprCreate, after mprDestroy
      a child of fork       may call exec and _exit. It has one thread, no collector, and locks that nobody gives back.
                            (A program that becomes a daemon by fork does so before mprCreate.)
    A plain store cannot be refused: mprSetRef names a thread only if the store has to be remembered.

    Without an operating system, where there is one thread, the same is named, and besides calls in an interrupt
    (mpr/board.h), in shorter words. A thread that has yielded is not refused there, since nothing collects meanwhile; one
    that has detached itself is, until it attaches again. Writes to free memory are not looked for, and of a wrong pointer
    the log does not tell what it is instead.
 */
#ifndef MPR_RUNTIME_H
#define MPR_RUNTIME_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

struct MprCmdService;
struct MprHash;
struct MprHeap;

/**
    The runtime: a managed block, the first root, see also MPR in mpr/app.h. Fields are for reading, except those of
    services, which programs and libraries set by plain stores. What they refer to is marked. Without an operating
    system only argc and argv are set, and nothing is marked.
 */
typedef struct Mpr {
    int argc; /* As given to mprCreate */
    char **argv;
    char *emptyString; /* "" and "1": blocks that live as long as the runtime. Not to be written to */
    char *oneString;
    char *logPath;             /* Where mprStartLogging opened the log since mprCreate, or NULL */
    struct MprHash *mimeTypes; /* The program's, or NULL */
    void *httpService;         /* Of libraries: each its own, NULL until it is set */
    void *ediService;
    void *ejsService;
    void *espService;
    struct MprCmdService *cmdService; /* Opaque; NULL until there is a command */
    struct MprHeap *heap;             /* Opaque: for what is in it see mpr/stats.h */
} Mpr;

/* Flags of mprCreate. */
#define MPR_DISABLE_GC 0x1         /* Start with collection off; see mprEnableGC */
#define MPR_USER_EVENTS_THREAD 0x2 /* mprStart makes no thread for events: the application calls mprServiceEvents */

/**
    Make the runtime and attach the calling thread to it.
    @param argc,argv The program's arguments; kept (not copied) for a restart by policy. May be 0, NULL.
    @param flags MPR_DISABLE_GC, MPR_USER_EVENTS_THREAD, or 0.
    @return The runtime, or NULL when one exists already, an option is bad (it is named in the log), or memory or the
    collector's thread could not be had.
    @remarks Options come from mprConfigure and then from the environment variable MPR_OPTIONS, same syntax.
 */
MPR_EXPORT Mpr *mprCreate(int argc, char **argv, int flags);

/**
    Make the runtime over a caller's buffer, which stays the heap's only source of memory. On a board there is no other; elsewhere
    what the program makes beside the heap, handles and pinned memory, has pages of the system's, as has a collection.
    @param buffer,size The memory. At least 16 KiB; the alignment is mended inside. It belongs to the runtime until
    mprDestroy returns. At most 256 MiB of it is used (128 MiB on 32-bit).
    @param flags As for mprCreate.
    @return The runtime, or NULL when the buffer is too small or one exists already.
 */
MPR_EXPORT Mpr *mprCreateInBuffer(void *buffer, size_t size, int flags);

/**
    End the runtime: stop its services and wait for work in progress, threads of mprCreateThread among it, as long
    as mprSetExitTimeout says; run every remaining block's manager with MPR_MANAGE_FREE, stop the collector, give
    all memory back. Those managers find services closed: they may end what there is, but no thread starts, and
    mprCreateEvent and the like return NULL; the log says so. Threads see by mprIsStopping that they are waited for.
    @return false when other threads are still attached (they are named in the log and nothing is done), when work in
    progress does not end in time (the same, but the services have stopped), or there is no runtime.
    @remarks Call from the thread that created the runtime, not in an event, a terminator or a manager, where this and
    mprDetachThread are refused and named. A thread that attaches meanwhile is waited for, or is refused. So are, by a
    thread that is not attached, calls of palloc, pfree, prealloc, mprSetMemLimits, mprEnableGC and
    mprCreateEventOutside; no other call of such a thread may be under way. Every pointer to managed memory is dead
    afterwards.
 */
MPR_EXPORT bool mprDestroy(MPR_NOTHING);

/**
    Set options of the next runtime.
    @param spec Comma-separated `name=value`; sizes take k, m, g. NULL or "" resets to the defaults. Without an operating
    system there are young, growth, marks and everyyield; the others would do nothing, and are refused.
      region=SIZE     memory taken from the system at a time, a power of two (4m; 256k on 32-bit). A 64th of it, but a page
                      at least, is backed at a time: 256k suits a hard limit of a few megabytes
      reserve=SIZE    heap kept committed from the start and never given back (0)
      young=SIZE      least allocation between two collections (from the cache size)
      growth=PERCENT  allocation between two collections, as a share of the live size (100)
      extra=PERCENT   what garbage of all ages may take beside what lives, as a share of the live size, but a little more
                      than the young budget at least: how large budgets may become for option cpu, and how early old
                      garbage is looked for (50)
      stack=SIZE      stack of the collector's thread (256k), besides the program's thread-local data
      marks=SIZE      mark stacks; overflow costs time, never correctness (64k, and more as the heap grows: up to 32m on
                      64 bit, 2m on 32, a 64th of the hard limit if there is one; what was used of it is given back)
      markers=N       threads that mark, 1 to 4 (as many as processors); while the program runs they use only
                      processors that are free
      pausebudget=US  microseconds that a pause should last at most: major collections mark blocks without a barrier in
                      slices of three quarters of it, and the young budget shrinks when survivors take too long (400);
                      it cannot bound what one pause must do, see the guide, "Speed"
      cpu=PERCENT     of the processor's time that tracing old blocks without a barrier again may take in minor
                      collections, 1 to 90; the young budget grows for it, as far as `extra` and limits allow (10, or MPR_GC_CPU_PERCENT in the environment)
      check=0|1       trace everything again after each marking and name what was missed, such as a store into a block
                      of MPR_ALLOC_BARRIER that bypassed the barrier; slow (0)
      check=fields    as check=1, and name fields of living blocks that hold the address of a block about to be freed: a
                      manager forgets them, a trace function is missing or misspelt, one is a plain T*, or the block has
                      no manager (objects of make without trace and destructor have none). A suspicion: the unused part
                      of a union may hold an old address. Free memory is filled as by poison=1, so memory never written
                      holds none. Memory outside the heap, a vector's say, and permanent memory are not read
      check=globals   as check=1, and name global and static variables, of the program and its libraries, that hold the
                      address of a block about to be freed. A suspicion: a program may keep an address that it does not
                      follow any more. Thread-local variables and stacks are not read
      check=stacks    as check=1, and name local variables, on the stacks of threads that have yielded, that hold the
                      address of a block about to be freed, with the function in or near whose frame they stand. A weak
                      suspicion: compilers leave old values there, and most variables are not used any more
      check=where     as poison=1, and each message about a block says which functions allocated it, misuse of a freed
                      one included; of those that stood at an address the last. Takes 27 MB (2 on 32-bit) and a
                      microsecond an allocation. Not on 32-bit ARM, nor with musl: it says so
      check=abort     end the process (abort) when a mistake of the program has been named: misuse, and what other checks
                      and poison find. Several checks stand together with +, as in check=fields+globals+abort.
                      If no collection runs, so that nothing is checked, mprDestroy says so
      mask=BITS       which bits of a word check=fields and check=globals try as an address besides all of them, such as
                      0xffffffffffff for words with a tag in the highest bits (all)
      poison=0|1      fill what is freed or found dead with 0xDB, let small freed blocks rest, and name writes to free
                      memory when it is used again, and mprFree of what the runtime uses, such as queued events, which
                      does nothing; a build with the address sanitizer reports every use at once; slow (0, or 1 in
                      builds with MPR_CHECKED)
      batches=0|1     every thread has batches from the start, as if it had called mprSetBatches(true), for programs all
                      of whose threads keep that promise; a thread for which there is no memory goes without (0)
      hugepages=0|1   let the system back the heap with huge pages, where its setting is not "never": less time for
                      page faults and misses of the TLB in a heap of many megabytes. But a huge page is backed when its
                      first byte is written, and again behind what was given back: resident memory goes beyond what
                      the runtime counts and limits. With 0 no page is huge, whatever the setting (0)
      everyyield=0|1  collect at each yield point, before a sticky one, too, and have each procedure that the runtime
                      calls yield when it returns, if it may; slow (0, or 1 with MPR_GC_EVERY_YIELD=1 in the
                      environment)
      everyalloc=N    ask for a collection at every Nth allocation, so that each thread collects at its next yield; slow
                      (0, or MPR_GC_EVERY_ALLOC in the environment, unless everyyield is said)
      deadline=MS     a thread that keeps a collection waiting so long is named in the log, and so is a manager that
                      does not return from MPR_MANAGE_MARK (500)
    @return 0, or MPR_ERR_BAD_ARGS: the log names the item, and nothing is changed.
 */
MPR_EXPORT int mprConfigure(const char *spec);

/** Called with each message. @param tags subject and kind, such as "mpr error". @param level 0 (error) to 5. */
typedef void (*MprLogHandler)(const char *tags, int level, const char *msg);

/**
    Set who receives the runtime's messages; the default writes them to standard error.
    @param handler May be called from any thread and while memory is short: it must not allocate managed memory, and
    must not yield. The caller holds no lock of the runtime, so whatever only looks may be called, mprReadMemStats
    say, and mprGC with MPR_GC_NO_BLOCK. But it may be about to collect, or other threads may be stopped: a call
    that would wait for a collection (mprYield, mprGC, mprVerifyHeap, mprDetachThread, mprDestroy) is refused.
    Messages that come of what the handler does go to standard error, so it is not called for them in turn. NULL
    restores the default.
    @return The previous handler.
 */
MPR_EXPORT MprLogHandler mprSetLogHandler(MprLogHandler handler);

/** Runs when the process ends by memory policy EXIT or mprShutdown(MPR_EXIT_ABORT), and in mprDestroy. Parameters: state
    (1), MPR_EXIT_* (3 by the policy), status. */
typedef void (*MprTerminator)(int state, int how, int status);

/** Add a terminator. They run in the order added, each once, even if mprDestroy is refused and called again. At most 16
    (without an operating system: 4); more are refused with a message. */
MPR_EXPORT void mprAddTerminator(MprTerminator terminator);

/** Does nothing with ptr; hides it from the optimiser. */
MPR_EXPORT void mprNop(void *ptr);

MPR_EXTERN_C_END
#endif /* MPR_RUNTIME_H */
