/*
    late.cpp - Threads that do not come to a rendezvous: they are named, and the others run on without them.

    A collection needs all threads to stop. One that computes for a second without a yield would keep all that have stopped
    waiting for as long. So whoever has waited for the grace period, 5 ms the first time, gives up: it notes who still runs
    as late, opens the gate again, and all run on. The collection stays requested. When a thread that was late yields, ends
    or goes away to wait, all stop as before.

    Memory grows meanwhile, so threads may run on up to the redline only; without one up to three quarters of the hard limit;
    without that up to a quarter of the machine's memory. From there on they wait: the course is *spent* until the next pause.

        stop --grace has passed--> runsOn --one that was late yields--> stop
                                   runsOn --memory is used up--> spent --pause--> stop
 */
#include <algorithm>

#include "mpr/gc/collector.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

/** Who keeps a collection waiting. */
NamedThreads Collector::noteLate() {
    assertOnDuty();
    NamedThreads late;
    os::Locked locked(threadsLock_);
    for (Mutator* m = mutators_; m; m = m->next) {
        if (m->state.load(std::memory_order_relaxed) != Mutator::State::running ||
            (isRunningOn() && !m->late.load(std::memory_order_relaxed))) {
            continue;
        }
        if (m->lateFor.exchange(rendezvousNumber_, std::memory_order_relaxed) != rendezvousNumber_) {
            stats_.late.fetch_add(1, std::memory_order_relaxed);
        }
        late.add(*m);
    }
    return late;
}

void Collector::nameLate(const NamedThreads& late, std::uint64_t waited) {
    for (const NamedThreads::Thread& thread : late) {
        os::Message message;
        message << "thread \"" << std::string_view(thread.name) << "\" keeps a collection waiting: no yield for "
                << waited / 1'000'000 << " ms; last yield ";
        if (thread.site) {
            message << "at " << thread.site << " ";
            message.code(thread.site);
        } else {
            message << "never";
        }
        os::log(os::Level::warning, message);
    }
    if (late.more() > 0) {
        os::Message message;
        os::log(os::Level::warning, message << late.more() << " more threads keep it waiting");
    }
}

/** Bytes that may be allocated before threads wait for those who are late. */
std::size_t Collector::roomToRunOn() {
    const heap::Limits limits = heap_.limits();
    const std::size_t most =
        limits.warn() != heap::Limits::none ? limits.warn()
        : limits.maximum() != heap::Limits::none
            ? limits.maximum() / 4 * 3
            : static_cast<std::size_t>(std::min<std::uint64_t>(os::ram() / 4, ~std::size_t{0} / 4));
    const std::size_t free = heap_.freeBytes();
    const std::size_t used = limits.committed() - std::min(limits.committed(), free) + pacer_.scattered();
    return most - std::min(most, used);
}

/** Note who runs. @return Whether anybody does. */
bool Collector::markLate() {
    os::Locked locked(threadsLock_);
    bool any = false;
    for (Mutator* m = mutators_; m; m = m->next) {
        const bool late = m->state.load(std::memory_order_relaxed) == Mutator::State::running;
        m->late.store(late, std::memory_order_relaxed);
        any = any || late;
    }
    return any;
}

/**
    The calling thread, which has stopped, has waited long enough. While somebody is on duty the gate is closed for other
    reasons, too: then it goes on waiting.
 */
void Collector::runOn() {
    if (phase() == Phase::requested && course_.load(std::memory_order_acquire) == Course::stop && duty_.tryLock()) {
        giveUpOnLate();
        duty_.unlock();
    }
}

void Collector::giveUpOnLate() {
    assertOnDuty();
    if (phase() != Phase::requested || course_.load(std::memory_order_acquire) != Course::stop) {
        return;
    }
    const std::size_t room = roomToRunOn();
    if (room <= trigger() / 8 || !markLate()) {
        return;
    }
    const std::size_t until = heap_.allocatedSince() + room;
    runsUntil_.store(until, std::memory_order_relaxed);
    heap_.setTrigger(until);
    // Set before the gate opens: whoever comes through and yields again must not stop. On duty nobody else leaves `stop`.
    course_.store(Course::runsOn, std::memory_order_seq_cst);
    if (rendezvous_.giveUp()) {
        givenUp_.fetch_add(1, std::memory_order_relaxed);
        // A thread may have been noted in the moment in which it went, and not have found itself late.
        endRunningOnWithoutLate();
    } else {
        endRunningOn();
    }
    progress_.fetch_add(1, std::memory_order_release);
    os::wakeAll(progress_);
}

/** A thread yields while others run on. @return Whether it was late: then all stop, and so must it. */
bool Collector::cameLate(Mutator& m) {
    if (!m.late.load(std::memory_order_relaxed)) {
        return false;
    }
    m.late.store(false, std::memory_order_relaxed);
    endRunningOn();
    return true;
}

void Collector::endRunningOn() {
    Course runsOn = Course::runsOn;
    course_.compare_exchange_strong(runsOn, Course::stop, std::memory_order_seq_cst);
}

/** Where none of those who run is late, nobody would ever end it. */
void Collector::endRunningOnWithoutLate() {
    assertOnDuty();
    if (!isRunningOn()) {
        return;
    }
    bool any = false;
    {
        os::Locked locked(threadsLock_);
        for (const Mutator* m = mutators_; m && !any; m = m->next) {
            any = m->late.load(std::memory_order_relaxed) &&
                  m->state.load(std::memory_order_relaxed) == Mutator::State::running;
        }
    }
    if (!any) {
        endRunningOn();
    }
}

/** A budget is spent. If it is the one of those who run on they wait from here on. */
void Collector::stopRunningOn() {
    if (heap_.allocatedSince() < runsUntil_.load(std::memory_order_relaxed)) {
        return;
    }
    Course runsOn = Course::runsOn;
    course_.compare_exchange_strong(runsOn, Course::spent, std::memory_order_seq_cst);
}

void Collector::forgetLate() {
    assertStopped();
    givenUp_.store(0, std::memory_order_relaxed);
    if (course_.exchange(Course::stop, std::memory_order_seq_cst) != Course::stop) {
        os::Locked locked(threadsLock_);
        for (Mutator* m = mutators_; m; m = m->next) {
            m->late.store(false, std::memory_order_relaxed);
        }
    }
}

} // namespace mpr::gc
