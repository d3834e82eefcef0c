/* SPDX-License-Identifier: MIT */
/*
    Sockets: an echo server that lives from events, and a blocking client, in one program.

    A connection is retained by its wait handler: when the handler ends, connection and socket are collected.

    Rooms: task, io
 */
#include <mpr.h>

#include <stdio.h>
#include <string.h>

static void echo(void *data, MprEvent *event) {
    MprSocket *sp = (MprSocket *) data;
    char buf[256];
    ssize count;

    (void) event;
    while ((count = mprReadSocket(sp, buf, sizeof(buf))) > 0) {
        if (mprWriteSocket(sp, buf, count) != count) {
            perror("server: write"); /* Or no room: a server would keep the rest, and wait for MPR_WRITABLE */
            count = -1;
            break;
        }
    }
    if (count < 0) {
        printf("server: the client has gone\n");
        mprCloseSocket(sp, true);
    } else {
        mprEnableSocketEvents(sp, MPR_READABLE); /* One shot: say again what to wait for */
    }
}

static void acceptClient(void *data, MprEvent *event) {
    MprSocket *listener = (MprSocket *) data, *sp;

    (void) event;
    while ((sp = mprAcceptSocket(listener)) != 0) {
        printf("server: a client from %s\n", sp->ip);
        mprAddSocketHandler(sp, MPR_READABLE, 0, echo, sp, 0);
    }
    mprEnableSocketEvents(listener, MPR_READABLE);
}

static int talk(MprSocket *sp, cchar *text) {
    char buf[256];
    ssize got = 0, count, length = (ssize) strlen(text);

    if (mprWriteSocket(sp, text, length) != length) {
        perror("client: write");
        return 0;
    }
    while (got < length && mprWaitForSingleIO(sp->fd, MPR_READABLE, 5000) > 0 &&
           (count = mprReadSocket(sp, buf + got, (ssize) sizeof(buf) - got)) > 0) {
        got += count;
    }
    if (got < length) {
        fprintf(stderr, "client: no answer; the connection is lost, or the server cannot be reached\n");
    }
    printf("client: %.*s\n", (int) got, buf);
    return got == length && memcmp(buf, text, (size_t) length) == 0;
}

int main(int argc, char **argv) {
    MprSocket *listener, *client;
    int fine = 0;

    if (!mprCreate(argc, argv, 0) || mprStart() < 0) { /* mprStart makes a thread for events */
        return 1;
    }
    mprAddStandardSignals();
    listener = mprCreateSocket();
    client = mprCreateSocket();
    if (!listener || !client) {
        return 1;
    }
    mprAddRoot(client);
    if (mprListenOnSocket(listener, "127.0.0.1", 0, 0) == SOCKET_ERROR ||
        !mprAddSocketHandler(listener, MPR_READABLE, 0, acceptClient, listener, 0)) {
        return 1;
    }
    /* A blocking client waits yielded, so its socket is rooted; the listener is retained by its handler. */
    if (mprConnectSocket(client, "127.0.0.1", listener->port, MPR_SOCKET_BLOCK) == 0) {
        fine = talk(client, "hello") && talk(client, "goodbye");
    }
    mprCloseSocket(client, true);
    mprRemoveRoot(client);
    return mprDestroy() && fine ? 0 : 1;
}
