// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/signals.hpp - Signals that come to the program's threads at any moment, and interrupt what they wait in.

    The handler does what a handler may: it counts, and sometimes takes its time. System calls are not restarted after it. A
    thread of the runtime that takes a signal, one of the process's as well, is a fault.
 */
#pragma once

#include "test/support/pattern.hpp"

#include <atomic>
#include <cstdint>

#include <pthread.h>
#include <signal.h>

namespace oracle {

/* While it exists the calling thread is one of the program's: it takes signals. */
class ProgramThread {
public:
    ProgramThread();
    ~ProgramThread();
    ProgramThread(const ProgramThread &) = delete;
    ProgramThread &operator=(const ProgramThread &) = delete;
};

/* Whether the calling thread is one. */
bool isProgramThread();

/* While it exists the calling thread, and threads that it makes, take no signals: not before they are a ProgramThread. */
class Quiet {
public:
    Quiet();
    ~Quiet();
    Quiet(const Quiet &) = delete;
    Quiet &operator=(const Quiet &) = delete;

private:
    sigset_t before;
};

/* Set the handler. */
void openSignals();

/* A signal to one of the program's threads, or to the process. */
void sendSignal(test::Random &random);

/* Whether a thread that is none of the program's has taken one. */
bool strayed();

/* Signals taken. */
uint64_t signalsTaken();

} // namespace oracle
