// SPDX-License-Identifier: MIT
/*
    command.cpp - Child processes: the C API of mpr/command.h. See command.hpp.
 */
#include "mpr/base/references.hpp"
#include "mpr/io/command.hpp"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "mpr/app.h"
#include "mpr/barrier.h"
#include "mpr/base/retain.hpp"
#include "mpr/buffer.h"
#include "mpr/gc/census.hpp"
#include "mpr/gc/keepers.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/io/descriptor.hpp"
#include "mpr/io/retained.hpp"
#include "mpr/memory.h"
#include "mpr/os/broken_pipe.hpp"
#include "mpr/os/log.hpp"
#include "mpr/shutdown.h"
#include "mpr/string.h"
#include "mpr/task/callback.hpp"
#include "mpr/thread.h"

namespace mpr::io {

namespace {

void manageCmd(void* ptr, int flags) {
    auto* cmd = static_cast<Command*>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&cmd->dispatcher);
        mprMarkRef(&cmd->own);
        mprMarkRef(&cmd->end);
        mprMarkRef(&cmd->told);
        mprMarkRef(&cmd->looks);
        mprMarkRefs(cmd->handlers, places);
        mprMarkRef(&cmd->search);
        mprMarkRef(&cmd->folder);
        mprMarkRef(&cmd->environment);
        mprMarkRef(&cmd->usualEnvironment);
        mprMarkRef(&cmd->stdoutBuf);
        mprMarkRef(&cmd->stderrBuf);
        mprMarkRef(&cmd->next);
        gc::markLoose(&cmd->data);
    } else if ((flags & MPR_MANAGE_FREE) && gc::isFreedByHand(cmd) && task::events().isOpen()) {
        mprDestroyCmd(cmd);
        gc::leaveToCollector(cmd); // whoever services may be about to tell of it
    } else if (flags & MPR_MANAGE_FREE) {
        leave(*cmd);
        for (int place = 0; place < places; ++place) {
            drop(cmd->ties[place]);
            // Managers of others may use the dead command until all have run: they find its channels closed.
            if (const int fd = cmd->fds[place].exchange(-1); fd >= 0) {
                ::close(fd);
            }
        }
    }
}
const gc::ManagerName namedCmd(manageCmd, "MprCmd");

std::uint32_t ownNumber() {
    return gc::attached ? gc::attached->number : 0;
}

/** Events that tell of a command: of its end, and of the callback as long as it is called. */
task::Awaited eventsOf(const Command& cmd) {
    task::Events& events = task::events();
    MprDispatcher* const callbacks = task::Events::isDestroyed(*cmd.dispatcher) ? nullptr : cmd.dispatcher;
    return {{cmd.own, callbacks}, {events.mark(*cmd.own), callbacks ? events.mark(*callbacks) : 0}};
}

/** Tell the callback of a run's end, unless the program has ended that run itself, or begun another, since. */
void tellEnd(void* data, MprEvent* event) {
    auto* cmd = static_cast<Command*>(data);
    const bool isTold = __atomic_load_n(&cmd->told, __ATOMIC_ACQUIRE) == event;
    if (isTold && cmd->callback) {
        task::callProgram({"command callback"}, [=] { cmd->callback(cmd, -1, cmd->data); });
    }
}

/** The event of a process's end. It may run late, when the program has begun another run. */
void onEnd(void* data, MprEvent*) {
    auto& cmd = *static_cast<Command*>(data);
    closeEnd(cmd);
    isComplete(cmd);
    task::Events& events = task::events();
    task::Event* event =
        cmd.callback ? events.makeEvent(*cmd.dispatcher, "command", 0, tellEnd, &cmd, MPR_EVENT_DONT_QUEUE) : nullptr;
    if (event && takeEnd(cmd, *event)) {
        events.queue(*event, 0);
    }
}
} // namespace

Awaiting::Awaiting(Command& cmd) : cmd_(cmd), outer_(cmd.waiter.exchange(ownNumber())) {}

MprTicks restUntil(std::uint64_t deadline) {
    const std::uint64_t left = task::leftUntil(deadline);
    return left == os::forever ? -1 : static_cast<MprTicks>((left + 999'999) / 1'000'000);
}

// ---- Starting ---------------------------------------------------------------------------------------------------

void closeChannel(Command& cmd, int channel) {
    const int fd = cmd.fds[channel].exchange(-1);
    if (fd >= 0) {
        mprDestroyWaitHandler(cmd.handlers[channel]);
        ::close(fd);
    }
}

MprWaitHandler* makeHandler(Command& cmd, int channel, MprDispatcher* dispatcher, MprEventProc proc) {
    MprWaitHandler* handler =
        mprCreateWaitHandler(cmd.fds[channel], 0, dispatcher, reinterpret_cast<void*>(proc), &cmd, 0);
    if (handler) {
        drop(cmd.ties[channel]);
        cmd.ties[channel] = setOwner(*handler, &cmd);
    }
    base::setRef(&cmd, cmd.handlers[channel], handler);
    return handler;
}

namespace {

/** A descriptor that is not one of the first three, which the child's own will be. -1 stays. */
int moveUp(int fd) {
    if (fd < 0 || fd > 2) {
        return fd;
    }
    const Descriptor lower(fd);
    return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

void logPipe(int error) {
    os::Message message;
    os::log(os::Level::error, message << "mprStartCmd: no pipe to the process: " << strerror(error));
}

/** A pipe that is not inherited; our end does not block. @return false when descriptors are short. */
bool openPipe(Command& cmd, int channel, int& childs) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        logPipe(errno);
        return false;
    }
    const bool input = channel == MPR_CMD_STDIN;
    const int ours = moveUp(ends[input ? 1 : 0]);
    childs = moveUp(ends[input ? 0 : 1]);
    cmd.fds[channel] = ours;
    if (ours < 0 || childs < 0 || fcntl(ours, F_SETFL, fcntl(ours, F_GETFL) | O_NONBLOCK) != 0) {
        logPipe(errno);
        return false;
    }
    return true;
}

void onChannel(void* data, MprEvent* event) {
    auto* cmd = static_cast<Command*>(data);
    for (int channel = 0; channel < channels; ++channel) {
        if (cmd->handlers[channel] == event->handler && cmd->callback) {
            const os::ThreadId outer = cmd->caller.exchange(os::currentThread());
            std::atomic<std::uint8_t>& state = cmd->states[channel];
            std::uint8_t seen = state;
            // Stored at once: other threads look meanwhile whether more is to come.
            while (!state.compare_exchange_weak(seen, static_cast<std::uint8_t>((seen & ~armed) | calling))) {}
            task::callProgram({"command callback"}, [=] { cmd->callback(cmd, channel, cmd->data); });
            state &= static_cast<std::uint8_t>(seen & calling ? ~0 : ~calling); // it may nest
            cmd->caller = outer;
            isComplete(*cmd);
            return;
        }
    }
}

/** @return false when memory is short. */
bool makeBuffer(Command& cmd, int channel) {
    MprBuf* buf = mprCreateBuf(0, 0);
    base::setRef(&cmd, *bufferOf(cmd, channel), buf);
    return buf;
}

/** Start the process. @return 0 or MPR_ERR_*. */
int spawnProcess(Command& cmd, const Start& start, bool detached) {
    auto* process = static_cast<Process*>(palloc(sizeof(Process)));
    if (!process) {
        return MPR_ERR_MEMORY;
    }
    int error = hearOfEnds();
    if (error == 0) {
        error = spawn(process->pid, start);
    }
    if (error != 0) {
        pfree(process);
        sayWhy(start, error);
        return error == EACCES ? MPR_ERR_CANT_ACCESS : MPR_ERR_CANT_CREATE;
    }
    process->detached = detached;
    begin(cmd, *process);
    return 0;
}

/** Open the channels of a run. @param gathers As startCmd's. @param childs Receives the other ends. @return 0 or MPR_ERR_*. */
int openChannels(Command& cmd, int flags, bool gathers, int (&childs)[channels]) {
    for (int channel = 0; channel < channels; ++channel) {
        if (!(flags & (MPR_CMD_IN << channel))) {
            continue;
        }
        const bool read = channel != MPR_CMD_STDIN && !gathers; // by the program
        if (read && !makeBuffer(cmd, channel)) {
            return MPR_ERR_MEMORY;
        }
        if (!openPipe(cmd, channel, childs[channel])) {
            return MPR_ERR_CANT_CREATE;
        }
        if (read && cmd.callback && !makeHandler(cmd, channel, cmd.dispatcher, onChannel)) {
            return MPR_ERR_MEMORY;
        }
    }
    return 0;
}

/** Forget the channels of the run before, and what came by them. */
void forgetChannels(Command& cmd) {
    for (int channel = 0; channel < channels; ++channel) {
        closeChannel(cmd, channel);
        base::setRef(&cmd, cmd.handlers[channel], nullptr);
        cmd.states[channel] = 0;
    }
    base::setRef(&cmd, cmd.stdoutBuf, nullptr);
    base::setRef(&cmd, cmd.stderrBuf, nullptr);
}

/** Open channels, and run a program that was found. @param envp nullptr: our environment. @return 0 or MPR_ERR_*. */
int run(Command& cmd, const char* path, int argc, cchar** argv, cchar** envp, int flags, bool gathers) {
    const bool mixes = envp && !(flags & MPR_CMD_EXACT_ENV);
    const bool leads = flags & (MPR_CMD_NEW_SESSION | MPR_CMD_DETACH);
    auto** arguments = static_cast<char**>(palloc((static_cast<std::size_t>(argc) + 2) * sizeof(char*)));
    char** environment = mixes ? mixEnvironment(envp) : const_cast<char**>(envp);
    Start start{path, arguments, argc, environment, cmd.folder, {-1, -1, -1}, leads, gathers};
    int result =
        arguments && (environment || !mixes) ? openChannels(cmd, flags, gathers, start.childs) : MPR_ERR_MEMORY;
    cmd.keepsLead = gathers;
    cmd.leads = gathers || leads;
    cmd.complete = 0;
    if (result == 0) {
        std::copy(argv, argv + argc, const_cast<const char**>(arguments));
        arguments[argc] = nullptr;
        result = spawnProcess(cmd, start, (flags & MPR_CMD_DETACH) != 0);
    }
    for (const int child : start.childs) {
        if (child >= 0) {
            ::close(child);
        }
    }
    pfree(arguments);
    pfree(mixes ? environment : nullptr);
    return result;
}
} // namespace

int startCmd(Command& cmd, int argc, cchar** argv, cchar** envp, int flags, bool gathers) {
    if (const int result = task::events().tryOpen("mprStartCmd")) {
        return result; // the runtime ends
    }
    if (cmd.process || (cmd.callback && !gathers && task::Events::isDestroyed(*cmd.dispatcher))) {
        return MPR_ERR_BAD_STATE;
    }
    char path[PATH_MAX];
    if (const int result = findProgram(cmd.search, cmd.folder, argv[0], path)) {
        return result;
    }
    for (char** set : {cmd.environment, cmd.usualEnvironment}) {
        envp = envp ? envp : const_cast<cchar**>(set);
    }
    closeEnd(cmd);
    forgetChannels(cmd);
    const int result = run(cmd, path, argc, argv, envp, flags, gathers);
    if (result != 0) {
        cmd.started = false;
        mprDisconnectCmd(&cmd);
    } else if (!gathers) {
        if (cmd.callback) {
            mprEnableCmdOutputEvents(&cmd, true);
        }
        stillRuns(cmd); // whoever services may have heard of the end before the command stood in the list
    }
    return result;
}

} // namespace mpr::io

namespace base = mpr::base;
namespace gc = mpr::gc;
namespace os = mpr::os;
namespace task = mpr::task;
using namespace mpr::io;
using mpr::base::Hold;
using mpr::base::Rooted;

// ---- Making -----------------------------------------------------------------------------------------------------

MprCmd* mprCreateCmd(MprDispatcher* dispatcher) {
    task::Events& events = task::events();
    MprCmdService* service = events.open("mprCreateCmd") ? openCommands() : nullptr;
    if (!service) {
        return nullptr;
    }
    __atomic_store_n(&mprGetMpr()->cmdService, service, __ATOMIC_RELAXED); // other threads store the same
    auto* cmd = static_cast<Command*>(
        mprAllocManaged(sizeof(Command), manageCmd, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER));
    if (!cmd) {
        return nullptr;
    }
    for (std::atomic<int>& fd : cmd->fds) {
        fd = -1;
    }
    cmd->dispatcher = dispatcher ? dispatcher : events.mainDispatcher();
    cmd->own = events.makeDispatcher("command", MPR_DISPATCHER_IMMEDIATE);
    if (!cmd->own) {
        return nullptr;
    }
    cmd->end = events.makeEvent(*cmd->own, "command", 0, onEnd, cmd, MPR_EVENT_DONT_QUEUE);
    return cmd->end ? cmd : nullptr;
}

void mprDestroyCmd(MprCmd* ptr) {
    auto* cmd = static_cast<Command*>(ptr);
    if (!cmd) {
        return;
    }
    // One that has ended inside, in a callback, waits no more.
    if (const std::uint32_t waiter = cmd->waiter;
        waiter != 0 && waiter != ownNumber() && gc::runtime().collector.isAttached(waiter)) {
        gc::misuse("mprDestroyCmd", cmd, "another thread waits for this command");
        return;
    }
    mprDisconnectCmd(cmd);
    endRun(*cmd);
    closeEnd(*cmd);
    task::events().remove(*cmd->end); // it may be queued still
}

void mprSetCmdSearchPath(MprCmd* ptr, cchar* search) {
    auto* cmd = static_cast<Command*>(ptr);
    if (cmd) {
        base::setRef(cmd, cmd->search,
                     search ? static_cast<char*>(mprMemdup(search, std::strlen(search) + 1)) : nullptr);
    }
}

namespace {

/** A block with pointers to strings, NULL behind them, and the strings. @return nullptr for no strings, or no memory. */
char** copyStrings(cchar** strings) {
    if (!strings) {
        return nullptr;
    }
    std::size_t count = 1;
    std::size_t size = 0;
    for (cchar** each = strings; *each; ++each) {
        ++count;
        size += std::strlen(*each) + 1;
    }
    auto** copy = static_cast<char**>(mprAlloc(count * sizeof(char*) + size));
    if (copy) {
        char* text = reinterpret_cast<char*>(copy + count);
        char** at = copy;
        for (; *strings; ++strings) {
            const std::size_t length = std::strlen(*strings) + 1;
            *at++ = static_cast<char*>(std::memcpy(text, *strings, length));
            text += length;
        }
        *at = nullptr;
    }
    return copy;
}
} // namespace

void mprSetCmdDir(MprCmd* ptr, cchar* dir) {
    auto* cmd = static_cast<Command*>(ptr);
    if (cmd) {
        base::setRef(cmd, cmd->folder, dir ? sclone(dir) : nullptr);
    }
}

void mprSetCmdEnv(MprCmd* ptr, cchar** env) {
    auto* cmd = static_cast<Command*>(ptr);
    if (cmd) {
        base::setRef(cmd, cmd->environment, copyStrings(env));
    }
}

void mprSetCmdDefaultEnv(MprCmd* ptr, cchar** env) {
    auto* cmd = static_cast<Command*>(ptr);
    if (cmd) {
        base::setRef(cmd, cmd->usualEnvironment, copyStrings(env));
    }
}

void mprSetCmdCallback(MprCmd* ptr, MprCmdProc callback, void* data) {
    auto* cmd = static_cast<Command*>(ptr);
    if (cmd) {
        cmd->callback = callback;
        base::setRef(cmd, cmd->data, data);
    }
}

int mprStartCmd(MprCmd* ptr, int argc, cchar** argv, cchar** envp, int flags) {
    auto* cmd = static_cast<Command*>(ptr);
    if (!cmd || argc < 1 || !argv || !argv[0] || !*argv[0] || !gc::mayMake("mprStartCmd", ptr)) {
        return MPR_ERR_BAD_ARGS;
    }
    return startCmd(*cmd, argc, argv, envp, flags, false);
}

// ---- Channels ---------------------------------------------------------------------------------------------------

ssize mprReadCmd(MprCmd* ptr, int channel, char* buf, ssize bufsize) {
    auto* cmd = static_cast<Command*>(ptr);
    if (!isChannel(cmd, channel) || !buf || bufsize < 0) {
        return MPR_ERR_BAD_HANDLE;
    }
    ssize count = 0;
    do {
        count = read(cmd->fds[channel], buf, static_cast<std::size_t>(bufsize));
    } while (count < 0 && errno == EINTR);
    if (count == 0 && bufsize > 0) {
        cmd->states[channel] |= atEnd;
    }
    return count >= 0 ? count : errno == EAGAIN ? MPR_ERR_WOULD_BLOCK : MPR_ERR_CANT_READ;
}

ssize mprWriteCmd(MprCmd* ptr, int channel, cchar* buf, ssize bufsize) {
    auto* cmd = static_cast<Command*>(ptr);
    if (!isChannel(cmd, channel) || !buf || bufsize < 0) {
        return MPR_ERR_BAD_HANDLE;
    }
    ssize count = 0;
    {
        os::BrokenPipe broken; // a pipe raises it whatever its flags
        do {
            count = write(cmd->fds[channel], buf, static_cast<std::size_t>(bufsize));
        } while (count < 0 && errno == EINTR);
        broken.set(count < 0 ? errno : 0, count < bufsize);
    }
    return count >= 0 ? count : errno == EAGAIN ? 0 : MPR_ERR_CANT_WRITE;
}

namespace {

/**
    Waits until a child takes more input, or has ended: others may hold its input open. Events run meanwhile, for the child
    may first want us to read. It has a descriptor of its own, because the program may wait for the channel's.
 */
class InputWatch {
public:
    InputWatch(Command* cmd, int channel) : cmd_(cmd), channel_(channel) {}
    ~InputWatch() {
        if (handler_) {
            mprDestroyWaitHandler(handler_);
            mprRemoveRoot(handler_);
        }
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }
    InputWatch(const InputWatch&) = delete;
    InputWatch& operator=(const InputWatch&) = delete;

    /** @return false without a descriptor or memory. */
    bool open() {
        if (!handler_) {
            fd_ = fcntl(cmd_->fds[channel_], F_DUPFD_CLOEXEC, 3);
            void* const wakes = reinterpret_cast<void*>(+[](void*, MprEvent*) {});
            handler_ = fd_ >= 0 ? mprCreateWaitHandler(fd_, 0, cmd_->own, wakes, nullptr, 0) : nullptr;
            if (handler_) {
                mprAddRoot(handler_);
            }
        }
        return handler_ != nullptr;
    }
    /** @return false when the child has ended. */
    bool wait(const void* site) {
        constexpr MprTicks now = 10; // while the runtime stops, when nobody waits for events
        const task::Awaited awaited = eventsOf(*cmd_);
        if (!stillRuns(*cmd_)) {
            return false;
        }
        mprWaitOn(handler_, MPR_WRITABLE);
        if (mprIsStopping()) {
            mprSleep(now);
        } else {
            task::events().waitFor(awaited, -1, site);
        }
        return true;
    }

private:
    Command* cmd_;
    int channel_;
    int fd_ = -1;
    MprWaitHandler* handler_ = nullptr; // a root
};
} // namespace

ssize mprWriteCmdBlock(MprCmd* ptr, int channel, cchar* buf, ssize bufsize) {
    auto* cmd = static_cast<Command*>(ptr);
    const void* site = __builtin_return_address(0);
    const Rooted rooted(cmd);
    const Hold hold(buf);
    ssize written = 0;
    InputWatch watch(cmd, channel);
    for (bool ended = false;;) {
        const ssize count = mprWriteCmd(cmd, channel, buf + written, bufsize - written);
        written += count > 0 ? count : 0;
        if (count < 0 || written == bufsize) {
            return written > 0 || count >= 0 ? written : count;
        }
        if (count == 0 && !gc::admitServing("mprWriteCmdBlock")) {
            return written > 0 ? written : MPR_ERR_BAD_STATE;
        }
        if (count == 0 && (ended || !watch.open())) {
            return written > 0 ? written : ended ? MPR_ERR_CANT_WRITE : MPR_ERR_MEMORY;
        }
        if (count == 0) {
            ended = !watch.wait(site);
        }
    }
}

MprBuf* mprGetCmdBuf(MprCmd* ptr, int channel) {
    auto* cmd = static_cast<Command*>(ptr);
    return cmd && (channel == MPR_CMD_STDOUT || channel == MPR_CMD_STDERR) ? *bufferOf(*cmd, channel) : nullptr;
}

void mprDisconnectCmd(MprCmd* ptr) {
    auto* cmd = static_cast<Command*>(ptr);
    for (int channel = 0; cmd && channel < channels; ++channel) {
        closeChannel(*cmd, channel);
    }
}

void mprCloseCmdFd(MprCmd* ptr, int channel) {
    auto* cmd = static_cast<Command*>(ptr);
    if (isChannel(cmd, channel)) {
        closeChannel(*cmd, channel);
    }
}

void mprFinalizeCmd(MprCmd* ptr) {
    auto* cmd = static_cast<Command*>(ptr);
    mprCloseCmdFd(cmd, MPR_CMD_STDIN);
}

int mprGetCmdFd(MprCmd* ptr, int channel) {
    auto* cmd = static_cast<Command*>(ptr);
    return isChannel(cmd, channel) ? cmd->fds[channel].load() : -1;
}

void mprEnableCmdEvents(MprCmd* ptr, int channel) {
    auto* cmd = static_cast<Command*>(ptr);
    if (!isChannel(cmd, channel) || (cmd->states[channel] & atEnd)) {
        return; // there would be no end of events
    }
    if (!cmd->handlers[channel]) {
        makeHandler(*cmd, channel, cmd->dispatcher, onChannel);
    }
    cmd->states[channel] |= armed;
    waitOnChannel(*cmd, channel);
}

void mprDisableCmdEvents(MprCmd* ptr, int channel) {
    auto* cmd = static_cast<Command*>(ptr);
    if (isChannel(cmd, channel)) {
        cmd->states[channel] &= static_cast<std::uint8_t>(~armed);
        mprWaitOn(cmd->handlers[channel], 0);
    }
}

bool mprAreCmdEventsEnabled(MprCmd* ptr, int channel) {
    auto* cmd = static_cast<Command*>(ptr);
    return isChannel(cmd, channel) && (cmd->states[channel] & armed);
}

void mprEnableCmdOutputEvents(MprCmd* ptr, bool on) {
    auto* cmd = static_cast<Command*>(ptr);
    for (const int channel : {MPR_CMD_STDOUT, MPR_CMD_STDERR}) {
        on ? mprEnableCmdEvents(cmd, channel) : mprDisableCmdEvents(cmd, channel);
    }
}

// ---- The end ----------------------------------------------------------------------------------------------------

bool mprIsCmdRunning(MprCmd* ptr) {
    auto* cmd = static_cast<Command*>(ptr);
    if (!cmd) {
        return false;
    }
    const task::Loop::Using loop(task::events().loop());
    return cmd->runs;
}

int mprIsCmdComplete(MprCmd* ptr) {
    auto* cmd = static_cast<Command*>(ptr);
    if (!cmd || gc::current) {
        return cmd && isComplete(*cmd) ? 1 : 0;
    }
    // The end is not looked for here: a thread that does not run cannot queue the event that tells of it.
    return __atomic_load_n(&cmd->complete, __ATOMIC_ACQUIRE) ? 1 : 0;
}

int mprGetCmdPid(MprCmd* ptr) {
    auto* cmd = static_cast<Command*>(ptr);
    if (!cmd) {
        return 0;
    }
    const task::Loop::Using loop(task::events().loop());
    return cmd->runs ? cmd->process->pid : 0;
}

int mprGetCmdExitStatus(MprCmd* ptr) {
    auto* cmd = static_cast<Command*>(ptr);
    if (!cmd || mprIsCmdRunning(cmd)) {
        return cmd ? MPR_ERR_NOT_READY : MPR_ERR_BAD_ARGS;
    }
    return cmd->started ? cmd->status : MPR_ERR_BAD_STATE;
}

int mprStopCmd(MprCmd* ptr, int signal) {
    auto* cmd = static_cast<Command*>(ptr);
    return cmd ? sendSignal(*cmd, signal != 0 ? signal : SIGTERM) : MPR_ERR_BAD_ARGS;
}

int mprWaitForCmd(MprCmd* ptr, MprTicks timeout) {
    auto* cmd = static_cast<Command*>(ptr);
    if (!cmd || !gc::admitServing("mprWaitForCmd") || !cmd->started) {
        return MPR_ERR_BAD_STATE;
    }
    const std::uint64_t deadline = task::deadlineIn(timeout);
    const void* site = __builtin_return_address(0);
    const Rooted rooted(cmd);
    const Awaiting awaiting(*cmd);
    for (int result = 0;;) {
        // Taken before it looks: then no event is missed.
        const task::Awaited awaited = eventsOf(*cmd);
        if (isComplete(*cmd)) {
            closeEnd(*cmd); // the event of its end does that, too, but perhaps nobody services events
            return 0;
        }
        if (result != 0) {
            return result;
        }
        result = task::events().waitFor(awaited, restUntil(deadline), site);
        if (result == MPR_ERR_BAD_STATE && awaited.dispatchers[1] && task::Events::isDestroyed(*cmd->dispatcher)) {
            result = 0; // no callback comes any more, and the process goes on
        }
    }
}
