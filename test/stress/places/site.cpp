// SPDX-License-Identifier: MIT
/*
    test/stress/places/site.cpp - Handlers and a filter with a place in each of their procedures.
 */
#include "test/stress/places/site.hpp"

#include "test/stress/places/acts.hpp"
#include "test/stress/places/ledger.hpp"

namespace places {

namespace {

HttpEndpoint *endpoint;
Sabotage sabotage;

/* A block that is used after acts, which may yield. */
class Rooted {
public:
    explicit Rooted(HttpPacket *packet) : packet_(packet) {
        if (packet_) {
            mprAddRoot(packet_);
        }
    }
    ~Rooted() {
        if (packet_) {
            mprRemoveRoot(packet_);
        }
    }
    Rooted(const Rooted &) = delete;
    Rooted &operator=(const Rooted &) = delete;
    HttpPacket *get() const { return packet_; }

private:
    HttpPacket *packet_;
};

/* ---- Handlers ---- */

void endInEvent(HttpStream *stream, void *) {
    if (stream) {
        httpFinalize(stream);
    }
}
void endInTimer(void *data, MprEvent *) {
    httpFindStream(static_cast<Record *>(data)->seqno, endInEvent, nullptr);
}

/* @param at Where this is. */
void endIf(HttpStream *stream, End at) {
    if (sabotage == Sabotage::neverEnds) {
        return;
    }
    Record *record = recordOf(stream);
    if (record->script->end == at) {
        httpFinalize(stream);
    } else if (at == End::ready && record->script->end == End::event) {
        httpCreateEvent(record->seqno, endInEvent, nullptr);
    } else if (at == End::ready && record->script->end == End::timer) {
        mprCreateEvent(stream->dispatcher, "end", 1, endInTimer, record, 0);
    }
}

int openHandler(HttpQueue *q) {
    const Call call(q->stream, opening);
    call->handlerOpen++;
    perform(q->stream, q, opening);
    return 0;
}
void closeHandler(HttpQueue *q) {
    const Call call(q->stream, closing);
    call->handlerOpen--;
    perform(q->stream, q, closing);
}
void startHandler(HttpQueue *q) {
    perform(q->stream, q, starting);
    endIf(q->stream, End::start);
}
/* All of the body has come. */
void checkBody(HttpStream *stream) {
    const Record *record = recordOf(stream);
    const bool takes = record->script->handler == Handler::full && record->script->intake == Intake::dropped;
    const size_t came = record->read + static_cast<size_t>(httpGetReadCount(stream));
    if (!takes && record->readAll && !stream->error && !stream->tx->finalizedInput &&
        came != record->script->bodySize) {
        fault("%d: is ready with %zu bytes of the body", record->script->id, came);
    }
}
void readyHandler(HttpQueue *q) {
    checkBody(q->stream);
    perform(q->stream, q, ready);
    if (recordOf(q->stream)->script->handler != Handler::full) { // it has no start
        endIf(q->stream, End::start);
    }
    endIf(q->stream, End::ready);
}
void writableHandler(HttpQueue *q) {
    perform(q->stream, q, writable);
}
void incomingHandler(HttpQueue *q, HttpPacket *packet) {
    const Intake intake = recordOf(q->stream)->script->intake;
    if (intake == Intake::dropped) {
        recordOf(q->stream)->readAll = false;
    } else {
        httpDefaultIncoming(q, packet);
    }
    perform(q->stream, q, incoming);
    if (intake == Intake::read) {
        readBody(q->stream, 100000, 0);
    }
}
void serviceIncomingHandler(HttpQueue *q) {
    perform(q->stream, q, incomingService);
}
void act(HttpStream *stream) {
    checkBody(stream);
    perform(stream, nullptr, ready);
    endIf(stream, End::start);
    endIf(stream, End::ready);
}

/* ---- The filter ---- */

int matchFilter(HttpStream *stream, HttpRoute *, int) {
    perform(stream, nullptr, matching);
    const Record *record = recordOf(stream);
    return record ? record->script->match : HTTP_ROUTE_OK;
}
int openFilter(HttpQueue *q) {
    const Call call(q->stream, filterOpening);
    call->filterOpen++;
    perform(q->stream, q, filterOpening);
    return 0;
}
void closeFilter(HttpQueue *q) {
    const Call call(q->stream, filterClosing);
    call->filterOpen -= sabotage != Sabotage::leavesOpen;
    perform(q->stream, q, filterClosing);
}

/* A packet that comes. */
void pass(HttpQueue *q, HttpPacket *packet, Passing passing) {
    if (passing == Passing::later) {
        httpPutForService(q, packet, true);
    } else if (passing == Passing::cloned) {
        httpPutPacketToNext(q, httpClonePacket(packet));
    } else {
        const Rooted first(packet);
        const ssize length = httpGetPacketContents(packet);
        const Rooted second(passing == Passing::split && length > 1 ? httpSplitPacket(packet, length / 2) : nullptr);
        httpPutPacketToNext(q, first.get());
        if (second.get()) {
            httpPutPacketToNext(q, second.get());
        }
    }
}

/* Packets that were kept. */
void passKept(HttpQueue *q, Service service) {
    if (service == Service::plain) {
        httpDefaultService(q);
        return;
    }
    if (service == Service::joined) {
        httpJoinPackets(q, 4000);
    }
    while (HttpPacket *packet = httpGetPacket(q)) {
        if (!httpWillNextQueueAcceptPacket(q, packet)) {
            httpPutBackPacket(q, packet);
            return;
        }
        httpPutPacketToNext(q, packet);
        if (service == Service::slow && q->first) {
            httpSuspendQueue(q);
            resumeSoon(q);
            return;
        }
    }
}

void incomingFilter(HttpQueue *q, HttpPacket *packet) {
    if (sabotage == Sabotage::losesPacket && !(packet->flags & HTTP_PACKET_END)) {
        return;
    }
    const Rooted rooted(packet);
    perform(q->stream, q, filterIncoming);
    pass(q, rooted.get(), recordOf(q->stream)->script->in);
}
void outgoingFilter(HttpQueue *q, HttpPacket *packet) {
    if (sabotage == Sabotage::losesByte && httpGetPacketContents(packet) > 0) {
        httpAdjustPacketStart(packet, 1);
    }
    const Rooted rooted(packet);
    perform(q->stream, q, filterOutgoing);
    pass(q, rooted.get(), recordOf(q->stream)->script->out);
}
void serviceIncomingFilter(HttpQueue *q) {
    perform(q->stream, q, filterIncomingService);
    passKept(q, recordOf(q->stream)->script->inService);
}
void serviceOutgoingFilter(HttpQueue *q) {
    perform(q->stream, q, filterOutgoingService);
    passKept(q, recordOf(q->stream)->script->outService);
}

/* ---- Notifiers ---- */

Place placeOf(int event, int arg) {
    static constexpr Place states[] = {onFirst, onParsed, onContent, onReady, onRunning, onFinalized, onComplete};
    switch (event) {
    case HTTP_EVENT_STATE:
        return arg >= HTTP_STATE_FIRST && arg <= HTTP_STATE_COMPLETE ? states[arg - HTTP_STATE_FIRST] : placeCount;
    case HTTP_EVENT_READABLE: return onReadable;
    case HTTP_EVENT_WRITABLE: return onWritable;
    case HTTP_EVENT_ERROR: return onError;
    case HTTP_EVENT_TIMEOUT: return onTimeout;
    case HTTP_EVENT_DONE: return onDone;
    case HTTP_EVENT_DESTROY: return onDestroy;
    default: return placeCount;
    }
}

void onStream(HttpStream *stream, int event, int arg) {
    note(stream, event, arg);
    const Place place = placeOf(event, arg);
    if (place != placeCount) {
        perform(stream, nullptr, place);
    }
    if (sabotage == Sabotage::goesBack && event == HTTP_EVENT_STATE && arg == HTTP_STATE_READY) {
        note(stream, HTTP_EVENT_STATE, HTTP_STATE_PARSED);
    } else if (sabotage == Sabotage::endsTwice && event == HTTP_EVENT_DONE) {
        note(stream, event, arg);
    }
    if (event == HTTP_EVENT_DESTROY) {
        if (sabotage != Sabotage::staysSilent) {
            noteGone(stream);
        }
        if (sabotage == Sabotage::callsLate) {
            perform(stream, nullptr, byEvent);
        }
    }
}

void onRequest(HttpStream *stream) {
    const Record *record = recordOf(stream);
    if (record && record->script->end == End::never) {
        httpSetTimeout(stream, 300, 300);
    }
    perform(stream, nullptr, callback);
}

/* ---- All ---- */

void makeStages() {
    HttpStage *full = httpCreateHandler("full", nullptr);
    full->open = openHandler;
    full->close = closeHandler;
    full->start = startHandler;
    full->ready = readyHandler;
    full->writable = writableHandler;
    full->incoming = incomingHandler;
    full->incomingService = serviceIncomingHandler;
    httpCreateHandler("lean", nullptr)->ready = readyHandler;
    HttpStage *finishing = httpCreateHandler("finishing", nullptr);
    finishing->flags |= HTTP_STAGE_AUTO_FINALIZE;
    finishing->ready = readyHandler;
    HttpStage *filter = httpCreateFilter("gate", nullptr);
    filter->match = matchFilter;
    filter->open = openFilter;
    filter->close = closeFilter;
    filter->incoming = incomingFilter;
    filter->incomingService = serviceIncomingFilter;
    filter->outgoing = outgoingFilter;
    filter->outgoingService = serviceOutgoingFilter;
}

void makeRoute(const std::string &handler, bool gated, bool rated) {
    const std::string path = (gated ? "/gated" : "/free") + std::string(rated ? "-rated-" : "-") + handler;
    HttpRoute *route =
        handler == "action" ? httpCreateActionRoute(nullptr, path.c_str(), act) : httpCreateInheritedRoute(nullptr);
    if (handler != "action") {
        httpSetRoutePattern(route, path.c_str(), 0);
        httpSetRouteHandler(route, handler.c_str());
    }
    httpAddRouteFilter(route, "gzipFilter", nullptr, HTTP_STAGE_TX);
    if (gated) {
        httpAddRouteFilter(route, "gate", nullptr, HTTP_STAGE_TX | HTTP_STAGE_RX);
    }
    if (rated) {
        httpAddRouteFilter(route, "rateFilter", nullptr, HTTP_STAGE_TX);
        httpSetRouteRate(route, 100'000'000);
    }
    if (handler != "action") {
        httpFinalizeRoute(route);
    }
}

} // namespace

int startSite(const Plan &plan) {
    if (mprConfigure(plan.options.c_str()) != 0 || !mprCreate(0, nullptr, MPR_USER_EVENTS_THREAD) ||
        !httpCreate(HTTP_SERVER_SIDE)) {
        fault("there is no runtime");
    }
    mprSetLogLevel(0);
    HttpLimits *limits = httpGetLimits();
    sabotage = plan.sabotage;
    limits->requestTimeout = limits->inactivityTimeout = sabotage == Sabotage::none ? 60000 : 1000;
    limits->sessionMax = 100000;
    endpoint = httpCreateEndpoint("127.0.0.1", 0, nullptr);
    if (plan.workers > 0) {
        httpSetEndpointWorkers(endpoint, plan.workers);
    }
    httpSetEndpointNotifier(endpoint, onStream);
    httpSetRequestCallback(onRequest);
    makeStages();
    for (const char *handler : {"full", "lean", "finishing", "action"}) {
        for (const int kind : {0, 1, 2, 3}) {
            makeRoute(handler, kind & 1, kind & 2);
        }
    }
    if (httpStartEndpoints() != 0) {
        fault("the server does not listen");
    }
    startForeigner();
    return httpGetEndpointPort(endpoint);
}

void awaitRest() {
    const MprTicks begin = mprGetTicks();
    HttpStats stats{};
    serveUntil([&] {
        httpGetStats(&stats);
        return (stats.activeConnections == 0 && stats.activeRequests == 0) || mprGetElapsedTicks(begin) > 100000;
    });
    if (stats.activeConnections || stats.activeRequests) {
        fault("%d connections, %d requests are left", stats.activeConnections, stats.activeRequests);
    }
}

void stopSite() {
    if (mprVerifyHeap() != 0 || !mprDestroy()) {
        fault("the runtime does not end well");
    }
    stopForeigner(); // it goes on to ask for events
}

} // namespace places
