// SPDX-License-Identifier: MIT
/*
    test/io/handles.cpp - libuv's handles end in the turn in which they tell of something: what they fired lives on. And
    no finalizer looks at another block.

    With option poison=1 what was freed is no event, and under the address sanitizer it is forbidden.
 */
#include "test/support/dying.hpp"
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
std::atomic<int> notFreed; // by threads, which may not check

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
    if (i % 4 == 3) {
        root.set(nullptr);
        notFreed += mprFree(handler) != 0;
    }
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
    if (i % 4 == 3) {
        notFreed += mprFree(handler) != 0;
    }
}

void endProcess(int i) {
    MprCmd *cmd = mprCreateCmd(nullptr);
    cchar *argv[] = {"true", nullptr};
    if (mprStartCmd(cmd, 1, argv, nullptr, i % 2 ? MPR_CMD_OUT : 0) != 0) {
        return;
    }
    if (i % 16 == 8) {
        notFreed += mprFree(cmd) != 0;
    } else if (i % 3 == 0) {
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
        notFreed = 0;
        doInThreeThreads(body);
        mprServiceEvents(1, 0);
        collect();
        CHECK(notFreed == 0);
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

namespace {

MprWaitHandler *makeHandlerOf(int fd) {
    return mprCreateWaitHandler(fd, 0, nullptr, proc(count), nullptr, 0);
}

/* Descriptors that managers have closed, though they were others' by then. */
std::atomic<int> lost;

/* Open descriptors until the number of one that was closed is in use again. They stay open. */
struct Reuse {
    explicit Reuse(int number) : number(number) {
        int fd = -1;
        do {
            fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        } while (fd >= 0 && fd < number);
    }
    ~Reuse() { lost += fcntl(number, F_GETFD) < 0; }
    int number;
};
} // namespace

TEST_CASE("managers may end a wait handler that is dead, whether or not its own was called", "[io][handles]") {
    Runtime runtime("poison=1");
    REQUIRE(mprGetDispatcher());
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    useWhileDying([&] { return makeHandlerOf(ends[0]); },
                  [](void *handler) { mprDestroyWaitHandler(static_cast<MprWaitHandler *>(handler)); });
    CHECK(stats().misuses == 0);
    runs = 0;
    MprWaitHandler *again = mprCreateWaitHandler(ends[0], MPR_WRITABLE, nullptr, proc(count), nullptr, 0);
    CHECK(again);
    CHECK(serviceUntil([] { return runs == 1; }));
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("a wait handler that is dead waits for nothing any more", "[io][handles]") {
    Runtime runtime("poison=1");
    REQUIRE(mprStart() == 0);
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    useWhileDying([&] { return makeHandlerOf(ends[0]); },
                  [](void *handler) {
                      mprWaitOn(static_cast<MprWaitHandler *>(handler), MPR_WRITABLE);
                      mprRecallWaitHandler(static_cast<MprWaitHandler *>(handler));
                  });
    CHECK(stats().misuses == 2 * Dying::users);
    CHECK(Log::has("mprWaitOn"));
    CHECK(Log::has("mprRecallWaitHandler"));
    collect();
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("managers may end a socket's handler when both are dead, whether or not theirs were called",
          "[io][handles]") {
    Runtime runtime("poison=1");
    REQUIRE(mprGetDispatcher());
    useWhileDying([] { return makeWatched(0); },
                  [](void *ptr) {
                      auto *sp = static_cast<MprSocket *>(ptr);
                      mprRemoveSocketHandler(sp);
                      mprCloseSocket(sp, true);
                  });
    useWhileDying([] { return makeWatched(0); },
                  [](void *ptr) { mprDestroyWaitHandler(static_cast<MprSocket *>(ptr)->handler); });
    CHECK(stats().misuses == 0);
    useWhileDying([] { return makeWatched(0); },
                  [](void *ptr) { mprEnableSocketEvents(static_cast<MprSocket *>(ptr), MPR_READABLE); });
    useWhileDying([] { return makeWatched(0); },
                  [](void *ptr) {
                      mprAddSocketHandler(static_cast<MprSocket *>(ptr), MPR_READABLE, nullptr, proc(count), nullptr,
                                          0);
                  });
    CHECK(Log::has("mprAddSocketHandler"));
    collect();
}

TEST_CASE("a socket that is freed by hand is no handler's any more", "[io][handles]") {
    Runtime runtime("poison=1");
    REQUIRE(mprGetDispatcher());
    MprSocket *sp = makeWatched(MPR_READABLE);
    MprWaitHandler *handler = sp->handler;
    Root root(handler);
    CHECK(mprFree(sp) == 0);
    collect();
    mprWaitOn(handler, MPR_READABLE);
    CHECK(stats().misuses == 0);
    CHECK(Log::size() == 0);
}

TEST_CASE("managers may close a command that is dead, and close nothing else", "[io][handles]") {
    Runtime runtime("poison=1");
    REQUIRE(mprGetDispatcher());
    lost = 0;
    static std::atomic<int> number, answered;
    answered = 0;
    const auto make = [] {
        MprCmd *cmd = mprCreateCmd(nullptr);
        cchar *argv[] = {"true", nullptr};
        REQUIRE(mprStartCmd(cmd, 1, argv, nullptr, MPR_CMD_OUT) == 0);
        Root root(cmd);
        number = mprGetCmdFd(cmd, MPR_CMD_STDOUT);
        CHECK(serviceUntil([&] { return mprIsCmdComplete(cmd) || !mprIsCmdRunning(cmd); }));
        return cmd;
    };
    const auto use = [](void *ptr) {
        auto *cmd = static_cast<MprCmd *>(ptr);
        if (fcntl(number, F_GETFD) >= 0) {
            return; // the command has not been finalized
        }
        const Reuse another(number);
        char byte;
        answered += mprReadCmd(cmd, MPR_CMD_STDOUT, &byte, 1) == MPR_ERR_BAD_HANDLE;
        mprDestroyCmd(cmd);
    };
    // Addresses decide which block is finalized first. In stress mode one of some thirty rounds is good.
    for (int i = 0; i < 3000 && answered == 0; i++) {
        useWhileDying(make, use);
    }
    CHECK(lost == 0);
    CHECK(answered >= 1);
    CHECK(stats().misuses == 0);
}

TEST_CASE("a command that runs is freed by hand", "[io][handles]") {
    Runtime runtime("poison=1");
    REQUIRE(mprGetDispatcher());
    for (const char *program : {"cat", "true"}) {
        MprCmd *cmd = mprCreateCmd(nullptr);
        Root root(cmd);
        cchar *argv[] = {program, nullptr};
        REQUIRE(mprStartCmd(cmd, 1, argv, nullptr, MPR_CMD_IN) == 0);
        if (program[0] == 't') {
            REQUIRE(untilUnyielded([&] { return mprIsCmdComplete(cmd) != 0; })); // and the event of its end is queued
        }
        root.set(nullptr);
        CHECK(mprFree(cmd) == 0);
        collect();
        runs = 0;
        mprCreateEvent(nullptr, "count", 0, proc(count), nullptr, 0);
        CHECK(serviceUntil([] { return runs == 1; }));
    }
    CHECK(mprServicesAreIdle(false));
    CHECK(stats().misuses == 0);
}

TEST_CASE("nobody is told of what is freed by hand, though it is queued", "[io][handles]") {
    Runtime runtime("poison=1");
    REQUIRE(mprGetDispatcher());
    runs = 0;
    MprDispatcher *later = mprCreateDispatcher("later", MPR_DISPATCHER_IMMEDIATE);
    Root keeps(later);
    mprDisableDispatcher(later);
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    MprWaitHandler *handler = mprCreateWaitHandler(ends[0], MPR_WRITABLE, later, proc(count), nullptr, 0);
    Root keepsHandler(handler);
    MprSocket *sp = makeWatched(0);
    Root keepsSocket(sp);
    REQUIRE(mprAddSocketHandler(sp, 0, later, proc(count), nullptr, 0));
    mprRecallWaitHandler(sp->handler);
    MprCmd *cmd = mprCreateCmd(later);
    Root keepsCmd(cmd);
    mprSetCmdCallback(
        cmd,
        [](MprCmd *, int, void *) {
            runs++;
            return ssize{0};
        },
        nullptr);
    cchar *argv[] = {"echo", "hi", nullptr};
    REQUIRE(mprStartCmd(cmd, 2, argv, nullptr, MPR_CMD_OUT) == 0);
    CHECK(serviceUntil([&] { return mprGetEventCount(later) >= 3; }));

    keepsHandler.set(nullptr);
    keepsSocket.set(nullptr);
    keepsCmd.set(nullptr);
    CHECK(mprFree(handler) == 0);
    CHECK(mprFree(sp) == 0);
    CHECK(mprFree(cmd) == 0);
    mprEnableDispatcher(later);
    bool last = false;
    mprCreateEvent(later, "last", 0, proc([](void *data, MprEvent *) { *static_cast<bool *>(data) = true; }), &last, 0);
    CHECK(serviceUntil([&] { return last; }));
    CHECK(runs == 0);
    CHECK(stats().misuses == 0);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("a signal handler that is freed by hand gets no more signals", "[io][handles]") {
    Runtime runtime("poison=0"); // or that is refused
    static int others;
    others = 0;
    REQUIRE(mprAddSignalHandler(SIGUSR2, reinterpret_cast<void *>(+[](void *, MprSignal *) { others++; }), nullptr,
                                nullptr, 0));
    runs = 0;
    MprSignal *handler = mprAddSignalHandler(SIGUSR2, reinterpret_cast<void *>(+[](void *, MprSignal *) { runs++; }),
                                             nullptr, nullptr, 0);
    CHECK(mprFree(handler) == 0);
    collect();
    kill(getpid(), SIGUSR2);
    CHECK(serviceUntil([] { return others == 1; }));
    static bool last;
    last = false;
    mprCreateEvent(nullptr, "last", 0, proc([](void *, MprEvent *) { last = true; }), nullptr, 0);
    CHECK(serviceUntil([] { return last; }));
    CHECK(runs == 0);
}

TEST_CASE("a command that is dead starts nothing", "[io][handles]") {
    Runtime runtime("poison=1");
    REQUIRE(mprGetDispatcher());
    static std::atomic<int> refused;
    refused = 0;
    useWhileDying([] { return mprCreateCmd(nullptr); },
                  [](void *ptr) {
                      cchar *argv[] = {"true", nullptr};
                      refused += mprStartCmd(static_cast<MprCmd *>(ptr), 1, argv, nullptr, 0) == MPR_ERR_BAD_ARGS;
                  });
    CHECK(refused == Dying::users);
    CHECK(stats().misuses == Dying::users);
    collect();
}

namespace {

MprCmd *lastCmd;
int started;
MprSignal *lastSignal;

/* What managers may do with a socket, a handler, a command and a signal of a runtime that ends. */
void endAll(void *ptr) {
    auto *sp = static_cast<MprSocket *>(ptr);
    cchar *argv[] = {"true", nullptr};
    started += mprStartCmd(lastCmd, 1, argv, nullptr, 0) == 0;
    started += mprRunCmdV(lastCmd, 1, argv, nullptr, nullptr, nullptr, nullptr, -1, 0) >= 0;
    mprEnableSocketEvents(sp, MPR_READABLE);
    mprDestroyWaitHandler(sp->handler);
    mprCloseSocket(sp, true);
    mprDestroyCmd(lastCmd);
    mprRemoveSignalHandler(lastSignal);
}

/* And what they may try. */
void openAll(void *) {
    mprCreateWaitHandler(0, MPR_READABLE, nullptr, proc(count), nullptr, 0);
    mprAddSignalHandler(SIGUSR2, reinterpret_cast<void *>(+[](void *, MprSignal *) {}), nullptr, nullptr, 0);
    mprCreateCmd(nullptr);
    mprGetStdin();
    mprCreateModule("late", nullptr, "late", nullptr);
}

/* A command that has ended, which nobody has told of. */
MprCmd *makeEnded() {
    MprCmd *cmd = mprCreateCmd(nullptr);
    mprAddRoot(cmd);
    cchar *argv[] = {"true", nullptr};
    REQUIRE(mprStartCmd(cmd, 1, argv, nullptr, 0) == 0);
    REQUIRE(untilUnyielded([&] { return mprIsCmdComplete(cmd) != 0; }));
    return cmd;
}
} // namespace

TEST_CASE("managers that mprDestroy calls end what is dead, and open nothing for the next runtime", "[io][handles]") {
    started = 0;
    for (auto *use : {endAll, openAll}) {
        {
            Runtime runtime("poison=1");
            CHECK((use == openAll || mprGetDispatcher()));
            useAtEnd(
                runtime,
                [&] {
                    if (use == openAll) {
                        return static_cast<MprSocket *>(mprAlloc(40)); // no room is open
                    }
                    lastCmd = makeEnded();
                    lastSignal = mprAddSignalHandler(SIGUSR2, reinterpret_cast<void *>(+[](void *, MprSignal *) {}),
                                                     nullptr, nullptr, 0);
                    return makeWatched(MPR_READABLE);
                },
                use);
        }
        Runtime runtime("poison=1");
        CHECK(started == 0);
        CHECK_FALSE(mprLookupModule("late"));
        MprSocket *sp = makeWatched(MPR_READABLE);
        Root root(sp);
        MprFile *input = mprGetStdin();
        collect(); // which retains what waits, and standard input
        CHECK((!input || mprGetStdin() == input));
        MprSocket *client = mprCreateSocket();
        Root rootOfClient(client);
        REQUIRE(mprConnectSocket(client, "127.0.0.1", sp->port, 0) == 0);
        runs = 0;
        CHECK(serviceUntil([] { return runs == 1; }));
        CHECK(stats().misuses == 0);
    }
}
