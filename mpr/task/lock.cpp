// SPDX-License-Identifier: MIT
/*
    lock.cpp - Locks, spin locks, conditions, atomic operations. Each waits on one word of its own.

    A lock's word is 0 free, 1 taken, 2 taken and somebody may sleep (U. Drepper, "Futexes Are Tricky", 2011, mutex 2).
    The owner is written by the owner only, so a thread that reads itself there is the owner, whatever the order.
 */
#include "mpr/lock.h"

#include <algorithm>
#include <cstring>

#include "mpr/memory.h"
#include "mpr/base/retain.hpp"
#include "mpr/shutdown.h"
#include "mpr/task/callback.hpp"
#include "mpr/task/events.hpp"
#include "mpr/task/waiting.hpp"

using namespace mpr;

constinit MPR_PER_THREAD int mpr::task::programLocks = 0;

namespace {

constexpr int spins = 100; // a microsecond: less than what it takes to sleep and to be woken
constinit MprMutex globalLock{};

/** The word of a C structure. C has no type that both languages agree on; the layout is the same. */
os::Word& wordOf(std::uint32_t& word) {
    static_assert(sizeof(os::Word) == sizeof(std::uint32_t) && alignof(os::Word) == alignof(std::uint32_t));
    return reinterpret_cast<os::Word&>(word);
}

/** A signal releases, even if another is there already; the thread that sees it acquires; a reset orders nothing. */
os::Word& wordOf(MprCond& cond) {
    return wordOf(const_cast<std::uint32_t&>(cond.triggered));
}
/** For the first that takes it; for all, until it is reset. */
constexpr std::uint32_t forOne = 1, forAll = 2;

void nameLocksHeld() {
    if (task::programLocks > 0) {
        os::Message message;
        os::log(os::Level::error, message << "thread \"" << gc::attached->name << "\" goes and leaves "
                                          << task::programLocks << " of its locks locked: no other can unlock them");
    }
}

gc::Service room{[] {}, [](std::uint64_t) { return true; }, [] {}, nameLocksHeld, nameLocksHeld};

void countLock() {
    ++task::programLocks;
    if (gc::attached && !room.added.load(std::memory_order_relaxed) && !mprIsStopped()) {
        gc::runtime().services.add(room); // not in managers at the runtime's end, or the next one would never have it
    }
}

/** Relaxed: a thread finds itself there only if it has written that, and then nobody else writes. */
bool isOwner(const std::uintptr_t& owner, os::ThreadId self) {
    return __atomic_load_n(&owner, __ATOMIC_RELAXED) == self;
}
void setOwner(std::uintptr_t& owner, os::ThreadId self) {
    __atomic_store_n(&owner, self, __ATOMIC_RELAXED);
}

bool take(os::Word& word) {
    std::uint32_t expected = 0;
    return word.load(std::memory_order_relaxed) == 0 &&
           word.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed);
}

bool takeSpinning(os::Word& word) {
    for (int i = 0; i < spins; ++i) {
        if (take(word)) {
            return true;
        }
        os::relax();
    }
    return false;
}

void takeWaiting(os::Word& word) {
    while (word.exchange(2, std::memory_order_acquire) != 0) {
        os::wait(word, 2);
    }
}

void give(os::Word& word) {
    if (word.exchange(0, std::memory_order_release) == 2) {
        os::wakeOne(word);
    }
}

void lockFrom(MprMutex& lock, const void* site, const char* function) {
    if (!gc::admitAlways(function)) {
        return;
    }
    const os::ThreadId self = os::threadSerial();
    if (isOwner(lock.owner, self)) {
        ++lock.depth;
        return;
    }
    os::Word& word = wordOf(lock.word);
    if (!take(word) && !takeSpinning(word)) {
        base::Hold held(&lock);
        task::Waiting waiting(site);
        takeWaiting(word);
    }
    setOwner(lock.owner, self);
    lock.depth = 1;
    countLock();
}
} // namespace

// ---- Locks ------------------------------------------------------------------------------------------------------

MprMutex* mprCreateLock(void) {
    return mprInitLock(static_cast<MprMutex*>(mprAlloc(sizeof(MprMutex))));
}

MprMutex* mprInitLock(MprMutex* mutex) {
    if (mutex) {
        *mutex = {};
    }
    return mutex;
}

void mprLock(MprMutex* lock) {
    if (lock) {
        lockFrom(*lock, __builtin_return_address(0), "mprLock");
    }
}

bool mprTryLock(MprMutex* lock) {
    if (!lock || !gc::admitAlways("mprTryLock")) {
        return false;
    }
    const os::ThreadId self = os::threadSerial();
    if (isOwner(lock->owner, self)) {
        ++lock->depth;
        return true;
    }
    if (!take(wordOf(lock->word))) {
        return false;
    }
    setOwner(lock->owner, self);
    lock->depth = 1;
    countLock();
    return true;
}

void mprUnlock(MprMutex* lock) {
    if (!lock) {
        return;
    }
    if (!isOwner(lock->owner, os::threadSerial())) {
        gc::misuse("mprUnlock", lock, "the calling thread has not locked it");
        return;
    }
    if (--lock->depth == 0) {
        --task::programLocks;
        setOwner(lock->owner, 0);
        give(wordOf(lock->word));
    }
}

void mprGlobalLock(void) {
    lockFrom(globalLock, __builtin_return_address(0), "mprGlobalLock");
}

void mprGlobalUnlock(void) {
    mprUnlock(&globalLock);
}

// ---- Spin locks -------------------------------------------------------------------------------------------------

MprSpin* mprCreateSpinLock(void) {
    return mprInitSpinLock(static_cast<MprSpin*>(mprAlloc(sizeof(MprSpin))));
}

MprSpin* mprInitSpinLock(MprSpin* lock) {
    if (lock) {
        *lock = {};
    }
    return lock;
}

void mprSpinLock(MprSpin* lock) {
    if (!lock || !gc::admitAlways("mprSpinLock")) {
        return;
    }
    os::Word& word = wordOf(lock->word);
    const os::ThreadId self = os::threadSerial();
    if (!take(word) && !takeSpinning(word)) {
        if (isOwner(lock->owner, self)) {
            gc::misuse("mprSpinLock", lock, "the calling thread has locked it already, and waits for itself now");
        }
        takeWaiting(word);
    }
    setOwner(lock->owner, self);
    countLock();
}

bool mprTrySpinLock(MprSpin* lock) {
    if (!lock || !gc::admitAlways("mprTrySpinLock") || !take(wordOf(lock->word))) {
        return false;
    }
    setOwner(lock->owner, os::threadSerial());
    countLock();
    return true;
}

void mprSpinUnlock(MprSpin* lock) {
    if (!lock) {
        return;
    }
    if (!isOwner(lock->owner, os::threadSerial())) {
        gc::misuse("mprSpinUnlock", lock, "the calling thread has not locked it");
        return;
    }
    --task::programLocks;
    setOwner(lock->owner, 0);
    give(wordOf(lock->word));
}

// ---- Conditions -------------------------------------------------------------------------------------------------

MprCond* mprCreateCond(void) {
    return static_cast<MprCond*>(mprAllocZeroed(sizeof(MprCond)));
}

namespace {

/** @param takes Whether the caller is the one that a signal is for, if it is for one. */
bool isSignalled(os::Word& word, bool takes) {
    std::uint32_t seen = word.load(std::memory_order_acquire);
    while (seen == forOne && takes) {
        if (word.compare_exchange_weak(seen, 0, std::memory_order_acquire)) {
            return true;
        }
    }
    return seen != 0;
}

/** @param takes Whether a wait that succeeds takes a signal that is for one: others would wait on. */
int waitForCond(MprCond* cond, MprTicks timeout, bool takes, const char* function, const void* site) {
    if (!cond) {
        return MPR_ERR_BAD_ARGS;
    }
    if (!gc::admitAlways(function)) {
        return MPR_ERR_BAD_STATE;
    }
    os::Word& word = wordOf(*cond);
    if (isSignalled(word, takes)) {
        return 0;
    }
    if (timeout == 0) {
        return MPR_ERR_TIMEOUT;
    }
    const std::uint64_t deadline = task::deadlineIn(timeout);
    base::Hold held(cond);
    task::Waiting waiting(site);
    int looks = 2; // for events that nobody services: see sayUnserviced
    while (!isSignalled(word, takes)) {
        const std::uint64_t left = task::leftUntil(deadline);
        if (left == 0) {
            return MPR_ERR_TIMEOUT;
        }
        const bool changed = os::wait(word, 0, looks > 0 ? std::min(left, task::Events::patience) : left);
        if (!changed && looks > 0) {
            --looks;
            task::events().sayUnserviced();
        }
    }
    if (!takes && word.load(std::memory_order_relaxed) == forOne) {
        os::wakeOne(word); // this may be the one that was woken, and it leaves the signal to the next
    }
    return 0;
}
} // namespace

int mprWaitForCond(MprCond* cond, MprTicks timeout) {
    return waitForCond(cond, timeout, true, "mprWaitForCond", __builtin_return_address(0));
}

int mprWaitForMultiCond(MprCond* cond, MprTicks timeout) {
    return waitForCond(cond, timeout, false, "mprWaitForMultiCond", __builtin_return_address(0));
}

void mprSignalMultiCond(MprCond* cond) {
    if (cond) {
        wordOf(*cond).fetch_or(forOne | forAll, std::memory_order_release);
        os::wakeAll(wordOf(*cond));
    }
}

void mprSignalCond(MprCond* cond) {
    if (cond) {
        wordOf(*cond).fetch_or(forOne, std::memory_order_release);
        // A waiter may have taken the signal and dropped the condition: then this wakes nobody, or one who looks again.
        os::wakeOne(wordOf(*cond));
    }
}

void mprResetCond(MprCond* cond) {
    if (cond) {
        wordOf(*cond).store(0, std::memory_order_relaxed);
    }
}

// ---- Atomic operations ------------------------------------------------------------------------------------------

int mprAtomicCas(void* volatile* target, void* expected, cvoid* value) {
    return __atomic_compare_exchange_n(target, &expected, const_cast<void*>(value), false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

void mprAtomicAdd(volatile int* target, int value) {
    __atomic_fetch_add(target, value, __ATOMIC_SEQ_CST);
}

void mprAtomicAdd64(volatile int64* target, int64 value) {
    __atomic_fetch_add(target, value, __ATOMIC_SEQ_CST);
}

void mprAtomicBarrier(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
