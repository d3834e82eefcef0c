// SPDX-License-Identifier: MIT
/*
    depletion.cpp - Notifier, pruners and policies.
 */
#include "mpr/gc/depletion.hpp"

#include "mpr/gc/guard.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"
#include "mpr/os/pages.hpp"
#include "mpr/stats.h"

namespace mpr::gc {

namespace {
std::string_view nameOf(int cause) {
    switch (cause) {
    case MPR_MEM_WARNING: return "the redline was crossed";
    case MPR_MEM_WELL: return "well again";
    case MPR_MEM_LIMIT: return "the hard limit is reached";
    case MPR_MEM_FAIL: return "the system has no memory";
#ifndef MPR_COOPERATIVE
    case MPR_MEM_HOST: return "the host refuses pages";
#endif
    default: return "a request is too big";
    }
}

/** For programs without a notifier, which have not thought of it. */
[[maybe_unused]] std::string_view adviceOn(int cause) {
    switch (cause) {
    case MPR_MEM_WARNING: return "drop what can be made again: mprSetMemNotifier, mprAddPruner";
    case MPR_MEM_WELL: return "what was put off may go on";
    case MPR_MEM_LIMIT: return "root what is needed, mprYield(MPR_YIELD_COMPLETE), try again; or raise the limit";
    case MPR_MEM_FAIL:
    case MPR_MEM_HOST: return "root what is needed, mprYield(MPR_YIELD_COMPLETE), try again";
    default: return "no heap can have so much";
    }
}

/** Whether an allocation fails that another try might not. */
constexpr bool fails(int cause) {
    return cause == MPR_MEM_LIMIT || cause == MPR_MEM_FAIL || (os::hasPages && cause == MPR_MEM_HOST);
}
} // namespace

/** @return false: not now. */
bool Depletion::enter(Mutator& m) {
    const bool callsNobody = os::hasThreads && m.callsNobody;
    if (!callsNobody) {
        os::assertUnlocked();
    }
    Mutator* nobody = nullptr;
    return !callsNobody && inside_.compare_exchange_strong(nobody, &m, std::memory_order_acquire);
}

bool Depletion::raise(Mutator& m, int cause, std::size_t size) {
    if (enter(m)) {
        return apply(m, cause, size);
    }
    if constexpr (os::hasThreads) {
        // Another thread is being told: a policy that ends the program does not wait for what it does about it.
        if (fails(cause) && !m.callsNobody && inside_.load(std::memory_order_relaxed) != &m) {
            endBy(policy_.load(std::memory_order_relaxed), size, heap_.limits().committed());
        }
    }
    return false;
}

void Depletion::tellNews(Mutator& m, std::size_t size) {
    if (!enter(m)) {
        heap_.wantAttention();
        return;
    }
    const heap::Heap::News news = heap_.takeNews();
    if (news.any) {
        apply(m, news.state == heap::Limits::State::well ? MPR_MEM_WELL : MPR_MEM_WARNING, size);
    } else { // somebody has told it
        leave();
    }
}

/** The calling thread is in here. @return Whether trying again makes sense. */
bool Depletion::apply(Mutator& m, int cause, std::size_t size) {
    const bool wasPrivileged = m.local.privileged();
    m.local.setPrivileged(true);
    const os::AsCritical critical(os::Critical::domain);
    const std::size_t total = heap_.limits().committed();
    const int policy = policy_.load(std::memory_order_relaxed);
    tell(cause, size, total);
    if (policy == MPR_ALLOC_POLICY_PRUNE && (fails(cause) || cause == MPR_MEM_WARNING)) {
        prune(cause);
    } else if (fails(cause)) {
        endBy(policy, size, total);
    }
    m.local.setPrivileged(wasPrivileged);
    leave();
    return fails(cause);
}

/** If it is a policy that ends the program, it does; a program that cannot be started anew goes on. */
void Depletion::endBy(int policy, std::size_t size, std::size_t total) {
    if (policy == MPR_ALLOC_POLICY_RESTART) {
        restart();
    } else if (policy == MPR_ALLOC_POLICY_EXIT) {
        runTerminators(MPR_ALLOC_POLICY_EXIT, 1);
        os::exit(1);
    } else if (policy == MPR_ALLOC_POLICY_ABORT) {
        abortWithState(size, total);
    }
}

bool Depletion::tellLoad(Mutator& m, void (*f)(void* self), void* self, bool low) {
    if (!enter(m)) {
        return false;
    }
    const bool wasPrivileged = m.local.privileged();
    m.local.setPrivileged(true);
    const os::AsCritical critical(os::Critical::domain);
    f(self);
    if (low) {
        prune(MPR_MEM_LOAD);
    }
    m.local.setPrivileged(wasPrivileged);
    leave();
    return true;
}

void Depletion::tell(int cause, std::size_t size, std::size_t total) {
    if (const MprMemNotifier notifier = notifier_.load(std::memory_order_acquire)) {
        notifier(cause, policy_.load(std::memory_order_relaxed), size, total);
        return;
    }
    write(cause, size, total);
}

/** For programs without a notifier. One that is refused asks again, so what repeats is written rarely. */
void Depletion::write(int cause, std::size_t size, std::size_t total) {
    os::Message message;
    const std::string_view name = nameOf(cause);
    message << "memory: " << name << ": " << size << " bytes asked for, " << total << " committed";
    if constexpr (os::hasThreads) {
        message << "; " << adviceOn(cause);
    }
    writeRepeated(os::Level::warning, message, name);
}

void Depletion::prune(int cause) {
    Pruner pruners[places];
    {
        os::Locked locked(lock_);
        for (int i = 0; i < places; ++i) {
            pruners[i] = pruners_[i];
        }
    }
    for (const Pruner& pruner : pruners) {
        if (pruner.prune) {
            pruner.prune(pruner.data, cause);
        }
    }
}

/** Returns only if the program cannot be started anew. */
void Depletion::restart() {
    const bool can = !os::hasEnvironment || argv_; // firmware has no arguments
    if (can) {
        os::restart(argv_);
    }
    constexpr std::string_view failed =
        os::hasEnvironment ? "memory: the program could not be started anew" : "memory: the board does not restart";
    os::Message message;
    message << failed;
    if constexpr (os::hasEnvironment) {
        message << (can ? ": the system refuses" : ": mprCreate was given no arguments");
    }
    writeRepeated(os::Level::error, message, failed);
}

void Depletion::abortWithState(std::size_t size, std::size_t total) {
    os::Message message;
    if constexpr (os::cooperative) {
        // The message is short; the notifier can call mprPrintMem for more.
        os::log(os::Level::error, message << "memory: aborting by policy: " << size << " of " << total);
        os::abort();
    }
    const heap::Limits limits = heap_.limits();
    const heap::Totals totals = heap_.totals();
    message << "memory: aborting by policy: " << size << " bytes asked for, " << total << " committed of "
            << limits.maximum() << ", " << ((totals.granulesAllocated - totals.granulesFreed) << heap::granuleShift)
            << " in blocks, largest hole " << heap_.largestFree() << ", " << totals.regions << " regions";
    os::log(os::Level::error, message);
    os::abort();
}

bool Depletion::addPruner(MprPruner pruner, void* data) {
    os::Locked locked(lock_);
    for (Pruner& place : pruners_) {
        if (!place.prune) {
            place = {pruner, data};
            return true;
        }
    }
    return false;
}

void Depletion::removePruner(MprPruner pruner, void* data) {
    os::Locked locked(lock_);
    for (Pruner& place : pruners_) {
        if (place.prune == pruner && place.data == data) {
            place = {};
            return;
        }
    }
}

bool Depletion::addTerminator(MprTerminator terminator) {
    os::Locked locked(lock_);
    if (terminatorCount_ == places) {
        return false;
    }
    terminators_[terminatorCount_++] = terminator;
    return true;
}

void Depletion::runTerminators(int how, int status) {
    for (;;) {
        MprTerminator terminator = nullptr;
        {
            os::Locked locked(lock_);
            if (terminatorsRun_ < terminatorCount_) {
                terminator = terminators_[terminatorsRun_++];
            }
        }
        if (!terminator) {
            return;
        }
        os::assertUnlocked();
        terminator(1, how, status);
    }
}

} // namespace mpr::gc
