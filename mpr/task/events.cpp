// SPDX-License-Identifier: MIT
/*
    events.cpp - Dispatchers and events: made, queued, handed to whoever runs them, run.
 */
#include "mpr/task/events.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mpr/base/references.hpp"
#include "mpr/collect.h"
#include "mpr/gc/census.hpp"
#include "mpr/gc/keepers.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/gc/unmarked.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/base/retain.hpp"
#include "mpr/task/callback.hpp"
#include "mpr/task/thread.hpp"
#include "mpr/task/waiting.hpp"

namespace mpr::task {

namespace {

/** Dispatchers that the calling thread has claimed. */
constinit MPR_PER_THREAD int claims = 0;

/** Events that a worker runs of one dispatcher before others have their turn. */
constexpr int turnOfWorker = 64;

void manageDispatcher(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto* dispatcher = static_cast<Dispatcher*>(ptr);
        mprMarkRef(&dispatcher->head);
        mprMarkRef(&dispatcher->running);
        mprMarkRef(&dispatcher->nextActive);
    }
}
const mpr::gc::ManagerName namedDispatcher(manageDispatcher, "MprDispatcher");

void manageHeads(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, sizeof(Wheel::Heads) / sizeof(void*));
    }
}

void setContinuous(Event& event, bool on) {
    event.flags = static_cast<short>(on ? event.flags | MPR_EVENT_CONTINUOUS : event.flags & ~MPR_EVENT_CONTINUOUS);
}

/** The first millisecond that is not before now plus a period. */
MprTicks dueIn(MprTicks period) {
    constexpr auto last = static_cast<MprTicks>(Wheel::horizon - 1);
    const auto now = static_cast<MprTicks>((os::now() + 999'999) / 1'000'000);
    return period < last - now ? now + period : last;
}

gc::Service room{[] { events().markRoots(); },
                 [](std::uint64_t) {
                     events().stop();
                     return true;
                 },
                 [] {
                     events().close();
                     forgetEndedThreads();
                 },
                 [] { events().leaveThread(); }, [] { events().detachThread(); }};
} // namespace

constinit Events theEvents;
const mpr::gc::OwnData ownEvents(&theEvents, sizeof(theEvents));

void Events::manageHub(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto* hub = static_cast<Hub*>(ptr);
        mprMarkRef(&hub->main);
        mprMarkRef(&hub->active);
        mprMarkRef(&hub->heads);
    }
}

void manageEvent(void* ptr, int flags) {
    gc::Marker* marker = gc::Marker::active();
    if ((flags & MPR_MANAGE_MARK) && marker) {
        // A hundred thousand may be queued: what needs no marking is left out here, not there.
        auto* event = static_cast<Event*>(ptr);
        mprMarkRef(&event->next);
        if (event->dispatcher != events().mainDispatcher()) { // which stays as long as there are events
            mprMarkRef(&event->dispatcher);
        }
        if (event->handler) {
            mprMarkRef(&event->handler);
        }
        if (event->data) {
            marker->markRoot(event->data, true);
        }
        marker->markRoot(event->name, true);
    }
}
const mpr::gc::ManagerName namedEvent(manageEvent, "MprEvent");
// What stands in these when a block has left its list, or has become the first, does not matter.
const mpr::gc::UnmarkedField unmarkedFields[] = {{manageEvent, &Event::previous},
                                                 {manageEvent, &Timer::nextTimed},
                                                 {manageEvent, &Timer::previousTimed},
                                                 {manageDispatcher, &Dispatcher::previousActive},
                                                 {manageDispatcher, &Dispatcher::nextReady},
                                                 {manageDispatcher, &Dispatcher::next}};

/** Other threads may be writing what is read here; then the program frees what they use, too. */
__attribute__((no_sanitize("thread"))) const char* whyEventStays(const void* block) {
    const auto& event = *static_cast<const Event*>(block);
    return event.state().place != EventState::nowhere ? "the event is queued; mprRemoveEvent takes it out"
           : event.owner().running == &event          ? "the event is running"
                                                      : nullptr;
}

__attribute__((no_sanitize("thread"))) const char* whyDispatcherStays(const void* block) {
    const auto& d = *static_cast<const Dispatcher*>(block);
    const bool has = d.active || d.ready || d.submitted || d.timed || d.strays > 0 || d.procedures;
    return has ? "the dispatcher has events; see mprDestroyDispatcher" : nullptr;
}
const mpr::gc::Keeper keepsEvents(manageEvent, whyEventStays);
const mpr::gc::Keeper keepsDispatchers(manageDispatcher, whyDispatcherStays);

// ---- The room's life --------------------------------------------------------------------------------------------

int Events::openFirst(const char* function) {
    if (!gc::admitRunning(function)) {
        return MPR_ERR_BAD_STATE;
    }
    if (opened_.load(std::memory_order_acquire)) {
        return 0;
    }
    return gc::mayMake(function) ? openOnce() : MPR_ERR_BAD_STATE;
}

int Events::openOnce() {
    if (os::isLogging()) { // perhaps inside the very call that opens them
        os::Message message;
        os::log(os::Level::error, message << "events: not made inside the log's handler");
        return MPR_ERR_BAD_STATE;
    }
    Hub* hub = base::makeReferring<Hub>(manageHub);
    auto* heads = base::makeReferring<Wheel::Heads>(manageHeads);
    Dispatcher* main = makeDispatcher("main", MPR_DISPATCHER_IMMEDIATE);
    if (!hub || !heads || !main) {
        return MPR_ERR_MEMORY;
    }
    hub->main = main;
    hub->heads = heads;
    const int result = openWith(hub, heads);
    if (result != 0) {
        os::Message message;
        os::log(os::Level::error, message << "events: libuv's loop cannot be made: " << uv_strerror(result));
    }
    return result == 0 ? 0 : result == UV_ENOMEM ? MPR_ERR_MEMORY : MPR_ERR_CANT_CREATE;
}

/** The first to come here opens them. @return 0 or libuv's error. */
int Events::openWith(Hub* hub, Wheel::Heads* heads) {
    os::Locked locked(openLock_);
    if (opened_.load(std::memory_order_relaxed)) {
        return 0;
    }
    if (const int result = loop_.open(); result != 0) {
        return result;
    }
    mprPublish(hub);
    mprPublish(heads);
    hub_ = hub;
    {
        os::Locked events(lock_);
        wheel_.open(heads, os::now() / 1'000'000);
    }
    mailbox_.open();
    gc::runtime().services.add(room);
    opened_.store(true, std::memory_order_release);
    return 0;
}

void Events::markRoots() {
    if (!opened_.load(std::memory_order_acquire)) {
        return;
    }
    mprMark(hub_);
    mailbox_.mark();
}

void Events::close() {
    loop_.close();
    const int lost = mailbox_.close();
    if (lost > 0) {
        os::Message message;
        os::log(os::Level::info, message << "mprDestroy: " << lost << " events from outside came too late to run");
    }
    hub_ = nullptr;
    nesting_ = 0;
    {
        os::Locked locked(lock_);
        firstReady_ = lastReady_ = nullptr;
        readyCount_ = 0;
    }
    servicer_.store(0);
    loopThread_.store(0, std::memory_order_relaxed);
    givesWay_.store(false);
    sleeping_.store(false);
    turnWanted_.store(false);
    opened_.store(false);
}

// ---- Dispatchers ------------------------------------------------------------------------------------------------

Dispatcher* Events::makeDispatcher(const char* name, int flags) {
    auto* dispatcher = base::makeReferring<Dispatcher>(manageDispatcher);
    if (dispatcher) {
        dispatcher->onEventsThread = (flags & MPR_DISPATCHER_IMMEDIATE) != 0;
        dispatcher->run = runAsJob;
        dispatcher->flags = flags;
        std::strncpy(dispatcher->name, name ? name : "", sizeof(dispatcher->name) - 1);
    }
    return dispatcher;
}

/** Put it into or take it out of the list of those that have something to do. */
void Events::settle(Dispatcher& d) {
    os::assertHeld(lock_);
    // One that is claimed stays in the list so that it can be found when its owner goes.
    const bool active = d.head || d.runner != 0 || d.ready || d.submitted || d.owner != 0;
    if (active == d.active) {
        return;
    }
    d.active = active;
    Dispatcher* next = active ? hub_->active : d.nextActive;
    if (active) {
        d.previousActive = nullptr;
        base::setRef(&d, d.nextActive, next);
        base::setRef(hub_, hub_->active, &d);
    } else if (d.previousActive) {
        base::setRef(d.previousActive, d.previousActive->nextActive, next);
    } else {
        base::setRef(hub_, hub_->active, next);
    }
    if (next) {
        next->previousActive = active ? &d : d.previousActive;
    }
    if (!active) {
        base::setRef(&d, d.nextActive, nullptr);
    }
}

void Events::destroy(MprDispatcher& dispatcher) {
    if (!isOpen()) {
        return; // as remove()
    }
    Dispatcher& d = own(dispatcher);
    {
        os::Locked locked(lock_);
        dropAll(d);
    }
    if (waiters_.load(std::memory_order_seq_cst) > 0) {
        ring(); // for a thread that waits for its events
    }
}

void Events::dropAll(Dispatcher& d) {
    os::assertHeld(lock_);
    __atomic_store_n(&d.destroyed, true, __ATOMIC_RELAXED); // isDestroyed reads it without the lock
    while (d.head) {
        takeOut(*d.head);
    }
    while (d.timed) {
        takeOut(*d.timed);
    }
    if (d.strays > 0) {
        wheel_.forEach([&](Event& event) {
            os::assertHeld(lock_);
            if (&event.owner() == &d) {
                takeOut(event);
            }
        });
    }
    if (d.owner == os::currentThread() && d.runner == 0) { // else it is, when its thread lets go of it or ends
        d.owner = 0;
        --claims;
    }
    settle(d);
}

int Events::claim(MprDispatcher& dispatcher) {
    if (!gc::mayMake("mprStartDispatcher", &dispatcher)) {
        return MPR_ERR_BAD_STATE;
    }
    Dispatcher& d = own(dispatcher);
    os::Locked locked(lock_);
    const os::ThreadId self = os::currentThread();
    if (d.destroyed || (d.owner != 0 && d.owner != self)) {
        return MPR_ERR_BAD_STATE;
    }
    claims += d.owner == 0;
    d.owner = self;
    settle(d);
    return 0;
}

int Events::unclaim(MprDispatcher& dispatcher) {
    Dispatcher& d = own(dispatcher);
    Hand whom = Hand::nobody;
    {
        os::Locked locked(lock_);
        if (d.owner != os::currentThread()) {
            return MPR_ERR_BAD_STATE;
        }
        d.owner = 0;
        --claims;
        whom = hand(d);
        settle(d);
    }
    tell(d, whom);
    return 0;
}

void Events::disable(MprDispatcher& dispatcher, bool on) {
    Dispatcher& d = own(dispatcher);
    Hand whom = Hand::nobody;
    {
        os::Locked locked(lock_);
        d.disabled = on;
        whom = hand(d);
    }
    tell(d, whom);
}

bool Events::hasEvents(MprDispatcher& dispatcher) {
    Dispatcher& d = own(dispatcher);
    os::Locked locked(lock_);
    return d.head || d.timed || d.strays > 0;
}

int Events::count(MprDispatcher& dispatcher) {
    Dispatcher& d = own(dispatcher);
    os::Locked locked(lock_);
    int count = d.queued + d.strays;
    for (const Timer* timer = d.timed; timer; timer = timer->nextTimed) {
        ++count;
    }
    return count;
}

bool Events::runsHere(const MprDispatcher& dispatcher) {
    os::Locked locked(lock_);
    return static_cast<const Dispatcher&>(dispatcher).runner == os::currentThread();
}

bool Events::isAbandoned(const MprDispatcher& dispatcher) {
    os::Locked locked(lock_);
    return isDestroyed(dispatcher) && static_cast<const Dispatcher&>(dispatcher).runner == 0;
}

bool Events::areIdle() {
    const os::ThreadId self = os::currentThread();
    os::Locked locked(lock_);
    for (const Dispatcher* d = hub_ ? hub_->active : nullptr; d; d = d->nextActive) {
        if ((d->head && !d->disabled) || (d->runner != 0 && d->runner != self)) {
            return false;
        }
    }
    return true;
}

std::int64_t Events::mark(MprDispatcher& dispatcher) {
    Dispatcher& d = own(dispatcher);
    os::Locked locked(lock_);
    return d.mark;
}

// ---- Queues -----------------------------------------------------------------------------------------------------

[[gnu::always_inline]] inline void Events::append(Event& event) {
    os::assertHeld(lock_);
    Dispatcher& d = event.owner();
    event.put(EventState::inQueue);
    d.queue().append(&event);
    ++d.queued;
}

void Events::enqueue(Event& event) {
    os::assertHeld(lock_);
    append(event);
    settle(event.owner());
}

void Events::setTimer(Event& event) {
    os::assertHeld(lock_);
    Dispatcher& d = event.owner();
    // Between reading the clock and taking the lock the wheel may have passed that time.
    event.due = std::max(event.due, static_cast<MprTicks>(wheel_.now()));
    wheel_.insert(&event);
    if (!event.state().isTimer) {
        ++d.strays;
        return;
    }
    auto& timer = static_cast<Timer&>(event);
    timer.previousTimed = nullptr;
    timer.nextTimed = d.timed;
    if (d.timed) {
        d.timed->previousTimed = &timer;
    }
    d.timed = &timer;
}

/** Out of its dispatcher's list of those in the wheel. */
void Events::leaveTimed(Event& event) {
    os::assertHeld(lock_);
    Dispatcher& d = event.owner();
    if (!event.state().isTimer) {
        --d.strays;
        return;
    }
    auto& timer = static_cast<Timer&>(event);
    (timer.previousTimed ? timer.previousTimed->nextTimed : d.timed) = timer.nextTimed;
    if (timer.nextTimed) {
        timer.nextTimed->previousTimed = timer.previousTimed;
    }
}

/** Out of the list in which it stands, if any. */
void Events::takeOut(Event& event) {
    os::assertHeld(lock_);
    Dispatcher& d = event.owner();
    const std::uint16_t place = event.state().place;
    if (place == EventState::inQueue) {
        d.queue().remove(&event);
        --d.queued;
    } else if (place != EventState::nowhere) {
        wheel_.remove(&event);
        leaveTimed(event);
    }
    event.put(EventState::nowhere);
}

/** Somebody has to run this dispatcher's events, unless somebody does or knows that he has to. */
Events::Hand Events::hand(Dispatcher& d) {
    os::assertHeld(lock_);
    if (!d.head || d.disabled || d.destroyed) {
        return Hand::nobody;
    }
    if (d.runner != 0) {
        return d.procedures && d.procedures->waits ? Hand::waiters : Hand::nobody;
    }
    if (d.owner != 0) {
        return Hand::waiters;
    }
    if (!d.onEventsThread) {
        const bool first = !d.submitted;
        d.submitted = true;
        return first ? Hand::worker : Hand::nobody;
    }
    if (!d.ready) {
        d.ready = true;
        d.nextReady = nullptr;
        (lastReady_ ? lastReady_->nextReady : firstReady_) = &d;
        lastReady_ = &d;
        ++readyCount_;
    }
    return Hand::eventsThread;
}

void Events::Hands::add(Dispatcher& d, Hand whom) {
    forWaiters = forWaiters || whom == Hand::waiters;
    if (whom == Hand::worker) {
        d.nextReady = forWorkers;
        forWorkers = &d;
    }
}

void Events::tell(const Hands& hands) {
    for (Dispatcher* d = hands.forWorkers; d;) {
        Dispatcher* next = d->nextReady; // it may be another's when the job runs
        workers().submit(*d);
        d = next;
    }
    if (hands.forWaiters) {
        ring();
    }
}

void Events::tell(Dispatcher& d, Hand whom) {
    switch (whom) {
    case Hand::nobody: break;
    case Hand::eventsThread: wakeServicer(); break;
    case Hand::worker: workers().submit(d); break;
    case Hand::waiters: ring(); break;
    }
}

// ---- Events -----------------------------------------------------------------------------------------------------

/** Queue an event that nobody knows yet. When others wait before it, somebody has been told already. */
void Events::queueNew(Event& event, Hands& hands) {
    os::assertHeld(lock_);
    Dispatcher& d = event.owner();
    const bool first = !d.head;
    append(event);
    if (first) {
        settle(d);
        hands.add(d, hand(d));
    }
}

/** Queue one event, without holding the lock. @return false when its dispatcher was destroyed. */
[[gnu::always_inline]] inline bool Events::queueNew(Event& event) {
    Dispatcher& d = event.owner();
    Hand whom = Hand::nobody;
    {
        os::Locked locked(lock_);
        if (d.destroyed) [[unlikely]] {
            return false;
        }
        const bool first = !d.head;
        append(event);
        if (!first) [[likely]] {
            return true;
        }
        settle(d);
        whom = hand(d);
    }
    tell(d, whom);
    return true;
}

Event* Events::makeDue(MprDispatcher* dispatcher, const char* name, MprEventProc proc, void* data) {
    MprDispatcher& d = dispatcher ? *dispatcher : *hub_->main;
    if (!gc::mayMake(*gc::current, "mprCreateEvent", &d, data)) [[unlikely]] {
        return nullptr;
    }
    const MprTicks time = os::lastTick();
    Event* event = allocateEvent(d, name, time, proc, data, false);
    return event && queueNew(*event) ? event : nullptr;
}

Event* Events::makeEvent(MprDispatcher& d, const char* name, MprTicks period, MprEventProc proc, void* data,
                         int flags) {
    if (period <= 0 && flags == 0) {
        return makeDue(&d, name, proc, data);
    }
    if (isDestroyed(d) || !gc::mayMake(*gc::current, "mprCreateEvent", &d, data)) {
        return nullptr;
    }
    const bool isTimer = period > 0 || (flags & (MPR_EVENT_CONTINUOUS | MPR_EVENT_DONT_QUEUE));
    const MprTicks time = os::lastTick();
    Event* event = allocateEvent(d, name, time, proc, data, isTimer);
    if (event) {
        event->flags = static_cast<short>(flags);
        event->period = period > 0 ? period : 0;
        if ((flags & MPR_EVENT_DONT_QUEUE) == 0 && !schedule(*event, period, -1)) {
            return nullptr;
        }
    }
    return event;
}

bool Events::schedule(Event& event, MprTicks period, int continuous) {
    Dispatcher& d = event.owner();
    if (!isOpen() || !gc::mayMake(*gc::current, "mprRescheduleEvent", &event)) {
        return false; // the runtime ends; or what is alive would refer to it
    }
    const MprTicks due = period > 0 ? dueIn(period) : event.timestamp;
    Hand whom = Hand::nobody;
    {
        os::Locked locked(lock_);
        if (d.destroyed || event.state().cancelled) {
            return false;
        }
        takeOut(event);
        if (continuous >= 0) {
            setContinuous(event, continuous != 0);
        }
        event.period = period > 0 ? period : 0;
        event.due = due;
        if (period > 0) {
            setTimer(event);
            settle(d);
            whom = static_cast<std::uint64_t>(due) < sleepUntil_ ? Hand::eventsThread : Hand::nobody;
        } else {
            enqueue(event);
            whom = hand(d);
        }
    }
    tell(d, whom);
    return true;
}

void Events::setRepeats(Event& event, bool on) {
    os::Locked locked(lock_);
    setContinuous(event, on);
}

void Events::queue(Event& event, int mask) {
    if (!isOpen()) {
        return; // as remove()
    }
    Dispatcher& d = event.owner();
    Hand whom = Hand::nobody;
    {
        os::Locked locked(lock_);
        EventState state = event.state();
        state.came = static_cast<std::uint8_t>(state.came | mask);
        event.set(state);
        if (!d.destroyed && !state.cancelled && state.place == EventState::nowhere) {
            enqueue(event);
            whom = hand(d);
        }
    }
    tell(d, whom);
}

void Events::cancel(Event& event) {
    os::Locked locked(lock_);
    drop(event);
    EventState state = event.state();
    state.cancelled = true; // under the same lock: else another thread could queue it in between
    event.set(state);
}

void Events::remove(Event& event) {
    if (!isOpen()) {
        return; // the runtime ends, and nothing is queued any more
    }
    os::Locked locked(lock_);
    drop(event);
}

/** Take it out and do not repeat it. */
void Events::drop(Event& event) {
    os::assertHeld(lock_);
    setContinuous(event, false);
    takeOut(event);
    settle(event.owner());
}

// ---- Running ----------------------------------------------------------------------------------------------------

namespace {

/** Whether an event is among those whose procedures run: one may wait until it runs once more. */
bool isRunning(const Running* running, const Event& event) {
    while (running && running->event != &event) {
        running = running->outer;
    }
    return running != nullptr;
}

} // namespace

/**
    Take the next event out of the queue, to be run by the calling thread, whose turn it is. From here on it is retained
    as the one that runs.
 */
[[gnu::always_inline]] inline Event* Events::begin(Dispatcher& d, os::ThreadId self) {
    Event* event = d.head;
    if (!event || d.disabled || d.destroyed || (d.owner != 0 && d.owner != self)) {
        return nullptr;
    }
    Event* next = event->next;
    if (!next) {
        d.tail = nullptr;
    }
    --d.queued;
    dropRef(event->next);
    // Two references of one small block: the barrier asks once, after both.
    __atomic_store_n(&d.head, next, __ATOMIC_RELEASE);
    base::setRef(&d, d.running, event);
    EventState state = event->state();
    state.place = EventState::nowhere;
    if (state.came != 0) {
        event->mask = state.came;
        state.came = 0;
    }
    event->set(state);
    return event;
}

/**
    The procedure of a continuous event has returned. Under the lock, for others may stop and reschedule it. It is
    retained until the next begin(). @return Whether a timer was set that is due before the thread that services events
    wakes.
 */
bool Events::repeat(Dispatcher& d, Event& event, const Running* outer) {
    os::assertHeld(lock_);
    const EventState state = event.state();
    if (state.place != EventState::nowhere || state.cancelled || d.destroyed || isRunning(outer, event)) {
        return false;
    }
    event.due = dueIn(event.period);
    if (event.period <= 0) {
        enqueue(event);
        return false;
    }
    setTimer(event);
    return static_cast<std::uint64_t>(event.due) < sleepUntil_;
}

/**
    Run events of a dispatcher, if it is the calling thread's turn. The end of one and the start of the next share a
    lock.
    @return How many.
 */
int Events::run(Dispatcher& d, int most) {
    const os::ThreadId self = os::currentThread();
    Running running{};
    {
        os::Locked locked(lock_);
        if ((d.runner != 0 && d.runner != self) || most <= 0 || !(running.event = begin(d, self))) {
            return 0;
        }
        d.runner = self;
        running.outer = d.procedures;
        d.procedures = &running;
    }
    // The outer one, whose procedure waits: no yield since it has been `running` of the dispatcher. No reference on the stack
    // is linked, for a procedure may end its thread.
    const base::Rooted rooted(running.outer ? running.outer->event : nullptr);
    const bool services = servicer_.load(std::memory_order_relaxed) == self;
    int count = 0;
    Hand whom = Hand::nobody;
    while (Event* event = running.event) {
        callProgram({"event", event->name}, [=] { event->proc(event->data, event); });
        yield(services && __atomic_load_n(&d.head, __ATOMIC_RELAXED), services);
        bool sooner = false;
        {
            os::Locked locked(lock_);
            ++d.mark;
            if (event->flags & MPR_EVENT_CONTINUOUS) {
                sooner = repeat(d, *event, running.outer);
            }
            running.event = ++count < most ? begin(d, self) : nullptr;
            if (!running.event) {
                whom = leave(d, running);
            }
        }
        if (sooner) {
            wakeServicer();
        }
        if (waiters_.load(std::memory_order_seq_cst) > 0) {
            ring();
        }
    }
    if (!gc::attached->calledBack) { // no outer event: what that has claimed is its own
        endTurn({"an event of dispatcher", d.name});
    }
    tell(d, whom);
    return count;
}

/** No more events of this dispatcher for now. @return Who is to run what is left. */
Events::Hand Events::leave(Dispatcher& d, const Running& running) {
    os::assertHeld(lock_);
    d.procedures = running.outer;
    base::setRef(&d, d.running, running.outer ? running.outer->event : nullptr);
    if (running.outer) {
        return Hand::nobody; // the outer run goes on
    }
    d.runner = 0;
    const Hand whom = hand(d);
    settle(d);
    return whom;
}

/**
    The calling thread goes: others run the events of dispatchers that it has claimed, or runs itself.
    @return The name of an event inside of whose procedure it ends, or nullptr.
 */
const char* Events::giveUpDispatchers(Hands& hands) {
    const os::ThreadId self = os::currentThread();
    const char* inside = nullptr;
    claims = 0;
    os::Locked locked(lock_);
    for (Dispatcher* d = hub_->active; d;) {
        Dispatcher* next = d->nextActive;
        const bool runs = d->runner == self;
        if (runs) {
            inside = d->running ? d->running->name : "";
            d->runner = 0;
            d->procedures = nullptr; // they stood on the stack
        }
        if (runs || d->owner == self) {
            d->owner = d->owner == self ? 0 : d->owner;
            hands.add(*d, hand(*d));
            settle(*d);
        }
        d = next;
    }
    return inside;
}

bool Events::giveUpClaims() {
    if (claims == 0) {
        return false;
    }
    Hands hands;
    giveUpDispatchers(hands); // it runs no event
    tell(hands);
    return true;
}

void Events::detachThread() {
    Hands hands;
    gc::runtime().collector.resume(*gc::attached); // it may have yielded, or be exempt
    giveUpDispatchers(hands);                      // it runs no event: inside one it may not be detached
    tell(hands);
    endLoopThread();
}

void Events::leaveThread() {
    Hands hands;
    gc::runtime().collector.resume(*gc::attached); // it may have yielded, or be exempt
    workers().leaveThread();
    const char* inside = giveUpDispatchers(hands);
    const bool serviced = abandonService();
    if (inside) {
        os::Message message;
        os::log(os::Level::error, message << "event \"" << inside
                                          << "\": its procedure has ended its thread (pthread_exit); others go on");
    }
    tell(hands);
    endLoopThread();
    if (serviced || inside) {
        replaceEventsThread();
        ring();
    }
}

void Events::runAsJob(Job* job) {
    auto& d = static_cast<Dispatcher&>(*job);
    Events& all = events();
    {
        os::Locked locked(all.lock_);
        d.submitted = false;
        all.settle(d);
    }
    all.run(d, turnOfWorker);
}

} // namespace mpr::task
