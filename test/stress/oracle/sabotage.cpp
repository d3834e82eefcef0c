// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/sabotage.cpp - Deeds that a runtime without faults cannot have done: what the oracle must notice.
 */
#include "test/stress/oracle/sabotage.hpp"

#include "test/stress/oracle/ledger.hpp"
#include "test/stress/oracle/objects.hpp"
#include "test/stress/oracle/program.hpp"
#include "test/stress/oracle/signals.hpp"
#include "test/support/sanitizer.hpp"

#include <csignal>
#include <cstring>
#include <thread>
#include <unistd.h>

#ifdef TEST_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace oracle {

namespace {

Record *makePlain(Graph &graph, Random &random) {
    return graph.make({Kind::plain, 100, 2, false}, random);
}

/* A block that only a hold keeps, and the hold is gone. */
void loseHold(Graph &graph, Random &random) {
    if (Record *record = graph.make({Kind::plain, 40, 0, true}, random)) {
        mprRelease(record->ptr);
    }
}

void loseRoot(Graph &graph, Random &random) {
    if (Record *record = makePlain(graph, random)) {
        graph.addRoot(*record);
        mprRemoveRoot(record->ptr);
    }
}

/* ---- Handles ---- */

Handle *makeHandle(Graph &graph, Random &random, int type, bool keeps) {
    Handle what;
    what.type = type;
    what.block = makePlain(graph, random);
    if (what.block && keeps) {
        graph.addRoot(*what.block);
    }
    what.value = what.isDependent() ? graph.make({Kind::leaf, 40, 0, false}, random) : nullptr;
    return what.block ? graph.handles.create(what, 0) : nullptr;
}

/* It keeps nothing any more. */
void weaken(Graph &graph, Random &random) {
    if (Handle *handle = makeHandle(graph, random, MPR_HANDLE_VARIABLE, false)) {
        handle->extra = MPR_HANDLE_STRONG;
    }
}

void clearEarly(Graph &graph, Random &random) {
    if (const Handle *handle = makeHandle(graph, random, MPR_HANDLE_WEAK_SHORT, true)) {
        mprSetHandle(handle->number, nullptr);
    }
}

/* The reference does not know that its block is a root; the block has no manager to be called. */
void clearNever(Graph &graph, Random &random) {
    Handle what;
    what.block = graph.make({Kind::leaf, 40, 0, false}, random);
    if (what.block && graph.handles.create(what, 0)) {
        mprAddRoot(what.block->ptr);
    }
}

void setElsewhere(Graph &graph, Random &random) {
    const Handle *handle = makeHandle(graph, random, MPR_HANDLE_STRONG, true);
    if (Record *other = makePlain(graph, random); other && handle) {
        graph.addRoot(*other);
        mprSetHandle(handle->number, other->ptr);
    }
}

void loseValue(Graph &graph, Random &random) {
    if (const Handle *handle = makeHandle(graph, random, MPR_HANDLE_DEPENDENT, true)) {
        mprSetHandleValue(handle->number, nullptr);
    }
}

/* A long one is taken for a short one: it refers to its block while the manager runs. */
void clearLate(Graph &graph, Random &random) {
    if (Handle *handle = makeHandle(graph, random, MPR_HANDLE_WEAK_LONG, false)) {
        handle->type = MPR_HANDLE_WEAK_SHORT;

        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    }
}

void clearBeforeManager(Graph &graph, Random &random) {
    if (Handle *handle = makeHandle(graph, random, MPR_HANDLE_WEAK_SHORT, false)) {
        handle->type = MPR_HANDLE_WEAK_LONG;
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    }
}

/* Somebody writes into what a handle refers to. */
void changeLabelled(Graph &, Random &random) {
    if (void *block = makeLabelled(random)) {
        static_cast<unsigned char *>(block)[8] ^= 1;
        lookAtLabelled(block, "a handle refers to");
    }
}

/* A store that publishes nothing, of a block that is younger than its thread's last yield. */
void storeUnpublished(Graph &graph, Random &random) {
    for (int round = 0; round < 300; round++) { // until the thread stands in memory of its own
        for (int i = 0; i < 100; i++) {
            mprAlloc(100);
        }
        mprYield(MPR_YIELD_DISCARD);
    }
    if (Record *record = graph.make({Kind::noFree, 100, 2, false}, random)) {
        Reference &reference = graph.addReference(nullptr);
        reference.record = record;
        record->in++;
        reference.ref.ptr = record->ptr;
        mprYield(MPR_YIELD_DISCARD);
        graph.check();
    }
}

void change(Graph &graph, Random &random) {
    if (Record *record = makePlain(graph, random)) {
        graph.addRoot(*record);
        static_cast<unsigned char *>(record->ptr)[record->size - 1] ^= 1;
    }
}

void changeReference(Graph &graph, Random &random) {
    if (Record *record = makePlain(graph, random)) {
        graph.addRoot(*record);
        static_cast<Head *>(record->ptr)->fields()[1] = record->ptr;
    }
}

void callTwice(Graph &graph, Random &random) {
    if (Record *record = makePlain(graph, random)) {
        freed(record->ptr); // and by the collector again
    }
}

/* The reference does not know of its root. */
void neverCall(Graph &graph, Random &random) {
    if (Record *record = makePlain(graph, random)) {
        mprAddRoot(record->ptr);
    }
}

/* ---- Of the account of misuse ---- */

void callUnattached() {
    std::thread([] { mprAlloc(10); }).join();
}

void misuseSecretly(Graph &, Random &) {
    callUnattached();
}

void enterTooMuch(Graph &, Random &) {
    enterMisuse("mprAlloc");
}

/* The log says nothing of it. */
void misuseUnnamed(Graph &, Random &) {
    const MprLogHandler before = mprSetLogHandler([](cchar *, int, cchar *) {});
    enterMisuse("mprAlloc");
    callUnattached();
    mprSetLogHandler(before);
}

/* The log names another function than that which was misused. */
void nameAnother(Graph &, Random &) {
    enterMisuse("mprHold");
    callUnattached();
}

/* This thread may call. */
void obey(Graph &graph, Random &random) {
    Record *leaf = graph.make({Kind::leaf, 40, 0, false}, random), *node = makePlain(graph, random);
    if (leaf && node) {
        const Targets targets{leaf->ptr, leaf->size, node->ptr, static_cast<Head *>(node->ptr)->fields(), palloc(40)};
        trespass(Standing::foreign, targets, 3, 50);
    }
}

/* It is permanent memory. */
void takePointer(Graph &graph, Random &random) {
    Record *node = makePlain(graph, random);
    for (uint64_t seed = 0; node && seed < 20; seed++) { // one of them resizes it before it is given back
        pointWrongly({palloc(40), 40, node->ptr, nullptr, nullptr}, seed, 10);
    }
}

void overwritePermanent(Graph &, Random &) {
    Lasting lasting;
    lasting.open();
    lasting.memory[7] ^= 1;
    lasting.look();
}

void failInChild(Graph &, Random &) {
    forkAndWait([] { _exit(3); });
}

/* ---- Of waits and signals ---- */

void takeSignalElsewhere(Graph &, Random &) {
    openSignals();
    std::thread([] { raise(SIGUSR1); }).join();
}

void lockTwice(Graph &, Random &) {
    Meeting meeting;
    meeting.enter();
    meeting.enter();
}

void wakeForNothing(Graph &, Random &) {
    Meeting meeting;
    meeting.wake();
}

void wakeEarly(Graph &, Random &) {
    expectWaited(std::chrono::steady_clock::now(), 1000000, "mprSleep");
}

/* The bounds of a hole, which the heap walk knows. */
void damageHole(Graph &, Random &) {
    if (void *ptr = mprAlloc(30000)) {
        mprFree(ptr);
#ifdef TEST_ADDRESS_SANITIZER
        __asan_unpoison_memory_region(ptr, 30000); // else the sanitizer notices, at once
#endif
        memset(ptr, 0x5A, 30000);
        expectVerified();
    }
}

} // namespace

const Sabotage sabotages[] = {
    {"hold", loseHold, "MPR_MANAGE_FREE for a plain that is held"},
    {"root", loseRoot, "MPR_MANAGE_FREE for a plain that is a root"},
    {"unpublished", storeUnpublished, "that is alive is no block any more"},
    {"strong handle", weaken, "MPR_MANAGE_FREE for a plain that a strong handle refers to"},
    {"weak handle cleared", clearEarly, "has lost it, and it is alive"},
    {"weak handle not cleared", clearNever, "was never cleared, and it is dead"},
    {"handle set", setElsewhere, "refers to something else"},
    {"value lost", loseValue, "has lost its value"},
    {"short handle in manager", clearLate, "still refers to it while its manager runs"},
    {"long handle in manager", clearBeforeManager, "does not give it to its manager in MPR_MANAGE_FREE"},
    {"labelled", changeLabelled, "what a handle refers to has been overwritten"},
    {"contents", change, "the contents of a plain that is alive are overwritten"},
    {"reference", changeReference, "reference 1 of 2 of a plain that is alive is not what was stored"},
    {"twice", callTwice, "MPR_MANAGE_FREE twice for one plain"},
    {"never", neverCall, "MPR_MANAGE_FREE was never called for a plain that is dead"},
    {"secret misuse", misuseSecretly, "the runtime counts 1 misuses, there were 0"},
    {"no misuse", enterTooMuch, "the runtime counts 0 misuses, there were 1"},
    {"unnamed misuse", misuseUnnamed, "mprAlloc was misused, and is not named"},
    {"another's misuse", nameAnother, "mprAlloc is named for a misuse that there was not"},
    {"obeyed", obey, "is obeyed by a thread that is not attached"},
    {"pointer", takePointer, "does not refuse a leaf that is neither held, permanent nor a root"},
    {"permanent", overwritePermanent, "permanent memory of 40 bytes that wrong calls aim at is not what it was"},
    {"child", failInChild, "a child of fork ends with status 0x300"},
    {"signal", takeSignalElsewhere, "a thread of the runtime has taken a signal"},
    {"lock", lockTwice, "two threads have locked one lock"},
    {"condition", wakeForNothing, "a condition has woken 1 threads for 0 signals"},
    {"sleep", wakeEarly, "mprSleep ends before its time"},
    {"hole", damageHole, "mprVerifyHeap, while threads run, answers"},
};
const size_t sabotageCount = std::size(sabotages);

} // namespace oracle
