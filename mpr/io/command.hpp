// SPDX-License-Identifier: MIT
/*
    command.hpp - Commands, as the room knows them: what a command has, its channels, and the end of its process.

    A child is made by posix_spawn (spawn.hpp), and waited for by number when SIGCHLD has come, of which libuv's loop tells.
    Its number is in permanent memory: when a command is destroyed before its child could be waited for, that memory stays in
    a list until somebody could. While a child runs, its command stands in a list that retains it; the loop guards lists and
    state. The end of the runtime kills what runs. Whom it cannot wait for, detached ones above all, a later runtime waits
    for.

    The end of a process is an event of a dispatcher that each command has for itself, so that mprWaitForCmd can run it
    wherever it is called; the user's callback is an event of the user's dispatcher.

    mprRunCmd gives its child a process group, to be killed with all that it has started when the time is up. Until then it
    is not waited for, though it may have ended: else the number of the group might be another's by then.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "mpr/command.h"
#include "mpr/io/spawn.hpp"
#include "mpr/io/wait.hpp"
#include "mpr/os/os.hpp"
#include "mpr/task/events.hpp"
#include "mpr/task/waiting.hpp"

namespace mpr::io {

inline constexpr int endPlace =
    channels; // of the descriptor that tells of the process's end, beside those of the channels
inline constexpr int places = channels + 1; // for descriptors

/** A child that has not been waited for. */
struct Process {
    pid_t pid;
    bool detached; // it may live longer than its command, and than the runtime
    Process* next; // in the list of those that no command waits for
};

/** The state of a channel's events, as bits. */
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
    Tie* ties[places];                // to them
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

// ---- command_end.cpp: children and their ends. None of these is called with the loop in use ----

/** The commands that run have a list, and the room that marks it is known. @return nullptr: memory is short. */
MprCmdService* openCommands();
/** Hear of ends from now on. @return 0 or the system's error. */
int hearOfEnds();
/** A process has begun: it runs, and is the command's. */
void begin(Command& cmd, Process& process);
/** Whether the process runs, asked of the system: it may have ended before its command stood in the list. */
bool stillRuns(Command& cmd);
/** mprIsCmdComplete; and the member says so from now on. */
bool isComplete(Command& cmd);
/** Make an event the one that tells of the last end. @return false when that is told already, or of a run before this one. */
bool takeEnd(Command& cmd, task::Event& event);
/** Close the descriptor of a process that has ended, unless the next run has its own there by now. */
void closeEnd(Command& cmd);
/** @return 0, or MPR_ERR_BAD_STATE: it does not run. */
int sendSignal(Command& cmd, int signal);
/** Kill a process and all that it has started. */
void killTree(Command& cmd);
/** The command has no more to do with its child, which has ended or was killed. */
void letGo(Command& cmd);
/** Kill the process unless it is detached, let it go, and forget that it has ever begun. */
void endRun(Command& cmd);
/** A command is freed, perhaps by hand while it runs: no list and no event leads to it any more. */
void leave(Command& cmd);

// ---- command.cpp ----

/** Whether a command has a channel. */
inline bool isChannel(const Command* cmd, int channel) {
    return cmd && channel >= 0 && channel < channels && cmd->fds[channel] >= 0;
}
/** The handler stays in its place until the next start: who enables events meanwhile in another thread finds it ended. */
void closeChannel(Command& cmd, int channel);
/** What events of a channel go to. @return nullptr when memory is short. */
MprWaitHandler* makeHandler(Command& cmd, int channel, MprDispatcher* dispatcher, MprEventProc proc);
/** Have it told when a channel is ready. */
inline void waitOnChannel(Command& cmd, int channel) {
    mprWaitOn(cmd.handlers[channel], channel == MPR_CMD_STDIN ? MPR_WRITABLE : MPR_READABLE);
}
/** Where the buffer of an output stands. */
inline MprBuf** bufferOf(Command& cmd, int channel) {
    return channel == MPR_CMD_STDOUT ? &cmd.stdoutBuf : &cmd.stderrBuf;
}
/** Start a program. @param gathers For mprRunCmd, which reads the output itself, and may have to kill all of them. */
int startCmd(Command& cmd, int argc, cchar** argv, cchar** envp, int flags, bool gathers);
/** Milliseconds left until a deadline, as mprWaitForEvent wants them. */
MprTicks restUntil(std::uint64_t deadline);

/** The calling thread waits for a command: others may not end it. In an event that runs meanwhile it may wait once more. */
class Awaiting {
public:
    explicit Awaiting(Command& cmd);
    ~Awaiting() { cmd_.waiter = outer_; }
    Awaiting(const Awaiting&) = delete;
    Awaiting& operator=(const Awaiting&) = delete;

private:
    Command& cmd_;
    std::uint32_t outer_;
};

} // namespace mpr::io
