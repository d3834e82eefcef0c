// SPDX-License-Identifier: MIT
/*
    test/stress/places/script.hpp - What a request's program does, and where: acts (acts.hpp) at places. And what clients do
    to it. All of it follows from a seed.
 */
#pragma once

#include "mpr.h"
#include "mpr/http.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace places {

/* Where a program of the HTTP room is called. */
enum Place {
    callback, /* httpSetRequestCallback */
    opening,
    starting,
    ready,
    writable,
    incoming,
    incomingService,
    closing,
    matching, /* Of a filter, as the rest */
    filterOpening,
    filterIncoming,
    filterIncomingService,
    filterOutgoing,
    filterOutgoingService,
    filterClosing,
    onFirst, /* Of a notifier, as the rest */
    onParsed,
    onContent,
    onReady,
    onRunning,
    onFinalized,
    onComplete,
    onReadable,
    onWritable,
    onError,
    onTimeout,
    onDone,
    onDestroy,
    byEvent, /* Of httpCreateEvent */
    byTimer,
    byForeigner, /* An event that a foreign thread has made */
    placeCount
};
const char *nameOf(Place place);

/* All procedures; `ready` alone; the same with HTTP_STAGE_AUTO_FINALIZE; an action. */
enum class Handler { full, lean, finishing, action };
/* A filter passes on a packet that comes, keeps it, splits it, or passes on a clone. */
enum class Passing { on, later, split, cloned };
/* A filter services the packets that it has kept as default stages do, with a look at the room, one an event, or joined. */
enum class Service { plain, careful, slow, joined };
/* A handler keeps the body, reads it as it comes, or drops it. */
enum class Intake { kept, read, dropped };
/* The answer is finalized there at the latest. */
enum class End { start, ready, event, timer, never };

struct Script {
    int id = 0; /* In the request's query */
    std::array<std::string, placeCount> acts;
    Handler handler = Handler::full;
    Passing in = Passing::on, out = Passing::on;
    Service inService = Service::plain, outService = Service::plain;
    Intake intake = Intake::kept;
    End end = End::ready;
    int match = HTTP_ROUTE_OK;
    bool rated = false, gated = true; /* By the rate filter; by the filter with places */

    std::string method = "GET";
    size_t bodySize = 0;
    bool chunked = false, old = false, closes = false, zips = false, form = false; /* old: HTTP/1.0 */

    std::string path() const;
    std::string text() const;
};

/* A connection of a client. */
struct Visit {
    std::vector<Script> scripts;
    bool waits = false;    /* For each answer before it asks again */
    bool slow = false;     /* Has little room, and takes its time to read */
    long leaves = -1;      /* Not less than 0: resets the connection when so many bytes have come */
    size_t piece = 0;      /* Bytes that it sends at a time; 0: all */
    bool finishes = false; /* Says that it sends no more, before it reads the last answer */

    /* Whether all of it is sent and read. */
    bool stays() const { return leaves < 0; }
};

/* Faults that the site makes on purpose, in each request. */
enum class Sabotage {
    none,
    losesByte,
    losesPacket,
    neverEnds,
    leavesOpen,
    endsTwice,
    goesBack,
    callsLate,
    staysSilent
};

/* Clients that come at the same time. Each makes one visit after the other. */
struct Plan {
    uint64_t seed = 0;
    int workers = 0;
    std::string options;
    int endsWith =
        0; /* Requests that have begun when the runtime ends, whatever they do; 0: it ends when all are over */
    Sabotage sabotage = Sabotage::none;
    std::vector<std::vector<Visit>> clients;
    std::string text() const;
};

/* @param only Not "": these acts alone. */
Plan makePlan(uint64_t seed, const std::string &only);
/* One request whose program does what most do. */
Plan plainPlan(Sabotage sabotage);

} // namespace places
