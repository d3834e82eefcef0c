// SPDX-License-Identifier: MIT
/*
    clock.cpp - What is done every tick while there are connections: limits of time, memory, sessions, the log; and what time
    it is.
 */
#include <utility>

#include "mpr/base/retain.hpp"
#include "mpr/event.h"
#include "mpr/gc/runtime.hpp"
#include "mpr/http/grammar.hpp"
#include "mpr/http/log.hpp"
#include "mpr/http/net.hpp"
#include "mpr/http/route.hpp"
#include "mpr/string.h"
#include "mpr/task/events.hpp"
#include "mpr/time.h"

namespace mpr::http {

namespace {

constexpr MprTicks tick = 100; // milliseconds: limits of time are seconds

/**
    The next connection of a dispatcher, the caller's, that is late or whose service has ended. Each is found once a
    tick, and nothing is kept of the lists: what is done about one may call procedures of programs, and change them.
 */
HttpNet* nextLate(const MprDispatcher* dispatcher, MprTicks time) {
    const os::Locked locked(shared.lock);
    for (const NetList* list : {&shared.working, &shared.resting}) {
        for (HttpNet* net = list->first(); net; net = net->next) {
            if (net->dispatcher != dispatcher || net->phase == HttpNet::Phase::closed) {
                continue;
            }
            if (net->http->ended) {
                return net;
            }
            if (net->looked != time && isLate(*net, time)) {
                net->looked = time;
                return net;
            }
            if (list == &shared.resting && !shared.drains) { // the first has rested longest
                break;
            }
        }
    }
    return nullptr;
}

void lookAtAll(const MprDispatcher* dispatcher, MprTicks time) {
    while (HttpNet* net = nextLate(dispatcher, time)) {
        look(*net, time);
    }
}

void onLook(void* data, MprEvent*) {
    auto& lane = *static_cast<Lane*>(data);
    {
        const os::Locked locked(shared.lock);
        lane.asked = false;
    }
    lookAtAll(lane.dispatcher, mprGetTicks());
}

/** Have a dispatcher look after its connections: nobody else may touch them. */
void ask(Lane& lane) {
    {
        const os::Locked locked(shared.lock);
        if (std::exchange(lane.asked, true)) {
            return; // its events wait for the end of one
        }
    }
    if (!mprCreateEvent(lane.dispatcher, "http.look", 0, onLook, &lane, 0)) {
        const os::Locked locked(shared.lock);
        lane.asked = false; // memory is short: the next tick asks again
    }
}

HttpNet* firstOf(const Lane& lane) {
    const os::Locked locked(shared.lock);
    for (const NetList* list : {&shared.working, &shared.resting}) {
        for (HttpNet* net = list->first(); net; net = net->next) {
            if (net->lane == &lane) {
                return net;
            }
        }
    }
    return nullptr;
}

/** Its dispatcher was destroyed, and none of its events runs any more. */
void closeLane(Lane& lane) {
    const base::Rooted rooted(&lane);
    while (HttpNet* net = firstOf(lane)) {
        closeAbandoned(*net);
    }
    dropOrders(lane);
}

Lane* nextOfRound(std::uint64_t round) {
    const os::Locked locked(shared.lock);
    for (Lane* lane = shared.lanes; lane; lane = lane->next) {
        if (lane->round != round) {
            lane->round = round;
            return lane;
        }
    }
    return nullptr;
}
} // namespace

void lookEverywhere(MprTicks time) {
    std::uint64_t round = 0;
    {
        const os::Locked locked(shared.lock);
        round = ++shared.rounds;
    }
    while (Lane* lane = nextOfRound(round)) {
        if (isHere(*lane->dispatcher)) {
            lookAtAll(lane->dispatcher, time);
        } else if (!task::Events::isDestroyed(*lane->dispatcher)) {
            ask(*lane);
        } else if (isHere(*mprGetDispatcher()) && task::events().isAbandoned(*lane->dispatcher)) {
            closeLane(*lane);
        }
    }
}

namespace {

/** Without a redline a request that finds no memory is refused, and the next is tried. */
void lookAtMemory() {
    heap::Heap& heap = gc::runtime().heap;
    shared.redline = heap.memoryState() != heap::Limits::State::well && heap.limits().warn() != heap::Limits::none;
}

/**
    Past the redline connections at rest are closed, a few a tick. While requests are refused nobody allocates enough for
    a collection to start, which may find that what is in use has been given up: one is asked for every second.
 */
void saveMemory(MprTicks time) {
    constexpr int fewConnections = 32;
    constexpr MprTicks second = 1000;
    lookAtMemory();
    if (shared.redline && time - shared.collected >= second) {
        shared.collected = time;
        gc::runtime().collector.majorIsDue();
    }
    const MprDispatcher* here = mprGetDispatcher();
    for (int i = 0; shared.redline && i < fewConnections && (closeResting(here, false) || closeResting(here, true));
         ++i) {}
}
} // namespace

void wakeListeners() {
    if (!shared.listenersWait.load(std::memory_order_relaxed) || !shared.listenersWait.exchange(false)) {
        return; // whoever sets it has seen the lists before
    }
    const Http* http = service();
    for (int i = 0; http && i < mprGetListLength(http->endpoints); ++i) {
        const auto* endpoint = static_cast<HttpEndpoint*>(mprGetItem(http->endpoints, i));
        if (MprSocket* listener = endpoint ? listenerOf(*endpoint) : nullptr) {
            mprEnableSocketEvents(listener, MPR_READABLE);
        }
    }
}

bool isAtRest() {
    const os::Locked locked(shared.lock);
    if (shared.lanes) {
        return false;
    }
    shared.now = 0;
    shared.drains = false;
    return true;
}

namespace {

/** A connection that comes meanwhile sees either that the clock does not tick, or is seen here. */
void stopClock() {
    MprEvent* clock = shared.clock;
    mprStopContinuousEvent(clock);
    if (shared.now != 0) {
        mprRestartContinuousEvent(clock);
    }
}

void onTick(void*, MprEvent*) {
    const MprTicks time = mprGetTicks();
    shared.now = time;
    wakeListeners();
    saveMemory(time);
    lookEverywhere(time);
    if (Http* http = service()) {
        forgetSessions(*http);
    }
    const bool logWaits = flushLog() && service();
    if (!logWaits && isAtRest()) {
        stopClock();
        if (!service()) {
            closeLog();
        }
    }
}
} // namespace

void startClock() {
    if (shared.now.exchange(mprGetTicks()) == 0) {
        lookAtMemory(); // what the last tick has seen may be long ago
        mprRestartContinuousEvent(shared.clock);
    }
}

bool makeClock() {
    if (!shared.clock) {
        MprEvent* none = nullptr;
        MprEvent* made = mprCreateTimerEvent(nullptr, "http.clock", tick, onTick, nullptr, MPR_EVENT_DONT_QUEUE);
        shared.clock.compare_exchange_strong(none, made);
    }
    return shared.clock;
}

MprTicks now() {
    return os::lastTick();
}

const DateLine& dateLine() {
    static thread_local DateLine line;
    static thread_local MprTime second = -1;
    static thread_local MprTicks looked = -1; // when the time of day was asked for
    if (looked == now()) {
        return line;
    }
    looked = now();
    const MprTime time = mprGetTime() / 1000;
    if (time != second) {
        second = time;
        struct tm parts;
        mprDecodeUniversalTime(&parts, time * 1000);
        const char* text = mprFormatTm("Date: " MPR_HTTP_DATE "\r\n", &parts);
        scopy(line.text, sizeof(line.text), text ? text : "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n");
    }
    return line;
}

} // namespace mpr::http
