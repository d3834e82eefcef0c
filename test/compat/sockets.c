/* SPDX-License-Identifier: MIT */
/*
    test/compat/sockets.c - Sockets, signals and commands, used as programs for the MPR use them: a line server with a
    connection object, a client, a child process. The same text is valid C11 and C++20.

    Exits with 0 when all went well; else the failed condition is printed.

    Rooms: task, io
 */
#include "mpr.h"
#include "expect.h"

#include <signal.h>
#include <string.h>

typedef struct Conn {
    MprSocket *sock;
    char line[64];
    ssize length;
} Conn;

static int served, signalled;

static void manageConn(Conn *conn, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(conn->sock);
    }
}

static void connEvent(Conn *conn, MprEvent *event) {
    MprIOVec vec[2];
    ssize count;

    EXPECT(event->mask & MPR_READABLE);
    count = mprReadSocket(conn->sock, &conn->line[conn->length], (ssize) sizeof(conn->line) - conn->length);
    if (count < 0) {
        EXPECT(mprIsSocketEof(conn->sock));
        mprCloseSocket(conn->sock, false);
        __atomic_fetch_add(&served, 1, __ATOMIC_RELEASE);
        return;
    }
    conn->length += count;
    if (conn->length > 0 && conn->line[conn->length - 1] == '\n') {
        vec[0].start = (char *) "got ";
        vec[0].len = 4;
        vec[1].start = conn->line;
        vec[1].len = (size_t) conn->length;
        EXPECT(mprWriteSocketVector(conn->sock, vec, 2) == 4 + conn->length);
        conn->length = 0;
    }
    mprEnableSocketEvents(conn->sock, MPR_READABLE);
}

static void listenEvent(MprSocket *listen, MprEvent *event) {
    MprSocket *sp;
    Conn *conn;

    (void) event;
    if ((sp = mprAcceptSocket(listen)) != 0) {
        EXPECT(sp->ip != 0 && strcmp(sp->ip, "127.0.0.1") == 0);
        conn = mprAllocObj(Conn, manageConn);
        conn->sock = sp;
        EXPECT(mprAddSocketHandler(sp, MPR_READABLE, mprCreateDispatcher("conn", 0), connEvent, conn, 0) != 0);
    }
    mprEnableSocketEvents(listen, MPR_READABLE);
}

static void onSignal(int *count, MprSignal *sp) {
    EXPECT(sp->signo == SIGUSR1);
    __atomic_fetch_add(count, 1, __ATOMIC_RELEASE);
}

int main(int argc, char **argv) {
    MprSocket *listen, *client;
    MprSignal *signalHandler;
    MprCmd *cmd;
    cchar *ip;
    char buf[64], *out, *err;
    int port, secure, i;

    EXPECT(mprCreate(argc, argv, 0) != 0);
    EXPECT(mprStart() == 0);

    EXPECT(mprParseSocketAddress("https://localhost:4443/path", &ip, &port, &secure, 80) == 0);
    EXPECT(strcmp(ip, "localhost") == 0 && port == 4443 && secure);

    listen = mprCreateSocket();
    EXPECT(mprListenOnSocket(listen, "127.0.0.1", 0, MPR_SOCKET_NODELAY) != SOCKET_ERROR);
    EXPECT(mprAddSocketHandler(listen, MPR_READABLE, 0, listenEvent, listen, 0) != 0);
    for (i = 0; i < 3; i++) {
        client = mprCreateSocket();
        mprAddRoot(client);
        EXPECT(mprConnectSocket(client, "127.0.0.1", listen->port, 0) == 0);
        mprSetSocketBlockingMode(client, true);
        EXPECT(mprWriteSocket(client, "line\n", 5) == 5);
        memset(buf, 0, sizeof(buf));
        while (!strchr(buf, '\n')) {
            ssize count = mprReadSocket(client, buf + strlen(buf), (ssize) (sizeof(buf) - strlen(buf) - 1));
            EXPECT(count > 0);
            if (count <= 0) {
                break;
            }
        }
        EXPECT(strcmp(buf, "got line\n") == 0);
        mprCloseSocket(client, true);
        mprRemoveRoot(client);
    }
    while (__atomic_load_n(&served, __ATOMIC_ACQUIRE) < 3) {
        mprSleep(1);
    }
    EXPECT(!mprHasSecureSockets());

    signalHandler = mprAddSignalHandler(SIGUSR1, onSignal, &signalled, 0, MPR_SIGNAL_AFTER);
    EXPECT(signalHandler != 0);
    raise(SIGUSR1);
    while (!__atomic_load_n(&signalled, __ATOMIC_ACQUIRE)) {
        mprSleep(1);
    }
    mprRemoveSignalHandler(signalHandler);

    cmd = mprCreateCmd(0);
    mprAddRoot(cmd);
    EXPECT(mprRunCmd(cmd, "sh -c 'cat; echo problem >&2; exit 2'", 0, "input", &out, &err, 10000, 0) == 2);
    EXPECT(strcmp(out, "input") == 0 && strcmp(err, "problem\n") == 0);
    EXPECT(mprGetCmdExitStatus(cmd) == 2);
    mprDestroyCmd(cmd);
    mprRemoveRoot(cmd);

    EXPECT(mprDestroy());
    return verdict();
}
