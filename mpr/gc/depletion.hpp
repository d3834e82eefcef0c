// SPDX-License-Identifier: MIT
/*
    depletion.hpp - Who is told that memory runs short, and what is done about it.

    Invariant: at most one thread is in here at a time, and never twice (`busy_`). A redline that is crossed meanwhile
    is told after the next allocation.
 */
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "mpr/gc/mutator.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/limits.h"
#include "mpr/os/lock.hpp"
#include "mpr/runtime.h"

namespace mpr::gc {

/** What the notifier is told when memory could not be had. */
constexpr int causeOf(heap::Shortage shortage) {
    return shortage == heap::Shortage::tooBig   ? MPR_MEM_TOO_BIG
           : shortage == heap::Shortage::system ? MPR_MEM_FAIL
                                                : MPR_MEM_LIMIT;
}

class Depletion {
public:
    explicit Depletion(heap::Heap& heap) : heap_(heap) {}

    /** Tell the notifier, then apply the policy. May not return. @return Whether trying again makes sense. */
    bool raise(Mutator& m, int cause, std::size_t size);

    /** The calling thread ends inside the notifier, a pruner or a terminator, so that call does not return. */
    void abandon(Mutator& m) {
        m.local.privileged = false;
        busy_.store(false, std::memory_order_release);
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

    /** Lines for programs without a notifier: once a second for each cause. Whoever is busy writes. */
    struct Line {
        static constexpr std::uint64_t interval = 1'000'000'000;
        std::uint64_t last = 0;
        os::Total withheld = 0;
    };
    static constexpr unsigned causes = 4;

    void tell(int cause, std::size_t size, std::size_t total);
    void write(int cause, std::size_t size, std::size_t total);
    void prune(int cause);
    [[noreturn]] void abortWithState(std::size_t size, std::size_t total);

    heap::Heap& heap_;
    os::Shared<MprMemNotifier> notifier_{nullptr};     // released when it is set, acquired when it is called
    os::Shared<int> policy_{MPR_ALLOC_POLICY_NOTHING}; // a number: orders nothing
    os::Shared<bool> busy_{false};                     // acquired and released as a lock is
    os::Shared<bool> error_{false};                    // orders nothing
    os::Counter errors_{0};
    char** argv_ = nullptr;                               // set before there are other threads
    std::array<Line, os::hasThreads ? causes : 0> lines_; // a board without threads says it each time

    os::Lock lock_; // of the two lists
    struct Pruner {
        MprPruner prune;
        void* data;
    } pruners_[places] MPR_GUARDED_BY(lock_) = {};
    MprTerminator terminators_[places] MPR_GUARDED_BY(lock_) = {};
    int terminatorCount_ MPR_GUARDED_BY(lock_) = 0;
};

} // namespace mpr::gc
