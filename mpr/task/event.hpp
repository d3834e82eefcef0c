// SPDX-License-Identifier: MIT
/*
    event.hpp - Events and dispatchers, as the files of this room see them, and lists of events.

    An event is in at most one list: its dispatcher's queue, or a slot of the timing wheel. The lists retain: their heads
    and `next` are references of barrier blocks. What points backwards is not marked; it is followed only inside lists.
 */
#pragma once

#include <bit>

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/event.h"
#include "mpr/memory.h"
#include "mpr/os/os.hpp"
#include "mpr/task/block.hpp"
#include "mpr/task/workers.hpp"

namespace mpr::task {

/** Where an event stands and more, in the word that MprEvent reserves for it. */
struct EventState {
    static constexpr std::uint16_t nowhere = 0xFFFF, inQueue = 0xFFFE;
    std::uint16_t place; // or the slot of the wheel
    std::uint8_t came;   // of an I/O event: the mask of its next run
    bool isTimer : 1;    // it is a Timer
    bool cancelled : 1;  // never to be queued again
};
static_assert(sizeof(EventState) == sizeof(MprEvent::reserved));

struct Dispatcher;

struct Event : MprEvent {
    Event* next;     // reference: in a list
    Event* previous; // in a list, of all but the first

    Dispatcher& owner() const;
    EventState state() const { return std::bit_cast<EventState>(reserved); }
    void set(EventState state) { reserved = std::bit_cast<unsigned>(state); }
    void put(std::uint16_t place) {
        EventState now = state();
        now.place = place;
        set(now);
    }
};
static_assert(sizeof(void*) != 8 || sizeof(Event) + sizeof(MprManager) == 96, "every byte costs: many are queued");

/** An event made to be in the wheel. Any event may be there; those that are none are found by looking at all (see destroy). */
struct Timer : Event {
    Timer* nextTimed; // of the same dispatcher, in the wheel
    Timer* previousTimed;
};

/** A procedure that runs, on the stack of the thread that runs it. */
struct Running {
    Event* event;
    Running* outer; // whose procedure waits for events meanwhile
    bool waits;     // its thread sleeps until the dispatcher has the next event, or is about to
};

/** Set a reference to nullptr. That makes nothing reachable, so the collector need not hear of it. */
inline void dropRef(Event*& field) {
    __atomic_store_n(&field, nullptr, __ATOMIC_RELAXED);
}

/** An event that a callback of libuv wants to be queued. It lives until that is done: see loop.hpp. */
struct Fired {
    Fired* next = nullptr;
    Event* event = nullptr; // alive until the thread that turns the loop yields, and that queues it first
    int mask = 0;
    bool pending = false;
};

void manageEvent(void* ptr, int flags);

/** An event that is in no list. @param time Of the system's last tick. @return nullptr when memory is short. */
[[gnu::always_inline]] inline Event* allocateEvent(MprDispatcher& dispatcher, const char* name, MprTicks time,
                                                   MprEventProc proc, void* data, bool isTimer) {
    // Members that a list or the wheel sets when it takes the event are left as they are.
    Event* event = isTimer ? allocateBlock<Timer, manageEvent>() : allocateBlock<Event, manageEvent>();
    if (event) {
        event->name = name ? name : "";
        event->proc = proc;
        event->data = data;
        event->dispatcher = &dispatcher;
        event->handler = nullptr;
        event->timestamp = event->due = time;
        event->period = 0;
        event->mask = event->flags = 0;
        event->set({.place = EventState::nowhere, .came = 0, .isTimer = isTimer, .cancelled = false});
        event->next = nullptr;
    }
    return event;
}

/** A doubly linked list whose head is a reference in a block. What the first element's `previous` says does not matter. */
struct List {
    void* block;  // in which the head stands
    Event** head; // reference
    Event*& tail;

    void append(Event* event) {
        event->previous = tail;
        if (tail) {
            base::setRef(tail, tail->next, event);
        } else {
            base::setRef(block, *head, event);
        }
        tail = event;
    }
    void remove(Event* event) {
        Event* next = event->next;
        const bool first = event == *head;
        if (first) {
            base::setRef(block, *head, next);
        } else {
            base::setRef(event->previous, event->previous->next, next);
        }
        if (next) {
            next->previous = event->previous;
        } else {
            tail = first ? nullptr : event->previous;
        }
        dropRef(event->next);
    }
};

/**
    The private part of a dispatcher. As a job it runs its events. Which thread runs them is decided under the lock of the
    events; `runner` is whose turn it is now, 0 when nobody's.
 */
struct Dispatcher : MprDispatcher, Job {
    Event* head;            // reference: the queue of due events
    Event* running;         // reference: the innermost one; others are roots
    Dispatcher* nextActive; // reference: the list of those that have something to do
    Dispatcher* previousActive;
    Event* tail;
    Timer* timed;        // the first of its timers in the wheel
    Running* procedures; // that run: the innermost
    os::ThreadId owner;  // who has claimed it
    os::ThreadId runner;
    std::int64_t mark;
    int queued;
    int strays;               // in the wheel, and no timers
    std::int64_t stuckMark;   // the mark when events were seen to wait
    std::uint64_t stuckSince; // and when that was; 0 when none waited
    bool onEventsThread, disabled, destroyed;
    bool active, ready, submitted;
    Dispatcher* nextReady; // in the list of those that the events thread is to run

    List queue() { return {this, &head, tail}; }
};

inline Dispatcher& own(MprDispatcher& dispatcher) {
    return static_cast<Dispatcher&>(dispatcher);
}
inline Dispatcher& Event::owner() const {
    return own(*dispatcher);
}

} // namespace mpr::task
