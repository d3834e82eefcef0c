// SPDX-License-Identifier: MIT
/*
    net.hpp - A connection: bytes in, requests one after another, bytes out.

    It reads a head until its empty line, has it parsed in one piece (parser.hpp), and hands the body on as it comes.
    There is one stream at a time: the next request waits, unread or in the input, until the one before has been
    answered. What is to be sent hangs in a list of packets, which are written by gathering.

    What waits for what: reading stops while the stream has no room for its body, or more than a head's worth waits
    behind a request; the stream's connector stops while more than its queue's `low` waits to be sent.

    Who is served when: a connection that can write again gets its turn behind what has come from others, one such
    connection at a time (lane.cpp), and in a turn it writes no more than mostOfTurn, and less when its request has just
    come. So thousands of clients that read slowly, or one that takes all it can get, keep nobody waiting for long.
 */
#pragma once

#include "mpr/event.h"
#include "mpr/http/guard.hpp"
#include "mpr/http/parser.hpp"
#include "mpr/http/stream.hpp"

struct HttpNet {
    enum class Phase : std::uint8_t {
        head,      // a head is expected, or comes
        body,      // of the stream
        answering, // the stream is not complete
        lingering, // the last answer was sent; what comes is dropped until the peer has read it
        closed,
    };

    // References:
    Http* http;
    MprSocket* sock;
    HttpEndpoint* endpoint;
    mpr::http::Lane* lane;
    MprDispatcher* dispatcher; // the lane's
    mpr::http::Client* client;
    mpr::http::Stream* stream;
    char* input; // read, not yet taken: from inputBegin to inputEnd
    HttpPacket* firstOut;
    HttpPacket* lastOut;
    mpr::http::Queue* firstScheduled;
    mpr::http::Queue* lastScheduled;
    HttpQueue* waitingQueue; // a connector's, for which there was no room
    HttpNet* nextPump;       // in its lane's list of those to be pumped
    HttpNet* nextWriter;     // in its lane's list of those that can write
    HttpNet* nextLater;      // in its lane's list of those whose next request may not begin yet
    HttpNet* next;           // in a list of connections
    // The rest:
    HttpNet* previous;
    MprTicks lastActivity;
    MprTicks restsSince; // lastActivity when it came to its place in a list; with the lock
    MprTicks looked;     // the clock's tick that has looked at it
    MprTicks headBegun;  // the first byte of a head came then; 0: none yet
    MprOff bodyLeft;     // of a body with a length
    ptrdiff_t outCount;  // bytes in the list
    ptrdiff_t outMemory; // that its packets take
    ptrdiff_t turn;      // bytes that it may write yet, before others have their turn
    std::uint32_t inputBegin, inputEnd, inputRoom;
    std::uint32_t stops; // of its endpoint before it came
    int requests;        // so far
    mpr::http::HeadGuard headGuard;
    mpr::http::ChunkGuard chunkGuard;
    mpr::http::ChunkParser chunks;
    Phase phase;
    bool working;   // in which list
    bool entered;   // it counts
    bool leaves;    // its dispatcher was told to close it: see closeResting()
    bool eof;       // the peer sends no more
    bool closes;    // when all has been sent
    int calls;      // that may be in a procedure of a stream
    bool keepsGone; // some of its streams are in Shared::gone
    bool pumping;   // the event of the connection runs
    bool awaits;    // it is in its lane's list of those to be pumped
    bool queues;    // it is in that of those that can write
    bool isLater;   // it is in that of those whose next request may not begin yet
    bool failed;    // nothing can be sent
    bool lacks;     // it has failed for want of memory
    bool stalled;   // the stream has no room for its body
    bool async;
    const HttpQueue* inTurn; // that is serviced because it was scheduled; to be compared only
};

namespace mpr::http {

/** A connection was accepted, by an event of the endpoint's dispatcher. */
void accept(HttpEndpoint& endpoint, MprSocket* sock);
/** Bytes of memory that a connection takes: what is read and to be sent, packets, a compressor; TLS by estimate. */
ptrdiff_t memoryOf(const HttpNet& net);
/** Whether it may take so much more. */
bool mayTake(const HttpNet& net, ptrdiff_t size);
/** The error of a request whose connection takes more. */
inline constexpr char tooMuchMemory[] = "the connection takes more memory than is allowed";
/** Whether a connection takes no more memory than it may: else its request fails. @param status With which. */
bool keepsWithin(HttpNet& net, int status);

/** Something was done to a stream outside of its connection's event: see to it soon. */
void pumpSoon(HttpNet& net);
/** The stream has to be seen to again, perhaps after its connection's event, in which a handler may wait for more. */
void pumpAgain(HttpNet& net);
/** The connection can write again: when its turn comes it is pumped. */
void writeInTurn(HttpNet& net);
/** See to it now: service queues, let the stream go on, write, wait for what is next. */
void pump(HttpNet& net);
/** See to it now, with a turn of its own. */
void pumpInTurn(HttpNet& net);
/** Have what a queue holds sent, and wait until that is enough. Limits of time end a wait with its stream.
    @param isEnough Asked whenever the connection has gone on. @return false: the runtime ends. */
template <class Condition>
bool sendUntil(HttpQueue& q, Condition isEnough) {
    const Waiting waiting(*own(q.stream));
    for (;;) {
        httpScheduleQueue(&q); // a filter may have put more into it
        pump(*q.net);
        if (isEnough()) {
            return true;
        }
        if (mprWaitForEvent(q.net->dispatcher, -1, -1) < 0) {
            return false;
        }
    }
}
/** Put a packet behind what is to be sent. */
void send(HttpNet& net, HttpPacket* packet);
/** Write what is to be sent, as far as the system takes it. @return false when the connection is good for nothing any
    more. */
bool flush(HttpNet& net);
/** There is no memory for something of the connection. The log says so and, if nothing of an answer is on its way, the
    client is told so by bytes that need none; then the connection ends. */
void endForMemory(HttpNet& net, const char* what);
/** Not even an error document can be made: endForMemory() as soon as what runs has returned. */
inline void failForMemory(HttpNet& net) {
    net.failed = net.lacks = true;
}
/** Close the connection now. */
void close(HttpNet& net);
/** Let go of the streams that have ended under procedures of theirs: these have returned. */
void dropGone(HttpNet& net);
/** Its dispatcher was destroyed: close it here, by an event of the main one. */
void closeAbandoned(HttpNet& net);
/** Its stream is complete. */
void finishRequest(HttpNet& net);
/** The socket with which an endpoint listens; nullptr: it does not. Any thread may stop it. */
MprSocket* listenerOf(const HttpEndpoint& endpoint);
/** Whether the endpoint has stopped since the connection came, even if it has started again. With the lock. */
bool isStopped(const HttpNet& net);
/** Whether it is too late for what it waits for. */
bool isLate(const HttpNet& net, MprTicks time);
/** A tick of the clock: it is late, or its service has ended. */
void look(HttpNet& net, MprTicks time);
/** Nothing new: close it when it has nothing to do. */
void stopNet(HttpNet& net);
/** Its endpoint has stopped: nothing new but a request that has arrived. */
void retire(HttpNet& net);
/** Close an idle connection, to make room for another. @return false when it is not idle: its client has just sent something. */
bool makeRoom(HttpNet& net);
/** The stream has room for its body again. */
void resumeBody(HttpNet& net);

} // namespace mpr::http
