// SPDX-License-Identifier: MIT
/*
    net.cpp - See net.hpp.

    An event of the connection reads what has arrived, advances the stream as far as possible, writes what is ready, and
    waits for the next event. It calls handlers, which may wait in calls that yield. Then other events run meanwhile,
    including events of this connection. So all input that was read and not yet used is stored before a handler is
    called, and the caller checks afterwards whether the connection still exists. A stream that ends inside its handler
    stays until that has returned (Calls). No other request begins before, else a client could nest as many as it sends.
 */
#include "mpr/http/net.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "mpr/base/retain.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/http/calls.hpp"
#include "mpr/http/net_input.hpp"
#include "mpr/http/route.hpp"
#include "mpr/io/socket.hpp"
#include "mpr/log.h"

namespace mpr::http {

namespace {

using Phase = HttpNet::Phase;

constexpr ptrdiff_t mostOfTurn = 256 * 1024; // bytes that it writes before others have their turn: some 0.1 ms
constexpr ptrdiff_t mostAtOnce = 64 * 1024;  // when a request comes, with which a thousand others may have come

void manageNet(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        const auto* net = static_cast<HttpNet*>(ptr);
        markAll(net->http, net->sock, net->endpoint, net->lane, net->dispatcher, net->client, net->stream, net->input,
                net->firstOut, net->lastOut, net->firstScheduled, net->lastScheduled, net->waitingQueue, net->nextPump,
                net->nextWriter, net->nextLater, net->next);
    }
}
const gc::ManagerName namedNet(manageNet, "HttpNet");

/** A stream is the connection's no longer. */
void letGo(HttpNet& net, bool nested) {
    Stream& stream = *net.stream;
    if (nested) {
        net.keepsGone = true;
        const os::Locked locked(shared.lock);
        stream.nextGone = std::exchange(shared.gone, &stream);
    }
    setRef(&net, net.stream, nullptr);
}

// ---- Going on ---------------------------------------------------------------------------------------------------

/** All has been sent, and the connection ends: the client shall read it before a reset arrives, so what it sends is
    read on. */
void linger(HttpNet& net) {
    if (net.eof || net.failed || net.requests == 0) {
        close(net);
        return;
    }
    net.phase = Phase::lingering;
    net.headBegun = now();
    dropInput(net);
    if (!mprSocketHasBufferedWrite(net.sock)) {
        io::endSecure(net.sock, true); // whatever comes is dropped, so nobody has to read it
        shutdown(mprGetSocketHandle(net.sock), SHUT_WR);
    }
}

/** The connection has ended under its stream. */
void drop(HttpNet& net) {
    if (Stream* stream = net.stream) {
        abort(*stream, "the connection was lost");
        if (!stream->gone) {
            end(*stream);
        }
    }
    close(net);
}

/** The connection has ended under its stream, a procedure of which has not returned. One that lets events run sees by the
    state that it waits in vain; a call that waits for it returns. */
void failBelow(HttpNet& net) {
    mprEnableSocketEvents(net.sock, 0);
    if (!net.stream->waits) {
        abort(*net.stream, "the connection was lost");
        setState(*net.stream, HTTP_STATE_COMPLETE);
    }
}

/** Wait for what is next, or end. */
void rest(HttpNet& net) {
    if (net.phase == Phase::closed) {
        return;
    }
    if (net.failed && net.stream && !mayEnd(net)) {
        failBelow(net);
        return;
    }
    if (net.lacks) {
        net.failed = net.lacks = false;
        endForMemory(net, "for an error document");
    }
    if (net.failed) {
        drop(net);
        return;
    }
    if (net.outCount == 0 && !net.stream && net.closes && net.phase != Phase::lingering) {
        linger(net);
    } else if (net.phase == Phase::lingering && net.eof) {
        close(net);
    }
    if (net.phase == Phase::closed) {
        return;
    }
    setWorking(net, net.stream || net.outCount > 0 || net.phase == Phase::lingering);
    const int mask = (wantsInput(net) ? MPR_READABLE : 0) | (net.outCount > 0 ? MPR_WRITABLE : 0);
    mprEnableSocketEvents(net.sock, mask);
}

/** Let the stream go on until nothing changes. */
void goOnOnce(HttpNet& net) {
    bool any = true;
    while (any && net.phase != Phase::closed && !net.failed) {
        any = serviceScheduled(net);
        if (net.stream) {
            any = advance(*net.stream) || any;
        }
        if (!any) {
            const ssize before = net.outCount;
            if (!flush(net)) {
                return;
            }
            any = net.outCount < before;
        }
        if (net.stream && net.stream->state == HTTP_STATE_COMPLETE && !net.stream->ending && mayEnd(net)) {
            finishRequest(net);
            any = true;
        }
        any = takeInput(net) || noMoreComes(net) || any;
    }
}

/** Advance, and answer an error if stages have put too much into queues. */
void goOn(HttpNet& net) {
    do {
        goOnOnce(net);
    } while (net.stream && !net.failed && net.phase != Phase::closed &&
             !keepsWithin(net, HTTP_CODE_SERVICE_UNAVAILABLE));
}

/** It goes on, perhaps with what has arrived. */
void serve(HttpNet& net, bool readable) {
    const Calls calls(net);
    const bool outer = net.pumping;
    net.pumping = true;
    net.turn = mostAtOnce;
    if (readable) {
        read(net);
    }
    goOn(net);
    net.pumping = outer;
    rest(net);
}

void onEvent(void* data, MprEvent* event) {
    auto& net = *static_cast<HttpNet*>(data);
    if (net.phase == Phase::closed) {
        return;
    }
    if (event->mask == MPR_WRITABLE) {
        writeInTurn(net);
        return;
    }
    serve(net, event->mask & MPR_READABLE);
}

/** Of the lanes of an endpoint the one with the fewest connections. */
Lane* chooseLane(const HttpEndpoint& endpoint) {
    os::assertHeld(shared.lock);
    auto* best = static_cast<Lane*>(mprGetFirstItem(endpoint.lanes));
    for (int i = 1; i < mprGetListLength(endpoint.lanes); ++i) {
        auto* lane = static_cast<Lane*>(mprGetItem(endpoint.lanes, i));
        best = lane->connections < best->connections ? lane : best;
    }
    return best;
}

HttpNet* makeNet(HttpEndpoint& endpoint, MprSocket* sock) {
    auto* net = base::makeReferring<HttpNet>(manageNet);
    if (net) {
        net->http = endpoint.http;
        net->sock = sock;
        net->endpoint = &endpoint;
        net->lastActivity = now();
        net->async = true;
        const os::Locked locked(shared.lock);
        net->lane = chooseLane(endpoint);
        net->dispatcher = net->lane->dispatcher;
        net->stops = endpoint.stops;
    }
    return net;
}

/** An answer without a stream. @return Whether it is with the system. */
bool sayBusy(MprSocket* sock) {
    static constexpr char answer[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
                                     "Connection: close\r\n\r\n";
    return mprWriteSocket(sock, answer, sizeof(answer) - 1) == ssize{sizeof(answer) - 1};
}

/** Too many: say so, and end. */
void refuse(HttpNet& net) {
    sayBusy(net.sock);
    mprCloseSocket(net.sock, true);
    net.phase = Phase::closed;
}

void logShortage(const MprSocket* sock, const char* what) {
    mprLog("error http", 0, "%s port %d: no memory %s", sock->ip ? sock->ip : "?", sock->port, what);
}

/** The stream of a connection has been answered without it. */
void endAnswered(HttpNet& net) {
    static constinit char why[] = "memory is short";
    Stream& stream = *net.stream;
    const bool told = std::exchange(stream.error, true);
    stream.disconnect = true;
    setText(stream.errorMsg, stream.errorMsg ? stream.errorMsg : why);
    stream.tx->status = HTTP_CODE_SERVICE_UNAVAILABLE;
    if (!told) {
        notify(stream, HTTP_EVENT_ERROR, 0);
    }
    if (net.stream) {
        stream.tx->finalized = stream.tx->finalizedInput = stream.tx->finalizedOutput = true;
        end(stream);
    }
    if (net.stream) { // what is told of its end may close the connection
        letGo(net, net.calls > 0);
    }
}

bool hasStopped(const HttpNet& net) {
    const os::Locked locked(shared.lock);
    return isStopped(net);
}

/** On its dispatcher: serve it, unless it is to be closed already. */
void welcome(HttpNet& net) {
    if (net.phase == Phase::closed) {
        return;
    }
    if (hasStopped(net)) { // the thread that has stopped it may not have seen this connection
        close(net);
        return;
    }
    mprSetSocketNoDelay(net.sock, true);
    if (net.endpoint->ssl && mprUpgradeSocket(net.sock, net.endpoint->ssl, nullptr) < 0) {
        close(net);
        return;
    }
    if (!mprAddSocketHandler(net.sock, MPR_READABLE, net.dispatcher, onEvent, &net, 0)) {
        close(net);
    }
}

void onAccepted(void* data, MprEvent*) {
    welcome(*static_cast<HttpNet*>(data));
}
} // namespace

void accept(HttpEndpoint& endpoint, MprSocket* sock) {
    HttpNet* net = makeNet(endpoint, sock);
    const bool here = net && net->dispatcher == endpoint.dispatcher;
    MprEvent* there = net && !here
                          ? mprCreateEvent(net->dispatcher, "http.accept", 0, onAccepted, net, MPR_EVENT_DONT_QUEUE)
                          : nullptr;
    if (!here && !there) {
        logShortage(sock, "for a connection");
        sayBusy(sock);
        mprCloseSocket(sock, true);
        return;
    }
    if (enter(*net) != 0) {
        refuse(*net);
    } else if (here) {
        welcome(*net);
    } else {
        mprRescheduleEvent(there, 0);
    }
}

void pump(HttpNet& net) {
    assertHere(net);
    if (net.phase == Phase::closed) {
        return;
    }
    const Calls calls(net);
    const bool outer = std::exchange(net.pumping, true);
    if (!outer) { // else the turn is that of the event in which a handler asks for this
        net.turn = mostOfTurn;
    }
    goOn(net);
    net.pumping = outer;
    rest(net);
}

void pumpInTurn(HttpNet& net) {
    net.turn = mostOfTurn;
    pump(net);
}

void finishRequest(HttpNet& net) {
    Stream& stream = *net.stream;
    if (!stream.rx->eof) { // its body ends with the connection
        net.closes = true;
    }
    end(stream);
    if (net.stream == &stream) { // what is told of its end may close the connection
        letGo(net, false);
    }
    setRef(&net, net.waitingQueue, nullptr);
    net.lastActivity = now();
    if (net.phase != Phase::closed) {
        net.phase = Phase::head;
    }
}

void endForMemory(HttpNet& net, const char* what) {
    logShortage(net.sock, what);
    if (net.stream && !mayEnd(net)) {
        failForMemory(net);
        return;
    }
    const bool begun = net.outCount > 0 || (net.stream && (net.stream->tx->flags & HTTP_TX_HEADERS_CREATED));
    if (begun || !sayBusy(net.sock)) {
        close(net);
        return;
    }
    if (net.stream) {
        endAnswered(net);
    }
    if (net.phase != Phase::closed) {
        ++net.requests;
        net.closes = true;
        linger(net);
    }
}

void close(HttpNet& net) {
    assertHere(net);
    if (net.phase == Phase::closed) {
        return;
    }
    net.phase = Phase::closed;
    if (net.stream) {
        abort(*net.stream, "the connection was closed");
        end(*net.stream);
        letGo(net, net.calls > 0);
    }
    mprCloseSocket(net.sock, !net.failed);
    leave(net);
    setRef(&net, net.input, nullptr);
    setRef(&net, net.firstOut, nullptr);
    setRef(&net, net.lastOut, nullptr);
    setRef(&net, net.firstScheduled, nullptr);
    setRef(&net, net.lastScheduled, nullptr);
    setRef(&net, net.waitingQueue, nullptr);
}

void dropGone(HttpNet& net) {
    net.keepsGone = false;
    const os::Locked locked(shared.lock);
    for (Stream** at = &shared.gone; *at;) {
        if ((*at)->net == &net) {
            *at = (*at)->nextGone;
        } else {
            at = &(*at)->nextGone;
        }
    }
}

void closeAbandoned(HttpNet& net) {
    const base::Rooted rooted(&net);
    setRef(&net, net.dispatcher, mprGetDispatcher());
    if (net.stream) {
        setRef(net.stream, net.stream->dispatcher, net.dispatcher);
    }
    net.failed = true;
    close(net);
}

void resumeBody(HttpNet& net) {
    if (net.phase == Phase::body) {
        pumpSoon(net);
    }
}

bool makeRoom(HttpNet& net) {
    assertHere(net);
    char first = 0;
    if (!net.stream && recv(net.sock->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
        setWorking(net, true); // the event that brings it is under way
        return false;
    }
    stopNet(net);
    return true;
}

void retire(HttpNet& net) {
    assertHere(net);
    const base::Rooted rooted(&net);
    if (!net.stream) {
        serve(net, true);
    }
    if (net.phase != Phase::closed) {
        stopNet(net);
    }
}

void stopNet(HttpNet& net) {
    assertHere(net);
    net.closes = true;
    if ((!net.stream || net.phase == Phase::head) && net.outCount == 0) { // half a head is no request yet
        close(net);
    }
}

} // namespace mpr::http
