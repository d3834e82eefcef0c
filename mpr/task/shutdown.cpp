// SPDX-License-Identifier: MIT
/*
    shutdown.cpp - Start and end of the services: the C API of mpr/shutdown.h.
 */
#include "mpr/shutdown.h"

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

void serviceEvents(void*, MprThread*) {
    isEventsThread = true;
    while (!mprIsStopping()) {
        mprServiceEvents(-1, 0);
    }
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
    const int result =
        task::startServiceThread(mprCreateThread("events", reinterpret_cast<void*>(serviceEvents), nullptr, 0));
    if (result != 0) {
        os::Message message;
        os::log(os::Level::error, message << "mprStartEventsThread: the system gives no thread or memory for events");
    }
    return result;
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

void mprShutdown(int exitStrategy, int status, MprTicks timeout) {
    if (!gc::admitRunning("mprShutdown")) {
        return;
    }
    gc::Life& life = gc::runtime().life;
    const MprTicks granted = timeout < 0 ? life.exitTimeout.load() : timeout;
    if ((exitStrategy & MPR_EXIT_SAFE) && !comesToRest(task::deadlineIn(granted))) {
        os::Message message;
        os::log(os::Level::info, message << "mprShutdown: workers are busy; the runtime goes on");
        return;
    }
    int state = life.state.load();
    do {
        if (state >= MPR_STOPPING) {
            return;
        }
    } while (!life.state.compare_exchange_weak(state, MPR_STOPPING));
    life.strategy.store(exitStrategy);
    life.exitTimeout.store(granted);
    if (status >= 0) {
        life.status.store(status);
    }
    if (exitStrategy & MPR_EXIT_ABORT) {
        gc::runtime().depletion.runTerminators(exitStrategy, life.status.load());
        os::exit(life.status.load());
    }
    task::events().wakeAll();
}

void mprSetExitTimeout(MprTicks timeout) {
    if (gc::running()) {
        gc::runtime().life.exitTimeout.store(timeout > 0 ? timeout : 0);
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
