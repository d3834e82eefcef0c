/* SPDX-License-Identifier: MIT */
/*
    mpr/host.h - What a program that hosts the runtime asks of it, and tells it: pages that the program grants, collections by
    request, memory that blocks keep outside the heap, private heaps.

    A private heap is the runtime's allocator for memory that no collector sees: blocks live until they are freed, or
    until their heap is destroyed, which frees all of them at once. Each heap has regions, limits and figures of its own.
    It lies in pages of the system, or in memory of the program's.

    Private heaps need no runtime, no attached thread, and never yield. They work in managers, notifiers and handlers.
    The log's handler may only use heaps that belong to one thread. Blocks are aligned to two pointers. References
    in them keep nothing alive: see mpr::Held and mprHold for what a managed block needs.

    Needs an operating system, except private heaps in memory of the program's (mprCreateHeapIn, and what is done with them),
    mprGCCollect and mprReadGCStats.
 */
#ifndef MPR_HOST_H
#define MPR_HOST_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/* How critical a request for pages is, by what fails if it is refused. */
#define MPR_CRITICAL_TASK 0    /* One request or thread of the program: an allocation, which then returns NULL */
#define MPR_CRITICAL_DOMAIN 1  /* A part of the program: making a private heap, TLS, what the notifier allocates */
#define MPR_CRITICAL_PROCESS 2 /* The process: mprCreate, and libuv's own memory */

/* ---- Pages from the host */

/*
    A host is asked for all memory that mpr takes from the system, from the first page on: regions of the heap, of pinned
    memory and of private heaps, large blocks, tables of regions and handles, the collector's own tables, mprVirtAlloc, and the
    stacks of all threads that mpr starts. libuv and OpenSSL allocate from heaps in its pages, and zlib and expat from the
    managed heap. Mark stacks, the remembered set and roots are blocks of the managed heap, too: with a host there is no larger
    area for mark stacks (option marks).

    The host is not asked for what the C library takes by itself: what it allocates in getaddrinfo, realpath, fopen, dlopen,
    pthread_create, crypt and reading of time zones; static data and the main thread's stack; and what other libraries took
    before mprSetHost.

    A refusal means what a refusal by the system means: the collector collects, the notifier is told, with
    MPR_MEM_HOST, and the allocation returns NULL; a thread is not started; mprCreate returns NULL. libuv may end the process
    when it has no memory, so 256 KiB are its own as soon as there are events, and what it asks for beyond is
    MPR_CRITICAL_PROCESS.
*/

/* What is asked of a host. */
#define MPR_PAGES_NONE 0
#define MPR_PAGES_RESERVE 1
#define MPR_PAGES_COMMIT 2
#define MPR_PAGES_DECOMMIT 3
#define MPR_PAGES_RELEASE 4
#define MPR_PAGES_PROTECT 5
#define MPR_PAGES_QUERY 6
#define MPR_PAGES_REQUESTS 7

/* How much memory there is for the program. */
#define MPR_MEMORY_LOW 1     /* Next to none */
#define MPR_MEMORY_NEUTRAL 2 /* Some, or nobody knows */
#define MPR_MEMORY_HIGH 3    /* A lot */

/* Who says it. */
#define MPR_LOAD_NONE 0    /* Nobody */
#define MPR_LOAD_HOST 1    /* The host */
#define MPR_LOAD_CGROUP2 2 /* The control group of the process, or one above it; version 2 */
#define MPR_LOAD_CGROUP1 3 /* Version 1 */
#define MPR_LOAD_MACHINE 4 /* /proc/meminfo */

/** The memory load. Bytes unless said otherwise; MPR_LOAD_UNKNOWN: not known, or without limit. */
#define MPR_LOAD_UNKNOWN (~0ull)
typedef struct MprMemoryLoad {
    int state;    /* MPR_MEMORY_*, as it was found or told last */
    int source;   /* MPR_LOAD_* */
    int percent;  /* In use, of limit; 0 when nothing is known */
    int pressure; /* Hundredths of a percent of the last 10 s in which a task waited for memory; -1: unknown */
    unsigned long long limit;     /* What there is in all */
    unsigned long long available; /* What the program can still have before it is refused, or ended */
    unsigned long long ample;     /* What it can still have before it is held back (memory.high) */
} MprMemoryLoad;

/** What a host says of pages side by side that are alike. */
typedef struct MprPages {
    void *base;    /* Where they begin */
    size_t size;   /* Bytes, to where pages are otherwise */
    int reserved;  /* 1: they are part of a reservation */
    int committed; /* 1: they are committed, too */
    int mode;      /* MPR_MAP_*, if they are */
} MprPages;

/**
    A host. All functions must be there. Sizes and addresses are whole pages (mprGetPageSize), level is MPR_CRITICAL_*.
    Any thread calls them, several at a time, with locks of mpr's held and while threads are stopped: they are to be short, must
    not throw, and must call nothing of mpr's.
 */
typedef struct MprHost {
    size_t size; /* sizeof(MprHost) */
    void *data;  /* The first argument of each function */
    /**
        Addresses, without memory: readable, as zeros, until they are committed. @param alignment A power of two, a page or
        more. @return NULL: refused.
     */
    void *(*reserve)(void *data, size_t size, size_t alignment, int level);
    /** Make reserved pages, none of which is committed, writable; they are zero. @return 0, or MPR_ERR_*: refused; they are as
        they were. */
    int (*commit)(void *data, void *pages, size_t size, int level);
    /** Take the memory of reserved pages back. They can be read, as zeros. Some may not be committed. */
    void (*decommit)(void *data, void *pages, size_t size);
    /** Take pages back for good, committed or not: a reservation, or a part of one. */
    void (*release)(void *data, void *pages, size_t size);
    /** Change what may be done with committed pages, or forbid everything: mode 0, for the page below a stack, which is not
        committed. @param mode MPR_MAP_*. @return 0, or MPR_ERR_*: refused. */
    int (*protect)(void *data, void *pages, size_t size, int mode);
    /** Say what an address is in: mprVerifyHeap compares. @return 0, or MPR_ERR_*: it is not known. */
    int (*query)(void *data, const void *address, MprPages *pages);
    /**
        Say how much memory there is: limit, available, and if it is known, ample and pressure. The runtime asks before it
        takes more. NULL: nobody is asked, or the system (mprWatchMemoryLoad). @return 0, or MPR_ERR_*: it is not known.
     */
    int (*getLoad)(void *data, MprMemoryLoad *load);
} MprHost;

/**
    Name the host, before mprCreate. @param host Is copied. NULL: the system, as in the beginning.
    @return 0; MPR_ERR_BAD_ARGS when a function is missing or the size is another; MPR_ERR_BAD_STATE while there is a runtime,
    or as long as pages are in use: of private heaps, of libuv in loops of the program's, of mprVirtAlloc, of threads that go
    on. OpenSSL keeps its memory until the process ends. The log says why. No other thread may call mpr meanwhile.
    With a host, handles end with their runtime, and when one is named or ended, so do those of runtimes before, and private
    heaps that were destroyed: later nobody recognises them as stale. A call that fails changes nothing.
 */
MPR_EXPORT int mprSetHost(const MprHost *host);
/** @return The host, or NULL: pages come from the system. Any thread. */
MPR_EXPORT const MprHost *mprGetHost(MPR_NOTHING);

/** Requests to the host since mprSetHost. */
typedef struct MprHostStats {
    unsigned long long reserved, peak;               /* Bytes of addresses: now, and at most */
    unsigned long long requests[MPR_PAGES_REQUESTS]; /* By MPR_PAGES_* */
    unsigned long long refused[3];                   /* By MPR_CRITICAL_* */
    int lastRequest;                                 /* MPR_PAGES_* that was refused last; MPR_PAGES_NONE: none was */
    int lastLevel, lastError;                        /* Its level, and what the host has returned */
    unsigned long long lastSize;                     /* Its size */
} MprHostStats;

/** Read the counts. @return 0, or MPR_ERR_BAD_STATE without a host: only reserved and peak are not 0. Any thread. */
MPR_EXPORT int mprReadHostStats(MprHostStats *stats);

/* ---- Memory load */

/*
    How much memory there is, the host says (MprHost.getLoad), or, once mprWatchMemoryLoad was called, the system: the control
    group of the process and those above it, of version 2 or else of version 1, and /proc/meminfo; who has least decides.
    Pressure stall information is that of the group, or else of the machine. Files that were read a moment ago (10 ms) are not
    read again.

    The runtime asks before it takes a region or a large block from the system. If there is less than that, it takes nothing:
    what follows is what follows a refusal (MPR_MEM_FAIL, or MPR_MEM_HOST). What is MPR_CRITICAL_PROCESS is taken all the same.
    The redline follows: it is where mprSetMemLimits has set it, or lower, where the program would be held back (memory.high), or
    one sixteenth of the limit before its end; so it moves when limits of a container are changed.

    Low memory that is found is answered once, when the state becomes low, and each time that it is told: handlers hear of it,
    then the pruners (MPR_MEM_LOAD), whatever the policy; then all is collected, and free memory goes back to the system.
*/

/**
    Have the system asked, if there is no host who says it. @param period Milliseconds after which a thread of the runtime's own
    looks; 0: no thread, so that the load is looked at only when the heap grows, after collections, and by mprGetMemoryLoad.
    Less than 0: the system is asked no more, which also is so before the first call, and in the next runtime.
    @return 0; MPR_ERR_BAD_STATE without a runtime; MPR_ERR_CANT_CREATE: there is no thread. An attached thread that runs.
 */
MPR_EXPORT int mprWatchMemoryLoad(MprTicks period);

/**
    Look how much memory there is, and do what follows from it, as far as the calling thread may.
    @return 0; MPR_ERR_NOT_READY when nobody is to be asked, or nobody knows; MPR_ERR_BAD_STATE without a runtime. load is filled
    anyway. Any thread. Does not yield.
 */
MPR_EXPORT int mprGetMemoryLoad(MprMemoryLoad *load);

/**
    Tell the runtime how much memory there is, as it changes. @param state MPR_MEMORY_*. It holds until another is told, or found.
    What follows is done on the calling thread if it is attached and may be told of short memory, else on the next thread that
    allocates, or the one of mprWatchMemoryLoad. @return 0; MPR_ERR_BAD_ARGS; MPR_ERR_BAD_STATE without a runtime. Any thread,
    attached or not. Does not yield.
 */
MPR_EXPORT int mprNoteMemoryLoad(int state);

/** Told of changes. Runs under the rules of the notifier: mpr/limits.h. @param load With the new state. */
typedef void (*MprMemoryLoadHandler)(const MprMemoryLoad *load, void *data);
/** Add a handler, until the end of the runtime. @return 0; MPR_ERR_MEMORY when there are 16; MPR_ERR_BAD_STATE. Any thread. */
MPR_EXPORT int mprAddMemoryLoadHandler(MprMemoryLoadHandler handler, void *data);
/** Remove one. It may be running in another thread. */
MPR_EXPORT void mprRemoveMemoryLoadHandler(MprMemoryLoadHandler handler, void *data);

/* ---- The collector by request */

/**
    Collect a generation and wait until what is dead has been freed, as mprGC with MPR_GC_COMPLETE does: the calling thread
    yields, so whatever it needs must be rooted. @param generation 0: young blocks, those made since the last collection.
    1, and -1 for all that there are: everything. Without an operating system each collects everything.
    @return 0; MPR_ERR_BAD_ARGS for a generation that there is not, named in the log; MPR_ERR_BAD_STATE where mprGC may not
    be called. Attached threads in any state, except inside the notifier.
 */
MPR_EXPORT int mprGCCollect(int generation);

/* Flags of mprReadGCStats. */
#define MPR_GC_STATS_COUNTS 0x1 /* collections, induced, blocks, freed */
#define MPR_GC_STATS_MEMORY 0x2 /* The others */

/**
    What the collector has done, and where its memory is. Counts are since mprCreate. The figures are read one after the other,
    so two need not fit together while other threads allocate. Pinned blocks count in reserved and committed only.
 */
typedef struct MprGCStats {
    unsigned long long collections[2]; /* Completed, by generation: minor, major */
    unsigned long long induced;   /* Calls of mprGC and mprGCCollect that collected or asked for it; with threads */
    unsigned long long blocks;    /* In use now, or dead and not freed yet */
    unsigned long long freed;     /* Blocks freed, by the collector and by hand */
    unsigned long long reserved;  /* Bytes of addresses of the heap's regions, those of pinned blocks among them */
    unsigned long long committed; /* Bytes of them that count against the limits: never more */
    unsigned long long young;     /* Bytes that threads have taken since the last collection, at most inBlocks */
    unsigned long long old;       /* The others of inBlocks */
    unsigned long long inBlocks;  /* Bytes in blocks, dead ones and what threads hold ready for more among them */
    unsigned long long large;     /* Of inBlocks: in blocks that have regions of their own */
    unsigned long long tables;    /* Bytes of the regions' headers and maps */
} MprGCStats;

/**
    Read statistics. @param flags MPR_GC_STATS_*; what is not asked for is 0. @return 0, or MPR_ERR_BAD_ARGS for other flags,
    MPR_ERR_BAD_STATE without a runtime: all is 0. Any thread. Does not yield; with MPR_GC_STATS_MEMORY it takes some
    nanoseconds for each region.
 */
MPR_EXPORT int mprReadGCStats(int flags, MprGCStats *stats);

/**
    Set start-up limits of all runtimes of this process, whatever mprConfigure and MPR_OPTIONS say. Once, before mprCreate.
    @param regionSize As option region, bytes. 0: not set. @param youngBudget As option young, bytes. 0: not set.
    @return 0; MPR_ERR_BAD_VALUE for a region that is no power of two from 64 KiB to 64 MiB, or a budget greater than
    half of the addresses that there are; MPR_ERR_ALREADY_EXISTS the second time; MPR_ERR_BAD_STATE while there is a runtime. The
    log says why; nothing is changed. Any thread.
 */
MPR_EXPORT int mprSetGCStartupLimits(size_t regionSize, size_t youngBudget);

/* ---- Foreign memory */

/**
    Say that managed blocks keep more, or less, memory outside the heap: a buffer of malloc, a mapped picture, a library's
    object. Whoever makes it adds, whoever frees it (mostly the block's manager, called with MPR_MANAGE_FREE) removes as much. What is
    added counts like an allocation of so many bytes for when the next collection comes, and for when the old are
    collected, too; while it lasts it counts against the redline and the limit of mprSetMemLimits, as if the heap had
    committed it. So the notifier hears of it, at once on a thread that may call it and else at the next allocation; and past
    the limit allocations from the heap are refused. It is not refused itself, being there already.
    @param bytes 0 or more. @return 0; MPR_ERR_BAD_ARGS, named in the log, for less than 0, for more than there can be, or for
    the removal of more than was added: nothing is changed. MPR_ERR_BAD_STATE without a runtime.
    Any thread, attached or not; managers called with MPR_MANAGE_FREE. Does not yield.
 */
MPR_EXPORT int mprAddMemoryPressure(ptrdiff_t bytes);
MPR_EXPORT int mprRemoveMemoryPressure(ptrdiff_t bytes);
/** @return Bytes that were added and not removed, ranges of mprAcquiredAddressRange among them. 0 without a runtime. Any
    thread. */
MPR_EXPORT ptrdiff_t mprGetMemoryPressure(MPR_NOTHING);

/**
    The program cannot map a range for want of memory or addresses, and will try again: collect everything, and give back
    memory and addresses that are free. The calling thread yields, as in mprGC. @param size Bytes that it needs: all that is free
    is given back, even if that is more.
    @return Bytes of addresses that the heap has given back; MPR_ERR_BAD_STATE where mprGC may not be called.
 */
MPR_EXPORT ptrdiff_t mprNeedsAddressRange(size_t size);
/**
    The program has mapped a range, whose memory counts as mprAddMemoryPressure says, until mprReleasedAddressRange.
    @return 0; MPR_ERR_ALREADY_EXISTS when a range that was told begins there, MPR_ERR_MEMORY when there is no memory to
    remember it: it does not count; else as mprAddMemoryPressure.
 */
MPR_EXPORT int mprAcquiredAddressRange(const void *start, size_t size);
/** The program has unmapped a range. @param start Its begin. @return 0; MPR_ERR_CANT_FIND, named in the log, for another. */
MPR_EXPORT int mprReleasedAddressRange(const void *start);

/* ---- Private heaps */

typedef struct MprPrivateHeap MprPrivateHeap;

/* Flags of mprCreateHeap. */
#define MPR_HEAP_ONE_THREAD 0x1 /* It takes no lock: from the first allocation on it is that thread's alone */
#define MPR_HEAP_TRACKED 0x2    /* Remember file and line of each block, and name in the log what is left at the end */

/**
    Make a heap. @param name For messages; up to 31 characters are kept. @param flags MPR_HEAP_*.
    @return NULL when the system has no memory, or for unknown flags. Any thread.
 */
MPR_EXPORT MprPrivateHeap *mprCreateHeap(const char *name, int flags);

/**
    Make a heap in memory of the program's: a static buffer, memory that other processes share, or that a device reads. All of its
    blocks lie there, the system is asked for nothing but a record (52 KiB on 64 bit, used again by other heaps), and the memory
    is the program's again when the heap was destroyed. Without an operating system this is the way to have one, and the record
    lies there, too.
    @param name,flags As mprCreateHeap. @param memory,size The memory, aligned to anything, 4 KiB or more. Of it the
    heap needs 3 KiB, and an eighth of the rest (64 bit: a sixteenth). At most 256 MiB are used, 128 MiB on 32 bit, 1
    MiB without an operating system.
    @return NULL when the memory is too small, or for unknown flags: named in the log; or when the system has no memory. Any
    thread; without an operating system not in an interrupt, as all calls with heaps.
 */
MPR_EXPORT MprPrivateHeap *mprCreateHeapIn(const char *name, void *memory, size_t size, int flags);

/**
    Free all blocks of a heap, and the heap. NULL is fine. No other thread uses it any more. With MPR_HEAP_TRACKED the log
    names up to 50 blocks that were left, with file and line, and says how many more there are. Any thread.
    @return How many blocks were left; MPR_ERR_BAD_ARGS for what is no heap.
 */
MPR_EXPORT ptrdiff_t mprDestroyHeap(MprPrivateHeap *heap);

/**
    Allocate. @param size Bytes; 0 is fine. @param level MPR_CRITICAL_*, what the host is told if it has to be asked. With
    MPR_CRITICAL_PROCESS the last 1/32 below the heap's limit, at least 64 KiB, at most a quarter of it, may be used, too.
    @return A block that is not initialised, or NULL: the heap's limit is reached, or the system has no memory. A wrong
    call is named in the log, and returns NULL, too: a heap that was destroyed, a level that there is not, a heap for one
    thread used by another.
 */
MPR_EXPORT void *mprHeapAlloc(MprPrivateHeap *heap, size_t size, int level);
/** As mprHeapAlloc. A tracked heap notes this place instead of the calling code. @param file Must stay: __FILE__. */
MPR_EXPORT void *mprHeapAllocAt(MprPrivateHeap *heap, size_t size, int level, const char *file, int line);

/**
    Change the size of a block; its contents stay up to the lesser size. @param ptr NULL: allocate.
    @return The block, which may have moved. NULL as mprHeapAlloc: the block stays as it is.
 */
MPR_EXPORT void *mprHeapRealloc(MprPrivateHeap *heap, void *ptr, size_t size, int level);

/**
    Free a block; NULL is fine. A pointer to anything else is named in the log.
    @return 0, or MPR_ERR_BAD_ARGS.
 */
MPR_EXPORT int mprHeapFree(MprPrivateHeap *heap, void *ptr);

/** @return Bytes that fit into a block, at least what was asked for; 0 for what is no block of this heap. */
MPR_EXPORT size_t mprGetHeapBlockSize(MprPrivateHeap *heap, const void *ptr);

/** Set what the heap may commit at most, its tables included. What it has committed serves on, some 320 KiB on a 64-bit
    machine as soon as it is made. @param maximum Bytes; 0: no limit. @return 0, or
    MPR_ERR_BAD_ARGS. */
MPR_EXPORT int mprSetHeapLimit(MprPrivateHeap *heap, size_t maximum);

/** Give free memory of a heap back to the system; in memory of the program's it only counts no more. @return 0, or
    MPR_ERR_BAD_ARGS. */
MPR_EXPORT int mprTrimHeap(MprPrivateHeap *heap);

/** Bytes unless said otherwise. */
typedef struct MprHeapStats {
    unsigned long long blocks;          /* Blocks in use */
    unsigned long long bytes;           /* In them, rounded up as the heap does */
    unsigned long long refused;         /* Requests that returned NULL for want of memory */
    unsigned long long committed, peak; /* From the system, or of the program's memory in use */
    unsigned long long maximum;         /* The limit; 0: none */
    unsigned long long regions;         /* Regions */
} MprHeapStats;

/** Read the figures of a heap, exact at the time of the call, which takes as long as some allocations. @return 0, or
    MPR_ERR_BAD_ARGS: stats is zeroed. */
MPR_EXPORT int mprReadHeapStats(MprPrivateHeap *heap, MprHeapStats *stats);

MPR_EXTERN_C_END
#endif /* MPR_HOST_H */
