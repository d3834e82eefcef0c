/* SPDX-License-Identifier: MIT */
/*
    mpr/module.h - Modules: parts of a program that are loaded when they are wanted, and unloaded when they are not.

    A module is a shared object with an entry point, or a part of the program itself (path NULL). It is made by
    mprCreateModule, found by its name, and loaded by mprLoadModule, which calls the entry point. The table of modules
    retains it until the runtime ends.

    Code is unloaded only if the collector will not call it any more. As long as blocks with managers of the module
    are in the heap, mprUnloadModule returns MPR_ERR_BUSY, asks for a collection, and unloads the module later, in a
    timer's event on the main dispatcher (mpr/event.h). What else would call into the module is the business of its
    finalizer: threads, events, handlers, callbacks, C++ types with a `trace` of the program's.

    When the runtime ends the finalizers of loaded modules are called, the last made first. Their code stays loaded,
    for the managers of the blocks that are left.

    Errors are named in the log, with the file, the symbol and the system's reason.

    Threads: attached threads that run; others are refused and named (mpr/runtime.h). A module that is being loaded or
    unloaded by another thread is MPR_ERR_BUSY. None of these calls yields, unless a module's own procedures do.
 */
#ifndef MPR_MODULE_H
#define MPR_MODULE_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

struct MprModule;

/**
    An entry point. @param data As given to mprCreateModule. @param module The module.
    @return 0, or a negative number if the module cannot work: then it is unloaded.
 */
typedef int (*MprModuleEntry)(void *data, struct MprModule *module);
/** A finalizer. @return 0, or a negative number if the module cannot be stopped now. */
typedef int (*MprModuleProc)(struct MprModule *module);

/* Flags of a module. */
#define MPR_MODULE_LOADED 0x1    /* Its code is there */
#define MPR_MODULE_STARTED 0x2   /* Its entry point has been called, and its finalizer has not */
#define MPR_MODULE_UNLOADING 0x4 /* It is to be unloaded as soon as the collector allows it */

/** A module: a managed block. Members are for reading, unless said otherwise. */
typedef struct MprModule {
    char *name;
    char *path;            /* As given; NULL for a part of the program */
    char *entry;           /* The name of the entry point */
    void *moduleData;      /* As given; the module may write it. Marked if it is a block */
    void *handle;          /* The system's */
    MprTicks lastActivity; /* When it was used last. The program may write it during long use */
    MprTicks timeout;
    int flags; /* MPR_MODULE_* */
} MprModule;

/**
    Make a module. It is not loaded.
    @param name Copied. If there is a module of this name that is loaded, or is being loaded, that is returned; another
    is replaced.
    @param path File of the shared object, looked for as mprSearchForModule does; NULL: the module is part of the
    program.
    @param entry Name of its entry point. For a part of the program it is not needed if mprSetModuleEntry is called,
    nor if there is nothing to call; otherwise the program is to be linked so that its symbols are found (-rdynamic).
    @param data For the entry point: a block, or anything.
    @return NULL when memory is short, or a name is missing.
 */
MPR_EXPORT MprModule *mprCreateModule(const char *name, const char *path, const char *entry, void *data);

/** Set the entry point of a module that is part of the program. */
MPR_EXPORT void mprSetModuleEntry(MprModule *module, MprModuleEntry entry);

/**
    Load a module and call its entry point. Does nothing for a module that is loaded and started. A module that was to
    be unloaded stays loaded.
    @return 0; MPR_ERR_CANT_FIND: there is no such file; MPR_ERR_CANT_LOAD: the system cannot load it;
    MPR_ERR_CANT_ACCESS: it has no such entry point; MPR_ERR_CANT_INITIALIZE: the entry point returned an error;
    MPR_ERR_BUSY; MPR_ERR_MEMORY; MPR_ERR_BAD_ARGS.
 */
MPR_EXPORT int mprLoadModule(MprModule *module);

/**
    Stop a module, and unload it: now, or later (see above).
    @return 0; MPR_ERR_BUSY: later, or another thread is at it; what the finalizer returned if that is negative: then
    it stays.
 */
MPR_EXPORT int mprUnloadModule(MprModule *module);

/** Call the entry point of a module that was stopped; load it if it is not loaded. @return As mprLoadModule. */
MPR_EXPORT int mprStartModule(MprModule *module);

/** Call the finalizer of a module that is started. Its code stays. @return 0, or what the finalizer returned. */
MPR_EXPORT int mprStopModule(MprModule *module);

/** Find a module by its name. This counts as a use of it. @return NULL when there is none. */
MPR_EXPORT MprModule *mprLookupModule(const char *name);
/** The data of a module. @return NULL when there is no such module, or it has none. */
MPR_EXPORT void *mprLookupModuleData(const char *name);

/**
    Look for the file of a module in the folders of the search path: as named, and with ".so" behind.
    @return Its absolute path; NULL when there is none. An absolute path is not looked for elsewhere.
 */
MPR_EXPORT char *mprSearchForModule(const char *module);
/** Set the folders in which modules are looked for. @param searchPath Copied. Separated by MPR_SEARCH_SEP; NULL: the
    program's folder. */
MPR_EXPORT void mprSetModuleSearchPath(char *searchPath);
/** The folders in which modules are looked for. */
MPR_EXPORT const char *mprGetModuleSearchPath(MPR_NOTHING);

/** Set what is called before a module stops. The module's entry point may call this. */
MPR_EXPORT void mprSetModuleFinalizer(MprModule *module, MprModuleProc stop);

/**
    Have a module unloaded when it has not been used for a time: looked up, loaded or started, or its lastActivity
    written.
    @param timeout Milliseconds; 0 or less: never.
 */
MPR_EXPORT void mprSetModuleTimeout(MprModule *module, MprTicks timeout);

MPR_EXTERN_C_END
#endif /* MPR_MODULE_H */
