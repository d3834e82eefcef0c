// SPDX-License-Identifier: MIT
/*
    test/tls/pair.hpp - Two ends of a connection in one process, an authority that both know, and handshakes step by
    step.
 */
#pragma once

#include <cstring>
#include <string>

#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"
#include "test/tls/authority.hpp"

namespace test {

template <typename T>
T *rooted(T *block) {
    REQUIRE(block);
    mprAddRoot(block);
    return block;
}

inline std::string str(cchar *text) {
    return text ? text : "(null)";
}

/* An authority, a server that it has issued a certificate for, and how either end is set up with them. */
struct House {
    House() {
        Identity::sign(root, {.name = "Root", .hosts = "", .authority = true}, nullptr);
        Identity::sign(server, {.name = "server"}, &root);
        ca = files.certificates("ca.pem", root);
        cert = files.certificates("server.pem", server);
        key = files.key("server.key", server);
    }

    MprSsl *makeServer() const { return makeServer(cert, key); }
    static MprSsl *makeServer(const std::string &certFile, const std::string &keyFile) {
        MprSsl *ssl = rooted(mprCreateSsl(1));
        mprSetSslHandshakeTimeout(ssl, -1); // the watchdog is enough, however busy the machine
        mprSetSslCertFile(ssl, certFile.c_str());
        mprSetSslKeyFile(ssl, keyFile.c_str());
        return ssl;
    }
    MprSsl *makeClient() const {
        MprSsl *ssl = rooted(mprCreateSsl(0));
        mprSetSslHandshakeTimeout(ssl, -1);
        mprSetSslCaFile(ssl, ca.c_str());
        return ssl;
    }

    const int loaded = mprLoadSsl(); /* first, so that all of OpenSSL's memory is counted */
    Identity root, server;
    Files files;
    std::string ca, cert, key;
};

/* A connection, not secure yet. */
struct Pair {
    explicit Pair(int flags = 0) : Pair(listen(flags), flags) {}
    /* By a listener that lasts: the same port again. */
    explicit Pair(MprSocket *at, int flags = 0) : listener(at) {
        client = rooted(mprCreateSocket());
        REQUIRE(mprConnectSocket(client, "127.0.0.1", listener->port, flags) == 0);
        REQUIRE(mprWaitForSingleIO(listener->fd, MPR_READABLE, 20000) == MPR_READABLE);
        server = rooted(mprAcceptSocket(listener));
    }
    ~Pair() {
        for (MprSocket *sp : {client, server}) {
            mprCloseSocket(sp, true);
            mprRemoveRoot(sp);
        }
    }
    static MprSocket *listen(int flags = 0) {
        MprSocket *sp = rooted(mprCreateSocket());
        REQUIRE(mprListenOnSocket(sp, "127.0.0.1", 0, flags) != SOCKET_ERROR);
        return sp;
    }
    Pair(const Pair &) = delete;
    Pair &operator=(const Pair &) = delete;

    /* Handshakes of sockets that do not block, both by this thread. @return Whether both succeed. */
    bool shake(MprSsl *serverSsl, MprSsl *clientSsl, cchar *host = nullptr) {
        if (mprUpgradeSocket(server, serverSsl, nullptr) < 0 || mprUpgradeSocket(client, clientSsl, host) < 0) {
            return false;
        }
        const bool over = until([this] {
            step(client);
            step(server);
            return !mprSocketHandshaking(client) && !mprSocketHandshaking(server);
        });
        REQUIRE(over);
        // With TLS 1.3 a client is done before the server has looked at its certificate.
        return !mprIsSocketEof(client) && !mprIsSocketEof(server) && passes(client, server) && passes(server, client);
    }

    /* Whether bytes get from one end to the other. */
    static bool passes(MprSocket *from, MprSocket *to) {
        char buf[8];
        if (mprWriteSocket(from, "bytes", 5) != 5) {
            return false;
        }
        return readAll(to, buf, 5) == 5 && memcmp(buf, "bytes", 5) == 0;
    }

    /* Read until there are so many bytes, or no more come. */
    static ssize readAll(MprSocket *sp, char *buf, ssize size) {
        ssize total = 0, count = 0;
        while (total < size && (count = readNext(sp, buf + total, size - total)) > 0) {
            total += count;
        }
        return total;
    }

    /* Wait for bytes of a socket that does not block. */
    static ssize readNext(MprSocket *sp, char *buf, ssize size) {
        ssize count = 0;
        until([&] { return (count = mprReadSocket(sp, buf, size)) != 0; });
        return count;
    }

    MprSocket *listener, *client, *server;

private:
    static void step(MprSocket *sp) {
        char none[1];
        if (mprSocketHandshaking(sp)) {
            mprReadSocket(sp, none, sizeof(none));
        }
    }
};

} // namespace test
