// SPDX-License-Identifier: MIT
/*
    test/io/misuse.cpp - What threads in the wrong state call of files, waiting, sockets and commands is named, and does nothing.
 */
#include "test/support/wrong_state.hpp"

using namespace test;

namespace {

alignas(64) char none[256]; // a handler that no admitted call looks at

void nothing(void *, MprEvent *) {}
void signalled(void *, MprSignal *) {}
MprCmd *command() {
    return reinterpret_cast<MprCmd *>(none);
}
MprWaitHandler *handler() {
    return reinterpret_cast<MprWaitHandler *>(none);
}

const Call table[] = {
    // mpr/wait.h
    {"mprCreateWaitHandler", making, [] { mprCreateWaitHandler(0, 0, nullptr, nothing, nullptr, 0); }, true},
    {"mprCreateWaitHandler", makingOfDying, [] { mprCreateWaitHandler(0, 0, nullptr, nothing, things.dying, 0); },
     true},
    {"mprWaitOn", making, [] { mprWaitOn(handler(), MPR_READABLE); }, true},
    {"mprNotifyOn", making, [] { mprNotifyOn(handler(), MPR_READABLE); }, true},
    {"mprRecallWaitHandler", making, [] { mprRecallWaitHandler(handler()); }, true},
    {"mprRecallWaitHandlerByFd", making, [] { mprRecallWaitHandlerByFd(0); }, true},
    {"mprServiceEvents", serving, [] { mprWaitForIO(nullptr, 0); }, true},
    // mpr/signal.h, mpr/module.h
    {"mprAddSignalHandler", making, [] { mprAddSignalHandler(SIGUSR2, signalled, nullptr, nullptr, 0); }, true},
    {"mprAddSignalHandler", makingOfDying, [] { mprAddSignalHandler(SIGUSR2, signalled, things.dying, nullptr, 0); },
     true},
    {"mprCreateModule", making, [] { mprCreateModule("module", nullptr, "entry", nullptr); }, true},
    // mpr/file.h, mpr/path.h, mpr/log.h, mpr/app.h
    {"mprGetStdin", making, [] { mprGetStdin(); }},
    {"mprSetLogFile", making, [] { mprSetLogFile(nullptr); }, true},
    {"mprSetLogFile", makingOfDying, [] { mprSetLogFile(static_cast<MprFile *>(things.dying)); }, true},
    {"mprGetPassword", running, [] { mprGetPassword("?"); }, true},
    {"mprAlloc", running, [] { mprGetPathLink("/proc/self/exe"); }},
    // mpr/socket.h, mpr/command.h
    {"mprAllocMem", running, [] { mprCreateSocket(); }},
    {"mprCreateCmd", making, [] { mprCreateCmd(nullptr); }, true},
    {"mprRun", serving, [] { mprRun(nullptr, "true", nullptr, nullptr, nullptr, -1); }, true},
    {"mprWaitForCmd", serving, [] { mprWaitForCmd(command(), 0); }, true},
    {"mprRunCmd", serving, [] { mprRunCmd(command(), "true", nullptr, nullptr, nullptr, nullptr, -1, 0); }, true},
    {"mprRunCmdV", serving,
     [] {
         cchar *argv[] = {"true", nullptr};
         mprRunCmdV(command(), 1, argv, nullptr, nullptr, nullptr, nullptr, -1, 0);
     },
     true},
};
} // namespace

TEST_CASE("a call of files or sockets by a thread in the wrong state is named and does nothing", "[io][misuse]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}
