// SPDX-License-Identifier: MIT
/*
    safepoint.cpp - A thread stops, and goes on.
 */
#include "mpr/gc/safepoint.hpp"

#include <algorithm>

#include "mpr/collect.h"
#include "mpr/gc/suspension.hpp"

namespace mpr::gc {

constinit MPR_PER_THREAD Mutator* current = nullptr;
constinit MPR_PER_THREAD Mutator* attached = nullptr;

namespace {
/** Nanoseconds: no thread waits longer for a sweep that lags behind allocation. The hard limit holds anyway. */
constexpr std::uint64_t longestStall = 100'000'000;

/** The calling thread stops: note where its stack begins and ends, for check=stacks. */
[[gnu::cold, gnu::noinline]] void noteStack(Mutator& m) {
    if constexpr (os::hasThreads) {
        const os::Stack stack = os::stack();
        const void* const top = __builtin_frame_address(0);
        const bool isThere = top >= stack.begin && top < stack.end; // or the program has made another for itself
        m.stack.top.store(isThere ? top : nullptr, std::memory_order_relaxed);
        m.stack.end.store(stack.end, std::memory_order_relaxed);
    }
}
} // namespace

// ---- Yielding ------------------------------------------------------------------------------------------------------

void Safepoint::yield(Mutator& m, int flags, const void* site) {
    m.site.store(site, std::memory_order_relaxed);
    if (m.isCollector || m.state.load(std::memory_order_relaxed) != Mutator::State::running) {
        return;
    }
    if (flags & MPR_YIELD_STICKY) {
        if (everyYield_) {
            budgetSpent();
            waitOut(m);
        }
        stop(m, Mutator::State::yielded);
        stepOut(m);
        return;
    }
    if (flags & MPR_YIELD_COMPLETE) {
        awaitSwept(m);
        return;
    }
    if (cycle_.rendezvous().wanted() && !late_.passesBy(m)) {
        if (everyYield_) {
            budgetSpent();
        }
        waitOut(m);
    }
}

/** Wait until the current collection has swept, and so has one that somebody waits for. */
void Safepoint::awaitSwept(Mutator& m) {
    const auto forcedDone = [&] { return Cycle::reached(cycle_.major().swept(), cycle_.major().forced()); };
    if (cycle_.phase() != Phase::idle || !forcedDone()) {
        const std::uint32_t target = cycle_.swept().load(std::memory_order_acquire) + 1;
        const Suspension suspension(m, cycle_, Loss::memory);
        stopToWait(m, true);
        waits_.awaitProgress(
            [&] {
                const bool idle = cycle_.phase() == Phase::idle;
                return (idle || Cycle::reached(cycle_.swept(), target)) && forcedDone();
            },
            os::forever, waits_.deadline());
        resume(m);
    }
}

/** A collection is wanted: stop until it has marked. */
void Safepoint::waitOut(Mutator& m) {
    assertRunning(m);
    const std::uint64_t begin = os::now();
    Suspension suspension(m, cycle_, Loss::others, begin);
    stop(m, Mutator::State::waiting);
    cycle_.rendezvous().want();
    // The count changes first. A thread that notes late threads meanwhile either finds this one gone or is noticed
    // here.
    cycle_.rendezvous().leave();
    const bool stays = !m.late.load(std::memory_order_relaxed) || late_.gather(m);
    const bool met = !stays || duty_.serve();
    std::uint64_t stalled = 0;
    switch (met ? Phase::marking : cycle_.phase()) {
    case Phase::freeing:
    case Phase::sweeping:
        if (!os::waitsInherit()) { // its priority would be lost on managers that free, and on a sweep of milliseconds
            stall();
            stalled = os::now() - begin;
            stats_.stall.record(stalled);
        }
        break;
    case Phase::requested: {
        // The thread on duty may not have closed the gate yet.
        const std::uint32_t before = cycle_.pauses().load(std::memory_order_acquire);
        const auto over = [&] {
            return cycle_.phase() != Phase::requested || cycle_.pauses().load(std::memory_order_acquire) != before ||
                   late_.isRunningOn();
        };
        while (!waits_.awaitProgress(over, late_.nap(), waits_.deadline()) && !cycle_.ends()) {
            late_.runOn();
        }
        break;
    }
    case Phase::idle:
        // The flag was set late, by a request whose collection is over, or for a sweep that is.
        cycle_.clearWanted();
        break;
    case Phase::marking: break;
    }
    resume(m);
    cycle_.rendezvous().wantNoMore();
    const std::uint64_t end = os::now();
    stats_.pause.record(end - begin - stalled);
    suspension.endAt(end);
}

/**
    Allocation has used up what it may until the garbage of the last budget is swept. Wait for the sweep, but only a
    little for finalizers; then some more may be allocated before anybody waits again. Where there is no room for another
    budget, wait as long as finalizers keep returning: what is allocated before the sweep ends can die only in the next
    collection, so allocations would fail although most of the heap is garbage. Where the heap would have to take more
    than it should, wait longer: memory that is added while most of what is free waits for the sweep is hardly ever empty
    again, and where managers take longer than allocation the next sweep would have more to free than this one.
 */
void Safepoint::stall() {
    const Suspension::Part memory(Loss::memory);
    const bool runsShort = budget_.roomLeft() / 2 < budget_.trigger();
    const bool supplied = budget_.hasSupply();
    const bool waitsLittle = supplied && cycle_.phase() == Phase::freeing;
    const std::uint64_t longest = runsShort ? os::forever : waitsLittle ? Waits::longestFreeing : longestStall;
    if (!waits_.awaitSweep(longest, runsShort || !supplied ? Waits::longestFreeing : waits_.deadline())) {
        cycle_.clearWanted();
        budget_.extendSlack();
    }
}

void Safepoint::budgetSpent(Wish wish) {
    if (late_.isRunningOn()) {
        return late_.stopRunningOn();
    }
    if (!cycle_.enabled()) {
        return;
    }
    if (heap_.isScattered()) {
        cycle_.request(Wish::urgent); // of what is free little is of use: what is dead has to go, old or young
        return;
    }
    const bool assists = cycle_.assists().with(Assists::marking) && cycle_.phase() == Phase::idle;
    const bool trial = everyYield_ || heap_.steps(); // each yield or allocation is to collect
    if (wish == Wish::budget && (assists || cycle_.isReclaiming()) && !budget_.isSpent() && !trial) {
        // A step of it only, or a wait for the sweep. Neither may come to pass, so the rest is called for anyway.
        budget_.rearm();
        cycle_.rendezvous().setWanted(true);
        return;
    }
    cycle_.request(wish);
}

// ---- Stopping and going on -----------------------------------------------------------------------------------------

/** The calling thread does not run from here on. Calls that need it to run are refused: guard.hpp. */
void Safepoint::stop(Mutator& m, Mutator::State state) {
    if constexpr (os::hasThreads) {
        heap::Heap::keepBatch(m.local, heap::Kept::yield);
        heap::Heap::recall(m.local);
        heap_.dropEarmark(m.local.earmark);
        if (stacks_) [[unlikely]] {
            noteStack(m);
        }
    }
    m.state.store(state, std::memory_order_relaxed);
    current = nullptr;
}

/** @param forMemory Have a collection serve what the thread was just refused. */
void Safepoint::stopToWait(Mutator& m, bool forMemory) {
    stop(m, Mutator::State::waiting);
    heap::Earmark& mark = m.local.earmark;
    if (forMemory && mark.wantsRefused(cycle_.swept().load(std::memory_order_relaxed))) [[unlikely]] {
        heap_.beginWait(mark);
    }
    stepOut(m);
}

/** Leave the rendezvous' count as a thread without which others may be running on. */
void Safepoint::stepOut(Mutator& m) {
    // The count changes first. Whoever gives up on late threads also writes the count before its second look at who
    // runs. So either it finds this thread gone, or this thread sees what was noted.
    const bool last = cycle_.rendezvous().leave();
    late_.left(m);
    afterLeaving(last);
}

/**
    The calling thread stops for long. If it was the last to run, the collector's thread does what threads would have
    done.
 */
void Safepoint::leave() {
    afterLeaving(cycle_.rendezvous().leave());
}

void Safepoint::afterLeaving(bool last) {
    if (last && (cycle_.phase() == Phase::requested || cycle_.assists().with(Assists::marking | Assists::sweeping))) {
        cycle_.endAssists();
    }
}

void Safepoint::resume(Mutator& m) {
    if (m.isCollector || m.state.load(std::memory_order_relaxed) == Mutator::State::running) {
        return;
    }
    const bool sticky = m.state.load(std::memory_order_relaxed) == Mutator::State::yielded;
    const std::uint64_t begin = sticky && cycle_.rendezvous().wanted() ? os::now() : 0;
    if (enter() && begin != 0) {
        stats_.pause.record(os::now() - begin);
    }
    if (m.local.earmark.waits) [[unlikely]] {
        heap_.endWait(m.local.earmark);
    }
    m.state.store(Mutator::State::running, std::memory_order_relaxed);
    current = &m;
}

/**
    Count the calling thread as running. A gate that opens wakes all that wait at it. Waiting threads look from time to
    time for threads that do not come to the rendezvous; the thread on duty may be another each time.
    @return Whether the calling thread had to wait for a pause.
 */
bool Safepoint::enter() {
    CallWatch watch;
    Suspension suspension(*attached, cycle_);
    std::uint64_t warnAfter = waits_.deadline();
    std::uint64_t untilRunOn = late_.firstNap();
    std::uint64_t untilWatch = waits_.markingNap();
    const auto nap = [&] { return std::min(untilRunOn, untilWatch); };
    const auto lookAgain = [&](std::uint64_t napped) {
        untilRunOn -= napped;
        untilWatch -= napped;
        if (untilRunOn == 0) {
            late_.runOn();
            untilRunOn = late_.nap();
        }
        if (untilWatch == 0) {
            waits_.watchMarking(watch, warnAfter);
            untilWatch = waits_.markingNap();
        }
    };
    return cycle_.rendezvous().enter(nap, lookAgain, [&](os::Word& openings, std::uint32_t seen, std::uint64_t time) {
        suspension.start(Loss::others);
        return sleepAtGate(openings, seen, time);
    });
}

/**
    Wait for the gate to open. A thread of real-time priority lends it to the thread that marks: it waits for the pause
    to begin, then for a lock that is held during the pause. It does not watch managers meanwhile.
    @return false when the nap is over.
 */
bool Safepoint::sleepAtGate(os::Word& openings, std::uint32_t seen, std::uint64_t nap) {
    if (!os::waitsInherit()) {
        return os::wait(openings, seen, nap);
    }
    const std::uint32_t progress = cycle_.progress();
    switch (cycle_.phase()) {
    case Phase::marking: {
        const os::Locked untilOver(cycle_.pausing());
        return true;
    }
    case Phase::requested:
        // A gate that opens without a pause is counted first: it has not opened yet, or more progress will be
        // announced.
        return openings.load(std::memory_order_acquire) != seen || cycle_.awaitProgress(progress, nap);
    default: return os::wait(openings, seen, nap);
    }
}

bool Safepoint::setExempt(Mutator& m, bool exempt) {
    const bool was = m.state.load(std::memory_order_relaxed) == Mutator::State::exempt;
    if (exempt && !was) {
        const bool ran = m.state.load(std::memory_order_relaxed) == Mutator::State::running;
        stop(m, Mutator::State::exempt);
        if (ran) {
            stepOut(m);
        }
    } else if (!exempt && was) {
        resume(m);
    }
    return was;
}

} // namespace mpr::gc
