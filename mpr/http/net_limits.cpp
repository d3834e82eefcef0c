// SPDX-License-Identifier: MIT
/*
    net_limits.cpp - What a connection may take: memory, and time.
 */
#include <algorithm>

#include "mpr/base/retain.hpp"
#include "mpr/http/calls.hpp"
#include "mpr/http/net_input.hpp"
#include "mpr/http/route.hpp"
#include "mpr/time.h"

namespace mpr::http {

namespace {

using Phase = HttpNet::Phase;

constexpr MprTicks lingerTime = 2000; // until a client must have read its last answer

/** The least memory that a stream takes, its packets included. */
ptrdiff_t memoryOf(const Stream& stream) {
    constexpr ptrdiff_t headers = 1024; // their table, and queues
    const Rx& rx = stream.in();
    const ptrdiff_t lines = rx.lines != rx.own ? rx.lineRoom * ptrdiff_t{sizeof(HeaderLine)} : 0;
    return ptrdiff_t{sizeof(Stream) + sizeof(Rx) + sizeof(Tx)} + headers + rx.headLength + lines + stream.memory;
}

ptrdiff_t memoryOfGone(const HttpNet& net) {
    if (!net.keepsGone) {
        return 0;
    }
    ptrdiff_t size = 0;
    const os::Locked locked(shared.lock);
    for (const Stream* each = shared.gone; each; each = each->nextGone) {
        size += each->net == &net ? memoryOf(*each) : 0;
    }
    return size;
}
} // namespace

ptrdiff_t memoryOf(const HttpNet& net) {
    constexpr ptrdiff_t secure = 40 * 1024; // OpenSSL's state of a connection, and a record either way: its own affair
    ptrdiff_t size = ptrdiff_t{sizeof(HttpNet)} + net.inputRoom + net.outMemory;
    if (net.stream) {
        size += memoryOf(*net.stream) + (net.stream->secure ? secure : 0);
    }
    return size + memoryOfGone(net);
}

bool mayTake(const HttpNet& net, ptrdiff_t size) {
    const HttpLimits& limits = net.stream ? *net.stream->limits : *net.http->limits;
    return limits.connectionMemory <= 0 || memoryOf(net) + size <= limits.connectionMemory;
}

bool keepsWithin(HttpNet& net, int status) {
    constexpr ptrdiff_t head =
        1024; // that the head of most responses takes: as long as there is none a client can be told
    const bool begun = net.stream && (net.stream->tx->flags & HTTP_TX_HEADERS_CREATED);
    if (!net.stream || net.stream->error || mayTake(net, begun ? 0 : head)) {
        return true;
    }
    httpLimitError(net.stream, status | HTTP_CLOSE, "%s", tooMuchMemory);
    return false;
}

namespace {

/** The notifier may have ended the stream, or answered. */
void failLate(HttpNet& net, int status, const char* why) {
    Stream& stream = *net.stream;
    if (stream.out().endSent && net.outCount == 0) { // it has its answer, but does not send the rest of its body
        net.closes = true;
        stream.tx->finalized = stream.tx->finalizedInput = true;
        return;
    }
    const bool answered = stream.tx->finalizedOutput;
    notify(stream, HTTP_EVENT_TIMEOUT, 0);
    if (stream.gone || (!answered && stream.tx->finalizedOutput && net.phase != Phase::head)) {
        return;
    }
    const bool again = stream.error;
    if (net.phase == Phase::head) {
        refuseHead(net, status, why);
    } else {
        httpLimitError(&stream, status | HTTP_CLOSE, "%s", why);
    }
    if (stream.out().endSent ? net.outCount > 0 : again) {
        net.failed = true; // the client does not even read that, or it cannot be sent
    }
}

void expire(HttpNet& net, int status, const char* why) {
    const base::Rooted rooted(&net);
    {
        const Calls calls(net);
        failLate(net, status, why);
    }
    pump(net);
}
} // namespace

bool isLate(const HttpNet& net, MprTicks time) {
    const HttpLimits& limits = *net.http->limits;
    const Stream* stream = net.stream;
    if (net.phase == Phase::lingering) {
        return time - net.headBegun > lingerTime;
    }
    if (!stream) {
        return time - net.lastActivity > allowed(limits.inactivityTimeout);
    }
    if (net.phase == Phase::head) {
        return time - net.headBegun > allowed(limits.requestParseTimeout);
    }
    MprTicks since = std::max(stream->lastActivity, net.lastActivity);
    if (net.calls > 0) { // it can do nothing while another waits on top of it
        since = net.lane->top != &net ? time : std::max(since, net.lane->returned);
    }
    // A client that has closed its side may be gone, of which nothing tells as long as nothing is written.
    const MprTicks most = net.eof ? allowed(limits.inactivityTimeout) : stream->inactivityTimeout;
    return time - stream->started > stream->requestTimeout || time - since > std::min(most, stream->inactivityTimeout);
}

void look(HttpNet& net, MprTicks time) {
    assertHere(net);
    const Stream* stream = net.stream;
    if (net.http->ended) {
        net.failed = true;
        close(net);
    } else if (net.phase == Phase::lingering || !stream) {
        close(net);
    } else if (net.phase == Phase::head) {
        expire(net, HTTP_CODE_REQUEST_TIMEOUT, "the request takes too long to arrive");
    } else if (time - stream->started > stream->requestTimeout) {
        expire(net, HTTP_CODE_REQUEST_TIMEOUT, "the request takes too long");
    } else {
        expire(net, HTTP_CODE_REQUEST_TIMEOUT, "nothing happens any more");
    }
}

} // namespace mpr::http
