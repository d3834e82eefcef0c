// SPDX-License-Identifier: MIT
/*
    service.cpp - See service.h.

    What happens when memory runs short: cached pages are given up before requests are refused. The runtime calls two
    functions in the middle of an allocation, on the thread that serves (the only one that allocates):
      notifier  told first. Counts the crossing and asks for a collection without waiting for it.
      pruner    then. Drops pages: half of them at the redline, all at the hard limit.
    Until memory has fallen under the redline again, the cache stays as small as the pruner left it. What was dropped is
    freed by the collection that was asked for, at the next yield, so the allocation that crossed the redline succeeds as
    before. While more than the redline is in use, the HTTP room itself answers new requests 503.
 */
#include "service.h"

#include <csignal>

namespace service {
namespace {

constexpr MprTicks tickTime = 100;
constexpr MprTicks stopTime = 3000; // For clients to take their last answers

Store* store;
MprTicks stopBy; // 0: nobody has asked

void notify(int cause, int, std::size_t, std::size_t total) {
    Board& board = store->board;
    if (cause != MPR_MEM_WARNING) {
        bump(board.limitHits);
    } else if (board.crossings.fetch_add(1) == 0) {
        board.crossedAt = total;
    }
    mprGC(MPR_GC_NO_BLOCK | MPR_GC_FORCE);
}

void prune(void* content, int cause) {
    static_cast<Content*>(content)->shed(cause != MPR_MEM_WARNING);
}

/** Close the door, let those inside finish. A second call does not wait for them. */
void stop(void*, MprSignal*) {
    if (stopBy != 0) {
        mprShutdown(MPR_EXIT_NORMAL, -1, -1);
    }
    stopBy = mprGetTicks() + stopTime;
    httpStopEndpoints();
}

void tick(void*, MprEvent*) {
    HttpStats stats;
    httpGetStats(&stats);
    if (stats.heap < stats.memRedline) {
        store->content.relax();
    }
    store->content.trim();
    store->sessions.expire(mprGetTicks());
    if (store->board.stopWanted && stopBy == 0) {
        stop(nullptr, nullptr);
    }
    if (stopBy != 0 && (stats.activeConnections == 0 || mprGetTicks() > stopBy)) {
        mprShutdown(MPR_EXIT_NORMAL, -1, -1);
    }
}

} // namespace

bool listen(Store& theStore, int port) {
    store = &theStore;
    HttpEndpoint* endpoint = httpCreateEndpoint("127.0.0.1", port, nullptr);
    if (!endpoint || !addRoutes(theStore, endpoint) || httpStartEndpoint(endpoint) != 0 ||
        mprAddPruner(prune, &store->content) != 0) {
        return false;
    }
    store->board.port = httpGetEndpointPort(endpoint);
    mprSetMemPolicy(MPR_ALLOC_POLICY_PRUNE);
    mprSetMemNotifier(notify);
    mprAddSignalHandler(SIGINT, stop, nullptr, nullptr, 0);
    mprAddSignalHandler(SIGTERM, stop, nullptr, nullptr, 0);
    return mprCreateTimerEvent(nullptr, "tick", tickTime, tick, nullptr, 0);
}

void serve() {
    mprServiceEvents(-1, 0); // Until mprShutdown
    mprSetMemNotifier(nullptr);
    mprSetMemPolicy(MPR_ALLOC_POLICY_NOTHING);
    mprRemovePruner(prune, &store->content);
    store->board.ended = true;
}

} // namespace service
