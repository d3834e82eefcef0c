// SPDX-License-Identifier: MIT
/*
    lane.cpp - Work for connections that an endpoint's dispatcher does outside of their own events.

    Connections and orders wait in lists of their lane. One event of the lane's dispatcher, made in advance, works
    through them, so nothing is lost when memory is short. The work may wait, and then other events of the dispatcher
    run, this one included. So the event is queued again first if there is more to do.

    Each time the event does one of each list, and it is queued again behind what has come meanwhile: thousands of
    connections that can write keep no request waiting for longer than one of them takes.
 */
#include <utility>

#include "mpr/base/retain.hpp"
#include "mpr/event.h"
#include "mpr/gc/census.hpp"
#include "mpr/http/calls.hpp"
#include "mpr/task/events.hpp"

namespace mpr::http {

namespace {

void manageLane(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        const auto* lane = static_cast<Lane*>(ptr);
        markAll(lane->dispatcher, lane->work, lane->firstPump, lane->lastPump, lane->firstWriter, lane->lastWriter,
                lane->firstLater, lane->lastLater);
    }
}
const gc::ManagerName namedLane(manageLane, "HttpEndpoint's dispatcher");

/** @return false: the dispatcher has gone. */
bool ring(const Lane& lane) {
    return task::events().schedule(*static_cast<task::Event*>(lane.work), 0, -1);
}

/** Take the first order, if there is one. With the lock. */
Order* takeFirst(Lane& lane) {
    os::assertHeld(shared.lock);
    Order* order = lane.firstOrder;
    if (order) {
        lane.firstOrder = order->next;
        lane.lastOrder = lane.firstOrder ? lane.lastOrder : nullptr;
        delistIdle(lane);
    }
    return order;
}

Order* takeOrder(Lane& lane) {
    const os::Locked locked(shared.lock);
    return takeFirst(lane);
}

/** A list of a lane: where it begins and ends, and how its connections are linked. */
struct NetQueue {
    HttpNet* Lane::*first;
    HttpNet* Lane::*last;
    HttpNet* HttpNet::*next;
    bool HttpNet::*isIn;

    HttpNet* take(Lane& lane) const {
        HttpNet* net = lane.*first;
        if (net) {
            setRef(&lane, lane.*first, net->*next);
            if (!(net->*next)) {
                setRef(&lane, lane.*last, nullptr);
            }
            setRef(net, net->*next, nullptr);
            net->*isIn = false;
        }
        return net;
    }

    /** @return Whether it is the only one. */
    bool append(Lane& lane, HttpNet& net) const {
        HttpNet* before = lane.*last;
        net.*isIn = true;
        if (before) {
            setRef(before, before->*next, &net);
        } else {
            setRef(&lane, lane.*first, &net);
        }
        setRef(&lane, lane.*last, &net);
        return !before;
    }
};
constexpr NetQueue pumps{&Lane::firstPump, &Lane::lastPump, &HttpNet::nextPump, &HttpNet::awaits};
constexpr NetQueue later{&Lane::firstLater, &Lane::lastLater, &HttpNet::nextLater, &HttpNet::isLater};
constexpr NetQueue writers{&Lane::firstWriter, &Lane::lastWriter, &HttpNet::nextWriter, &HttpNet::queues};

void ringForMore(Lane& lane) {
    bool more = lane.firstPump || lane.firstWriter;
    if (!more) {
        const os::Locked locked(shared.lock);
        more = lane.firstOrder;
    }
    if (more) {
        ring(lane);
    }
}

/** A connection that was in a list may be closed in a procedure that waits, and then nothing else retains it. */
void onWork(void* data, MprEvent*) {
    auto& lane = *static_cast<Lane*>(data);
    if (Order* order = takeOrder(lane)) {
        ringForMore(lane);
        carryOutThere(*order, true);
    }
    if (HttpNet* net = pumps.take(lane)) {
        ringForMore(lane);
        const base::Rooted rooted(net);
        pump(*net);
    }
    if (HttpNet* net = writers.take(lane)) {
        ringForMore(lane);
        const base::Rooted rooted(net);
        pumpInTurn(*net);
    }
}
} // namespace

Lane* makeLane() {
    return base::makeReferring<Lane>(manageLane);
}

bool openLane(Lane& lane) {
    if (!lane.work) {
        setRef(&lane, lane.work,
               mprCreateEvent(lane.dispatcher, "http.work", 0, reinterpret_cast<void*>(onWork), &lane,
                              MPR_EVENT_DONT_QUEUE));
    }
    return lane.work;
}

bool give(Lane& lane, Order& order) {
    order.next = nullptr;
    bool isFirst = false;
    {
        const os::Locked locked(shared.lock);
        if (lane.connections == 0) {
            return false; // the order's stream has ended with the last
        }
        isFirst = !lane.firstOrder;
        (isFirst ? lane.firstOrder : lane.lastOrder->next) = &order;
        lane.lastOrder = &order;
    }
    if (!isFirst || ring(lane)) {
        return true;
    }
    const os::Locked locked(shared.lock);
    if (lane.firstOrder != &order) {
        return true; // the last work of a dispatcher that is being destroyed has taken it
    }
    takeFirst(lane); // others count on the call that has failed: see dropOrders
    return false;
}

void dropOrders(Lane& lane) {
    while (Order* order = takeOrder(lane)) {
        carryOutThere(*order, false);
    }
}

void delistIdle(Lane& lane) {
    if (lane.isIdle()) {
        delist(shared.lanes, lane, &Lane::next);
    }
}

void pumpSoon(HttpNet& net) {
    assertHere(net);
    if (!net.pumping) {
        pumpAgain(net);
    }
}

void pumpAgain(HttpNet& net) {
    assertHere(net);
    if (net.awaits || net.phase == HttpNet::Phase::closed) {
        return;
    }
    if (pumps.append(*net.lane, net)) {
        ring(*net.lane);
    }
}

void beginLater(HttpNet& net) {
    assertHere(net);
    if (!net.isLater) {
        later.append(*net.lane, net);
    }
}

void beginNow(Lane& lane) {
    while (HttpNet* net = later.take(lane)) {
        pumpAgain(*net);
    }
}

void writeInTurn(HttpNet& net) {
    assertHere(net);
    if (!net.queues && writers.append(*net.lane, net)) {
        ring(*net.lane);
    }
}

} // namespace mpr::http
