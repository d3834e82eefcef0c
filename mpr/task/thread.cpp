// SPDX-License-Identifier: MIT
/*
    thread.cpp - Threads that the runtime makes, and values per thread.
 */
#include "mpr/thread.h"

#include <cstring>

#include "mpr/collect.h"
#include "mpr/gc/runtime.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"
#include "mpr/task/thread.hpp"
#include "mpr/task/waiting.hpp"

using namespace mpr::gc;
namespace os = mpr::os;

struct MprThread {
    void* data;
    MprThreadProc proc;
    std::size_t stackSize;
    Mutator* mutator;          // announced before the thread starts
    std::atomic<bool> started; // decides who starts it; what the thread reads comes with its start
    bool ofService;
    char name[32];
};

struct MprThreadLocal {
    std::uintptr_t key;
    bool made;
};

namespace {

void manageThread(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        markLoose(&static_cast<MprThread*>(ptr)->data);
    }
}

void manageThreadLocal(void* ptr, int flags) {
    auto* tls = static_cast<MprThreadLocal*>(ptr);
    if ((flags & MPR_MANAGE_FREE) && tls->made) {
        os::dropThreadKey(tls->key);
    }
}

/** The new thread. Its object is retained by its mutator. */
void runThread(void* argument) {
    auto* tp = static_cast<MprThread*>(argument);
    attachPrepared(tp->mutator);
    tp->proc(tp->data, tp);
    mprDetachThread();
}
} // namespace

MprThread* mprCreateThread(cchar* name, void* proc, void* data, ssize stackSize) {
    MprThread* tp = mprAllocObj(MprThread, manageThread);
    if (tp) {
        tp->proc = reinterpret_cast<MprThreadProc>(proc);
        tp->data = data;
        tp->stackSize = stackSize > 0 ? static_cast<std::size_t>(stackSize) : 0;
        std::strncpy(tp->name, name ? name : "", sizeof(tp->name) - 1);
    }
    return tp;
}

int mprStartThread(MprThread* thread) {
    if (!admitRunning("mprStartThread")) {
        return MPR_ERR_BAD_STATE;
    }
    if (!thread || thread->started.exchange(true)) {
        return MPR_ERR_BAD_STATE;
    }
    Collector& collector = runtime().collector;
    Mutator* mutator = collector.prepare(thread->name, thread->ofService, thread);
    if (!mutator) {
        thread->started.store(false);
        return MPR_ERR_MEMORY;
    }
    thread->mutator = mutator;
    os::ThreadId id = 0;
    const os::ThreadTraits traits{
        .stackSize = thread->stackSize,
        .ofRuntime = thread->ofService,
        .first = [](void* tp) { return detachAtEnd(static_cast<MprThread*>(tp)->mutator); },
    };
    if (!os::startThread(id, thread->name, runThread, thread, traits)) {
        collector.abandon(mutator);
        thread->started.store(false);
        if (!thread->ofService) { // a room says what its thread is for, and when
            os::Message message;
            os::log(os::Level::error,
                    message << "mprStartThread: the system gives no thread for \"" << thread->name << "\"");
        }
        return MPR_ERR_CANT_CREATE;
    }
    return 0;
}

int mpr::task::startServiceThread(MprThread* thread) {
    if (thread) {
        thread->ofService = true;
    }
    return thread ? mprStartThread(thread) : MPR_ERR_MEMORY;
}

void mprSleep(MprTicks msec) {
    const std::uint64_t deadline = mpr::task::deadlineIn(msec < 0 ? 0 : msec);
    os::Word nobodyWakes{0};
    mpr::task::Waiting waiting(__builtin_return_address(0));
    while (const std::uint64_t left = mpr::task::leftUntil(deadline)) {
        os::wait(nobodyWakes, 0, left);
    }
}

MprThread* mprGetCurrentThread(void) {
    return attached ? static_cast<MprThread*>(attached->thread) : nullptr;
}

MprThreadLocal* mprCreateThreadLocal(void) {
    MprThreadLocal* tls = mprAllocObj(MprThreadLocal, manageThreadLocal);
    if (tls) {
        tls->made = os::makeThreadKey(tls->key);
    }
    return tls && tls->made ? tls : nullptr;
}

int mprSetThreadData(MprThreadLocal* tls, void* value) {
    if (!tls || !tls->made) {
        return MPR_ERR_MEMORY;
    }
    return os::setThreadValue(tls->key, value) ? 0 : MPR_ERR_MEMORY;
}

void* mprGetThreadData(MprThreadLocal* tls) {
    return tls && tls->made ? os::threadValue(tls->key) : nullptr;
}
