// SPDX-License-Identifier: MIT
/*
    test/io/descriptors.cpp - Descriptors: not inherited, and what happens when there are none left.
 */
#include "test/support/every_yield.hpp"
#include "test/support/few_descriptors.hpp"
#include "test/support/folder.hpp"
#include "test/support/hoard.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/service.hpp"

#include <sys/socket.h>

#include <cstring>
#include <sstream>
#include <string>
#include <vector>

using namespace test;

namespace {

/* Calls of the library, while it is on, that make a descriptor which a child that is made at that moment inherits. */
std::atomic<bool> watching;
std::atomic<int> inheritable;

} // namespace

extern "C" int __real_pipe(int *fds);
extern "C" int __wrap_pipe(int *fds) {
    inheritable += watching;
    return __real_pipe(fds);
}

extern "C" int __real_socket(int domain, int type, int protocol);
extern "C" int __wrap_socket(int domain, int type, int protocol) {
    inheritable += watching && !(type & SOCK_CLOEXEC);
    return __real_socket(domain, type, protocol);
}

extern "C" int __real_accept(int fd, sockaddr *address, socklen_t *length);
extern "C" int __wrap_accept(int fd, sockaddr *address, socklen_t *length) {
    inheritable += watching;
    return __real_accept(fd, address, length);
}

namespace {

/* Descriptors that the process has by now are not inherited by children. */
void keepAllOpen() {
    for (int fd = 3; fd < 1024; fd++) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
}

/* The descriptors of a child, except the first three and the one by which it looks. */
std::string descriptorsOfChild() {
    char *out = nullptr;
    if (mprRun(nullptr, "ls -l /proc/self/fd", "input", &out, nullptr, 30000) != 0 || !out) {
        return "no child";
    }
    std::istringstream lines(out);
    std::string more;
    for (std::string line; std::getline(lines, line);) {
        const size_t arrow = line.find(" -> ");
        const bool isOwn = arrow == line.npos || line.find("/proc/") != line.npos;
        more += isOwn || atoi(line.c_str() + line.rfind(' ', arrow - 1)) < 3 ? "" : line + "\n";
    }
    return more;
}

/* Open and close all kinds of things. */
void openThings(const Folder &folder) {
    MprFile *file = mprOpenFile((folder / "file").c_str(), O_RDWR | O_CREAT, 0600);
    Root ofFile(file);
    MprSocket *listener = mprCreateSocket();
    Root rooted(listener);
    if (mprListenOnSocket(listener, "127.0.0.1", 0, 0) != SOCKET_ERROR) {
        MprSocket *client = mprCreateSocket();
        Root ofClient(client);
        if (mprConnectSocket(client, "127.0.0.1", listener->port, 0) == 0) {
            mprCloseSocket(mprAcceptSocket(listener), true);
        }
        mprCloseSocket(client, true);
    }
    mprCloseSocket(listener, true);
    MprSocket *datagrams = mprCreateSocket();
    mprListenOnSocket(datagrams, "127.0.0.1", 0, MPR_SOCKET_DATAGRAM);
    mprCloseSocket(datagrams, true);
    mprHasIPv6();
    mprHasDualNetworkStack();
    mprCloseFile(file);
    mprDeletePath(mprGetTempPath(folder.root.c_str()));
    mprWritePathContents((folder / "contents").c_str(), "text", 4, 0600);
    mprReadPathContents((folder / "contents").c_str(), nullptr);
    mprGetPathFiles(folder.root.c_str(), 0);
}

} // namespace

TEST_CASE("no descriptor is inherited, whoever opens what at the moment", "[io][descriptors]") {
    Folder folder;
    inheritable = 0;
    watching = true;
    keepAllOpen();
    {
        Runtime runtime;
        REQUIRE(mprStart() == 0);
        std::atomic<int> turns{0};
        const auto body = [&](Mutator &self) {
            while (self.go()) {
                openThings(folder);
                turns++;
                mprYield(0);
            }
        };
        Mutator a("a", body), b("b", body), c("c", body);
        std::string more;
        for (size_t i = 0; (i < heavy(200) || turns < 10) && more.empty(); i++) {
            more = descriptorsOfChild();
        }
        for (Mutator *each : {&a, &b, &c}) {
            each->end();
        }
        CHECK(more == "");
        CHECK(mprRun(nullptr, "sleep 100", nullptr, nullptr, nullptr, 1) == MPR_ERR_TIMEOUT);
    }
    watching = false;
    CHECK(inheritable == 0);
}

TEST_CASE("without descriptors connections wait, and nobody tries all the time", "[io][descriptors]") {
    Runtime runtime;
    static std::atomic<int> calls, accepted;
    calls = accepted = 0;
    MprSocket *listener = mprCreateSocket();
    Root root(listener);
    REQUIRE(mprListenOnSocket(listener, "127.0.0.1", 0, 0) != SOCKET_ERROR);
    const auto take = [](void *data, MprEvent *event) {
        calls++;
        while (MprSocket *sp = mprAcceptSocket(static_cast<MprSocket *>(data))) {
            accepted++;
            mprCloseSocket(sp, true);
        }
        mprWaitOn(event->handler, MPR_READABLE);
    };
    mprAddSocketHandler(listener, MPR_READABLE, nullptr, reinterpret_cast<void *>(static_cast<MprEventProc>(take)),
                        listener, 0);
    for (int spell = 1; spell <= 2; spell++) {
        calls = accepted = 0;
        MprSocket *clients[3];
        {
            FewDescriptors none(3);
            for (MprSocket *&client : clients) {
                client = mprCreateSocket();
                mprHold(client);
                REQUIRE(mprConnectSocket(client, "127.0.0.1", listener->port, 0) == 0);
            }
            const MprTicks begin = mprGetTicks();
            CHECK(serviceUntil([&] { return calls >= 5; }));
            CHECK(mprGetTicks() - begin >= 4 * 45); // a rest each
            CHECK(accepted == 0);
            CHECK((listener->flags & MPR_SOCKET_EXHAUSTED));
        }
        CHECK(serviceUntil([&] { return accepted == 3; }));
        CHECK_FALSE((listener->flags & MPR_SOCKET_EXHAUSTED));
        CHECK(runtime.log.count("connections wait") == spell);
        for (MprSocket *client : clients) {
            mprCloseSocket(client, true);
            mprRelease(client);
        }
    }
}

TEST_CASE("without descriptors and memory nobody tries all the time either", "[io][descriptors]") {
    Runtime runtime;
    static std::atomic<int> calls, early;
    static MprTicks last;
    calls = early = 0;
    last = 0;
    MprSocket *listener = mprCreateSocket(), *client = mprCreateSocket();
    Root root(listener), other(client);
    REQUIRE(mprListenOnSocket(listener, "127.0.0.1", 0, 0) != SOCKET_ERROR);
    const auto take = [](void *data, MprEvent *event) {
        const MprTicks now = mprGetTicks();
        early += now - last < 45; // a rest lies between two calls
        last = now;
        calls++;
        mprAcceptSocket(static_cast<MprSocket *>(data));
        mprWaitOn(event->handler, MPR_READABLE);
    };
    REQUIRE(mprAddSocketHandler(listener, MPR_READABLE, nullptr,
                                reinterpret_cast<void *>(static_cast<MprEventProc>(take)), listener, 0));
    mprServiceEvents(0, MPR_SERVICE_NO_BLOCK);
    FewDescriptors none(1);
    REQUIRE(mprConnectSocket(client, "127.0.0.1", listener->port, 0) == 0);
    collect();
    mprSetMemLimits(0, static_cast<ssize>(stats().heap), -1);
    Hoard hoard;
    for (size_t size : {10000, 1000, 100, 32}) {
        hoard.grow(size);
    }
    CHECK(serviceUntil([&] { return calls >= 5; }));
    CHECK(early == 0);
    CHECK((listener->flags & MPR_SOCKET_EXHAUSTED));
    mprSetMemLimits(0, 0, -1);
}

TEST_CASE("a listener that has a rest may be closed, or lose its handler", "[io][descriptors]") {
    Runtime runtime;
    static std::atomic<int> calls;
    for (int how = 0; how < 3; how++) {
        calls = 0;
        MprSocket *listener = mprCreateSocket(), *client = mprCreateSocket();
        {
            Root root(listener), other(client);
            REQUIRE(mprListenOnSocket(listener, "127.0.0.1", 0, 0) != SOCKET_ERROR);
            const auto take = [](void *data, MprEvent *) {
                calls++;
                mprAcceptSocket(static_cast<MprSocket *>(data));
            };
            mprAddSocketHandler(listener, MPR_READABLE, nullptr,
                                reinterpret_cast<void *>(static_cast<MprEventProc>(take)), listener, 0);
            FewDescriptors none(1);
            REQUIRE(mprConnectSocket(client, "127.0.0.1", listener->port, 0) == 0);
            REQUIRE(serviceUntil([&] { return calls == 1; }));
            mprEnableSocketEvents(listener, MPR_READABLE);
            if (how == 0) {
                mprCloseSocket(listener, true);
            } else if (how == 1) {
                mprRemoveSocketHandler(listener);
            } else {
                mprEnableSocketEvents(listener, 0);
            }
        }
        collect();
        mprServiceEvents(80, 0);
        CHECK(calls == 1);
        collect();
        CHECK(until([&] { return collect(), !mprIsValid(listener); }));
    }
}
