// SPDX-License-Identifier: MIT
/*
    thread.cpp - Threads that the runtime makes, and values per thread.
 */
#include "mpr/thread.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mpr/collect.h"
#include "mpr/gc/census.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"
#include "mpr/shutdown.h"
#include "mpr/task/memory.hpp"
#include "mpr/task/thread.hpp"
#include "mpr/task/waiting.hpp"

using namespace mpr::gc;
namespace os = mpr::os;

namespace {

struct Thread : MprThread {
    MprThreadProc proc;
    std::size_t stackSize;
    Mutator* mutator;          // announced before the thread starts
    std::atomic<bool> started; // decides who starts it; what the thread reads comes with its start
    bool ofService;
};
} // namespace

struct MprThreadLocal {
    std::uintptr_t key;
    bool made;
};

namespace {

std::atomic<std::size_t> usualStack{0}; // of threads that ask for none; a number, orders nothing

void manageThread(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        markLoose(&static_cast<Thread*>(ptr)->data);
    }
}
const mpr::gc::ManagerName namedThread(manageThread, "MprThread");

void manageThreadLocal(void* ptr, int flags) {
    auto* tls = static_cast<MprThreadLocal*>(ptr);
    // Managers of others may still ask: the key is another's as soon as it is dropped.
    if ((flags & MPR_MANAGE_FREE) && std::exchange(tls->made, false)) {
        os::dropThreadKey(tls->key);
    }
}
const mpr::gc::ManagerName namedThreadLocal(manageThreadLocal, "MprThreadLocal");

/** The new thread. Its object is retained by its mutator. */
void runThread(void* argument) {
    auto* tp = static_cast<Thread*>(argument);
    attachPrepared(tp->mutator);
    tp->proc(tp->data, tp);
    if (attached) { // it may have detached itself
        mprDetachThread();
    }
}
} // namespace

MprThread* mprCreateThread(cchar* name, void* proc, void* data, ssize stackSize) {
    Thread* tp = proc ? mprAllocObj(Thread, manageThread) : nullptr;
    if (tp) {
        tp->proc = reinterpret_cast<MprThreadProc>(proc);
        tp->data = data;
        tp->stackSize =
            stackSize > 0 ? static_cast<std::size_t>(stackSize) : usualStack.load(std::memory_order_relaxed);
        std::strncpy(tp->name, name ? name : "", sizeof(tp->name) - 1);
    }
    return tp;
}

int mprStartThread(MprThread* ptr) {
    auto* thread = static_cast<Thread*>(ptr);
    if (!admitMaking("mprStartThread", ptr) || !thread || !mayMake("mprStartThread", thread->data) || mprIsStopped() ||
        thread->started.exchange(true)) {
        return MPR_ERR_BAD_STATE;
    }
    mprPublish(thread); // a plain block
    Mutator* mutator = prepareThread(thread->name, thread->ofService, thread);
    if (!mutator) {
        thread->started.store(false);
        return MPR_ERR_MEMORY;
    }
    thread->mutator = mutator;
    os::ThreadId id = 0;
    const os::ThreadTraits traits{
        .stackSize = thread->stackSize,
        .ofRuntime = thread->ofService,
        .first = [](void* tp) { return detachAtEnd(static_cast<Thread*>(tp)->mutator); },
    };
    if (!os::startThread(id, thread->name, runThread, thread, traits)) {
        runtime().collector.abandon(mutator);
        thread->started.store(false);
        if (!thread->ofService) { // a room says what its thread is for, and when
            os::Message message;
            message << "mprStartThread: the system gives no thread for \"" << thread->name << "\"";
            writeRepeated(os::Level::error, message);
        }
        return MPR_ERR_CANT_CREATE;
    }
    return 0;
}

int mpr::task::startServiceThread(MprThread* thread) {
    if (thread) {
        static_cast<Thread*>(thread)->ofService = true;
    }
    return thread ? mprStartThread(thread) : MPR_ERR_MEMORY;
}

namespace {

/** What a thread of mprStartOsThread runs. */
struct Foreign {
    void* (*proc)(void*);
    void* data;
};

void runForeign(void* argument) {
    const Foreign foreign = *static_cast<Foreign*>(argument);
    mpr::task::freeLasting(argument);
    foreign.proc(foreign.data);
}
} // namespace

int mprStartOsThread(cchar* name, void* proc, void* data, MprThread* tp) {
    if (!proc) {
        return MPR_ERR_BAD_ARGS;
    }
    // It may begin when there is no runtime any more: not permanent memory.
    auto* foreign = static_cast<Foreign*>(mpr::task::allocateLasting(sizeof(Foreign)));
    if (!foreign) {
        return MPR_ERR_MEMORY;
    }
    *foreign = {reinterpret_cast<void* (*) (void*)>(proc), data};
    const std::size_t usual = usualStack.load(std::memory_order_relaxed);
    const os::ThreadTraits traits{.stackSize = tp ? static_cast<Thread*>(tp)->stackSize : usual};
    os::ThreadId id = 0;
    if (!os::startThread(id, name ? name : "", runForeign, foreign, traits)) {
        mpr::task::freeLasting(foreign);
        return MPR_ERR_CANT_CREATE;
    }
    return 0;
}

void mprSetThreadStackSize(ssize size) {
    usualStack.store(size > 0 ? static_cast<std::size_t>(size) : 0, std::memory_order_relaxed);
}

int mprSyncThreads(MprTicks timeout) {
    if (!admitRunning("mprSyncThreads") || current->isCollector || mustNotYield(*current)) {
        return 0;
    }
    const std::uint64_t left = mpr::task::leftUntil(mpr::task::deadlineIn(timeout));
    return runtime().collector.stopOthers([] {}, std::min(std::max<std::uint64_t>(left, 1), os::forever / 4)) ? 1 : 0;
}

void mprNap(MprTicks msec) {
    const std::uint64_t deadline = mpr::task::deadlineIn(msec < 0 ? 0 : msec);
    os::Word nobodyWakes{0};
    while (const std::uint64_t left = mpr::task::leftUntil(deadline)) {
        os::wait(nobodyWakes, 0, left);
    }
}

void mprSleep(MprTicks msec) {
    const mpr::task::Waiting waiting(__builtin_return_address(0));
    mprNap(msec);
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
