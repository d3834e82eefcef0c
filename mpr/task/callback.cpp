// SPDX-License-Identifier: MIT
/*
    callback.cpp - A thread is put right after procedures of the program.
 */
#include "mpr/task/callback.hpp"

#include <string_view>

#include "mpr/os/log.hpp"
#include "mpr/task/events.hpp"
#include "mpr/worker.h"

namespace mpr::task {

namespace {

/** Name a procedure as misuse. @param what What it has left, and what is done about that: a literal. */
void name(const Callback& callback, const char* what) {
    os::Message message;
    message << callback.kind;
    if (callback.name && *callback.name) {
        message << " \"" << callback.name << "\"";
    }
    gc::runtime().misuses.fetch_add(1, std::memory_order_relaxed);
    gc::writeMisuse(what, message << ": its procedure has returned " << what);
}

} // namespace

/** @param stopped The thread ran before, and does not. */
[[gnu::cold]] static void putRight(const Callback& callback, bool stopped, int locks) {
    if (stopped) {
        const bool exempt = gc::attached->state.load(std::memory_order_relaxed) == gc::Mutator::State::exempt;
        gc::runtime().collector.resume(*gc::attached);
        name(callback, exempt ? "exempt (mprSetThreadYield); the thread takes part in collections again"
                              : "yielded (MPR_YIELD_STICKY without mprResetYield); the thread runs again");
    }
    if (locks > 0) {
        name(callback, "with a lock (mprLock or mprSpinLock without unlocking); it stays locked by this thread");
    }
}

void endCall(const Callback& callback, bool ran, int locks) {
    const bool stopped = ran && !gc::current;
    if (stopped || locks > 0) [[unlikely]] {
        putRight(callback, stopped, locks);
    }
    if (gc::runtime().collector.collectsAtYields() && callback.mayYield && gc::current &&
        !gc::isFinalizing(*gc::current)) [[unlikely]] {
        mprYield(MPR_YIELD_DEFAULT);
    }
}

void endTurn(const Callback& callback) {
    if (os::takeNoSignals()) {
        name(callback, "with signals unblocked in a thread of the runtime; they are blocked again");
    }
    if (!mprGetCurrentWorker()) {
        return;
    }
    if (events().giveUpClaims()) {
        name(callback, "with a claimed dispatcher (mprStartDispatcher) on a worker; nobody has claimed it any more");
    }
    if (Workers::restoreBatches()) {
        name(callback, "with other batches (mprSetBatches) than its worker has; the worker has its own again");
    }
}

} // namespace mpr::task
