// SPDX-License-Identifier: MIT
/*
    test/stress/places/acts.cpp - The acts. Each is what some program does somewhere, or might.
 */
#include "test/stress/places/acts.hpp"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <utility>

namespace places {

namespace {

constexpr int mostActs = 60; /* Of a request */

/* Where an act is of use. */
enum : unsigned {
    everywhere = 1,
    withQueue = 2, /* Where a queue is at hand */
    inFilters = 4, /* In a filter's procedures */
    beforeEnd = 8, /* Not when the stream is about to go */
};

struct Context {
    Record &record;
    HttpStream *stream;
    HttpQueue *q; /* The queue at hand, else the handler's */
    Place place;
};

/* ---- Writing ---- */

void write(Context &c, size_t size, int flags) {
    std::string bytes(size, ' ');
    for (size_t i = 0; i < size; i++) {
        bytes[i] = answerByte(c.record.accepted + i);
    }
    const bool waits = flags == HTTP_BLOCK;
    const bool gone = c.record.gone;
    c.record.altered = c.record.altered || c.record.writing; // nobody knows which of the two comes first
    const bool outer = std::exchange(c.record.writing, true);
    c.record.waiting += waits;
    const ssize count = httpWriteBlock(c.stream->writeq, bytes.data(), static_cast<ssize>(size), flags);
    c.record.waiting -= waits;
    c.record.writing = outer;
    if (gone && count > 0) {
        fault("%d: %zd bytes were taken after its end", c.record.script->id, count);
    }
    if (count > 0) {
        c.record.accepted += static_cast<size_t>(count);
    }
}
void writeLittle(Context &c) {
    write(c, 1 + c.record.accepted % 200, HTTP_BUFFER);
}
void writeSome(Context &c) {
    write(c, 30000, HTTP_NON_BLOCK);
}
void writeMuch(Context &c) {
    write(c, 150000, 0);
}
void writeWaiting(Context &c) {
    write(c, 90000, HTTP_BLOCK);
}
void flush(Context &c) {
    httpFlush(c.stream);
}
void flushWaiting(Context &c) {
    httpFlushQueue(c.stream->writeq, HTTP_BLOCK);
}
void expectError(Context &c) {
    if (c.stream->state < HTTP_STATE_COMPLETE) { // one that is complete cannot fail
        c.record.mayFail = c.record.altered = true;
    }
}
/* The body is about to be another. */
void breakLength(Context &c) {
    if (c.record.hasLength) {
        expectError(c);
        *c.record.broken = true;
    }
}
void putOwnPacket(Context &c) {
    HttpPacket *packet = httpCreateDataPacket(20);
    breakLength(c);
    c.record.altered = c.record.altered || (c.q->direction == HTTP_QUEUE_TX);
    c.record.readAll = false;
    mprPutStringToBuf(packet->content, "a filter's own ");
    httpPutPacketToNext(c.q, packet);
}

/* ---- The end of an answer, and errors ---- */

void finalize(Context &c) {
    httpFinalize(c.stream);
}
void finalizeOutput(Context &c) {
    httpFinalizeOutput(c.stream);
}
void finalizeInput(Context &c) {
    httpFinalizeInput(c.stream);
}
void refuse(Context &c) {
    expectError(c);
    httpError(c.stream, 400, "refused");
}
void failAndClose(Context &c) {
    expectError(c);
    httpError(c.stream, 500 | HTTP_CLOSE, "failed");
}
void abortIt(Context &c) {
    expectError(c);
    *c.record.broken = true;
    httpError(c.stream, 500 | HTTP_ABORT, "aborted");
}
void disconnect(Context &c) {
    expectError(c);
    *c.record.broken = true;
    httpDisconnectStream(c.stream);
}
void redirect(Context &c) {
    c.record.altered = true;
    httpRedirect(c.stream, 302, "/elsewhere");
}
void formatResponse(Context &c) {
    c.record.altered = true;
    httpFormatResponse(c.stream, "instead");
}
void steal(Context &c) {
    expectError(c);
    *c.record.broken = true;
    const int fd = httpStealSocketHandle(c.stream->net);
    if (fd >= 0) {
        ::close(fd);
    }
}

/* ---- The head ---- */

void setStatus(Context &c) {
    httpSetStatus(c.stream, 202);
}
void setBodiless(Context &c) {
    c.record.altered = true;
    httpSetStatus(c.stream, c.record.accepted % 2 ? 204 : 304);
}
void setHeader(Context &c) {
    httpSetHeaderString(c.stream, "X-Place", nameOf(c.place));
}
void setChunks(Context &c) {
    static const ssize sizes[] = {0, 1, 100, 1000, -1};
    httpSetChunkSize(c.stream, sizes[static_cast<size_t>(c.record.acts) % 5]);
}
void setLength(Context &c) {
    expectError(c);
    *c.record.broken = true;
    httpSetContentLength(c.stream, 5000);
}
void setOwnLength(Context &c) {
    if (c.record.accepted > 0 && c.stream->tx->finalizedOutput && !c.record.altered && !c.record.writing) {
        c.record.hasLength = true;
        httpSetContentLength(c.stream, static_cast<MprOff>(c.record.accepted));
    }
}
void omitBody(Context &c) {
    c.record.altered = true;
    httpOmitBody(c.stream);
}
void useSession(Context &c) {
    httpSetSessionVar(c.stream, "place", nameOf(c.place));
}

/* ---- Reading ---- */

void read(Context &c) {
    readBody(c.stream, 100, 0);
}
void readWaiting(Context &c) {
    readBody(c.stream, 5000, 3);
}
void lookAtBody(Context &c) {
    httpGetBodyInput(c.stream);
    httpGetParam(c.stream, "id", "");
}

/* ---- Queues ---- */

void resume(void *data, MprEvent *) {
    httpResumeQueue(static_cast<HttpQueue *>(data), false);
}
void suspend(Context &c) {
    httpSuspendQueue(c.q);
    resumeSoon(c.q);
}
void suspendEnds(Context &c) {
    HttpQueue *ends[] = {c.stream->writeq, c.stream->outputq, c.stream->readq, c.stream->inputq};
    HttpQueue *q = ends[static_cast<size_t>(c.record.acts) % 4];
    if (q) {
        httpSuspendQueue(q);
        resumeSoon(q);
    }
}
void schedule(Context &c) {
    httpScheduleQueue(c.q);
}
void service(Context &c) {
    httpServiceQueue(c.q);
}
void putBack(Context &c) {
    if (HttpPacket *packet = httpGetPacket(c.q)) {
        httpPutBackPacket(c.q, packet);
        httpScheduleQueue(c.q);
    }
}
void shrink(Context &c) {
    if (c.q == c.stream->readq && c.record.script->intake == Intake::kept) {
        return; // nobody takes what comes, so it would stop there
    }
    httpSetQueueLimits(c.q, nullptr, 512, 100, 1000, -1);
}
void discard(Context &c) {
    breakLength(c);
    c.record.altered = true;
    c.record.readAll = false;
    httpDiscardQueueData(c.q, c.record.acts % 2);
}
void removeQueue(Context &c) {
    httpRemoveQueue(c.q);
}

/* ---- Events and waits ---- */

void inEvent(HttpStream *stream, void *data) {
    if (stream) {
        perform(stream, nullptr, byEvent);
    } else if (!static_cast<Record *>(data)->gone) {
        fault("%d: is not found, and has not ended", static_cast<Record *>(data)->script->id);
    }
}
void makeEvent(Context &c) {
    if (httpCreateEvent(c.stream->seqno, inEvent, &c.record) != 0 && !mprIsStopping()) {
        fault("%d: no event", c.record.script->id);
    }
}
void inTimer(void *data, MprEvent *) {
    if (HttpStream *stream = httpFindStream(static_cast<Record *>(data)->seqno, nullptr, nullptr)) {
        perform(stream, nullptr, byTimer);
    }
}
void makeTimer(Context &c) {
    mprCreateEvent(c.stream->dispatcher, "timer", 1, inTimer, &c.record, 0);
}
void yield(Context &) {
    mprYield(MPR_YIELD_DEFAULT);
}
void collect(Context &) {
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
}
void sleepShortly(Context &) {
    mprSleep(1);
}
void serveOthers(Context &c) {
    mprWaitForEvent(c.stream->dispatcher, 1, mprGetEventMark(c.stream->dispatcher));
}
void notifyOwn(Context &c) {
    httpNotify(c.stream, HTTP_EVENT_APP_OPEN, 0);
}
void extend(Context &c) {
    if (c.record.script->end != End::never) {
        httpSetTimeout(c.stream, 600000, 600000);
    }
}

/* ---- The foreign thread ---- */

struct Foreigner {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Record *> asked;
    bool ends = false;
    std::thread thread;
};
Foreigner *foreigner;

void inForeign(HttpStream *stream, void *) {
    if (stream) {
        perform(stream, nullptr, byForeigner);
    }
}
void askForeigner(Context &c) {
    std::lock_guard lock(foreigner->mutex);
    foreigner->asked.push_back(&c.record);
    foreigner->changed.notify_one();
}
void beForeign() {
    std::unique_lock lock(foreigner->mutex);
    while (!foreigner->ends || !foreigner->asked.empty()) {
        if (foreigner->asked.empty()) {
            foreigner->changed.wait(lock);
            continue;
        }
        Record *record = foreigner->asked.front();
        foreigner->asked.pop_front();
        lock.unlock();
        httpCreateEvent(record->seqno, inForeign, record);
        lock.lock();
    }
}

/* ---- All ---- */

struct Act {
    char letter;
    void (*proc)(Context &c);
    unsigned where;
    size_t weight;
};
const Act acts[] = {
    {'w', writeLittle, everywhere, 12},   {'W', writeSome, everywhere, 6},    {'M', writeMuch, everywhere, 1},
    {'B', writeWaiting, beforeEnd, 3},    {'f', flush, everywhere, 8},        {'F', flushWaiting, beforeEnd, 2},
    {'p', putOwnPacket, inFilters, 2},    {'z', finalize, everywhere, 3},     {'Z', finalizeOutput, everywhere, 2},
    {'i', finalizeInput, everywhere, 2},  {'e', refuse, everywhere, 1},       {'E', failAndClose, everywhere, 1},
    {'A', abortIt, everywhere, 1},        {'d', disconnect, everywhere, 1},   {'r', redirect, everywhere, 1},
    {'o', formatResponse, everywhere, 1}, {'x', steal, everywhere, 1},        {'s', setStatus, everywhere, 2},
    {'S', setBodiless, everywhere, 1},    {'h', setHeader, everywhere, 2},    {'c', setChunks, everywhere, 2},
    {'l', setLength, everywhere, 1},      {'L', setOwnLength, everywhere, 1}, {'O', omitBody, everywhere, 1},
    {'u', useSession, everywhere, 1},     {'R', read, everywhere, 3},         {'b', readWaiting, beforeEnd, 2},
    {'I', lookAtBody, everywhere, 2},     {'q', suspend, withQueue, 3},       {'Q', suspendEnds, everywhere, 3},
    {'k', schedule, withQueue, 3},        {'K', service, withQueue, 2},       {'P', putBack, withQueue, 2},
    {'m', shrink, withQueue, 1},          {'D', discard, withQueue, 1},       {'X', removeQueue, inFilters, 1},
    {'v', makeEvent, everywhere, 4},      {'t', makeTimer, everywhere, 4},    {'V', askForeigner, everywhere, 2},
    {'y', yield, everywhere, 3},          {'g', collect, everywhere, 1},      {'j', sleepShortly, beforeEnd, 1},
    {'n', serveOthers, beforeEnd, 1},     {'N', notifyOwn, everywhere, 1},    {'T', extend, everywhere, 1},
};

bool isOf(const Act &act, Place place) {
    const bool filters = place > matching && place <= filterClosing;
    const bool queue = filters || (place >= opening && place <= closing);
    const bool ends = place == closing || place == filterClosing || place >= onComplete;
    switch (act.where) {
    case withQueue: return queue;
    case inFilters: return filters;
    case beforeEnd: return !ends || place >= byEvent;
    default: return true;
    }
}

const Act *actOf(char letter) {
    for (const Act &act : acts) {
        if (act.letter == letter) {
            return &act;
        }
    }
    return nullptr;
}

} // namespace

std::string pickAct(Place place, uint64_t random, const std::string &only) {
    size_t all = 0;
    const auto weightOf = [&](const Act &act) {
        const bool wanted = only.empty() || only.find(act.letter) != std::string::npos;
        return wanted && isOf(act, place) ? act.weight : 0;
    };
    for (const Act &act : acts) {
        all += weightOf(act);
    }
    size_t left = all ? static_cast<size_t>(random % all) : 0;
    for (const Act &act : acts) {
        const size_t weight = weightOf(act);
        if (left < weight) {
            return std::string(1, act.letter);
        }
        left -= weight;
    }
    return "";
}

void perform(HttpStream *stream, HttpQueue *q, Place place) {
    const Call call(stream, place);
    if (!call) {
        return;
    }
    Record &record = *recordOf(stream);
    Context context{record, stream, q ? q : stream->writeq, place};
    for (const char letter : record.script->acts[place]) {
        if (++record.acts > mostActs) {
            break;
        }
        actOf(letter)->proc(context);
    }
}

void resumeSoon(HttpQueue *q) {
    mprCreateEvent(q->stream->dispatcher, "resume", 1, resume, q, 0);
}

void readBody(HttpStream *stream, ssize most, MprTicks wait) {
    Record *record = recordOf(stream);
    record->readAll = record->readAll && !stream->tx->finalizedInput; // then what comes is dropped
    std::string bytes(static_cast<size_t>(most), ' ');
    record->waiting += wait > 0;
    const ssize count =
        wait > 0 ? httpReadBlock(stream, bytes.data(), most, wait, HTTP_BLOCK) : httpRead(stream, bytes.data(), most);
    record->waiting -= wait > 0;
    for (ssize i = 0; record->readAll && i < count; i++) {
        if (bytes[static_cast<size_t>(i)] != bodyByte(record->read + static_cast<size_t>(i))) {
            fault("%d: byte %zu of the body is another", record->script->id, record->read + static_cast<size_t>(i));
        }
    }
    record->read += count > 0 ? static_cast<size_t>(count) : 0;
}

void startForeigner() {
    foreigner = new Foreigner;
    foreigner->thread = std::thread(beForeign);
}

void stopForeigner() {
    {
        std::lock_guard lock(foreigner->mutex);
        foreigner->ends = true;
    }
    foreigner->changed.notify_one();
    foreigner->thread.join();
    delete foreigner;
}

} // namespace places
