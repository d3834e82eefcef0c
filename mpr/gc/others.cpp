// SPDX-License-Identifier: MIT
/*
    others.cpp - Stopping all others, and letting them go.
 */
#include "mpr/gc/others.hpp"

#include "mpr/gc/suspension.hpp"

namespace mpr::gc {

/**
    Poll for the duty, since nobody announces it. Dead blocks are swept first: a running thread that finds no
    memory waits for that, and others or the caller may be waiting for that thread. @return false when the end has
    passed.
 */
bool Others::awaitDuty(std::uint64_t end) {
    os::Word never{0};
    for (;;) {
        // A thread that stops the others has its own deadline, and may be waiting for this one.
        const bool isOver = os::now() >= end && !stopsOthers_.load(std::memory_order_relaxed);
        if (cycle_.tryDuty()) {
            if (!cycle_.isReclaiming()) {
                return true;
            }
            cycle_.endAssists();
            cycle_.giveUpDuty();
        }
        if (isOver) {
            return false;
        }
        os::wait(never, 0, poll);
    }
}

bool Others::park(std::uint64_t end) {
    attached->parked.store(true, std::memory_order_relaxed);
    parked_.fetch_add(1, std::memory_order_seq_cst);
    if (!awaitDuty(end)) {
        parked_.fetch_sub(1, std::memory_order_seq_cst);
        // A thread that has counted this one as waiting may be at work already.
        os::Word never{0};
        while (othersStopped_.load(std::memory_order_seq_cst)) {
            os::wait(never, 0, poll);
        }
        attached->parked.store(false, std::memory_order_relaxed);
        return false;
    }
    return true;
}

void Others::unpark() {
    attached->parked.store(false, std::memory_order_relaxed);
    parked_.fetch_sub(1, std::memory_order_seq_cst);
    cycle_.giveUpDuty();
    cycle_.ring();
}

/**
    Stop the others. This polls, since nobody announces it: a thread on duty may be doing anything, and a thread that
    finds no collection requested clears the flag as it stops. The caller stays counted as running, so that no
    collection begins. Others that want to stop threads at the same time stay counted, too. They are stopped while they
    wait here; if their wait ends early, they still wait until the first one has finished.
    @return Whether all have stopped. The duty is the caller's then.
 */
bool Others::awaitOthers(std::uint64_t within) {
    constexpr unsigned deadlines = 8;
    const std::uint64_t bound = within != 0 ? within : deadlines * deadline_;
    const Suspension suspension(*attached, cycle_, Loss::others);
    os::Word never{0};
    if (!park(os::now() + bound)) {
        return false;
    }
    const std::uint64_t end = os::now() + bound; // counted anew: others may have had the duty all that time
    stopsOthers_.store(true, std::memory_order_relaxed);
    for (;;) {
        // Nobody may run on while all have to stop. Nobody can start to, since this thread is on duty.
        late_.endRunningOn();
        cycle_.rendezvous().close();
        cycle_.rendezvous().setWanted(true);
        // Set before parked_ is read: a thread that continues first takes itself out of parked_ and then looks at this.
        othersStopped_.store(true, std::memory_order_seq_cst);
        // Read in this order: a thread that gives up in between then counts as running and not as parked, which is
        // safe.
        const unsigned running = cycle_.rendezvous().running();
        if (running <= parked_.load(std::memory_order_seq_cst)) {
            return true;
        }
        othersStopped_.store(false, std::memory_order_seq_cst);
        if (os::now() >= end) {
            const NamedThreads late = late_.note();
            letOthersGo();
            Late::name(late, bound);
            return false;
        }
        os::wait(never, 0, poll);
    }
}

void Others::tellStopped() {
    cycle_.assertOnDuty();
    suspensions.worldStops(false);
}

void Others::tellGoesOn() {
    cycle_.assertOnDuty();
    suspensions.worldGoesOn(MPR_GENERATION_NONE);
}

/** Let the others go. A collection requested meanwhile is done by the last thread to stop, or the collector's. */
void Others::letOthersGo() {
    cycle_.assertOnDuty();
    othersStopped_.store(false, std::memory_order_seq_cst);
    cycle_.rendezvous().open();
    cycle_.clearWanted();
    if (cycle_.isPending()) {
        cycle_.rendezvous().setWanted(true);
    }
    attached->parked.store(false, std::memory_order_relaxed);
    parked_.fetch_sub(1, std::memory_order_seq_cst);
    cycle_.announce(); // for threads that wait at the gate for a pause to begin
    cycle_.giveUpDuty();
    // After that, so that a thread which sees it does not find the duty still taken.
    stopsOthers_.store(false, std::memory_order_relaxed);
    cycle_.ring();
}

} // namespace mpr::gc
