// SPDX-License-Identifier: MIT
/*
    service.cpp - See service.hpp.
 */
#include "mpr/http/service.hpp"

#include <algorithm>

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

void manageHttp(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        const auto* http = static_cast<Http*>(ptr);
        markAll(http->limits, http->defaultHost, http->hosts, http->endpoints, http->stages, http->actions,
                http->sessions, http->mimeTypes, http->actionHandler, http->fileHandler, http->connector,
                http->serverHeader);
    }
}
const gc::ManagerName namedHttp(manageHttp, "Http");

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
    for (const Lane* lane = shared.lanes; lane; lane = lane->next) {
        mprMark(lane);
    }
    for (const HttpNet* net = shared.working.first(); net; net = net->next) {
        if (net->stream) {
            markFields(*net->stream);
        }
    }
    for (const Stream* stream = shared.gone; stream; stream = stream->nextGone) {
        mprMark(stream); // its procedure may have ended its thread
        markFields(*stream);
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
    shared.gone = nullptr;
    {
        const os::Locked locked(shared.lock); // foreign threads may be giving one
        shared.orders = nullptr;
        ++shared.runtimes;
    }
    shared.clientCount = shared.leaving = shared.requests = 0;
    shared.fitting = INT_MAX;
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
