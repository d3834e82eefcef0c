/* SPDX-License-Identifier: MIT */
/*
    test/guide/unload.c - libmpr.so PLUGIN: loads and unloads both, again and again, and uses them in between. Linked with
    neither. Exits with 0 when all went well.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *symbolOf(void *library, const char *name) {
    return dlsym(library, name);
}

/* Functions have their addresses as bytes here: ISO C converts no pointer to them. */
#define FIND(library, function, name) \
    do { \
        void *found = symbolOf(library, name); \
        memcpy(&(function), &found, sizeof(found)); \
    } while (0)

static bool isLoaded(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (library) {
        dlclose(library);
    }
    return library != NULL;
}

/* Load a plug-in, have it make blocks, let them go, unload it, collect again. */
static bool usePlugin(const char *path, int (*collect)(int), void (*print)(const char *, int)) {
    enum { forceAndComplete = 0x1 | 0x4, count = 1000 };
    static int freed;
    void (*use)(int *, int);
    void *plugin = dlopen(path, RTLD_NOW);
    if (!plugin) {
        return false;
    }
    FIND(plugin, use, "pluginUse");
    freed = 0;
    use(&freed, count);
    collect(forceAndComplete);
    if (freed != count || dlclose(plugin) != 0 || isLoaded(path)) {
        return false;
    }
    collect(forceAndComplete);
    print("after the plug-in", 0); /* Its manager's name is gone, too */
    return true;
}

static bool useLibrary(const char *path, const char *plugin) {
    void *(*create)(int, char **, int);
    bool (*destroy)(void);
    int (*collect)(int);
    void (*print)(const char *, int);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        return false;
    }
    FIND(library, create, "mprCreate");
    FIND(library, destroy, "mprDestroy");
    FIND(library, collect, "mprGC");
    FIND(library, print, "mprPrintMem");
    bool right = create(0, NULL, 0) != NULL;
    right = right && usePlugin(plugin, collect, print) && usePlugin(plugin, collect, print);
    right = right && destroy();
    return dlclose(library) == 0 && !isLoaded(path) && right;
}

int main(int argc, char **argv) {
    for (int i = 0; i < 20; i++) {
        if (argc != 3 || !useLibrary(argv[1], argv[2])) {
            const char *why = dlerror();
            fprintf(stderr, "round %d went wrong: %s\n", i, why ? why : "");
            return 1;
        }
    }
    /* What the library had called in children of fork is gone with it. */
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    int status = 1;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
