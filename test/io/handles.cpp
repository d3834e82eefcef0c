// SPDX-License-Identifier: MIT
/*
    test/io/handles.cpp - libuv's handles end in the turn in which they tell of something: what they fired lives on. And
    no finalizer looks at another block.

    With option poison=1 what was freed is no event, and under the address sanitizer it is forbidden.
 */
#include "test/support/every_yield.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/service.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

using namespace test;

namespace {

std::atomic<int> runs;

void *proc(MprEventProc p) {
    return reinterpret_cast<void *>(p);
}

void count(void *, MprEvent *) {
    runs++;
}

/* A handler of a descriptor that is ready; it is destroyed at some moment of the loop's turn. */
void endWatch(int i) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return;
    }
    MprWaitHandler *handler =
        mprCreateWaitHandler(ends[0], MPR_READABLE | MPR_WRITABLE, nullptr, proc(count), nullptr, 0);
    Root root(handler); // once it has told of something nobody else retains it
    if (i % 3 == 1) {
        mprWaitOn(handler, MPR_WRITABLE);
    } else if (i % 3 == 2) {
        mprServiceEvents(0, MPR_SERVICE_NO_BLOCK);
    }
    mprDestroyWaitHandler(handler);
    close(ends[0]);
    close(ends[1]);
}

void endSignal(int i) {
    MprSignal *handler =
        mprAddSignalHandler(SIGUSR2, reinterpret_cast<void *>(static_cast<MprSignalProc>([](void *, MprSignal *self) {
                                runs++;
                                mprRemoveSignalHandler(self);
                            })),
                            nullptr, nullptr, 0);
    kill(getpid(), SIGUSR2);
    if (i % 2) {
        mprRemoveSignalHandler(handler);
    }
}

void endProcess(int i) {
    MprCmd *cmd = mprCreateCmd(nullptr);
    cchar *argv[] = {"true", nullptr};
    if (mprStartCmd(cmd, 1, argv, nullptr, i % 2 ? MPR_CMD_OUT : 0) == 0 && i % 3 == 0) {
        mprHold(cmd);
        mprDestroyCmd(cmd);
        mprRelease(cmd);
    }
}

} // namespace

TEST_CASE("handles end while what they have fired is on its way", "[io][handles]") {
    for (bool started : {false, true}) {
        Runtime runtime("poison=1");
        REQUIRE(mprGetDispatcher());
        if (started) {
            REQUIRE(mprStart() == 0);
        }
        // A signal may be delivered when the handler that it was sent for is gone.
        REQUIRE(
            mprAddSignalHandler(SIGUSR2, reinterpret_cast<void *>(+[](void *, MprSignal *) {}), nullptr, nullptr, 0));
        std::atomic<int> next{0};
        const int total = static_cast<int>(inTrial() ? 100 : heavy(1000));
        const auto body = [&](Mutator &) {
            for (int i; (i = next++) < total;) {
                endWatch(i);
                endSignal(i);
                if (i % 8 == 0) {
                    endProcess(i);
                }
                mprYield(0);
            }
        };
        doInThreeThreads(body);
        mprServiceEvents(1, 0);
        collect();
        CHECK(stats().misuses == 0);
        runs = 0;
        mprCreateEvent(nullptr, "count", 0, proc(count), nullptr, 0);
        CHECK(serviceUntil([] { return runs >= 1; }));
    }
}

namespace {

/* An open socket with a handler that waits for mask. */
MprSocket *makeWatched(int mask) {
    MprSocket *sp = mprCreateSocket();
    REQUIRE(mprListenOnSocket(sp, "127.0.0.1", 0, 0) != SOCKET_ERROR);
    REQUIRE(mprAddSocketHandler(sp, mask, nullptr, proc(count), nullptr, 0));
    return sp;
}
} // namespace

TEST_CASE("a socket and its handler are freed by hand in either order", "[io][handles]") {
    Runtime runtime("poison=1");
    REQUIRE(mprGetDispatcher());
    for (int mask : {0, MPR_READABLE}) {
        for (bool handlerFirst : {false, true}) {
            INFO(mask << handlerFirst);
            MprSocket *sp = makeWatched(mask);
            MprWaitHandler *handler = sp->handler;
            const int fd = sp->fd;
            CHECK(mprFree(handlerFirst ? static_cast<void *>(handler) : sp) == 0);
            CHECK(mprFree(handlerFirst ? static_cast<void *>(sp) : handler) == 0);
            CHECK((fcntl(fd, F_GETFD) < 0 && errno == EBADF));
        }
    }
    // Their numbers are used again, and libuv knows.
    runs = 0;
    MprSocket *again = makeWatched(MPR_READABLE);
    Root root(again);
    MprSocket *client = mprCreateSocket();
    Root rootOfClient(client);
    REQUIRE(mprConnectSocket(client, "127.0.0.1", again->port, 0) == 0);
    CHECK(serviceUntil([] { return runs == 1; }));
    CHECK(stats().misuses == 0);
}
