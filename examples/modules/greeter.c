/* SPDX-License-Identifier: MIT */
/*
    greeter.c - What main.c loads: a module with a type of its own. Its name and the entry point's are known to the
    program.

        cc -shared -fPIC greeter.c -o greeter.so
 */
#include <mpr.h>
#include <stdio.h>

typedef struct Greeting {
    char *text;
} Greeting;

static int made, freed;

static void manageGreeting(Greeting *greeting, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(greeting->text);
    } else if (flags & MPR_MANAGE_FREE) {
        freed++;
    }
}

static int stop(MprModule *module) {
    printf("%s stops\n", module->name);
    return 0;
}

/* The entry point. What it puts into the program's list keeps the module from being unloaded. */
int greeterInit(void *data, MprModule *module);
int greeterInit(void *data, MprModule *module) {
    Greeting *greeting = mprAllocObj(Greeting, manageGreeting);

    if (!greeting) {
        return MPR_ERR_MEMORY;
    }
    greeting->text = sclone("hello");
    made++;
    mprAddItem((MprList *) data, greeting);
    mprSetModuleFinalizer(module, stop);
    printf("%s: %s\n", module->name, greeting->text);
    return 0;
}
