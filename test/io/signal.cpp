// SPDX-License-Identifier: MIT
/*
    test/io/signal.cpp - Signals as events.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/service.hpp"

#include <signal.h>
#include <unistd.h>

#include <vector>

using namespace test;

namespace {

std::vector<int> order;
std::atomic<int> runs;

void note(void *arg, MprSignal *sp) {
    order.push_back(*static_cast<int *>(arg) * 100 + sp->signo);
    runs++;
}
void *const noteProc = reinterpret_cast<void *>(note);
int one = 1, two = 2, three = 3;

} // namespace

TEST_CASE("handlers of a signal run in their order, on the dispatcher", "[io][signal]") {
    Runtime runtime;
    order.clear();
    runs = 0;
    MprSignal *first = mprAddSignalHandler(SIGUSR1, noteProc, &one, nullptr, MPR_SIGNAL_AFTER);
    MprSignal *second = mprAddSignalHandler(SIGUSR1, noteProc, &two, nullptr, MPR_SIGNAL_AFTER);
    MprSignal *zeroth = mprAddSignalHandler(SIGUSR1, noteProc, &three, nullptr, MPR_SIGNAL_BEFORE);
    MprSignal *other = mprAddSignalHandler(SIGUSR2, noteProc, &one, nullptr, 0);
    REQUIRE((first && second && zeroth && other));
    CHECK(first->signo == SIGUSR1);
    collect(); // they are retained
    kill(getpid(), SIGUSR1);
    CHECK(serviceUntil([] { return runs == 3; }));
    CHECK(order == std::vector<int>{300 + SIGUSR1, 100 + SIGUSR1, 200 + SIGUSR1});
    mprRemoveSignalHandler(first);
    mprRemoveSignalHandler(first);
    mprRemoveSignalHandler(nullptr);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    CHECK(serviceUntil([] { return runs == 6; }));
    mprRemoveSignalHandler(second);
    mprRemoveSignalHandler(zeroth);
    mprRemoveSignalHandler(other);
    mprServiceEvents(0, 0);
    struct sigaction now;
    sigaction(SIGUSR1, nullptr, &now);
    CHECK(now.sa_handler == SIG_DFL);
}

TEST_CASE("a handler may remove itself", "[io][signal]") {
    Runtime runtime;
    runs = 0;
    for (int i = 1; i <= 5; i++) {
        REQUIRE(mprAddSignalHandler(SIGUSR1, reinterpret_cast<void *>(+[](void *, MprSignal *sp) {
                                        mprRemoveSignalHandler(sp);
                                        runs++;
                                    }),
                                    makeNode(), nullptr, 0));
        kill(getpid(), SIGUSR1);
        CHECK(serviceUntil([i] { return runs == i; }));
        collect();
    }
}

TEST_CASE("with poison a handler that gets signals is not freed by hand, which is named", "[io][signal][misuse]") {
    Runtime runtime("poison=1");
    runs = 0;
    MprSignal *handler = mprAddSignalHandler(SIGUSR1, noteProc, &one, nullptr, 0);
    CHECK(mprFree(handler) == MPR_ERR_BAD_ARGS);
    INFO(Log::text());
    CHECK(Log::count("the handler gets signals; see mprRemoveSignalHandler") == 1);
    kill(getpid(), SIGUSR1);
    CHECK(serviceUntil([] { return runs == 1; }));
    mprAddRoot(handler);
    mprRemoveSignalHandler(handler);
    mprRemoveRoot(handler);
    CHECK(mprFree(handler) == 0);
    CHECK(Log::size() == 1);
}

TEST_CASE("signals that cannot be caught are refused and named", "[io][signal]") {
    Runtime runtime;
    for (int signo : {0, -1, 10000, SIGKILL}) {
        CHECK(mprAddSignalHandler(signo, noteProc, nullptr, nullptr, 0) == nullptr);
    }
    CHECK(runtime.log.has("signal 10000"));
    CHECK(runtime.log.has("signal 9:"));
    MprDispatcher *doomed = mprCreateDispatcher("doomed", 0);
    mprDestroyDispatcher(doomed);
    CHECK(mprAddSignalHandler(SIGUSR1, noteProc, nullptr, doomed, 0) == nullptr);
    CHECK(runtime.log.has("its dispatcher was destroyed"));
    CHECK(mprAddSignalHandler(SIGUSR1, nullptr, nullptr, nullptr, 0) == nullptr);
    mprServiceEvents(1, 0);
}

TEST_CASE("the standard signals end the runtime", "[io][signal]") {
    for (int signo : {SIGTERM, SIGINT, SIGQUIT}) {
        Runtime runtime;
        mprAddStandardSignals();
        REQUIRE(mprStart() == 0);
        kill(getpid(), signo);
        CHECK(until([] { return mprIsStopping(); }));
        kill(getpid(), SIGPIPE);
    }
    struct sigaction now;
    sigaction(SIGTERM, nullptr, &now);
    CHECK(now.sa_handler == SIG_DFL);
}
