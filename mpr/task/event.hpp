/*
    event.hpp - Events and dispatchers, as the files of this room see them, and lists of events.

    An event is in at most one list: its dispatcher's queue, or a slot of the timing wheel. The lists retain: their heads
    and `next` are references of barrier blocks. What points backwards is not marked; it is followed only inside lists.
 */
#pragma once

#include "mpr/barrier.h"
#include "mpr/event.h"
#include "mpr/memory.h"
#include "mpr/os/os.hpp"
#include "mpr/task/workers.hpp"

namespace mpr::task {

struct Event : MprEvent {
    Event* next;      // reference: in a list
    Event* outer;     // reference, behind next: the event in whose procedure this one runs
    Event* previous;  // in a list
    Event* nextTimed; // of the same dispatcher, in the wheel
    Event* previousTimed;
    enum class Place : std::uint8_t { nowhere, queue, wheel } place;
    std::uint8_t runs;  // how often its procedure is active: it may nest
    std::uint16_t slot; // of the wheel
    bool cancelled;     // never to be queued again
    std::uint8_t came;  // of an I/O event: the mask of its next run
};

static_assert(sizeof(void*) != 8 || sizeof(Event) + sizeof(MprManager) == 128, "two cache lines, with the manager");

/** Set a reference to nullptr. That makes nothing reachable, so the collector need not hear of it. */
inline void dropRef(Event*& field) {
    __atomic_store_n(&field, nullptr, __ATOMIC_RELAXED);
}

/** An event that a callback of libuv wants to be queued. It stands in the memory of the callback's handle. */
struct Fired {
    Fired* next = nullptr;
    Event* event = nullptr; // retained by others until the callback returns
    int mask = 0;
    bool pending = false;
};

/** A doubly linked list whose head is a reference in a block. */
struct List {
    void* block;  // in which the head stands
    Event** head; // reference
    Event*& tail;

    void append(Event* event) {
        event->previous = tail;
        if (tail) {
            mprSetRef(tail, &tail->next, event);
        } else {
            mprSetRef(block, head, event);
        }
        tail = event;
    }
    void remove(Event* event) {
        Event* next = event->next;
        if (event->previous) {
            mprSetRef(event->previous, &event->previous->next, next);
        } else {
            mprSetRef(block, head, next);
        }
        (next ? next->previous : tail) = event->previous;
        dropRef(event->next);
    }
};

} // namespace mpr::task

/** Who runs it is decided under the lock of the events; `runner` is whose turn it is now, 0 when nobody's. */
struct MprDispatcher {
    mpr::task::Event* head;    // reference: the queue of due events
    mpr::task::Event* running; // reference: the innermost
    MprDispatcher* nextActive; // reference: the list of those that have something to do
    MprDispatcher* previousActive;
    mpr::task::Event* tail;
    mpr::task::Event* timed;  // the first of its events in the wheel
    MprDispatcher* nextReady; // in the list of those that the events thread is to run
    mpr::task::Job job;       // to be run by a worker
    mpr::os::ThreadId owner;  // who has claimed it
    mpr::os::ThreadId runner;
    std::int64_t mark;
    int depth; // of procedures that run
    int queued;
    bool onEventsThread, disabled, destroyed;
    bool active, ready, submitted;
    char name[24];

    mpr::task::List queue() { return {this, &head, tail}; }
};
