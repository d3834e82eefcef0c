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
#include <cstring>
#include <utility>

#include "mpr/base/retain.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/http/head.hpp"
#include "mpr/http/packet.hpp"
#include "mpr/http/route.hpp"
#include "mpr/log.h"
#include "mpr/memory.h"
#include "mpr/os/os.hpp"
#include "mpr/time.h"

namespace mpr::http {

namespace {

using Phase = HttpNet::Phase;

constexpr ssize readSize = 8192;             // bytes of a read, on the stack
constexpr int mostReads = 8;                 // of an event, so that other connections have their turn
constexpr std::uint32_t mostAhead = 8192;    // bytes that wait behind a request that is being answered
constexpr MprTicks lingerTime = 2000;        // until a client must have read its last answer
constexpr int mostPieces = 32;               // of a gathering write
constexpr ptrdiff_t mostOfTurn = 256 * 1024; // bytes that it writes before others have their turn: some 0.1 ms
constexpr ptrdiff_t mostAtOnce = 64 * 1024;  // when a request comes, with which a thousand others may have come
constexpr char tooMuchMemory[] = "the connection takes more memory than is allowed";

void manageNet(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        const auto* net = static_cast<HttpNet*>(ptr);
        markAll(net->http, net->sock, net->endpoint, net->lane, net->dispatcher, net->client, net->stream, net->input,
                net->firstOut, net->lastOut, net->firstScheduled, net->lastScheduled, net->waitingQueue, net->nextPump,
                net->nextWriter, net->nextLater, net->next, net->gone);
    }
}
const gc::ManagerName namedNet(manageNet, "HttpNet");

// ---- Input ------------------------------------------------------------------------------------------------------

std::uint32_t pending(const HttpNet& net) {
    return net.inputEnd - net.inputBegin;
}

/** Keep bytes until they are wanted. @return false when memory is short. */
bool keep(HttpNet& net, const char* bytes, std::size_t length) {
    const auto held = pending(net);
    const std::size_t needed = held + length;
    if (needed > net.inputRoom) {
        const std::size_t room = std::max<std::size_t>(needed, std::min<std::size_t>(2 * needed, 4096));
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

/** Whether no request may begin: a procedure of the one before has not returned. */
bool isNested(const HttpNet& net) {
    return net.calls > 1;
}

/** Whether its stream may be told of its end: no procedure of it has begun and not returned. Else it is, when that has. */
bool mayEnd(const HttpNet& net) {
    if (isNested(net) || net.stream->waits) {
        net.stream->heldBack = net.stream->waits;
        return false;
    }
    return true;
}

/** Whether procedures of others on the thread's stack have left less than half of it. */
bool isCrowded(const HttpNet& net) {
    if (net.lane->calls < 2) {
        return false;
    }
    const os::Stack stack = os::stack();
    const auto* here = static_cast<const char*>(__builtin_frame_address(0));
    const bool isOurs = here >= stack.begin && here < stack.end; // or it is a fiber's
    return isOurs && here - static_cast<const char*>(stack.begin) < (static_cast<const char*>(stack.end) - here);
}

/** Whether the next request may begin. If not because of others, it is seen to when one of them has returned. */
bool mayBegin(HttpNet& net) {
    if (isNested(net)) {
        return false;
    }
    if (isCrowded(net)) {
        beginLater(net);
        return false;
    }
    return true;
}

/** A stream is the connection's no longer. */
void letGo(HttpNet& net, bool nested) {
    Stream& stream = *net.stream;
    if (nested) {
        publish(stream);
        setRef(&stream, stream.nextGone, net.gone);
        setRef(&net, net.gone, &stream);
    }
    setRef(&net, net.stream, nullptr);
}

/** Whether the next piece of a body can be given to stages: there are any, and none has one that it has not passed on. */
bool takesBody(const HttpNet& net) {
    const Stream& stream = *net.stream;
    // Whoever is told of the states before, or is opened, may wait.
    const bool begins = stream.state < HTTP_STATE_CONTENT && !flows(stream);
    return !begins && !stream.filters;
}

/** Whether more is to be read now. */
bool wantsInput(const HttpNet& net) {
    if (net.eof || net.failed) {
        return false;
    }
    switch (net.phase) {
    case Phase::head: return !net.closes && (pending(net) < mostAhead || (!isNested(net) && !isCrowded(net)));
    case Phase::body: return hasRoomForBody(net) && (takesBody(net) || pending(net) < mostAhead);
    case Phase::answering: return pending(net) < mostAhead;
    case Phase::lingering: return true;
    default: return false;
    }
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

/** The head is whole, or cannot be. What follows it waits in the input. */
void beginRequest(HttpNet& net, int status, const char* why) {
    Stream& stream = *net.stream;
    Rx& rx = stream.in();
    ++net.requests;
    net.headBegun = 0;
    if (status) {
        static char none[] = "";
        net.closes = true;
        setText(rx.method, rx.method ? rx.method : none);
        setText(rx.uri, rx.uri ? rx.uri : none);
        rx.keepsAlive = false;
        rx.eof = true;
        net.phase = Phase::answering;
        httpBadRequestError(&stream, status, "%s", why);
        setState(stream, HTTP_STATE_CONTENT);
        return;
    }
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
    beginRequest(net, status, why);
    return piece.length;
}

// ---- Bodies -----------------------------------------------------------------------------------------------------

/** Collects what the parser finds in a body in chunks. */
struct Collected {
    MprBuf* buf;
    bool whole;

    static void add(void* data, const char* bytes, std::size_t length) {
        auto& self = *static_cast<Collected*>(data);
        self.whole = mprPutBlockToBuf(self.buf, bytes, static_cast<ssize>(length)) == static_cast<ssize>(length);
    }
};

constexpr const char* bodyOfRequest = "for the body of a request";

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

/** Use what is in the input. @return Whether anything was used. */
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

void read(HttpNet& net) {
    for (int i = 0; i < mostReads && net.phase != Phase::closed && wantsInput(net) && readOnce(net); ++i) {
        while (takeInput(net)) {}
    }
}

// ---- Output -----------------------------------------------------------------------------------------------------

ssize sizeOf(const MprBuf* buf) {
    return buf ? buf->end - buf->start : 0;
}

ssize sizeOf(const HttpPacket* packet) {
    return sizeOf(packet->prefix) + sizeOf(packet->content) + static_cast<ssize>(packet->esize);
}

/** Bytes of the first packets have been written. */
void written(HttpNet& net, ssize count) {
    net.outCount -= count;
    while (HttpPacket* packet = net.firstOut) {
        for (MprBuf* buf : {packet->prefix, packet->content}) {
            const ssize part = std::min(count, sizeOf(buf));
            if (part > 0) {
                buf->start += part;
                count -= part;
            }
        }
        if (packet->esize > 0) {
            httpAdjustPacketStart(packet, std::min<MprOff>(count, packet->esize));
            count = 0;
        }
        if (sizeOf(packet) > 0) {
            return;
        }
        uncount(net.outMemory, packet);
        setRef(&net, net.firstOut, packet->next);
        if (!packet->next) {
            setRef(&net, net.lastOut, nullptr);
        }
    }
}

/** Pieces of the first packets, up to one whose bytes are in a file. @param stretch Receives that one, or nullptr. */
int gather(const HttpNet& net, MprIOVec* pieces, const HttpPacket*& stretch) {
    int count = 0;
    const HttpPacket* packet = net.firstOut;
    for (; packet && packet->esize == 0 && count + 2 <= mostPieces; packet = packet->next) {
        for (const MprBuf* buf : {packet->prefix, packet->content}) {
            if (sizeOf(buf) > 0) {
                pieces[count++] = {buf->start, static_cast<std::size_t>(sizeOf(buf))};
            }
        }
    }
    stretch = packet && packet->esize > 0 ? packet : nullptr;
    return count;
}

/** How much of a stretch of a file is written at once. */
MprOff sizeOfTurn(const HttpNet& net, const HttpPacket* stretch) {
    return std::min<MprOff>(stretch->esize, net.turn);
}

/** Write some pieces and some of a stretch of the stream's file. */
ssize writeFile(const HttpNet& net, const HttpPacket* stretch, MprIOVec* pieces, int count) {
    MprFile* file = net.stream ? net.stream->tx->file : nullptr;
    if (!file) {
        return MPR_ERR_CANT_READ;
    }
    const MprOff sent =
        mprSendFileToSocket(net.sock, file, stretch->epos, sizeOfTurn(net, stretch), pieces, count, nullptr, 0);
    // Nothing goes where the socket is full, and where the file has become shorter.
    return sent == 0 && mprGetFileSize(file) <= stretch->epos ? MPR_ERR_CANT_READ : static_cast<ssize>(sent);
}

/** Write pieces in one record of TLS, which each of them would be alone. */
ssize writeRecord(const HttpNet& net, const MprIOVec* pieces, int count, ssize& wanted) {
    constexpr std::size_t most = 16384;
    char record[most];
    std::size_t length = 0;
    for (int i = 0; i < count && length < most; ++i) {
        const std::size_t part = std::min(pieces[i].len, most - length);
        std::memcpy(record + length, pieces[i].start, part);
        length += part;
    }
    wanted = static_cast<ssize>(length);
    return mprWriteSocket(net.sock, record, wanted);
}

/** Write some of what is to be sent. @param wanted Receives how much was tried. */
ssize writeSome(HttpNet& net, ssize& wanted) {
    const HttpPacket* stretch = nullptr;
    MprIOVec pieces[mostPieces];
    const int count = gather(net, pieces, stretch);
    if (count > 1 && mprIsSocketSecure(net.sock)) { // which has no stretches
        return writeRecord(net, pieces, count, wanted);
    }
    wanted = stretch ? static_cast<ssize>(sizeOfTurn(net, stretch)) : 0;
    for (int i = 0; i < count; ++i) {
        wanted += static_cast<ssize>(pieces[i].len);
    }
    return stretch ? writeFile(net, stretch, pieces, count) : mprWriteSocketVector(net.sock, pieces, count);
}

void freeWaiting(HttpNet& net) {
    if (net.waitingQueue && net.outCount <= net.waitingQueue->low) {
        HttpQueue* q = net.waitingQueue;
        setRef(&net, net.waitingQueue, nullptr);
        httpResumeQueue(q, false);
    }
    if (HttpQueue* q = net.stream ? net.stream->outputq : nullptr) {
        holdsLess(*q);
    }
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
    taken(net, pending(net));
    if (!mprIsSocketSecure(net.sock)) {
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

/** The peer has sent all, perhaps while the request before was answered, and no whole head, or not all of a body, is left
    of it. @return Whether that was news. */
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
        beginRequest(net, HTTP_CODE_BAD_REQUEST, "the request was cut off");
    } else {
        net.closes = true;
    }
    return true;
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

void onEvent(void* data, MprEvent* event) {
    auto& net = *static_cast<HttpNet*>(data);
    if (net.phase == Phase::closed) {
        return;
    }
    if (event->mask == MPR_WRITABLE) {
        writeInTurn(net);
        return;
    }
    const Calls calls(net);
    const bool outer = net.pumping;
    net.pumping = true;
    net.turn = mostAtOnce;
    if (event->mask & MPR_READABLE) {
        read(net);
    }
    goOn(net);
    net.pumping = outer;
    rest(net);
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

void send(HttpNet& net, HttpPacket* packet) {
    setRef(packet, packet->next, nullptr);
    if (net.lastOut) {
        setRef(net.lastOut, net.lastOut->next, packet);
    } else {
        setRef(&net, net.firstOut, packet);
    }
    setRef(&net, net.lastOut, packet);
    net.outCount += sizeOf(packet);
    count(net.outMemory, packet);
}

bool flush(HttpNet& net) {
    assertHere(net);
    while (net.outCount > 0 && net.turn > 0 && !net.failed && net.phase != Phase::closed) {
        ssize length = 0;
        const ssize sent = writeSome(net, length);
        if (sent < 0) {
            net.failed = true;
            return false;
        }
        if (sent > 0) {
            net.lastActivity = now();
            if (net.stream) {
                net.stream->lastActivity = net.lastActivity;
            }
            net.turn -= sent;
            written(net, sent);
        }
        if (sent < length) {
            break;
        }
    }
    freeWaiting(net);
    return !net.failed;
}

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

// ---- Memory ------------------------------------------------------------------------------------------------------

namespace {

/** The least memory that a stream takes, its packets included. */
ptrdiff_t memoryOf(const Stream& stream) {
    constexpr ptrdiff_t headers = 1024; // their table, and queues
    const Rx& rx = stream.in();
    const ptrdiff_t lines = rx.lines != rx.own ? rx.lineRoom * ptrdiff_t{sizeof(HeaderLine)} : 0;
    return ptrdiff_t{sizeof(Stream) + sizeof(Rx) + sizeof(Tx)} + headers + rx.headLength + lines + stream.memory;
}
} // namespace

ptrdiff_t memoryOf(const HttpNet& net) {
    constexpr ptrdiff_t secure = 40 * 1024; // OpenSSL's state of a connection, and a record either way: its own affair
    ptrdiff_t size = ptrdiff_t{sizeof(HttpNet)} + net.inputRoom + net.outMemory;
    if (net.stream) {
        size += memoryOf(*net.stream) + (net.stream->secure ? secure : 0);
    }
    for (const Stream* each = net.gone; each; each = each->nextGone) {
        size += memoryOf(*each);
    }
    return size;
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

// ---- Time -------------------------------------------------------------------------------------------------------

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
        beginRequest(net, status, why);
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
    return time - stream->started > stream->requestTimeout || time - since > stream->inactivityTimeout;
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

void stopNet(HttpNet& net) {
    assertHere(net);
    net.closes = true;
    if ((!net.stream || net.phase == Phase::head) && net.outCount == 0) { // half a head is no request yet
        close(net);
    }
}

} // namespace mpr::http
