// SPDX-License-Identifier: MIT
/*
    service.hpp - The service of the room: what all connections have in common, and what the collector is told of.

    There is one service in a runtime. Blocks of this room are barrier blocks. Yet programs store into streams, their
    rx and tx, and queues by plain assignment, which the barrier does not see. So the service, which the collector
    asks in each pause as it does all rooms, marks the fields of those streams that are at work: that costs a pause as
    much as there are requests at work, some 50 ns each, and connections at rest nothing.

    Connections stand in one of two lists: those at work, whose streams are marked, and those at rest, the one that
    has rested longest first. The lists do not retain: connections at work are marked, and those at rest are retained
    by the handler that waits for them. One lock guards the lists, the table of streams, clients and figures; nobody
    yields or allocates meanwhile.

    All that is done to a connection is done by events of its dispatcher, one at a time; assertHere() says so. Other
    threads find it in the lists, and see of it no more than what the lock guards: its place in them, its dispatcher,
    its endpoint. Who wants something of it sends its dispatcher an event.

    A program may destroy a dispatcher that has connections. Nothing waits for them then, and nothing retains them: so they
    are marked, too, until the clock has closed them.
 */
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

#include "mpr/http.h"
#include "mpr/http/references.hpp"
#include "mpr/os/lock.hpp"

struct Http {
    // References:
    HttpLimits* limits;
    HttpHost* defaultHost;
    MprList* hosts;
    MprList* endpoints;
    MprHash* stages;  // by name
    MprHash* actions; // by path: mpr::http::Action
    MprHash* sessions;
    MprHash* mimeTypes;
    HttpStage* actionHandler;
    HttpStage* fileHandler;
    HttpStage* connector;
    char* serverHeader; // "Server: name\r\n", or nullptr
    // The rest:
    HttpRequestCallback requestCallback;
    std::atomic<bool> ended; // by httpDestroy: its connections are closed, each by its dispatcher
};

namespace mpr::http {

struct Stream;

/** What httpCreateEvent was asked for, outside of the heap, for foreign threads must not touch that. In Shared::orders
    until it has been carried out: the service marks its data. */
struct Order {
    std::uint64_t seqno;
    HttpEventProc proc;
    void* data;
    Order* next; // in its lane's list
    Order* nextOfAll;
    Order* previousOfAll;
    std::uint64_t runtime; // Shared::runtimes of when it was made
};

/** What httpDefineAction knows. A managed block. */
struct Action {
    HttpAction call;
};

/** An address that is connected. A managed block, which its connections retain; in Shared::clients while there are any. */
struct Client {
    char* ip;     // reference
    Client* next; // in its bucket
    int connections;
    int requests;
    bool isMany; // processes of this machine, whose address says nothing
};

/** A dispatcher of an endpoint. A managed block, which the endpoint and connections retain; in Shared::lanes, which retains
    it, while it is not idle. */
struct Lane {
    MprDispatcher* dispatcher; // reference
    MprEvent* work;            // reference: does what is in the lists below. It is there before there is any
    HttpNet* firstPump;        // references: connections that are to be seen to soon. The dispatcher's own
    HttpNet* lastPump;
    HttpNet* firstWriter; // references: connections that can write. The dispatcher's own
    HttpNet* lastWriter;
    HttpNet* firstLater; // references: connections whose next request may not begin yet. The dispatcher's own
    HttpNet* lastLater;
    Order* firstOrder; // of other threads. The lock guards them
    Order* lastOrder;
    Lane* next;
    std::uint64_t round; // the last one of lookEverywhere() that has come by
    int connections;
    int leaving; // of them, which it was told to close. The lock guards it
    // Procedures of its connections' streams that have not returned, one on top of the other:
    int calls;
    const HttpNet* top; // of the last that was called; to be compared only
    MprTicks returned;  // when one that has taken long has returned to another's the last time
    bool asked;         // to look after its connections, and has not begun yet

    /** With the lock: nothing is left to do. */
    bool isIdle() const { return connections == 0 && !firstOrder; }
};

/**
    A list of connections, by their members next and previous. It retains them: the program may have taken a connection's
    socket, or ended its handler, and nothing else leads to one that rests.
 */
struct NetList {
    /** A managed block. */
    struct Head {
        HttpNet* first; // reference
    };
    Head* head = nullptr; // marked by the room
    HttpNet* last = nullptr;
    int count = 0;

    HttpNet* first() const { return head ? head->first : nullptr; }
    void append(HttpNet& net);
    void remove(HttpNet& net);
};

/** State outside the heap. */
struct Shared {
    static constexpr std::size_t buckets = 512;
    static constexpr std::size_t clientBuckets = 256;

    os::Lock lock;
    NetList working;
    NetList resting;
    Stream* byNumber[buckets] = {};
    Client* clients[clientBuckets] = {}; // by address
    Lane* lanes = nullptr;
    Order* orders = nullptr;
    Stream* gone = nullptr; // streams that have ended under procedures of theirs, which may store into them as before
    std::uint64_t runtimes = 0; // that have ended
    std::uint64_t lastNumber = 0;
    std::uint64_t rounds = 0; // of lookEverywhere()
    int clientCount = 0;
    int fitting = INT_MAX; // connections for which the system has descriptors, as it seems for a while
    MprTicks full = 0;     // since when
    int leaving = 0;       // connections that their dispatchers were told to close
    int requests = 0;
    std::uint64_t totalRequests = 0;
    std::uint64_t totalConnections = 0;
    bool drains = false;                    // there may be connections of a service that has ended
    std::atomic<bool> listenersWait{false}; // for the end of connections that leave; set with the lock
    std::atomic<MprEvent*> clock{nullptr};  // a root
    std::atomic<MprTicks> now{0};           // of the clock's last tick; 0: it does not tick
    std::atomic<bool> redline{false};       // of the heap: more is in use
    MprTicks collected = 0;                 // when the clock last asked for a collection past the redline

    int connections() const { return working.count + resting.count; } // with the lock
};
extern constinit Shared shared;

/** Take an item out of one of these lists. With the lock. @param next What links it. @return Whether it was in it. */
template <class T>
bool delist(T*& first, T& item, T* T::*next) {
    os::assertHeld(shared.lock);
    T** at = &first;
    while (*at && *at != &item) {
        at = &((*at)->*next);
    }
    const bool found = *at != nullptr;
    if (found) {
        *at = item.*next;
    }
    return found;
}

/** The service; nullptr: there is none. */
Http* service();

/** Whether the calling thread runs an event of a dispatcher, or is the last one, as in a runtime that has
    stopped. */
bool isHere(const MprDispatcher& dispatcher);
/** The calling thread is about to change a connection, so the connection's dispatcher is here. */
void assertHere(const HttpNet& net);

// ---- connections.cpp ----

/** A connection has something to do, or has not any more. */
void setWorking(HttpNet& net, bool on);
/** A connection has come or goes. @return For one that comes: 0, or the status with which it is refused. */
int enter(HttpNet& net);
void leave(HttpNet& net);
/** A request begins or ends. @return 0, or the status with which it is refused. */
int enterRequest(Stream& stream);
void leaveRequest(Stream& stream);
/**
    Have the connection closed that has rested longest: at once if it is of the caller's dispatcher.
    @param here That. @param elsewhere Only one of a dispatcher that was not told so of another, for those may be busy.
    @return Whether there is one.
 */
bool closeResting(const MprDispatcher* here, bool elsewhere);
/** The system had nothing left for one more connection: there are as many as fit, for a while. */
void noteFull();
/** Whether there are fewer connections than are allowed, and than fit. */
bool hasPlace(const Http& http);
/** A connection has come: have one closed for it that rests, if need be. @param here The caller's dispatcher. @return Whether
    it may be accepted, to be served or refused. Otherwise some leave, and the listeners are told when one has. */
bool makePlace(const Http& http, const MprDispatcher* here);

// ---- clock.cpp ----

/** Milliseconds of the monotonic clock as of now, or of some milliseconds ago. */
MprTicks now();
/** "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", of this second. */
struct DateLine {
    static constexpr std::size_t length = 37;
    char text[length + 1];
};
const DateLine& dateLine();

/** Make the clock, which ticks while there are connections. @return false when memory is short. */
bool makeClock();
/** There is a connection: the clock ticks. */
void startClock();
/** Whether there are no connections, so that the clock need not tick. */
bool isAtRest();
/** Each dispatcher looks after its connections: the caller's now. */
void lookEverywhere(MprTicks time);
/** Listeners wait, and a connection has left, or does not leave. */
void wakeListeners();

// ---- lane.cpp ----

/** @return nullptr when memory is short. */
Lane* makeLane();
/** Make what a lane needs to be given work, once it has a dispatcher. @return false when memory is short. */
bool openLane(Lane& lane);
/** Have a lane's dispatcher carry an order out. Events of the main dispatcher may do this, and need no memory for it.
    @return false: the lane's dispatcher has gone, or its connections. */
bool give(Lane& lane, Order& order);
/** Its dispatcher was destroyed: the orders that it has not come to find no stream. */
void dropOrders(Lane& lane);
/** A connection of a lane has left, or an order was taken: if nothing is left to do, the lane leaves Shared::lanes. With
    the lock. */
void delistIdle(Lane& lane);

// ---- stream.cpp ----

/** Carry out an order of another thread. @param there Its stream, if there still is one, is of the caller's dispatcher. */
void carryOutThere(Order& order, bool there);

} // namespace mpr::http
