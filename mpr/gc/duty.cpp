/*
    duty.cpp - Who collects: the collector's thread, or for it the thread that stops last.

    A thread that stops has to wait for the pause anyway, and its processor is free: when it is the last to stop it does
    the pause itself. With as many threads as processors that saves two switches of threads, each of tens of microseconds,
    and the time for which a thread that goes on would have to wait until the collector's leaves its processor.

    What is done beside the threads, marking and sweeping, the collector's thread does, as long as there is a processor for
    it. Where there is none it would take one from threads that run, for milliseconds, as the system sees fit. Then threads
    *assist*: one at a time, when it yields, does a portion, a fraction of the pause budget; of marking several in a young
    budget, of sweeping one after the other, since no collection can begin before its end. Managers that free and giving
    memory back are always left to the collector's thread.

    Who holds Cycle's `duty_` is the collector: its thread holds it except while it sleeps. So that it may sleep through collections,
    too, a request by a thread that runs does not wake it: that thread will stop, or another after it, and whoever is last
    and cannot have the duty rings. For threads that do not stop it *watches*: while collections go on it looks each
    `deadline` whether one is overdue. A request that finds it asleep for good wakes it.
 */
#include <algorithm>
#include <utility>

#include "mpr/gc/collector.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

// ---- The collector's thread ----------------------------------------------------------------------------------------

/** Sleep until the bell rings after `heard`; threads may take the duty. @return false: timed out. */
bool Collector::sleep(std::uint32_t heard, std::uint64_t timeout) {
    cycle_.assertOnDuty();
    cycle_.giveUpDuty();
    const bool rang = cycle_.awaitBell(heard, timeout);
    takeDuty();
    return rang;
}

/** A thread that stands in gives the duty back soon, unless a manager that marks does not return: then this one says so. */
void Collector::takeDuty() {
    CallWatch watch;
    std::uint64_t patience = deadline_;
    for (;;) {
        const std::uint32_t seen = cycle_.progress();
        if (cycle_.tryDuty()) {
            return;
        }
        if (cycle_.phase() != Phase::marking) {
            cycle_.takeDuty();
            return;
        }
        if (!cycle_.awaitProgress(seen, watchNap())) {
            watchMarking(watch, patience);
        }
    }
}

/** Has the duty from the start: open() waits until it does. */
void Collector::run() {
    attached = current = &own_;
    cycle_.takeDuty();
    patience_ = deadline_;
    cycle_.announce();
    tracing_.settle(os::currentThread());
    os::wakeModestly(); // not in the place of the thread that rings: another processor is free, or threads assist
    for (;;) {
        // Before the look at stop_ and all others, so that a wait that comes after them returns.
        const std::uint32_t heard = cycle_.heard();
        const bool stops = cycle_.ends();
        if (cycle_.phase() == Phase::freeing ||
            (cycle_.phase() == Phase::sweeping && (stops || !cycle_.assists().with(Assists::sweeping)))) {
            reclaim(); // what a thread has left
            cycle_.beginNext();
        } else if (stops) {
            break;
        } else if (cycle_.phase() == Phase::requested) {
            if (cycle_.major().isStarved()) {
                tracing_.advance();
            }
            awaitThreads(heard);
        } else if (cycle_.phase() != Phase::idle || !marksAlone() || !advanceMajor(heard)) {
            rest(heard);
        }
    }
    cycle_.rendezvous().open(); // a collection may have been waited for
    cycle_.giveUpDuty();
    attached = current = nullptr;
}

/** Nothing is to be done. */
void Collector::rest(std::uint32_t heard) {
    cycle_.assertOnDuty();
    const bool isIdle =
        cycle_.phase() == Phase::idle; // and stays so as long as this thread has the duty, or is requested
    if (isIdle) {
        givingBack_.catchUp();
    }
    const std::uint32_t pauses = cycle_.pauses().load(std::memory_order_relaxed);
    const bool watches = std::exchange(pausesSeen_, pauses) != pauses;
    if (!watches && cycle_.assists().with(Assists::marking | Assists::sweeping)) {
        return cycle_.recall(); // threads do not get on with it
    }
    if (!watches && isIdle && cycle_.major().isTracing() && cycle_.major().isTraced() && cycle_.enabled()) {
        return cycle_.request(Wish::budget); // threads need no other collection that could be its last pause
    }
    if (!cycle_.mayRest(watches)) {
        return;
    }
    const bool rang = sleep(heard, watches                ? std::min(deadline_, GivingBack::decayTime)
                                   : givingBack_.decays() ? GivingBack::decayTime
                                                          : os::forever);
    if (!rang && !watches && pauses == cycle_.pauses().load(std::memory_order_relaxed) &&
        cycle_.phase() == Phase::idle) {
        givingBack_.decay();
    }
}

/** A collection is requested: do it when all have stopped, and name those who have not within the deadline. */
void Collector::awaitThreads(std::uint32_t heard) {
    cycle_.assertOnDuty();
    late_.endRunningOnWithoutLate();
    if (meet()) {
        cycle();
        return;
    }
    const std::uint64_t now = os::now();
    const std::uint64_t waited = cycle_.waited(now);
    if (waited >= patience_) {
        Late::name(late_.note(), waited);
        patience_ *= 2; // the message comes again, ever more rarely
    }
    sleep(heard, patience_ - std::min(patience_, waited));
}

/** On duty. @return Whether a collection is requested and all threads have stopped for it. */
bool Collector::meet() {
    cycle_.assertOnDuty();
    if (cycle_.phase() != Phase::requested) {
        return false;
    }
    if (late_.isRunningOn()) {
        if (!cycle_.rendezvous().empty()) {
            return false;
        }
        // Whoever comes before the gate is closed has to stop again: while threads run on the gate is open.
        late_.endRunningOn();
    }
    return cycle_.closeGate();
}

/** Mark beside the threads, then ask for a pause. @return false when there is nothing to do until the bell rings. */
bool Collector::advanceMajor(std::uint32_t heard) {
    cycle_.assertOnDuty();
    if (!tracing_.advance()) {
        return true;
    }
    if (!cycle_.enabled() && !cycle_.major().isForced() && !cycle_.major().mustBegin()) {
        return false;
    }
    if (cycle_.major().isTraced() || betweenSlices(heard)) {
        cycle_.request(cycle_.major().isTraced() ? Wish::budget : Wish::slice);
    }
    return true;
}

/** Threads have the processor for a while between slices, if any is there to use it. @return false: look again. */
bool Collector::betweenSlices(std::uint32_t heard) {
    cycle_.assertOnDuty();
    const std::uint64_t now = os::now();
    if (now >= restUntil_ || !cycle_.rendezvous().matters()) {
        return true;
    }
    sleep(heard, restUntil_ - now);
    return false;
}

// ---- A thread that stops -------------------------------------------------------------------------------------------

/** While this exists the calling thread, who has the duty, is the collector. */
class Collector::StandIn {
public:
    explicit StandIn(Cycle& cycle) MPR_REQUIRES(onDuty) : cycle_(cycle) { cycle_.setStandsIn(true); }
    ~StandIn() {
        cycle_.assertOnDuty();
        cycle_.setStandsIn(false);
    }
    StandIn(const StandIn&) = delete;
    StandIn& operator=(const StandIn&) = delete;

private:
    Cycle& cycle_;
};

/** The calling thread stops for long. If it was the last, the collector's thread has to do what threads would have done. */
void Collector::stepOut() {
    afterLeaving(cycle_.rendezvous().leave());
}

void Collector::afterLeaving(bool last) {
    if (last && (cycle_.phase() == Phase::requested || cycle_.assists().with(Assists::marking | Assists::sweeping))) {
        cycle_.recall();
    }
}

/** Step out as a thread that the others may be running on without. */
void Collector::stepOut(Mutator& m) {
    // The count comes first: whoever gives up on late threads writes it, too, before its second look at who runs. So it
    // finds this one gone then, or what it has noted is seen here.
    const bool last = cycle_.rendezvous().leave();
    if (m.late.load(std::memory_order_relaxed)) {
        late_.cameLast(MutatorList::Locked(mutators_), m);
    }
    afterLeaving(last);
}

/**
    The calling thread has stopped for a moment. When a collection is wanted and nobody is on duty it does it, if it is the last to
    stop, and closes the gate for it, if not; when threads assist it does a portion.
    @return Whether nothing more has to be waited for than the gate.
 */
bool Collector::serve() {
    bool served = false;
    for (;;) {
        const Phase seen = cycle_.phase();
        const bool collects = seen == Phase::requested;
        const bool helps = !served && ((seen == Phase::idle && cycle_.assists().with(Assists::marking)) ||
                                       (seen == Phase::sweeping && cycle_.assists().with(Assists::sweeping)));
        if (!collects && !helps) {
            return served;
        }
        if (!cycle_.tryDuty()) {
            if (collects && cycle_.rendezvous().empty()) {
                cycle_.ring();
            }
            return served || (helps && !cycle_.isPending());
        }
        const bool calls = collects ? meet() && collectHere() : assist();
        cycle_.giveUpDuty();
        if (calls) {
            cycle_.ring();
        }
        served = true;
        if (collects && !cycle_.rendezvous().empty()) {
            return true;
        }
    }
}

/** All have stopped: be the collector for the pause, and for the begin of the sweep. @return Whether its thread has to go on. */
bool Collector::collectHere() {
    cycle_.assertOnDuty();
    const StandIn here(cycle_);
    pause();
    stats_.stoodIn.fetch_add(1, std::memory_order_relaxed);
    if (cycle_.phase() == Phase::freeing && cycle_.assists().with(Assists::sweeping) && !sweeping_.callsFree()) {
        sweepHere();
    }
    if (cycle_.phase() == Phase::idle) {
        cycle_.beginNext();
    }
    return isLeft();
}

/** Be the collector for a portion of what it would do beside the threads. @return Whether its thread has to go on. */
bool Collector::assist() {
    cycle_.assertOnDuty();
    const StandIn here(cycle_);
    if (cycle_.phase() == Phase::sweeping && cycle_.assists().with(Assists::sweeping)) {
        sweepHere();
        if (cycle_.phase() == Phase::idle) {
            cycle_.beginNext();
        }
    } else if (cycle_.phase() == Phase::idle && cycle_.assists().with(Assists::marking)) {
        cycle_.clearWanted();
        const bool done = tracing_.advance(os::now() + portion());
        stats_.assists.fetch_add(1, std::memory_order_relaxed);
        cycle_.assists().count();
        if (done) {
            cycle_.assists().end(); // and the next collection is the last pause
        }
        budget_.setTrigger(heap_.allocatedSince());
    }
    return isLeft();
}

/** A portion of the sweep; all of it when threads would wait for it. */
void Collector::sweepHere() {
    cycle_.assertOnDuty();
    stats_.assists.fetch_add(1, std::memory_order_relaxed);
    const bool hurries = cycle_.isPending();
    cycle_.rendezvous().setWanted(hurries); // the others need not yield meanwhile
    if (!reclaim(hurries ? os::forever : os::now() + portion())) {
        cycle_.rendezvous().setWanted(true); // whoever yields next goes on
    }
}

/** Whether there is work for the collector's thread. */
bool Collector::isLeft() const {
    cycle_.assertOnDuty();
    switch (cycle_.phase()) {
    case Phase::idle: return givingBack_.isLeft() || marksAlone();
    case Phase::sweeping: return !cycle_.assists().with(Assists::sweeping);
    default: return true;
    }
}

} // namespace mpr::gc
