// SPDX-License-Identifier: MIT
/*
    test/stress/places/ledger.hpp - What is known of each request: what its program has done, and what it was told. The
    client holds the answer against it.

    A record is used by the stream's events, one at a time, without a lock: the thread sanitizer sees when that is not so.
    A stream may end below a call of its own program, which goes on with one that does nothing more. `over` says that it
    has ended, and that no call is left; from then on only the client looks.
 */
#pragma once

#include "test/stress/places/script.hpp"

#include <atomic>
#include <string>

namespace places {

/* Say what is wrong, and end the process with status 1. Any thread. */
[[noreturn]] void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct Record {
    const Script *script = nullptr;
    bool mayBreak = false;               /* The client leaves, or the program ends it by its time: anything may come */
    std::atomic<bool> *broken = nullptr; /* The program has ended the connection by force: so may all of the visit's */
    bool mayFail = false;                /* The program has made it fail */
    bool altered = false; /* The body is not what was written: dropped, put before, replaced by an error document */
    bool failed = false;
    bool hasLength = false; /* Its program has announced what was written */
    bool head = false;
    std::atomic<uint64> seqno{0};
    size_t accepted = 0; /* Bytes that were written */
    size_t read = 0;     /* Bytes of the request's body */
    bool readAll = true; /* In order, from the beginning */
    int acts = 0;        /* So that no program goes on for ever */
    int state = 0;
    int done = 0;
    std::atomic<bool> gone{false}; /* DESTROY was told of */
    bool writing = false;          /* A call writes */
    int waiting = 0;               /* Calls that wait: nothing else of the handler is called */
    int inside = 0;                /* Places that have not returned */
    int handlerOpen = 0, filterOpen = 0;
    std::atomic<bool> over{false};

    bool breaks() const { return mayBreak || *broken; }
};

/* The record of a stream, by the query of its request. @return NULL: it has none yet. */
Record *recordOf(HttpStream *stream);

/* A call at a place, while it lasts. */
class Call {
public:
    Call(HttpStream *stream, Place place);
    ~Call();
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;
    Record *operator->() const { return record_; }
    explicit operator bool() const { return record_; }

private:
    Record *record_;
};

/* Byte number `at` of answers (small letters) and of requests (large ones). */
inline char answerByte(size_t at) {
    return static_cast<char>('a' + (at + at / 26 * 3) % 26);
}
inline char bodyByte(size_t at) {
    return static_cast<char>('A' + (at + at / 26 * 3) % 26);
}

/* Begin a plan: a record for each script. */
void openLedger(const Plan &plan);
Record &recordOf(int id);
/* Whether the plan's runtime ends with requests under way: any may break, and nobody listens then. */
bool endsEarly();
/* How many requests have begun. */
int countBegun();

/* The notifier was told of an event. */
void note(HttpStream *stream, int event, int arg);
/* Its program has been told of DESTROY. */
void noteGone(HttpStream *stream);

/* Print what is known of requests that have begun and not ended. */
void reportOpen();

/* Each stream has ended. */
void closeLedger();

} // namespace places
