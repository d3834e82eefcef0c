// SPDX-License-Identifier: MIT
/*
    workers.cpp - The pool of threads, and the C API of mpr/worker.h.
 */
#include "mpr/task/workers.hpp"

#include <algorithm>
#include <utility>

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/gc/batch.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/gc/unmarked.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/task/callback.hpp"
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
    bool dedicated;      // under the lock, as nextProc and ended
    bool ended;          // it is not counted any more
    bool leaves;         // ends if there is no work
    bool batches;        // it has them between procedures: the program's start callback may have asked for them
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
// One that is in no list still has what it had there; the other may have ended since.
const mpr::gc::UnmarkedField nextIdleWorker(manageWorker, &MprWorker::nextIdle);
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
    bool ended = false;
    {
        os::Locked locked(lock_);
        ended = worker.ended;
        dedicated_ += !ended && !worker.dedicated;
        worker.dedicated = !ended;
        if (take(idle_, worker)) {
            --idleCount_;
            worker.nextIdle = parked_;
            parked_ = &worker;
        }
    }
    if (ended) {
        gc::misuse("mprDedicateWorker", &worker, "the worker has ended");
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
            base::setRef(&worker, worker.nextData, data);
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
        dedicated_ -= worker.dedicated;
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
    base::setRef(worker, worker->data, data);
    wake(*worker);
    return 0;
}

void Workers::submit(Job& job) {
    gc::runtime().services.add(service);
    MprWorker* worker = nullptr;
    bool waits = false;
    bool reserved = false;
    {
        os::Locked locked(lock_);
        // A worker whose job is to go on looks for work next: no other need be woken, or made, for that.
        const bool goesOn = self && self->running == &job;
        worker = goesOn ? nullptr : takeIdle();
        waits = !worker && (goesOn || stopping_ || count_ >= max_);
        if (waits) {
            append(job);
            reserved = isReserved();
        } else {
            count_ += !worker;
        }
    }
    if (worker) {
        worker->job = &job;
        wake(*worker);
    } else if (reserved) {
        sayReserved();
    } else if (!waits && make(nullptr, nullptr, &job) != 0) {
        putOff(job);
    }
}

void Workers::append(Job& job) {
    os::assertHeld(lock_);
    job.next = nullptr;
    (lastJob_ ? lastJob_->next : firstJob_) = &job;
    lastJob_ = &job;
}

Job* Workers::takeJob() {
    os::assertHeld(lock_);
    Job* job = firstJob_;
    firstJob_ = job ? job->next : nullptr;
    if (!firstJob_) {
        lastJob_ = nullptr;
        owed_ = false;
    }
    return job;
}

/** There is neither memory nor a thread for a job: the next worker that is free takes it, or retry() makes one. */
void Workers::putOff(Job& job) {
    MprWorker* worker = nullptr;
    {
        os::Locked locked(lock_);
        worker = takeIdle();
        if (!worker) {
            append(job);
            owed_ = true;
        }
    }
    if (worker) {
        worker->job = &job;
        wake(*worker);
    } else {
        events().loopChanged(); // whoever services tries again
    }
}

/** Whether jobs wait, there may be more workers, and none of those that there are need come by. */
bool Workers::isOwed() const {
    os::assertHeld(lock_);
    return firstJob_ && !idle_ && !stopping_ && count_ < max_ && (owed_ || count_ == dedicated_);
}

/** Whether jobs wait, and all workers that there may be are dedicated. */
bool Workers::isReserved() const {
    os::assertHeld(lock_);
    return firstJob_ && !stopping_ && count_ > 0 && count_ >= max_ && count_ == dedicated_;
}

void Workers::sayReserved() {
    os::Message message;
    message << "workers: all that may exist are dedicated, so events wait until one is released; see mprSetMaxWorkers";
    gc::writeRepeated(os::Level::warning, message);
}

bool Workers::retry() {
    constexpr std::uint64_t rest = 50'000'000; // nanoseconds
    for (;;) {
        Job* job = nullptr;
        {
            os::Locked locked(lock_);
            if (!isOwed()) {
                return true;
            }
            const std::uint64_t now = os::now();
            if (lacking_.load(std::memory_order_relaxed) && now - tried_ < rest) {
                return false; // whoever services comes by here often
            }
            tried_ = now;
            job = takeJob();
            ++count_;
        }
        if (make(nullptr, nullptr, job) != 0) {
            putOff(*job);
            return false;
        }
    }
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
        end(nullptr);
    }
    return result;
}

// ---- A worker's thread ------------------------------------------------------------------------------------------

void Workers::main(void* data, MprThread*) {
    auto& worker = *static_cast<MprWorker*>(data);
    self = &worker;
    if (const MprWorkerProc atStart = workers().atStart_.load(std::memory_order_relaxed)) {
        callProgram({"worker"}, [&] { atStart(nullptr, &worker); });
    }
    worker.batches = gc::batchesAlways(*gc::attached);
    do {
        if (Job* job = worker.job) {
            worker.job = nullptr;
            worker.running = job;
            job->run(job);
            worker.running = nullptr;
        } else if (worker.proc) {
            callProgram({"worker"}, [&] { worker.proc(worker.data, &worker); });
            endTurn({"worker"});
            worker.proc = nullptr;
            base::setRef(&worker, worker.data, nullptr);
        }
        mprYield(0);
    } while (workers().nextWork(worker));
    self = nullptr;
}

/** What a worker does next: it has been given that, or is in a list of those that rest, or is no longer counted. */
Workers::Next Workers::chooseNext(MprWorker& worker) {
    os::assertHeld(lock_);
    if (worker.nextProc && !stopping_) {
        worker.proc = std::exchange(worker.nextProc, nullptr);
        base::setRef(&worker, worker.data, worker.nextData);
        base::setRef(&worker, worker.nextData, nullptr);
        return Next::work;
    }
    if (stopping_ || (!worker.dedicated && (count_ > max_ || (worker.leaves && !firstJob_)))) {
        end(&worker);
        return Next::end;
    }
    worker.leaves = false;
    if (!worker.dedicated && (worker.job = takeJob())) {
        return Next::work;
    }
    MprWorker*& list = worker.dedicated ? parked_ : idle_;
    worker.nextIdle = list;
    list = &worker;
    idleCount_ += !worker.dedicated;
    return Next::rest;
}

/** A worker does not take the job that it was counted on for: an idle one does. @return That, to be woken; or nullptr. */
MprWorker* Workers::passOn() {
    os::assertHeld(lock_);
    MprWorker* other = firstJob_ && !stopping_ ? takeIdle() : nullptr;
    if (other) {
        other->job = takeJob();
    }
    owed_ = owed_ || (firstJob_ && !stopping_);
    return other;
}

/** Wait for work. @return false when the worker is to end: it is no longer counted. */
bool Workers::nextWork(MprWorker& worker) {
    Next next = Next::end;
    bool leaves = false;
    bool reserved = false;
    MprWorker* other = nullptr;
    {
        os::Locked locked(lock_);
        next = chooseNext(worker);
        if (!worker.job) {
            other = passOn();
            leaves = firstJob_ && !stopping_;
        }
        reserved = isReserved();
    }
    if (other) {
        wake(*other);
    }
    if (reserved) {
        sayReserved();
    } else if (leaves && !retry()) {
        events().loopChanged();
    }
    return next == Next::rest ? rest(worker, os::now() + idleTime_.load(std::memory_order_relaxed))
                              : next == Next::work;
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
    end(&worker);
    return true;
}

/** One worker less. @param worker nullptr: it could not be made. */
void Workers::end(MprWorker* worker) {
    os::assertHeld(lock_);
    if (worker) {
        dedicated_ -= worker->dedicated;
        worker->dedicated = false;
        worker->ended = true;
    }
    --count_;
    changes_.fetch_add(1, std::memory_order_release);
    os::wakeAll(changes_);
}

bool Workers::restoreBatches() {
    const bool differ = gc::batchesAlways(*gc::attached) != self->batches;
    if (differ) {
        gc::setBatches(*gc::attached, self->batches);
    }
    return differ;
}

void Workers::leaveThread() {
    if (!self) {
        return;
    }
    MprWorker* other = nullptr;
    {
        os::Locked locked(lock_);
        end(std::exchange(self, nullptr));
        other = passOn();
    }
    if (other) {
        wake(*other);
    }
    os::Message message;
    os::log(os::Level::error, message << "a worker's procedure has ended its thread (pthread_exit)");
    events().loopChanged(); // jobs that wait for a worker get another
}

// ---- The pool ---------------------------------------------------------------------------------------------------

void Workers::setMax(int count) {
    bool owed = false;
    {
        os::Locked locked(lock_);
        max_ = count > 0 ? count : 0;
        owed_ = owed_ || (firstJob_ && count_ < max_);
        owed = isOwed();
    }
    wakeIdle();
    if (owed) {
        const gc::Stay stay;
        if (stay) { // else the runtime has ended meanwhile
            events().loopChanged();
        }
    }
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
    count_ = idleCount_ = dedicated_ = min_ = 0;
    owed_ = false;
    max_ = usualMax;
    idleTime_.store(usualIdleTime, std::memory_order_relaxed);
    lacking_.store(false, std::memory_order_relaxed);
    stopping_ = false;
}

} // namespace mpr::task

// ---- The C API --------------------------------------------------------------------------------------------------

int mprStartWorker(MprWorkerProc proc, void* data) {
    if (!gc::admitMaking("mprStartWorker", data)) {
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
    if (worker && proc && gc::admitMaking("mprActivateWorker", data)) {
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
