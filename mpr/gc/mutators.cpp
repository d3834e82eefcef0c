// SPDX-License-Identifier: MIT
/*
    mutators.cpp - Threads come and go.
 */
#include "mpr/gc/mutators.hpp"

#include <cstring>
#include <new>

#include "mpr/collect.h"
#include "mpr/gc/batch.hpp"
#include "mpr/gc/suspension.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

Mutator* Mutators::prepare(const char* name, bool service, void* thread, heap::Shortage& shortage) {
    void* memory = heap_.allocateShared(heap::granulesFor(sizeof(Mutator)), heap::head::held, true, shortage);
    if (!memory) {
        return nullptr;
    }
    auto* m = new (memory) Mutator;
    std::strncpy(m->name, name ? name : "", sizeof(m->name) - 1);
    m->ofService = service;
    m->thread = thread;
    MutatorList::Locked(all_).add(*m);
    return m;
}

void Mutators::attach(Mutator* m) {
    heap_.attach(m->local);
    m->lookedAt.thread.store(os::threadNumber(), std::memory_order_relaxed);
    safepoint_.resume(*m);
    // A rendezvous may have passed since the thread entered the heap's list. The colour does not change from here on.
    m->local.newborn = heap_.colours().newborn();
}

void Mutators::abandon(Mutator* m) {
    MutatorList::Locked list(all_);
    list.remove(*m);
    heap_.freeShared(heap_.find(m), m);
}

void Mutators::detach(Mutator* m) {
    // The thread runs until its local state is back in the heap, so that no collection starts meanwhile.
    safepoint_.resume(*m);
    assertRunning(*m);
    if constexpr (os::hasThreads) {
        closeBatch(*m);
    }
    tracing_.leave(*m);
    heap_.detach(m->local);
    leaving_.fetch_add(1, std::memory_order_relaxed);
    {
        // All of this is under the lock: whoever finds the thread gone from the list may end the runtime.
        MutatorList::Locked list(all_);
        if (m->late.load(std::memory_order_relaxed)) {
            late_.cameLast(list, *m); // while it is there
        }
        list.remove(*m);
        heap_.freeShared(heap_.find(m), m);
        safepoint_.leave();
    }
    leaving_.fetch_sub(1, std::memory_order_release);
    departures_.fetch_add(1, std::memory_order_release);
    os::wakeAll(departures_);
}

int Mutators::count(bool all) {
    const MutatorList::Locked list(all_);
    int count = 0;
    for (const Mutator& m : list) {
        count += all || (!m.ofService && !m.thread);
    }
    return count;
}

bool Mutators::isAttached(std::uint32_t number) {
    const MutatorList::Locked list(all_);
    for (const Mutator& m : list) {
        if (m.number == number) {
            return true;
        }
    }
    return false;
}

int Mutators::lostTimes(MprThreadLostTime* threads, int room) {
    const MutatorList::Locked list(all_);
    int count = 0;
    for (const Mutator& m : list) {
        if (count < room) {
            std::memcpy(threads[count].thread, m.name, sizeof(m.name));
            threads[count].number = m.number;
            m.suspended.lost.read(threads[count].lost);
        }
        ++count;
    }
    return count;
}

int Mutators::allocationStats(MprAllocStats* threads, int room) {
    const MutatorList::Locked list(all_);
    int count = 0;
    for (const Mutator& m : list) {
        if (count < room) {
            threads[count] = heap::Heap::allocationStats(m.local, &m == current);
            std::memcpy(threads[count].thread, m.name, sizeof(m.name));
            threads[count].number = m.number;
        }
        ++count;
    }
    return count;
}

bool Mutators::awaitAlone(Mutator& self, std::uint64_t deadline) {
    const Suspension suspension(self, cycle_, Loss::others);
    safepoint_.yield(self, MPR_YIELD_STICKY, nullptr);
    std::uint64_t now = os::now();
    std::uint32_t seen = departures_.load(std::memory_order_acquire);
    while (count(true) > 1 && now < deadline) {
        os::wait(departures_, seen, deadline - now);
        seen = departures_.load(std::memory_order_acquire);
        now = os::now();
    }
    const bool alone = count(true) == 1;
    while (alone && leaving_.load(std::memory_order_acquire) != 0) { // unlocking reads a lock that is free already
        os::wait(departures_, seen);
        seen = departures_.load(std::memory_order_acquire);
    }
    safepoint_.resume(self);
    return alone;
}

void Mutators::nameOthers(const Mutator& self, const char* what) {
    NamedThreads others;
    {
        const MutatorList::Locked list(all_);
        for (const Mutator& m : list) {
            if (&m != &self) {
                others.add(m);
            }
        }
    }
    for (const NamedThreads::Thread& thread : others) {
        os::Message message;
        os::log(os::Level::error,
                message << what << ": thread \"" << std::string_view(thread.name) << "\" is attached");
    }
    if (others.more() > 0) {
        os::Message message;
        os::log(os::Level::error, message << what << ": " << others.more() << " more threads are attached");
    }
}

} // namespace mpr::gc
