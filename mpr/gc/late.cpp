/*
    late.cpp - Threads that do not come to a rendezvous: they are named, and the others run on without them.

    A collection needs all threads to stop. One that computes for a second without a yield would keep all that have stopped
    waiting for as long. So whoever has waited for the grace period (grace.hpp) gives up: it notes who still runs as late,
    opens the gate again, and all run on. The collection stays requested.

    When one that was late yields, ends or goes away to wait, all stop as before, if it was the only one. Otherwise it
    waits for the other late ones by itself, again for a grace period, while the rest runs on: late threads *gather*. The last
    of them stops the rest. One that gathers in vain is late again. Until it is time for the next wait, late threads that
    yield pass by, too.

    Memory grows meanwhile, so threads may run on up to the redline only; without one up to three quarters of the hard limit;
    without that up to a quarter of the machine's memory. From there on they wait: the course is *spent* until the next pause.

        stop --grace has passed--> runsOn --all that were late have stopped--> stop
                                   runsOn --memory is used up--> spent --pause--> stop
 */
#include <algorithm>

#include "mpr/gc/collector.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

namespace {
/** Who yields so soon after its last yield is not late: nanoseconds. */
constexpr std::uint64_t promptly = 1'000'000;
} // namespace

/** Who keeps a collection, or the calling thread, waiting. */
NamedThreads Collector::noteLate() {
    cycle_.assertOnDuty();
    NamedThreads late;
    os::Locked locked(threadsLock_);
    for (Mutator* m = mutators_; m; m = m->next) {
        if (m == attached || m->parked.load(std::memory_order_relaxed) ||
            m->state.load(std::memory_order_relaxed) != Mutator::State::running ||
            (isRunningOn() && (!m->late.load(std::memory_order_relaxed) ||
                               m->passedAt.load(std::memory_order_relaxed) >= cycle_.requestedAt()))) {
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
    const std::size_t used = limits.committed() - std::min(limits.committed(), free) + budget_.pacer().scattered();
    return most - std::min(most, used);
}

/** Threads that run on do so while this room lasts. */
void Collector::boundRunningOn(std::size_t room) {
    const std::size_t until = heap_.allocatedSince() + room;
    runsUntil_.store(until, std::memory_order_relaxed);
    heap_.setTrigger(until);
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
    if (cycle_.phase() == Phase::requested && course_.load(std::memory_order_acquire) == Course::stop &&
        cycle_.tryDuty()) {
        giveUpOnLate();
        cycle_.giveUpDuty();
    }
}

void Collector::giveUpOnLate() {
    cycle_.assertOnDuty();
    if (cycle_.phase() != Phase::requested || course_.load(std::memory_order_acquire) != Course::stop) {
        return;
    }
    const std::size_t room = roomToRunOn();
    if (room <= budget_.trigger() / 8 || !markLate()) {
        return;
    }
    boundRunningOn(room);
    // Set before the gate opens: whoever comes through and yields again must not stop. On duty nobody else leaves `stop`.
    course_.store(Course::runsOn, std::memory_order_seq_cst);
    if (cycle_.rendezvous().giveUp()) {
        grace_.failed(os::now());
        boundRunningOn(roomToRunOn()); // whoever has set limits since the look at them may not have seen the course
        // A thread may have been noted in the moment in which it went, and not have found itself late.
        endRunningOnWithoutLate();
    } else {
        endRunningOn(Course::stop);
    }
    cycle_.announce();
}

/** A thread yields. @return Whether it runs on with others, and need not stop. */
bool Collector::passesBy(Mutator& m) {
    if (!isRunningOn()) {
        return false;
    }
    if (!m.late.load(std::memory_order_relaxed)) {
        return true;
    }
    const std::uint64_t now = os::now();
    if (grace_.isDue(now)) {
        return false;
    }
    const std::uint64_t since = now - m.passedAt.load(std::memory_order_relaxed);
    m.passedAt.store(now, std::memory_order_relaxed);
    if (since < promptly) {
        // It was late once, without its processor, say. The others are not to wait for it, nor it for those.
        os::Locked locked(threadsLock_);
        m.late.store(false, std::memory_order_relaxed);
        m.late.store(!isAnyLate(), std::memory_order_relaxed);
    }
    return true;
}

/**
    The calling thread, which was late, has stopped. Wait for others that are late, while the rest runs on.
    @return Whether it need wait for the gate only. Else they did not come: it is late again, and is to go on.
 */
bool Collector::gather(Mutator& m) {
    {
        os::Locked locked(threadsLock_);
        if (cameLast(m)) {
            return true;
        }
    }
    const std::uint64_t end = os::now() + grace_.wait();
    for (;;) {
        const std::uint32_t seen = cycle_.progress();
        if (!isRunningOn() || cycle_.phase() != Phase::requested || cycle_.rendezvous().empty() || cycle_.ends()) {
            return true;
        }
        const std::uint64_t now = os::now();
        if (now >= end) {
            grace_.failed(now);
            m.passedAt.store(now, std::memory_order_relaxed);
            m.late.store(true, std::memory_order_relaxed);
            return false;
        }
        cycle_.awaitProgress(seen, end - now);
    }
}

/** A thread that was late has stopped, or goes. @return Whether nobody is late any more: then all stop. */
bool Collector::cameLast(Mutator& m) {
    os::assertHeld(threadsLock_);
    m.late.store(false, std::memory_order_relaxed);
    const bool last = !isAnyLate();
    if (last) {
        endRunningOn(Course::stop);
    }
    return last;
}

/** Whether one that runs is late. */
bool Collector::isAnyLate() const {
    os::assertHeld(threadsLock_);
    for (const Mutator* m = mutators_; m; m = m->next) {
        if (m->late.load(std::memory_order_relaxed) &&
            m->state.load(std::memory_order_relaxed) == Mutator::State::running) {
            return true;
        }
    }
    return false;
}

/** Where none of those who run is late, nobody would ever end it. */
void Collector::endRunningOnWithoutLate() {
    cycle_.assertOnDuty();
    if (!isRunningOn()) {
        return;
    }
    {
        os::Locked locked(threadsLock_);
        if (isAnyLate()) {
            return;
        }
    }
    endRunningOn(Course::stop);
}

/** A budget is spent. If it is the one of those who run on they wait from here on; else somebody has set another meanwhile. */
void Collector::stopRunningOn() {
    const std::size_t until = runsUntil_.load(std::memory_order_relaxed);
    if (heap_.allocatedSince() >= until) {
        endRunningOn(Course::spent);
    } else {
        heap_.setTrigger(until); // one that has been passed says nothing any more
    }
}

/** Threads are to stop. Late ones that wait for others are waked, to wait with all. */
void Collector::endRunningOn(Course next) {
    Course runsOn = Course::runsOn;
    if (course_.compare_exchange_strong(runsOn, next, std::memory_order_seq_cst)) {
        cycle_.announce();
    }
}

/** @param took From the request to the rendezvous, in nanoseconds. */
void Collector::forgetLate(std::uint64_t took) {
    cycle_.assertStopped();
    grace_.met(took);
    if (runsUntil_.exchange(0, std::memory_order_relaxed) != 0) {
        budget_.setTrigger(heap_.allocatedSince()); // a slice would leave the one of those who ran on, or none
    }
    if (course_.exchange(Course::stop, std::memory_order_seq_cst) != Course::stop) {
        os::Locked locked(threadsLock_);
        for (Mutator* m = mutators_; m; m = m->next) {
            m->late.store(false, std::memory_order_relaxed);
        }
    }
}

} // namespace mpr::gc
