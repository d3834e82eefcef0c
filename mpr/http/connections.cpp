// SPDX-License-Identifier: MIT
/*
    connections.cpp - All connections: which are at work, whose they are, how many there may be, and which leaves for another.
 */
#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "mpr/base/hash.hpp"
#include "mpr/event.h"
#include "mpr/gc/census.hpp"
#include "mpr/http/net.hpp"
#include "mpr/string.h"
#include "mpr/time.h"

namespace mpr::http {

void NetList::append(HttpNet& net) {
    net.previous = last;
    if (last) {
        setRef(last, last->next, &net);
    } else {
        setRef(head, head->first, &net);
    }
    last = &net;
    ++count;
}

void NetList::remove(HttpNet& net) {
    if (net.previous) {
        setRef(net.previous, net.previous->next, net.next);
    } else {
        setRef(head, head->first, net.next);
    }
    (net.next ? net.next->previous : last) = net.previous;
    setRef(&net, net.next, nullptr);
    net.previous = nullptr;
    --count;
}

namespace {

void stay(HttpNet& net) {
    os::assertHeld(shared.lock);
    const int one = std::exchange(net.leaves, false);
    shared.leaving -= one;
    net.lane->leaving -= one;
}

/** To the end of one of the lists. */
void move(HttpNet& net, bool working) {
    os::assertHeld(shared.lock);
    if (net.working != working) {
        (net.working ? shared.working : shared.resting).remove(net);
        (working ? shared.working : shared.resting).append(net);
        net.working = working;
    } else if (!working && net.restsSince != net.lastActivity) { // it has rested least
        shared.resting.remove(net);
        shared.resting.append(net);
    }
    net.restsSince = net.lastActivity;
}
} // namespace

void setWorking(HttpNet& net, bool on) {
    assertHere(net);
    if (!net.entered) {
        return;
    }
    bool stays = false;
    {
        const os::Locked locked(shared.lock);
        stays = net.leaves && on; // a request has come before it heard that it is to leave
        if (stays) {
            stay(net);
        }
        move(net, on);
    }
    if (stays) {
        wakeListeners();
    }
}

namespace {

void manageClient(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<Client*>(ptr)->ip);
    }
}
const gc::ManagerName namedClient(manageClient, "HttpNet's client");

Client*& bucketOf(const char* ip) {
    return shared.clients[base::hashOfKey(ip) % Shared::clientBuckets];
}

/** One more connection of an address that is known. With the lock. @return Whether it is; nullptr found: it has as many
    as are allowed. */
bool countKnown(const Http& http, const char* ip, Client*& found) {
    os::assertHeld(shared.lock);
    for (Client* client = bucketOf(ip); client; client = client->next) {
        if (std::strcmp(client->ip, ip) == 0) {
            const bool fits = client->isMany || client->connections < http.limits->connectionsPerClientMax;
            found = fits ? client : nullptr;
            client->connections += found != nullptr;
            return true;
        }
    }
    return false;
}

Client* makeClient(const char* ip) {
    auto* client = base::makeReferring<Client>(manageClient);
    char* copy = client ? sclone(ip) : nullptr;
    if (!copy) {
        return nullptr;
    }
    client->ip = copy;
    client->connections = 1;
    client->isMany = std::strncmp(ip, "unix:", 5) == 0;
    return client;
}

/** The address of a connection, which counts from now on. @return nullptr: there are too many, or memory is short. */
Client* clientOf(const Http& http, const char* ip) {
    Client* found = nullptr;
    {
        const os::Locked locked(shared.lock);
        if (countKnown(http, ip, found)) {
            return found;
        }
    }
    Client* made = makeClient(ip);
    if (made) {
        mprPublish(made); // other threads find it
    }
    const os::Locked locked(shared.lock);
    if (countKnown(http, ip, found)) { // by another thread meanwhile
        return found;
    }
    if (!made || shared.clientCount >= http.limits->clientMax ||
        (http.limits->connectionsPerClientMax < 1 && !made->isMany)) {
        return nullptr;
    }
    Client*& first = bucketOf(ip);
    made->next = first;
    first = made;
    ++shared.clientCount;
    return made;
}

/** One connection less. With the lock. */
void forget(Client& client) {
    os::assertHeld(shared.lock);
    if (--client.connections > 0) {
        return;
    }
    shared.clientCount -= delist(bucketOf(client.ip), client, &Client::next);
}

void joinLane(Lane& lane) {
    os::assertHeld(shared.lock);
    if (lane.isIdle()) {
        lane.next = shared.lanes;
        shared.lanes = &lane;
    }
    ++lane.connections;
}

void leaveLane(Lane& lane) {
    os::assertHeld(shared.lock);
    --lane.connections;
    delistIdle(lane);
}

/** @return false: there are too many. From then on its dispatcher may close it. */
bool admit(HttpNet& net) {
    const os::Locked locked(shared.lock);
    if (shared.connections() >= net.http->limits->connectionsMax) {
        return false;
    }
    ++shared.totalConnections;
    shared.resting.append(net);
    joinLane(*net.lane);
    net.entered = true;
    return true;
}

/** The one that has rested longest leaves, unless many do. @param elsewhere As closeResting(). */
HttpNet* chooseResting(bool elsewhere) {
    constexpr int mostLeaving = 32; // that have not heard of it: their dispatchers are busy
    const os::Locked locked(shared.lock);
    HttpNet* net = elsewhere || shared.leaving < mostLeaving ? shared.resting.first() : nullptr;
    while (net && (net->leaves || (elsewhere && net->lane->leaving > 0))) {
        net = net->next;
    }
    if (net) {
        net->leaves = true;
        ++net->lane->leaving;
        ++shared.leaving;
    }
    return net;
}

bool doLeave() {
    const os::Locked locked(shared.lock);
    return shared.leaving > 0;
}

/** Have the listeners told when one has left. @return false: none leaves. */
bool awaitLeaving() {
    const os::Locked locked(shared.lock);
    if (shared.leaving > 0) {
        shared.listenersWait = true;
    }
    return shared.leaving > 0;
}

/** A request may have come meanwhile, and is answered. */
void onLeave(void* data, MprEvent*) {
    makeRoom(*static_cast<HttpNet*>(data));
}
} // namespace

int enter(HttpNet& net) {
    Client* client = clientOf(*net.http, net.sock->ip ? net.sock->ip : "");
    if (!client) {
        return HTTP_CODE_SERVICE_UNAVAILABLE;
    }
    setRef(&net, net.client, client);
    if (!admit(net)) {
        const os::Locked locked(shared.lock);
        forget(*client);
        return HTTP_CODE_SERVICE_UNAVAILABLE;
    }
    startClock();
    return 0;
}

void noteFull() {
    const os::Locked locked(shared.lock);
    shared.fitting = std::max(shared.connections(), 1); // where there are none it is others who have the descriptors
    shared.full = mprGetTicks();
}

bool hasPlace(const Http& http) {
    constexpr MprTicks untilTried = 1000; // milliseconds between two tries, each of which fails and is logged
    const os::Locked locked(shared.lock);
    if (shared.fitting < INT_MAX && mprGetElapsedTicks(shared.full) >= untilTried) {
        shared.fitting = INT_MAX;
    }
    return shared.connections() < std::min(http.limits->connectionsMax, shared.fitting);
}

bool makePlace(const Http& http, const MprDispatcher* here) {
    for (bool asked = false; !hasPlace(http);) {
        // One that leaves since a call before this has not heard of it for a while: another dispatcher is asked, too.
        const bool some = doLeave();
        if ((!some || !asked) && closeResting(here, some)) {
            asked = true;
        } else if (!some) {
            break;
        } else if (awaitLeaving()) {
            return false;
        }
    }
    return true;
}

void leave(HttpNet& net) {
    if (!net.entered) {
        return;
    }
    {
        const os::Locked locked(shared.lock);
        (net.working ? shared.working : shared.resting).remove(net);
        net.entered = net.working = false;
        stay(net);
        leaveLane(*net.lane);
        forget(*net.client);
    }
    wakeListeners();
}

int enterRequest(Stream& stream) {
    assertHere(*stream.net);
    const HttpLimits& limits = *stream.http->limits;
    Client& client = *stream.net->client;
    const os::Locked locked(shared.lock);
    const bool tooMany =
        shared.requests >= limits.requestMax || (client.requests >= limits.requestsPerClientMax && !client.isMany);
    if (tooMany || shared.redline || stream.http->ended) {
        return HTTP_CODE_SERVICE_UNAVAILABLE;
    }
    ++shared.requests;
    ++shared.totalRequests;
    ++client.requests;
    stream.counted = true;
    return 0;
}

void leaveRequest(Stream& stream) {
    if (stream.counted) {
        assertHere(*stream.net);
        const os::Locked locked(shared.lock);
        stream.counted = false;
        --shared.requests;
        --stream.net->client->requests;
    }
}

bool closeResting(const MprDispatcher* here, bool elsewhere) {
    HttpNet* net = chooseResting(elsewhere);
    if (!net) {
        return false;
    }
    if (net->dispatcher == here) {
        makeRoom(*net);
        return true;
    }
    if (mprCreateEvent(net->dispatcher, "http.leave", 0, onLeave, net, 0)) {
        return true;
    }
    const os::Locked locked(shared.lock);
    stay(*net);
    return false;
}

} // namespace mpr::http
