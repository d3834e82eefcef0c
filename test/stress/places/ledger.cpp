// SPDX-License-Identifier: MIT
/*
    test/stress/places/ledger.cpp - The rules that hold whatever a program does: states go up, each stream ends once, what is
    opened is closed, nothing is called after the end or by two threads at once.
 */
#include "test/stress/places/ledger.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <unistd.h>

namespace places {

namespace {

std::unique_ptr<Record[]> records;
std::deque<std::atomic<bool>> brokenVisits;
int recordCount;
bool early;

} // namespace

bool endsEarly() {
    return early;
}

int countBegun() {
    int count = 0;
    for (int id = 1; id <= recordCount; id++) {
        count += recordOf(id).seqno > 0;
    }
    return count;
}

void fault(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("FAULT: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    if (getenv("MPR_PLACES_ABORT")) {
        abort();
    }
    _exit(1);
}

void openLedger(const Plan &plan) {
    recordCount = 0;
    early = plan.endsWith > 0;
    brokenVisits.clear();
    for (const auto &client : plan.clients) {
        for (const Visit &visit : client) {
            recordCount += static_cast<int>(visit.scripts.size());
        }
    }
    records = std::make_unique<Record[]>(static_cast<size_t>(recordCount) + 1);
    for (const auto &client : plan.clients) {
        for (const Visit &visit : client) {
            brokenVisits.emplace_back(false);
            for (const Script &script : visit.scripts) {
                recordOf(script.id).broken = &brokenVisits.back();
                recordOf(script.id).script = &script;
                recordOf(script.id).mayBreak = early || !visit.stays() || script.end == End::never;
                recordOf(script.id).head = script.method == "HEAD";
            }
        }
    }
}

Record &recordOf(int id) {
    return records[static_cast<size_t>(id)];
}

Record *recordOf(HttpStream *stream) {
    if (!stream->staticData && stream->rx && stream->rx->uri) {
        cchar *id = strstr(stream->rx->uri, "?id=");
        const int number = id ? atoi(id + 4) : 0;
        if (number > 0 && number <= recordCount) {
            stream->staticData = &recordOf(number);
            recordOf(number).seqno = stream->seqno;
        }
    }
    return static_cast<Record *>(stream->staticData);
}

Call::Call(HttpStream *stream, Place place) : record_(recordOf(stream)) {
    if (!record_) {
        return;
    }
    const int id = record_->script->id;
    if (record_->gone) {
        fault("%d: called at %s after its end", id, nameOf(place));
    }
    if (record_->waiting > 0 && place >= opening && place < matching) {
        fault("%d: called at %s while it waits", id, nameOf(place));
    }
    record_->inside++;
}

Call::~Call() {
    if (record_ && --record_->inside == 0 && record_->gone) {
        record_->over = true;
    }
}

void note(HttpStream *stream, int event, int arg) {
    Record *record = recordOf(stream);
    if (!record) {
        return;
    }
    const int id = record->script->id;
    if (record->gone) {
        fault("%d: told of event %d after its end", id, event);
    }
    if (event == HTTP_EVENT_STATE) {
        if (arg <= record->state) {
            fault("%d: state %d after %d", id, arg, record->state);
        }
        record->state = arg;
    } else if (event == HTTP_EVENT_ERROR) {
        if (!record->mayFail && !record->breaks()) {
            fault("%d: fails: %s", id, httpGetError(stream));
        }
        record->failed = true;
    } else if (event == HTTP_EVENT_TIMEOUT && !record->breaks()) {
        fault("%d: takes too long in state %d, written %zu, read %zu", id, record->state, record->accepted,
              record->read);
    } else if (event == HTTP_EVENT_DONE) {
        record->done++;
    } else if (event == HTTP_EVENT_DESTROY) {
        if (record->done != 1) {
            fault("%d: told of DONE %d times", id, record->done);
        }
    }
}

void noteGone(HttpStream *stream) {
    if (Record *record = recordOf(stream)) {
        record->gone = true;
        record->over = record->inside == 0;
    }
}

void reportOpen() {
    for (int id = 1; id <= recordCount; id++) {
        const Record &record = recordOf(id);
        if (record.seqno && !record.over) {
            fprintf(stderr, "%d: state %d, written %zu, read %zu, %d acts, %d calls of which %d wait%s%s\n", id,
                    record.state, record.accepted, record.read, record.acts, record.inside, record.waiting,
                    record.failed ? ", failed" : "", record.gone ? ", gone" : "");
        }
    }
}

void closeLedger() {
    for (int id = 1; id <= recordCount; id++) {
        const Record &record = recordOf(id);
        if (record.seqno && !record.over) {
            fault("%d: does not end", id);
        }
        if (record.handlerOpen || record.filterOpen || record.inside) {
            fault("%d: %d handlers, %d filters are open, %d calls", id, record.handlerOpen, record.filterOpen,
                  record.inside);
        }
    }
}

} // namespace places
