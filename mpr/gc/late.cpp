// SPDX-License-Identifier: MIT
/*
    late.cpp - Threads run on without those who are late.
 */
#include "mpr/gc/late.hpp"

#include <algorithm>

#include "mpr/os/log.hpp"

namespace mpr::gc {

namespace {
/**
    Nanoseconds: a thread that yields this soon after its last yield is not late. A fraction of the first grace period.
 */
constexpr std::uint64_t promptly = 1'000'000;
/** Nanoseconds: no thread waits longer for one that gets no processor; where programs compete for those, tens of milliseconds. */
constexpr std::uint64_t longestStarved = 250'000'000;
/** Nanoseconds: a wait for those that takes longer puts off the next one. */
constexpr std::uint64_t mostlyStarved = 50'000'000;
/** Nanoseconds: threads that are waited for are looked at this often at least. */
constexpr std::uint64_t longestNap = 25'000'000;
} // namespace

std::uint64_t Late::nap() const {
    return std::max(firstNap(), std::min(cycle_.waited(os::now()) / 4, longestNap));
}

/** Find what a running thread does, as far as the system says. A first look only notes what the second compares with. */
Late::Doing Late::lookAt(Mutator& m, std::uint64_t now) const {
    const std::uint32_t thread = m.lookedAt.thread.load(std::memory_order_relaxed);
    const std::uint64_t used = os::usedBy(thread);
    if (m.lookedAt.look != looks_) {
        m.lookedAt.look = looks_;
        m.lookedAt.at = now;
        m.lookedAt.used = used;
        return Doing::unknown;
    }
    const bool computes = used - m.lookedAt.used >= std::min((now - m.lookedAt.at) / 4, promptly);
    return computes ? Doing::computes : os::isReady(thread) ? Doing::starves : Doing::blocks;
}

/** Look at all threads that have not stopped. @return The greatest of what they do. */
Late::Doing Late::lookAtRunning(std::uint64_t now) {
    const MutatorList::Locked list(mutators_);
    Doing all = Doing::unknown;
    for (Mutator& m : list) {
        if (m.state.load(std::memory_order_relaxed) == Mutator::State::running) {
            all = std::max(all, lookAt(m, now));
            if (all == Doing::computes) {
                break;
            }
        }
    }
    return all;
}

/** From here on it takes two looks again to know what threads do. @param waited For those so far, in nanoseconds. */
void Late::lookAnew(std::uint64_t waited) {
    if (doing_ == Doing::starves && waited > mostlyStarved) {
        starvesFrom_ = os::now() + Grace::rest * (waited - mostlyStarved);
    }
    ++looks_;
    lookedAt_ = 0;
    doing_ = Doing::unknown;
}

/**
    Whether those who have stopped should wait on: for a second look, or for threads that get no processor. These get one the
    sooner the more of the others stop. But a thread of real time cannot know how soon that is with one of lesser priority.
 */
bool Late::waitsOn() {
    const std::uint64_t now = os::now();
    if (now - lookedAt_ >= firstNap()) {
        lookedAt_ = now;
        doing_ = lookAtRunning(now);
    } // else another thread has just done so
    return doing_ == Doing::unknown || (doing_ == Doing::starves && cycle_.waited(now) < longestStarved &&
                                        now >= starvesFrom_ && !os::waitsInherit());
}

/** Whether a running thread wants a processor and has had hardly any since it was looked at for this collection. */
bool Late::hasStarved(const Mutator& m, std::uint64_t now) const {
    const std::uint32_t thread = m.lookedAt.thread.load(std::memory_order_relaxed);
    return m.lookedAt.at >= cycle_.requestedAt() && os::usedBy(thread) - m.lookedAt.used < (now - m.lookedAt.at) / 4 &&
           os::isReady(thread);
}

NamedThreads Late::note() {
    cycle_.assertOnDuty();
    NamedThreads late;
    const std::uint64_t now = os::now();
    const MutatorList::Locked list(mutators_);
    for (Mutator& m : list) {
        if (&m == attached || m.parked.load(std::memory_order_relaxed) ||
            m.state.load(std::memory_order_relaxed) != Mutator::State::running ||
            (isRunningOn() && (!m.late.load(std::memory_order_relaxed) ||
                               m.passedAt.load(std::memory_order_relaxed) >= cycle_.requestedAt()))) {
            continue;
        }
        if (m.lateFor.exchange(rendezvousNumber_, std::memory_order_relaxed) != rendezvousNumber_) {
            stats_.late.fetch_add(1, std::memory_order_relaxed);
        }
        late.add(m, hasStarved(m, now));
    }
    return late;
}

void Late::name(const NamedThreads& late, std::uint64_t waited) {
    for (const NamedThreads::Thread& thread : late) {
        os::Message message;
        message << "thread \"" << std::string_view(thread.name)
                << "\" keeps a collection waiting: " << (thread.starves ? "hardly a processor" : "no yield") << " for "
                << waited / 1'000'000 << " ms; last yield ";
        if (thread.site) {
            message << "at " << thread.site << " ";
            message.code(thread.site);
        } else {
            message << "never";
        }
        message << (thread.starves ? "; other threads or processes have them"
                                   : "; it is to call mprYield, with MPR_YIELD_STICKY around a call that blocks");
        os::log(os::Level::warning, message);
    }
    if (late.more() > 0) {
        os::Message message;
        os::log(os::Level::warning, message << late.more() << " more threads keep it waiting");
    }
}

/** Bytes that may be allocated before threads wait for those who are late. */
std::size_t Late::roomToRunOn() const {
    const heap::Limits limits = heap_.limits();
    const std::size_t most =
        limits.warn() != heap::Limits::none ? limits.warn()
        : limits.maximum() != heap::Limits::none
            ? limits.maximum() / 4 * 3
            : static_cast<std::size_t>(std::min<std::uint64_t>(os::ram() / 4, ~std::size_t{0} / 4));
    const std::size_t free = heap_.freeBytes();
    const std::size_t used =
        limits.outside() + limits.committed() - std::min(limits.committed(), free) + budget_.pacer().scattered();
    return most - std::min(most, used);
}

/** Let threads run on while this much room lasts. */
void Late::boundRunningOn(std::size_t room) {
    const std::size_t until = heap_.allocatedSince() + room;
    runsUntil_.store(until, std::memory_order_relaxed);
    heap_.setTrigger(until);
}

/**
    The calling thread may be none of those that are counted, so a pause may come in between. After it, allocation counts from
    zero again. If nobody runs on any more, threads have to be called when their budget is spent.
 */
void Late::repace() {
    for (bool bound = false;; bound = true) {
        const std::uint32_t pauses = cycle_.pauses().load(std::memory_order_acquire);
        if (!isRunningOn()) {
            if (bound) {
                budget_.rearm();
            }
            return;
        }
        boundRunningOn(roomToRunOn());
        if (isRunningOn() && cycle_.pauses().load(std::memory_order_acquire) == pauses) {
            return;
        }
    }
}

/** Note all running threads as late. @return Whether there are any. */
bool Late::markLate() {
    const MutatorList::Locked list(mutators_);
    bool any = false;
    for (Mutator& m : list) {
        const bool late = m.state.load(std::memory_order_relaxed) == Mutator::State::running;
        m.late.store(late, std::memory_order_relaxed);
        any = any || late;
    }
    return any;
}

/** If another thread is on duty, the gate may be closed for other reasons, and the calling thread continues to wait. */
void Late::runOn() {
    if (cycle_.phase() == Phase::requested && course_.load(std::memory_order_acquire) == Course::stop &&
        cycle_.tryDuty()) {
        giveUpOnLate();
        cycle_.giveUpDuty();
    }
}

void Late::giveUpOnLate() {
    cycle_.assertOnDuty();
    if (cycle_.phase() != Phase::requested || course_.load(std::memory_order_acquire) != Course::stop) {
        return;
    }
    if (waitsOn()) {
        return;
    }
    const std::size_t room = roomToRunOn();
    if (room <= budget_.trigger() / 8 || !markLate()) {
        return;
    }
    boundRunningOn(room);
    // Set before the gate opens: a thread that goes on and yields again must not stop. On duty nobody else leaves
    // `stop`.
    course_.store(Course::runsOn, std::memory_order_seq_cst);
    if (cycle_.rendezvous().giveUp()) {
        const std::uint64_t now = os::now();
        lookAnew(cycle_.waited(now));
        grace_.failed(now);
        boundRunningOn(roomToRunOn()); // a thread that has set limits since then may not have seen the course
        // A thread may have been noted just as it left, without having found itself late.
        endRunningOnWithoutLate();
    } else {
        endRunningOn(Course::stop);
    }
    cycle_.announce();
}

bool Late::passesBy(Mutator& m) {
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
        // It was late once, perhaps for want of a processor. Neither should others wait for it, nor it for them.
        const MutatorList::Locked list(mutators_);
        m.late.store(false, std::memory_order_relaxed);
        m.late.store(!isAnyLate(list), std::memory_order_relaxed);
    }
    return true;
}

bool Late::gather(Mutator& m) {
    {
        const MutatorList::Locked list(mutators_);
        if (cameLast(list, m)) {
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

bool Late::cameLast(const MutatorList::Locked& list, Mutator& m) {
    m.late.store(false, std::memory_order_relaxed);
    const bool last = !isAnyLate(list);
    if (last) {
        endRunningOn(Course::stop);
    }
    return last;
}

/** Whether a running thread is late. */
bool Late::isAnyLate(const MutatorList::Locked& list) {
    for (const Mutator& m : list) {
        if (m.late.load(std::memory_order_relaxed) &&
            m.state.load(std::memory_order_relaxed) == Mutator::State::running) {
            return true;
        }
    }
    return false;
}

void Late::endRunningOnWithoutLate() {
    cycle_.assertOnDuty();
    if (!isRunningOn()) {
        return;
    }
    {
        const MutatorList::Locked list(mutators_);
        if (isAnyLate(list)) {
            return;
        }
    }
    endRunningOn(Course::stop);
}

/** A budget is spent. If it was that of running on, threads wait from here on; else another was set meanwhile. */
void Late::stopRunningOn() {
    const std::size_t until = runsUntil_.load(std::memory_order_relaxed);
    if (heap_.allocatedSince() >= until) {
        endRunningOn(Course::spent);
    } else {
        heap_.setTrigger(until); // one that has been passed says nothing any more
    }
}

/** Threads have to stop. Wake late ones that wait for others, to wait with all. */
void Late::endRunningOn(Course next) {
    Course runsOn = Course::runsOn;
    if (course_.compare_exchange_strong(runsOn, next, std::memory_order_seq_cst)) {
        cycle_.announce();
    }
}

void Late::forget(std::uint64_t took) {
    cycle_.assertStopped();
    ++rendezvousNumber_;
    lookAnew(took);
    grace_.met(took);
    // The course ends first: a thread in repace looks at it after it has had the heap's lock, which rearm takes, too.
    const bool ranOn = course_.exchange(Course::stop, std::memory_order_seq_cst) != Course::stop;
    if (runsUntil_.exchange(0, std::memory_order_relaxed) != 0) {
        budget_.rearm(); // a slice would leave the trigger of running on, or none
    }
    if (ranOn) {
        const MutatorList::Locked list(mutators_);
        for (Mutator& m : list) {
            m.late.store(false, std::memory_order_relaxed);
        }
    }
}

} // namespace mpr::gc
