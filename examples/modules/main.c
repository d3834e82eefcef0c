/* SPDX-License-Identifier: MIT */
/*
    modules - A part of the program that is loaded, used, and unloaded once the collector has no use for its code.

        cc -rdynamic main.c -lmpr -luv -lpthread
        cc -shared -fPIC greeter.c -o greeter.so

    Rooms: io
 */
#include <mpr.h>
#include <stdio.h>

static int builtinInit(void *data, MprModule *module) {
    (void) data;
    printf("%s is part of the program\n", module->name);
    return 0;
}

int main(int argc, char **argv) {
    MprModule *module, *builtin;
    MprList *greetings;
    int result;

    if (!mprCreate(argc, argv, MPR_USER_EVENTS_THREAD)) {
        return 1;
    }
    greetings = mprCreateList(0, 0);
    mprAddRoot(greetings);

    /* Both in one table, which retains them. Files are looked for in the program's folder, or where told. */
    builtin = mprCreateModule("builtin", NULL, NULL, NULL);
    module = mprCreateModule("greeter", "greeter.so", "greeterInit", greetings);
    if (!builtin || !module) {
        return 1;
    }
    mprSetModuleEntry(builtin, builtinInit);
    if (mprLoadModule(builtin) < 0 || mprLoadModule(module) < 0) {
        return 1; /* The log says which file or symbol, and why */
    }

    /* A block of the module is in the heap: it stops, and is unloaded when that block is gone. */
    result = mprUnloadModule(mprLookupModule("greeter"));
    printf("unloaded: %s\n", result == MPR_ERR_BUSY ? "not yet" : "at once");
    mprClearList(greetings);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    while ((module->flags & MPR_MODULE_LOADED) && mprUnloadModule(module) < 0) {
        mprServiceEvents(100, 0); /* The runtime tries again by itself, too */
    }
    printf("unloaded: %s\n", (module->flags & MPR_MODULE_LOADED) ? "no" : "yes");
    mprRemoveRoot(greetings);
    return mprDestroy() ? 0 : 1;
}
