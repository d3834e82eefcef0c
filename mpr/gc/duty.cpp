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

    Who holds `duty_` is the collector: its thread holds it except while it sleeps. So that it may sleep through collections,
    too, a request by a thread that runs does not wake it: that thread will stop, or another after it, and whoever is last
    and cannot have the duty rings. For threads that do not stop it *watches*: while collections go on it looks each
    `deadline` whether one is overdue. A request that finds it asleep for good wakes it.
 */
#include <algorithm>
#include <utility>

#include "mpr/gc/collector.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

namespace {
/** Whether the calling thread is one that will yield. */
bool isRunning() {
    return current && !current->isCollector;
}
} // namespace

// ---- Asking --------------------------------------------------------------------------------------------------------

void Collector::request(Wish wish) {
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
            } // else whoever stops last sees to it: this thread or another
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

// ---- The collector's thread ----------------------------------------------------------------------------------------

void Collector::ring() {
    bell_.fetch_add(1, std::memory_order_release);
    os::wakeOne(bell_);
}

/** Sleep until the bell rings after `heard`; threads may take the duty. @return false: timed out. */
bool Collector::sleep(std::uint32_t heard, std::uint64_t timeout) {
    assertOnDuty();
    duty_.unlock();
    const bool rang = os::wait(bell_, heard, timeout);
    takeDuty();
    return rang;
}

/** A thread that stands in gives the duty back soon, unless a manager that marks does not return: then this one says so. */
void Collector::takeDuty() {
    CallWatch watch;
    std::uint64_t patience = deadline_;
    for (;;) {
        const std::uint32_t seen = progress_.load(std::memory_order_acquire);
        if (duty_.tryLock()) {
            return;
        }
        if (phase() != Phase::marking) {
            duty_.lock();
            return;
        }
        if (!os::wait(progress_, seen, watchNap())) {
            watchMarking(watch, patience);
        }
    }
}

/** Has the duty from the start: open() waits until it does. */
void Collector::run() {
    attached = current = &own_;
    duty_.lock();
    patience_ = deadline_;
    progress_.fetch_add(1, std::memory_order_release);
    os::wakeAll(progress_);
    helpers_.settle(os::currentThread());
    os::wakeModestly(); // not in the place of the thread that rings: another processor is free, or threads assist
    for (;;) {
        // Before the look at stop_ and all others, so that a wait that comes after them returns.
        const std::uint32_t heard = bell_.load(std::memory_order_acquire);
        const bool stops = stop_.load(std::memory_order_acquire);
        if (phase() == Phase::freeing || (phase() == Phase::sweeping && (stops || !assists(Assist::sweeping)))) {
            reclaim(); // what a thread has left
            goOn();
        } else if (stops) {
            break;
        } else if (phase() == Phase::requested) {
            if (isStarved()) {
                markBeside();
            }
            awaitThreads(heard);
        } else if (phase() != Phase::idle || !marksAlone() || !advanceMajor(heard)) {
            rest(heard);
        }
    }
    rendezvous_.open(); // a collection may have been waited for
    duty_.unlock();
    attached = current = nullptr;
}

/** Nothing is to be done. */
void Collector::rest(std::uint32_t heard) {
    assertOnDuty();
    const bool isIdle = phase() == Phase::idle; // and stays so as long as this thread has the duty, or is requested
    if (isIdle && givesBack_) {
        giveBack(false);
    }
    if (isIdle && purge_.exchange(false, std::memory_order_acq_rel)) {
        heap_.purge(heap_.freeBytes());
    }
    const std::uint32_t pauses = pauses_.load(std::memory_order_relaxed);
    const bool watches = std::exchange(pausesSeen_, pauses) != pauses;
    if (!watches && assists(Assist::marking | Assist::sweeping)) {
        return recall(); // threads do not get on with it
    }
    if (!watches && isIdle && tracing_ && traced_ && enabled_.load(std::memory_order_relaxed)) {
        return request(Wish::budget); // threads need no other collection that could be its last pause
    }
    watching_.store(watches, std::memory_order_seq_cst);
    if (phase_.load(std::memory_order_seq_cst) == static_cast<std::uint32_t>(Phase::requested)) {
        return; // by somebody who may have thought that this thread watches
    }
    const bool decays = heap_.freeBytes() > pacer_.cache() + pacer_.cache() / 4;
    const bool rang = sleep(heard, watches ? std::min(deadline_, decayTime) : decays ? decayTime : os::forever);
    if (!rang && !watches && pauses == pauses_.load(std::memory_order_relaxed) && phase() == Phase::idle) {
        heap_.purge(pacer_.cache());
    }
}

/** A collection is requested: do it when all have stopped, and name those who have not within the deadline. */
void Collector::awaitThreads(std::uint32_t heard) {
    assertOnDuty();
    endRunningOnWithoutLate();
    if (meet()) {
        cycle();
        return;
    }
    const std::uint64_t now = os::now();
    const std::uint64_t waited = now - std::min(now, requestedAt_.load(std::memory_order_relaxed));
    if (waited >= patience_) {
        nameLate(noteLate(), waited);
        patience_ *= 2; // the message comes again, ever more rarely
    }
    sleep(heard, patience_ - std::min(patience_, waited));
}

/** On duty. @return Whether a collection is requested and all threads have stopped for it. */
bool Collector::meet() {
    assertOnDuty();
    if (phase() != Phase::requested) {
        return false;
    }
    if (isRunningOn()) {
        if (!rendezvous_.empty()) {
            return false;
        }
        // Whoever comes before the gate is closed has to stop again: while threads run on the gate is open.
        endRunningOn(Course::stop);
    }
    rendezvous_.close();
    rendezvous_.setWanted(true);
    return rendezvous_.stopped();
}

/** Threads have the processor for a while between slices, if any is there to use it. @return false: look again. */
bool Collector::betweenSlices(std::uint32_t heard) {
    assertOnDuty();
    const std::uint64_t now = os::now();
    if (now >= restUntil_ || !rendezvous_.matters()) {
        return true;
    }
    sleep(heard, restUntil_ - now);
    return false;
}

// ---- A thread that stops -------------------------------------------------------------------------------------------

/** While this exists the calling thread, who has the duty, is the collector. */
class Collector::StandIn {
public:
    explicit StandIn(Collector& collector) MPR_REQUIRES(collector.duty_) : collector_(collector) {
        collector_.standsIn_ = true;
    }
    ~StandIn() {
        os::assertHeld(collector_.duty_);
        collector_.standsIn_ = false;
    }
    StandIn(const StandIn&) = delete;
    StandIn& operator=(const StandIn&) = delete;

private:
    Collector& collector_;
};

/** The calling thread stops for long. If it was the last, the collector's thread has to do what threads would have done. */
void Collector::stepOut() {
    afterLeaving(rendezvous_.leave());
}

void Collector::afterLeaving(bool last) {
    if (last && (phase() == Phase::requested || assists(Assist::marking | Assist::sweeping))) {
        recall();
    }
}

/** Step out as a thread that the others may be running on without. */
void Collector::stepOut(Mutator& m) {
    // The count comes first: whoever gives up on late threads writes it, too, before its second look at who runs. So it
    // finds this one gone then, or what it has noted is seen here.
    const bool last = rendezvous_.leave();
    if (m.late.load(std::memory_order_relaxed)) {
        os::Locked locked(threadsLock_);
        cameLast(m);
    }
    afterLeaving(last);
}

/** The collector's thread goes on instead of threads that assist. */
void Collector::recall() {
    assists_.store(0, std::memory_order_relaxed);
    ring();
}

/**
    The calling thread has stopped for a moment. When a collection is wanted and nobody is on duty it does it, if it is the last to
    stop, and closes the gate for it, if not; when threads assist it does a portion.
    @return Whether nothing more has to be waited for than the gate.
 */
bool Collector::serve() {
    bool served = false;
    for (;;) {
        const Phase seen = phase();
        const bool collects = seen == Phase::requested;
        const bool helps = !served && ((seen == Phase::idle && assists(Assist::marking)) ||
                                       (seen == Phase::sweeping && assists(Assist::sweeping)));
        if (!collects && !helps) {
            return served;
        }
        if (!duty_.tryLock()) {
            if (collects && rendezvous_.empty()) {
                ring();
            }
            return served || (helps && !pending_.load(std::memory_order_relaxed));
        }
        const bool calls = collects ? meet() && collectHere() : assist();
        duty_.unlock();
        if (calls) {
            ring();
        }
        served = true;
        if (collects && !rendezvous_.empty()) {
            return true;
        }
    }
}

/** All have stopped: be the collector for the pause, and for the begin of the sweep. @return Whether its thread has to go on. */
bool Collector::collectHere() {
    assertOnDuty();
    const StandIn here(*this);
    pause();
    stats_.stoodIn.fetch_add(1, std::memory_order_relaxed);
    if (phase() == Phase::freeing && assists(Assist::sweeping) && !callsFree()) {
        sweepHere();
    }
    if (phase() == Phase::idle) {
        goOn();
    }
    return isLeft();
}

/** Be the collector for a portion of what it would do beside the threads. @return Whether its thread has to go on. */
bool Collector::assist() {
    assertOnDuty();
    const StandIn here(*this);
    if (phase() == Phase::sweeping && assists(Assist::sweeping)) {
        sweepHere();
        if (phase() == Phase::idle) {
            goOn();
        }
    } else if (phase() == Phase::idle && assists(Assist::marking)) {
        clearWanted();
        const bool done = markBeside(os::now() + portion());
        stats_.assists.fetch_add(1, std::memory_order_relaxed);
        ++portions_;
        if (done) {
            assists_.store(0, std::memory_order_relaxed); // and the next collection is the last pause
        }
        setTrigger(heap_.allocatedSince());
    }
    return isLeft();
}

/** A portion of the sweep; all of it when threads would wait for it. */
void Collector::sweepHere() {
    assertOnDuty();
    stats_.assists.fetch_add(1, std::memory_order_relaxed);
    const bool hurries = pending_.load(std::memory_order_seq_cst);
    rendezvous_.setWanted(hurries); // the others need not yield meanwhile
    if (!reclaim(hurries ? os::forever : os::now() + portion())) {
        rendezvous_.setWanted(true); // whoever yields next goes on
    }
}

/** Whether there is work for the collector's thread. */
bool Collector::isLeft() const {
    assertOnDuty();
    switch (phase()) {
    case Phase::idle: return givesBack_ || marksAlone();
    case Phase::sweeping: return !assists(Assist::sweeping);
    default: return true;
    }
}

/**
    At the end of a pause: what threads are to do until the next. Nothing if there is a processor for the collector's thread
    or somebody waits for the end of it all; no marking if they have yielded too rarely for it.
 */
void Collector::chooseAssists(bool begins) {
    assertStopped();
    const bool keptUp = begins || portions_ >= portions / 2;
    portions_ = 0;
    unsigned chosen = 0;
    if (crowd_ >= processors_ && !trial_ && !urgent_ && !isForced() && !mustBegin()) {
        chosen = tracing_ && !traced_ && keptUp ? Assist::marking | Assist::sweeping : Assist::sweeping;
    }
    assists_.store(chosen, std::memory_order_relaxed);
}

/** Have threads called again when the budget is spent, or, if they mark, a part of it. @param since Is spent already. */
void Collector::setTrigger(std::size_t since) {
    const std::size_t budget = trigger();
    heap_.setTrigger(assists(Assist::marking) ? std::min(since + budget / (portions + 1), budget) : budget);
}

} // namespace mpr::gc
