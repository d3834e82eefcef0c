// SPDX-License-Identifier: MIT
/*
    workers.cpp - The pool of threads, and the C API of mpr/worker.h.
 */
#include "mpr/task/workers.hpp"

#include <algorithm>
#include <utility>

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/task/events.hpp"
#include "mpr/task/thread.hpp"
#include "mpr/task/waiting.hpp"

using namespace mpr::task;
namespace gc = mpr::gc;
namespace os = mpr::os;

/** Kept alive by its thread, whose data it is. */
struct MprWorker {
    void* data; // of proc: a block or not
    MprWorkerProc proc;
    Job* job; // to be run next
    Job* running;
    MprWorker* nextIdle; // in the list of idle or parked workers
    void* nextData;      // of what a dedicated worker that is busy is to run next: a block or not
    MprWorkerProc nextProc;
    bool dedicated;      // under the lock, as nextProc
    bool leaves;         // ends if there is no work
    os::Word wake;       // changes when there is work, or another reason to look; behind that, which it releases
    std::uint32_t woken; // the value of wake that the worker has seen
};

namespace {

thread_local MprWorker* self = nullptr;

void manageWorker(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        gc::markLoose(&static_cast<MprWorker*>(ptr)->data);
        gc::markLoose(&static_cast<MprWorker*>(ptr)->nextData);
    }
}
const mpr::gc::ManagerName namedWorker(manageWorker, "MprWorker");
} // namespace

namespace mpr::task {

namespace {
gc::Service service{[] {}, [](std::uint64_t deadline) { return workers().stop(deadline); }, [] { workers().reset(); },
                    [] { workers().leaveThread(); }};
} // namespace

Workers& workers() {
    static constinit Workers pool;
    return pool;
}

// ---- Giving work ------------------------------------------------------------------------------------------------

/** Take the last that became idle. */
MprWorker* Workers::takeIdle() {
    MprWorker* worker = idle_;
    if (worker) {
        idle_ = worker->nextIdle;
        --idleCount_;
    }
    return worker;
}

void Workers::wake(MprWorker& worker) {
    worker.wake.fetch_add(1, std::memory_order_release);
    os::wakeOne(worker.wake);
}

/** Wake all idle workers without work: they look whether they are to end. */
void Workers::wakeIdle() {
    os::Locked locked(lock_);
    while (MprWorker* worker = takeIdle()) {
        wake(*worker);
    }
}

void Workers::endIdle() {
    os::Locked locked(lock_);
    while (MprWorker* worker = takeIdle()) {
        worker->leaves = true;
        wake(*worker);
    }
}

// ---- Dedicated workers ------------------------------------------------------------------------------------------

/** Take a worker out of a list. @return Whether it was there. */
bool Workers::take(MprWorker*& list, MprWorker& worker) {
    MprWorker** link = &list;
    while (*link && *link != &worker) {
        link = &(*link)->nextIdle;
    }
    if (!*link) {
        return false;
    }
    *link = worker.nextIdle;
    return true;
}

void Workers::dedicate(MprWorker& worker) {
    os::Locked locked(lock_);
    worker.dedicated = true;
    if (take(idle_, worker)) {
        --idleCount_;
        worker.nextIdle = parked_;
        parked_ = &worker;
    }
}

void Workers::activate(MprWorker& worker, MprWorkerProc proc, void* data) {
    bool parked = false;
    const char* refused = nullptr;
    {
        os::Locked locked(lock_);
        refused = !worker.dedicated ? "it is not dedicated" : worker.nextProc ? "it has other work to begin" : nullptr;
        if (!refused) {
            worker.nextProc = proc;
            mprSetRef(&worker, &worker.nextData, data);
            parked = take(parked_, worker);
        }
    }
    if (refused) {
        gc::misuse("mprActivateWorker", &worker, refused);
    } else if (parked) {
        wake(worker);
    }
}

void Workers::release(MprWorker& worker) {
    bool parked = false;
    {
        os::Locked locked(lock_);
        worker.dedicated = false;
        parked = take(parked_, worker);
    }
    if (parked) {
        wake(worker);
    }
}

int Workers::start(MprWorkerProc proc, void* data) {
    gc::runtime().services.add(service);
    MprWorker* worker = nullptr;
    {
        os::Locked locked(lock_);
        if (stopping_) {
            return MPR_ERR_BAD_STATE;
        }
        worker = takeIdle();
        if (!worker && count_ >= max_) {
            return MPR_ERR_BUSY;
        }
        count_ += !worker;
    }
    if (!worker) {
        return make(proc, data, nullptr);
    }
    worker->proc = proc;
    mprSetRef(worker, &worker->data, data);
    wake(*worker);
    return 0;
}

void Workers::submit(Job& job) {
    gc::runtime().services.add(service);
    MprWorker* worker = nullptr;
    {
        os::Locked locked(lock_);
        // A worker whose job is to go on looks for work next: no other need be woken, or made, for that.
        const bool goesOn = self && self->running == &job;
        worker = goesOn ? nullptr : takeIdle();
        if (!worker && (goesOn || stopping_ || count_ >= max_)) {
            append(job);
            return;
        }
        count_ += !worker;
    }
    if (worker) {
        worker->job = &job;
        wake(*worker);
    } else if (make(nullptr, nullptr, &job) != 0) {
        // Neither memory nor a thread: the next worker that is free takes it, or retry() makes one.
        {
            os::Locked locked(lock_);
            append(job);
        }
        events().loopChanged(); // whoever services tries again
    }
}

void Workers::append(Job& job) {
    os::assertHeld(lock_);
    job.next = nullptr;
    (lastJob_ ? lastJob_->next : firstJob_) = &job;
    lastJob_ = &job;
}

bool Workers::retry() {
    constexpr std::uint64_t rest = 50'000'000; // nanoseconds
    {
        os::Locked locked(lock_);
        if (!firstJob_ || stopping_ || count_ > 0 || max_ == 0) {
            return true;
        }
        const std::uint64_t now = os::now();
        if (lacking_.load(std::memory_order_relaxed) && now - tried_ < rest) {
            return false; // whoever services comes by here often
        }
        tried_ = now;
        ++count_;
    }
    return make(nullptr, nullptr, nullptr) == 0;
}

/** A worker with its first work; it is counted already. */
int Workers::make(MprWorkerProc proc, void* data, Job* job) {
    auto* worker = mpr::base::makeReferring<MprWorker>(manageWorker);
    int result = MPR_ERR_MEMORY;
    if (worker) {
        worker->proc = proc;
        worker->data = data;
        worker->job = job;
        result = startServiceThread(mprCreateThread("worker", reinterpret_cast<void*>(main), worker,
                                                    stackSize_.load(std::memory_order_relaxed)));
    }
    if (!lacking_.exchange(result != 0) && result != 0) { // who retries says it once
        os::Message message;
        os::log(os::Level::error, message << "workers: the system gives no thread or memory for one");
    }
    if (result != 0) {
        os::Locked locked(lock_);
        end();
    }
    return result;
}

// ---- A worker's thread ------------------------------------------------------------------------------------------

void Workers::main(void* data, MprThread*) {
    auto& worker = *static_cast<MprWorker*>(data);
    self = &worker;
    if (const MprWorkerProc atStart = workers().atStart_.load(std::memory_order_relaxed)) {
        atStart(nullptr, &worker);
    }
    do {
        if (Job* job = worker.job) {
            worker.job = nullptr;
            worker.running = job;
            job->run(job);
            worker.running = nullptr;
        } else if (worker.proc) {
            worker.proc(worker.data, &worker);
            worker.proc = nullptr;
            mprSetRef(&worker, &worker.data, nullptr);
        }
        mprYield(0);
    } while (workers().nextWork(worker));
    self = nullptr;
}

/** Wait for work. @return false when the worker is to end: it is no longer counted. */
bool Workers::nextWork(MprWorker& worker) {
    {
        os::Locked locked(lock_);
        if (worker.nextProc && !stopping_) {
            worker.proc = std::exchange(worker.nextProc, nullptr);
            mprSetRef(&worker, &worker.data, worker.nextData);
            mprSetRef(&worker, &worker.nextData, nullptr);
            return true;
        }
        if (stopping_ || (!worker.dedicated && (count_ > max_ || (worker.leaves && !firstJob_)))) {
            end();
            return false;
        }
        worker.leaves = false;
        Job* job = worker.dedicated ? nullptr : firstJob_;
        if (job) {
            firstJob_ = job->next;
            lastJob_ = firstJob_ ? lastJob_ : nullptr;
            worker.job = job;
            return true;
        }
        MprWorker*& list = worker.dedicated ? parked_ : idle_;
        worker.nextIdle = list;
        list = &worker;
        idleCount_ += !worker.dedicated;
    }
    return rest(worker, os::now() + idleTime_.load(std::memory_order_relaxed));
}

/** Sleep in the list of idle workers, or of parked ones, until taken from it. @return false when the time is up. */
bool Workers::rest(MprWorker& worker, std::uint64_t deadline) {
    Waiting waiting(nullptr);
    const std::uint32_t begin = worker.woken;
    while (worker.wake.load(std::memory_order_acquire) == begin) {
        const std::uint64_t left = leftUntil(deadline);
        if (left > 0) {
            os::wait(worker.wake, begin, left);
        } else if (leaveIdle(worker)) {
            return false;
        } else {
            deadline = os::forever; // work is on its way, or the worker is one of those to be kept
        }
    }
    worker.woken = begin + 1;
    return true;
}

bool Workers::leaveIdle(MprWorker& worker) {
    os::Locked locked(lock_);
    if (count_ <= min_ || !take(idle_, worker)) {
        return false;
    }
    --idleCount_;
    end();
    return true;
}

/** One worker less. */
void Workers::end() {
    os::assertHeld(lock_);
    --count_;
    changes_.fetch_add(1, std::memory_order_release);
    os::wakeAll(changes_);
}

void Workers::leaveThread() {
    if (!self) {
        return;
    }
    self = nullptr;
    {
        os::Locked locked(lock_);
        end();
    }
    os::Message message;
    os::log(os::Level::error, message << "a worker's procedure has ended its thread (pthread_exit)");
    events().loopChanged(); // jobs that wait for a worker get another
}

// ---- The pool ---------------------------------------------------------------------------------------------------

void Workers::setMax(int count) {
    {
        os::Locked locked(lock_);
        max_ = count > 0 ? count : 0;
    }
    wakeIdle();
}

void Workers::setMin(int count) {
    {
        os::Locked locked(lock_);
        min_ = count > 0 ? count : 0;
    }
    wakeIdle();
}

void Workers::setIdleTime(std::uint64_t time) {
    idleTime_.store(time, std::memory_order_relaxed);
    wakeIdle();
}

int Workers::max() {
    os::Locked locked(lock_);
    return max_;
}

int Workers::min() {
    os::Locked locked(lock_);
    return min_;
}

int Workers::available() {
    os::Locked locked(lock_);
    return idleCount_ + (max_ > count_ ? max_ - count_ : 0);
}

int Workers::busy() {
    os::Locked locked(lock_);
    return count_ - idleCount_;
}

int Workers::count() {
    os::Locked locked(lock_);
    return count_;
}

bool Workers::stop(std::uint64_t deadline) {
    {
        os::Locked locked(lock_);
        stopping_ = true;
        while (parked_) {
            wake(*std::exchange(parked_, parked_->nextIdle));
        }
    }
    wakeIdle();
    Waiting waiting(nullptr);
    for (;;) {
        const std::uint32_t seen = changes_.load(std::memory_order_acquire);
        if (count() == 0) {
            return true;
        }
        const std::uint64_t left = leftUntil(deadline);
        if (left == 0) {
            return false;
        }
        os::wait(changes_, seen, left);
    }
}

void Workers::reset() {
    os::Locked locked(lock_);
    idle_ = parked_ = nullptr;
    firstJob_ = lastJob_ = nullptr;
    count_ = idleCount_ = min_ = 0;
    max_ = usualMax;
    idleTime_.store(usualIdleTime, std::memory_order_relaxed);
    lacking_.store(false, std::memory_order_relaxed);
    stopping_ = false;
}

} // namespace mpr::task

// ---- The C API --------------------------------------------------------------------------------------------------

int mprStartWorker(MprWorkerProc proc, void* data) {
    if (!gc::admitRunning("mprStartWorker")) {
        return MPR_ERR_BAD_STATE;
    }
    return proc ? workers().start(proc, data) : MPR_ERR_BAD_ARGS;
}

void mprSetMaxWorkers(int count) {
    workers().setMax(count);
}

int mprGetMaxWorkers(void) {
    return workers().max();
}

void mprSetMinWorkers(int count) {
    workers().setMin(count);
}

int mprAvailableWorkers(void) {
    return workers().available();
}

int mprGetBusyWorkers(void) {
    return workers().busy();
}

ssize mprGetBusyWorkerCount(void) {
    return workers().busy();
}

void mprGetWorkerStats(MprWorkerStats* stats) {
    if (stats) {
        Workers& pool = workers();
        const int count = pool.count();
        const int busy = std::min(pool.busy(), count);
        *stats = {pool.max(), pool.min(), count - busy, busy};
    }
}

void mprStopWorkers(void) {
    workers().endIdle();
}

void mprSetWorkerStackSize(int size) {
    workers().setStackSize(size);
}

void mprSetWorkerStartCallback(MprWorkerProc start) {
    workers().setStartCallback(start);
}

void mprDedicateWorker(MprWorker* worker) {
    if (worker && gc::admitRunning("mprDedicateWorker")) {
        workers().dedicate(*worker);
    }
}

void mprActivateWorker(MprWorker* worker, MprWorkerProc proc, void* data) {
    if (worker && proc && gc::admitRunning("mprActivateWorker")) {
        workers().activate(*worker, proc, data);
    }
}

void mprReleaseWorker(MprWorker* worker) {
    if (worker && gc::admitRunning("mprReleaseWorker")) {
        workers().release(*worker);
    }
}

MprWorker* mprGetCurrentWorker(void) {
    return self;
}
