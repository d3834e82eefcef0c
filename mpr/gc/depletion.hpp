// SPDX-License-Identifier: MIT
/*
    depletion.hpp - Memory runs short: the notifier is told, and the policy applied.

    Invariant: at most one thread is in here at a time, and never twice (`inside_`), and none that has the lock of
    libuv's loop (Mutator::callsNobody). A redline that is crossed meanwhile is told after the next allocation.
 */
#pragma once

#include <atomic>
#include <cstddef>

#include "mpr/gc/mutator.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/limits.h"
#include "mpr/os/lock.hpp"
#include "mpr/runtime.h"

namespace mpr::gc {

/** The cause that the notifier is told when memory could not be allocated. @param refused Whether the host was asked, and refused. */
constexpr int causeOf(heap::Shortage shortage, bool refused) {
    return os::hasPages && refused              ? MPR_MEM_HOST
           : shortage == heap::Shortage::tooBig ? MPR_MEM_TOO_BIG
           : shortage == heap::Shortage::system ? MPR_MEM_FAIL
                                                : MPR_MEM_LIMIT;
}

class Depletion {
public:
    explicit Depletion(heap::Heap& heap) : heap_(heap) {}

    /** Tell the notifier, then apply the policy. May not return. @return Whether trying again makes sense. */
    bool raise(Mutator& m, int cause, std::size_t size);

    /** Tell what the limits have to tell, as they are now. While somebody is in here it waits for the next allocation. */
    void tellNews(Mutator& m, std::size_t size);

    /**
        Call f(self) as the notifier is called, and with low memory the pruners after it. @return false: not now, somebody is
        in here.
     */
    bool tellLoad(Mutator& m, void (*f)(void* self), void* self, bool low);

    /** The calling thread ends inside the notifier, a pruner or a terminator, so that call does not return. */
    void abandon(Mutator& m) {
        m.local.setPrivileged(false);
        leave();
    }

    void setNotifier(MprMemNotifier notifier) { notifier_.store(notifier, std::memory_order_release); }
    void setPolicy(int policy) { policy_.store(policy, std::memory_order_relaxed); }
    bool addPruner(MprPruner pruner, void* data);
    void removePruner(MprPruner pruner, void* data);
    bool addTerminator(MprTerminator terminator);
    void runTerminators(int how, int status);
    void setArguments(char** argv) { argv_ = argv; }

    void setError(bool on) { error_.store(on, std::memory_order_relaxed); }
    bool error() const { return error_.load(std::memory_order_relaxed); }
    void countError() {
        setError(true);
        errors_.fetch_add(1, std::memory_order_relaxed);
    }
    std::uint64_t errors() const { return errors_.load(std::memory_order_relaxed); }

private:
    static constexpr int places = os::callbackPlaces;

    bool enter(Mutator& m);
    bool apply(Mutator& m, int cause, std::size_t size);
    void endBy(int policy, std::size_t size, std::size_t total);
    void leave() { inside_.store(nullptr, std::memory_order_release); }
    void tell(int cause, std::size_t size, std::size_t total);
    void write(int cause, std::size_t size, std::size_t total);
    void prune(int cause);
    void restart();
    [[noreturn]] void abortWithState(std::size_t size, std::size_t total);

    heap::Heap& heap_;
    os::Shared<MprMemNotifier> notifier_{nullptr};     // released when it is set, acquired when it is called
    os::Shared<int> policy_{MPR_ALLOC_POLICY_NOTHING}; // a number: orders nothing
    os::Shared<Mutator*> inside_{nullptr};             // acquired and released as a lock is
    os::Shared<bool> error_{false};                    // orders nothing
    os::Counter errors_{0};
    char** argv_ = nullptr; // set before there are other threads

    os::Lock lock_; // of the two lists
    struct Pruner {
        MprPruner prune;
        void* data;
    } pruners_[places] MPR_GUARDED_BY(lock_) = {};
    MprTerminator terminators_[places] MPR_GUARDED_BY(lock_) = {};
    int terminatorCount_ MPR_GUARDED_BY(lock_) = 0;
    int terminatorsRun_ MPR_GUARDED_BY(lock_) = 0; // from the first: each runs once, however often the end is refused
};

} // namespace mpr::gc
