// SPDX-License-Identifier: MIT
/*
    test/io/socket.cpp - Sockets: both families, blocking and by events, ends and errors, addresses.
 */
#include "test/support/folder.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/service.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

using namespace test;

namespace {

constexpr cchar *loopbacks[] = {"127.0.0.1", "::1"};

bool hasLoopback(cchar *ip) {
    MprSocket *sp = mprCreateSocket();
    bool has = mprListenOnSocket(sp, ip, 0, 0) != SOCKET_ERROR;
    mprCloseSocket(sp, true);
    Log::clear();
    return has;
}

std::string str(cchar *text) {
    return text ? text : "(null)";
}

/* A listener and a connection to it; all of it rooted. */
struct Connection {
    MprSocket *listener, *client, *server;

    explicit Connection(int flags = 0, cchar *ip = "127.0.0.1") {
        listener = rooted(mprCreateSocket());
        REQUIRE(mprListenOnSocket(listener, ip, 0, flags) != SOCKET_ERROR);
        client = rooted(mprCreateSocket());
        REQUIRE(mprConnectSocket(client, ip, listener->port, flags) == 0);
        REQUIRE(mprWaitForSingleIO(listener->fd, MPR_READABLE, 5000) == MPR_READABLE);
        server = rooted(mprAcceptSocket(listener));
    }
    ~Connection() {
        for (MprSocket *sp : {listener, client, server}) {
            mprRemoveRoot(sp);
        }
    }
    static MprSocket *rooted(MprSocket *sp) {
        REQUIRE(sp);
        mprAddRoot(sp);
        return sp;
    }
};

} // namespace

TEST_CASE("a connection carries bytes both ways, in both families", "[io][socket]") {
    Runtime runtime;
    for (cchar *ip : loopbacks) {
        if (!hasLoopback(ip)) {
            WARN("no " << ip);
            continue;
        }
        Connection c(0, ip);
        CHECK(strcmp(c.server->ip, ip) == 0);
        CHECK(strcmp(c.server->acceptIp, ip) == 0);
        CHECK(c.server->acceptPort == c.listener->port);
        CHECK(c.server->listenSock == c.listener);
        CHECK(mprGetSocketPort(c.client) == c.listener->port);
        char buf[100];
        CHECK(mprReadSocket(c.server, buf, sizeof(buf)) == 0); // nothing yet
        CHECK(mprWriteSocket(c.client, "he\0llo", 6) == 6);
        CHECK(mprWaitForSingleIO(c.server->fd, MPR_READABLE, 5000) == MPR_READABLE);
        CHECK(mprReadSocket(c.server, buf, sizeof(buf)) == 6);
        CHECK(memcmp(buf, "he\0llo", 6) == 0);
        MprIOVec pieces[] = {
            {const_cast<char *>("one"), 3}, {const_cast<char *>(""), 0}, {const_cast<char *>("two"), 3}};
        CHECK(mprWriteSocketVector(c.server, pieces, 3) == 6);
        CHECK(mprWaitForSingleIO(c.client->fd, MPR_READABLE, 5000) == MPR_READABLE);
        CHECK(mprReadSocket(c.client, buf, sizeof(buf)) == 6);
        CHECK(memcmp(buf, "onetwo", 6) == 0);
        CHECK_FALSE(mprIsSocketEof(c.client));
        mprCloseSocket(c.server, true);
        CHECK(mprWaitForSingleIO(c.client->fd, MPR_READABLE, 5000) == MPR_READABLE);
        CHECK(mprReadSocket(c.client, buf, sizeof(buf)) < 0);
        CHECK(mprIsSocketEof(c.client));
        CHECK(mprIsSocketEof(c.server));
    }
}

TEST_CASE("a listener on all addresses takes both families", "[io][socket]") {
    Runtime runtime;
    for (cchar *all : {static_cast<cchar *>(nullptr), "", "*"}) {
        MprSocket *listener = Connection::rooted(mprCreateSocket());
        REQUIRE(mprListenOnSocket(listener, all, 0, 0) != SOCKET_ERROR);
        CHECK(listener->ip == nullptr);
        for (cchar *ip : loopbacks) {
            if (ip[0] == ':' && (!mprHasDualNetworkStack() || !hasLoopback(ip))) {
                continue;
            }
            MprSocket *client = Connection::rooted(mprCreateSocket());
            CHECK(mprConnectSocket(client, ip, listener->port, 0) == 0);
            CHECK(mprWaitForSingleIO(listener->fd, MPR_READABLE, 5000) == MPR_READABLE);
            MprSocket *server = mprAcceptSocket(listener);
            REQUIRE(server);
            CHECK(strcmp(server->ip, ip) == 0); // also IPv4 through a socket of IPv6
            mprRemoveRoot(client);
        }
        mprRemoveRoot(listener);
    }
}

TEST_CASE("blocking sockets wait, yielded, and write all", "[io][socket]") {
    Runtime runtime("deadline=5000"); // what comes is looked at between two yields, slowly under a sanitizer
    Connection c(MPR_SOCKET_BLOCK);
    const size_t total = heavy(8 << 20);
    std::atomic<size_t> got{0}, wrong{0};
    std::atomic<bool> ended{false};
    Mutator reader("reader", [&](Mutator &) {
        std::vector<unsigned char> buf(65536);
        for (ssize n; (n = mprReadSocket(c.server, buf.data(), ssize(buf.size()))) > 0;) {
            const size_t before = got;
            size_t different = 0;
            for (size_t i = 0; i < size_t(n); i++) {
                different += buf[i] != static_cast<unsigned char>((before + i) % 251);
            }
            wrong += different;
            got = before + size_t(n);
        }
        ended = mprIsSocketEof(c.server);
    });
    std::vector<char> data(total);
    for (size_t i = 0; i < total; i++) {
        data[i] = static_cast<char>(i % 251);
    }
    size_t half = total / 2 / 251 * 251;
    CHECK(mprWriteSocket(c.client, data.data(), ssize(half)) == ssize(half));
    collect();
    MprIOVec pieces[] = {{data.data() + half, 1000}, {data.data() + half + 1000, total - half - 1000}};
    CHECK(mprWriteSocketVector(c.client, pieces, 2) == ssize(total - half));
    mprCloseSocket(c.client, true);
    reader.join();
    CHECK(got == total);
    CHECK(wrong == 0);
    CHECK(ended);
    CHECK(stats().late == 0);
}

TEST_CASE("mprAcceptSocket waits in blocking mode only", "[io][socket]") {
    Runtime runtime("deadline=100");
    MprSocket *listener = Connection::rooted(mprCreateSocket());
    REQUIRE(mprListenOnSocket(listener, "127.0.0.1", 0, 0) != SOCKET_ERROR);
    CHECK(mprAcceptSocket(listener) == nullptr);
    CHECK(mprSetSocketBlockingMode(listener, true) == 0);
    CHECK(mprSetSocketBlockingMode(listener, true) != 0);
    Mutator client("client", [&](Mutator &) {
        mprSleep(20);
        MprSocket *sp = Connection::rooted(mprCreateSocket());
        mprConnectSocket(sp, "127.0.0.1", listener->port, 0);
        mprRemoveRoot(sp);
    });
    CHECK(mprAcceptSocket(listener) != nullptr);
    mprRemoveRoot(listener);
}

TEST_CASE("a reader that waits finds the end when another thread disconnects", "[io][socket]") {
    Runtime runtime;
    Connection c(MPR_SOCKET_BLOCK);
    std::atomic<ssize> result{1};
    Mutator reader("reader", [&](Mutator &) {
        char buf[10];
        result = mprReadSocket(c.server, buf, sizeof(buf));
    });
    sleepYielded(20);
    mprDisconnectSocket(c.server);
    reader.join();
    CHECK(result < 0);
}

TEST_CASE("a connection that is reset is an error, and a write to it raises no signal", "[io][socket]") {
    Runtime runtime;
    Connection c;
    mprCloseSocket(c.server, false);
    CHECK(mprWaitForSingleIO(c.client->fd, MPR_READABLE, 5000) == MPR_READABLE);
    char buf[10];
    CHECK(mprReadSocket(c.client, buf, sizeof(buf)) < 0);
    CHECK(mprGetOsError() == ECONNRESET);
    CHECK(mprIsSocketEof(c.client));
    for (int i = 0; i < 3; i++) {
        CHECK(mprWriteSocket(c.client, "x", 1) < 0);
    }
    CHECK(mprGetError() == MPR_ERR_NETWORK);
}

TEST_CASE("an echo server of events, a hundred clients", "[io][socket]") {
    Runtime runtime;
    static std::atomic<int> served, wrong;
    served = wrong = 0;
    REQUIRE(mprStart() == 0);
    MprSocket *listener = Connection::rooted(mprCreateSocket());
    REQUIRE(mprListenOnSocket(listener, "127.0.0.1", 0, 0) != SOCKET_ERROR);
    auto echo = +[](void *data, MprEvent *event) {
        auto sp = static_cast<MprSocket *>(data);
        char buf[1024];
        ssize count = mprReadSocket(sp, buf, sizeof(buf));
        if (count < 0) {
            mprCloseSocket(sp, true);
            served++;
            return;
        }
        wrong += !(event->mask & MPR_READABLE) || mprWriteSocket(sp, buf, count) != count;
        mprEnableSocketEvents(sp, MPR_READABLE);
    };
    static decltype(echo) onData;
    onData = echo;
    mprAddSocketHandler(listener, MPR_READABLE, nullptr, reinterpret_cast<void *>(+[](void *data, MprEvent *) {
                            auto listener = static_cast<MprSocket *>(data);
                            while (MprSocket *sp = mprAcceptSocket(listener)) {
                                // Nobody but its handler retains it.
                                wrong += !mprAddSocketHandler(sp, MPR_READABLE, mprCreateDispatcher("connection", 0),
                                                              reinterpret_cast<void *>(onData), sp, 0);
                            }
                            mprEnableSocketEvents(listener, MPR_READABLE);
                        }),
                        listener, 0);
    int files = countEntries("/proc/self/fd");
    for (int i = 0; i < 100; i++) {
        MprSocket *sp = Connection::rooted(mprCreateSocket());
        REQUIRE(mprConnectSocket(sp, "127.0.0.1", listener->port, MPR_SOCKET_BLOCK | MPR_SOCKET_NODELAY) == 0);
        std::string text = "message " + std::to_string(i);
        for (int n = 0; n < 3; n++) {
            CHECK(mprWriteSocketString(sp, text.c_str()) == ssize(text.size()));
            char buf[100] = "";
            ssize got = 0;
            while (got < ssize(text.size())) {
                ssize count = mprReadSocket(sp, buf + got, ssize(sizeof(buf)) - got);
                REQUIRE(count > 0);
                got += count;
            }
            CHECK(text == std::string(buf, size_t(got)));
        }
        mprCloseSocket(sp, true);
        mprRemoveRoot(sp);
        if (i % 10 == 0) {
            collect();
        }
    }
    CHECK(until([] { return served == 100; }));
    CHECK(wrong == 0);
    CHECK(countEntries("/proc/self/fd") == files);
    mprRemoveRoot(listener);
}

TEST_CASE("sockets that nobody references are closed by the collector", "[io][socket]") {
    Runtime runtime("everyyield=0");
    mprGetDispatcher();
    MprSocket *listener = Connection::rooted(mprCreateSocket());
    REQUIRE(mprListenOnSocket(listener, "127.0.0.1", 0, 0) != SOCKET_ERROR);
    int files = countEntries("/proc/self/fd");
    for (int i = 0; i < 50; i++) {
        MprSocket *sp = mprCreateSocket();
        mprHold(sp);
        REQUIRE(mprConnectSocket(sp, "127.0.0.1", listener->port, 0) == 0);
        REQUIRE(mprWaitForSingleIO(listener->fd, MPR_READABLE, 5000) == MPR_READABLE);
        MprSocket *peer = mprAcceptSocket(listener);
        REQUIRE(peer);
        // With a handler that does not wait: both die together, in whatever order.
        REQUIRE(
            mprAddSocketHandler(peer, 0, nullptr, reinterpret_cast<void *>(+[](void *, MprEvent *) {}), nullptr, 0));
        mprRelease(sp);
    }
    CHECK(countEntries("/proc/self/fd") == files + 100);
    collect();
    CHECK(countEntries("/proc/self/fd") == files);
    mprServiceEvents(1, 0);
    Connection another; // the numbers are used again, and libuv knows
    static std::atomic<int> runs;
    runs = 0;
    REQUIRE(mprAddSocketHandler(another.server, MPR_READABLE, nullptr,
                                reinterpret_cast<void *>(+[](void *, MprEvent *) { runs++; }), nullptr, 0));
    mprServiceEvents(0, 0);
    mprWriteSocketString(another.client, "x");
    mprServiceEvents(5000, MPR_SERVICE_ONE_THING);
    CHECK(runs == 1);
    mprRemoveRoot(listener);
}

TEST_CASE("a socket's handler is replaced by the next, and removed", "[io][socket]") {
    Runtime runtime;
    Connection c;
    static int first, second;
    first = second = 0;
    auto never = [](void *, MprEvent *) { first++; };
    REQUIRE(mprAddSocketHandler(c.server, MPR_READABLE, nullptr, +never, nullptr, 0));
    auto again = [](void *data, MprEvent *event) {
        second++;
        CHECK(event->mask == MPR_READABLE);
        mprEnableSocketEvents(static_cast<MprSocket *>(data), MPR_READABLE); // there is still something to read
    };
    MprWaitHandler *handler = mprAddSocketHandler(c.server, MPR_READABLE, nullptr, +again, c.server, 0);
    REQUIRE(handler);
    CHECK(c.server->handler == handler);
    CHECK(mprWriteSocket(c.client, "x", 1) == 1);
    CHECK(serviceUntil([] { return second >= 2; }));
    CHECK(first == 0);
    mprRemoveSocketHandler(c.server);
    CHECK(c.server->handler == nullptr);
    mprEnableSocketEvents(c.server, MPR_READABLE); // nobody to tell
    const int before = second;
    for (int i = 0; i < 5; i++) {
        mprServiceEvents(2, 0);
    }
    CHECK(second == before);
    mprRemoveSocketHandler(c.server);
    mprRemoveSocketHandler(nullptr);
    char buf[10];
    CHECK(mprReadSocket(c.server, buf, sizeof(buf)) == 1); // the socket is as it was
}

TEST_CASE("what is said of IPv6 is so", "[io][socket]") {
    Runtime runtime;
    if (hasLoopback("::1")) {
        CHECK(mprHasIPv6());
    }
    if (!mprHasIPv6()) {
        CHECK_FALSE(mprHasDualNetworkStack());
        CHECK_FALSE(hasLoopback("::1"));
    }
}

TEST_CASE("datagrams", "[io][socket]") {
    Runtime runtime;
    MprSocket *receiver = Connection::rooted(mprCreateSocket()), *sender = Connection::rooted(mprCreateSocket());
    REQUIRE(mprListenOnSocket(receiver, "127.0.0.1", 0, MPR_SOCKET_DATAGRAM) != SOCKET_ERROR);
    {
        MprSocket *thief =
            Connection::rooted(mprCreateSocket()); // no port of datagrams is taken over, as one of streams is not
        CHECK(mprListenOnSocket(thief, "127.0.0.1", receiver->port, MPR_SOCKET_DATAGRAM) == SOCKET_ERROR);
        CHECK(str(thief->errorMsg) == strerror(EADDRINUSE));
        mprRemoveRoot(thief);
    }
    REQUIRE(mprConnectSocket(sender, "127.0.0.1", receiver->port, MPR_SOCKET_DATAGRAM) == 0);
    CHECK(mprWriteSocketString(sender, "first") == 5);
    CHECK(mprWriteSocketString(sender, "second") == 6);
    char buf[100];
    CHECK(mprWaitForSingleIO(receiver->fd, MPR_READABLE, 5000) == MPR_READABLE);
    CHECK(mprReadSocket(receiver, buf, sizeof(buf)) == 5);
    CHECK(mprReadSocket(receiver, buf, sizeof(buf)) == 6);
    CHECK(mprReadSocket(receiver, buf, sizeof(buf)) == 0);
    mprRemoveRoot(receiver);
    mprRemoveRoot(sender);
}

TEST_CASE("flags of sockets reach the system, and flags tell their state", "[io][socket]") {
    Runtime runtime;
    auto option = [](MprSocket *sp, int level, int name) {
        int value = -1;
        socklen_t length = sizeof(value);
        getsockopt(sp->fd, level, name, &value, &length);
        return value != 0;
    };
    for (bool on : {false, true}) {
        MprSocket *listener = Connection::rooted(mprCreateSocket());
        REQUIRE(mprListenOnSocket(listener, "127.0.0.1", 0, on ? MPR_SOCKET_NOREUSE : 0) != SOCKET_ERROR);
        CHECK(option(listener, SOL_SOCKET, SO_REUSEADDR) == !on);
        CHECK((listener->flags & MPR_SOCKET_LISTENER));
        CHECK_FALSE((listener->flags & (MPR_SOCKET_CLOSED | MPR_SOCKET_EOF)));
        MprSocket *client = Connection::rooted(mprCreateSocket());
        REQUIRE(mprConnectSocket(client, "127.0.0.1", listener->port, on ? MPR_SOCKET_NODELAY : 0) == 0);
        CHECK(option(client, IPPROTO_TCP, TCP_NODELAY) == on);
        CHECK_FALSE((client->flags & (MPR_SOCKET_LISTENER | MPR_SOCKET_CONNECTING)));
        mprCloseSocket(client, false);
        CHECK((client->flags & (MPR_SOCKET_CLOSED | MPR_SOCKET_EOF)) == (MPR_SOCKET_CLOSED | MPR_SOCKET_EOF));
        MprSocket *datagrams = Connection::rooted(mprCreateSocket());
        REQUIRE(mprListenOnSocket(datagrams, "127.0.0.1", 0, MPR_SOCKET_DATAGRAM | (on ? MPR_SOCKET_BROADCAST : 0)) !=
                SOCKET_ERROR);
        CHECK(option(datagrams, SOL_SOCKET, SO_BROADCAST) == on);
        for (MprSocket *sp : {listener, client, datagrams}) {
            mprRemoveRoot(sp);
        }
    }
}

TEST_CASE("what cannot be opened is refused and named", "[io][socket]") {
    Runtime runtime;
    MprSocket *sp = Connection::rooted(mprCreateSocket()), *other = Connection::rooted(mprCreateSocket());
    REQUIRE(mprListenOnSocket(sp, "127.0.0.1", 0, 0) != SOCKET_ERROR);
    int port = sp->port;
    CHECK(mprListenOnSocket(sp, "127.0.0.1", 0, 0) == SOCKET_ERROR);
    CHECK(mprConnectSocket(sp, "127.0.0.1", port, 0) == MPR_ERR_BAD_STATE);
    CHECK(mprListenOnSocket(other, "127.0.0.1", port, 0) == SOCKET_ERROR);
    CHECK(runtime.log.has("port " + std::to_string(port)));
    CHECK(mprGetSocketError(other) == EADDRINUSE);
    CHECK(mprListenOnSocket(other, "127.0.0.1", 70000, 0) == SOCKET_ERROR);
    CHECK((errno == EINVAL && mprGetSocketError(other) == EINVAL)); // not that of the call before
    CHECK(mprListenOnSocket(other, "not an address", 0, 0) == SOCKET_ERROR);
    CHECK((errno == EADDRNOTAVAIL && mprGetSocketError(other) == EADDRNOTAVAIL));
    CHECK(mprListenOnSocket(nullptr, nullptr, 0, 0) == SOCKET_ERROR);
    CHECK(mprConnectSocket(other, nullptr, 80, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprConnectSocket(other, "127.0.0.1", -1, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprConnectSocket(nullptr, "127.0.0.1", 80, 0) == MPR_ERR_BAD_ARGS);
    mprCloseSocket(sp, true);
    mprCloseSocket(sp, true);
    CHECK(mprConnectSocket(other, "127.0.0.1", port, 0) == MPR_ERR_CANT_CONNECT);
    CHECK(other->fd == INVALID_SOCKET);
    CHECK(mprConnectSocket(other, "no-such-host.invalid", 80, 0) == MPR_ERR_CANT_FIND);
    char c;
    CHECK(mprReadSocket(sp, &c, 1) == MPR_ERR_BAD_HANDLE);
    CHECK(mprWriteSocket(sp, &c, 1) == MPR_ERR_BAD_HANDLE);
    CHECK(mprWriteSocketVector(nullptr, nullptr, 0) == MPR_ERR_BAD_HANDLE);
    CHECK(mprAcceptSocket(sp) == nullptr);
    CHECK(mprAddSocketHandler(sp, 0, nullptr, nullptr, nullptr, 0) == nullptr);
    CHECK(mprStealSocketHandle(sp) == INVALID_SOCKET);
    CHECK(mprIsSocketEof(nullptr));
    mprCloseSocket(nullptr, true);
    mprRemoveRoot(sp);
    mprRemoveRoot(other);
}

TEST_CASE("a stolen descriptor is the caller's", "[io][socket]") {
    Runtime runtime;
    Connection c;
    Socket fd = mprStealSocketHandle(c.server);
    REQUIRE(fd != INVALID_SOCKET);
    CHECK(mprGetSocketHandle(c.server) == INVALID_SOCKET);
    CHECK(write(fd, "x", 1) == 1);
    close(fd);
}

TEST_CASE("there is no TLS, and it says so", "[io][socket]") {
    Runtime runtime;
    CHECK_FALSE(mprHasSecureSockets());
    CHECK(mprUpgradeSocket(mprCreateSocket(), nullptr, nullptr) == MPR_ERR_BAD_STATE);
    CHECK(runtime.log.has("no TLS"));
    CHECK_FALSE(mprSocketHandshaking(nullptr));
    CHECK_FALSE(mprIsSocketSecure(nullptr));
    CHECK(mprGetSocketState(nullptr) == nullptr);
}

TEST_CASE("addresses are taken apart", "[io][socket]") {
    Runtime runtime;
    struct {
        cchar *address, *ip;
        int port, secure;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1", 99, 0},
        {"127.0.0.1:80", "127.0.0.1", 80, 0},
        {"example.com:8080", "example.com", 8080, 0},
        {":443", nullptr, 443, 0},
        {"8080", nullptr, 8080, 0},
        {"*:80", nullptr, 80, 0},
        {"*", nullptr, 99, 0},
        {"", nullptr, 99, 0},
        {"[::1]:80", "::1", 80, 0},
        {"[::1]", "::1", 99, 0},
        {"::1", "::1", 99, 0},
        {"fe80::1:2", "fe80::1:2", 99, 0},
        {"http://example.com:81/path:5?q", "example.com", 81, 0},
        {"https://example.com/", "example.com", 99, 1},
        {"wss://[::1]:7", "::1", 7, 1},
        {"0", nullptr, 0, 0},
        {"host:65535", "host", 65535, 0},
        {"host:8/x?to=https://else:9", "host", 8, 0},
        {"HTTPS://example.com", "example.com", 99, 1},
        {"Wss://example.com", "example.com", 99, 1},
        {"HTTP://example.com", "example.com", 99, 0},
        {"fe80::1%eth0", "fe80::1%eth0", 99, 0},
        {"[fe80::1%25eth0]:80", "fe80::1%eth0", 80, 0},
        {"[fe80::1%251]", "fe80::1%251", 99, 0},
        {"http://[fe80::1%251]/", "fe80::1%1", 99, 0},
        {"[fe80::1%25]", "fe80::1%25", 99, 0},
    };
    for (auto &each : cases) {
        INFO(each.address);
        cchar *ip = "unset";
        int port = -1, secure = -1;
        CHECK(mprParseSocketAddress(each.address, &ip, &port, &secure, 99) == 0);
        CHECK((ip ? std::string(ip) : "none") == (each.ip ? std::string(each.ip) : "none"));
        CHECK(port == each.port);
        CHECK(secure == each.secure);
    }
    for (cchar *bad : {"host:", "host:port", "host:65536", "host:99999999999", "[::1", "[::1]80", "[]:80",
                       "[::1]:", "1:-1", "::1]:5", "a b:5", "h:80:90", "a]:5", "[h]:80", "1:2:3", "h\n"}) {
        INFO(bad);
        CHECK(mprParseSocketAddress(bad, nullptr, nullptr, nullptr, 0) == MPR_ERR_BAD_ARGS);
        CHECK(Log::has("malformed"));
        Log::clear();
    }
    CHECK(mprParseSocketAddress(nullptr, nullptr, nullptr, nullptr, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprParseSocketAddress("host:1", nullptr, nullptr, nullptr, 0) == 0);
}

TEST_CASE("a socket says what went wrong, and keeps the program's own", "[io][socket]") {
    Runtime runtime;
    Connection c;
    CHECK((c.client->errorMsg == nullptr && mprGetSocketError(c.client) == 0));
    static int own;
    c.server->data = &own;
    mprCloseSocket(c.server, false);
    CHECK(mprWaitForSingleIO(c.client->fd, MPR_READABLE, 5000) == MPR_READABLE);
    CHECK(mprGetSocketError(c.client) == ECONNRESET);
    CHECK(str(c.client->errorMsg) == strerror(ECONNRESET));
    CHECK(mprWriteSocket(c.client, "x", 1) < 0);
    CHECK(mprGetSocketError(c.client) == EPIPE);
    collect();
    CHECK(str(c.client->errorMsg) == strerror(EPIPE));
    CHECK(c.server->data == &own);
    MprSocket *other = Connection::rooted(mprCreateSocket());
    CHECK(mprConnectSocket(other, "127.0.0.1", 1, 0) == MPR_ERR_CANT_CONNECT);
    CHECK(str(other->errorMsg) == strerror(ECONNREFUSED));
    CHECK(mprGetSocketError(other) == ECONNREFUSED);
    CHECK(mprGetSocketError(nullptr) == EBADF);
    CHECK(mprFlushSocket(other) == MPR_ERR_BAD_HANDLE);
    CHECK(mprFlushSocket(c.client) == 0);
    CHECK_FALSE((mprSocketHasBuffered(c.client) || mprSocketHasBufferedRead(c.client)));
    CHECK_FALSE(mprSocketHasBufferedWrite(c.client));
    mprSetSocketEof(c.listener, true);
    CHECK(mprIsSocketEof(c.listener));
    mprSetSocketEof(c.listener, false);
    CHECK_FALSE(mprIsSocketEof(c.listener));
    mprSetSocketBlockingMode(c.client, true);
    CHECK((mprGetSocketBlockingMode(c.client) && !mprGetSocketBlockingMode(c.listener)));
    mprRemoveRoot(other);
}

TEST_CASE("small packets are sent at once when that is asked for, until it is taken back", "[io][socket]") {
    Runtime runtime;
    Connection c;
    const auto isNoDelay = [&] {
        int value = -1;
        socklen_t size = sizeof(value);
        REQUIRE(getsockopt(c.client->fd, IPPROTO_TCP, TCP_NODELAY, &value, &size) == 0);
        return value != 0;
    };
    mprSetSocketNoDelay(c.client, false);
    CHECK_FALSE(isNoDelay());
    CHECK_FALSE(mprSetSocketNoDelay(c.client, true));
    CHECK(isNoDelay());
    CHECK(mprSetSocketNoDelay(c.client, false));
    CHECK_FALSE(isNoDelay());
    CHECK_FALSE(mprSetSocketNoDelay(nullptr, true));
}

TEST_CASE("a clone of a socket outlives it", "[io][socket]") {
    Runtime runtime;
    Connection c;
    MprSocket *clone = Connection::rooted(mprCloneSocket(c.client));
    CHECK((clone->fd != c.client->fd && clone->port == c.client->port && str(clone->ip) == c.client->ip));
    mprCloseSocket(c.client, true);
    CHECK(mprWriteSocketString(clone, "still") == 5);
    CHECK(mprWaitForSingleIO(c.server->fd, MPR_READABLE, 5000) == MPR_READABLE);
    char buf[10] = {};
    CHECK(mprReadSocket(c.server, buf, sizeof(buf) - 1) == 5);
    CHECK(str(buf) == "still");
    CHECK((mprCloneSocket(c.client) == nullptr && mprCloneSocket(nullptr) == nullptr));
    mprRemoveRoot(clone);
}

TEST_CASE("no more sockets are accepted than may be open", "[io][socket]") {
    Runtime runtime;
    CHECK(mprSetMaxSocketAccept(2) == 0);
    {
        Connection c; // one
        std::vector<MprSocket *> clients;
        for (int i = 0; i < 2; i++) {
            clients.push_back(Connection::rooted(mprCreateSocket()));
            REQUIRE(mprConnectSocket(clients.back(), "127.0.0.1", c.listener->port, 0) == 0);
        }
        REQUIRE(mprWaitForSingleIO(c.listener->fd, MPR_READABLE, 5000) == MPR_READABLE);
        MprSocket *second = Connection::rooted(mprAcceptSocket(c.listener));
        CHECK(mprAcceptSocket(c.listener) == nullptr);
        CHECK(Log::has("as many connections as mprSetMaxSocketAccept allows"));
        CHECK((c.listener->flags & MPR_SOCKET_EXHAUSTED) != 0);
        mprCloseSocket(second, true);
        mprCloseSocket(second, true); // counted once
        MprSocket *third = nullptr;
        CHECK(until([&] { return (third = mprAcceptSocket(c.listener)) != nullptr; }));
        CHECK((c.listener->flags & MPR_SOCKET_EXHAUSTED) == 0);
        for (MprSocket *sp : clients) {
            mprRemoveRoot(sp);
        }
        mprRemoveRoot(second);
    }
    collect(); // the collector closes what is left, and counts it
    CHECK(mprSetMaxSocketAccept(1) == 2);
    Connection last;
    CHECK(last.server->fd >= 0);
    CHECK(mprSetMaxSocketAccept(0) == 1);
}

TEST_CASE("the program sees a descriptor before it is bound", "[io][socket]") {
    Runtime runtime;
    static int seen;
    seen = -1;
    mprSetSocketPrebindCallback([](MprSocket *sp) {
        seen = sp->fd;
        const int size = 10000;
        return setsockopt(sp->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    });
    MprSocket *sp = Connection::rooted(mprCreateSocket());
    CHECK(mprListenOnSocket(sp, "127.0.0.1", 0, 0) == seen);
    int size = 0;
    socklen_t length = sizeof(size);
    getsockopt(sp->fd, SOL_SOCKET, SO_RCVBUF, &size, &length);
    CHECK(size == 20000); // Linux doubles it
    mprCloseSocket(sp, true);
    mprSetSocketPrebindCallback([](MprSocket *) { return -1; });
    CHECK(mprListenOnSocket(sp, "127.0.0.1", 0, 0) == SOCKET_ERROR);
    CHECK(sp->fd == -1);
    CHECK(str(sp->errorMsg) == strerror(ECANCELED));
    mprSetSocketPrebindCallback(nullptr);
    CHECK(mprListenOnSocket(sp, "127.0.0.1", 0, MPR_SOCKET_REUSE_PORT) >= 0);
    MprSocket *beside = Connection::rooted(mprCreateSocket());
    CHECK(mprListenOnSocket(beside, "127.0.0.1", sp->port, MPR_SOCKET_REUSE_PORT) >= 0);
    mprRemoveRoot(beside);
    mprRemoveRoot(sp);
}

TEST_CASE("whose events a socket's handlers are", "[io][socket]") {
    Runtime runtime;
    Connection c(MPR_SOCKET_THREAD);
    const auto nothing = [](void *, MprEvent *) {};
    MprDispatcher *dispatcher = mprCreateDispatcher("sockets", 0);
    Root root(dispatcher);
    CHECK(mprAddSocketHandler(c.client, MPR_READABLE, dispatcher, MPR_PROC(+nothing), nullptr, 0));
    CHECK((c.client->handler->dispatcher != dispatcher && c.client->handler->dispatcher != mprGetDispatcher()));
    Connection plain;
    mprSetSocketDispatcher(plain.client, dispatcher);
    CHECK(mprAddSocketHandler(plain.client, MPR_READABLE, nullptr, MPR_PROC(+nothing), nullptr, 0));
    CHECK(plain.client->handler->dispatcher == dispatcher);
    CHECK(mprAddSocketHandler(plain.client, MPR_READABLE, mprGetDispatcher(), MPR_PROC(+nothing), nullptr, 0));
    CHECK(plain.client->handler->dispatcher == mprGetDispatcher());
    mprSetSocketDispatcher(plain.client, nullptr);
    CHECK(mprAddSocketHandler(plain.client, MPR_READABLE, nullptr, MPR_PROC(+nothing), nullptr, 0));
    CHECK(plain.client->handler->dispatcher == mprGetDispatcher());
}

TEST_CASE("a stretch of a file is sent between other pieces", "[io][socket]") {
    Runtime runtime("everyyield=1");
    const Folder folder;
    std::string text;
    for (int i = 0; i < 20000; i++) {
        text += std::to_string(i) + "\n";
    }
    MprFile *file = mprOpenFile(folder.write("text", text).c_str(), O_RDONLY, 0);
    Root root(file);
    Connection c(MPR_SOCKET_BLOCK);
    std::string got;
    Mutator reader("reader", [&](Mutator &) {
        char buf[1000];
        for (ssize count; (count = mprReadSocket(c.server, buf, sizeof(buf))) > 0;) {
            got.append(buf, static_cast<size_t>(count));
        }
    });
    char head[] = "head:", colon[] = ":", tail[] = ":tail";
    MprIOVec before[] = {{head, 5}, {colon, 1}}, after[] = {{tail, 5}};
    const MprOff offset = 1000, bytes = 90000;
    CHECK(mprSendFileToSocket(c.client, file, offset, bytes, before, 2, after, 1) == bytes + 11);
    CHECK(mprSendFileToSocket(c.client, nullptr, 0, 0, before, 1, nullptr, 0) == 5);
    // Of a file that is shorter, what follows is not sent.
    CHECK(mprSendFileToSocket(c.client, file, static_cast<MprOff>(text.size()) - 3, 10, nullptr, 0, after, 1) == 3);
    CHECK(mprSendFileToSocket(c.client, file, -1, 10, nullptr, 0, nullptr, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprSendFileToSocket(c.client, nullptr, 0, 10, nullptr, 0, nullptr, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprSendFileToSocket(c.client, file, 0, 10, nullptr, 1, nullptr, 0) == MPR_ERR_BAD_ARGS);
    mprCloseSocket(c.client, true);
    CHECK(mprSendFileToSocket(c.client, file, 0, 10, nullptr, 0, nullptr, 0) == MPR_ERR_BAD_HANDLE);
    reader.join();
    CHECK(got == "head::" + text.substr(1000, 90000) + ":tail" + "head:" + text.substr(text.size() - 3));
}

TEST_CASE("a stretch of a file goes as far as a socket takes it that does not wait", "[io][socket]") {
    Runtime runtime;
    const Folder folder;
    std::string text;
    for (int i = 0; i < 2000000; i++) {
        text += std::to_string(i) + "\n";
    }
    MprFile *file = mprOpenFile(folder.write("text", text).c_str(), O_RDONLY, 0);
    Root root(file);
    Connection c;
    std::string got;
    std::vector<char> buf(1 << 20);
    int full = 0;
    for (MprOff at = 0, size = static_cast<MprOff>(text.size()); at < size;) {
        const MprOff sent = mprSendFileToSocket(c.client, file, at, size - at, nullptr, 0, nullptr, 0);
        REQUIRE(sent >= 0);
        at += sent;
        CHECK((sent == 0 || mprGetFilePosition(file) == at));
        full += sent == 0;
        const ssize count = sent == 0 ? mprReadSocket(c.server, buf.data(), static_cast<ssize>(buf.size())) : 0;
        got.append(buf.data(), static_cast<size_t>(std::max(count, ssize{0})));
    }
    CHECK(full > 0);
    while (got.size() < text.size()) {
        const ssize count = mprReadSocket(c.server, buf.data(), static_cast<ssize>(buf.size()));
        REQUIRE(count >= 0);
        got.append(buf.data(), static_cast<size_t>(count));
    }
    CHECK((got == text));
    CHECK(mprSendFileToSocket(c.client, file, static_cast<MprOff>(text.size()), 10, nullptr, 0, nullptr, 0) == 0);
    CHECK(mprSendFileToSocket(c.client, file, 0, 10, nullptr, -1, nullptr, -1) == 10); // no pieces
    // A peer that has gone raises no signal.
    mprCloseSocket(c.server, false);
    MprOff sent = 0;
    for (int i = 0; i < 100 && sent >= 0; i++) {
        sent = mprSendFileToSocket(c.client, file, 0, 100, nullptr, 0, nullptr, 0);
    }
    CHECK(sent < 0);
}

TEST_CASE("a short stretch and the pieces before it go as far as a socket takes them", "[io][socket]") {
    Runtime runtime;
    const Folder folder;
    std::string text, head(3000, 'h');
    for (int i = 0; i < 5000; i++) {
        text += std::to_string(i) + "\n";
    }
    const MprOff offset = 1000, bytes = 8000;
    MprFile *file = mprOpenFile(folder.write("text", text).c_str(), O_RDONLY, 0);
    Root root(file);
    Connection c;
    std::string got, sentAll;
    std::vector<char> buf(1 << 20);
    const auto drain = [&] {
        const ssize count = mprReadSocket(c.server, buf.data(), static_cast<ssize>(buf.size()));
        REQUIRE(count >= 0);
        got.append(buf.data(), static_cast<size_t>(count));
    };
    int full = 0, cut = 0;
    while (full < 20 || cut < 3) {
        const std::string message = head + text.substr(offset, bytes);
        const auto size = static_cast<MprOff>(message.size()), ofHead = static_cast<MprOff>(head.size());
        for (MprOff at = 0; at < size;) {
            const MprOff left = std::max(ofHead - at, MprOff{0}), inFile = std::max(at - ofHead, MprOff{0});
            MprIOVec before[] = {{&head[head.size() - static_cast<size_t>(left)], static_cast<size_t>(left)}};
            const MprOff sent = mprSendFileToSocket(c.client, file, offset + inFile, bytes - inFile, before,
                                                    left > 0 ? 1 : 0, nullptr, 0);
            REQUIRE(sent >= 0);
            at += sent;
            if (at > ofHead) {
                CHECK(mprGetFilePosition(file) == offset + at - ofHead);
            }
            cut += sent > 0 && at < size;
            if (sent == 0) {
                full++;
                drain();
            }
        }
        sentAll += message;
    }
    while (got.size() < sentAll.size()) {
        drain();
    }
    CHECK((got == sentAll));
}

TEST_CASE("addresses of either family, as text and for the system", "[io][socket]") {
    Runtime runtime;
    for (cchar *six : {"::1", "[::1]", "fe80::1%eth0", "::ffff:1.2.3.4", "2001:db8::"}) {
        CHECK(mprIsIPv6(six));
    }
    for (cchar *other : {"1.2.3.4", "1.2.3.4:80", "", "[::1", "a:b", "localhost", ":::", "[]"}) {
        CHECK_FALSE(mprIsIPv6(other));
    }
    CHECK_FALSE(mprIsIPv6(nullptr));
    int family = 0, protocol = 0;
    struct sockaddr *addr = nullptr;
    Socklen length = 0;
    CHECK(mprGetSocketInfo("127.0.0.1", 80, &family, &protocol, &addr, &length) == 0);
    REQUIRE(addr);
    CHECK((family == AF_INET && protocol == IPPROTO_TCP && length == sizeof(sockaddr_in)));
    CHECK(reinterpret_cast<sockaddr_in *>(addr)->sin_port == htons(80));
    CHECK(mprIsValid(addr));
    CHECK(mprGetSocketInfo(nullptr, 80, nullptr, nullptr, &addr, &length) == 0);
    CHECK(mprGetSocketInfo("127.0.0.1", 80, &family, &protocol, nullptr, &length) == MPR_ERR_BAD_ARGS);
    CHECK(mprGetSocketInfo("127.0.0.1", 70000, &family, &protocol, &addr, &length) == MPR_ERR_BAD_ARGS);
    Connection c;
    CHECK_FALSE((mprIsSocketV6(c.client) || mprIsSocketV6(nullptr)));
    if (hasLoopback("::1")) {
        Connection six(0, "::1");
        CHECK((mprIsSocketV6(six.client) && mprIsSocketV6(six.listener)));
        mprCloseSocket(six.client, true);
        CHECK_FALSE(mprIsSocketV6(six.client));
    }
}

namespace {

/* A call of shutdown waits a little before it is made: others may close the descriptor, if they can. */
std::atomic<bool> lingers{false};
} // namespace

extern "C" int __real_shutdown(int fd, int how);
extern "C" int __wrap_shutdown(int fd, int how) {
    if (lingers) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return __real_shutdown(fd, how);
}

TEST_CASE("to disconnect a socket that its owner closes meanwhile shuts no other's descriptor", "[io][socket]") {
    Runtime runtime;
    lingers = true;
    for (int round = 0; round < 30; round++) {
        Connection c;
        int ends[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
        std::atomic<bool> begun{false};
        {
            Mutator other("other", [&](Mutator &) {
                begun = true;
                mprDisconnectSocket(c.client);
            });
            while (!begun) {
                mprYield(0); // a pause may keep the other from being attached
            }
            sleepYielded(1);
            const int number = c.client->fd;
            mprCloseSocket(c.client, true);
            REQUIRE(dup2(ends[0], number) == number); // another's from here
            other.join();
            char byte = 0;
            CHECK((read(number, &byte, 1) == -1 && errno == EAGAIN)); // 0: it was shut
            CHECK(send(ends[1], "x", 1, MSG_NOSIGNAL) == 1);
            for (const int fd : {number, ends[0], ends[1]}) {
                close(fd);
            }
        }
    }
    lingers = false;
}

TEST_CASE("a datagram that is refused or too large ends nothing", "[io][socket]") {
    Runtime runtime;
    char buf[100];
    MprSocket *probe = Connection::rooted(mprCreateSocket()), *sender = Connection::rooted(mprCreateSocket());
    REQUIRE(mprListenOnSocket(probe, "127.0.0.1", 0, MPR_SOCKET_DATAGRAM) != SOCKET_ERROR);
    const int port = probe->port;
    mprCloseSocket(probe, true); // nobody is there
    REQUIRE(mprConnectSocket(sender, "127.0.0.1", port, MPR_SOCKET_DATAGRAM) == 0);
    CHECK(mprWriteSocketString(sender, "refused") == 7);
    CHECK(mprWaitForSingleIO(sender->fd, MPR_READABLE, 5000) == MPR_READABLE);
    CHECK(mprReadSocket(sender, buf, sizeof(buf)) < 0);
    CHECK(mprGetSocketError(sender) == ECONNREFUSED);
    CHECK_FALSE(mprIsSocketEof(sender));
    const std::vector<char> large(100'000);
    CHECK(mprWriteSocket(sender, large.data(), static_cast<ssize>(large.size())) < 0);
    CHECK(mprGetSocketError(sender) == EMSGSIZE);
    CHECK_FALSE(mprIsSocketEof(sender));
    REQUIRE(mprListenOnSocket(probe, "127.0.0.1", port, MPR_SOCKET_DATAGRAM) != SOCKET_ERROR);
    CHECK(mprWriteSocketString(sender, "heard") == 5);
    CHECK(mprWaitForSingleIO(probe->fd, MPR_READABLE, 5000) == MPR_READABLE);
    CHECK(mprReadSocket(probe, buf, sizeof(buf)) == 5);
    mprRemoveRoot(probe);
    mprRemoveRoot(sender);
}
