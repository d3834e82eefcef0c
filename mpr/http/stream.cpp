// SPDX-License-Identifier: MIT
/*
    stream.cpp - Streams: their life and states, and how others find them.

    A stream is made with the first byte of a request and ends when its response has been sent, or never will be.
    Between the two its connection is at work, and the service marks what programs have stored in it.
 */
#include <algorithm>
#include <cstring>
#include <utility>

#include "mpr/base/retain.hpp"
#include "mpr/event.h"
#include "mpr/gc/census.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/http/calls.hpp"
#include "mpr/http/grammar.hpp"
#include "mpr/http/head.hpp"
#include "mpr/http/log.hpp"
#include "mpr/http/packet.hpp"
#include "mpr/http/route.hpp"
#include "mpr/http/uri.hpp"
#include "mpr/string.h"
#include "mpr/task/events.hpp"
#include "mpr/time.h"

namespace mpr::http {

namespace {

/** Texts may be slices of the head, which are no blocks. */
template <typename... T>
void markTexts(T* const&... fields) {
    (gc::markLoose(&fields), ...);
}

void markStream(const Stream& s) {
    markAll(s.net, s.rx, s.tx, s.readq, s.writeq, s.inputq, s.outputq, s.sock, s.limits, s.http, s.dispatcher,
            s.endpoint, s.host, s.buffered, s.removed);
    markTexts(s.context, s.data, s.grid, s.record, s.errorMsg, s.ip, s.username);
}

void markRx(const Rx& rx) {
    markTexts(rx.method, rx.uri, rx.pathInfo, rx.wholePath, rx.scriptName, rx.extraPath, rx.statusMessage, rx.accept,
              rx.acceptEncoding, rx.acceptLanguage, rx.authType, rx.cookie, rx.connection, rx.hostHeader, rx.mimeType,
              rx.origin, rx.originalUri, rx.pragma, rx.referrer, rx.userAgent);
    markAll(rx.stream, rx.route, rx.session, rx.headers, rx.parsedUri, rx.params, rx.files, rx.svars, rx.head,
            rx.texts);
    gc::markLoose(&rx.lines); // rx.own is no block
}

void markTx(const Tx& tx) {
    markTexts(tx.filename, tx.ext, tx.etag, tx.mimeType);
    markAll(tx.headers, tx.cookies, tx.handler, tx.parsedUri, tx.file, tx.held);
}

void manageStream(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        markStream(*static_cast<Stream*>(ptr));
    }
}
const gc::ManagerName namedStream(manageStream, "HttpStream");

void manageRx(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        markRx(*static_cast<Rx*>(ptr));
    }
}
const gc::ManagerName namedRx(manageRx, "HttpRx");

void manageTx(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        markTx(*static_cast<Tx*>(ptr));
    }
}
const gc::ManagerName namedTx(manageTx, "HttpTx");

Rx* makeRx(Stream& stream) {
    Rx* rx = base::makeReferring<Rx>(manageRx);
    if (rx) {
        rx->stream = &stream;
        rx->lines = rx->own;
        rx->lineRoom = Rx::fewLines;
        rx->length = -1;
        rx->scriptName = noText;
    }
    return rx;
}

Tx* makeTx() {
    Tx* tx = base::makeReferring<Tx>(manageTx);
    if (tx) {
        tx->status = HTTP_CODE_OK;
        tx->length = tx->entityLength = -1;
        tx->chunkSize = -1;
        tx->headers = mprCreateHash(0, MPR_HASH_CASELESS | MPR_HASH_STABLE);
    }
    return tx && tx->headers ? tx : nullptr;
}

// ---- By number --------------------------------------------------------------------------------------------------

Stream*& bucketOf(std::uint64_t number) {
    return shared.byNumber[number % Shared::buckets];
}

void enroll(Stream& stream) {
    const os::Locked locked(shared.lock);
    stream.seqno = ++shared.lastNumber;
    Stream*& first = bucketOf(stream.seqno);
    stream.nextByNumber = first;
    first = &stream;
}

void strike(Stream& stream) {
    const os::Locked locked(shared.lock);
    delist(bucketOf(stream.seqno), stream, &Stream::nextByNumber);
}

Stream* lookUp(std::uint64_t number) {
    const os::Locked locked(shared.lock);
    return find(number);
}

/** Some of a body is what a form is. */
void tellKind(Rx& rx) {
    const std::string_view type = rx.mimeType ? rx.mimeType : "";
    const std::string_view kind = cut(type, 0, type.find(';'));
    rx.form = same(kind, "application/x-www-form-urlencoded");
    rx.json = same(kind, "application/json");
    rx.upload = same(kind, "multipart/form-data");
}

bool isTooLong(const Stream& stream, MprOff length) {
    return length > mostOfBody(stream);
}

/** OPTIONS *: what the server can do. */
void answerForServer(Stream& stream) {
    httpSetHeaderString(&stream, "Allow", "GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS");
    httpSetStatus(&stream, HTTP_CODE_NO_CONTENT);
    httpFinalize(&stream);
}

void locate(Stream& stream) {
    Rx& rx = stream.in();
    char* path = pathOf(rx.uri);
    if (!path) {
        httpBadRequestError(&stream, HTTP_CODE_BAD_REQUEST, "the path of the request is none");
        return;
    }
    setRef(&rx, rx.pathInfo, path);
    if (!makeHeaders(rx)) {
        httpMemoryError(&stream);
        return;
    }
    const char* uri = rx.uri;
    while (uri[0] == '/' && uri[1] == '/') {
        ++uri; // or it would name a host
    }
    setRef(&rx, rx.parsedUri, readUri(uri));
    tellKind(rx);
    if (stream.http->requestCallback) {
        task::callProgram({"HTTP request callback"}, [&] { stream.http->requestCallback(&stream); });
    }
    if (!isSettled(stream)) {
        chooseRoute(stream);
    }
    if (!stream.error && rx.length > 0 && isTooLong(stream, rx.length)) {
        httpLimitError(&stream, HTTP_CODE_REQUEST_TOO_LARGE, "the body has more bytes than are allowed");
    }
}
} // namespace

MprOff mostOfBody(const Stream& stream) {
    const HttpLimits& limits = *stream.limits;
    return stream.rx->form     ? std::min(limits.rxFormSize, limits.rxBodySize)
           : stream.rx->upload ? std::max(limits.uploadSize, limits.rxBodySize)
                               : limits.rxBodySize;
}

Stream* find(std::uint64_t number) {
    Stream* stream = bucketOf(number);
    while (stream && stream->seqno != number) {
        stream = stream->nextByNumber;
    }
    return stream;
}

void markFields(const Stream& stream) {
    markStream(stream);
    markRx(stream.in());
    markTx(*static_cast<const Tx*>(stream.tx));
    for (const HttpQueue* q = stream.writeq; q; q = q->nextQ) {
        gc::markLoose(&q->queueData);
    }
    for (const HttpQueue* q = stream.inputq; q; q = q->nextQ) {
        gc::markLoose(&q->queueData);
    }
}

// ---- Life -------------------------------------------------------------------------------------------------------

Stream* makeStream(HttpNet& net) {
    Stream* stream = base::makeReferring<Stream>(manageStream);
    Rx* rx = stream ? makeRx(*stream) : nullptr;
    Tx* tx = rx ? makeTx() : nullptr;
    if (!tx) {
        return nullptr;
    }
    Http* http = net.http;
    stream->net = &net;
    stream->rx = rx;
    stream->tx = tx;
    stream->state = HTTP_STATE_CONNECTED;
    stream->http = http;
    stream->limits = http->limits;
    stream->sock = net.sock;
    stream->dispatcher = net.dispatcher;
    stream->endpoint = net.endpoint;
    stream->endpointNotifier = net.endpoint->notifier;
    stream->ip = net.sock->ip;
    stream->port = net.sock->port;
    stream->secure = mprIsSocketSecure(net.sock);
    stream->keepAliveCount = std::max(http->limits->keepAliveMax - net.requests, 0);
    stream->started = stream->lastActivity = now();
    setTimes(*stream, *http->limits);
    stream->active = true;
    enroll(*stream);
    return stream;
}

void begin(Stream& stream) {
    setState(stream, HTTP_STATE_FIRST);
    setState(stream, HTTP_STATE_PARSED);
    if (stream.gone) { // those who were told have let the connection go on, and it has ended
        return;
    }
    if (const int status = enterRequest(stream)) {
        httpLimitError(&stream, status, "too many requests at a time");
    } else if (!isSettled(stream)) { // else a notifier has answered
        std::string_view(stream.rx->uri) == "*" ? answerForServer(stream) : locate(stream);
    }
    if (!isSettled(stream) && stream.tx->handler && openPipeline(stream)) {
        startPipeline(stream);
    }
    setState(stream, HTTP_STATE_CONTENT);
}

/** Tell the program that more of the body has come. A program that has read nothing when the queue is full takes it as a whole. */
static void tellReadable(Stream& stream) {
    notify(stream, HTTP_EVENT_READABLE, 0);
    if (!stream.takes && stream.opened && stream.readq->count >= stream.readq->max) {
        roomForBody(stream);
    }
}

void receive(Stream& stream, HttpPacket* packet) {
    Rx& rx = stream.in();
    const bool ends = packet->flags & HTTP_PACKET_END;
    rx.bytesRead += lengthOf(packet);
    rx.remainingContent = rx.length > 0 ? rx.length - rx.bytesRead : 0;
    stream.lastActivity = now();
    if (!stream.error && isTooLong(stream, rx.bytesRead)) {
        const base::Rooted kept(packet); // a notifier may yield
        httpLimitError(&stream, HTTP_CODE_REQUEST_TOO_LARGE, "the body has more bytes than are allowed");
    }
    rx.eof = rx.eof || ends;
    if (stream.tx->finalizedInput || !stream.opened) {
        return;
    }
    httpPutPacket(stream.inputq, packet);
    if (!ends) {
        keepsWithin(*stream.net, HTTP_CODE_REQUEST_TOO_LARGE);
    }
    if (stream.waits) {
        stream.heldBack = stream.heldInput = true; // READABLE is told of then, too
    } else if (stream.opened && !stream.gone && !stream.heldInput) {
        tellReadable(stream);
    }
}

namespace {

/** Give the handler what has come of the body while a call of it waited, as far as that has not read it. */
void giveHeld(Stream& stream) {
    HttpQueue* q = stream.readq;
    if (stream.tx->finalizedInput) {
        return;
    }
    while (HttpPacket* packet = takesPackets(*q->stage) && !stream.gone ? takeHeld(*q) : nullptr) {
        give(*q, packet);
    }
    if (q->stage->incomingService) {
        httpScheduleQueue(q);
    }
    if (stream.opened && !stream.gone) {
        tellReadable(stream);
    }
}

/** Whether the handler has been told that all has come, or wants to write more, and there is room for it. */
bool hasRoom(const Stream& stream) {
    return stream.wantsRoom && !stream.tx->finalizedOutput && stream.writeq->count <= stream.writeq->low;
}

/** Whether no more of the body comes, or what comes is dropped. */
bool isInputOver(const Stream& stream) {
    return stream.rx->eof || stream.net->phase == HttpNet::Phase::answering || stream.out().closes ||
           stream.net->closes || stream.net->eof;
}

/** Whether the handler does no more: it has written all, and there is nothing left to read. */
bool isAnswered(const Stream& stream) {
    const bool hasRead =
        hasBody(stream) && stream.state >= HTTP_STATE_RUNNING && stream.readq && stream.readq->count == 0;
    return stream.tx->finalized || (stream.tx->finalizedOutput && hasRead);
}

/** Whether the state allows a step. */
bool hasStep(const Stream& stream) {
    switch (stream.state) {
    case HTTP_STATE_CONTENT: return stream.tx->finalized || hasBody(stream) || hasRoom(stream);
    case HTTP_STATE_READY:
    case HTTP_STATE_RUNNING: return isAnswered(stream) || hasRoom(stream);
    case HTTP_STATE_FINALIZED: return stream.out().endSent && isInputOver(stream) && stream.net->outCount == 0;
    default: return false;
    }
}

/** All of the request has come. */
void ready(Stream& stream) {
    setState(stream, HTTP_STATE_READY);
    if (stream.state == HTTP_STATE_READY && stream.opened) {
        readyPipeline(stream);
    }
    if (stream.state == HTTP_STATE_READY) {
        setState(stream, HTTP_STATE_RUNNING);
        stream.wantsRoom = true;
    }
}
} // namespace

Waiting::~Waiting() {
    stream_.waits = outer_;
    if (!outer_ && std::exchange(stream_.heldBack, false)) {
        pumpAgain(*stream_.net);
    }
}

bool advance(Stream& stream) {
    if (stream.heldInput ? stream.filters : !hasStep(stream)) { // what is held comes when the filter has returned
        return false;
    }
    if (stream.waits) {
        stream.heldBack = true;
        return false;
    }
    if (std::exchange(stream.heldInput, false)) {
        giveHeld(stream);
    } else if (stream.state == HTTP_STATE_FINALIZED) {
        setState(stream, HTTP_STATE_COMPLETE);
    } else if (isAnswered(stream)) {
        stream.tx->finalized = stream.tx->finalizedInput = true;
        setState(stream, HTTP_STATE_FINALIZED);
    } else if (stream.state == HTTP_STATE_CONTENT && hasBody(stream)) {
        ready(stream);
    } else {
        stream.wantsRoom = false;
        writablePipeline(stream);
    }
    return true;
}

void setState(Stream& stream, int state) {
    assertHere(*stream.net);
    if (state > stream.state) {
        stream.state = state;
        notify(stream, HTTP_EVENT_STATE, state);
    }
}

void end(Stream& stream) {
    if (stream.ending) { // told once, whatever is done by those who are told
        return;
    }
    stream.ending = true;
    setState(stream, HTTP_STATE_COMPLETE);
    logRequest(stream);
    notify(stream, HTTP_EVENT_DONE, 0);
    closePipeline(stream);
    notify(stream, HTTP_EVENT_DESTROY, 0);
    stream.active = false;
    stream.gone = true;
    strike(stream);
    leaveRequest(stream);
}

void abort(Stream& stream, const char* why) {
    if (stream.gone || stream.state == HTTP_STATE_COMPLETE) {
        return;
    }
    if (!stream.error) {
        stream.error = stream.disconnect = true;
        setRef(&stream, stream.errorMsg, sclone(why));
        if (stream.state >= HTTP_STATE_PARSED && !stream.out().endSent) {
            stream.tx->status = HTTP_CODE_COMMS_ERROR;
        }
        notify(stream, HTTP_EVENT_ERROR, 0);
    }
    stream.tx->finalized = stream.tx->finalizedInput = stream.tx->finalizedOutput = true;
}

namespace {

/** From now on the collector knows its data. */
void enlist(Order& order) {
    const os::Locked locked(shared.lock);
    order.runtime = shared.runtimes;
    order.nextOfAll = shared.orders;
    if (order.nextOfAll) {
        order.nextOfAll->previousOfAll = &order;
    }
    shared.orders = &order;
}

/** @return false: its heap has gone. */
bool delist(const Order& order) {
    const os::Locked locked(shared.lock);
    if (order.runtime != shared.runtimes) {
        return false;
    }
    (order.previousOfAll ? order.previousOfAll->nextOfAll : shared.orders) = order.nextOfAll;
    if (order.nextOfAll) {
        order.nextOfAll->previousOfAll = order.previousOfAll;
    }
    return true;
}

void forget(Order* order) {
    if (delist(*order)) {
        pfree(order);
    }
}

/** Has an order forgotten at its end. */
class Carried {
public:
    explicit Carried(Order& order) : order_(&order) {}
    ~Carried() { forget(order_); }
    Carried(const Carried&) = delete;
    Carried& operator=(const Carried&) = delete;

private:
    Order* order_;
};

/** The procedure may wait: its stream, should that end meanwhile, and its data stay until it returns. */
void carryOut(Order& order, Stream* stream) {
    const Carried carried(order);
    if (!stream) {
        task::callProgram({"HTTP event"}, [&] { order.proc(nullptr, order.data); });
        return;
    }
    HttpNet& net = *stream->net;
    const base::Rooted rooted(&net);
    {
        const Calls calls(net);
        task::callProgram({"HTTP event"}, [&] { order.proc(stream, order.data); });
    }
    if (!stream->gone) {
        stream->lastActivity = now();
    }
    pump(net); // a stream that has ended meanwhile kept the next request waiting
}

/** On the main dispatcher: where is the stream? Nothing here needs memory. */
void runOrder(void* data, MprEvent*) {
    auto* order = static_cast<Order*>(data);
    Stream* stream = lookUp(order->seqno);
    if (!stream || stream->dispatcher == mprGetDispatcher()) {
        carryOut(*order, stream);
        return;
    }
    if (!give(*stream->net->lane, *order)) {
        carryOutThere(*order, false); // the dispatcher has gone
    }
}
} // namespace

void carryOutThere(Order& order, bool there) {
    carryOut(order, there ? lookUp(order.seqno) : nullptr);
}

} // namespace mpr::http

using namespace mpr::http;

// ---- The C API --------------------------------------------------------------------------------------------------

void httpSetStreamNotifier(HttpStream* stream, HttpNotifier notifier) {
    if (stream) {
        own(stream)->notifier = notifier;
    }
}

void httpNotify(HttpStream* stream, int event, int arg) {
    if (!stream) {
        return;
    }
    for (HttpNotifier Stream::*which : {&Stream::notifier, &Stream::endpointNotifier}) {
        if (const HttpNotifier notifier = own(stream)->*which) {
            mpr::task::callProgram({"HTTP notifier"}, [=] { notifier(stream, event, arg); });
        }
    }
}

void httpSetStreamContext(HttpStream* stream, void* context) {
    if (stream) {
        setRef(own(stream), stream->context, context);
    }
}

void* httpGetStreamContext(HttpStream* stream) {
    return stream ? stream->context : nullptr;
}

void httpSetTimeout(HttpStream* stream, MprTicks requestTimeout, MprTicks inactivityTimeout) {
    if (stream) { // from now on a route's limits do not change them
        own(stream)->ownTimes = true;
    }
    if (stream && requestTimeout >= 0) {
        own(stream)->requestTimeout = allowed(requestTimeout);
    }
    if (stream && inactivityTimeout >= 0) {
        own(stream)->inactivityTimeout = allowed(inactivityTimeout);
    }
}

HttpStream* httpFindStream(uint64 seqno, HttpEventProc proc, void* data) {
    Stream* stream = lookUp(seqno);
    if (proc) {
        proc(stream, data);
    }
    return stream;
}

int httpCreateEvent(uint64 streamSeqno, HttpEventProc callback, void* data) {
    if (!callback || !mpr::gc::mayMake("httpCreateEvent", data)) {
        return MPR_ERR_BAD_ARGS;
    }
    const mpr::gc::Stay stay; // with the order's memory
    if (!stay) {
        return MPR_ERR_BAD_STATE;
    }
    auto* order = static_cast<Order*>(palloc(sizeof(Order)));
    if (!order) {
        return MPR_ERR_MEMORY;
    }
    *order = {};
    order->seqno = streamSeqno;
    order->proc = callback;
    order->data = data;
    mprPublish(data);
    enlist(*order);
    const int result = mprCreateEventOutside(nullptr, runOrder, order);
    if (result != 0) {
        forget(order);
    }
    return result;
}

void httpDisconnectStream(HttpStream* stream) {
    if (stream && !own(stream)->gone && mayChange("httpDisconnectStream", *stream)) {
        stream->disconnect = true;
        HttpNet& net = *stream->net;
        abort(*own(stream), "the stream was disconnected");
        net.failed = true;
        pumpSoon(net);
    }
}

int httpGetKeepAliveCount(HttpStream* stream) {
    return stream ? stream->keepAliveCount : 0;
}

int httpIsFinalized(HttpStream* stream) {
    return stream && stream->tx->finalized;
}

int httpIsOutputFinalized(HttpStream* stream) {
    return stream && stream->tx->finalizedOutput;
}

bool httpRequestExpired(HttpStream* stream, MprTicks timeout) {
    return stream && mprGetTicks() - stream->started >= timeout;
}

bool httpGetAsync(HttpNet* net) {
    return net && net->async;
}

void httpSetAsync(HttpNet* net, bool async) {
    if (net) {
        net->async = async;
    }
}

int httpStealSocketHandle(HttpNet* net) {
    if (!net || net->phase == HttpNet::Phase::closed || !mayChange("httpStealSocketHandle", *net)) {
        return -1;
    }
    const Socket fd = mprStealSocketHandle(net->sock);
    if (net->stream) {
        abort(*net->stream, "the connection is the program's");
    }
    net->failed = true;
    pumpSoon(*net);
    return fd;
}

MprTicks httpGetTicks(cchar* value) {
    static constexpr struct {
        const char* unit;
        MprTicks ticks;
    } units[] = {{"ms", 1},        {"msec", 1},       {"s", 1000},       {"min", 60'000},
                 {"h", 3'600'000}, {"d", 86'400'000}, {"w", 604'800'000}};
    if (!value) {
        return 0;
    }
    if (scaselessmatch(value, "unlimited") || scaselessmatch(value, "infinite") || scaselessmatch(value, "never")) {
        return MPR_MAX_TIMEOUT / 1000;
    }
    const MprTicks number = stoi(value);
    const char* unit = value + std::strspn(value, " +-0123456789");
    for (const auto& each : units) {
        if (sncaselesscmp(unit, each.unit, static_cast<ssize>(std::strlen(each.unit))) == 0) {
            return number > MPR_MAX_TIMEOUT / each.ticks ? MPR_MAX_TIMEOUT / 1000 : number * each.ticks;
        }
    }
    return *unit ? 0 : number * 1000;
}
