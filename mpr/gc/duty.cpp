// SPDX-License-Identifier: MIT
/*
    duty.cpp - The collector's thread, and threads that stand in for it.
 */
#include "mpr/gc/duty.hpp"

#include <algorithm>
#include <utility>

#include "mpr/gc/suspension.hpp"
#include "mpr/os/pages.hpp"

namespace mpr::gc {

bool Duty::open(std::size_t stack) {
    own_.isCollector = true;
    own_.beingFreed.enter(nullptr);
    const os::ThreadTraits traits{.stackSize = stack, .joinable = true, .ofRuntime = true};
    const auto entry = [](void* self) { static_cast<Duty*>(self)->run(); };
    if (!os::startThread(thread_, "mpr-collector", entry, this, traits)) {
        os::Message message;
        os::log(os::Level::error, message << "mprCreate: the " << (os::isHosted() ? "host or the " : "")
                                          << "system gives no thread for the collector");
        return false;
    }
    // No thread may stand in for the collector's before that has begun.
    while (cycle_.progress() == 0) {
        cycle_.awaitProgress(0);
    }
    return true;
}

void Duty::close() {
    cycle_.end();
    os::joinThread(thread_);
}

// ---- The collector's thread ----------------------------------------------------------------------------------------

/** Sleep until the bell rings after `heard`. Threads may take the duty meanwhile. @return false: timed out. */
bool Duty::sleep(std::uint32_t heard, std::uint64_t timeout) {
    cycle_.assertOnDuty();
    cycle_.giveUpDuty();
    const bool rang = cycle_.awaitBell(heard, timeout);
    takeDuty();
    return rang;
}

/**
    Take the duty back. A thread that stands in gives it up soon, unless a manager's MARK call does not return: name
    that.
 */
void Duty::takeDuty() {
    CallWatch watch;
    std::uint64_t warnAfter = waits_.deadline();
    for (;;) {
        const std::uint32_t seen = cycle_.progress();
        if (cycle_.tryDuty()) {
            return;
        }
        if (cycle_.phase() != Phase::marking) {
            cycle_.takeDuty();
            return;
        }
        if (!cycle_.awaitProgress(seen, waits_.markingNap())) {
            waits_.watchMarking(watch, warnAfter);
        }
    }
}

/** The collector's thread. It has the duty from the start: open() waits for that. */
void Duty::run() {
    attached = current = &own_;
    mayNotEnd(&own_);
    cycle_.takeDuty();
    warnAfter_ = waits_.deadline();
    cycle_.announce();
    collection_.tracing().settle(os::currentThread());
    os::wakeModestly(); // not in the place of the thread that rings: another processor is free, or threads assist
    for (;;) {
        // Read before stop_ and everything else is looked at, so that a later wait returns if any of it has changed.
        const std::uint32_t heard = cycle_.heard();
        const bool stops = cycle_.ends();
        if (cycle_.phase() == Phase::freeing ||
            (cycle_.phase() == Phase::sweeping && (stops || !cycle_.assists().with(Assists::sweeping)))) {
            collection_.reclaim(); // what a thread has left
            cycle_.beginNext();
        } else if (stops) {
            break;
        } else if (cycle_.phase() == Phase::requested) {
            if (cycle_.major().isStarved()) {
                collection_.tracing().advance();
            }
            awaitThreads(heard);
        } else if (cycle_.phase() != Phase::idle || !marksAlone() || !advanceMajor(heard)) {
            idle(heard);
        }
    }
    cycle_.rendezvous().open(); // a collection may have been waited for
    cycle_.giveUpDuty();
    mayNotEnd(nullptr);
    attached = current = nullptr;
}

/** Sleep, as there is nothing to do. */
void Duty::idle(std::uint32_t heard) {
    cycle_.assertOnDuty();
    // As long as this thread has the duty, idle can only become requested.
    const bool isIdle = cycle_.phase() == Phase::idle;
    if (isIdle) {
        collection_.givingBack().catchUp();
    }
    const std::uint32_t pauses = cycle_.pauses().load(std::memory_order_relaxed);
    const bool watches = std::exchange(pausesSeen_, pauses) != pauses;
    if (!watches && cycle_.assists().with(Assists::marking | Assists::sweeping)) {
        return cycle_.endAssists(); // threads do not get on with it
    }
    if (!watches && isIdle && cycle_.major().isTracing() && cycle_.major().isTraced() && cycle_.enabled()) {
        return cycle_.request(Wish::budget); // threads need no other collection that could be its last pause
    }
    if (!cycle_.mayRest(watches)) {
        return;
    }
    const bool rang = sleep(heard, watches ? std::min(waits_.deadline(), GivingBack::decayTime)
                                   : collection_.givingBack().decays() ? GivingBack::decayTime
                                                                       : os::forever);
    if (!rang && !watches && pauses == cycle_.pauses().load(std::memory_order_relaxed) &&
        cycle_.phase() == Phase::idle) {
        collection_.givingBack().decay();
    }
}

/** A collection is requested: do it when all have stopped, and name those who have not within the deadline. */
void Duty::awaitThreads(std::uint32_t heard) {
    cycle_.assertOnDuty();
    late_.endRunningOnWithoutLate();
    if (haveAllStopped()) {
        collect();
        return;
    }
    const std::uint64_t now = os::now();
    const std::uint64_t waited = cycle_.waited(now);
    if (waited >= warnAfter_) {
        Late::name(late_.note(), waited);
        warnAfter_ *= 2; // the message comes again, ever more rarely
    }
    sleep(heard, warnAfter_ - std::min(warnAfter_, waited));
}

void Duty::collect() {
    cycle_.assertOnDuty();
    collection_.pause();
    warnAfter_ = waits_.deadline();
    if (cycle_.phase() == Phase::freeing) {
        cycle_.assists().endSweeping();
        collection_.reclaim();
    }
    cycle_.beginNext();
}

/** On duty. @return Whether a collection is requested and all threads have stopped for it. */
bool Duty::haveAllStopped() {
    cycle_.assertOnDuty();
    if (cycle_.phase() != Phase::requested) {
        return false;
    }
    if (late_.isRunningOn()) {
        if (!cycle_.rendezvous().empty()) {
            return false;
        }
        // A thread that enters before the gate is closed has to stop again: the gate is open while threads run on.
        late_.endRunningOn();
    }
    return cycle_.closeGate();
}

/** Mark beside the threads, then ask for a pause. @return false when there is nothing to do until the bell rings. */
bool Duty::advanceMajor(std::uint32_t heard) {
    cycle_.assertOnDuty();
    if (!collection_.tracing().advance()) {
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

/** Leave the processor to threads for a while between slices, if any can use it. @return false: look again. */
bool Duty::betweenSlices(std::uint32_t heard) {
    cycle_.assertOnDuty();
    const std::uint64_t now = os::now();
    if (now >= collection_.restUntil() || !cycle_.rendezvous().matters()) {
        return true;
    }
    sleep(heard, collection_.restUntil() - now);
    return false;
}

// ---- A thread that stops -------------------------------------------------------------------------------------------

/** While this exists the calling thread, which has the duty, is the collector. */
class Duty::StandIn {
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

bool Duty::serve() {
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
            return served || (helps && !threadsWait());
        }
        const bool calls = collects ? haveAllStopped() && collectHere() : assist();
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

/**
    All have stopped: be the collector for the pause and the start of the sweep. @return Whether its thread has to
    continue.
 */
bool Duty::collectHere() {
    cycle_.assertOnDuty();
    const StandIn here(cycle_);
    collection_.pause();
    warnAfter_ = waits_.deadline();
    stats_.stoodIn.fetch_add(1, std::memory_order_relaxed);
    if (cycle_.phase() == Phase::freeing && cycle_.assists().with(Assists::sweeping) &&
        !collection_.sweeping().hasFinalizers()) {
        sweepHere();
    }
    if (!cycle_.isReclaiming()) {
        cycle_.beginNext();
    }
    return isLeft();
}

/**
    Be the collector for an incremental step of concurrent work. @return Whether the collector's thread has to continue.
 */
bool Duty::assist() {
    cycle_.assertOnDuty();
    const StandIn here(cycle_);
    const Suspension::Part assisting(Loss::assisting);
    if (cycle_.phase() == Phase::sweeping && cycle_.assists().with(Assists::sweeping)) {
        sweepHere();
        if (cycle_.phase() == Phase::idle) {
            cycle_.beginNext();
        }
    } else if (cycle_.phase() == Phase::idle && cycle_.assists().with(Assists::marking)) {
        cycle_.clearWanted();
        const bool done = collection_.tracing().advance(os::now() + collection_.stepTime());
        stats_.assists.fetch_add(1, std::memory_order_relaxed);
        cycle_.assists().count();
        if (done) {
            cycle_.assists().end(); // and the next collection is the last pause
        }
        budget_.rearm();
    }
    return isLeft();
}

/** Whether threads can do nothing but wait for the sweep. */
bool Duty::threadsWait() const {
    return cycle_.isPending() || (cycle_.isReclaiming() && !budget_.hasSupply());
}

/** Do a step of the sweep, or all of it when threads would wait for it. */
void Duty::sweepHere() {
    cycle_.assertOnDuty();
    const Suspension::Part assisting(Loss::assisting);
    stats_.assists.fetch_add(1, std::memory_order_relaxed);
    const bool hurries = threadsWait();
    cycle_.rendezvous().setWanted(hurries); // the others need not yield meanwhile
    if (!collection_.reclaim(hurries ? os::forever : os::now() + collection_.stepTime())) {
        cycle_.rendezvous().setWanted(true); // whoever yields next goes on
    }
}

/** Whether there is work for the collector's thread. */
bool Duty::isLeft() const {
    cycle_.assertOnDuty();
    switch (cycle_.phase()) {
    case Phase::idle: return collection_.givingBack().isLeft() || marksAlone();
    case Phase::sweeping: return !cycle_.assists().with(Assists::sweeping);
    default: return true;
    }
}

} // namespace mpr::gc
