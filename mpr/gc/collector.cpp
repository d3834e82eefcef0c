/*
    collector.cpp - The phases of a collection.
 */
#include "mpr/gc/collector.hpp"

#include <algorithm>

#include "mpr/os/log.hpp"

namespace mpr::gc {

bool Collector::open(const heap::Options& options, std::size_t fixedHeap) {
    pauseBudget_ = options.pauseBudget;
    deadline_ = options.deadline;
    checks_ = options.check != heap::Options::Check::none;
    if (options.check == heap::Options::Check::fields) {
        fields_.open();
    }
    everyYield_ = options.everyYield == heap::Options::on;
    trial_ = everyYield_ || options.everyAlloc > 0;
    heap_.setStepping(options.everyAlloc);
    cycle_.rendezvous().setAlways(everyYield_);
    budget_.open(options, fixedHeap, trial_);
    processors_ = static_cast<unsigned>(std::max(os::processors(), 1));
    cycle_.assists().open(processors_, trial_);
    if (!tracing_.open(options, fixedHeap, processors_, trial_)) {
        return false;
    }
    own_.isCollector = true;
    heap_.attach(own_.local);
    budget_.repace();
    const os::ThreadTraits traits{.stackSize = options.stack, .joinable = true, .ofRuntime = true};
    const auto entry = [](void* self) { static_cast<Collector*>(self)->run(); };
    if (!os::startThread(thread_, "mpr-collector", entry, this, traits)) {
        return false;
    }
    // No thread may stand in for one that has not begun yet.
    while (cycle_.progress() == 0) {
        cycle_.awaitProgress(0);
    }
    return true;
}

void Collector::close() {
    cycle_.end();
    os::joinThread(thread_);
    tracing_.close();
    fields_.close();
    cycle_.rendezvous().setAlways(false); // without a runtime nobody need yield
}

void Collector::budgetSpent() {
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
    if (cycle_.assists().with(Assists::marking) && cycle_.phase() == Phase::idle &&
        heap_.allocatedSince() < budget_.trigger()) {
        cycle_.rendezvous().setWanted(true); // a portion of it only
        return;
    }
    cycle_.request(Wish::budget);
}

void Collector::logWrite(Mutator& m, std::uintptr_t entry) {
    // While a collection sweeps, threads would have to wait for its end; the log can.
    if (tracing_.logWrite(m, entry) && cycle_.phase() == Phase::idle) {
        budgetSpent();
    }
}

void Collector::idle() {
    if (cycle_.enabled() && cycle_.phase() == Phase::idle && budget_.halfSpent()) {
        stats_.idle.fetch_add(1, std::memory_order_relaxed);
        cycle_.request(Wish::budget);
    }
}

bool Collector::enable(bool on) {
    const bool was = cycle_.setEnabled(on);
    heap_.setNurseries(on);
    if (on && !was) {
        repace();
        cycle_.ring(); // a major collection may be half done
    }
    return was;
}

// ---- A collection -----------------------------------------------------------------------------------------------

void Collector::cycle() {
    cycle_.assertOnDuty();
    pause();
    if (cycle_.phase() == Phase::freeing) {
        cycle_.assists().endSweeping();
        reclaim();
    }
    cycle_.beginNext();
}

Scope Collector::decide(Wish wish) const {
    cycle_.assertStopped();
    if (cycle_.major().isTracing()) {
        return cycle_.major().isTraced() || cycle_.major().isUrgent() || budget_.generations().overdue() ? Scope::last
               : wish == Wish::slice || cycle_.major().isStarved()                                       ? Scope::slice
                                                                                                         : Scope::minor;
    }
    const bool major = cycle_.major().mustBegin() || (wish != Wish::minor && budget_.generations().majorDue());
    if (major && (cycle_.major().isUrgent() || !budget_.generations().concurrently())) {
        return Scope::full;
    }
    return wish == Wish::minor || budget_.generations().worthwhile() ? Scope::minor : Scope::full;
}

/** All threads have stopped. Ends in idle or freeing. */
void Collector::pause() {
    cycle_.assertOnDuty();
    MPR_ASSERT(cycle_.phase() == Phase::requested && cycle_.rendezvous().stopped());
    const os::Locked pausing(cycle_.pausing());
    cycle_.beginMarking();
    patience_ = deadline_;
    const unsigned crowd = cycle_.rendezvous().waiting();
    const std::uint64_t stopped = os::now();
    const std::uint64_t took = cycle_.waited(stopped);
    stats_.rendezvous.record(took);
    late_.forget(took);
    const Wish wish = cycle_.takeWish();
    cycle_.setScope(decide(wish));
    if (cycle_.scope() == Scope::slice) {
        tracing_.slice(stopped + pauseBudget_ * 3 / 4);
        reopen(Phase::idle, stopped);
        if (wish == Wish::minor || wish == Wish::budget) {
            cycle_.request(wish); // it has let the slice pass
        }
        return;
    }
    givingBack_.noteFree();
    budget_.pacer().noteScattered(heap_.takeScattered());
    const Pacer::Cost cost{heap_.allocatedSince(), stopped - std::min(stopped, minorAt_), 0, 0, 1};
    heap_.beginMarking();
    const bool traced = cycle_.major().isTracing();
    tracing_.mark(cycle_.scope(), cost);
    cycle_.assists().choose(cycle_.major(), crowd, !traced);
    budget_.setSlack();
    heap_.beginSweep(cycle_.isMinor() ? heap::Sweep::young : heap::Sweep::all);
    if (roots_.incomplete()) [[unlikely]] {
        heap_.retainDead();
    }
    if (checks_) {
        tracing_.check();
    }
    fields_.check();
    cycle_.countMarked();
    reopen(Phase::freeing, stopped);
    minorAt_ = os::now();
}

/** Marking has ended, or is to be interrupted: threads may go on. */
void Collector::reopen(Phase phase, std::uint64_t stopped) {
    cycle_.assertStopped();
    const std::uint64_t opened = cycle_.reopen(phase);
    stats_.mark.record(opened - stopped);
    restUntil_ = trial_ ? 0 : opened + 2 * std::min(opened - stopped, pauseBudget_);
}

/** Threads run again: free what was found dead. @return Whether that is done; true when there is no `until`. */
bool Collector::reclaim(std::uint64_t until) {
    cycle_.assertOnDuty();
    MPR_ASSERT(cycle_.phase() == Phase::freeing || cycle_.phase() == Phase::sweeping);
    const std::uint64_t begin = os::now();
    if (cycle_.phase() == Phase::freeing) {
        sweepTook_ = 0;
        sweeping_.callFree(false);
        sweeping_.begin();
        cycle_.beginSweeping();
    }
    const bool done = sweeping_.advance(until);
    sweepTook_ += os::now() - begin;
    if (done) {
        endReclaim();
    }
    return done;
}

void Collector::endReclaim() {
    cycle_.assertOnDuty();
    MPR_ASSERT(cycle_.phase() == Phase::sweeping);
    cycle_.countFreed(sweeping_.end());
    settle();
    stats_.sweep.record(sweepTook_);
    (cycle_.isMinor() ? stats_.minors : stats_.majors).fetch_add(1, std::memory_order_relaxed);
    cycle_.countSwept();
    cycle_.endSweeping();
}

/** Set the next budget and see to it that memory is given back. */
void Collector::settle() {
    cycle_.assertOnDuty();
    const bool major = !cycle_.isMinor();
    if (major) {
        tracing_.trim();
    }
    budget_.renew(major);
    givingBack_.swept(major && cycle_.major().isForced());
}

void Collector::repace() {
    budget_.repace();
    late_.repace();
}

void Collector::freeEverything() {
    // Nothing is marked, so everything is dead, held or not.
    heap_.detach(own_.local);
    heap_.beginMarking();
    heap_.beginSweep(heap::Sweep::all);
    sweeping_.callFree(true);
}

} // namespace mpr::gc
