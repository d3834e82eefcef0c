// SPDX-License-Identifier: MIT
/*
    cycle.cpp - The transitions. test/model looks for these lines: cycle.hpp says where each is in the models.
 */
#include "mpr/gc/cycle.hpp"

#include "mpr/gc/mutator.hpp"

namespace mpr::gc {

namespace {
/** Whether the calling thread will yield. */
bool isRunning() {
    return current && !current->isCollector;
}
} // namespace

// ---- The phase -----------------------------------------------------------------------------------------------------

/** Whether one phase may follow another: the table of cycle.hpp, and a slice ends where it began. */
bool Cycle::follows(Phase phase, Phase before) {
    switch (phase) {
    case Phase::marking: return before == Phase::requested;
    case Phase::freeing: return before == Phase::marking;
    case Phase::sweeping: return before == Phase::freeing;
    case Phase::idle: return before == Phase::sweeping || before == Phase::marking;
    default: return false;
    }
}

/** Phases are published so that a thread that saw the old one and then slept on progress_ wakes up. */
void Cycle::moveTo(Phase phase) {
    assertOnDuty();
    MPR_ASSERT(follows(phase, this->phase()));
    phase_.store(static_cast<std::uint32_t>(phase), std::memory_order_seq_cst);
    announce();
}

void Cycle::beginMarking() {
    assertOnDuty();
    MPR_ASSERT(rendezvous_.stopped());
    moveTo(Phase::marking); // Model: phase = marks
}

std::uint64_t Cycle::reopen(Phase phase) {
    assertStopped();
    // A request that comes while this collection frees and sweeps will set it again.
    rendezvous_.setWanted(pending_.load(std::memory_order_seq_cst)); // Model: wanted = pending
    pauses_.fetch_add(1, std::memory_order_release);                 // Model: paused[...] = true
    moveTo(phase);                                                   // Model: phase = frees, or idle
    const std::uint64_t opened = os::now();
    rendezvous_.open(); // Model: open()
    return opened;
}

void Cycle::endSweeping() {
    assertOnDuty();
    assists_.endSweeping();
    rendezvous_.setWanted(pending_.load(std::memory_order_seq_cst)); // Model: wanted = pending
    moveTo(Phase::idle);                                             // Model: phase = idle
}

void Cycle::beginNext() {
    assertOnDuty();
    if (pending_.exchange(false, std::memory_order_seq_cst) || (major_.mustBegin() && !major_.isTracing())) {
        request(major_.isUrgent() ? Wish::urgent : Wish::slice);
    }
}

// ---- Requests ------------------------------------------------------------------------------------------------------

void Cycle::request(Wish wish) {
    for (Wish before = wish_.load(std::memory_order_seq_cst);
         before < wish && !wish_.compare_exchange_weak(before, wish, std::memory_order_seq_cst);) {}
    while (!stop_.load(std::memory_order_acquire)) {
        if (phase() == Phase::idle) {
            requestedAt_.store(os::now(), std::memory_order_relaxed);
        }
        auto seen = static_cast<std::uint32_t>(Phase::idle);
        if (phase_.compare_exchange_strong(seen, static_cast<std::uint32_t>(Phase::requested),
                                           std::memory_order_seq_cst)) {
            // From here threads stop at their next yield.
            rendezvous_.setWanted(true);
            if (!isRunning() || !watching_.load(std::memory_order_seq_cst)) {
                ring();
            } // else the last thread to stop does it: this one or another
            return;
        }
        if (static_cast<Phase>(seen) == Phase::requested) {
            rendezvous_.setWanted(true); // whoever has just requested it may not have come to this
            return;
        }
        // Remembered; but if the collection ended just now, nobody would look at it.
        pending_.store(true, std::memory_order_seq_cst);
        rendezvous_.setWanted(true);
        if (phase_.load(std::memory_order_seq_cst) != static_cast<std::uint32_t>(Phase::idle)) {
            return;
        }
    }
}

Wish Cycle::takeWish() {
    assertStopped();
    const Wish wish = wish_.exchange(Wish::slice, std::memory_order_seq_cst);
    if (wish >= Wish::full) {
        major_.force(wish == Wish::urgent);
    }
    return wish;
}

// ---- The gate ------------------------------------------------------------------------------------------------------

bool Cycle::closeGate() {
    assertOnDuty();
    rendezvous_.close();          // Model: closed = true
    rendezvous_.setWanted(true);  // Model: wanted = true
    return rendezvous_.stopped(); // Model: running == 0
}

/**
    Since the caller looked at the phase, the next collection may have been requested and its gate closed. Its flag must
    not stay cleared then, or a running thread would never come to the rendezvous. A request stores the phase first and
    the flag second. This clears the flag first and reads the phase second. All four are sequentially consistent, so
    either the phase is seen here, or the flag is set last there.
 */
void Cycle::clearWanted() {
    rendezvous_.setWanted(false);
    if (phase_.load(std::memory_order_seq_cst) == static_cast<std::uint32_t>(Phase::requested)) {
        rendezvous_.setWanted(true);
    }
}

// ---- Who sleeps ----------------------------------------------------------------------------------------------------

void Cycle::announce() {
    progress_.fetch_add(1, std::memory_order_release);
    os::wakeAll(progress_);
}

void Cycle::ring() {
    bell_.fetch_add(1, std::memory_order_release);
    os::wakeOne(bell_);
}

bool Cycle::mayRest(bool watches) {
    assertOnDuty();
    watching_.store(watches, std::memory_order_seq_cst);
    return phase_.load(std::memory_order_seq_cst) != static_cast<std::uint32_t>(Phase::requested);
}

void Cycle::endAssists() {
    assists_.end();
    ring();
}

void Cycle::end() {
    stop_.store(true, std::memory_order_release);
    ring();
    announce();
}

// ---- Counters ------------------------------------------------------------------------------------------------------

void Cycle::countMarked() {
    assertStopped();
    marked_.fetch_add(1, std::memory_order_release);
    if (scope_ != Scope::minor) {
        major_.countMarked();
    }
}

void Cycle::countSwept() {
    assertOnDuty();
    swept_.fetch_add(1, std::memory_order_release);
    if (scope_ != Scope::minor) {
        major_.countSwept();
    }
}

} // namespace mpr::gc
