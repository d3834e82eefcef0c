// SPDX-License-Identifier: MIT
/*
    signals.cpp - Masks of threads, and SIGPIPE: sigprocmask of one thread.
 */
#include "mpr/os/linux/signals.hpp"

#include "mpr/os/broken_pipe.hpp"
#include "mpr/os/os.hpp"

#include <time.h>

#include <cerrno>

namespace mpr::os {

namespace {

constexpr int signalsInBits = 64;

SignalBits bitsOf(const sigset_t& set) {
    SignalBits bits = 0;
    for (int signal = 1; signal <= signalsInBits; ++signal) {
        bits |= SignalBits{sigismember(&set, signal) == 1} << (signal - 1);
    }
    return bits;
}

sigset_t setOf(SignalBits bits) {
    sigset_t set;
    sigemptyset(&set);
    for (int signal = 1; signal <= signalsInBits; ++signal) {
        if ((bits >> (signal - 1) & 1) != 0) {
            sigaddset(&set, signal);
        }
    }
    return set;
}

/** All signals, except those that a thread raises by its own actions and the profiler's, which observes all threads. */
sigset_t programSignals() {
    sigset_t set;
    sigfillset(&set);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) {
        sigdelset(&set, signal);
    }
    return set;
}

/** In a thread of the runtime's own: the mask that it would have if it were the program's. */
constinit MPR_PER_THREAD SignalBits programMask = 0;
constinit MPR_PER_THREAD bool isRuntimes = false;

} // namespace

MaskOfNew::MaskOfNew(bool forRuntime) {
    sigset_t mask = forRuntime ? programSignals() : setOf(programMask);
    if (forRuntime) {
        pthread_sigmask(SIG_BLOCK, &mask, &before_);
    } else if (isRuntimes) {
        pthread_sigmask(SIG_SETMASK, &mask, &before_);
    } else {
        pthread_sigmask(SIG_BLOCK, nullptr, &before_);
    }
}

SignalBits MaskOfNew::ofProgram() const {
    return isRuntimes ? programMask : bitsOf(before_);
}

void noteMask(bool isOfRuntime, SignalBits ofProgram) {
    isRuntimes = isOfRuntime;
    programMask = ofProgram;
}

MaskOfProgram::MaskOfProgram() {
    if (isRuntimes) {
        const sigset_t mask = setOf(programMask);
        pthread_sigmask(SIG_SETMASK, &mask, &before_);
    }
}

MaskOfProgram::~MaskOfProgram() {
    if (isRuntimes) {
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
}

bool takeNoSignals() {
    if (!isRuntimes) {
        return false;
    }
    const sigset_t none = programSignals();
    sigset_t before, after;
    sigemptyset(&before); // the system fills in what it knows
    sigemptyset(&after);
    pthread_sigmask(SIG_BLOCK, &none, &before);
    pthread_sigmask(SIG_BLOCK, nullptr, &after); // some cannot be blocked, and under emulators it is others
    return (bitsOf(after) & ~bitsOf(before)) != 0;
}

BrokenPipe::BrokenPipe() {
    sigemptyset(&broken_);
    sigaddset(&broken_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_, &before_);
}

BrokenPipe::~BrokenPipe() {
    if (isCut_ && !sigismember(&before_, SIGPIPE)) {
        const timespec now{};
        sigtimedwait(&broken_, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error_ ? error_ : errno;
}

} // namespace mpr::os
