// SPDX-License-Identifier: MIT
/*
    api_event.cpp - The C API of mpr/event.h: checks its arguments and calls the events of the runtime.
 */
#include "mpr/event.h"

#include "mpr/shutdown.h"
#include "mpr/task/events.hpp"

using namespace mpr::task;

namespace {

/** The dispatcher meant; nullptr when the room cannot be used. */
MprDispatcher* meant(MprDispatcher* dispatcher, const char* function) {
    if (!events().open(function)) {
        return nullptr;
    }
    return dispatcher ? dispatcher : events().mainDispatcher();
}

[[gnu::noinline]] MprEvent* create(const char* function, MprDispatcher* dispatcher, cchar* name, MprTicks period,
                                   void* proc, void* data, int flags) {
    MprDispatcher* d = proc ? meant(dispatcher, function) : nullptr;
    return d ? events().makeEvent(*d, name, period, reinterpret_cast<MprEventProc>(proc), data, flags) : nullptr;
}

void reschedule(const char* function, MprEvent* event, MprTicks period, int continuous) {
    if (event && events().open(function)) {
        events().schedule(*static_cast<Event*>(event), period, continuous);
    }
}

void remove(const char* function, MprEvent* event) {
    if (event && mpr::gc::admitRunning(function)) {
        events().remove(*static_cast<Event*>(event));
    }
}
} // namespace

// ---- Dispatchers ------------------------------------------------------------------------------------------------

MprDispatcher* mprCreateDispatcher(cchar* name, int flags) {
    return events().open("mprCreateDispatcher") ? events().makeDispatcher(name, flags) : nullptr;
}

MprDispatcher* mprGetDispatcher(void) {
    return meant(nullptr, "mprGetDispatcher");
}

void mprDestroyDispatcher(MprDispatcher* dispatcher) {
    if (!dispatcher || !mpr::gc::admitRunning("mprDestroyDispatcher")) {
        return;
    }
    if (events().isOpen() && dispatcher == events().mainDispatcher()) {
        mpr::gc::misuse("mprDestroyDispatcher", dispatcher, "the main dispatcher ends with the runtime");
        return;
    }
    events().destroy(*dispatcher);
}

int mprStartDispatcher(MprDispatcher* dispatcher) {
    MprDispatcher* d = dispatcher ? meant(dispatcher, "mprStartDispatcher") : nullptr;
    return d ? events().claim(*d) : MPR_ERR_BAD_ARGS;
}

int mprStopDispatcher(MprDispatcher* dispatcher) {
    MprDispatcher* d = dispatcher ? meant(dispatcher, "mprStopDispatcher") : nullptr;
    return d ? events().unclaim(*d) : MPR_ERR_BAD_ARGS;
}

void mprDisableDispatcher(MprDispatcher* dispatcher) {
    if (MprDispatcher* d = meant(dispatcher, "mprDisableDispatcher")) {
        events().disable(*d, true);
    }
}

void mprEnableDispatcher(MprDispatcher* dispatcher) {
    if (MprDispatcher* d = meant(dispatcher, "mprEnableDispatcher")) {
        events().disable(*d, false);
    }
}

bool mprDispatcherHasEvents(MprDispatcher* dispatcher) {
    MprDispatcher* d = meant(dispatcher, "mprDispatcherHasEvents");
    return d && events().hasEvents(*d);
}

int mprGetEventCount(MprDispatcher* dispatcher) {
    MprDispatcher* d = meant(dispatcher, "mprGetEventCount");
    return d ? events().count(*d) : 0;
}

int mprDispatchersAreIdle(void) {
    return !events().isOpen() || events().areIdle() ? 1 : 0;
}

void mprSignalDispatcher(MprDispatcher*) {
    events().wakeAll();
}

// ---- Events -----------------------------------------------------------------------------------------------------

MprEvent* mprCreateEvent(MprDispatcher* dispatcher, cchar* name, MprTicks period, void* proc, void* data, int flags) {
    if (period <= 0 && flags == 0 && proc && events().isOpen()) [[likely]] {
        return events().makeDue(dispatcher, name, reinterpret_cast<MprEventProc>(proc), data);
    }
    return create("mprCreateEvent", dispatcher, name, period, proc, data, flags);
}

MprEvent* mprCreateLocalEvent(MprDispatcher* dispatcher, cchar* name, MprTicks period, void* proc, void* data,
                              int flags) {
    return mprCreateEvent(dispatcher, name, period, proc, data, flags);
}

MprEvent* mprCreateTimerEvent(MprDispatcher* dispatcher, cchar* name, MprTicks period, void* proc, void* data,
                              int flags) {
    return create("mprCreateTimerEvent", dispatcher, name, period, proc, data, flags | MPR_EVENT_CONTINUOUS);
}

void mprRemoveEvent(MprEvent* event) {
    remove("mprRemoveEvent", event);
}

void mprStopContinuousEvent(MprEvent* event) {
    remove("mprStopContinuousEvent", event);
}

void mprRestartContinuousEvent(MprEvent* event) {
    reschedule("mprRestartContinuousEvent", event, event ? event->period : 0, 1);
}

void mprRescheduleEvent(MprEvent* event, MprTicks period) {
    reschedule("mprRescheduleEvent", event, period, -1);
}

void mprEnableContinuousEvent(MprEvent* event, int enable) {
    if (event && events().open("mprEnableContinuousEvent")) {
        events().setRepeats(*static_cast<Event*>(event), enable != 0);
    }
}

int mprCreateEventOutside(MprDispatcher* dispatcher, void* proc, void* data) {
    if (!mpr::gc::admitAlways("mprCreateEventOutside") ||
        !mpr::gc::mayMake("mprCreateEventOutside", dispatcher, data)) {
        return MPR_ERR_BAD_STATE;
    }
    return proc ? events().post(dispatcher, reinterpret_cast<MprEventProc>(proc), data) : MPR_ERR_BAD_ARGS;
}

// ---- Servicing --------------------------------------------------------------------------------------------------

int mprServiceEvents(MprTicks delay, int flags) {
    const void* site = __builtin_return_address(0);
    const bool admitted =
        mpr::gc::admitServing("mprServiceEvents") && events().open("mprServiceEvents") && !mprIsStopped();
    return admitted ? events().service(delay, flags, site) : 0;
}

int mprWaitForEvent(MprDispatcher* dispatcher, MprTicks timeout, int64 mark) {
    const void* site = __builtin_return_address(0);
    MprDispatcher* d = mpr::gc::admitServing("mprWaitForEvent") ? meant(dispatcher, "mprWaitForEvent") : nullptr;
    if (!d) {
        return MPR_ERR_BAD_STATE;
    }
    const Awaited awaited{{d, nullptr}, {mark < 0 ? events().mark(*d) : mark, 0}};
    return events().waitFor(awaited, timeout, site);
}

int64 mprGetEventMark(MprDispatcher* dispatcher) {
    MprDispatcher* d = meant(dispatcher, "mprGetEventMark");
    return d ? events().mark(*d) : 0;
}

void mprWakeEventService(void) {
    events().wakeAll();
}
