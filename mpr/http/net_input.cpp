// SPDX-License-Identifier: MIT
/*
    net_input.cpp - See net_input.hpp.
 */
#include "mpr/http/net_input.hpp"

#include <algorithm>
#include <cstring>

#include "mpr/http/calls.hpp"
#include "mpr/http/head.hpp"
#include "mpr/http/packet.hpp"
#include "mpr/memory.h"

namespace mpr::http {

namespace {

using Phase = HttpNet::Phase;

constexpr ssize readSize = 8192;          // bytes of a read, on the stack
constexpr int mostReads = 8;              // of an event, so that other connections have their turn
constexpr std::uint32_t mostAhead = 8192; // bytes that wait behind a request that is being answered

/** Keep bytes until they are wanted. @return false when memory is short. */
bool keep(HttpNet& net, const char* bytes, std::size_t length) {
    const auto held = pending(net);
    const std::size_t needed = held + length;
    if (needed > net.inputRoom) {
        const std::size_t room = needed + std::min<std::size_t>(needed, 4096);
        auto* input = static_cast<char*>(mprAlloc(room));
        if (!input) {
            return false;
        }
        if (held > 0) {
            std::memcpy(input, net.input + net.inputBegin, held);
        }
        setRef(&net, net.input, input);
        net.inputRoom = static_cast<std::uint32_t>(room);
        net.inputBegin = 0;
        net.inputEnd = held;
    } else if (net.inputEnd + length > net.inputRoom) {
        std::memmove(net.input, net.input + net.inputBegin, held);
        net.inputBegin = 0;
        net.inputEnd = held;
    }
    std::memcpy(net.input + net.inputEnd, bytes, length);
    net.inputEnd += static_cast<std::uint32_t>(length);
    return true;
}

/** Bytes of the input were taken. */
void taken(HttpNet& net, std::size_t length) {
    net.inputBegin += static_cast<std::uint32_t>(length);
    if (net.inputBegin == net.inputEnd) {
        net.inputBegin = net.inputEnd = net.inputRoom = 0;
        setRef(&net, net.input, nullptr); // connections at rest hold none
    }
}

bool hasRoomForBody(const HttpNet& net) {
    for (const HttpQueue* q = net.stream ? net.stream->inputq : nullptr; q; q = q->nextQ) {
        if (q->count >= q->max && !net.stream->tx->finalizedInput) {
            return false;
        }
    }
    return true;
}

/** Whether the next piece of a body can be given to stages: there are any, and none has one that it has not passed on. */
bool takesBody(const HttpNet& net) {
    const Stream& stream = *net.stream;
    // Procedures that are told of earlier states, or that open stages, may wait.
    const bool begins = stream.state < HTTP_STATE_CONTENT && !flows(stream);
    return !begins && !stream.filters;
}

// ---- Heads ------------------------------------------------------------------------------------------------------

/** The stream whose head comes. */
bool openStream(HttpNet& net) {
    if (!net.stream) {
        setRef(&net, net.stream, makeStream(net));
        setWorking(net, true);
        net.headBegun = now();
    }
    return net.stream;
}

/** All of the body has come. */
void endBody(HttpNet& net) {
    net.phase = Phase::answering;
    HttpPacket* packet = httpCreateEndPacket();
    if (!packet) {
        httpMemoryError(net.stream);
        return;
    }
    packet->last = true;
    receive(*net.stream, packet);
}

/** The head is whole. What follows it waits in the input. */
void beginRequest(HttpNet& net) {
    Stream& stream = *net.stream;
    Rx& rx = stream.in();
    ++net.requests;
    net.headBegun = 0;
    const bool hasBody = rx.chunked || rx.length > 0;
    net.phase = hasBody ? Phase::body : Phase::answering;
    net.bodyLeft = rx.length;
    rx.eof = stream.endCame = !hasBody;
    rx.remainingContent = std::max<MprOff>(rx.length, 0);
    if (rx.chunked) {
        net.chunkGuard.begin();
        net.chunks.begin();
    }
    begin(stream);
    if (hasBody) {
        sayContinue(stream);
    } else if (stream.opened && !stream.gone) {
        endBody(net);
    }
}

/** The bytes of a head, as a block of the stream. */
bool storeHead(Rx& rx, const char* head, std::size_t length) {
    auto* copy = static_cast<char*>(mprAlloc(length + 1));
    if (!copy) {
        return false;
    }
    std::memcpy(copy, head, length);
    copy[length] = '\0';
    setRef(&rx, rx.head, copy);
    rx.headLength = static_cast<std::uint32_t>(length);
    return true;
}

struct Piece {
    const char* bytes;
    std::size_t length;
};

/** Look for the end of a head. @return How many bytes it had; 0: it has not ended yet, and the bytes are kept. */
std::size_t takeHead(HttpNet& net, Piece piece, bool kept) {
    if (!openStream(net)) {
        endForMemory(net, "for a request");
        return 0;
    }
    Stream& stream = *net.stream;
    const HttpLimits& limits = *stream.limits;
    const auto found = net.headGuard.look(piece.bytes, piece.length);
    const std::size_t size = found == HeadGuard::Found::more ? piece.length : net.headGuard.size();
    int status = 0;
    const char* why = "";
    if (found == HeadGuard::Found::wrong) {
        status = HTTP_CODE_BAD_REQUEST;
        why = "a line that is none of HTTP";
    } else if (static_cast<ssize>(size) > limits.headerSize) {
        status = net.headGuard.hasFirst() ? HTTP_CODE_REQUEST_HEADERS_TOO_LARGE : HTTP_CODE_REQUEST_URL_TOO_LARGE;
        why = "the head of the request is too long";
    } else if (found == HeadGuard::Found::more) {
        if (!kept && !keep(net, piece.bytes, piece.length)) {
            endForMemory(net, "for the head of a request");
        }
        return 0;
    } else {
        const std::size_t leading = net.headGuard.leading();
        status = storeHead(stream.in(), piece.bytes + leading, size - leading) ? readHead(stream.in(), limits, why)
                                                                               : HTTP_CODE_SERVICE_UNAVAILABLE;
    }
    if (status == 0 && !mayTake(net, 0)) {
        status = HTTP_CODE_REQUEST_HEADERS_TOO_LARGE;
        why = tooMuchMemory;
    }
    net.headGuard.begin();
    // What follows is kept before the handler is called.
    const std::size_t rest = status ? 0 : piece.length - size;
    if (kept) {
        taken(net, status ? pending(net) : size);
    } else if (rest > 0 && !keep(net, piece.bytes + size, rest)) {
        endForMemory(net, "for what follows the head of a request");
        return 0;
    }
    if (status) {
        refuseHead(net, status, why);
    } else {
        beginRequest(net);
    }
    return piece.length;
}

// ---- Bodies -----------------------------------------------------------------------------------------------------

constexpr const char* bodyOfRequest = "for the body of a request";

/** Collects what the parser finds in a body in chunks. */
struct Collected {
    MprBuf* buf;
    bool whole;

    static void add(void* data, const char* bytes, std::size_t length) {
        auto& self = *static_cast<Collected*>(data);
        self.whole = mprPutBlockToBuf(self.buf, bytes, static_cast<ssize>(length)) == static_cast<ssize>(length);
    }
};

/** The framing of a body is wrong: where it ends nobody knows. */
void refuseBody(HttpNet& net, const char* why) {
    net.phase = Phase::answering;
    net.closes = true;
    net.stream->in().eof = true;
    taken(net, pending(net));
    httpBadRequestError(net.stream, HTTP_CODE_BAD_REQUEST, "%s", why);
}

void takeChunks(HttpNet& net) {
    Stream& stream = *net.stream;
    const char* bytes = net.input + net.inputBegin;
    const std::size_t length = net.chunkGuard.look(bytes, std::min<std::size_t>(pending(net), readSize));
    Collected collected{length > 0 ? mprCreateBuf(static_cast<ssize>(length), 0) : nullptr, true};
    if (length > 0) {
        if (!collected.buf) {
            endForMemory(net, bodyOfRequest);
            return;
        }
        if (!net.chunks.parse(bytes, length, Collected::add, &collected)) {
            refuseBody(net, "a chunk that is none");
            return;
        }
        if (!collected.whole) {
            endForMemory(net, bodyOfRequest);
            return;
        }
        taken(net, length);
    }
    if (net.chunkGuard.isWrong()) {
        refuseBody(net, "a chunk that is none");
        return;
    }
    const bool over = net.chunkGuard.isOver();
    if (collected.buf && mprGetBufLength(collected.buf) > 0) {
        HttpPacket* packet = httpCreateDataPacket(0);
        if (!packet) {
            endForMemory(net, bodyOfRequest);
            return;
        }
        packet->content = collected.buf;
        receive(stream, packet);
    }
    if (over && net.stream == &stream && net.phase == Phase::body) {
        endBody(net);
    }
}

void takeBytes(HttpNet& net) {
    Stream& stream = *net.stream;
    const auto length =
        static_cast<std::size_t>(std::min<MprOff>(std::min<MprOff>(net.bodyLeft, pending(net)), readSize));
    HttpPacket* packet = httpCreateDataPacket(static_cast<ssize>(length));
    if (!packet) {
        endForMemory(net, bodyOfRequest);
        return;
    }
    mprPutBlockToBuf(packet->content, net.input + net.inputBegin, static_cast<ssize>(length));
    taken(net, length);
    net.bodyLeft -= static_cast<MprOff>(length);
    receive(stream, packet);
    if (net.bodyLeft == 0 && net.stream == &stream && net.phase == Phase::body) {
        endBody(net);
    }
}

/** Whether all of the body has been taken. */
bool isBodyOver(const HttpNet& net) {
    return net.stream->in().chunked ? net.chunkGuard.isOver() : net.bodyLeft == 0;
}
} // namespace

void refuseHead(HttpNet& net, int status, const char* why) {
    static char none[] = "";
    Stream& stream = *net.stream;
    Rx& rx = stream.in();
    ++net.requests;
    net.headBegun = 0;
    net.closes = true;
    setText(rx.method, rx.method ? rx.method : none);
    setText(rx.uri, rx.uri ? rx.uri : none);
    rx.keepsAlive = false;
    rx.eof = true;
    net.phase = Phase::answering;
    httpBadRequestError(&stream, status, "%s", why);
    setState(stream, HTTP_STATE_CONTENT);
}

bool wantsInput(const HttpNet& net) {
    if (net.eof || net.failed) {
        return false;
    }
    switch (net.phase) {
    case Phase::head: return !net.closes && (pending(net) < mostAhead || canBegin(net));
    case Phase::body: return hasRoomForBody(net) && (takesBody(net) || pending(net) < mostAhead);
    case Phase::answering: return pending(net) < mostAhead;
    case Phase::lingering: return true;
    default: return false;
    }
}

bool takeInput(HttpNet& net) {
    const auto before = pending(net);
    if (net.phase == Phase::body && !takesBody(net)) {
        return false;
    }
    if (net.phase == Phase::body &&
        isBodyOver(net)) { // its last piece is being given to a handler that waits for the end
        endBody(net);
        return true;
    }
    if (before == 0) {
        return false;
    }
    switch (net.phase) {
    case Phase::head:
        if (net.closes) {
            taken(net, before);
            return false;
        }
        if (!mayBegin(net)) {
            return false;
        }
        return takeHead(net, {net.input + net.inputBegin, before}, true) > 0;
    case Phase::body:
        if (!hasRoomForBody(net)) {
            return false;
        }
        if (net.stream->in().chunked) {
            takeChunks(net);
        } else {
            takeBytes(net);
        }
        return true;
    case Phase::answering: return false;
    default: taken(net, before); return false;
    }
}

namespace {

/** Read once. @return Whether there may be more. */
bool readOnce(HttpNet& net) {
    char bytes[readSize];
    const ssize count = mprReadSocket(net.sock, bytes, sizeof(bytes));
    if (count <= 0) {
        if (count < 0) {
            net.eof = true; // see noMoreComes()
            net.failed = net.failed || count != MPR_ERR || mprGetSocketError(net.sock) != 0;
        }
        return false;
    }
    net.lastActivity = now();
    if (net.phase == Phase::lingering) {
        return true;
    }
    const auto length = static_cast<std::size_t>(count);
    if (net.phase == Phase::head && pending(net) == 0 && !net.closes && mayBegin(net)) {
        takeHead(net, {bytes, length}, false);
    } else if (!keep(net, bytes, length)) {
        endForMemory(net, "for what has arrived");
    }
    return count == sizeof(bytes) && net.phase != Phase::closed;
}
} // namespace

void read(HttpNet& net) {
    for (int i = 0; i < mostReads && net.phase != Phase::closed && wantsInput(net) && readOnce(net); ++i) {
        while (takeInput(net)) {}
    }
}

bool noMoreComes(HttpNet& net) {
    if (!net.eof) {
        return false;
    }
    if (net.phase == Phase::body && pending(net) == 0 && !isBodyOver(net)) {
        refuseBody(net, "the body of the request was cut off");
        return true;
    }
    if (net.phase != Phase::head || net.closes || !mayBegin(net)) {
        return false;
    }
    if (net.stream) {
        refuseHead(net, HTTP_CODE_BAD_REQUEST, "the request was cut off");
    } else {
        net.closes = true;
    }
    return true;
}

void sayContinue(Stream& stream) {
    static constexpr char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    Rx& rx = stream.in();
    const bool begun = stream.tx->flags & HTTP_TX_HEADERS_CREATED; // it would stand in the middle of the response
    if (!rx.expects || stream.error || stream.gone || stream.tx->finalizedInput || begun || pending(*stream.net) > 0) {
        return;
    }
    HttpPacket* packet = httpCreatePacket(sizeof(text));
    if (packet) {
        mprPutBlockToBuf(packet->content, text, sizeof(text) - 1);
        send(*stream.net, packet);
        rx.expects = false;
    }
}

void dropInput(HttpNet& net) {
    taken(net, pending(net));
}

} // namespace mpr::http
