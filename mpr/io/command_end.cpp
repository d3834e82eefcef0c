// SPDX-License-Identifier: MIT
/*
    command_end.cpp - Children of commands, until somebody has waited for them: see command.hpp.
 */
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/io/command.hpp"
#include "mpr/io/retained.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/task/workers.hpp"

namespace mpr::io {

using task::Loop;

namespace {

/** The commands that run. */
constinit Retained<Command> running;
/** Children that were killed, whose commands no longer want to know of their end. */
constinit Process* forsaken = nullptr;
/** Children of runtimes that have ended, which could not be waited for then. 0: none. */
constinit pid_t leftOver[64] = {};
/** libuv's watcher of SIGCHLD. Made with the first child; the loop frees it when it is closed. */
constinit uv_signal_t* ofChildren = nullptr;

void closeRoom();
gc::Service room{[] { running.mark(); }, [](std::uint64_t) { return true; }, closeRoom};

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
void closeRoom() {
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

/** The command has no more to do with its child. */
void abandon(Command& cmd) {
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

/** The child is killed unless it is detached. The command forgets it. */
void endChild(Command& cmd) {
    endProcess(cmd);
    abandon(cmd);
}

/** Nobody is told any more that the last run has ended. */
void forgetEnd(Command& cmd) {
    cmd.endIsNew = false;
    base::setRef(&cmd, cmd.told, nullptr);
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

// ---- Without it -------------------------------------------------------------------------------------------------

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
            Tie* before = std::exchange(cmd.ties[endPlace], setOwner(*handler_, &cmd));
            drop(before);
        } else if (fd_ >= 0) {
            ::close(std::exchange(fd_, -1));
        }
    }
    /** With the loop in use: whoever finds the end also finds what is to be closed then. */
    void place() {
        cmd_.fds[endPlace] = fd_;
        base::setRef(&cmd_, cmd_.handlers[endPlace], handler_);
    }
    void begin() {
        constexpr MprTicks often = 200; // milliseconds
        if (handler_) {
            mprWaitOn(handler_, MPR_READABLE);
        } else if (cmd_.looks) { // of a run before, whose end it need not have seen
            task::events().schedule(*cmd_.looks, often, 1);
        } else {
            MprEvent* made = mprCreateTimerEvent(cmd_.own, "command", often, reinterpret_cast<void*>(look), &cmd_, 0);
            base::setRef(&cmd_, cmd_.looks, static_cast<task::Event*>(made));
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
} // namespace

MprCmdService* openCommands() {
    return reinterpret_cast<MprCmdService*>(running.open(room));
}

int hearOfEnds() {
    bool first = false;
    int error = 0;
    {
        const Loop::Using loop(task::events().loop());
        first = !ofChildren;
        error = -watchChildren(*loop);
        reapForsaken();
    }
    if (first) {
        task::events().loopChanged();
    }
    return error;
}

void begin(Command& cmd, Process& process) {
    EndWatch watch(cmd, process.pid);
    {
        const Loop::Using loop(task::events().loop());
        cmd.process = &process;
        cmd.started = true;
        cmd.runs = true;
        __atomic_store_n(&cmd.pid, process.pid, __ATOMIC_RELAXED);
        forgetEnd(cmd);
        watch.place();
        running.link(cmd);
    }
    watch.begin();
    task::processesRunning.fetch_add(1, std::memory_order_relaxed);
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

bool isComplete(Command& cmd) {
    const bool complete = cmd.started && !stillRuns(cmd) && !hasOutput(cmd);
    __atomic_store_n(&cmd.complete, complete ? 1 : 0, __ATOMIC_RELEASE);
    return complete;
}

bool takeEnd(Command& cmd, task::Event& event) {
    const Loop::Using loop(task::events().loop());
    const bool isNew = std::exchange(cmd.endIsNew, false);
    if (isNew) {
        base::setRef(&cmd, cmd.told, &event);
    }
    return isNew;
}

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

int sendSignal(Command& cmd, int signal) {
    const Loop::Using loop(task::events().loop());
    return cmd.runs && kill(cmd.process->pid, signal) == 0 ? 0 : MPR_ERR_BAD_STATE;
}

void killTree(Command& cmd) {
    const Loop::Using loop(task::events().loop());
    killAll(cmd);
}

void letGo(Command& cmd) {
    const Loop::Using loop(task::events().loop());
    abandon(cmd);
}

void endRun(Command& cmd) {
    const Loop::Using loop(task::events().loop());
    if (cmd.process) {
        endChild(cmd);
    }
    cmd.started = false;
    forgetEnd(cmd);
}

void leave(Command& cmd) {
    if (running.head()) {
        const Loop::Using loop(task::events().loop());
        if (cmd.process) {
            endChild(cmd);
        }
    }
    for (task::Event* event : {cmd.end, cmd.told, cmd.looks}) {
        if (event) {
            task::events().remove(*event);
        }
    }
}

} // namespace mpr::io
