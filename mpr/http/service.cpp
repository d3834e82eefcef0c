// SPDX-License-Identifier: MIT
/*
    service.cpp - See service.hpp.
 */
#include "mpr/http/service.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mpr/base/hash.hpp"
#include "mpr/base/retain.hpp"
#include "mpr/event.h"
#include "mpr/gc/census.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/http/grammar.hpp"
#include "mpr/http/log.hpp"
#include "mpr/http/net.hpp"
#include "mpr/http/route.hpp"
#include "mpr/http/stages.hpp"
#include "mpr/mime.h"
#include "mpr/shutdown.h"
#include "mpr/stats.h"
#include "mpr/string.h"
#include "mpr/task/events.hpp"
#include "mpr/time.h"
#include "mpr/worker.h"

namespace mpr::http {

constinit Shared shared;

namespace {

/** The service, a root while the runtime is. */
constinit std::atomic<Http*> current{nullptr};

constexpr MprTicks tick = 100; // milliseconds: limits of time are seconds

void manageHttp(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        const auto* http = static_cast<Http*>(ptr);
        markAll(http->limits, http->defaultHost, http->hosts, http->endpoints, http->stages, http->actions,
                http->sessions, http->mimeTypes, http->actionHandler, http->fileHandler, http->connector,
                http->serverHeader);
    }
}
const gc::ManagerName namedHttp(manageHttp, "Http");

void manageClient(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<Client*>(ptr)->ip);
    }
}
const gc::ManagerName namedClient(manageClient, "HttpNet's client");

/** Foreign threads add some meanwhile. */
void markOrders() {
    const os::Locked locked(shared.lock);
    for (const Order* order = shared.orders; order; order = order->nextOfAll) {
        gc::markLoose(&order->data);
    }
}

void manageHead(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<NetList::Head*>(ptr)->first);
    }
}
const gc::ManagerName namedHead(manageHead, "Http's connections");

void markRoom() {
    mprMark(current.load());
    mprMark(shared.clock.load());
    mprMark(shared.resting.head);
    mprMark(shared.working.head);
    for (const HttpNet* net = shared.working.first(); net; net = net->next) {
        if (net->stream) {
            markFields(*net->stream);
        }
    }
    markOrders();
}

/** Give back what the process has: its figures begin anew with the next runtime. */
void closeRoom() {
    current = nullptr;
    shared.working = {};
    shared.resting = {};
    std::fill(std::begin(shared.byNumber), std::end(shared.byNumber), nullptr);
    std::fill(std::begin(shared.clients), std::end(shared.clients), nullptr);
    shared.lanes = nullptr;
    {
        const os::Locked locked(shared.lock); // foreign threads may be giving one
        shared.orders = nullptr;
        ++shared.runtimes;
    }
    shared.clientCount = shared.leaving = shared.requests = 0;
    shared.totalRequests = shared.totalConnections = 0;
    shared.drains = false;
    shared.listenersWait = false;
    shared.clock = nullptr;
    shared.now = 0;
    closeLog();
}

void closeAll();
gc::Service room{markRoom, [](std::uint64_t) { return true; }, closeRoom, nullptr, nullptr, closeAll};

void setDefaults(HttpLimits& limits) {
    limits.chunkSize = 8 * 1024;
    limits.clientMax = 512;
    limits.connectionMemory = 16 * 1024 * 1024;
    limits.connectionsMax = 1024;
    limits.connectionsPerClientMax = 128;
    limits.headerMax = 64;
    limits.headerSize = 16 * 1024;
    limits.inactivityTimeout = 30'000;
    limits.keepAliveMax = 1000;
    limits.packetSize = 64 * 1024;
    limits.requestMax = 1024;
    limits.requestTimeout = 300'000;
    limits.requestParseTimeout = 10'000;
    limits.requestsPerClientMax = 64;
    limits.rxBodySize = 1024 * 1024;
    limits.rxFormSize = 64 * 1024;
    limits.sessionMax = 500;
    limits.sessionTimeout = 1'800'000;
    limits.txBodySize = 0;
    limits.uploadSize = 10 * 1024 * 1024;
    limits.uriSize = 2 * 1024;
    limits.webSocketsFrameSize = 8 * 1024;
    limits.webSocketsMessageSize = 64 * 1024;
    limits.webSocketsPacketSize = 8 * 1024;
    limits.webSocketsPing = 0;
}

Http* make() {
    auto* http = base::makeReferring<Http>(manageHttp);
    auto* limits = http ? static_cast<HttpLimits*>(mprAllocZeroed(sizeof(HttpLimits))) : nullptr;
    if (!limits) {
        return nullptr;
    }
    setDefaults(*limits);
    http->limits = limits;
    http->hosts = mprCreateList(0, 0);
    http->endpoints = mprCreateList(0, 0);
    http->stages = mprCreateHash(0, 0);
    http->actions = mprCreateHash(0, 0);
    http->sessions = mprCreateHash(0, 0);
    http->mimeTypes = mprCreateMimeTypes(nullptr);
    const bool whole =
        http->hosts && http->endpoints && http->stages && http->actions && http->sessions && http->mimeTypes;
    return whole ? http : nullptr;
}

/** @return false when memory is short. */
bool makeLists() {
    NetList::Head* made[2] = {};
    for (NetList::Head*& head : made) {
        head = base::makeReferring<NetList::Head>(manageHead);
        if (!head) {
            return false;
        }
        mprPublish(head);
    }
    // From here on there is something to retain, whether or not the service gets whole.
    gc::runtime().services.add(room);
    const os::Locked locked(shared.lock);
    shared.working.head = shared.working.head ? shared.working.head : made[0];
    shared.resting.head = shared.resting.head ? shared.resting.head : made[1];
    return true;
}

/** A service with all that it has from the start: nobody finds it before. @return nullptr when memory is short. */
Http* makeWhole() {
    Http* http = make();
    if (!http || !makeLists() || !defineConnector(*http) || !defineActionHandler(*http) || !defineStages(*http)) {
        return nullptr;
    }
    setRef(http, http->defaultHost, makeHost(*http));
    return http->defaultHost && makeDefaultRoute(*http, http->defaultHost) ? http : nullptr;
}

// ---- The clock --------------------------------------------------------------------------------------------------

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

/** Each dispatcher looks after its connections: the caller's now. */
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

/** Listeners wait, and a connection has left, or does not leave. */
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

/** Whether there are no connections, so that the clock need not tick. */
bool isAtRest() {
    const os::Locked locked(shared.lock);
    if (shared.connections() > 0) {
        return false;
    }
    shared.now = 0;
    shared.drains = false;
    return true;
}

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
    flushLog();
    if (isAtRest()) {
        stopClock();
        if (!service()) {
            closeLog();
        }
    }
}

/** There is a connection: the clock ticks. */
void startClock() {
    if (shared.now.exchange(mprGetTicks()) == 0) {
        lookAtMemory(); // what the last tick has seen may be long ago
        mprRestartContinuousEvent(shared.clock);
    }
}
} // namespace

bool makeClock() {
    if (!shared.clock) {
        MprEvent* none = nullptr;
        MprEvent* made = mprCreateTimerEvent(nullptr, "http.clock", tick, onTick, nullptr, MPR_EVENT_DONT_QUEUE);
        shared.clock.compare_exchange_strong(none, made);
    }
    return shared.clock;
}

namespace {

/** The runtime ends: no thread is left that could run an event, those of other dispatchers are the caller's. */
void closeAll() {
    httpDestroy();
    lookEverywhere(mprGetTicks()); // at those, too, that a call before this has left to their dispatchers
}
} // namespace

bool isHere(const MprDispatcher& dispatcher) {
    return mprIsStopped() || task::events().runsHere(dispatcher);
}

void assertHere([[maybe_unused]] const HttpNet& net) {
    MPR_ASSERT(isHere(*net.dispatcher));
}

Http* service() {
    return current.load(std::memory_order_acquire);
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

// ---- Connections and requests -----------------------------------------------------------------------------------

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
    } else if (!working && shared.resting.last != &net) { // it has rested least
        shared.resting.remove(net);
        shared.resting.append(net);
    }
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
    Client** at = &bucketOf(client.ip);
    while (*at && *at != &client) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = client.next;
        --shared.clientCount;
    }
}

void joinLane(Lane& lane) {
    os::assertHeld(shared.lock);
    if (lane.connections++ == 0) {
        lane.next = shared.lanes;
        shared.lanes = &lane;
    }
}

void leaveLane(Lane& lane) {
    os::assertHeld(shared.lock);
    if (--lane.connections > 0) {
        return;
    }
    Lane** at = &shared.lanes;
    while (*at && *at != &lane) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = lane.next;
    }
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

bool hasPlace(const Http& http) {
    const os::Locked locked(shared.lock);
    return shared.connections() < http.limits->connectionsMax;
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

using namespace mpr::http;

// ---- The C API --------------------------------------------------------------------------------------------------

Http* httpCreate(int) {
    if (Http* http = service()) {
        return http;
    }
    if (!mpr::gc::admitMaking("httpCreate")) {
        return nullptr;
    }
    Http* made = makeWhole();
    if (!made) {
        return nullptr;
    }
    mprPublish(made);
    Http* other = nullptr; // another thread has been faster
    return current.compare_exchange_strong(other, made) ? made : other;
}

void httpDestroy(void) {
    Http* http = service();
    if (!http || http->ended.exchange(true)) {
        return;
    }
    httpStopEndpoints();
    {
        const mpr::os::Locked locked(shared.lock);
        shared.drains = true;
    }
    lookEverywhere(mprGetTicks());
    current.compare_exchange_strong(http, nullptr);
    if (isAtRest()) {
        closeLog();
    } else {
        flushLog(); // the clock closes it when all connections have gone
    }
}

Http* httpGetHttp(void) {
    return service();
}

HttpLimits* httpGetLimits(void) {
    Http* http = httpCreate(HTTP_SERVER_SIDE);
    return http ? http->limits : nullptr;
}

void httpSetSoftware(cchar* description) {
    if (Http* http = httpCreate(HTTP_SERVER_SIDE)) {
        const bool any = description && *description && isFieldValue(description);
        setRef(http, http->serverHeader, any ? sfmt("Server: %s\r\n", description) : nullptr);
    }
}

void httpSetRequestCallback(HttpRequestCallback callback) {
    if (Http* http = httpCreate(HTTP_SERVER_SIDE)) {
        http->requestCallback = callback;
    }
}

void httpGetStats(HttpStats* sp) {
    if (!sp) {
        return;
    }
    MprMemStats memory;
    mprReadMemStats(&memory);
    *sp = {};
    sp->mem = memory.rss;
    sp->memRedline = memory.warnHeap;
    sp->memMax = memory.maxHeap;
    sp->heap = memory.heap;
    sp->heapPeak = memory.heapPeak;
    sp->heapUsed = memory.bytesLive;
    sp->heapFree = memory.bytesFree;
    sp->heapRegions = static_cast<int>(memory.regions);
    sp->totalSweeps = memory.collections;
    sp->cpuUsage = memory.cpuUsage;
    sp->cpuCores = memory.numCpu;
    MprWorkerStats workers;
    mprGetWorkerStats(&workers);
    sp->workersBusy = workers.busy;
    sp->workersIdle = workers.idle;
    sp->workersMax = workers.max;
    if (Http* http = service()) {
        sp->activeSessions = mprGetHashLength(http->sessions);
        const mpr::os::Locked locked(shared.lock);
        sp->activeClients = shared.clientCount;
        sp->activeConnections = shared.connections();
        sp->activeRequests = shared.requests;
        sp->totalRequests = shared.totalRequests;
        sp->totalConnections = shared.totalConnections;
    }
}

char* httpStatsReport(int) {
    HttpStats s;
    httpGetStats(&s);
    return sfmt("Memory        %lld KiB resident, heap %lld KiB of which %lld KiB are used, peak %lld KiB\n"
                "Limits        redline %lld KiB, maximum %lld KiB\n"
                "Connections   %d, of %d clients; %lld in all\n"
                "Requests      %d; %lld in all\n"
                "Sessions      %d\n"
                "Workers       %d busy, %d idle, %d at most\n"
                "Collections   %lld\n"
                "Processors    %d; %lld ms used\n",
                s.mem / 1024, s.heap / 1024, s.heapUsed / 1024, s.heapPeak / 1024, s.memRedline / 1024, s.memMax / 1024,
                s.activeConnections, s.activeClients, s.totalConnections, s.activeRequests, s.totalRequests,
                s.activeSessions, s.workersBusy, s.workersIdle, s.workersMax, s.totalSweeps, s.cpuCores,
                s.cpuUsage / 1000);
}
