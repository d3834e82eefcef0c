// SPDX-License-Identifier: MIT
/*
    shutdown.cpp - Start and end of the services: the C API of mpr/shutdown.h.
 */
#include "mpr/shutdown.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "mpr/event.h"
#include "mpr/os/log.hpp"
#include "mpr/runtime.h"
#include "mpr/task/events.hpp"
#include "mpr/task/thread.hpp"
#include "mpr/task/waiting.hpp"
#include "mpr/task/workers.hpp"

namespace gc = mpr::gc;
namespace os = mpr::os;
namespace task = mpr::task;

namespace {

/** Whether this is the thread that mprStartEventsThread made. */
thread_local bool isEventsThread = false;

/** Of mprShutdown and mprCancelShutdown, which change what follows and the runtime's life together. */
constinit os::Lock changes;
int stateBefore = MPR_CREATED;              // the last mprShutdown
MprTicks timeoutBefore = 0;                 // it
std::atomic<std::uint64_t> grantedUntil{0}; // by it, to work in progress; read without the lock
std::atomic<MprIdleCallback> idleCallback{mprServicesAreIdle};
/** Threads that service events and have ended because the runtime stops: mprCancelShutdown starts as many. */
std::atomic<int> endedThreads{0};

/** A thread that has ended goes on if the shutdown was cancelled, and nobody has been started in its place. */
bool goesOn() {
    endedThreads.fetch_add(1);
    int count = endedThreads.load();
    while (!mprIsStopping() && count > 0) {
        if (endedThreads.compare_exchange_weak(count, count - 1)) {
            return true;
        }
    }
    return false;
}

void serviceEvents(void*, MprThread*) {
    isEventsThread = true;
    do {
        while (!mprIsStopping()) {
            mprServiceEvents(-1, 0);
        }
    } while (goesOn());
}

int startEventsThread() {
    return task::startServiceThread(mprCreateThread("events", reinterpret_cast<void*>(serviceEvents), nullptr, 0));
}

/** @return Whether no worker is busy, or none but the caller, before the deadline. */
bool comesToRest(std::uint64_t deadline) {
    const int self = mprGetCurrentWorker() ? 1 : 0;
    while (task::workers().busy() > self) {
        if (task::leftUntil(deadline) == 0) {
            return false;
        }
        mprSleep(1);
    }
    return true;
}
} // namespace

int mprStartEventsThread(void) {
    if (const int result = task::events().tryOpen("mprStartEventsThread")) {
        return result;
    }
    if (mprIsStopping()) {
        return MPR_ERR_BAD_STATE;
    }
    const int result = startEventsThread();
    if (result != 0) {
        os::Message message;
        os::log(os::Level::error, message << "mprStartEventsThread: the system gives no thread or memory for events");
    }
    return result;
}

void task::forgetEndedThreads() {
    endedThreads.store(0);
}

void task::replaceEventsThread() {
    if (isEventsThread && !mprIsStopping()) {
        mprStartEventsThread();
    }
}

int mprStart(void) {
    if (!gc::admitRunning("mprStart") || mprIsStopping()) {
        return MPR_ERR_BAD_STATE;
    }
    gc::Runtime& rt = gc::runtime();
    int created = MPR_CREATED;
    if (!rt.life.state.compare_exchange_strong(created, MPR_STARTED)) {
        return 0;
    }
    const int result = rt.flags & MPR_USER_EVENTS_THREAD ? 0 : mprStartEventsThread();
    if (result != 0) {
        int started = MPR_STARTED;
        rt.life.state.compare_exchange_strong(started, MPR_CREATED);
    }
    return result;
}

namespace {

/** @return false when the runtime stops already. */
bool beginShutdown(gc::Life& life, int exitStrategy, MprTicks granted) {
    const os::Locked locked(changes);
    int state = life.state.load();
    do {
        if (state >= MPR_STOPPING) {
            return false;
        }
        stateBefore = state;
        grantedUntil.store(task::deadlineIn(granted));
    } while (!life.state.compare_exchange_weak(state, MPR_STOPPING));
    timeoutBefore = life.exitTimeout.exchange(granted);
    life.strategy.store(exitStrategy);
    return true;
}
} // namespace

void mprShutdown(int exitStrategy, int status, MprTicks timeout) {
    if (!gc::admitRunning("mprShutdown")) {
        return;
    }
    gc::Life& life = gc::runtime().life;
    const MprTicks granted = timeout < 0 ? life.exitTimeout.load() : std::min(timeout, task::longestTime);
    if ((exitStrategy & MPR_EXIT_SAFE) && !comesToRest(task::deadlineIn(granted))) {
        os::Message message;
        os::log(os::Level::info, message << "mprShutdown: workers are busy; the runtime goes on");
        return;
    }
    const bool first = beginShutdown(life, exitStrategy, granted);
    const bool aborts = (exitStrategy & MPR_EXIT_ABORT) != 0;
    if ((first || aborts) && status >= 0) {
        life.status.store(status);
    }
    if (aborts) {
        gc::runtime().depletion.runTerminators(exitStrategy, life.status.load());
        os::exit(life.status.load());
    }
    task::events().wakeAll();
}

void mprSetExitTimeout(MprTicks timeout) {
    if (gc::running()) {
        gc::runtime().life.exitTimeout.store(std::clamp(timeout, MprTicks{0}, task::longestTime));
    }
}

int mprGetExitStatus(void) {
    return gc::running() ? gc::runtime().life.status.load() : 0;
}

void mprSetExitStatus(int status) {
    if (gc::running()) {
        gc::runtime().life.status.store(status);
    }
}

bool mprIsStopping(void) {
    return !gc::running() || gc::runtime().life.state.load(std::memory_order_acquire) >= MPR_STOPPING;
}

bool mprIsStopped(void) {
    return !gc::running() || gc::runtime().life.state.load(std::memory_order_acquire) >= MPR_STOPPED;
}

bool mprShouldDenyNewRequests(void) {
    return mprIsStopping();
}

bool mprShouldAbortRequests(void) {
    return mprIsStopping() && (!gc::running() || task::leftUntil(grantedUntil.load()) == 0);
}

namespace {

/** @param ended Threads that are to be started anew. @return false when the runtime does not stop, or ends. */
bool endShutdown(gc::Life& life, int& ended) {
    const os::Locked locked(changes);
    int stopping = MPR_STOPPING;
    if (gc::ending.load() || !life.state.compare_exchange_strong(stopping, stateBefore)) {
        return false;
    }
    if (gc::ending.load()) { // mprDestroy came in between: it goes on as if nothing were
        int cancelled = stateBefore;
        life.state.compare_exchange_strong(cancelled, MPR_STOPPING);
        return false;
    }
    life.strategy.store(MPR_EXIT_NORMAL);
    life.exitTimeout.store(timeoutBefore);
    ended = endedThreads.exchange(0); // before the next shutdown, in which others may end
    return true;
}
} // namespace

bool mprCancelShutdown(void) {
    if (!gc::admitRunning("mprCancelShutdown")) {
        return false;
    }
    int ended = 0;
    if (!endShutdown(gc::runtime().life, ended)) {
        return false;
    }
    for (; ended > 0; --ended) {
        startEventsThread();
    }
    return true;
}

int mprGetState(void) {
    return gc::running() ? gc::runtime().life.state.load(std::memory_order_acquire) : MPR_DESTROYED;
}

bool mprIsDestroying(void) {
    return gc::running() && mprIsStopped();
}

bool mprIsDestroyed(void) {
    return !gc::running();
}

void mprRestart(void) {
    if (char** argv = gc::running() ? gc::runtime().argv : nullptr) {
        os::restart(argv);
    }
    os::Message message;
    os::log(os::Level::error, message << "mprRestart: the program could not be executed anew");
}

int mprDaemon(void) {
    if (gc::running() || gc::isForked()) {
        os::Message message;
        os::log(os::Level::error, message << "mprDaemon: call it before mprCreate: a child of fork has no collector");
        return MPR_ERR_BAD_STATE;
    }
    return daemon(1, 0) == 0 ? 0 : MPR_ERR_CANT_CREATE;
}

// ---- At rest ----------------------------------------------------------------------------------------------------

bool mprServicesAreIdle(bool traceRequests) {
    const int busy = task::workers().busy() - (mprGetCurrentWorker() ? 1 : 0);
    const int commands = task::processesRunning.load(std::memory_order_relaxed);
    const bool events = mprDispatchersAreIdle() == 0;
    const bool idle = busy <= 0 && commands <= 0 && !events;
    if (traceRequests && !idle) {
        os::Message message;
        message << "mprServicesAreIdle: busy are " << std::max(busy, 0) << " workers and " << std::max(commands, 0);
        os::log(os::Level::info, message << " commands, " << (events ? "and" : "no") << " events are due");
    }
    return idle;
}

bool mprIsIdle(bool traceRequests) {
    return idleCallback.load()(traceRequests);
}

MprIdleCallback mprSetIdleCallback(MprIdleCallback callback) {
    return idleCallback.exchange(callback ? callback : mprServicesAreIdle);
}

int mprGetOsError(void) {
    return errno;
}

int mprGetError(void) {
    switch (errno) {
    case 0: return 0;
    case EAGAIN: return MPR_ERR_WOULD_BLOCK;
    case EACCES:
    case EPERM: return MPR_ERR_CANT_ACCESS;
    case EBADF: return MPR_ERR_BAD_HANDLE;
    case EBUSY: return MPR_ERR_BUSY;
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH: return MPR_ERR_CANT_CONNECT;
    case ECONNRESET:
    case EPIPE: return MPR_ERR_NETWORK;
    case EEXIST: return MPR_ERR_ALREADY_EXISTS;
    case EINVAL: return MPR_ERR_BAD_ARGS;
    case EMFILE:
    case ENFILE: return MPR_ERR_TOO_MANY;
    case ENOENT: return MPR_ERR_CANT_FIND;
    case ENOMEM: return MPR_ERR_MEMORY;
    case EROFS: return MPR_ERR_READ_ONLY;
    case ETIMEDOUT: return MPR_ERR_TIMEOUT;
    default: return MPR_ERR;
    }
}

const char* mprGetErrorText(int code) {
    switch (code) {
    case MPR_ERR_OK: return "MPR_ERR_OK: no error";
    case MPR_ERR: return "MPR_ERR: unspecified error";
    case MPR_ERR_ABORTED: return "MPR_ERR_ABORTED: given up before it was done";
    case MPR_ERR_ALREADY_EXISTS: return "MPR_ERR_ALREADY_EXISTS: there is one already";
    case MPR_ERR_BAD_ARGS: return "MPR_ERR_BAD_ARGS: an argument is out of range or malformed";
    case MPR_ERR_BAD_FORMAT: return "MPR_ERR_BAD_FORMAT: data in another format than expected";
    case MPR_ERR_BAD_HANDLE: return "MPR_ERR_BAD_HANDLE: not an open descriptor";
    case MPR_ERR_BAD_STATE: return "MPR_ERR_BAD_STATE: the call does not fit the present state";
    case MPR_ERR_BAD_SYNTAX: return "MPR_ERR_BAD_SYNTAX: text that cannot be parsed";
    case MPR_ERR_BAD_TYPE: return "MPR_ERR_BAD_TYPE: another kind of object than expected";
    case MPR_ERR_BAD_VALUE: return "MPR_ERR_BAD_VALUE: a value is out of range";
    case MPR_ERR_BUSY: return "MPR_ERR_BUSY: in use; it may be free later";
    case MPR_ERR_CANT_ACCESS: return "MPR_ERR_CANT_ACCESS: the system denies access";
    case MPR_ERR_CANT_ALLOCATE: return "MPR_ERR_CANT_ALLOCATE: a resource of the system could not be had";
    case MPR_ERR_CANT_COMPLETE: return "MPR_ERR_CANT_COMPLETE: begun, but not finished";
    case MPR_ERR_CANT_CONNECT: return "MPR_ERR_CANT_CONNECT: the peer cannot be reached";
    case MPR_ERR_CANT_CREATE: return "MPR_ERR_CANT_CREATE: the system refused to create the object";
    case MPR_ERR_CANT_DELETE: return "MPR_ERR_CANT_DELETE: the system refused to delete the object";
    case MPR_ERR_CANT_FIND: return "MPR_ERR_CANT_FIND: there is none of that name";
    case MPR_ERR_CANT_INITIALIZE: return "MPR_ERR_CANT_INITIALIZE: a part of the runtime could not be made ready";
    case MPR_ERR_CANT_LOAD: return "MPR_ERR_CANT_LOAD: could not be loaded";
    case MPR_ERR_CANT_OPEN: return "MPR_ERR_CANT_OPEN: could not be opened";
    case MPR_ERR_CANT_READ: return "MPR_ERR_CANT_READ: could not be read";
    case MPR_ERR_CANT_WRITE: return "MPR_ERR_CANT_WRITE: could not be written";
    case MPR_ERR_DELETED: return "MPR_ERR_DELETED: the object exists no longer";
    case MPR_ERR_MEMORY: return "MPR_ERR_MEMORY: memory could not be had";
    case MPR_ERR_NETWORK: return "MPR_ERR_NETWORK: the network failed";
    case MPR_ERR_NOT_INITIALIZED: return "MPR_ERR_NOT_INITIALIZED: not made ready before use";
    case MPR_ERR_NOT_READY: return "MPR_ERR_NOT_READY: not yet; try again";
    case MPR_ERR_READ_ONLY: return "MPR_ERR_READ_ONLY: may not be changed";
    case MPR_ERR_TIMEOUT: return "MPR_ERR_TIMEOUT: the time ran out";
    case MPR_ERR_TOO_MANY: return "MPR_ERR_TOO_MANY: a limit on their number is reached";
    case MPR_ERR_WONT_FIT: return "MPR_ERR_WONT_FIT: larger than the room for it";
    case MPR_ERR_WOULD_BLOCK: return "MPR_ERR_WOULD_BLOCK: it would have to wait, which it was told not to";
    default: return "no error code of mpr";
    }
}
