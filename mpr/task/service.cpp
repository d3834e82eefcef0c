// SPDX-License-Identifier: MIT
/*
    service.cpp - Servicing events: the thread that waits for time, I/O and foreign threads, and others that wait for events.

    One thread at a time services. Its turn: take what foreign threads posted, let libuv look, queue what is due, run the
    dispatchers that are its own. When there is nothing to do it announces that it sleeps, looks once more, and sleeps;
    whoever gives it something to do does so first and looks at the announcement afterwards. So nothing is slept over.

    A thread in mprWaitForEvent services only while nobody else does. It gives way to a thread in mprServiceEvents, and
    before it runs events of its own, which may take long. Until then it runs all that who services has to run, so that
    no dispatcher's events wait for the end of another's wait.
 */
#include <algorithm>

#include "mpr/collect.h"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/shutdown.h"
#include "mpr/task/events.hpp"
#include "mpr/base/retain.hpp"
#include "mpr/task/waiting.hpp"

namespace mpr::task {

namespace {

/** libuv is asked at least so often while events keep the thread busy: nanoseconds. Asking is a system call. */
constexpr std::uint64_t lookEvery = 500'000;
/** A thread that will sleep so long has time for a collection: nanoseconds. */
constexpr std::uint64_t idleTime = 5'000'000;
/** How soon what found no memory is tried again: nanoseconds. */
constexpr std::uint64_t tryAgain = 10'000'000;
/** Events that one dispatcher runs before others, and I/O, have their turn. */
constexpr int turnOfReady = 256;
/** Posts that are made events before events have their turn. No more, or who posts fast would fill memory with events. */
constexpr std::size_t turnOfPosts = 256;
/** Events queued under one lock. */
constexpr int atOnce = 64;

/** Waits of the calling thread that are counted in waiters_: procedures that run in them may end the thread. */
thread_local int waits = 0;

bool stopping() {
    return gc::runtime().life.state.load(std::memory_order_acquire) >= MPR_STOPPING;
}

std::int64_t milliseconds(std::uint64_t nanoseconds) {
    return nanoseconds == os::forever ? -1 : static_cast<std::int64_t>((nanoseconds + 999'999) / 1'000'000);
}
} // namespace

// ---- Waking -----------------------------------------------------------------------------------------------------

void Events::wakeServicer() {
    if (sleeping_.load(std::memory_order_seq_cst) && sleeping_.exchange(false)) {
        loop_.wake();
    }
}

/** Let those who wait for events to run look again. */
void Events::ring() {
    bell_.fetch_add(1, std::memory_order_seq_cst);
    os::wakeAll(bell_);
    wakeServicer();
}

void Events::wakeAll() {
    if (opened_.load(std::memory_order_acquire)) {
        ring();
    }
}

void Events::fire(Fired& fired) {
    if (fired.pending) {
        return;
    }
    fired.pending = true;
    fired.next = nullptr;
    (lastFired_ ? lastFired_->next : fired_) = &fired;
    lastFired_ = &fired;
}

void Events::loopChanged() {
    turnWanted_.store(true, std::memory_order_seq_cst);
    wakeServicer();
}

void Events::stop() {
    mailbox_.shut();
    wakeAll();
}

// ---- Foreign threads --------------------------------------------------------------------------------------------

int Events::post(MprDispatcher* dispatcher, MprEventProc proc, void* data) {
    const Mailbox::Visit visit(mailbox_);
    if (!visit || (dispatcher && isDestroyed(*dispatcher))) {
        return MPR_ERR_BAD_STATE;
    }
    if (!mailbox_.post({dispatcher, proc, data})) {
        return MPR_ERR_MEMORY;
    }
    wakeServicer();
    return 0;
}

/** Queue letters as events. @return How many, before memory was short. */
std::size_t Events::queueLetters(std::span<const Mailbox::Letter> letters) {
    Event* made[atOnce];
    const MprTicks time = os::lastTick();
    std::size_t count = 0;
    for (; count < std::min<std::size_t>(letters.size(), atOnce); ++count) {
        const Mailbox::Letter& letter = letters[count];
        MprDispatcher& d = letter.dispatcher ? *letter.dispatcher : *hub_->main;
        made[count] = allocateEvent(d, "outside", time, letter.proc, letter.data, false);
        if (!made[count]) {
            break;
        }
    }
    Hands hands;
    const Dispatcher* destroyed = nullptr;
    {
        os::Locked locked(lock_);
        for (std::size_t i = 0; i < count; ++i) {
            Dispatcher& d = made[i]->owner();
            if (d.destroyed) {
                destroyed = &d;
                continue;
            }
            queueNew(*made[i], hands);
        }
    }
    tell(hands);
    if (destroyed) {
        os::Message message;
        os::log(os::Level::warning, message << "mprCreateEventOutside: dispatcher \""
                                            << std::string_view(destroyed->name)
                                            << "\" was destroyed; events for it are dropped");
    }
    return count;
}

/** Make events of what foreign threads posted, a turn's worth. What finds no memory stays for the next time. */
void Events::takePosts() {
    std::size_t left = turnOfPosts;
    postsWait_ = false;
    auto letters = mailbox_.unread();
    while (!letters.empty() && left > 0) {
        const std::size_t count = queueLetters(letters.first(std::min(letters.size(), left)));
        if (count == 0) {
            postsWait_ = true;
            return;
        }
        mailbox_.read(count);
        left -= count;
        // Not what was posted meanwhile: others have their turn.
        letters = mailbox_.hasUnread() ? mailbox_.unread() : std::span<const Mailbox::Letter>{};
    }
}

// ---- The thread that services -----------------------------------------------------------------------------------

bool Events::beginService(os::ThreadId self) {
    os::ThreadId nobody = 0;
    if (servicer_.load(std::memory_order_relaxed) != self &&
        !servicer_.compare_exchange_strong(nobody, self, std::memory_order_seq_cst)) {
        return false;
    }
    ++nesting_;
    return true;
}

/** A thread that waits for an event begins to service, unless another does, or wants to who would do so for longer. */
bool Events::beginWaiterService(os::ThreadId self) {
    if ((claimants_.load(std::memory_order_seq_cst) > 0 && servicer_.load(std::memory_order_relaxed) != self) ||
        !beginService(self)) {
        return false;
    }
    if (nesting_ == 1) {
        givesWay_.store(true, std::memory_order_seq_cst);
    }
    return true;
}

/** @param waiting How many of those who wait for events are the calling thread itself. */
void Events::endService(int waiting) {
    if (--nesting_ == 0) {
        givesWay_.store(false, std::memory_order_relaxed);
        servicer_.store(0, std::memory_order_seq_cst); // before it looks which threads wait
        if (waiters_.load(std::memory_order_seq_cst) > waiting) {
            ring(); // one of them may have to service now
        }
    }
}

/** The calling thread ends. @return Whether it serviced. */
bool Events::abandonService() {
    waiters_.fetch_sub(waits, std::memory_order_seq_cst);
    waits = 0;
    if (servicer_.load(std::memory_order_relaxed) != os::currentThread()) {
        return false;
    }
    nesting_ = 1;
    postponement_.end();
    endService(0);
    return true;
}

/** Queue the timers that are due. */
void Events::expire() {
    const std::uint64_t now = os::now() / 1'000'000;
    for (bool more = true; more;) {
        Hands hands;
        {
            os::Locked locked(lock_);
            int count = 0;
            Event* event = nullptr;
            while (count < atOnce && (event = wheel_.pop(now))) {
                leaveTimed(*event);
                enqueue(*event);
                hands.add(event->owner(), hand(event->owner()));
                ++count;
            }
            more = event != nullptr;
        }
        tell(hands);
    }
}

/** Take posts, let libuv look when it is wanted or long ago, queue what is due. */
void Events::look(bool now) {
    takePosts();
    const std::uint64_t time = os::now();
    if (turnWanted_.exchange(false) || now || time - lookedAt_ > lookEvery) {
        lookedAt_ = time;
        loop_.turn();
        while (Fired* fired = fired_) {
            fired_ = fired->next;
            lastFired_ = fired_ ? lastFired_ : nullptr;
            fired->pending = false;
            queue(*fired->event, fired->mask);
        }
        loop_.freeClosed();
    }
    expire();
    jobsWait_ = !workers().retry();
}

/** How many events wait for this thread. */
int Events::readyEvents() {
    os::Locked locked(lock_);
    int count = 0;
    for (const Dispatcher* d = firstReady_; d; d = d->nextReady) {
        count += d->queued;
    }
    return count;
}

/** Let each ready dispatcher run what it has queued so far, or a turn's worth. @return How many events. */
int Events::runReady() {
    int left = 0;
    {
        os::Locked locked(lock_);
        left = readyCount_;
    }
    int count = 0;
    for (; left > 0; --left) {
        Dispatcher* d = nullptr;
        int most = 0;
        {
            os::Locked locked(lock_);
            d = firstReady_;
            if (!d) {
                return count;
            }
            firstReady_ = d->nextReady;
            lastReady_ = firstReady_ ? lastReady_ : nullptr;
            --readyCount_;
            d->ready = false;
            settle(*d);
            most = std::min(d->queued, turnOfReady);
        }
        count += run(*d, most);
    }
    return count;
}

/** Under the lock: whether a dispatcher's events are the calling thread's to run, which services. */
bool Events::isMine(const Dispatcher& d, os::ThreadId self) {
    os::assertHeld(lock_);
    if (d.owner != 0 && d.owner != self) {
        return false;
    }
    return d.runner != 0 ? d.runner == self : d.owner != 0 || (d.onEventsThread && servicer_ == self && runsReady());
}

/** Under the lock: whether there is something to do first. @param awaited As of sleep(). */
bool Events::mustStayAwake(const Awaited* awaited, bool runsReady) {
    os::assertHeld(lock_);
    if ((mailbox_.hasUnread() && !postsWait_) || (runsReady && firstReady_)) {
        return true; // posts to make events of, or events to run
    }
    if (!awaited) {
        return false;
    }
    const os::ThreadId self = os::currentThread();
    return awaited->any([&](const Dispatcher& d, std::int64_t since) {
        os::assertHeld(lock_);
        return d.destroyed || d.mark != since || (d.head && !d.disabled && isMine(d, self));
    });
}

/**
    Wait for something to do.
    @param awaited nullptr: nothing in particular. @param runsReady Whether the calling thread runs all ready dispatchers.
 */
void Events::sleep(std::uint64_t deadline, const Awaited* awaited, bool runsReady, const void* site) {
    std::uint64_t until = deadline;
    {
        os::Locked locked(lock_);
        if (mustStayAwake(awaited, runsReady)) {
            return;
        }
        const std::uint64_t next = wheel_.next();
        sleepUntil_ = next;
        if (next != ~std::uint64_t{0} && next * 1'000'000 < until) {
            until = next * 1'000'000;
        }
        sleeping_.store(true, std::memory_order_seq_cst);
    }
    if (postsWait_ || jobsWait_) {
        until = std::min(until, os::now() + tryAgain);
    }
    if (until > os::now() + idleTime) {
        gc::runtime().collector.idle();
    }
    if (mailbox_.isEmpty() && !turnWanted_.load(std::memory_order_seq_cst) && !stopping() && !mustGiveWay()) {
        if (loop_.wait(milliseconds(leftUntil(until)), site)) {
            turnWanted_.store(true, std::memory_order_relaxed);
        }
    }
    sleeping_.store(false, std::memory_order_seq_cst);
    os::Locked locked(lock_);
    sleepUntil_ = 0;
}

/**
    Wait until no other thread services, and begin. One that services only while it waits for an event gives way, however
    short the time is. @return false when the time is up or the runtime stops.
 */
bool Events::awaitService(os::ThreadId self, std::uint64_t deadline, const void* site) {
    constexpr std::uint64_t moment = 1'000'000; // nanoseconds
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    claimants_.fetch_add(1, std::memory_order_seq_cst);
    bool begun = false;
    for (;;) {
        const std::uint32_t seen = bell_.load(std::memory_order_seq_cst);
        begun = beginService(self);
        const bool willBeFree = givesWay_.load(std::memory_order_seq_cst);
        const std::uint64_t left = leftUntil(deadline);
        if (begun || stopping() || (left == 0 && !willBeFree)) {
            break;
        }
        if (willBeFree) {
            wakeServicer();
        }
        Waiting waiting(site);
        os::wait(bell_, seen, std::max(left, moment));
    }
    claimants_.fetch_sub(1, std::memory_order_seq_cst);
    const bool othersWait = waiters_.fetch_sub(1, std::memory_order_seq_cst) > 1;
    if (!begun && othersWait && servicer_.load(std::memory_order_seq_cst) == 0) {
        ring(); // nobody services, and one that waits may have left it to this thread
    }
    if (begun && nesting_ == 1 && (gc::runtime().flags & MPR_USER_EVENTS_THREAD)) {
        loopThread_.store(gc::attached->number, std::memory_order_relaxed);
    }
    return begun;
}

int Events::service(MprTicks delay, int flags, const void* site) {
    const std::uint64_t deadline = deadlineIn((flags & MPR_SERVICE_NO_BLOCK) ? 0 : delay);
    if (!awaitService(os::currentThread(), deadline, site)) {
        return 0;
    }
    // Events that were posted or queued before run, however short the time.
    const std::size_t posted = mailbox_.posted();
    // With MPR_SERVICE_ONE_THING that is already there, I/O has its turn as often as otherwise.
    look((flags & MPR_SERVICE_ONE_THING) == 0 || readyEvents() == 0);
    bool all = mailbox_.hasRead(posted);
    int due = readyEvents();
    int count = 0;
    for (;;) {
        const int ran = runReady();
        count += std::min(ran, 0x7FFFFFFF - count);
        if (stopping() || ((flags & MPR_SERVICE_ONE_THING) && count > 0)) {
            break;
        }
        if (deadline != os::forever && (all || postsWait_) && (count >= due || ran == 0) && leftUntil(deadline) == 0) {
            break;
        }
        yield(ran > 0 && mprNeedYield() && readyEvents() > 0, true);
        if (ran == 0) {
            sleep(deadline, nullptr, true, site);
        }
        look(false);
        if (!all && mailbox_.hasRead(posted)) {
            all = true;
            due = count + readyEvents();
        }
    }
    endService(0);
    return count;
}

// ---- Threads that wait for an event -----------------------------------------------------------------------------

/** Whether the thread that services, which only waits for an event, is to stop servicing. */
bool Events::mustGiveWay() const {
    return givesWay_.load(std::memory_order_relaxed) && claimants_.load(std::memory_order_seq_cst) > 0;
}

/** Whether the calling thread, while it services, runs ready dispatchers: not if the program has a thread for that. */
bool Events::runsReady() const {
    const std::uint32_t loop = loopThread_.load(std::memory_order_relaxed);
    return loop == 0 || loop == gc::attached->number;
}

/** The calling thread ends. If it was the program's for ready dispatchers, whoever waits for events has to run them. */
void Events::endLoopThread() {
    std::uint32_t self = gc::attached->number;
    if (loopThread_.compare_exchange_strong(self, 0)) {
        ring();
    }
}

/** Run ready dispatchers while waiting. An event that waits itself keeps the service for as long. @return How many events. */
int Events::runReadyBeside() {
    const bool gaveWay = givesWay_.exchange(false, std::memory_order_seq_cst);
    const int count = runReady();
    givesWay_.store(gaveWay, std::memory_order_seq_cst);
    return count;
}

/** Note whether a procedure of these dispatchers that the calling thread runs waits: whoever queues an event tells it. */
void Events::noteWaiting(const Awaited& awaited, os::ThreadId self, bool on) {
    os::assertHeld(lock_);
    for (MprDispatcher* each : awaited.dispatchers) {
        auto* d = static_cast<Dispatcher*>(each);
        if (d && d->runner == self && d->procedures) {
            d->procedures->waits = on;
        }
    }
}

/** What a thread that waits for events has found. */
Events::Found Events::lookFor(const Awaited& awaited, os::ThreadId self) {
    os::Locked locked(lock_);
    noteWaiting(awaited, self, true);
    Found found;
    found.ran = awaited.any([](const Dispatcher& d, std::int64_t since) { return d.mark != since; });
    if (!found.ran) {
        const bool destroyed = awaited.any([](const Dispatcher& d, std::int64_t) { return d.destroyed; });
        found.error = destroyed ? MPR_ERR_BAD_STATE : stopping() ? MPR_ERR_ABORTED : 0;
    }
    for (MprDispatcher* each : awaited.dispatchers) {
        auto* d = static_cast<Dispatcher*>(each);
        if (d && d->head && !d->disabled && !d->destroyed && !found.mine && isMine(*d, self)) {
            found.mine = d;
            found.isShort = d->onEventsThread && d->owner == 0;
        }
    }
    return found;
}

int Events::waitFor(const Awaited& awaited, MprTicks timeout, const void* site) {
    const os::ThreadId self = os::currentThread();
    const std::uint64_t deadline = deadlineIn(timeout);
    const base::Hold first(awaited.dispatchers[0]);
    const base::Hold second(awaited.dispatchers[1]);
    const std::size_t posted = mailbox_.posted(); // these become events, however short the time
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    ++waits;
    bool services = false;
    bool expired = false;
    int result = 0;
    const auto stopServicing = [&] {
        endService(1);
        services = false;
    };
    for (;;) {
        const std::uint32_t seen = bell_.load(std::memory_order_seq_cst);
        services = services || beginWaiterService(self);
        if (services) {
            look(false);
        }
        const Found found = lookFor(awaited, self);
        result = found.error;
        if (found.ran || result != 0) {
            break;
        }
        if (found.mine) {
            if (services && !found.isShort) {
                stopServicing();
            }
            if (run(*found.mine, 1) > 0) {
                break;
            }
            if (!services) {
                continue; // another has taken them back; somebody has to service
            }
        }
        if (expired) {
            result = MPR_ERR_TIMEOUT;
            break;
        }
        const bool tookPosts = !services || postsWait_ || mailbox_.hasRead(posted);
        const bool runs = services && runsReady();
        const int ran = runs && tookPosts ? runReadyBeside() : 0;
        const std::uint64_t left = leftUntil(deadline);
        if (left == 0 && tookPosts) {
            expired = true; // what has run beside may have queued what is waited for
        } else if (services && mustGiveWay()) {
            stopServicing();
        } else if (services) {
            mprYield(0); // there may be so much to take that it does not sleep
            if (ran == 0) {
                sleep(deadline, &awaited, runs, site);
            }
        } else {
            Waiting waiting(site);
            os::wait(bell_, seen, left);
        }
    }
    {
        os::Locked locked(lock_);
        noteWaiting(awaited, self, false);
    }
    --waits;
    waiters_.fetch_sub(1, std::memory_order_seq_cst);
    if (services) {
        endService(0);
    }
    return result;
}

} // namespace mpr::task
