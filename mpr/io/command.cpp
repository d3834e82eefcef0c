/*
    command.cpp - Child processes, by libuv's spawn: the C API of mpr/command.h.

    libuv's side of a process is permanent memory, which outlives the command until the process has ended. While a process
    runs its command stands in a list that retains it; the loop guards list and state.

    The end of a process is an event of a dispatcher that each command has for itself, so that mprWaitForCmd can run it
    wherever it is called; the user's callback is an event of the user's dispatcher.
 */
#include "mpr/command.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "mpr/app.h"
#include "mpr/barrier.h"
#include "mpr/base/part.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/io/retained.hpp"
#include "mpr/io/wait.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/task/events.hpp"
#include "mpr/task/retain.hpp"
#include "mpr/task/waiting.hpp"

namespace gc = mpr::gc;
namespace os = mpr::os;
namespace task = mpr::task;
using mpr::base::part;
using std::string_view;
using task::Loop;

namespace {

constexpr int channels = 3;

/** libuv's side of a process. It stands at the start of its memory: Loop::discard. */
struct Process {
    uv_process_t handle;
    task::Fired fired;
    MprCmd* cmd; // null when nobody wants to know of the end
};
} // namespace

struct MprCmd {
    MprDispatcher* dispatcher;          // reference: of the callbacks
    MprDispatcher* own;                 // reference: of the end
    task::Event* end;                   // reference: the process has ended
    MprWaitHandler* handlers[channels]; // references
    void* data;                         // of the callback: a block or not
    char* search;                       // reference
    MprCmd* next;                       // reference: in the list of those that run
    MprCmd* previous;
    MprCmdProc callback;
    Process* process; // while it runs
    int fds[channels];
    int status;
    bool started;
};

namespace {

/** The commands that run. */
constinit mpr::io::Retained<MprCmd> running;

gc::Service room{[] { running.mark(); }, [](std::uint64_t) { return true; }, [] { running.close(); }};

void manageCmd(void* ptr, int flags) {
    auto* cmd = static_cast<MprCmd*>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&cmd->dispatcher);
        mprMarkRef(&cmd->own);
        mprMarkRef(&cmd->end);
        mprMarkRefs(cmd->handlers, channels);
        mprMarkRef(&cmd->search);
        mprMarkRef(&cmd->next);
        gc::markLoose(&cmd->data);
    } else if (flags & MPR_MANAGE_FREE) {
        for (int channel = 0; channel < channels; ++channel) {
            mpr::io::dropHandler(cmd->handlers[channel]);
            if (cmd->fds[channel] >= 0) {
                close(cmd->fds[channel]);
            }
        }
    }
}

// ---- With the loop in use ---------------------------------------------------------------------------------------

void onExit(uv_process_t* handle, int64_t status, int signal) {
    auto& process = *reinterpret_cast<Process*>(handle);
    if (MprCmd* cmd = process.cmd) {
        cmd->status = signal != 0 ? 128 + signal : static_cast<int>(status);
        cmd->process = nullptr;
        running.unlink(*cmd);
        process.fired.event = cmd->end;
        task::events().fire(process.fired);
    }
    Loop::discard(reinterpret_cast<uv_handle_t*>(handle));
}

// ---- Channels ---------------------------------------------------------------------------------------------------

bool isChannel(const MprCmd* cmd, int channel) {
    return cmd && channel >= 0 && channel < channels && cmd->fds[channel] >= 0;
}

void closeChannel(MprCmd& cmd, int channel) {
    if (isChannel(&cmd, channel)) {
        mprDestroyWaitHandler(cmd.handlers[channel]);
        mprSetRef(&cmd, &cmd.handlers[channel], nullptr);
        close(cmd.fds[channel]);
        cmd.fds[channel] = -1;
    }
}

/** A pipe that is not inherited; our end does not block. */
bool openPipe(int& ours, int& childs, bool input) {
    int ends[2];
    if (pipe(ends) != 0) {
        return false;
    }
    ours = ends[input ? 1 : 0];
    childs = ends[input ? 0 : 1];
    fcntl(ours, F_SETFD, FD_CLOEXEC);
    fcntl(childs, F_SETFD, FD_CLOEXEC);
    fcntl(ours, F_SETFL, fcntl(ours, F_GETFL) | O_NONBLOCK);
    return true;
}

void onChannel(void* data, MprEvent* event) {
    auto* cmd = static_cast<MprCmd*>(data);
    for (int channel = 0; channel < channels; ++channel) {
        if (cmd->handlers[channel] == event->handler && cmd->callback) {
            cmd->callback(cmd, channel, cmd->data);
            return;
        }
    }
}

// ---- What is run ------------------------------------------------------------------------------------------------

/** Find a program. @param path At least PATH_MAX bytes. @return 0 or MPR_ERR_*. */
int findProgram(const MprCmd& cmd, const char* name, char* path) {
    const char* folders = cmd.search ? cmd.search : os::environment("PATH");
    string_view rest = std::strchr(name, '/') ? "" : folders ? folders : "/bin:/usr/bin";
    const bool given = std::strchr(name, '/') != nullptr;
    int result = MPR_ERR_CANT_FIND;
    for (bool more = true; more && result != 0;) {
        const std::size_t colon = rest.find(':');
        const string_view folder = part(rest, 0, colon);
        more = colon != string_view::npos;
        rest.remove_prefix(more ? colon + 1 : rest.size());
        const string_view program(name);
        if (folder.size() + program.size() + 2 > PATH_MAX) {
            continue;
        }
        char* end = path;
        if (!given) {
            end = std::copy(folder.begin(), folder.end(), end);
            *end++ = '/';
        }
        *std::copy(program.begin(), program.end(), end) = '\0';
        if (access(path, X_OK) == 0) {
            result = 0;
        } else if (access(path, F_OK) == 0) {
            result = MPR_ERR_CANT_ACCESS;
        }
    }
    if (result != 0) {
        os::Message message;
        os::log(os::Level::error, message << "mprStartCmd: program \"" << string_view(name) << "\" "
                                          << (result == MPR_ERR_CANT_FIND ? "not found" : "may not be executed"));
    }
    return result;
}

bool sameName(const char* one, const char* two) {
    while (*one == *two && *one && *one != '=') {
        ++one;
        ++two;
    }
    return *one == '=' && *two == '=';
}

/** Our environment with what is in envp instead and besides. Permanent memory for the pointers, to be freed. */
char** mixEnvironment(const char** envp) {
    std::size_t count = 1;
    for (char** each = environ; each && *each; ++each) {
        ++count;
    }
    for (const char** each = envp; *each; ++each) {
        ++count;
    }
    auto** mixed = static_cast<char**>(palloc(count * sizeof(char*)));
    char** end = mixed;
    for (char** ours = environ; mixed && ours && *ours; ++ours) {
        bool replaced = false;
        for (const char** each = envp; *each && !replaced; ++each) {
            replaced = sameName(*ours, *each);
        }
        if (!replaced) {
            *end++ = *ours;
        }
    }
    for (const char** each = envp; mixed && *each; ++each) {
        *end++ = const_cast<char*>(*each);
    }
    if (mixed) {
        *end = nullptr;
    }
    return mixed;
}

/** Start the process, whose descriptors are given. @return 0 or MPR_ERR_*. */
int spawn(MprCmd& cmd, uv_process_options_t& options) {
    auto* process = static_cast<Process*>(palloc(sizeof(Process)));
    if (!process) {
        return MPR_ERR_MEMORY;
    }
    *process = {};
    process->cmd = &cmd;
    options.exit_cb = onExit;
    int result = 0;
    {
        const Loop::Using loop(task::events().loop());
        result = uv_spawn(*loop, &process->handle, &options);
        if (result == 0) {
            cmd.process = process;
            running.link(cmd);
        } else {
            Loop::discard(reinterpret_cast<uv_handle_t*>(&process->handle));
        }
    }
    task::events().loopChanged();
    if (result != 0) {
        os::Message message;
        os::log(os::Level::error,
                message << "mprStartCmd: \"" << string_view(options.file) << "\": " << uv_strerror(result));
        return result == UV_EACCES ? MPR_ERR_CANT_ACCESS : MPR_ERR_CANT_CREATE;
    }
    return 0;
}

int killProcess(MprCmd& cmd, int signal) {
    const Loop::Using loop(task::events().loop());
    return cmd.process && uv_process_kill(&cmd.process->handle, signal) == 0 ? 0 : MPR_ERR_BAD_STATE;
}
} // namespace

// ---- Making -----------------------------------------------------------------------------------------------------

MprCmd* mprCreateCmd(MprDispatcher* dispatcher) {
    task::Events& events = task::events();
    if (!events.open("mprCreateCmd") || !running.open(room)) {
        return nullptr;
    }
    auto* cmd = static_cast<MprCmd*>(
        mprAllocManaged(sizeof(MprCmd), manageCmd, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER));
    if (!cmd) {
        return nullptr;
    }
    for (int& fd : cmd->fds) {
        fd = -1;
    }
    cmd->dispatcher = dispatcher ? dispatcher : events.mainDispatcher();
    cmd->own = events.makeDispatcher("command", MPR_DISPATCHER_IMMEDIATE);
    if (!cmd->own) {
        return nullptr;
    }
    const auto ended = [](void* data, MprEvent*) {
        auto* self = static_cast<MprCmd*>(data);
        if (self->callback) {
            const auto tell = [](void* ptr, MprEvent*) {
                auto* each = static_cast<MprCmd*>(ptr);
                each->callback(each, -1, each->data);
            };
            task::events().makeEvent(*self->dispatcher, "command", 0, tell, self, 0);
        }
    };
    cmd->end = events.makeEvent(*cmd->own, "command", 0, ended, cmd, MPR_EVENT_DONT_QUEUE);
    return cmd->end ? cmd : nullptr;
}

void mprDestroyCmd(MprCmd* cmd) {
    if (!cmd) {
        return;
    }
    for (int channel = 0; channel < channels; ++channel) {
        closeChannel(*cmd, channel);
    }
    const Loop::Using loop(task::events().loop());
    if (cmd->process) {
        uv_process_kill(&cmd->process->handle, SIGKILL);
        cmd->process->cmd = nullptr;
        cmd->process = nullptr;
        cmd->status = 128 + SIGKILL;
        running.unlink(*cmd);
    }
    cmd->started = false;
}

void mprSetCmdSearchPath(MprCmd* cmd, cchar* search) {
    if (cmd) {
        mprSetRef(cmd, &cmd->search, search ? mprMemdup(search, std::strlen(search) + 1) : nullptr);
    }
}

void mprSetCmdCallback(MprCmd* cmd, MprCmdProc callback, void* data) {
    if (cmd) {
        cmd->callback = callback;
        mprSetRef(cmd, &cmd->data, data);
    }
}

int mprStartCmd(MprCmd* cmd, int argc, cchar** argv, cchar** envp, int flags) {
    if (!cmd || argc < 1 || !argv || !argv[0] || !*argv[0]) {
        return MPR_ERR_BAD_ARGS;
    }
    if (cmd->process) {
        return MPR_ERR_BAD_STATE;
    }
    char path[PATH_MAX];
    if (const int result = findProgram(*cmd, argv[0], path)) {
        return result;
    }
    const bool mixes = envp && !(flags & MPR_CMD_EXACT_ENV);
    auto** arguments = static_cast<char**>(palloc((static_cast<std::size_t>(argc) + 1) * sizeof(char*)));
    char** environment = mixes ? mixEnvironment(envp) : const_cast<char**>(envp);
    int result = arguments && (environment || !mixes) ? 0 : MPR_ERR_MEMORY;
    int childs[channels] = {-1, -1, -1};
    uv_stdio_container_t stdio[channels] = {};
    for (int channel = 0; channel < channels; ++channel) {
        closeChannel(*cmd, channel);
        if (result == 0 && (flags & (MPR_CMD_IN << channel))) {
            result = openPipe(cmd->fds[channel], childs[channel], channel == 0) ? 0 : MPR_ERR_CANT_CREATE;
        }
        stdio[channel].flags = childs[channel] >= 0 || channel > 0 ? UV_INHERIT_FD : UV_IGNORE;
        stdio[channel].data.fd = childs[channel] >= 0 ? childs[channel] : channel;
    }
    if (result == 0) {
        std::copy(argv, argv + argc, const_cast<const char**>(arguments));
        arguments[argc] = nullptr;
        uv_process_options_t options{};
        options.file = path;
        options.args = arguments;
        options.env = environment;
        options.stdio = stdio;
        options.stdio_count = channels;
        options.flags = (flags & MPR_CMD_NEW_SESSION) ? unsigned{UV_PROCESS_DETACHED} : 0;
        result = spawn(*cmd, options);
    }
    cmd->started = result == 0;
    for (int channel = 0; channel < channels; ++channel) {
        if (childs[channel] >= 0) {
            close(childs[channel]);
        }
        if (result != 0) {
            closeChannel(*cmd, channel);
        }
    }
    pfree(arguments);
    pfree(mixes ? environment : nullptr);
    return result;
}

// ---- Channels ---------------------------------------------------------------------------------------------------

ssize mprReadCmd(MprCmd* cmd, int channel, char* buf, ssize bufsize) {
    if (!isChannel(cmd, channel) || !buf || bufsize < 0) {
        return MPR_ERR_BAD_HANDLE;
    }
    ssize count = 0;
    do {
        count = read(cmd->fds[channel], buf, static_cast<std::size_t>(bufsize));
    } while (count < 0 && errno == EINTR);
    return count >= 0 ? count : errno == EAGAIN ? MPR_ERR_WOULD_BLOCK : MPR_ERR_CANT_READ;
}

ssize mprWriteCmd(MprCmd* cmd, int channel, cchar* buf, ssize bufsize) {
    if (!isChannel(cmd, channel) || !buf || bufsize < 0) {
        return MPR_ERR_BAD_HANDLE;
    }
    // A pipe raises SIGPIPE whatever its flags: keep it from this thread, and take it away if it came.
    sigset_t broken;
    sigset_t before;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    ssize count = 0;
    do {
        count = write(cmd->fds[channel], buf, static_cast<std::size_t>(bufsize));
    } while (count < 0 && errno == EINTR);
    const int error = errno;
    if (count < 0 && error == EPIPE && !sigismember(&before, SIGPIPE)) {
        const timespec now{};
        sigtimedwait(&broken, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return count >= 0 ? count : error == EAGAIN ? 0 : MPR_ERR_CANT_WRITE;
}

void mprCloseCmdFd(MprCmd* cmd, int channel) {
    if (isChannel(cmd, channel)) {
        closeChannel(*cmd, channel);
    }
}

void mprFinalizeCmd(MprCmd* cmd) {
    mprCloseCmdFd(cmd, MPR_CMD_STDIN);
}

int mprGetCmdFd(MprCmd* cmd, int channel) {
    return isChannel(cmd, channel) ? cmd->fds[channel] : -1;
}

void mprEnableCmdEvents(MprCmd* cmd, int channel) {
    if (!isChannel(cmd, channel)) {
        return;
    }
    if (!cmd->handlers[channel]) {
        MprWaitHandler* handler =
            mprCreateWaitHandler(cmd->fds[channel], 0, cmd->dispatcher, reinterpret_cast<void*>(onChannel), cmd, 0);
        if (handler) {
            mpr::io::setOwner(*handler, cmd);
        }
        mprSetRef(cmd, &cmd->handlers[channel], handler);
    }
    mprWaitOn(cmd->handlers[channel], channel == MPR_CMD_STDIN ? MPR_WRITABLE : MPR_READABLE);
}

void mprDisableCmdEvents(MprCmd* cmd, int channel) {
    if (isChannel(cmd, channel)) {
        mprWaitOn(cmd->handlers[channel], 0);
    }
}

void mprEnableCmdOutputEvents(MprCmd* cmd, bool on) {
    for (const int channel : {MPR_CMD_STDOUT, MPR_CMD_STDERR}) {
        on ? mprEnableCmdEvents(cmd, channel) : mprDisableCmdEvents(cmd, channel);
    }
}

// ---- The end ----------------------------------------------------------------------------------------------------

bool mprIsCmdRunning(MprCmd* cmd) {
    if (!cmd) {
        return false;
    }
    const Loop::Using loop(task::events().loop());
    return cmd->process != nullptr;
}

int mprGetCmdPid(MprCmd* cmd) {
    if (!cmd) {
        return 0;
    }
    const Loop::Using loop(task::events().loop());
    return cmd->process ? cmd->process->handle.pid : 0;
}

int mprGetCmdExitStatus(MprCmd* cmd) {
    if (!cmd || mprIsCmdRunning(cmd)) {
        return cmd ? MPR_ERR_NOT_READY : MPR_ERR_BAD_ARGS;
    }
    return cmd->started ? cmd->status : MPR_ERR_BAD_STATE;
}

int mprStopCmd(MprCmd* cmd, int signal) {
    return cmd ? killProcess(*cmd, signal != 0 ? signal : SIGTERM) : MPR_ERR_BAD_ARGS;
}

int mprWaitForCmd(MprCmd* cmd, MprTicks timeout) {
    if (!cmd || !cmd->started) {
        return MPR_ERR_BAD_STATE;
    }
    const std::uint64_t deadline = task::deadlineIn(timeout);
    const task::Rooted rooted(cmd);
    for (;;) {
        const std::int64_t mark = task::events().mark(*cmd->own);
        if (!mprIsCmdRunning(cmd)) {
            return 0;
        }
        const std::uint64_t left = task::leftUntil(deadline);
        const MprTicks rest = left == os::forever ? -1 : static_cast<MprTicks>((left + 999'999) / 1'000'000);
        const int result = task::events().waitFor({{cmd->own, nullptr}, {mark, 0}}, rest, __builtin_return_address(0));
        if (result != 0) {
            return mprIsCmdRunning(cmd) ? result : 0;
        }
    }
}

// ---- Run to the end ---------------------------------------------------------------------------------------------

namespace {

/** Bytes that come, in permanent memory: they are read while the thread is yielded. */
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
    /** A block with a NUL behind. */
    char* give() {
        auto* block = static_cast<char*>(mprAlloc(length + 1));
        if (block) {
            std::copy(bytes, bytes + length, block);
            block[length] = '\0';
        }
        return block;
    }
};

/** Read a channel until it has nothing more for now. @return 0 or MPR_ERR_MEMORY. */
int gather(MprCmd& cmd, int channel, Gathered& into) {
    for (;;) {
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
}

/** Feed and read a process until it has closed its outputs. @return 0 or MPR_ERR_*. */
int exchange(MprCmd& cmd, const char* in, Gathered (&gathered)[channels], std::uint64_t deadline, const void* site) {
    std::size_t left = in ? std::strlen(in) : 0;
    while (cmd.fds[1] >= 0 || cmd.fds[2] >= 0 || (cmd.fds[0] >= 0 && left > 0)) {
        pollfd polled[channels];
        for (int channel = 0; channel < channels; ++channel) {
            polled[channel] = {cmd.fds[channel], static_cast<short>(channel == 0 ? POLLOUT : POLLIN), 0};
        }
        const std::uint64_t rest = task::leftUntil(deadline);
        const std::uint64_t wait = rest == os::forever ? 0x7FFFFFFF : (rest + 999'999) / 1'000'000;
        int ready = 0;
        {
            const task::Waiting waiting(site);
            ready = poll(polled, channels, static_cast<int>(wait < 0x7FFFFFFF ? wait : 0x7FFFFFFF));
        }
        if (ready == 0 && task::leftUntil(deadline) == 0) {
            return MPR_ERR_TIMEOUT;
        }
        if (polled[0].revents != 0) {
            const ssize count = mprWriteCmd(&cmd, MPR_CMD_STDIN, in, static_cast<ssize>(left));
            in += count > 0 ? count : 0;
            left -= count > 0 ? static_cast<std::size_t>(count) : 0;
            if (left == 0 || count < 0) {
                closeChannel(cmd, MPR_CMD_STDIN);
            }
        }
        for (const int channel : {MPR_CMD_STDOUT, MPR_CMD_STDERR}) {
            if (polled[channel].revents != 0 && gather(cmd, channel, gathered[channel]) != 0) {
                return MPR_ERR_MEMORY;
            }
        }
    }
    closeChannel(cmd, MPR_CMD_STDIN);
    return 0;
}
} // namespace

int mprRunCmd(MprCmd* cmd, cchar* command, cchar** envp, cchar* in, char** out, char** err, MprTicks timeout,
              int flags) {
    if (out) {
        *out = nullptr;
    }
    if (err) {
        *err = nullptr;
    }
    if (!cmd || !command) {
        return MPR_ERR_BAD_ARGS;
    }
    const std::uint64_t deadline = task::deadlineIn(timeout);
    const void* site = __builtin_return_address(0);
    cchar** argv = nullptr;
    const int argc = mprMakeArgv(command, &argv, 0);
    if (argc < 0) {
        return argc;
    }
    const task::Rooted rooted(cmd);
    flags |= (in ? MPR_CMD_IN : 0) | (out ? MPR_CMD_OUT : 0) | (err ? MPR_CMD_ERR : 0);
    int result = mprStartCmd(cmd, argc, argv, envp, flags);
    if (result != 0) {
        return result;
    }
    Gathered gathered[channels];
    result = exchange(*cmd, in, gathered, deadline, site);
    if (result == 0) {
        const std::uint64_t left = task::leftUntil(deadline);
        result = mprWaitForCmd(cmd, left == os::forever ? -1 : static_cast<MprTicks>((left + 999'999) / 1'000'000));
    }
    if (result == 0) {
        result = mprGetCmdExitStatus(cmd);
    } else {
        mprDestroyCmd(cmd);
    }
    for (const int channel : {MPR_CMD_STDOUT, MPR_CMD_STDERR}) {
        char** const to = channel == MPR_CMD_STDOUT ? out : err;
        if (to && !(*to = gathered[channel].give()) && result >= 0) {
            result = MPR_ERR_MEMORY;
        }
        pfree(gathered[channel].bytes);
    }
    return result;
}

int mprRun(MprDispatcher* dispatcher, cchar* command, cchar* input, char** output, char** error, MprTicks timeout) {
    MprCmd* cmd = mprCreateCmd(dispatcher);
    if (!cmd) {
        return MPR_ERR_MEMORY;
    }
    return mprRunCmd(cmd, command, nullptr, input, output, error, timeout, 0);
}
