/*
    threads.cpp - The collector as mutators meet it: attach, yield, wait, resume.
 */
#include <algorithm>
#include <cstring>
#include <new>

#include "mpr/collect.h"
#include "mpr/gc/collector.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

constinit MPR_PER_THREAD Mutator* current = nullptr;
constinit MPR_PER_THREAD Mutator* attached = nullptr;

namespace {
/** Nothing waits longer for a sweep that lags behind allocation; the hard limit holds anyway. */
constexpr std::uint64_t longestStall = 100'000'000;
/** The same while managers free, and for one call of a manager when memory is short: it may be waiting for what the caller
    holds. */
constexpr std::uint64_t longestStallFreeing = 10'000'000;
/** While managers free, who waits looks so often whether one is stuck. */
constexpr std::uint64_t look = 20'000'000;
/** Who waits for what nobody rings for looks so often. */
constexpr std::uint64_t poll = 100'000;
} // namespace

Mutator* Collector::prepare(const char* name, bool service, void* thread) {
    heap::Shortage shortage = heap::Shortage::none;
    void* memory = heap_.allocateShared(heap::granulesFor(sizeof(Mutator)), heap::head::held, true, shortage);
    if (!memory) {
        return nullptr;
    }
    auto* m = new (memory) Mutator;
    std::strncpy(m->name, name ? name : "", sizeof(m->name) - 1);
    m->ofService = service;
    m->thread = thread;
    MutatorList::Locked(mutators_).add(*m);
    return m;
}

void Collector::attach(Mutator* m) {
    m->id = os::currentThread();
    heap_.attach(m->local);
    resume(*m);
    // A rendezvous may have passed between the two lists; the colour is stable now.
    m->local.newborn = heap_.colours().newborn();
}

void Collector::abandon(Mutator* m) {
    MutatorList::Locked list(mutators_);
    list.remove(*m);
    heap_.freeShared(heap_.find(m), m);
}

void Collector::detach(Mutator* m) {
    // Running until the local state is back in the heap: no collection starts meanwhile.
    resume(*m);
    assertRunning(*m);
    tracing_.leave(*m);
    heap_.detach(m->local);
    leaving_.fetch_add(1, std::memory_order_relaxed);
    {
        // All of it under the lock: whoever finds the thread gone there may end the runtime.
        MutatorList::Locked list(mutators_);
        if (m->late.load(std::memory_order_relaxed)) {
            late_.cameLast(list, *m); // while it is there
        }
        list.remove(*m);
        heap_.freeShared(heap_.find(m), m);
        stepOut();
    }
    leaving_.fetch_sub(1, std::memory_order_release);
    departures_.fetch_add(1, std::memory_order_release);
    os::wakeAll(departures_);
}

int Collector::threads(bool all) {
    const MutatorList::Locked list(mutators_);
    int count = 0;
    for (const Mutator& m : list) {
        count += all || (!m.ofService && !m.thread);
    }
    return count;
}

bool Collector::isAttached(os::ThreadId thread) {
    os::Locked locked(threadsLock_);
    const Mutator* m = mutators_;
    while (m && m->id != thread) {
        m = m->next;
    }
    return m != nullptr;
}

bool Collector::awaitAlone(Mutator& self, std::uint64_t deadline) {
    yield(self, MPR_YIELD_STICKY, nullptr);
    std::uint64_t now = os::now();
    std::uint32_t seen = departures_.load(std::memory_order_acquire);
    while (threads(true) > 1 && now < deadline) {
        os::wait(departures_, seen, deadline - now);
        seen = departures_.load(std::memory_order_acquire);
        now = os::now();
    }
    const bool alone = threads(true) == 1;
    while (alone && leaving_.load(std::memory_order_acquire) != 0) { // unlocking reads a lock that is free already
        os::wait(departures_, seen);
        seen = departures_.load(std::memory_order_acquire);
    }
    resume(self);
    return alone;
}

void Collector::nameOthers(const Mutator& self, const char* what) {
    NamedThreads others;
    {
        const MutatorList::Locked list(mutators_);
        for (const Mutator& m : list) {
            if (&m != &self) {
                others.add(m);
            }
        }
    }
    for (const NamedThreads::Thread& thread : others) {
        os::Message message;
        os::log(os::Level::error,
                message << what << ": thread \"" << std::string_view(thread.name) << "\" is attached");
    }
    if (others.more() > 0) {
        os::Message message;
        os::log(os::Level::error, message << what << ": " << others.more() << " more threads are attached");
    }
}

// ---- Yielding ---------------------------------------------------------------------------------------------------

void Collector::yield(Mutator& m, int flags, const void* site) {
    m.site.store(site, std::memory_order_relaxed);
    if (m.isCollector || m.state.load(std::memory_order_relaxed) != Mutator::State::running) {
        return;
    }
    if (flags & MPR_YIELD_STICKY) {
        stop(m, Mutator::State::yielded);
        stepOut(m);
        return;
    }
    if (flags & MPR_YIELD_COMPLETE) {
        const auto forcedDone = [&] { return Cycle::reached(cycle_.major().swept(), cycle_.major().forced()); };
        if (cycle_.phase() != Phase::idle || !forcedDone()) {
            const std::uint32_t target = cycle_.swept().load(std::memory_order_acquire) + 1;
            stop(m, Mutator::State::waiting);
            stepOut(m);
            awaitProgress(
                [&] {
                    const bool idle = cycle_.phase() == Phase::idle;
                    return (idle || Cycle::reached(cycle_.swept(), target)) && forcedDone();
                },
                os::forever, deadline_);
            resume(m);
        }
        return;
    }
    if (cycle_.rendezvous().wanted() && !late_.passesBy(m)) {
        if (everyYield_) {
            budgetSpent();
        }
        waitOut(m);
    }
}

/** The calling thread will run no more. From here on it is refused whatever needs it to: guard.hpp. */
void Collector::stop(Mutator& m, Mutator::State state) {
    m.state.store(state, std::memory_order_relaxed);
    current = nullptr;
}

/** A collection is wanted: be out of its way until it has marked. */
void Collector::waitOut(Mutator& m) {
    assertRunning(m);
    const std::uint64_t begin = os::now();
    stop(m, Mutator::State::waiting);
    cycle_.rendezvous().want();
    // The count comes first. A thread that notes the late ones meanwhile either finds this one gone or is noticed here.
    cycle_.rendezvous().leave();
    const bool stays = !m.late.load(std::memory_order_relaxed) || late_.gather(m);
    const bool met = !stays || serve();
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
        // Whoever is on duty may not have closed the gate yet.
        const std::uint32_t before = cycle_.pauses().load(std::memory_order_acquire);
        const auto over = [&] {
            return cycle_.phase() != Phase::requested || cycle_.pauses().load(std::memory_order_acquire) != before ||
                   late_.isRunningOn();
        };
        while (!awaitProgress(over, late_.grace(), deadline_) && !cycle_.ends()) {
            late_.runOn();
        }
        break;
    }
    case Phase::idle:
        // Set late, by a request whose collection is over.
        cycle_.clearWanted();
        break;
    case Phase::marking: break;
    }
    resume(m);
    cycle_.rendezvous().wantNoMore();
    stats_.pause.record(os::now() - begin - stalled);
}

/**
    Allocation has used up a budget before the garbage of the last one was swept. Wait for the sweep, or a little for
    managers that free; then another budget may be allocated before anybody waits again. Where there is no room for that, wait
    as long as managers return: what is allocated before the sweep's end can only go in the next collection, so allocations
    would fail though most of the heap is garbage.
 */
void Collector::stall() {
    const bool runsShort = budget_.roomLeft() / 2 < budget_.trigger();
    const std::uint64_t longest = cycle_.phase() == Phase::freeing ? longestStallFreeing : longestStall;
    if (!awaitSweep(runsShort ? os::forever : longest, runsShort ? longestStallFreeing : deadline_)) {
        cycle_.clearWanted();
        heap_.setTrigger(heap_.allocatedSince() + std::min(budget_.trigger(), budget_.roomLeft() / 2));
    }
}

/** @param patience With one manager's call. @return false when the limit has passed, or a manager is stuck. */
bool Collector::awaitSweep(std::uint64_t limit, std::uint64_t patience) {
    const auto over = [&] { return cycle_.phase() != Phase::freeing && cycle_.phase() != Phase::sweeping; };
    return awaitProgress(over, limit, patience) || over();
}

void Collector::resume(Mutator& m) {
    if (m.isCollector || m.state.load(std::memory_order_relaxed) == Mutator::State::running) {
        return;
    }
    const bool sticky = m.state.load(std::memory_order_relaxed) == Mutator::State::yielded;
    const std::uint64_t begin = sticky && cycle_.rendezvous().wanted() ? os::now() : 0;
    if (enter() && begin != 0) {
        stats_.pause.record(os::now() - begin);
    }
    m.state.store(Mutator::State::running, std::memory_order_relaxed);
    current = &m;
}

/**
    Be counted among those who run. The gate that opens wakes who waits. Only for threads that do not come to a rendezvous
    somebody has to look, again and again: whoever was on duty the first time is not the next. @return Whether a pause had
    to be waited for.
 */
bool Collector::enter() {
    CallWatch watch;
    std::uint64_t patience = deadline_;
    std::uint64_t untilRunOn = late_.grace();
    std::uint64_t untilWatch = watchNap();
    const auto nap = [&] { return std::min(untilRunOn, untilWatch); };
    const auto lookAgain = [&](std::uint64_t napped) {
        untilRunOn -= napped;
        untilWatch -= napped;
        if (untilRunOn == 0) {
            late_.runOn();
            untilRunOn = late_.grace();
        }
        if (untilWatch == 0) {
            watchMarking(watch, patience);
            untilWatch = watchNap();
        }
    };
    return cycle_.rendezvous().enter(nap, lookAgain,
                                     [this](os::Word& openings, std::uint32_t seen, std::uint64_t time) {
                                         return sleepAtGate(openings, seen, time);
                                     });
}

/**
    Wait for the gate to open. A thread of real-time priority lends its own to who marks: it waits for a lock that is held
    for the time of the pause; before that, for the pause to begin. It does not watch managers meanwhile.
    @return false when the nap is over.
 */
bool Collector::sleepAtGate(os::Word& openings, std::uint32_t seen, std::uint64_t nap) {
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
        // Who opens a gate without a pause counts that first: it has not done so yet, or this progress is not the last.
        return openings.load(std::memory_order_acquire) != seen || cycle_.awaitProgress(progress, nap);
    default: return os::wait(openings, seen, nap);
    }
}

void Collector::visit() {
    enter();
}

void Collector::endVisit() {
    stepOut();
}

bool Collector::setExempt(Mutator& m, bool exempt) {
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

// ---- Stopping others without a collection -------------------------------------------------------------------------

/**
    Polls, since nobody rings for it. What was found dead is swept first: a running thread that finds no memory waits for
    that, and may be waited for by others or by the caller. @return false when the end has passed.
 */
bool Collector::awaitDuty(std::uint64_t end) {
    os::Word never{0};
    for (;;) {
        if (cycle_.tryDuty()) {
            if (cycle_.phase() != Phase::freeing && cycle_.phase() != Phase::sweeping) {
                return true;
            }
            cycle_.recall();
            cycle_.giveUpDuty();
        }
        // While somebody is at work who has stopped the others, the caller has to wait anyway.
        if (os::now() >= end && !othersStopped_.load(std::memory_order_seq_cst)) {
            return false;
        }
        os::wait(never, 0, poll);
    }
}

/**
    The calling thread, which runs, waits for the duty. It counts as stopped meanwhile, for who stops the others, and as
    long as it has the duty. @return false when the end has passed.
 */
bool Collector::park(std::uint64_t end) {
    attached->parked.store(true, std::memory_order_relaxed);
    parked_.fetch_add(1, std::memory_order_seq_cst);
    if (!awaitDuty(end)) {
        parked_.fetch_sub(1, std::memory_order_seq_cst);
        // Whoever has counted this thread as one that waits may be at work already.
        os::Word never{0};
        while (othersStopped_.load(std::memory_order_seq_cst)) {
            os::wait(never, 0, poll);
        }
        attached->parked.store(false, std::memory_order_relaxed);
        return false;
    }
    return true;
}

/**
    Polls, since nobody rings for it: a thread on duty may be at anything, and one that finds no collection requested takes the
    flag down as it stops. The caller stays counted as running, so that no collection begins. So do others that want the
    same at the same time; they are stopped as well while they wait here, and, if they wait no longer, until the first of
    them has done what it wanted.
    @return Whether all have stopped. The duty is the caller's then.
 */
bool Collector::awaitOthers() {
    constexpr unsigned deadlines = 8;
    const std::uint64_t end = os::now() + deadlines * deadline_;
    os::Word never{0};
    if (!park(end)) {
        return false;
    }
    for (;;) {
        // Nobody runs on without others while those are to stop; on duty, so nobody can start to.
        late_.endRunningOn();
        cycle_.rendezvous().close();
        cycle_.rendezvous().setWanted(true);
        // Set before the look at those who are parked: one who goes on counts itself out and then looks at this.
        othersStopped_.store(true, std::memory_order_seq_cst);
        // In this order: one who gives up in between is counted as running and not as parked, rather than the other way round.
        const unsigned running = cycle_.rendezvous().running();
        if (running <= parked_.load(std::memory_order_seq_cst)) {
            return true;
        }
        othersStopped_.store(false, std::memory_order_seq_cst);
        if (os::now() >= end) {
            const NamedThreads late = late_.note();
            letOthersGo();
            Late::name(late, deadlines * deadline_);
            return false;
        }
        os::wait(never, 0, poll);
    }
}

/** What was requested meanwhile the last thread to stop sees to, or the collector's. */
void Collector::letOthersGo() {
    cycle_.assertOnDuty();
    othersStopped_.store(false, std::memory_order_seq_cst);
    cycle_.rendezvous().open();
    cycle_.clearWanted();
    if (cycle_.isPending()) {
        cycle_.rendezvous().setWanted(true);
    }
    attached->parked.store(false, std::memory_order_relaxed);
    parked_.fetch_sub(1, std::memory_order_seq_cst);
    cycle_.announce(); // for who waits at the gate for a pause to begin
    cycle_.giveUpDuty();
    cycle_.ring();
}

// ---- Waiting for the collector ----------------------------------------------------------------------------------

/** After another look's time: if the same MPR_MANAGE_MARK call has run on for long, name it, and be more patient. */
void Collector::watchMarking(CallWatch& watch, std::uint64_t& patience) {
    const std::uint64_t nap = watchNap();
    const std::uint64_t call = tracing_.traced();
    if (watch.seen(call, true) * nap < patience) {
        return;
    }
    nameMarking(patience);
    patience *= 2; // the message comes again, ever more rarely
}

void Collector::nameMarking(std::uint64_t waited) {
    // Of those who wait one says it.
    std::uint64_t now = os::now();
    std::uint64_t last = markingNamed_.load(std::memory_order_relaxed);
    if (now - last < waited / 2 || !markingNamed_.compare_exchange_strong(last, now, std::memory_order_relaxed)) {
        return;
    }
    tracing_.forEachMarker([waited](const Marker& marker) {
        if (marker.traced() != 0) {
            os::Message message;
            message << "a manager's MPR_MANAGE_MARK call has not returned for " << waited / 1'000'000 << " ms";
            marker.describeTraced(message);
            os::log(os::Level::warning, message << "; threads wait for it");
        }
    });
}

/**
    Sleep until done() holds. @param patience With one manager's call.
    @return false when the limit has passed, or a manager is stuck, which is logged if the patience was the deadline.
 */
template <typename Done>
bool Collector::awaitProgress(Done done, std::uint64_t limit, std::uint64_t patience) {
    const std::uint64_t begin = os::now();
    const std::uint64_t nap = std::min(look, patience);
    std::uint64_t left = limit;
    std::uint64_t markingPatience = deadline_;
    CallWatch marking;
    for (CallWatch watch;;) {
        const std::uint32_t seen = cycle_.progress();
        if (done()) {
            return true;
        }
        if (left == 0 || cycle_.ends()) {
            return false;
        }
        if (cycle_.phase() == Phase::sweeping && cycle_.assists().with(Assists::sweeping)) {
            cycle_.recall(); // threads may take their time
        }
        // All that may be waited for comes with a change of phase, which wakes.
        const bool freeing = cycle_.phase() == Phase::freeing;
        const bool waited = !cycle_.awaitProgress(seen, std::min(freeing ? nap : watchNap(), left));
        if (limit != os::forever) {
            left = limit - std::min(limit, os::now() - begin);
        }
        if (waited && !freeing) {
            watchMarking(marking, markingPatience);
        }
        const std::uint64_t calls = stats_.freeCalls.load(std::memory_order_relaxed);
        if (watch.seen(calls % 2 == 1 ? calls : CallWatch::none, waited) * nap < patience) {
            continue;
        }
        if (patience == deadline_) {
            os::Message message;
            os::log(os::Level::warning, message << "a manager's MPR_MANAGE_FREE call takes longer than "
                                                << deadline_ / 1'000'000
                                                << " ms; a wait for the collection ends early");
        }
        return false;
    }
}

int Collector::collect(Mutator& m, Wish wish, bool complete, const void* site) {
    m.site.store(site, std::memory_order_relaxed);
    if (m.isCollector || cycle_.ends()) {
        cycle_.request(wish);
        return 0;
    }
    // This thread runs, so no collection is marking: any that marks from here on sees what the caller dropped. So does any
    // major one that begins from here on, wherever the caller is.
    const bool running = m.state.load(std::memory_order_relaxed) == Mutator::State::running;
    const bool all = wish >= Wish::full;
    const std::uint32_t target =
        all ? cycle_.major().begun() + 1 : cycle_.marked().load(std::memory_order_acquire) + (running ? 1 : 2);
    const auto& counter = all        ? (complete ? cycle_.major().swept() : cycle_.major().marked())
                          : complete ? cycle_.swept()
                                     : cycle_.marked();
    const std::size_t freedBefore = cycle_.freedBlocks();
    const std::uint64_t begin = os::now();
    cycle_.request(wish);
    if (running) {
        stop(m, Mutator::State::waiting);
        stepOut(m);
    }
    const bool done = awaitProgress(
        [&] {
            if (Cycle::reached(counter, target)) {
                return true;
            }
            // One more may be needed when not running.
            if (!all && cycle_.phase() == Phase::idle) {
                cycle_.request(wish);
            }
            return false;
        },
        os::forever, deadline_);
    if (running) {
        resume(m);
        stats_.pause.record(os::now() - begin);
    }
    const std::size_t freed = cycle_.freedBlocks() - freedBefore;
    return complete && done ? static_cast<int>(std::min(freed, std::size_t{0x7FFFFFFF})) : 0;
}

bool Collector::awaitSweep(Mutator& m) {
    if (m.isCollector || (cycle_.phase() != Phase::freeing && cycle_.phase() != Phase::sweeping)) {
        return false;
    }
    // However long the sweep takes: it waits for nobody, and no other can begin while this thread runs. Nor do managers
    // that return, however late the collector's thread gets a processor to call them.
    awaitSweep(os::forever, longestStallFreeing);
    return true;
}

void Collector::emergency(Mutator& m) {
    // Nothing that a running thread may still use can be reclaimed: that is the contract. What can be had without a yield
    // is what the last rendezvous proved dead, once it is swept, what was freed by hand, and empty pages.
    heap_.decommitRetired();
    heap_.flushQuickLists(m.local);
    heap_.retireNurseries();
    cycle_.request(Wish::urgent);
}

bool Collector::makeRoom(Mutator& m, std::size_t bytes) {
    if (m.isCollector || os::isLogging()) {
        return false; // on duty already, or it may be: whoever has called the log's handler
    }
    const std::size_t free = heap_.freeBytes();
    if (bytes < heap_.chunkBytes() || free < bytes || !park(os::now() + longestStallFreeing)) {
        return false;
    }
    // More than what is asked for: holes begin and end inside of what can be given back.
    heap_.purge((free - bytes) / 2);
    attached->parked.store(false, std::memory_order_relaxed);
    parked_.fetch_sub(1, std::memory_order_seq_cst);
    cycle_.giveUpDuty();
    cycle_.ring();
    return true;
}

} // namespace mpr::gc
