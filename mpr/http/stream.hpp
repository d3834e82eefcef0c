// SPDX-License-Identifier: MIT
/*
    stream.hpp - Streams, their receive and send side, and queues, as the files of this room see them.

    Each begins with its public structure. They are made for one request, and are garbage after it.
 */
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "mpr/gc/guard.hpp"
#include "mpr/http.h"
#include "mpr/http/references.hpp"
#include "mpr/http/service.hpp"
#include "mpr/task/callback.hpp"

namespace mpr::http {

struct Queue : HttpQueue {
    Queue* nextScheduled; // reference: in the list of its connection
    Queue* nextRemoved;   // reference: in that of its stream, so that it outlives the procedures that have it
    bool removed;         // from the pipeline: it is serviced no more
    bool opened;          // its stage's open was called, and close not yet
    bool unopened;        // a filter's, whose open has not returned: what comes waits
    bool waits;           // it is suspended until the next one has room
    bool serviceAgain;    // it was to be serviced while it was
    MprOff bytes;         // held; the public count has as many of them as it can count
};

/** A line of a head: offsets into the head's bytes. Names and values are terminated. */
struct HeaderLine {
    std::uint32_t name, nameLength, value, valueLength;
};

/** What fields of text have in place of nullptr. */
inline constinit char noText[1] = {};

struct Rx : HttpRx {
    static constexpr int fewLines = 16;

    char* head;        // reference: the bytes of method, URI and headers
    HeaderLine* lines; // reference, if there are more than few: else own
    std::uint32_t headLength;
    int lineCount;
    int lineRoom;
    MprHash* texts;    // reference: made for the program, and kept as long as the request
    char* wholePath;   // reference: pathInfo before the route's prefix was cut off; nullptr: it was not
    HttpAction action; // of the request's path, if its route has none; or null
    int versionMinor;  // of HTTP/1
    bool chunked;      // the body comes in chunks
    bool expects;      // Expect: 100-continue, not yet answered
    bool keepsAlive;   // by version and Connection
    bool paramsMade;   // query and form are in params
    bool formMade;
    HeaderLine own[fewLines];

    std::string_view nameOf(const HeaderLine& line) const { return {head + line.name, line.nameLength}; }
    std::string_view valueOf(const HeaderLine& line) const { return {head + line.value, line.valueLength}; }
};

/** The path is whole: no route's prefix is cut off. */
inline void forgetPrefix(Rx& rx) {
    setRef(&rx, rx.wholePath, nullptr);
    setText(rx.scriptName, noText);
}

struct Tx : HttpTx {
    bool chunks;      // the body goes out in chunks
    bool closes;      // Connection: close is sent, or nothing is
    bool endSent;     // the last packet is with the connection
    MprOff sent;      // bytes of the body with the connection
    HttpPacket* held; // reference: what the file handler or others hold back
};

struct Stream : HttpStream {
    HttpNotifier notifier;
    HttpNotifier endpointNotifier;
    Stream* nextByNumber; // in Shared::byNumber
    HttpPacket* buffered; // reference: the packet that httpWrite fills
    Stream* nextGone;     // in Shared::gone
    Queue* removed;       // reference: queues that were taken out of its pipeline
    MprTicks requestTimeout;
    MprTicks inactivityTimeout;
    bool opened;    // the pipeline is there
    bool started_;  // stages were
    bool wantsRoom; // its handler is told when there is room
    bool counted;   // among the requests
    bool ending;    // its end is being told
    bool gone;
    bool waits;       // a call of the program lets the connection go on: see Waiting
    bool heldBack;    // something is to come when that call has returned
    bool heldInput;   // among it what has come of the body
    bool ownTimes;    // the program has set its limits of time
    bool takes;       // the program has taken something out of the handler's queue
    bool endCame;     // the body has come to the handler, through all filters; or there is none
    bool filters;     // a piece of the body is with a stage before the handler's, which the next one must not overtake
    ptrdiff_t memory; // bytes that its packets and its compressor take

    Rx& in() { return *static_cast<Rx*>(rx); }
    const Rx& in() const { return *static_cast<const Rx*>(rx); }
    Tx& out() { return *static_cast<Tx*>(tx); }
    const Tx& out() const { return *static_cast<const Tx*>(tx); }
};

inline Stream* own(HttpStream* stream) {
    return static_cast<Stream*>(stream);
}
/** Whether its answer is settled: it has failed, or whoever answers is done. */
inline bool isSettled(const Stream& stream) {
    return stream.error || stream.tx->finalized;
}
/** Milliseconds that a limit of time allows. */
inline MprTicks allowed(MprTicks limit) {
    constexpr MprTicks unlimited = INT64_MAX / 2;
    return limit > 0 ? limit : unlimited;
}
inline void setTimes(Stream& stream, const HttpLimits& limits) {
    stream.requestTimeout = allowed(limits.requestTimeout);
    stream.inactivityTimeout = allowed(limits.inactivityTimeout);
}
/** Whether the handler has all of the body, or wants no more of it. */
inline bool hasBody(const Stream& stream) {
    return stream.rx->eof && (stream.endCame || stream.tx->finalizedInput || !stream.opened);
}
inline Queue* own(HttpQueue* queue) {
    return static_cast<Queue*>(queue);
}

/**
    Whether the calling thread may change a stream or a connection, which is its dispatcher's to do: no manager may on the
    collector's thread. Named; except of what is dying with the manager's block, which has ended.
 */
template <class T>
bool mayChange(const char* function, const T& what) {
    return !gc::current || !gc::isFinalizing(*gc::current) || (!gc::isDying(&what) && gc::admitServing(function));
}

/** Whether a stage is called with packets of a body, rather than find them in its queue. */
inline bool takesPackets(const HttpStage& stage) {
    return stage.incoming || stage.incomingService;
}

/** Call a procedure of a stage, which may be the program's: the thread goes on after it as before. */
template <class Call>
auto callStage(const HttpStage& stage, Call&& call) -> decltype(call()) {
    if constexpr (std::is_void_v<decltype(call())>) {
        task::callProgram({"HTTP stage", stage.name}, call);
    } else {
        decltype(call()) result{};
        task::callProgram({"HTTP stage", stage.name}, [&] { result = call(); });
        return result;
    }
}

// ---- stream.cpp ----

/**
    A call of the program lets the connection go on until there is room, or input. What the stream's handler does is not
    done yet, so nothing else of it is called meanwhile that comes in turn: not the next state, nor that there is room again,
    nor with more of the body. A handler that writes what it gets would write the next piece in the middle of this one; one
    that reads would be called deeper with each piece. What comes of the body waits in the handler's queue, where the call may
    read it, and the connection takes no more than has room there. All that is left comes when the call has returned, even
    if the handler then waits for it.
 */
class Waiting {
public:
    explicit Waiting(Stream& stream) : stream_(stream), outer_(std::exchange(stream.waits, true)) {}
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

private:
    Stream& stream_;
    bool outer_;
};

/** A stream for the next request of a connection. @return nullptr when memory is short. */
Stream* makeStream(HttpNet& net);
/** Its headers have come: choose a route, make the pipeline, start it. */
void begin(Stream& stream);
/** Some of its body has come. */
void receive(Stream& stream, HttpPacket* packet);
/** Go on as far as the state allows. @return Whether something was done. */
bool advance(Stream& stream);
/** The connection has sent what there was; or nothing more can be sent. */
void setState(Stream& stream, int state);
/** Tell the notifiers that are set. */
inline void notify(Stream& stream, int event, int arg) {
    if (stream.notifier || stream.endpointNotifier) {
        httpNotify(&stream, event, arg);
    }
}
/** The stream ends, whatever its state. */
void end(Stream& stream);
/** The connection is gone. */
void abort(Stream& stream, const char* why);
/** Bytes that the body of a request may have, by what kind it is. */
MprOff mostOfBody(const Stream& stream);
/** Mark what a program may have stored into a stream at work, or whose procedures have not returned. */
void markFields(const Stream& stream);
/** By its number. With the lock. */
Stream* find(std::uint64_t number);

// ---- pipeline.cpp ----

/** Make the queues of a stream for its route. @return false when memory is short, or a stage has refused: then the
    stream has failed. */
bool openPipeline(Stream& stream);
/** A handler that takes a body as a whole has room for all that may come: nobody takes some of it before. */
void roomForBody(Stream& stream);
void startPipeline(Stream& stream);
void readyPipeline(Stream& stream);
void writablePipeline(Stream& stream);
void closePipeline(Stream& stream);

// ---- queue.cpp ----

/** Take the first packet out of a queue that its stage has not been given. @return nullptr: there is none. */
HttpPacket* takeHeld(HttpQueue& q);
/** Take all of them. @return The first, which leads to the others; nullptr: there is none. */
HttpPacket* takeAllHeld(Queue& q);
/** Whether what a handler writes is sent, and a body comes to it: its pipeline is there, the filters have been opened. */
bool flows(const Stream& stream);
/** Whether what a queue holds goes on while a call waits for that: none that it has to pass is being serviced, by who calls. */
bool drains(const HttpQueue& from);
/** Give a packet to the stage of a queue, whatever is held there. */
void give(HttpQueue& to, HttpPacket* packet);
Queue* makeQueue(Stream& stream, HttpStage* stage, int direction);
/** Have its stage close a queue that it has opened. */
void closeQueue(Queue& q);
/** Service what is scheduled. @return Whether anything was. */
bool serviceScheduled(HttpNet& net);
/** Call what services a queue. If that lets the connection go on, which would service the queue, it is scheduled instead. */
template <class Call>
void asService(HttpQueue* q, Call&& call) {
    q->flags |= HTTP_QUEUE_SERVICED;
    call();
    q->flags &= ~HTTP_QUEUE_SERVICED;
    if (std::exchange(own(q)->serviceAgain, false)) {
        httpScheduleQueue(q);
    }
}
/** A queue holds so many bytes more, or fewer. */
void addBytes(HttpQueue& q, MprOff bytes);
/** What a queue holds: of the connector's that sends, with what its connection has yet to write. */
MprOff heldBy(const HttpQueue& q);
/** A queue holds less: if it was full and is not any more, those go on that have waited for it. */
void holdsLess(HttpQueue& q);

// ---- connector.cpp ----

/** The stage at the end of both directions. @return false when memory is short. */
bool defineConnector(Http& http);

// ---- head.cpp ----

/** A header of the request, of several of a name the first; nullptr data: none. @param name In lower case. */
std::string_view header(const Stream& stream, std::string_view name);
/** Whether a list of words, separated by commas, has a word, in any case. */
bool hasWord(std::string_view list, std::string_view word);

// ---- request.cpp ----

/** Make rx.headers. */
bool makeHeaders(Rx& rx);

// ---- response.cpp ----

/** What waits in queues is not sent. */
void dropOutput(Stream& stream);
/** Put a body straight before the connection, as all of the response. @param body nullptr: none. */
void answer(Stream& stream, std::string_view body);

// ---- error.cpp ----

[[gnu::format(printf, 3, 4)]] void fail(Stream& stream, int status, const char* format, ...);

} // namespace mpr::http
