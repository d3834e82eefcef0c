// SPDX-License-Identifier: MIT
/*
    test/tls/secure.cpp - Secure sockets as sockets: blocking and by events, short writes, large transfers by several threads,
    connections that end in the wrong way, and what all of it costs.
 */
#include "mpr/gc/manager.hpp"
#include "mpr/gc/runtime.hpp"
#include "test/support/dying.hpp"
#include "test/support/service.hpp"
#include "test/tls/pair.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

using namespace test;

namespace {

char byteAt(size_t at) {
    return static_cast<char>(at % 251);
}

std::vector<char> pattern(size_t size) {
    std::vector<char> data(size);
    for (size_t i = 0; i < size; i++) {
        data[i] = byteAt(i);
    }
    return data;
}

/* So little room that a record does not fit. */
void makeSmall(MprSocket *from, MprSocket *to) {
    const int little = 1;
    setsockopt(from->fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof(little));
    setsockopt(to->fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
}

/* Write until the system takes no more. @return How much was written. */
size_t fill(MprSocket *sp, const std::vector<char> &data) {
    size_t total = 0;
    for (int refusals = 0; refusals < 3 && total < data.size();) {
        const ssize count = mprWriteSocket(sp, data.data() + total, static_cast<ssize>(data.size() - total));
        REQUIRE(count >= 0);
        total += static_cast<size_t>(count);
        refusals += count == 0;
    }
    return total;
}

/* Read what has come. @return Whether it is the pattern's continuation. */
bool drain(MprSocket *sp, std::string &got) {
    char buf[5000];
    ssize count = 0;
    while ((count = mprReadSocket(sp, buf, sizeof(buf))) > 0) {
        got.append(buf, static_cast<size_t>(count));
    }
    return count == 0;
}

} // namespace

TEST_CASE("what the system does not take as a whole is written again, and arrives once", "[tls]") {
    Runtime runtime;
    House house;
    Pair pair;
    REQUIRE(pair.shake(house.makeServer(), house.makeClient()));
    makeSmall(pair.client, pair.server);
    const std::vector<char> data = pattern(4 << 20);
    size_t total = fill(pair.client, data);
    REQUIRE(total < data.size());
    const size_t more = total + 40000; // some records
    CHECK(mprSocketHasBufferedWrite(pair.client));
    CHECK_FALSE(mprSocketHasBufferedRead(pair.client));
    std::string got;
    CHECK(until([&] {
        // In pieces of other sizes than before.
        const size_t piece = std::min<size_t>(data.size() - total, 777);
        const ssize count = mprWriteSocket(pair.client, data.data() + total, static_cast<ssize>(piece));
        total += count > 0 ? static_cast<size_t>(count) : 0;
        return !drain(pair.server, got) || count < 0 || total >= more;
    }));
    CHECK(until([&] { return !drain(pair.server, got) || got.size() >= total; }));
    CHECK(memcmp(got.data(), data.data(), total) == 0);
}

TEST_CASE("a program that writes other bytes than those that were not taken loses nothing", "[tls]") {
    Runtime runtime;
    House house;
    Pair pair;
    REQUIRE(pair.shake(house.makeServer(), house.makeClient()));
    makeSmall(pair.client, pair.server);
    const std::vector<char> data = pattern(4 << 20);
    const size_t total = fill(pair.client, data);
    REQUIRE(mprSocketHasBufferedWrite(pair.client));
    collect(); // what is held back is kept
    std::string got;
    ssize flushed = 0;
    CHECK(until([&] {
        flushed = mprFlushSocket(pair.client);
        return !drain(pair.server, got) || flushed < 0 || !mprSocketHasBufferedWrite(pair.client);
    }));
    CHECK(flushed == 0);
    ssize written = 0; // the system may still be full of what was there before
    CHECK(until([&] {
        written = mprWriteSocket(pair.client, "other", 5);
        return !drain(pair.server, got) || written != 0;
    }));
    CHECK(written == 5);
    CHECK(until([&] { return !drain(pair.server, got) || got.size() >= total + 16384 + 5; }));
    REQUIRE(got.size() == total + 16384 + 5);
    CHECK(memcmp(got.data(), data.data(), total + 16384) == 0);
    CHECK(got.substr(got.size() - 5) == "other");
}

TEST_CASE("blocking sockets shake hands and write all, yielded", "[tls]") {
    Runtime runtime("deadline=5000");
    House house;
    MprSsl *serverSsl = house.makeServer(), *clientSsl = house.makeClient();
    Pair pair(MPR_SOCKET_BLOCK);
    std::atomic<int> upgraded{1};
    std::atomic<size_t> got{0}, wrong{0};
    Mutator reader("reader", [&](Mutator &) {
        upgraded = mprUpgradeSocket(pair.server, serverSsl, nullptr);
        std::vector<char> buf(30000);
        for (ssize count; (count = mprReadSocket(pair.server, buf.data(), ssize(buf.size()))) > 0;) {
            for (size_t i = 0; i < size_t(count); i++) {
                wrong += buf[i] != byteAt(got + i);
            }
            got += size_t(count);
        }
    });
    CHECK(mprUpgradeSocket(pair.client, clientSsl, "localhost") == 0);
    CHECK(str(pair.client->peerName) == "server");
    const size_t total = heavy(8 << 20), half = total / 2;
    std::vector<char> data = pattern(total);
    CHECK(mprWriteSocket(pair.client, data.data(), ssize(half)) == ssize(half));
    collect();
    MprIOVec pieces[] = {
        {data.data() + half, 1000}, {data.data(), 0}, {data.data() + half + 1000, total - half - 1000}};
    CHECK(mprWriteSocketVector(pair.client, pieces, 3) == ssize(total - half));
    mprCloseSocket(pair.client, true);
    reader.join();
    CHECK(upgraded == 0);
    CHECK(got == total);
    CHECK(wrong == 0);
    CHECK_FALSE(pair.server->errorMsg);
    CHECK(stats().late == 0);
}

TEST_CASE("several threads share what connections have in common", "[tls]") {
    Runtime runtime("deadline=5000");
    House house;
    MprSsl *serverSsl = house.makeServer(), *clientSsl = house.makeClient();
    const size_t total = heavy(2 << 20);
    std::vector<char> data = pattern(total);
    std::atomic<int> good{0};
    Pair pairs[] = {Pair(MPR_SOCKET_BLOCK), Pair(MPR_SOCKET_BLOCK), Pair(MPR_SOCKET_BLOCK)};
    std::atomic<int> nextServer{0}, nextClient{0};
    const auto serve = [&](Mutator &) {
        MprSocket *sp = pairs[nextServer++].server;
        std::vector<char> buf(9000);
        mprUpgradeSocket(sp, serverSsl, nullptr);
        for (ssize count; (count = mprReadSocket(sp, buf.data(), ssize(buf.size()))) > 0;) {
            mprWriteSocket(sp, buf.data(), count);
        }
        mprCloseSocket(sp, true);
    };
    const auto talk = [&](Mutator &) {
        MprSocket *sp = pairs[nextClient++].client;
        std::vector<char> buf(20000);
        bool same = mprUpgradeSocket(sp, clientSsl, nullptr) == 0;
        for (size_t at = 0; same && at < total;) {
            const size_t piece = std::min(buf.size(), total - at);
            same = mprWriteSocket(sp, data.data() + at, ssize(piece)) == ssize(piece);
            for (size_t back = 0; same && back < piece;) {
                const ssize count = mprReadSocket(sp, buf.data() + back, ssize(piece - back));
                same = count > 0;
                back += same ? size_t(count) : 0;
            }
            same = same && memcmp(buf.data(), data.data() + at, piece) == 0;
            at += piece;
            mprPreloadSsl(serverSsl, 0); // while the others are at it
            mprYield(0);
        }
        mprCloseSocket(sp, true);
        good += same;
    };
    {
        Mutator a("a", serve), b("b", serve), c("c", serve);
        doInThreeThreads(talk);
    }
    CHECK(good == 3);
}

namespace {

/* A server and a client that live from events. */
struct Talk {
    MprSocket *server, *client;
    size_t sent, got, total;
    int events;
    bool ended;
};
Talk talk;
MprSsl *eventsServer;

void serve(void *, MprEvent *event) {
    char buf[7]; // less than there is: the rest must be told of, too
    talk.events++;
    if (event->mask & MPR_READABLE) {
        const ssize count = mprReadSocket(talk.server, buf, talk.got < 700 ? 7 : 1);
        for (ssize i = 0; i < count; i++) {
            talk.got += buf[i] == byteAt(talk.got);
        }
        if (count < 0) {
            talk.ended = true;
            mprCloseSocket(talk.server, true);
            return;
        }
        char rest[3000];
        for (ssize more; talk.got >= 700 && (more = mprReadSocket(talk.server, rest, sizeof(rest))) > 0;) {
            for (ssize i = 0; i < more; i++) {
                talk.got += rest[i] == byteAt(talk.got);
            }
        }
    }
    mprEnableSocketEvents(talk.server, MPR_READABLE);
}

void accept(void *listener, MprEvent *) {
    talk.server = rooted(mprAcceptSocket(static_cast<MprSocket *>(listener)));
    CHECK(mprUpgradeSocket(talk.server, eventsServer, nullptr) == 0);
    CHECK(mprSocketHandshaking(talk.server));
    REQUIRE(mprAddSocketHandler(talk.server, MPR_READABLE, nullptr, serve, nullptr, 0));
}

void send(void *data, MprEvent *event) {
    const auto &bytes = *static_cast<std::vector<char> *>(data);
    CHECK(event->mask == MPR_WRITABLE);
    const ssize count = mprWriteSocket(talk.client, bytes.data() + talk.sent, ssize(talk.total - talk.sent));
    REQUIRE(count >= 0);
    talk.sent += size_t(count);
    if (talk.sent < talk.total) {
        mprEnableSocketEvents(talk.client, MPR_WRITABLE);
    } else {
        mprCloseSocket(talk.client, true);
    }
}

} // namespace

TEST_CASE("secure sockets live from events", "[tls]") {
    Runtime runtime;
    House house;
    talk = {};
    eventsServer = house.makeServer();
    talk.total = heavy(1 << 20);
    std::vector<char> data = pattern(talk.total);
    MprSocket *listener = Pair::listen();
    REQUIRE(mprAddSocketHandler(listener, MPR_READABLE, nullptr, accept, listener, 0));
    talk.client = rooted(mprCreateSocket());
    REQUIRE(mprConnectSocket(talk.client, "127.0.0.1", listener->port, 0) == 0);
    // The handler is there before the socket is secure; it waits for writing, when the handshake has to read.
    REQUIRE(mprAddSocketHandler(talk.client, MPR_WRITABLE, nullptr, send, &data, 0));
    MprSsl *client = house.makeClient();
    CHECK(mprUpgradeSocket(talk.client, client, "localhost") == 0);
    CHECK(mprSocketHandshaking(talk.client));
    CHECK(str(mprGetSocketState(talk.client)) == "{\"handshaking\":true}");
    CHECK(serviceUntil([] { return talk.ended; }));
    CHECK(talk.sent == talk.total);
    CHECK(talk.got == talk.total);
    CHECK(talk.events >= 100);
    CHECK_FALSE(talk.server->errorMsg);
}

TEST_CASE("a thread that waits during a handshake is not woken all the time", "[tls]") {
    Runtime runtime;
    House house;
    talk = {};
    Pair pair;
    talk.server = pair.server;
    CHECK(mprUpgradeSocket(pair.server, house.makeServer(), nullptr) == 0);
    int calls = 0;
    const auto count = [](void *calls, MprEvent *) {
        ++*static_cast<int *>(calls);
        CHECK(mprWriteSocket(talk.server, "x", 1) == 0);
        mprEnableSocketEvents(talk.server, MPR_WRITABLE);
    };
    REQUIRE(mprAddSocketHandler(pair.server, MPR_WRITABLE, nullptr, +count, &calls, 0));
    for (int i = 0; i < 20; i++) {
        mprServiceEvents(1, MPR_SERVICE_ONE_THING);
    }
    CHECK(calls == 0); // the client says nothing
    CHECK(mprWriteSocket(pair.client, "\x16\x03\x01", 3) == 3);
    CHECK(serviceUntil([&] { return calls > 0; }));
    CHECK(mprSocketHandshaking(pair.server));
}

TEST_CASE("a peer that does not speak TLS, stops, or says nothing at all", "[tls]") {
    Runtime runtime;
    House house;
    MprSsl *server = house.makeServer();
    char buf[10];
    {
        Pair pair;
        CHECK(mprUpgradeSocket(pair.server, server, nullptr) == 0);
        CHECK(mprWriteSocketString(pair.client, "GET / HTTP/1.1\r\n\r\n") == 18);
        CHECK(Pair::readNext(pair.server, buf, 1) == MPR_ERR_NETWORK);
        CHECK(str(pair.server->errorMsg) == "http request");
        CHECK(mprIsSocketEof(pair.server));
        CHECK_FALSE(mprSocketHandshaking(pair.server));
        CHECK(mprReadSocket(pair.server, buf, 1) == MPR_ERR_NETWORK);
        CHECK(mprWriteSocket(pair.server, buf, 1) == MPR_ERR_NETWORK);
        CHECK(mprFlushSocket(pair.server) == MPR_ERR_NETWORK);
    }
    {
        Pair pair;
        CHECK(mprUpgradeSocket(pair.server, server, nullptr) == 0);
        CHECK(mprWriteSocket(pair.client, "\x16\x03\x01\x02\x00", 5) == 5);
        mprCloseSocket(pair.client, true);
        CHECK(Pair::readNext(pair.server, buf, 1) == MPR_ERR_NETWORK);
        CHECK(str(pair.server->errorMsg) == "the peer has ended the connection during the handshake");
    }
    {
        Pair pair;
        mprSetSslHandshakeTimeout(server, 20);
        mprSetSocketBlockingMode(pair.server, true);
        CHECK(mprUpgradeSocket(pair.server, server, nullptr) == MPR_ERR_TIMEOUT);
        CHECK(str(pair.server->errorMsg) == "the peer takes too long for the handshake");
    }
    CHECK(runtime.log.count("error mpr tls") == 0); // level 1 is not logged
    mprSetSslLogLevel(server, 0);
    {
        Pair pair;
        mprSetSocketBlockingMode(pair.server, true);
        mprCloseSocket(pair.client, true);
        CHECK(mprUpgradeSocket(pair.server, server, nullptr) == MPR_ERR_CANT_CONNECT);
        CHECK(runtime.log.has("no secure connection with 127.0.0.1 port"));
    }
}

TEST_CASE("a connection that is cut off is no end", "[tls]") {
    Runtime runtime;
    House house;
    char buf[10];
    {
        Pair pair;
        REQUIRE(pair.shake(house.makeServer(), house.makeClient()));
        CHECK(mprWriteSocket(pair.server, "half", 4) == 4);
        close(mprStealSocketHandle(pair.server));
        CHECK(Pair::readAll(pair.client, buf, 4) == 4);
        CHECK(Pair::readNext(pair.client, buf, 1) == MPR_ERR_NETWORK);
        CHECK(str(pair.client->errorMsg).find("cut off") != std::string::npos);
        CHECK(runtime.log.has("cut off"));
    }
    {
        Pair pair;
        REQUIRE(pair.shake(house.makeServer(), house.makeClient()));
        mprCloseSocket(pair.server, false);
        CHECK(Pair::readNext(pair.client, buf, 1) == MPR_ERR_NETWORK);
        CHECK(str(pair.client->errorMsg) == "Connection reset by peer");
    }
    {
        Pair pair; // what somebody has changed on the way
        REQUIRE(pair.shake(house.makeServer(), house.makeClient()));
        const int fd = mprStealSocketHandle(pair.server);
        CHECK(write(fd, "\x17\x03\x03\x00\x20 not what was agreed on, not at all.", 37) == 37);
        CHECK(Pair::readNext(pair.client, buf, 1) == MPR_ERR_NETWORK);
        CHECK(str(pair.client->errorMsg).find("bad record mac") != std::string::npos);
        close(fd);
    }
}

TEST_CASE("sockets that nobody references give their TLS back", "[tls]") {
    Runtime runtime;
    House house;
    MprSsl *server = house.makeServer(), *client = house.makeClient();
    MprSocket *listener = Pair::listen();
    {
        Pair pair(listener); // with what is made once
        REQUIRE(pair.shake(server, client));
    }
    collect();
    const size_t before = mprGetSslMemory();
    CHECK(before > 0);
    for (int i = 0; i < 20; i++) {
        Pair pair(listener);
        REQUIRE(pair.shake(server, client));
        // Its end, in a moment, finds others; the collector ends these.
        for (MprSocket **sp : {&pair.client, &pair.server}) {
            mprRemoveRoot(*sp);
            *sp = rooted(mprCreateSocket());
        }
        INFO(i << ": " << before << ", " << mprGetSslMemory());
        CHECK(mprGetSslMemory() > before + 2 * 1000);
        CHECK(until([&] {
            collect();
            return mprGetSslMemory() < before + 10 * 1000;
        }));
    }
}

TEST_CASE("a file goes over a secure socket", "[tls]") {
    Runtime runtime;
    House house;
    Pair pair;
    REQUIRE(pair.shake(house.makeServer(), house.makeClient()));
    const std::string path = house.files.folder.write("page", "the file's text");
    MprFile *file = rooted(mprOpenFile(path.c_str(), O_RDONLY, 0));
    MprIOVec before = {const_cast<char *>("<"), 1}, after = {const_cast<char *>(">"), 1};
    CHECK(mprSendFileToSocket(pair.server, file, 4, 6, &before, 1, &after, 1) == 8);
    char buf[9] = "";
    CHECK(Pair::readAll(pair.client, buf, 8) == 8);
    CHECK(std::string(buf) == "<file's>");
}

TEST_CASE("TLS can be provided by somebody else, or nobody", "[tls]") {
    Runtime runtime;
    House house;
    MprSsl *client = house.makeClient();
    mprSetSslProvider(nullptr);
    CHECK_FALSE(mprHasSecureSockets());
    Pair pair;
    CHECK(mprUpgradeSocket(pair.client, client, nullptr) == MPR_ERR_BAD_STATE);
    CHECK(runtime.log.has("libmpr_tls"));
    CHECK(mprLoadSsl() == 0);
    CHECK(mprHasSecureSockets());
}

namespace {

/* What says goodbye over its socket, which dies with it. */
struct Guest {
    MprSocket *sock;
};
std::atomic<bool> leaving{false}, left{false};
std::atomic<ssize> heard{0};

void manageGuest(void *ptr, int flags) {
    auto *guest = static_cast<Guest *>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMark(guest->sock);
    } else if ((flags & MPR_MANAGE_FREE) && guest->sock) {
        char buf[8];
        leaving = true;
        heard = mprReadSocket(guest->sock, buf, 5); // closed, if it was freed first
        left = true;
    }
}
} // namespace

TEST_CASE("a manager waits for a secure socket that is dead, too", "[tls]") {
    Log log;
    Runtime runtime("deadline=5000");
    House house;
    MprSsl *serverSsl = house.makeServer(), *clientSsl = house.makeClient();
    heard = 0;
    for (int i = 0; i < 200 && heard != 5; i++) {
        // Before the socket, so that it is called before the socket mostly. In stress mode it may lie anywhere.
        auto *guest = static_cast<Guest *>(rooted(mprAllocManaged(sizeof(Guest), manageGuest, MPR_ALLOC_ZERO)));
        REQUIRE(guest);
        Pair pair(MPR_SOCKET_BLOCK);
        leaving = left = false;
        Mutator peer("peer", [&](Mutator &) {
            if (mprUpgradeSocket(pair.server, serverSsl, nullptr) == 0 && until([] { return leaving.load(); })) {
                pause(50);
                mprWriteSocket(pair.server, "bytes", 5);
            }
        });
        REQUIRE(mprUpgradeSocket(pair.client, clientSsl, "localhost") == 0);
        guest->sock = pair.client;
        mprRemoveRoot(pair.client);
        mprRemoveRoot(guest);
        pair.client = rooted(mprCreateSocket());
        CHECK(until([] {
            collect();
            return left.load();
        }));
        peer.join();
    }
    CHECK(heard == 5);
    CHECK_FALSE(Log::has("mprAddRoot"));
    CHECK_FALSE(Log::has("mprRemoveRoot"));
}

TEST_CASE("managers may use a secure socket that is dead, too, until its own has been called", "[tls]") {
    Log log;
    Runtime runtime;
    House house;
    Pair pair;
    REQUIRE(pair.shake(house.makeServer(), house.makeClient()));
    // When both are dead the collector calls the managers in whatever order: that of the socket's TLS may be the first.
    void *tls = pair.client->sslSocket;
    mpr::heap::Region *const region = mpr::gc::runtime().heap.find(tls);
    mpr::gc::managerOf(tls, region->blockSize(region->granuleOf(tls)))(tls, MPR_MANAGE_FREE);
    CHECK(mprWriteSocket(pair.server, "bytes", 5) == 5);
    char buf[8];
    CHECK(Pair::readAll(pair.client, buf, 5) == 5);
    mprCloseSocket(pair.client, true); // as the manager of a connection does it
    CHECK(mprReadSocket(pair.client, buf, 5) < 0);
    CHECK(Log::text() == "");
}

TEST_CASE("a secure socket that nobody references takes its TLS along", "[tls]") {
    Runtime runtime;
    House house;
    MprSsl *serverSsl = house.makeServer(), *clientSsl = house.makeClient();
    ssize before = 0;
    for (int i = 0; i < 20; i++) {
        Pair pair;
        REQUIRE(pair.shake(serverSsl, clientSsl));
        for (MprSocket **sock : {&pair.client, &pair.server}) {
            mprRemoveRoot(*sock);
            *sock = rooted(mprCreateSocket());
        }
        collect();
        before = i == 10 ? static_cast<ssize>(mprGetSslMemory()) : before;
    }
    CHECK(until([&] {
        collect();
        return static_cast<ssize>(mprGetSslMemory()) < before + 20'000; // some hundred thousand, were they to stay
    }));
}

TEST_CASE("managers may use settings that are dead, whether or not their own was called", "[tls]") {
    Runtime runtime("poison=1");
    House house;
    static std::atomic<int> refused;
    refused = 0;
    ssize before = 0;
    for (int i = 0; i < 20; i++) {
        useWhileDying(
            [&] {
                MprSsl *ssl = mprCreateSsl(0);
                mprSetSslCaFile(ssl, house.ca.c_str());
                CHECK(mprPreloadSsl(ssl, 0) == 0);
                return ssl;
            },
            [](void *ptr) {
                auto *ssl = static_cast<MprSsl *>(ptr);
                mprVerifySslDepth(ssl, 1);
                refused += mprPreloadSsl(ssl, 0) != 0;
            });
        before = i == 10 ? static_cast<ssize>(mprGetSslMemory()) : before;
    }
    CHECK(refused > 0);
    CHECK(Log::has("the settings have been collected"));
    CHECK(static_cast<ssize>(mprGetSslMemory()) < before + 20'000);
    CHECK(stats().misuses == 0);
}

TEST_CASE("a connection that a manager makes secure while the runtime ends leaves nothing to the next", "[tls]") {
    const auto connect = [] {
        MprSocket *sp = rooted(mprCreateSocket());
        REQUIRE(mprConnectSocket(sp, "127.0.0.1", Pair::listen()->port, 0) == 0);
        return sp;
    };
    static int begun; // with settings for all clients, which would be there for the next runtime, too
    begun = 0;
    {
        Runtime runtime;
        REQUIRE(mprLoadSsl() == 0);
        useAtEnd(runtime, connect,
                 [](void *sp) { begun += mprUpgradeSocket(static_cast<MprSocket *>(sp), nullptr, "localhost") == 0; });
    }
    CHECK(begun == 0);
    Runtime runtime("poison=1");
    REQUIRE(mprLoadSsl() == 0);
    CHECK(mprUpgradeSocket(connect(), nullptr, "localhost") == 0); // begins
    collect();
}
