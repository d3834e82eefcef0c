/* SPDX-License-Identifier: MIT */
/*
    test/compat/tls.c - TLS as programs for the MPR use it: an endpoint of a web server with its settings, a client that
    looks at the peer, events on both. The same text is valid C11 and C++20.

    Rooms: task, io

    Exits with 0 when all went well; else the failed condition is printed.
 */
#include "mpr.h"
#include "expect.h"

#include <string.h>

typedef struct Endpoint {
    MprSocket *listen;
    MprSocket *last;
    struct MprSsl *ssl;
    MprSocket *client;
} Endpoint;

static Endpoint *endpoint;
static int served;

static void manageEndpoint(Endpoint *ep, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(ep->listen);
        mprMark(ep->last);
        mprMark(ep->ssl);
        mprMark(ep->client);
    }
}

static cchar *inFolder(cchar *folder, cchar *name) {
    return mprJoinPath(folder, name);
}

/* An authority and what it has issued, by the command openssl. */
static char *makeFiles(void) {
    static cchar script[] =
        "cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=Root -keyout ca.key -out ca.crt && "
        "openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr && "
        "echo subjectAltName=DNS:localhost >ext && openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key "
        "-set_serial 7 -days 1 -extfile ext -out server.crt";
    MprCmd *cmd;
    char *folder, *out, *err;

    cmd = mprCreateCmd(0);
    mprAddRoot(cmd);
    folder = mprGetTempPath(0);
    mprAddRoot(folder);
    EXPECT(mprDeletePath(folder) == 0);
    EXPECT(mprMakeDir(folder, 0700, -1, -1, 1) == 0);
    EXPECT(mprRunCmd(cmd, sfmt("sh -c '%s'", sfmt(script, folder)), 0, 0, &out, &err, -1, 0) == 0);
    mprRemoveRoot(cmd);
    return folder;
}

static void removeFiles(cchar *folder) {
    static cchar *names[] = {"ca.key", "ca.crt", "server.key", "server.csr", "ext", "server.crt"};
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        EXPECT(mprDeletePath(inFolder(folder, names[i])) == 0);
    }
    EXPECT(mprDeletePath(folder) == 0);
}

static void serverEvent(MprSocket *sp, MprEvent *event) {
    char buf[64];
    ssize count;

    (void) event;
    if ((count = mprReadSocket(sp, buf, sizeof(buf))) > 0) {
        EXPECT(mprIsSocketSecure(sp));
        EXPECT(sp->protocol != 0 && strcmp(sp->protocol, "http/1.1") == 0);
        EXPECT(mprWriteSocket(sp, buf, count) == count);
    }
    if (count < 0) {
        EXPECT(mprIsSocketEof(sp));
        EXPECT(sp->errorMsg == 0 || __atomic_load_n(&served, __ATOMIC_ACQUIRE) == 2); /* The third is refused */
        mprCloseSocket(sp, true);
        __atomic_fetch_add(&served, 1, __ATOMIC_RELEASE);
        return;
    }
    mprEnableSocketEvents(sp, MPR_READABLE);
}

static void listenEvent(Endpoint *ep, MprEvent *event) {
    (void) event;
    if ((ep->last = mprAcceptSocket(ep->listen)) != 0) {
        if (mprUpgradeSocket(ep->last, ep->ssl, 0) == 0) {
            EXPECT(mprAddSocketHandler(ep->last, MPR_READABLE, mprCreateDispatcher("conn", 0), serverEvent, ep->last,
                                       0) != 0);
        } else { /* What the third says about the certificate may have come already */
            EXPECT(__atomic_load_n(&served, __ATOMIC_ACQUIRE) == 2);
            mprCloseSocket(ep->last, true);
            __atomic_fetch_add(&served, 1, __ATOMIC_RELEASE);
        }
    }
    mprEnableSocketEvents(ep->listen, MPR_READABLE);
}

static void configure(cchar *folder) {
    struct MprSsl *ssl;

    EXPECT(mprLoadSsl() == 0);
    EXPECT(mprHasSecureSockets());
    endpoint = mprAllocObj(Endpoint, manageEndpoint);
    mprAddRoot(endpoint);
    endpoint->ssl = ssl = mprCreateSsl(1);
    mprSetSslCertFile(ssl, inFolder(folder, "server.crt"));
    mprSetSslKeyFile(ssl, inFolder(folder, "server.key"));
    mprSetSslCaFile(ssl, inFolder(folder, "ca.crt"));
    mprSetSslCaPath(ssl, 0);
    mprSetSslRevoke(ssl, 0);
    mprSetSslProtocols(ssl, MPR_PROTO_TLSV1_2 | MPR_PROTO_TLSV1_3);
    mprSetSslCiphers(ssl, "ECDHE-RSA-AES128-GCM-SHA256");
    mprAddSslCiphers(ssl, "ECDHE-RSA-AES256-GCM-SHA384");
    mprSetSslAlpn(ssl, "h2 http/1.1");
    mprSetSslRenegotiate(ssl, 0);
    mprSetSslTicket(ssl, 1);
    mprSetSslLogLevel(ssl, 5);
    mprVerifySslPeer(ssl, "optional");
    mprVerifySslIssuer(ssl, 1);
    mprVerifySslDepth(ssl, 1);
    EXPECT(mprPreloadSsl(ssl, 0) == 0);
}

static void talk(struct MprSsl *ssl) {
    MprSocket *sp;
    char buf[64];
    ssize count, got;

    sp = endpoint->client = mprCreateSocket();
    EXPECT(mprConnectSocket(sp, "127.0.0.1", endpoint->listen->port, MPR_SOCKET_BLOCK) == 0);
    EXPECT(mprUpgradeSocket(sp, ssl, "localhost") == 0);
    EXPECT(!mprSocketHandshaking(sp));
    EXPECT(sp->ssl == ssl);
    EXPECT(sp->cipher != 0 && sp->peerName != 0 && strcmp(sp->peerName, "localhost") == 0);
    EXPECT(sp->peerCert != 0 && strcmp(sp->peerCert, "CN = localhost") == 0);
    EXPECT(sp->peerCertIssuer != 0 && strcmp(sp->peerCertIssuer, "CN = Root") == 0);
    EXPECT(mprGetSocketState(sp) != 0);
    EXPECT(mprWriteSocketString(sp, "request\n") == 8);
    for (got = 0; got < 8 && (count = mprReadSocket(sp, &buf[got], (ssize) sizeof(buf) - got)) > 0;) {
        got += count;
    }
    EXPECT(got == 8 && memcmp(buf, "request\n", 8) == 0);
    EXPECT(mprFlushSocket(sp) == 0);
    EXPECT(!mprSocketHasBuffered(sp));
    mprCloseSocket(sp, true);
}

int main(int argc, char **argv) {
    struct MprSsl *ssl, *careless;
    MprSocket *sp;
    char *folder;

    EXPECT(mprCreate(argc, argv, 0) != 0);
    EXPECT(mprStart() == 0);
    folder = makeFiles();
    configure(folder);

    endpoint->listen = mprCreateSocket();
    EXPECT(mprListenOnSocket(endpoint->listen, "127.0.0.1", 0, 0) != SOCKET_ERROR);
    EXPECT(mprAddSocketHandler(endpoint->listen, MPR_READABLE, 0, listenEvent, endpoint, 0) != 0);

    ssl = mprCreateSsl(0);
    mprAddRoot(ssl);
    mprSetSslCaFile(ssl, inFolder(folder, "ca.crt"));
    mprSetSslAlpn(ssl, "http/1.1");
    mprSetSslHostname(ssl, "localhost");
    talk(ssl);
    careless = mprCloneSsl(ssl);
    mprAddRoot(careless);
    mprVerifySslPeer(careless, "none");
    talk(careless);
    while (__atomic_load_n(&served, __ATOMIC_ACQUIRE) < 2) {
        mprSleep(1);
    }

    sp = endpoint->client = mprCreateSocket();
    mprSetSslLogLevel(ssl, 9);
    EXPECT(mprConnectSocket(sp, "127.0.0.1", endpoint->listen->port, MPR_SOCKET_BLOCK) == 0);
    EXPECT(mprUpgradeSocket(sp, ssl, "other.local") == MPR_ERR_CANT_CONNECT);
    EXPECT(sp->errorMsg != 0 && strstr(sp->errorMsg, "hostname mismatch") != 0);
    mprCloseSocket(sp, true);

    mprCloseSocket(endpoint->listen, true);
    removeFiles(folder);
    EXPECT(mprDestroy());
    return verdict();
}
