/* SPDX-License-Identifier: MIT */
/*
    Commands: run a program to its end; run another beside, and read it as events tell.

    Rooms: task, io
 */
#include <mpr.h>

#include <stdio.h>

static ssize onCommand(MprCmd *cmd, int channel, void *data) {
    char buf[256];
    ssize count;

    (void) data;
    if (channel < 0) {
        printf("beside: ended with status %d\n", mprGetCmdExitStatus(cmd));
        mprShutdown(MPR_EXIT_NORMAL, mprGetCmdExitStatus(cmd) == 7 ? 0 : 1, -1);
        return 0;
    }
    if ((count = mprReadCmd(cmd, channel, buf, sizeof(buf))) > 0) {
        printf("beside: %.*s", (int) count, buf);
    }
    if (count != 0) {
        mprEnableCmdEvents(cmd, channel); /* Not at its end: wait for more */
    }
    return count;
}

int main(int argc, char **argv) {
    cchar *args[] = {"sh", "-c", "echo one; sleep 0.05; echo two; exit 7", 0};
    char *out, *err;
    MprCmd *cmd;
    int status;

    if (!mprCreate(argc, argv, MPR_USER_EVENTS_THREAD) || mprStart() < 0) {
        return 1;
    }
    /* Its input, output and errors in one call, which waits, yielded, at most ten seconds. */
    status = mprRun(0, "sort -r", "pear\napple\nplum\n", &out, &err, 10000);
    if (status != 0) {
        fprintf(stderr, "sort failed: %d %s\n", status, err ? err : "");
        return 1;
    }
    printf("sorted:\n%s", out);

    cmd = mprCreateCmd(0);
    if (!cmd) {
        return 1;
    }
    mprSetCmdCallback(cmd, onCommand, 0);
    if (mprStartCmd(cmd, 3, args, 0, MPR_CMD_OUT) < 0) {
        return 1;
    }
    mprEnableCmdEvents(cmd, MPR_CMD_STDOUT);
    mprServiceEvents(-1, 0);
    status = mprGetExitStatus();
    return mprDestroy() ? status : 1;
}
