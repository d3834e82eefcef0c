// SPDX-License-Identifier: MIT
/*
    command.cpp - Child processes: the C API of mpr/command.h.

    A child is made by posix_spawn, and waited for by number when SIGCHLD has come, of which libuv's loop tells. Its number
    is in permanent memory: when a command is destroyed before its child could be waited for, that memory stays in a list
    until somebody could. While a child runs, its command stands in a list that retains it; the loop guards lists and state.
    The end of the runtime kills what runs. Whom it cannot wait for, detached ones above all, a later runtime waits for.

    The end of a process is an event of a dispatcher that each command has for itself, so that mprWaitForCmd can run it
    wherever it is called; the user's callback is an event of the user's dispatcher.

    mprRunCmd gives its child a process group, to be killed with all that it has started when the time is up. Until then it
    is not waited for, though it may have ended: else the number of the group might be another's by then.
 */
#include "mpr/command.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "mpr/app.h"
#include "mpr/barrier.h"
#include "mpr/base/part.hpp"
#include "mpr/buffer.h"
#include "mpr/gc/census.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/io/retained.hpp"
#include "mpr/io/wait.hpp"
#include "mpr/memory.h"
#include "mpr/os/broken_pipe.hpp"
#include "mpr/os/log.hpp"
#include "mpr/path.h"
#include "mpr/shutdown.h"
#include "mpr/string.h"
#include "mpr/task/callback.hpp"
#include "mpr/task/events.hpp"
#include "mpr/base/retain.hpp"
#include "mpr/task/waiting.hpp"
#include "mpr/task/workers.hpp"
#include "mpr/thread.h"

namespace gc = mpr::gc;
namespace os = mpr::os;
namespace task = mpr::task;
using mpr::base::Hold;
using mpr::base::part;
using mpr::base::Rooted;
using std::string_view;
using task::Loop;

namespace {

constexpr int channels = 3;
constexpr int endPlace = channels;   // of the descriptor that tells of the process's end, beside those of the channels
constexpr int places = channels + 1; // for descriptors

/** A child that has not been waited for. */
struct Process {
    pid_t pid;
    bool detached; // it may live longer than its command, and than the runtime
    Process* next; // in the list of those that no command waits for
};

/** What is said of the events of a channel. */
enum ChannelState : std::uint8_t {
    armed = 1,   // the callback will be called
    calling = 2, // it runs
    atEnd = 4,   // nothing more comes
};

struct Command : MprCmd {
    MprDispatcher* dispatcher;        // reference: of the callbacks
    MprDispatcher* own;               // reference: of the end
    task::Event* end;                 // reference: the process has ended
    task::Event* told;                // reference: the event that tells the callback of this run's end
    task::Event* looks;               // reference: looks for the end every now and then; null where a descriptor tells
    MprWaitHandler* handlers[places]; // references
    mpr::io::Tie* ties[places];       // to them
    void* data;                       // of the callback: a block or not
    char* search;                     // reference
    char* folder;                     // reference: in which it runs
    char** environment;               // reference: of mprSetCmdEnv
    char** usualEnvironment;          // reference: of mprSetCmdDefaultEnv
    Command* next;                    // reference: in the list of those that run
    Command* previous;
    MprCmdProc callback;
    Process* process; // until it has been waited for
    task::Fired fired;
    std::atomic<os::ThreadId> caller; // of the callback for a channel, while it runs; a number, orders nothing
    std::atomic<std::uint8_t> states[channels];
    std::atomic<int> fds[places];
    std::atomic<std::uint32_t> waiter; // in mprWaitForCmd or mprRunCmd: Mutator::number, orders nothing
    std::atomic<bool> started;         // what follows from it is asked with the loop in use; orders nothing
    bool runs;                         // the process has not ended, as far as is known
    bool endIsNew;                     // it has, and the callback's event has not been made
    bool leads;                        // it leads a process group, perhaps of a session of its own
    bool keepsLead;                    // it is not waited for until the command lets it go
};

/** The commands that run. */
constinit mpr::io::Retained<Command> running;
/** Children that were killed, whose commands no longer want to know of their end. */
constinit Process* forsaken = nullptr;
/** Children of runtimes that have ended, which could not be waited for then. 0: none. */
constinit pid_t leftOver[64] = {};
/** libuv's watcher of SIGCHLD. Made with the first child; the loop frees it when it is closed. */
constinit uv_signal_t* ofChildren = nullptr;

void close();
gc::Service room{[] { running.mark(); }, [](std::uint64_t) { return true; }, close};

void leave(Command& cmd);

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
    } else if (flags & MPR_MANAGE_FREE) {
        leave(*cmd);
        for (int place = 0; place < places; ++place) {
            mpr::io::drop(cmd->ties[place]);
            // Managers of others may use the dead command until all have run: they find its channels closed.
            if (const int fd = cmd->fds[place].exchange(-1); fd >= 0) {
                ::close(fd);
            }
        }
    }
}
const mpr::gc::ManagerName namedCmd(manageCmd, "MprCmd");

// ---- With the loop in use ---------------------------------------------------------------------------------------

/** Whether a child has ended. @param flags WNOWAIT: it is not waited for yet. */
bool hasEnded(pid_t pid, int& status, int flags) {
    siginfo_t how{};
    int result = 0;
    do {
        result = waitid(P_PID, static_cast<id_t>(pid), &how, WEXITED | WNOHANG | flags);
    } while (result != 0 && errno == EINTR);
    if (result == 0 && how.si_pid == 0) {
        return false;
    }
    // A program that waits for all children, or ignores SIGCHLD, has taken the status.
    status = result != 0 ? MPR_ERR : how.si_code == CLD_EXITED ? how.si_status : 128 + how.si_status;
    return true;
}

/** Forget a child, if it has ended. @return Whether it has. */
bool reap(Process& process, int& status) {
    if (!hasEnded(process.pid, status, 0)) {
        return false;
    }
    pfree(&process);
    return true;
}

void notRunning(Command& cmd) {
    cmd.runs = false;
    __atomic_store_n(&cmd.pid, 0, __ATOMIC_RELAXED);
    running.unlink(cmd);
    task::processesRunning.fetch_sub(1, std::memory_order_relaxed);
}

/** Ask whether a command that runs has ended. @return Whether it has: its event is to be queued. */
bool findEnd(Command& cmd) {
    if (!hasEnded(cmd.process->pid, cmd.status, cmd.keepsLead ? WNOWAIT : 0)) {
        return false;
    }
    if (!cmd.keepsLead) {
        pfree(std::exchange(cmd.process, nullptr));
    }
    notRunning(cmd);
    cmd.endIsNew = true;
    return true;
}

void reapForsaken() {
    for (Process** link = &forsaken; *link;) {
        Process* next = (*link)->next;
        int status = 0;
        if (reap(**link, status)) {
            *link = next;
        } else {
            link = &(*link)->next;
        }
    }
    for (pid_t& pid : leftOver) {
        int status = 0;
        if (pid != 0 && hasEnded(pid, status, 0)) {
            pid = 0;
        }
    }
}

void forsake(Process& process) {
    process.next = forsaken;
    forsaken = &process;
}

void onChild(uv_signal_t*, int) {
    const auto* all = running.head();
    for (Command* next = all ? all->first : nullptr; next;) {
        Command& cmd = *next;
        next = cmd.next;
        if (findEnd(cmd)) {
            cmd.fired.event = cmd.end;
            task::events().fire(cmd.fired);
        }
    }
    reapForsaken();
}

/** Hear of ends from now on. @return 0 or libuv's error. */
int watchChildren(uv_loop_t* loop) {
    if (ofChildren) {
        return 0;
    }
    auto* watcher = static_cast<uv_signal_t*>(palloc(sizeof(uv_signal_t)));
    if (!watcher) {
        return UV_ENOMEM;
    }
    int result = uv_signal_init(loop, watcher);
    if (result != 0) {
        pfree(watcher);
        return result;
    }
    result = uv_signal_start(watcher, onChild, SIGCHLD);
    if (result != 0) {
        Loop::discard(reinterpret_cast<uv_handle_t*>(watcher));
        return result;
    }
    ofChildren = watcher;
    return 0;
}

/** The command has no more to do with its child, which has ended or was killed. */
void letGo(Command& cmd) {
    Process* process = std::exchange(cmd.process, nullptr);
    if (cmd.runs) {
        notRunning(cmd);
    }
    int status = 0;
    if (process && !reap(*process, status)) {
        forsake(*process);
    }
    reapForsaken();
}

void killAll(const Command& cmd) {
    const pid_t pid = cmd.process->pid;
    const bool group = cmd.leads && kill(-pid, SIGKILL) == 0;
    // Where a child is made by copying this process, as emulators do, it may not lead its session yet.
    if (!group && cmd.runs) {
        kill(pid, SIGKILL);
    }
}

/** Kill the process, unless it is detached. */
void endProcess(Command& cmd) {
    if (!cmd.process->detached) {
        killAll(cmd);
        cmd.status = 128 + SIGKILL;
    }
}

/** Kill what runs, as mprDestroyCmd does. Managers may still ask its commands what has become of it. */
void killRunning() {
    while (Command* cmd = running.head() ? running.head()->first : nullptr) {
        endProcess(*cmd);
        notRunning(*cmd);
        forsake(*std::exchange(cmd->process, nullptr));
    }
}

/** A command that runs is freed by hand: no list and no event leads to it any more. */
void leave(Command& cmd) {
    if (cmd.process && running.head()) {
        const Loop::Using loop(task::events().loop());
        endProcess(cmd);
        letGo(cmd);
    }
    for (task::Event* event : {cmd.end, cmd.told, cmd.looks}) {
        if (event) {
            task::events().remove(*event);
        }
    }
}

/** Keep numbers of children for a later runtime: the memory in which they are ends with this one. */
void leaveOver() {
    for (const Process* each = forsaken; each; each = each->next) {
        pid_t* place = std::find(std::begin(leftOver), std::end(leftOver), 0);
        const bool kept = place != std::end(leftOver);
        if (kept) {
            *place = each->pid;
        }
        if (!kept || !each->detached) {
            os::Message message;
            message << "mprDestroy: process " << each->pid << (each->detached ? " goes on" : " was killed and goes on")
                    << (kept ? "; a later runtime waits for it" : "; nobody will wait for it");
            os::log(os::Level::warning, message);
        }
    }
    forsaken = nullptr;
}

/** For the room's end: what was killed ends at once, unless the system itself waits for something. */
void close() {
    constexpr int longest = 1000; // milliseconds
    killRunning();
    const auto waits = [] {
        reapForsaken();
        const Process* each = forsaken;
        while (each && each->detached) {
            each = each->next;
        }
        return each != nullptr;
    };
    for (int i = 0; i < longest && waits(); ++i) {
        poll(nullptr, 0, 1);
    }
    leaveOver();
    task::processesRunning.store(0, std::memory_order_relaxed);
    ofChildren = nullptr;
    running.close();
}

// ---- Channels ---------------------------------------------------------------------------------------------------

bool isChannel(const Command* cmd, int channel) {
    return cmd && channel >= 0 && channel < channels && cmd->fds[channel] >= 0;
}

/** The handler stays in its place until the next start: who enables events meanwhile in another thread finds it ended. */
void closeChannel(Command& cmd, int channel) {
    const int fd = cmd.fds[channel].exchange(-1);
    if (fd >= 0) {
        mprDestroyWaitHandler(cmd.handlers[channel]);
        ::close(fd);
    }
}

/** A descriptor that is not one of the first three, which the child's own will be. -1 stays. */
int moveUp(int fd) {
    if (fd < 0 || fd > 2) {
        return fd;
    }
    const int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    const int error = errno;
    ::close(fd);
    errno = error;
    return higher;
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

bool isComplete(Command& cmd);

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

/** What events of a channel go to. @return nullptr when memory is short. */
MprWaitHandler* makeHandler(Command& cmd, int channel, MprDispatcher* dispatcher, MprEventProc proc) {
    MprWaitHandler* handler =
        mprCreateWaitHandler(cmd.fds[channel], 0, dispatcher, reinterpret_cast<void*>(proc), &cmd, 0);
    if (handler) {
        mpr::io::drop(cmd.ties[channel]);
        cmd.ties[channel] = mpr::io::setOwner(*handler, &cmd);
    }
    mprSetRef(&cmd, &cmd.handlers[channel], handler);
    return handler;
}

void waitOnChannel(Command& cmd, int channel) {
    mprWaitOn(cmd.handlers[channel], channel == MPR_CMD_STDIN ? MPR_WRITABLE : MPR_READABLE);
}

/** Whether the callback is to be called for output, or runs, but not in the calling thread, which waits inside. */
bool hasOutput(const Command& cmd) {
    bool more = false;
    const bool called = !task::Events::isDestroyed(*cmd.dispatcher);
    for (const int channel : {MPR_CMD_STDOUT, MPR_CMD_STDERR}) {
        const std::uint8_t state = cmd.states[channel];
        more = more || (called && cmd.fds[channel] >= 0 && (state & armed) && !(state & atEnd)) ||
               ((state & calling) && cmd.caller != os::currentThread());
    }
    return more;
}

/** Events that tell of a command: of its end, and of the callback as long as it is called. */
task::Awaited eventsOf(const Command& cmd) {
    task::Events& events = task::events();
    MprDispatcher* const callbacks = task::Events::isDestroyed(*cmd.dispatcher) ? nullptr : cmd.dispatcher;
    return {{cmd.own, callbacks}, {events.mark(*cmd.own), callbacks ? events.mark(*callbacks) : 0}};
}

// ---- The program to run ------------------------------------------------------------------------------------------------

/** The child will be elsewhere. @param path As findProgram's. @return false when that is too long. */
bool makeAbsolute(char* path) {
    const char* absolute = mprGetAbsPath(path);
    return absolute && scopy(path, PATH_MAX, absolute) >= 0;
}

/** @return false when the path would be too long. */
bool join(char* path, string_view folder, string_view name) {
    if (folder.size() + name.size() + 2 > PATH_MAX) {
        return false;
    }
    char* end = std::copy(folder.begin(), folder.end(), path);
    if (!folder.empty()) {
        *end++ = '/';
    }
    *std::copy(name.begin(), name.end(), end) = '\0';
    return true;
}

/** Whether a program stands at a path. A folder, which may be entered, is none. @return 0 or MPR_ERR_*. */
int lookAt(const char* path) {
    struct stat info;
    if (stat(path, &info) != 0) {
        return MPR_ERR_CANT_FIND;
    }
    return S_ISREG(info.st_mode) && access(path, X_OK) == 0 ? 0 : MPR_ERR_CANT_ACCESS;
}

/** Look for a program in folders, of which an empty one is the current (POSIX, PATH). @return 0 or MPR_ERR_*. */
int findInFolders(string_view folders, const char* name, char* path) {
    int result = MPR_ERR_CANT_FIND;
    for (bool more = true; more && result != 0;) {
        const std::size_t colon = folders.find(':');
        const string_view folder = part(folders, 0, colon);
        more = colon != string_view::npos;
        folders.remove_prefix(more ? colon + 1 : folders.size());
        const int found = join(path, folder.empty() ? "." : folder, name) ? lookAt(path) : MPR_ERR_CANT_FIND;
        result = found == MPR_ERR_CANT_FIND ? result : found;
    }
    return result;
}

/** Find a program. @param path At least PATH_MAX bytes. @return 0 or MPR_ERR_*. */
int findProgram(const Command& cmd, const char* name, char* path) {
    const char* folders = cmd.search ? cmd.search : os::environment("PATH");
    const bool given = std::strchr(name, '/') != nullptr;
    int result = given ? (join(path, "", name) ? lookAt(path) : MPR_ERR_CANT_FIND)
                       : findInFolders(folders ? folders : "/bin:/usr/bin", name, path);
    if (result == 0 && cmd.folder && path[0] != '/' && !makeAbsolute(path)) {
        result = MPR_ERR_CANT_FIND;
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

/** What posix_spawn is to do, and what is to be given back after it. */
class SpawnPlan {
public:
    SpawnPlan() : error_(posix_spawnattr_init(&attributes_)) {
        if (error_ == 0 && (error_ = posix_spawn_file_actions_init(&actions_)) != 0) {
            posix_spawnattr_destroy(&attributes_);
        }
        made_ = error_ == 0;
    }
    ~SpawnPlan() {
        if (made_) {
            posix_spawn_file_actions_destroy(&actions_);
            posix_spawnattr_destroy(&attributes_);
        }
    }
    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;

    /** No signal is blocked or ignored in the child. */
    void setTraits(bool ownSession, bool ownGroup) {
        if (!made_) {
            return;
        }
        sigset_t all;
        sigset_t none;
        sigfillset(&all);
        sigemptyset(&none);
        const int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (ownSession ? POSIX_SPAWN_SETSID : 0) |
                          (ownGroup && !ownSession ? POSIX_SPAWN_SETPGROUP : 0);
        note(posix_spawnattr_setflags(&attributes_, static_cast<short>(flags)));
        note(posix_spawnattr_setsigdefault(&attributes_, &all));
        note(posix_spawnattr_setsigmask(&attributes_, &none));
    }
    /**
        Give the child a descriptor, which is above 2. @param given -1: what we have at that place; nothing for its input.
        What is closed on execution there is no standard output, but something of ours that was opened after that was closed.
     */
    void setChannel(int channel, int given) {
        if (!made_) {
            return;
        }
        const int flags = channel == MPR_CMD_STDIN ? -1 : fcntl(channel, F_GETFD);
        if (given >= 0) {
            note(posix_spawn_file_actions_adddup2(&actions_, given, channel));
        } else if (flags < 0 || (flags & FD_CLOEXEC)) {
            note(posix_spawn_file_actions_addopen(&actions_, channel, "/dev/null",
                                                  channel == MPR_CMD_STDIN ? O_RDONLY : O_WRONLY, 0));
        }
    }
    void setFolder(const char* folder) {
        if (made_ && folder) {
            note(posix_spawn_file_actions_addchdir_np(&actions_, folder));
        }
    }
    /** @param arguments Has room for one more. @return 0 or the system's error. */
    int spawn(pid_t& pid, const char* path, char** arguments, int count, char** environment) {
        if (error_ != 0) {
            return error_;
        }
        char** all = environment ? environment : environ;
        int result = posix_spawn(&pid, path, &actions_, &attributes_, arguments, all);
        if (result == ENOEXEC) { // a script that does not say of what
            std::copy_backward(arguments + 1, arguments + count + 1, arguments + count + 2);
            arguments[0] = const_cast<char*>("sh");
            arguments[1] = const_cast<char*>(path);
            result = posix_spawn(&pid, "/bin/sh", &actions_, &attributes_, arguments, all);
        }
        return result;
    }

private:
    void note(int error) { error_ = error_ != 0 ? error_ : error; }

    posix_spawnattr_t attributes_;
    posix_spawn_file_actions_t actions_;
    int error_;
    bool made_ = false;
};

/** Whether the process runs, asked of the system: it may have ended before its command stood in the list. */
bool stillRuns(Command& cmd);

/** With the loop in use: nobody is told any more that the last run has ended. */
void forgetEnd(Command& cmd) {
    cmd.endIsNew = false;
    mprSetRef(&cmd, &cmd.told, nullptr);
}

/** A descriptor that is readable when a child has ended. @return -1: the system has none (Linux before 5.3). */
int openEnd(pid_t pid) {
#ifdef SYS_pidfd_open
    return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); // not inherited
#else
    return -1;
#endif
}

/**
    Tells of the end of a process although the program blocks SIGCHLD, or handles it: by a descriptor, or, where there is
    none, by a look every now and then.
 */
class EndWatch {
public:
    /** Make it: the process is not in the list yet, so its number is its own. */
    EndWatch(Command& cmd, pid_t pid) : cmd_(cmd), fd_(openEnd(pid)) {
        handler_ = fd_ < 0 ? nullptr : mprCreateWaitHandler(fd_, 0, cmd.own, reinterpret_cast<void*>(look), &cmd, 0);
        if (handler_) {
            mpr::io::Tie* before = std::exchange(cmd.ties[endPlace], mpr::io::setOwner(*handler_, &cmd));
            mpr::io::drop(before);
        } else if (fd_ >= 0) {
            ::close(std::exchange(fd_, -1));
        }
    }
    /** With the loop in use: whoever finds the end also finds what is to be closed then. */
    void place() {
        cmd_.fds[endPlace] = fd_;
        mprSetRef(&cmd_, &cmd_.handlers[endPlace], handler_);
    }
    void begin() {
        constexpr MprTicks often = 200; // milliseconds
        if (handler_) {
            mprWaitOn(handler_, MPR_READABLE);
        } else if (cmd_.looks) { // of a run before, whose end it need not have seen
            task::events().schedule(*cmd_.looks, often, 1);
        } else {
            MprEvent* made = mprCreateTimerEvent(cmd_.own, "command", often, reinterpret_cast<void*>(look), &cmd_, 0);
            mprSetRef(&cmd_, &cmd_.looks, made);
        }
    }

private:
    static void look(void* data, MprEvent* event) {
        if (!stillRuns(*static_cast<Command*>(data))) {
            mprRemoveEvent(event);
        }
    }

    Command& cmd_;
    int fd_;
    MprWaitHandler* handler_; // safe: nothing here yields
};

/** Close the descriptor of a process that has ended, unless the next run has its own there by now. */
void closeEnd(Command& cmd) {
    int fd = -1;
    MprWaitHandler* handler = nullptr;
    {
        const Loop::Using loop(task::events().loop());
        if (!cmd.runs) {
            fd = cmd.fds[endPlace].exchange(-1);
            handler = cmd.handlers[endPlace];
        }
    }
    if (fd >= 0) {
        mprDestroyWaitHandler(handler);
        ::close(fd);
    }
}

/** What a command runs, and how. */
struct Start {
    const char* path;
    char** arguments; // with room for one more
    int count;
    char** environment; // nullptr: ours
    int childs[channels];
};

/** Name what kept a process from starting. The system gives one error for several causes. */
void sayWhy(const Command& cmd, const char* path, int error) {
    os::Message message;
    message << "mprStartCmd: \"" << string_view(path) << "\": ";
    const bool inFolder = cmd.folder && access(cmd.folder, X_OK) != 0;
    if (inFolder) {
        message << "its working folder \"" << string_view(cmd.folder) << "\": ";
    } else if (error == ENOENT && access(path, F_OK) == 0) {
        message << "the interpreter that its first line names, or its loader: ";
    }
    os::log(os::Level::error, message << strerror(error));
}

/** Start the process. @return 0 or MPR_ERR_*. */
int spawn(Command& cmd, const Start& start, int flags) {
    auto* process = static_cast<Process*>(palloc(sizeof(Process)));
    if (!process) {
        return MPR_ERR_MEMORY;
    }
    int error = 0;
    bool first = false;
    {
        const Loop::Using loop(task::events().loop());
        first = !ofChildren;
        error = -watchChildren(*loop);
        reapForsaken();
    }
    if (first) {
        task::events().loopChanged();
    }
    if (error == 0) {
        SpawnPlan plan;
        plan.setTraits((flags & (MPR_CMD_NEW_SESSION | MPR_CMD_DETACH)) != 0, cmd.keepsLead);
        plan.setFolder(cmd.folder);
        for (int channel = 0; channel < channels; ++channel) {
            plan.setChannel(channel, start.childs[channel]);
        }
        error = plan.spawn(process->pid, start.path, start.arguments, start.count, start.environment);
    }
    if (error != 0) {
        pfree(process);
        sayWhy(cmd, start.path, error);
        return error == EACCES ? MPR_ERR_CANT_ACCESS : MPR_ERR_CANT_CREATE;
    }
    process->detached = (flags & MPR_CMD_DETACH) != 0;
    EndWatch watch(cmd, process->pid);
    {
        const Loop::Using loop(task::events().loop());
        cmd.process = process;
        cmd.started = true;
        cmd.runs = true;
        __atomic_store_n(&cmd.pid, process->pid, __ATOMIC_RELAXED);
        forgetEnd(cmd);
        watch.place();
        running.link(cmd);
    }
    watch.begin();
    task::processesRunning.fetch_add(1, std::memory_order_relaxed);
    return 0;
}

bool stillRuns(Command& cmd) {
    bool found = false;
    {
        const Loop::Using loop(task::events().loop());
        if (!cmd.runs) {
            return false;
        }
        found = findEnd(cmd);
    }
    if (found) {
        task::events().queue(*cmd.end, 0);
    }
    return !found;
}

/** mprIsCmdComplete; and the member says so from now on. */
bool isComplete(Command& cmd) {
    const bool complete = cmd.started && !stillRuns(cmd) && !hasOutput(cmd);
    __atomic_store_n(&cmd.complete, complete ? 1 : 0, __ATOMIC_RELEASE);
    return complete;
}

int killProcess(Command& cmd, int signal) {
    const Loop::Using loop(task::events().loop());
    return cmd.runs && kill(cmd.process->pid, signal) == 0 ? 0 : MPR_ERR_BAD_STATE;
}

/** Where the buffer of an output stands. */
MprBuf** bufferOf(Command& cmd, int channel) {
    return channel == MPR_CMD_STDOUT ? &cmd.stdoutBuf : &cmd.stderrBuf;
}

/** Make the buffer of an output, or forget it. @return false when memory is short. */
bool setBuffer(Command& cmd, int channel, bool wanted) {
    MprBuf* buf = wanted ? mprCreateBuf(0, 0) : nullptr;
    mprSetRef(&cmd, bufferOf(cmd, channel), buf);
    return buf || !wanted;
}

/** Start a program. @param gathers For mprRunCmd, which reads the output itself, and may have to kill all of them. */
int startCmd(Command& cmd, int argc, cchar** argv, cchar** envp, int flags, bool gathers) {
    if (const int result = task::events().tryOpen("mprStartCmd")) {
        return result; // the runtime ends
    }
    if (cmd.process || (cmd.callback && !gathers && task::Events::isDestroyed(*cmd.dispatcher))) {
        return MPR_ERR_BAD_STATE;
    }
    char path[PATH_MAX];
    if (const int result = findProgram(cmd, argv[0], path)) {
        return result;
    }
    for (char** set : {cmd.environment, cmd.usualEnvironment}) {
        envp = envp ? envp : const_cast<cchar**>(set);
    }
    closeEnd(cmd);
    const bool mixes = envp && !(flags & MPR_CMD_EXACT_ENV);
    auto** arguments = static_cast<char**>(palloc((static_cast<std::size_t>(argc) + 2) * sizeof(char*)));
    Start start{path, arguments, argc, mixes ? mixEnvironment(envp) : const_cast<char**>(envp), {-1, -1, -1}};
    int result = arguments && (start.environment || !mixes) ? 0 : MPR_ERR_MEMORY;
    for (int channel = 0; channel < channels; ++channel) {
        closeChannel(cmd, channel);
        mprSetRef(&cmd, &cmd.handlers[channel], nullptr);
        cmd.states[channel] = 0;
        const bool wanted = flags & (MPR_CMD_IN << channel);
        if (channel != MPR_CMD_STDIN && !setBuffer(cmd, channel, wanted && !gathers) && result == 0) {
            result = MPR_ERR_MEMORY;
        }
        if (result == 0 && wanted && !openPipe(cmd, channel, start.childs[channel])) {
            result = MPR_ERR_CANT_CREATE;
        }
        if (result == 0 && wanted && channel != MPR_CMD_STDIN && cmd.callback && !gathers &&
            !makeHandler(cmd, channel, cmd.dispatcher, onChannel)) {
            result = MPR_ERR_MEMORY;
        }
    }
    cmd.keepsLead = gathers;
    cmd.leads = gathers || (flags & (MPR_CMD_NEW_SESSION | MPR_CMD_DETACH));
    cmd.complete = 0;
    if (result == 0) {
        std::copy(argv, argv + argc, const_cast<const char**>(arguments));
        arguments[argc] = nullptr;
        result = spawn(cmd, start, flags);
    }
    if (result != 0) {
        cmd.started = false;
    }
    for (int channel = 0; channel < channels; ++channel) {
        if (start.childs[channel] >= 0) {
            ::close(start.childs[channel]);
        }
        if (result != 0) {
            closeChannel(cmd, channel);
        }
    }
    pfree(arguments);
    pfree(mixes ? start.environment : nullptr);
    if (result == 0 && !gathers) {
        if (cmd.callback) {
            mprEnableCmdOutputEvents(&cmd, true);
        }
        stillRuns(cmd); // whoever services may have heard of the end before the command stood in the list
    }
    return result;
}
} // namespace

// ---- Making -----------------------------------------------------------------------------------------------------

namespace {

/** Tell the callback of a run's end, unless the program has ended that run itself, or begun another, since. */
void tellEnd(void* data, MprEvent* event) {
    auto* cmd = static_cast<Command*>(data);
    const bool isTold = __atomic_load_n(&cmd->told, __ATOMIC_ACQUIRE) == event;
    if (isTold && cmd->callback) {
        task::callProgram({"command callback"}, [=] { cmd->callback(cmd, -1, cmd->data); });
    }
}

/** Make an event the one that tells of the last end. @return false when that is told already, or of a run before this one. */
bool takeEnd(Command& cmd, task::Event& event) {
    const Loop::Using loop(task::events().loop());
    const bool isNew = std::exchange(cmd.endIsNew, false);
    if (isNew) {
        mprSetRef(&cmd, &cmd.told, &event);
    }
    return isNew;
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

MprCmd* mprCreateCmd(MprDispatcher* dispatcher) {
    task::Events& events = task::events();
    if (!events.open("mprCreateCmd") || !running.open(room)) {
        return nullptr;
    }
    // Other threads store the same.
    __atomic_store_n(&mprGetMpr()->cmdService, reinterpret_cast<MprCmdService*>(running.head()), __ATOMIC_RELAXED);
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

namespace {
std::uint32_t ownNumber() {
    return gc::attached ? gc::attached->number : 0;
}
} // namespace

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
    {
        const Loop::Using loop(task::events().loop());
        if (cmd->process) {
            endProcess(*cmd);
            letGo(*cmd);
        }
        cmd->started = false;
        forgetEnd(*cmd);
    }
    closeEnd(*cmd);
    task::events().remove(*cmd->end); // it may be queued still
}

void mprSetCmdSearchPath(MprCmd* ptr, cchar* search) {
    auto* cmd = static_cast<Command*>(ptr);
    if (cmd) {
        mprSetRef(cmd, &cmd->search, search ? mprMemdup(search, std::strlen(search) + 1) : nullptr);
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
        mprSetRef(cmd, &cmd->folder, dir ? sclone(dir) : nullptr);
    }
}

void mprSetCmdEnv(MprCmd* ptr, cchar** env) {
    auto* cmd = static_cast<Command*>(ptr);
    if (cmd) {
        mprSetRef(cmd, &cmd->environment, copyStrings(env));
    }
}

void mprSetCmdDefaultEnv(MprCmd* ptr, cchar** env) {
    auto* cmd = static_cast<Command*>(ptr);
    if (cmd) {
        mprSetRef(cmd, &cmd->usualEnvironment, copyStrings(env));
    }
}

void mprSetCmdCallback(MprCmd* ptr, MprCmdProc callback, void* data) {
    auto* cmd = static_cast<Command*>(ptr);
    if (cmd) {
        cmd->callback = callback;
        mprSetRef(cmd, &cmd->data, data);
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
    const Loop::Using loop(task::events().loop());
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
    const Loop::Using loop(task::events().loop());
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
    return cmd ? killProcess(*cmd, signal != 0 ? signal : SIGTERM) : MPR_ERR_BAD_ARGS;
}

namespace {

/** Milliseconds left until a deadline, as mprWaitForEvent wants them. */
MprTicks restUntil(std::uint64_t deadline) {
    const std::uint64_t left = task::leftUntil(deadline);
    return left == os::forever ? -1 : static_cast<MprTicks>((left + 999'999) / 1'000'000);
}

/** The calling thread waits for a command: others may not end it. In an event that runs meanwhile it may wait once more. */
class Awaiting {
public:
    explicit Awaiting(Command& cmd) : cmd_(cmd), outer_(cmd.waiter.exchange(ownNumber())) {}
    ~Awaiting() { cmd_.waiter = outer_; }
    Awaiting(const Awaiting&) = delete;
    Awaiting& operator=(const Awaiting&) = delete;

private:
    Command& cmd_;
    std::uint32_t outer_;
};
} // namespace

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

/** Read a channel until it has nothing more for now. @return 0 or MPR_ERR_MEMORY. */
int gather(Command& cmd, int channel, Gathered& into) {
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
    {
        const Loop::Using loop(task::events().loop());
        killAll(cmd);
    }
    for (int i = 0; i < longest && stillRuns(cmd); ++i) {
        mprSleep(1);
    }
}
} // namespace

namespace {

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
        {
            const Loop::Using loop(task::events().loop());
            letGo(cmd);
        }
        closeEnd(cmd);
    } else {
        killAndWait(cmd);
        mprDestroyCmd(&cmd);
    }
    for (const int channel : {MPR_CMD_STDOUT, MPR_CMD_STDERR}) {
        char** const to = channel == MPR_CMD_STDOUT ? out : err;
        MprBuf* buf = to ? gathered[channel].give() : nullptr;
        mprSetRef(&cmd, bufferOf(cmd, channel), buf);
        if (buf) {
            *to = buf->start;
        } else if (to && result >= 0) {
            result = MPR_ERR_MEMORY;
        }
        pfree(gathered[channel].bytes);
    }
    return result;
}

/** What is given when nothing was written. */
void clearOutputs(char** out, char** err) {
    for (char** each : {out, err}) {
        if (each) {
            *each = nullptr;
        }
    }
}
} // namespace

int mprRunCmd(MprCmd* ptr, cchar* command, cchar** envp, cchar* in, char** out, char** err, MprTicks timeout,
              int flags) {
    auto* cmd = static_cast<Command*>(ptr);
    clearOutputs(out, err);
    if (!gc::admitServing("mprRunCmd") || !cmd || !command) {
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
    if (!gc::admitServing("mprRunCmdV") || !cmd || argc < 1 || !argv || !argv[0]) {
        return MPR_ERR_BAD_ARGS;
    }
    return runCmd(*cmd, argc, argv, envp, in, out, err, timeout, flags, __builtin_return_address(0));
}

int mprRun(MprDispatcher* dispatcher, cchar* command, cchar* input, char** output, char** error, MprTicks timeout) {
    const int result = gc::admitServing("mprRun") ? task::events().tryOpen("mprRun") : MPR_ERR_BAD_STATE;
    if (result != 0) {
        return result;
    }
    MprCmd* cmd = mprCreateCmd(dispatcher);
    if (!cmd) {
        return MPR_ERR_MEMORY;
    }
    return mprRunCmd(cmd, command, nullptr, input, output, error, timeout, 0);
}
