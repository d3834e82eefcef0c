// SPDX-License-Identifier: MIT
/*
    test/fuzz/tls.cpp - A client and a server of ours, and somebody between them who changes what is sent: handshakes,
    records, the end. Built with libFuzzer by clang (fuzz_tls), and with a driver that mutates a corpus
    (test/fuzz/corpus.cpp) for the tests.

    The first byte says which connection it is, each further four one change (Change). Keys differ from run to run, so the
    same input is the same changes of other bytes.

    Whatever is changed: what an end reads is a beginning of what the other has written; an end that is told of is one
    that the other has said, after all of it; a connection that is closed ends; nothing is left of connections that have
    ended. Where nothing was changed all arrives, and both ends know that.
*/
#include "mpr.h"
#include "mpr/tls.h"
#include "test/tls/authority.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

using namespace test;

namespace {

void expect(bool good, const char *what) {
    if (!good) {
        fprintf(stderr, "fuzz: %s\n", what);
        abort();
    }
}

/* Settings of one kind of connection. */
struct Kind {
    MprSsl *server, *client;
};

/* Certificates, and settings: with TLS 1.2 or 1.3, with a certificate of the client's or without. */
struct House {
    House() {
        Identity::sign(root, {.name = "Root", .hosts = "", .authority = true}, nullptr);
        Identity::sign(peer, {.name = "peer"}, &root);
        const std::string ca = files.certificates("ca.pem", root), cert = files.certificates("peer.pem", peer),
                          key = files.key("peer.key", peer);
        for (int i = 0; i < 4; i++) {
            for (const bool isServer : {false, true}) {
                MprSsl *ssl = mprCreateSsl(isServer);
                expect(ssl != nullptr, "no settings");
                mprAddRoot(ssl);
                mprSetSslHandshakeTimeout(ssl, -1); /* However busy the machine is */
                mprSetSslLogLevel(ssl, 9);
                mprSetSslProtocols(ssl, i % 2 ? MPR_PROTO_TLSV1_2 : MPR_PROTO_TLSV1_3);
                mprSetSslCaFile(ssl, ca.c_str());
                if (isServer || i / 2) {
                    mprSetSslCertFile(ssl, cert.c_str());
                    mprSetSslKeyFile(ssl, key.c_str());
                }
                mprVerifySslPeer(ssl, !isServer || i / 2 ? "require" : "none");
                (isServer ? kinds[i].server : kinds[i].client) = ssl;
            }
        }
    }

    /* Whoever looks for leaks does not look into the heap, which has the settings. */
    ~House() { mprDestroy(); }

    Identity root, peer;
    Files files;
    Kind kinds[4];
};

/* What is done to the bytes that come at a place, counted from the first. */
struct Change {
    explicit Change(const uint8_t *bytes)
        : what(bytes[0] % 8), toServer(bytes[0] & 8), at(static_cast<size_t>(bytes[1] | bytes[2] << 8) % 4096),
          value(bytes[3]) {}

    int what;
    bool toServer;
    size_t at;
    uint8_t value;
};

/* What goes one way, with its changes. */
struct Way {
    /* Pass on what has come. @return Whether anything moved. */
    bool move() {
        char bytes[4096];
        const ssize_t count = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK)) {
            return end();
        }
        for (ssize_t i = 0; i < count; i++, seen++) {
            pass(bytes[i]);
        }
        const size_t most = held > sent ? held - sent : out.size();
        held = 0; /* The rest comes a turn later */
        const ssize_t wrote =
            out.empty() ? 0 : send(to, out.data(), most < out.size() ? most : out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (wrote > 0) {
            sent += static_cast<size_t>(wrote);
            out.erase(0, static_cast<size_t>(wrote));
        }
        return count > 0 || wrote > 0;
    }

    /* The one who sends has closed: so does this, when all is passed on. */
    bool end() {
        if (ended || !out.empty()) {
            out.clear(); /* Nobody reads it, or this has come last time */
        }
        shutdown(to, SHUT_WR);
        return !std::exchange(ended, true);
    }

    void pass(char byte) {
        std::string now(1, byte);
        for (const Change &change : changes) {
            if (change.at == seen) {
                apply(change, now);
            }
        }
        if (skip > 0) {
            skip--;
            now.clear();
            changed = true;
        }
        last = (last + byte).substr(last.size() < 256 ? 0 : 1);
        if (!cut) {
            out += now;
        }
    }

    void apply(const Change &change, std::string &now) {
        changed = changed || (change.what != 5 && change.what != 6) || (change.what == 5 && change.value);
        switch (change.what) {
        case 0: now.insert(0, 1, static_cast<char>(change.value)); break;
        case 1: skip += change.value; break;
        case 2:
            now.insert(0, last.substr(last.size() - (change.value < last.size() ? change.value : last.size())));
            break;
        case 3: cut = true; break;
        case 4: now.insert(0, std::string("\x15\x03\x03\x00\x02", 5) + "\x02" + static_cast<char>(change.value)); break;
        case 5: now.back() = static_cast<char>(now.back() ^ change.value); break;
        case 6: held = sent + out.size(); break;
        default: now.insert(0, "\x17\x03\x03" + std::string(1, '\0') + static_cast<char>(change.value)); break;
        }
    }

    int from, to;
    std::vector<Change> changes = {};
    std::string out = {}, last = {};
    size_t seen = 0, sent = 0, held = 0, skip = 0;
    bool changed = false, cut = false, ended = false;
};

/* One end: writes a text, and reads what comes. */
struct End {
    End(MprSsl *ssl, int fd, const std::string &text, const std::string &expected) : writes(text), reads(expected) {
        sock = mprCreateSocket();
        expect(sock != nullptr, "no socket");
        mprAddRoot(sock);
        sock->fd = fd;
        alive = mprUpgradeSocket(sock, ssl, "localhost") == 0;
    }
    ~End() {
        mprCloseSocket(sock, false);
        mprRemoveRoot(sock);
    }
    End(const End &) = delete;
    End &operator=(const End &) = delete;

    /* @param mayWrite It is its turn. @return Whether anything happened. */
    bool step(bool mayWrite) {
        char bytes[1000];
        const ssize count = alive ? mprReadSocket(sock, bytes, sizeof(bytes)) : -1;
        if (count > 0) {
            got.append(bytes, static_cast<size_t>(count));
            expect(reads.compare(0, got.size(), got) == 0, "bytes that the other end has not written");
            return true;
        }
        if (count < 0) {
            saidEnd = alive ? count == MPR_ERR : saidEnd;
            return std::exchange(alive, false);
        }
        const size_t left = writes.size() - written;
        const ssize wrote =
            mayWrite && left > 0 ? mprWriteSocket(sock, writes.data() + written, static_cast<ssize>(left)) : 0;
        alive = alive && wrote >= 0;
        written += wrote > 0 ? static_cast<size_t>(wrote) : 0;
        return wrote != 0;
    }
    bool wroteAll() const { return written == writes.size() && !mprSocketHasBufferedWrite(sock); }

    MprSocket *sock;
    const std::string &writes, &reads;
    std::string got;
    size_t written = 0;
    bool alive = false, saidEnd = false, closed = false;
};

class Connection {
public:
    Connection(const Kind &kind, const std::vector<Change> &changes) {
        for (int *pair : {clients, servers}) {
            expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0, "no sockets");
        }
        up = {clients[1], servers[1]};
        down = {servers[1], clients[1]};
        for (const Change &change : changes) {
            (change.toServer ? up : down).changes.push_back(change);
        }
        client.emplace(kind.client, clients[0], question, answer);
        server.emplace(kind.server, servers[0], answer, question);
    }
    ~Connection() {
        close(clients[1]);
        close(servers[1]);
    }

    void run() {
        for (int turns = 0, idle = 0; idle < 3; turns++) {
            expect(turns < 20000, "no end");
            idle = turn() ? 0 : idle + 1;
        }
        const bool changed = up.changed || down.changed;
        const bool whole = client->saidEnd && client->got == answer && server->got == question;
        expect(changed || whole, "it does not arrive though nothing was changed");
        expect(!client->saidEnd || (server->closed && client->got == answer), "an end that nobody has said");
        expect(!server->saidEnd, "an end that the client has not said");
        // Somebody waits for what was taken out, or is not to come: now the connection is cut.
        shutdown(clients[1], SHUT_RDWR);
        shutdown(servers[1], SHUT_RDWR);
        for (int i = 0; i < 100 && (client->alive || server->alive); i++) {
            client->step(true);
            server->step(true);
        }
        expect(!client->alive && !server->alive, "it goes on though it was cut off");
        expect(!client->saidEnd || (server->closed && client->got == answer), "a cut was taken for an end");
    }

private:
    bool turn() {
        bool any = client->step(true);
        any = up.move() || any;
        any = server->step(server->got == question) || any;
        if (server->alive && server->wroteAll()) {
            mprCloseSocket(server->sock, true);
            server->closed = any = true;
            server->alive = false;
        }
        return down.move() || any;
    }

    static const std::string question, answer;
    int clients[2], servers[2];
    Way up{}, down{};
    std::optional<End> client, server;
};
const std::string Connection::question(300, 'q'), Connection::answer(5000, 'a');

/* What connections that have ended leave behind is what they left the first time. */
void checkNothingLeft() {
    static size_t usual = 0;
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    const size_t now = mprGetSslMemory();
    usual = usual ? usual : now;
    expect(now > 0 && now < usual + (256 << 10), "connections leave memory behind");
}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Mpr *const mpr = mprCreate(0, nullptr, 0);
    static const bool loaded = mpr && mprLoadSsl() == 0; // first, so that all of OpenSSL's memory is counted
    if (!loaded || size > 1 << 12) {
        return loaded ? 0 : -1;
    }
    static const House house;
    static unsigned count = 0;
    std::vector<Change> changes;
    for (size_t at = 1; at + 4 <= size; at += 4) {
        changes.emplace_back(data + at);
    }
    Connection(house.kinds[size > 0 ? data[0] % 4 : 0], changes).run();
    mprYield(MPR_YIELD_DEFAULT);
    if (count++ % 256 == 255) {
        checkNothingLeft();
    }
    return 0;
}
