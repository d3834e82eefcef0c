// SPDX-License-Identifier: MIT
/*
    test/io/misuse.cpp - What threads in the wrong state call of files, waiting, sockets and commands is named, and does nothing.
 */
#include "test/support/wrong_state.hpp"

using namespace test;

namespace {

alignas(64) char none[256]; // a handler that no admitted call looks at

void nothing(void *, MprEvent *) {}
MprWaitHandler *handler() {
    return reinterpret_cast<MprWaitHandler *>(none);
}

const Call table[] = {
    // mpr/wait.h
    {"mprCreateWaitHandler", running, [] { mprCreateWaitHandler(0, 0, nullptr, nothing, nullptr, 0); }, true},
    {"mprWaitOn", running, [] { mprWaitOn(handler(), MPR_READABLE); }, true},
    {"mprNotifyOn", running, [] { mprNotifyOn(handler(), MPR_READABLE); }, true},
    {"mprRecallWaitHandler", running, [] { mprRecallWaitHandler(handler()); }, true},
    {"mprRecallWaitHandlerByFd", running, [] { mprRecallWaitHandlerByFd(0); }, true},
    {"mprServiceEvents", running, [] { mprWaitForIO(nullptr, 0); }, true},
    // mpr/file.h, mpr/path.h, mpr/log.h, mpr/app.h
    {"mprGetStdin", running, [] { mprGetStdin(); }},
    {"mprSetLogFile", running, [] { mprSetLogFile(nullptr); }, true},
    {"mprGetPassword", running, [] { mprGetPassword("?"); }, true},
    {"mprAlloc", running, [] { mprGetPathLink("/proc/self/exe"); }},
    // mpr/socket.h, mpr/command.h
    {"mprAllocMem", running, [] { mprCreateSocket(); }},
    {"mprCreateCmd", running, [] { mprCreateCmd(nullptr); }, true},
};
} // namespace

TEST_CASE("a call of files or sockets by a thread in the wrong state is named and does nothing", "[io][misuse]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}
