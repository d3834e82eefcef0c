// SPDX-License-Identifier: MIT
/*
    workers.hpp - The pool of threads.

    A worker is always one of: busy (it has a procedure), idle (in the list, asleep on its word), ending. Whoever gives
    it work takes it out of the list under the lock, so nobody gives work to a worker that ends. A dedicated one rests
    in a list of its own, where only mprActivateWorker looks, and counts as busy. The last idle is the next to work: the
    others get to rest, and then end.

    Jobs are the rooms' own work. They queue while all workers are busy, in memory of their owners, so that queueing
    cannot fail.
 */
#pragma once

#include "mpr/os/lock.hpp"
#include "mpr/thread.h"
#include "mpr/worker.h"

namespace mpr::task {

/** Work of a room. It stands in a block that its owner keeps alive from submit() until run() is called. */
struct Job {
    void (*run)(Job* job) = nullptr;
    Job* next = nullptr;
};

class Workers {
public:
    int start(MprWorkerProc proc, void* data);
    /** Run a job on some worker, now or when one is free. Never fails, never yields. Attached threads. */
    void submit(Job& job);
    /** Make workers for jobs that wait although there may be more. @return false when it is to be tried once more. */
    bool retry();

    /** The calling thread is a worker: it has batches as it had before its work. @return Whether it had not. */
    static bool restoreBatches();
    /** The calling thread ends. If it is a worker it is none any more. */
    void leaveThread();

    void setMax(int count);
    void setMin(int count);
    int max();
    int min();
    int available();
    void setStackSize(ptrdiff_t size) { stackSize_.store(size, std::memory_order_relaxed); }
    void setStartCallback(MprWorkerProc proc) { atStart_.store(proc, std::memory_order_relaxed); }
    /** Let idle workers end, whose time is not up yet. */
    void endIdle();
    void dedicate(MprWorker& worker);
    void activate(MprWorker& worker, MprWorkerProc proc, void* data);
    void release(MprWorker& worker);
    int busy();
    int count();
    /** How long a worker stays idle before it ends: nanoseconds. For tests. */
    void setIdleTime(std::uint64_t time);

    /** End all. @return false when some were still busy at the deadline. */
    bool stop(std::uint64_t deadline);
    void reset();

private:
    static constexpr int usualMax = 16;                            // as mpr/worker.h says
    static constexpr std::uint64_t usualIdleTime = 60'000'000'000; // nanoseconds

    static void main(void* data, MprThread* thread);
    MprWorker* takeIdle() MPR_REQUIRES(lock_);
    void wake(MprWorker& worker);
    void wakeIdle();
    int make(MprWorkerProc proc, void* data, Job* job);
    void append(Job& job) MPR_REQUIRES(lock_);
    Job* takeJob() MPR_REQUIRES(lock_);
    void putOff(Job& job);
    MprWorker* passOn() MPR_REQUIRES(lock_);
    bool isOwed() const MPR_REQUIRES(lock_);
    bool isReserved() const MPR_REQUIRES(lock_);
    static void sayReserved();
    enum class Next { work, rest, end };
    Next chooseNext(MprWorker& worker) MPR_REQUIRES(lock_);
    bool nextWork(MprWorker& worker);
    bool rest(MprWorker& worker, std::uint64_t deadline) MPR_EXCLUDES(lock_);
    bool leaveIdle(MprWorker& worker) MPR_EXCLUDES(lock_);
    static bool take(MprWorker*& list, MprWorker& worker);
    void end(MprWorker* worker) MPR_REQUIRES(lock_);

    os::Lock lock_;
    MprWorker* idle_ MPR_GUARDED_BY(lock_) = nullptr;
    MprWorker* parked_ MPR_GUARDED_BY(lock_) = nullptr; // dedicated ones without work
    Job* firstJob_ MPR_GUARDED_BY(lock_) = nullptr;
    Job* lastJob_ MPR_GUARDED_BY(lock_) = nullptr;
    int count_ MPR_GUARDED_BY(lock_) = 0;
    int idleCount_ MPR_GUARDED_BY(lock_) = 0;
    int dedicated_ MPR_GUARDED_BY(lock_) = 0; // of those that are counted
    bool owed_ MPR_GUARDED_BY(lock_) = false; // jobs that wait are to get more workers, as far as there may be more
    int max_ MPR_GUARDED_BY(lock_) = usualMax;
    int min_ MPR_GUARDED_BY(lock_) = 0;
    bool stopping_ MPR_GUARDED_BY(lock_) = false;
    std::uint64_t tried_ MPR_GUARDED_BY(lock_) = 0; // when retry() last did
    std::atomic<bool> lacking_{false};              // the last worker could not be made: orders nothing
    // Numbers, which order nothing.
    std::atomic<std::uint64_t> idleTime_{usualIdleTime};
    std::atomic<ptrdiff_t> stackSize_{0};
    std::atomic<MprWorkerProc> atStart_{nullptr};
    os::Word changes_{0}; // when a worker has ended
};

/** Child processes that run: work that no thread does. A number, which orders nothing. */
inline constinit std::atomic<int> processesRunning{0};

/** The pool of the runtime that exists. */
Workers& workers();

} // namespace mpr::task
