/* SPDX-License-Identifier: MIT */
/*
    TLS: an echo server that lives from events, and a blocking client that trusts nobody but who issued the server's
    certificate.

    The certificate is a file of the folder that is given; without one, the program makes it with the command openssl.

        cc main.c $(pkg-config --cflags --libs mpr-tls)
        ./a.out [FOLDER]    (with cert.pem, key.pem, ca.pem, for the name localhost)

    Rooms: task, io
 */
#include <mpr.h>

#include <stdio.h>

static MprSsl *server;

static void echo(void *data, MprEvent *event) {
    MprSocket *sp = (MprSocket *) data;
    const char *end = "the client has gone";
    char buf[256];
    ssize count;

    (void) event;
    /* The handshake goes on in here, too: until it is over there is nothing to read. */
    while ((count = mprReadSocket(sp, buf, sizeof(buf))) > 0) {
        if (mprWriteSocket(sp, buf, count) != count) {
            end = "no room, and a reply is lost"; /* Another server would keep the rest, and wait for MPR_WRITABLE */
            count = -1;
            break;
        }
    }
    if (count < 0) {
        printf("server: %s\n", sp->errorMsg ? sp->errorMsg : end);
        mprCloseSocket(sp, true);
    } else {
        mprEnableSocketEvents(sp, MPR_READABLE);
    }
}

static void acceptClient(void *data, MprEvent *event) {
    MprSocket *listener = (MprSocket *) data, *sp;

    (void) event;
    while ((sp = mprAcceptSocket(listener)) != 0) {
        if (mprUpgradeSocket(sp, server, 0) < 0 || !mprAddSocketHandler(sp, MPR_READABLE, 0, echo, sp, 0)) {
            mprCloseSocket(sp, true);
        }
    }
    mprEnableSocketEvents(listener, MPR_READABLE);
}

static int talk(MprSsl *client, int port) {
    MprSocket *sp = mprCreateSocket();
    char buf[256];
    ssize got = 0, count;
    int ok = 0;

    mprAddRoot(sp);
    if (mprConnectSocket(sp, "127.0.0.1", port, MPR_SOCKET_BLOCK) < 0 ||
        mprUpgradeSocket(sp, client, "localhost") < 0) {
        fprintf(stderr, "client: %s\n", sp->errorMsg ? sp->errorMsg : "no connection");
    } else {
        printf("client: %s has %s\n", sp->peerCert, sp->cipher);
        mprWriteSocketString(sp, "between you and me");
        mprSetSocketBlockingMode(sp, false); /* So that the wait has a limit */
        while (got < 18 && (count = mprReadSocket(sp, buf + got, (ssize) sizeof(buf) - got)) >= 0 &&
               (count > 0 || mprWaitForSingleIO(sp->fd, MPR_READABLE, 5000) > 0)) {
            got += count;
        }
        if ((ok = got == 18)) {
            printf("client: \"%.*s\" came back\n", (int) got, buf);
        } else {
            fprintf(stderr, "client: no reply: %s\n", sp->errorMsg ? sp->errorMsg : "the connection was lost");
        }
        mprCloseSocket(sp, true);
    }
    mprRemoveRoot(sp);
    return ok;
}

/* A certificate that is its own issuer's. @return The folder it is in. */
static char *makeCertificate(void) {
    MprCmd *cmd = mprCreateCmd(0);
    char *folder, *err = 0;
    int status;

    mprAddRoot(cmd);
    folder = mprGetTempPath(0);
    mprAddRoot(folder);
    mprDeletePath(folder);
    if (mprMakeDir(folder, 0700, -1, -1, 1) < 0) {
        return 0;
    }
    status = mprRunCmd(cmd,
                       sfmt("sh -c 'cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
                            "-addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem && cp cert.pem ca.pem'",
                            folder),
                       0, 0, 0, &err, -1, 0);
    if (status != 0) {
        fprintf(stderr, "openssl: %s\n", err);
    }
    mprRemoveRoot(cmd);
    return status == 0 ? folder : 0;
}

int main(int argc, char **argv) {
    MprSocket *listener;
    MprSsl *client;
    char *folder;
    int ok = 0;

    if (!mprCreate(argc, argv, 0) || mprLoadSsl() < 0 || mprStart() < 0) {
        return 1;
    }
    folder = argc > 1 ? argv[1] : makeCertificate();
    server = mprCreateSsl(1);
    client = mprCreateSsl(0);
    listener = mprCreateSocket();
    mprAddRoot(server);
    mprAddRoot(client);
    mprAddRoot(listener);
    mprSetSslCertFile(server, mprJoinPath(folder, "cert.pem"));
    mprSetSslKeyFile(server, mprJoinPath(folder, "key.pem"));
    mprSetSslHandshakeTimeout(client, 5000); /* Else 30 s */
    mprSetSslLogLevel(server, 0);            /* Say, too, why a client was turned away */
    mprSetSslCaFile(client, mprJoinPath(folder, "ca.pem"));

    /* Mistakes in files are found now, and not when the first client comes. */
    if (folder && mprPreloadSsl(server, 0) == 0 && mprPreloadSsl(client, 0) == 0 &&
        mprListenOnSocket(listener, "127.0.0.1", 0, 0) >= 0 &&
        mprAddSocketHandler(listener, MPR_READABLE, 0, acceptClient, listener, 0)) {
        ok = talk(client, listener->port);
    }
    mprCloseSocket(listener, true);
    if (folder && argc <= 1) {
        mprDeletePath(mprJoinPath(folder, "cert.pem"));
        mprDeletePath(mprJoinPath(folder, "key.pem"));
        mprDeletePath(mprJoinPath(folder, "ca.pem"));
        mprDeletePath(folder);
    }
    return mprDestroy() && ok ? 0 : 1;
}
