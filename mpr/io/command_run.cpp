// SPDX-License-Identifier: MIT
/*
    command_run.cpp - Programs that are run to their end: mprRunCmd and the like of mpr/command.h.
 */
#include <algorithm>
#include <string_view>

#include "mpr/app.h"
#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/base/retain.hpp"
#include "mpr/buffer.h"
#include "mpr/gc/runtime.hpp"
#include "mpr/io/command.hpp"
#include "mpr/memory.h"
#include "mpr/shutdown.h"
#include "mpr/string.h"
#include "mpr/thread.h"

namespace mpr::io {

using base::Rooted;
using std::string_view;

namespace {

/** Bytes that come, in permanent memory: the thread yields between two turns of reading. */
struct Gathered {
    char* bytes = nullptr;
    std::size_t length = 0;
    std::size_t room = 0;

    bool grow() {
        char* larger = static_cast<char*>(prealloc(bytes, room * 2 + 4096));
        if (larger) {
            bytes = larger;
            room = room * 2 + 4096;
        }
        return larger != nullptr;
    }
    /** A buffer with a NUL behind the contents. @return nullptr when memory is short. */
    MprBuf* give() {
        MprBuf* buf = mprCreateBuf(static_cast<ssize>(length) + 1, 0);
        if (buf) {
            mprPutBlockToBuf(buf, bytes, static_cast<ssize>(length));
            mprAddNullToBuf(buf);
        }
        return buf;
    }
};

/** Read a channel until it has nothing more for now, or until others should have their turn. @return 0 or MPR_ERR_MEMORY. */
int gather(Command& cmd, int channel, Gathered& into) {
    constexpr std::size_t turn = 256 * 1024; // some pipes full
    for (const std::size_t before = into.length; into.length - before < turn;) {
        if (into.room - into.length < 1024 && !into.grow()) {
            return MPR_ERR_MEMORY;
        }
        const ssize count =
            mprReadCmd(&cmd, channel, into.bytes + into.length, static_cast<ssize>(into.room - into.length));
        if (count == MPR_ERR_WOULD_BLOCK) {
            return 0;
        }
        if (count <= 0) {
            closeChannel(cmd, channel);
            return 0;
        }
        into.length += static_cast<std::size_t>(count);
    }
    return 0;
}

/** Write input as far as the process takes it; close its input when it has all, or wants no more. */
void feed(Command& cmd, string_view& in) {
    ssize count = 1;
    while (count > 0 && !in.empty() && isChannel(&cmd, MPR_CMD_STDIN)) {
        count = mprWriteCmd(&cmd, MPR_CMD_STDIN, in.data(), static_cast<ssize>(in.size()));
        in.remove_prefix(count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    if (in.empty() || count < 0) {
        closeChannel(cmd, MPR_CMD_STDIN);
    }
}

/**
    Wait until a channel may be ready, or something has happened to the process. While the runtime stops nobody waits for
    events: then it is looked every now and then.
 */
void waitForChannels(Command& cmd, const task::Awaited& awaited, std::uint64_t deadline, const void* site) {
    constexpr MprTicks now = 10;
    const MprTicks rest = restUntil(deadline);
    if (!mprIsStopping()) {
        for (int channel = 0; channel < channels; ++channel) {
            if (isChannel(&cmd, channel)) {
                waitOnChannel(cmd, channel);
            }
        }
        task::events().waitFor(awaited, rest, site);
    } else {
        mprSleep(rest < 0 ? now : std::min(rest, now));
    }
}

/** Feed and read a process until it has ended and closed its outputs. @return 0 or MPR_ERR_*. */
int exchange(Command& cmd, string_view in, Gathered (&gathered)[channels], std::uint64_t deadline, const void* site) {
    for (int channel = 0; channel < channels; ++channel) {
        // Their events say no more than that they are there.
        if (isChannel(&cmd, channel) && !makeHandler(cmd, channel, cmd.own, [](void*, MprEvent*) {})) {
            return MPR_ERR_MEMORY;
        }
    }
    for (bool expired = false;;) {
        const task::Awaited awaited{{cmd.own, nullptr}, {task::events().mark(*cmd.own), 0}};
        feed(cmd, in);
        for (const int channel : {MPR_CMD_STDOUT, MPR_CMD_STDERR}) {
            if (isChannel(&cmd, channel) && gather(cmd, channel, gathered[channel]) != 0) {
                return MPR_ERR_MEMORY;
            }
        }
        if (!stillRuns(cmd) && !isChannel(&cmd, MPR_CMD_STDOUT) && !isChannel(&cmd, MPR_CMD_STDERR)) {
            closeChannel(cmd, MPR_CMD_STDIN);
            return 0;
        }
        if (expired) {
            return MPR_ERR_TIMEOUT;
        }
        waitForChannels(cmd, awaited, deadline, site);
        expired = task::leftUntil(deadline) == 0;
    }
}

/** Kill a process and all that it has started, and wait for it, unless the system itself waits for something. */
void killAndWait(Command& cmd) {
    constexpr int longest = 1000; // milliseconds
    killTree(cmd);
    for (int i = 0; i < longest && stillRuns(cmd); ++i) {
        mprSleep(1);
    }
}
int runCmd(Command& cmd, int argc, cchar** argv, cchar** envp, cchar* in, char** out, char** err, MprTicks timeout,
           int flags, const void* site) {
    const std::uint64_t deadline = task::deadlineIn(timeout);
    const Rooted rooted(&cmd);
    const Awaiting awaiting(cmd);
    flags |= (in ? MPR_CMD_IN : 0) | (out ? MPR_CMD_OUT : 0) | (err ? MPR_CMD_ERR : 0);
    int result = argc > 0 && *argv[0] ? startCmd(cmd, argc, argv, envp, flags, true) : MPR_ERR_BAD_ARGS;
    if (result != 0) {
        return result;
    }
    Gathered gathered[channels];
    result = exchange(cmd, in ? in : "", gathered, deadline, site);
    if (result == 0) {
        isComplete(cmd);
        result = mprGetCmdExitStatus(&cmd);
        letGo(cmd);
        closeEnd(cmd);
    } else {
        killAndWait(cmd);
        mprDestroyCmd(&cmd);
    }
    for (const int channel : {MPR_CMD_STDOUT, MPR_CMD_STDERR}) {
        char** const to = channel == MPR_CMD_STDOUT ? out : err;
        MprBuf* buf = to ? gathered[channel].give() : nullptr;
        base::setRef(&cmd, *bufferOf(cmd, channel), buf);
        if (buf) {
            *to = buf->start;
        } else if (to && result >= 0) {
            result = MPR_ERR_MEMORY;
        }
        pfree(gathered[channel].bytes);
    }
    return result;
}

/** Callers find NULL when nothing was written. */
void clearOutputs(char** out, char** err) {
    for (char** each : {out, err}) {
        if (each) {
            *each = nullptr;
        }
    }
}
} // namespace

} // namespace mpr::io

using namespace mpr::io;

int mprRunCmd(MprCmd* ptr, cchar* command, cchar** envp, cchar* in, char** out, char** err, MprTicks timeout,
              int flags) {
    auto* cmd = static_cast<Command*>(ptr);
    clearOutputs(out, err);
    if (!mpr::gc::admitServing("mprRunCmd") || !cmd || !command) {
        return MPR_ERR_BAD_ARGS;
    }
    cchar** argv = nullptr;
    const int argc = mprMakeArgv(command, &argv, 0);
    return argc < 0 ? argc : runCmd(*cmd, argc, argv, envp, in, out, err, timeout, flags, __builtin_return_address(0));
}

int mprRunCmdV(MprCmd* ptr, int argc, cchar** argv, cchar** envp, cchar* in, char** out, char** err, MprTicks timeout,
               int flags) {
    auto* cmd = static_cast<Command*>(ptr);
    clearOutputs(out, err);
    if (!mpr::gc::admitServing("mprRunCmdV") || !cmd || argc < 1 || !argv || !argv[0]) {
        return MPR_ERR_BAD_ARGS;
    }
    return runCmd(*cmd, argc, argv, envp, in, out, err, timeout, flags, __builtin_return_address(0));
}

int mprRun(MprDispatcher* dispatcher, cchar* command, cchar* input, char** output, char** error, MprTicks timeout) {
    const int result = mpr::gc::admitServing("mprRun") ? mpr::task::events().tryOpen("mprRun") : MPR_ERR_BAD_STATE;
    if (result != 0) {
        return result;
    }
    MprCmd* cmd = mprCreateCmd(dispatcher);
    if (!cmd) {
        return MPR_ERR_MEMORY;
    }
    return mprRunCmd(cmd, command, nullptr, input, output, error, timeout, 0);
}
