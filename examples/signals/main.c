/* SPDX-License-Identifier: MIT */
/*
    Signals: as events, so that a handler may do anything. SIGHUP reads the configuration anew, SIGTERM ends the program.

    Rooms: task, io
 */
#include <mpr.h>

#include <signal.h>
#include <stdio.h>

typedef struct Config {
    int version;
} Config;

static void reload(void *arg, MprSignal *sp) {
    Config *config = (Config *) arg;

    printf("signal %s: configuration %d\n", sp->signo == SIGHUP ? "HUP" : "?", ++config->version);
    raise(config->version < 3 ? SIGHUP : SIGTERM); /* Somebody else would do this */
}

int main(int argc, char **argv) {
    Config *config;
    int status;

    if (!mprCreate(argc, argv, MPR_USER_EVENTS_THREAD) || mprStart() < 0) {
        return 1;
    }
    mprAddStandardSignals(); /* SIGINT, SIGTERM and SIGQUIT call mprShutdown */
    config = mprAllocStruct(Config);
    /* The handler retains the configuration, the runtime the handler. */
    if (!config || !mprAddSignalHandler(SIGHUP, reload, config, 0, 0)) {
        return 1;
    }
    raise(SIGHUP);
    mprServiceEvents(10000, 0);
    if (!mprIsStopping()) {
        return 1;
    }
    printf("asked to stop\n");
    status = mprGetExitStatus();
    return mprDestroy() ? status : 1;
}
