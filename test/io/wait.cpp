// SPDX-License-Identifier: MIT
/*
    test/io/wait.cpp - Wait handlers: one shot, masks, dispatchers, retention, the end of descriptors.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/service.hpp"
#include "test/support/sanitizer.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

using namespace test;

namespace {

std::atomic<int> runs, mask, wrong;

void reset() {
    runs = mask = wrong = 0;
    calls.reset();
}

void note(void *, MprEvent *event) {
    mask = event->mask;
    wrong += event->handler == nullptr;
    runs++;
}
void *const noteProc = reinterpret_cast<void *>(note);

/* How often the system still refuses to wait for one more descriptor, and how; and how often it was asked. */
std::atomic<int> refusals, refusal{ENOMEM}, asked;
} // namespace

extern "C" int __real_epoll_ctl(int set, int operation, int fd, epoll_event *event);
extern "C" int __wrap_epoll_ctl(int set, int operation, int fd, epoll_event *event) {
    asked++;
    if (refusals > 0) {
        refusals--;
        errno = refusal;
        return -1;
    }
    return __real_epoll_ctl(set, operation, fd, event);
}

namespace {

/* Two ends of a stream. */
struct Pair {
    int fd[2] = {-1, -1};
    Pair() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0); }
    ~Pair() {
        close(0);
        close(1);
    }
    void close(int end) {
        if (fd[end] >= 0) {
            ::close(fd[end]);
            fd[end] = -1;
        }
    }
    void put(int end) { REQUIRE(write(fd[end], "x", 1) == 1); }
    void get(int end) {
        char c;
        REQUIRE(read(fd[end], &c, 1) == 1);
    }
};

/* A rooted handler of the first end that notes when it can be read. */
MprWaitHandler *noteReadable(const Pair &pair) {
    MprWaitHandler *handler = mprCreateWaitHandler(pair.fd[0], MPR_READABLE, nullptr, noteProc, nullptr, 0);
    REQUIRE(handler);
    mprAddRoot(handler);
    return handler;
}

} // namespace

TEST_CASE("a handler runs once for each time it waits", "[io][wait]") {
    Pair pair;
    Runtime runtime;
    reset();
    MprWaitHandler *handler = noteReadable(pair);
    mprServiceEvents(5, 0);
    CHECK(runs == 0);
    pair.put(1);
    CHECK(serviceUntil([] { return runs == 1; }));
    CHECK(mask == MPR_READABLE);
    mprServiceEvents(5, 0);
    CHECK(runs == 1); // it was not read, but nobody waits
    mprWaitOn(handler, MPR_READABLE);
    CHECK(serviceUntil([] { return runs == 2; }));
    pair.get(0);
    mprWaitOn(handler, MPR_READABLE | MPR_WRITABLE);
    CHECK(serviceUntil([] { return runs == 3; }));
    CHECK(mask == MPR_WRITABLE);
    mprWaitOn(handler, MPR_READABLE);
    mprWaitOn(handler, 0);
    pair.put(1);
    mprServiceEvents(5, 0);
    CHECK(runs == 3);
    CHECK(wrong == 0);
    mprDestroyWaitHandler(handler);
    mprDestroyWaitHandler(handler);
    mprWaitOn(handler, MPR_READABLE);
    mprServiceEvents(5, 0);
    CHECK(runs == 3);
    mprRemoveRoot(handler);
}

TEST_CASE("a handler that waits already asks the system once when it is to wait again", "[io][wait]") {
    Pair pair;
    Runtime runtime;
    reset();
    MprWaitHandler *handler = noteReadable(pair);
    mprServiceEvents(0, 0);
    const int before = asked;
    for (int i = 0; i < 100; i++) {
        mprWaitOn(handler, MPR_READABLE);
        mprWaitOn(handler, MPR_READABLE);
        mprServiceEvents(0, 0);
    }
    CHECK(asked == before + 100); // whether there is such a descriptor
    mprWaitOn(handler, MPR_READABLE | MPR_WRITABLE);
    CHECK(serviceUntil([] { return runs == 1; }));
    mprWaitOn(handler, MPR_READABLE);
    pair.put(1);
    CHECK(serviceUntil([] { return runs == 2; }));
    CHECK(wrong == 0);
    mprDestroyWaitHandler(handler);
    mprRemoveRoot(handler);
}

TEST_CASE("the end of the peer counts as what is waited for", "[io][wait]") {
    Pair pair;
    Runtime runtime;
    reset();
    REQUIRE(mprCreateWaitHandler(pair.fd[0], MPR_READABLE, nullptr, noteProc, nullptr, 0));
    pair.close(1);
    CHECK(serviceUntil([] { return runs == 1; }));
    CHECK(mask == MPR_READABLE);
}

TEST_CASE("a handler that waits is retained with its data; afterwards it is collected", "[io][wait]") {
    Pair pair;
    Runtime runtime;
    reset();
    REQUIRE(mprCreateWaitHandler(pair.fd[0], MPR_READABLE, nullptr, noteProc, makeNode(makeNode()), 0));
    for (int i = 0; i < 5; i++) {
        collect();
    }
    CHECK(calls.frees == 0);
    pair.put(1);
    CHECK(serviceUntil([] { return runs == 1; }));
    collect();
    CHECK(calls.frees == 2);
    // Its descriptor may have another now.
    REQUIRE(serviceUntil([] { return true; }));
    mprServiceEvents(1, 0);
    CHECK(mprCreateWaitHandler(pair.fd[0], MPR_READABLE, nullptr, noteProc, nullptr, 0) != nullptr);
    CHECK(serviceUntil([] { return runs == 2; }));
}

TEST_CASE("a handler of a worker's dispatcher, armed by its own procedure", "[io][wait]") {
    static Pair *pair;
    Pair made; // closed after the runtime has ended, since the handler waits to the end
    Runtime runtime;
    reset();
    pair = &made;
    MprDispatcher *dispatcher = mprCreateDispatcher("io", 0);
    REQUIRE(mprStart() == 0);
    REQUIRE(mprCreateWaitHandler(pair->fd[0], MPR_READABLE, dispatcher,
                                 reinterpret_cast<void *>(+[](void *, MprEvent *event) {
                                     char c;
                                     wrong += read(pair->fd[0], &c, 1) != 1;
                                     mprWaitOn(event->handler, MPR_READABLE);
                                     runs++;
                                 }),
                                 nullptr, 0));
    for (int i = 1; i <= 200; i++) {
        pair->put(1);
        REQUIRE(until([i] { return runs == i; }));
        if (i % 50 == 0) {
            collect();
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("many handlers at once", "[io][wait]") {
    std::vector<Pair> pairs(200);
    Runtime runtime;
    reset();
    for (auto &pair : pairs) {
        REQUIRE(mprCreateWaitHandler(pair.fd[0], MPR_READABLE, nullptr, noteProc, nullptr, 0));
    }
    for (auto &pair : pairs) {
        pair.put(1);
    }
    CHECK(serviceUntil([] { return runs == 200; }));
    collect();
}

TEST_CASE("what cannot be waited for is refused and named", "[io][wait]") {
    Pair pair;
    Runtime runtime;
    reset();
    CHECK(mprCreateWaitHandler(pair.fd[0], MPR_READABLE, nullptr, nullptr, nullptr, 0) == nullptr);
    CHECK(mprCreateWaitHandler(-1, MPR_READABLE, nullptr, noteProc, nullptr, 0) == nullptr);
    CHECK(runtime.log.has("descriptor -1"));
    MprWaitHandler *first = mprCreateWaitHandler(pair.fd[0], MPR_READABLE, nullptr, noteProc, nullptr, 0);
    CHECK(first);
    mprServiceEvents(0, 0);
    CHECK(mprCreateWaitHandler(pair.fd[0], MPR_READABLE, nullptr, noteProc, nullptr, 0) == nullptr);
    CHECK(runtime.log.has("it has a handler"));
    mprWaitOn(nullptr, MPR_READABLE);
    mprDestroyWaitHandler(nullptr);
    mprRemoveWaitHandler(first);
    MprDispatcher *doomed = mprCreateDispatcher("doomed", 0);
    mprDestroyDispatcher(doomed);
    CHECK(mprCreateWaitHandler(pair.fd[1], MPR_READABLE, doomed, noteProc, nullptr, 0) == nullptr);
}

TEST_CASE("a descriptor closed before its handler ends nothing", "[io][wait]") {
    const bool another = GENERATE(false, true); // a file has got its number
    Pair pair;
    Runtime runtime;
    reset();
    MprWaitHandler *handler = noteReadable(pair);
    const int closed = pair.fd[0];
    SECTION("as soon as it waits") {
        pair.close(0);
    }
    SECTION("while it waits") {
        mprServiceEvents(5, 0);
        pair.close(0);
        mprServiceEvents(5, 0);
        CHECK(runs == 0);
    }
    const int file = another ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;
    CHECK((!another || file == closed));
    mprWaitOn(handler, MPR_READABLE);
    CHECK(serviceUntil([] { return runs == 1; }));
    CHECK(mask == MPR_READABLE);
    CHECK(Log::has("descriptor " + std::to_string(closed) + " was closed"));
    // One that stops to wait in time is not asked about; and others go on.
    mprWaitOn(handler, MPR_READABLE);
    mprWaitOn(handler, 0);
    Pair sound;
    MprWaitHandler *other = mprCreateWaitHandler(sound.fd[0], MPR_WRITABLE, nullptr, noteProc, nullptr, 0);
    REQUIRE(other);
    CHECK(serviceUntil([] { return runs == 2; }));
    CHECK(mask == MPR_WRITABLE);
    CHECK(Log::count("was closed") == 1);
    mprWaitOn(handler, MPR_READABLE);
    mprDestroyWaitHandler(handler);
    mprServiceEvents(5, 0);
    CHECK(runs == 2);
    mprRemoveRoot(handler);
    if (file >= 0) {
        close(file);
    }
}

namespace {

/* What is asked in a log's handler, which may look. */
MprCmd *command;
std::atomic<int> looks;

void look(cchar *, int, cchar *text) {
    if (std::string(text).find("was closed before") != std::string::npos) {
        looks += mprGetCmdPid(command) == 0;
    }
}
} // namespace

TEST_CASE("the log's handler may look when it is told of a descriptor that was closed", "[io][wait]") {
    Pair pair;
    Runtime runtime;
    reset();
    looks = 0;
    command = mprCreateCmd(nullptr);
    mprAddRoot(command);
    MprWaitHandler *handler = noteReadable(pair);
    pair.close(0);
    MprLogHandler before = mprSetLogHandler(look);
    CHECK(serviceUntil([] { return runs == 1; }));
    CHECK(looks == 1);
    mprSetLogHandler(before);
    mprRemoveRoot(handler);
    mprRemoveRoot(command);
}

TEST_CASE("a descriptor that the system has no memory to wait for is tried again, not all the time", "[io][wait]") {
    Pair pair, other;
    Runtime runtime;
    reset();
    MprWaitHandler *handler = noteReadable(pair);
    pair.put(1);
    refusals = 4;
    const MprTicks begin = mprGetTicks();
    CHECK(serviceUntil([] { return runs == 1; }));
    CHECK(refusals == 0);
    CHECK(mprGetTicks() - begin >= 4 * 45); // a rest each
    CHECK(mask == MPR_READABLE);
    CHECK(runtime.log.count("cannot be waited for yet") == 1);
    // Others wait meanwhile, and one that rests may end, or want something else.
    refusals = 1;
    mprWaitOn(handler, MPR_READABLE);
    mprServiceEvents(5, 0);
    CHECK(refusals == 0);
    MprWaitHandler *second = noteReadable(other);
    mprWaitOn(handler, 0);
    other.put(1);
    CHECK(serviceUntil([] { return runs == 2; }));
    refusals = 1;
    mprWaitOn(handler, MPR_READABLE);
    mprServiceEvents(5, 0);
    mprDestroyWaitHandler(handler);
    mprServiceEvents(100, 0);
    CHECK(runs == 2);
    CHECK(wrong == 0);
    mprRemoveRoot(handler);
    mprRemoveRoot(second);
}

TEST_CASE("without memory to wait for its own descriptors there is no loop, and that is said", "[io][wait]") {
    Runtime runtime;
    for (const int error : {ENOMEM, ENOSPC}) {
        refusal = error;
        refusals = 1;
        CHECK(mprStart() == (error == ENOMEM ? MPR_ERR_MEMORY : MPR_ERR_CANT_CREATE));
        CHECK(refusals == 0);
    }
    refusal = ENOMEM;
    CHECK(runtime.log.count("libuv's loop cannot be made") == 2);
    CHECK(mprStart() == 0);
}

TEST_CASE("a thread waits for a descriptor, yielded", "[io][wait]") {
    Runtime runtime("deadline=10000");
    Pair pair;
    CHECK(mprWaitForSingleIO(pair.fd[0], MPR_READABLE, 5) == 0);
    CHECK(mprWaitForSingleIO(pair.fd[0], MPR_READABLE | MPR_WRITABLE, 1000) == MPR_WRITABLE);
    CHECK(mprWaitForSingleIO(12345, MPR_READABLE, 10) == MPR_ERR_BAD_HANDLE);
    CHECK(mprWaitForSingleIO(-1, MPR_READABLE, 10) == MPR_ERR_BAD_HANDLE);
    std::atomic<int> result{-1};
    {
        Mutator waiter("waiter", [&](Mutator &) { result = mprWaitForSingleIO(pair.fd[0], MPR_READABLE, -1); });
        sleepYielded(10);
        collect();
        CHECK(stats().late == 0);
        pair.put(1);
        waiter.join();
    }
    CHECK(result == MPR_READABLE);
    pair.close(1);
    CHECK(mprWaitForSingleIO(pair.fd[0], MPR_READABLE, 1000) == MPR_READABLE);
}

TEST_CASE("handlers left when the runtime ends", "[io][wait]") {
    Pair pair;
    for (int i = 0; i < 50; i++) {
        Runtime runtime;
        MprWaitHandler *handler =
            mprCreateWaitHandler(pair.fd[0], i % 2 ? MPR_READABLE : 0, nullptr, noteProc, nullptr, 0);
        REQUIRE(handler);
        if (i % 3) {
            mprHold(handler);
        }
        mprServiceEvents(i % 2, 0);
    }
}

TEST_CASE("a handler knows its descriptor and dispatcher, and may have one of its own", "[io][wait]") {
    Pair pair;
    Runtime runtime;
    reset();
    MprWaitHandler *handler = noteReadable(pair);
    CHECK((handler->fd == pair.fd[0] && handler->dispatcher == mprGetDispatcher()));
    CHECK(mprNotifyOn(handler, 0) == 0);
    mprDestroyWaitHandler(handler);
    CHECK(mprNotifyOn(handler, MPR_READABLE) == MPR_ERR_BAD_STATE);
    CHECK(mprNotifyOn(nullptr, MPR_READABLE) == MPR_ERR_BAD_ARGS);
    mprRemoveRoot(handler);

    static std::atomic<bool> onWorker;
    onWorker = false;
    const auto byWorker = [](void *, MprEvent *) {
        onWorker = mprGetCurrentWorker() != nullptr;
        runs++;
    };
    handler = mprCreateWaitHandler(pair.fd[0], MPR_READABLE, mprGetDispatcher(), MPR_PROC(+byWorker), nullptr,
                                   MPR_WAIT_NEW_DISPATCHER);
    REQUIRE(handler);
    Root root(handler);
    CHECK(handler->dispatcher != mprGetDispatcher());
    pair.put(1);
    CHECK(serviceUntil([] { return runs == 1; }));
    CHECK(onWorker);
    mprDestroyWaitHandler(handler);
}

TEST_CASE("a handler is recalled: its procedure runs though nothing came", "[io][wait]") {
    Pair pair;
    Runtime runtime;
    reset();
    MprWaitHandler *handler = noteReadable(pair);
    mprRecallWaitHandler(handler);
    CHECK(serviceUntil([] { return runs == 1; }));
    CHECK(mask == MPR_READABLE);
    pair.put(1);
    mprServiceEvents(5, 0);
    CHECK(runs == 1); // it waits no more
    pair.get(0);
    mprRecallWaitHandlerByFd(pair.fd[0]); // that is for those that wait
    mprServiceEvents(5, 0);
    CHECK(runs == 1);
    mprWaitOn(handler, MPR_READABLE);
    mprRecallWaitHandlerByFd(pair.fd[1]);
    mprServiceEvents(5, 0);
    CHECK(runs == 1);
    mprRecallWaitHandlerByFd(pair.fd[0]);
    CHECK(serviceUntil([] { return runs == 2; }));
    mprWaitOn(handler, MPR_READABLE);
    pair.put(1);
    mprWaitForIO(nullptr, 20000);
    CHECK(runs == 3);
    CHECK(wrong == 0);
    mprDestroyWaitHandler(handler);
    mprRecallWaitHandler(handler);
    mprRecallWaitHandler(nullptr);
    mprServiceEvents(5, 0);
    CHECK(runs == 3);
    mprRemoveRoot(handler);
}
