// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/ops_wait.cpp - Operations that wait for others, in ways that signals interrupt.
 */
#include "test/stress/oracle/program.hpp"

#include "test/stress/oracle/fault.hpp"

namespace oracle {

namespace {

using Clock = std::chrono::steady_clock;

} // namespace

/* One lock for all threads of the program. */
void opMutex(Worker &worker) {
    Meeting &meeting = worker.program.meeting;
    const bool twice = worker.random.chance(30);
    mprLock(&meeting.mutex);
    if (twice) {
        mprLock(&meeting.mutex);
    }
    meeting.enter();
    if (worker.random.chance(50)) {
        mprYield(MPR_YIELD_DEFAULT);
    } else if (worker.random.chance(30)) {
        nap(static_cast<unsigned>(worker.random.below(200)));
    }
    meeting.leave();
    if (twice) {
        mprUnlock(&meeting.mutex);
    }
    mprUnlock(&meeting.mutex);
}

/* One condition for all. */
void opCond(Worker &worker) {
    Meeting &meeting = worker.program.meeting;
    if (!meeting.cond) {
        return;
    }
    if (worker.random.chance(50)) {
        meeting.signal();
        return;
    }
    const long timeout = static_cast<long>(worker.random.below(4));
    const auto begin = Clock::now();
    const int result = mprWaitForCond(meeting.cond, timeout);
    if (result == 0) {
        meeting.wake();
    } else if (result != MPR_ERR_TIMEOUT) {
        fault("mprWaitForCond returns %d", result);
    } else {
        expectWaited(begin, timeout, "mprWaitForCond");
    }
}

void opSleep(Worker &worker) {
    const long time = static_cast<long>(worker.random.below(4));
    const auto begin = Clock::now();
    mprSleep(time);
    expectWaited(begin, time, "mprSleep");
}

/* Beside threads that run, and others that do the same. */
void opVerify(Worker &) {
    expectVerified();
}

void expectVerified() {
    const int defects = mprVerifyHeap();
    if (defects != 0 && defects != MPR_ERR_TIMEOUT) { // somebody may be late
        fault("mprVerifyHeap, while threads run, answers %d", defects);
    }
}

/* Permanent memory that one thread takes and another gives back. */
void opExchange(Worker &worker) {
    const bool yields = worker.random.chance(30);
    if (yields) {
        mprYield(MPR_YIELD_STICKY);
    }
    worker.program.exchange(worker.random);
    if (yields) {
        mprResetYield();
    }
}

/* A tick is a millisecond. */
void expectWaited(Clock::time_point begin, long milliseconds, const char *function) {
    if (Clock::now() - begin < std::chrono::milliseconds(milliseconds) - std::chrono::microseconds(1100)) {
        fault("%s ends before its time", function);
    }
}

/* ---- Meeting ---- */

void Meeting::open() {
    mprInitLock(&mutex);
    cond = mprCreateCond();
    if (cond) {
        mprAddRoot(cond);
    }
    signals = wakes = 0;
}

void Meeting::enter() {
    if (inside.exchange(true)) {
        fault("two threads have locked one lock");
    }
    entered++;
}

void Meeting::leave() {
    inside = false;
}

void Meeting::signal() {
    signals++;
    mprSignalCond(cond);
}

void Meeting::wake() {
    wakes++;
    if (wakes > signals) {
        fault("a condition has woken %llu threads for %llu signals", static_cast<unsigned long long>(wakes),
              static_cast<unsigned long long>(signals));
    }
}

} // namespace oracle
