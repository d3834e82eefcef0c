// SPDX-License-Identifier: MIT
/*
    futex.cpp - Waiting on a word, and locks whose waits inherit priority: futex.
 */
#include "mpr/os/delay.hpp"
#include "mpr/os/os.hpp"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace mpr::os {

namespace {

// The kernel's word. An atomic<uint32_t> is one, also where it is not always lock-free by the compiler's account: on
// ARMv5 the kernel itself helps to change it in one piece.
static_assert(sizeof(Word) == 4);

/** The argument of calls with 32-bit times, and of all calls on a 64-bit system. */
struct LongSpan {
    long seconds, nanoseconds;
};
/** The argument of calls with 64-bit times on a 32-bit system. */
struct WideSpan {
    std::int64_t seconds, nanoseconds;
};

constexpr std::uint64_t perSecond = 1'000'000'000;

/** Whether the C library's times have 64 bits and the system's words 32: the old call may not be there for long. */
constexpr bool prefersWide = sizeof(time_t) > sizeof(long);

#ifdef SYS_futex
constexpr long plainCall = SYS_futex;
#else
constexpr long plainCall = -1; // a system younger than the call for 64-bit times has that one only
#endif
#ifdef SYS_futex_time64
constexpr long wideCall = SYS_futex_time64;
#else
constexpr long wideCall = -1;
#endif

long futexCall(long call, Word& word, int operation, std::uint32_t value, const void* span) {
    perhapsDelay();
    return syscall(call, &word, operation | FUTEX_PRIVATE_FLAG, value, span, nullptr, 0);
}

/** The layout of a time belongs to the number of the call, whatever timespec is in the C library that is compiled for. */
long futex(Word& word, int operation, std::uint32_t value, std::uint64_t timeout = forever) {
    if constexpr (wideCall >= 0 && (prefersWide || plainCall < 0)) {
        const WideSpan span{static_cast<std::int64_t>(timeout / perSecond),
                            static_cast<std::int64_t>(timeout % perSecond)};
        const long result = futexCall(wideCall, word, operation, value, timeout == forever ? nullptr : &span);
        if (result >= 0 || errno != ENOSYS || plainCall < 0) {
            return result;
        } // else a kernel before 5.1, or an emulator
    }
    const std::uint64_t seconds = timeout / perSecond;
    const LongSpan span{static_cast<long>(seconds < LONG_MAX ? seconds : LONG_MAX),
                        static_cast<long>(timeout % perSecond)};
    return futexCall(plainCall, word, operation, value, timeout == forever ? nullptr : &span);
}
} // namespace

#ifdef __SANITIZE_THREAD__
/**
    The thread sanitizer puts off a signal's handler until the thread makes a call that the sanitizer knows, as it does not
    know this one. The main thread, which alone takes SIGCHLD, could wait for ever for the end of a child.
 */
bool wait(Word& word, std::uint32_t expected, std::uint64_t timeout) {
    constexpr std::uint64_t slice = perSecond / 10;
    for (; timeout > slice; timeout -= timeout == forever ? 0 : slice) {
        if (futex(word, FUTEX_WAIT, expected, slice) == 0 || errno != ETIMEDOUT) {
            return true;
        }
        const timespec none{};
        nanosleep(&none, nullptr);
    }
    return futex(word, FUTEX_WAIT, expected, timeout) == 0 || errno != ETIMEDOUT;
}
#else
bool wait(Word& word, std::uint32_t expected, std::uint64_t timeout) {
    return futex(word, FUTEX_WAIT, expected, timeout) == 0 || errno != ETIMEDOUT;
}
#endif

void wakeOne(Word& word) {
    futex(word, FUTEX_WAKE, 1);
}

void wakeAll(Word& word) {
    futex(word, FUTEX_WAKE, INT_MAX);
}

// ---- Locks whose waits inherit priority ---------------------------------------------------------------------------

constinit MPR_PER_THREAD std::uint32_t knownNumber = 0;

namespace {
pthread_once_t forkOnce = PTHREAD_ONCE_INIT;
/**
    Whether a child that is forked finds its number anew. Else numbers are not the kernel's there. Relaxed: pthread_once orders
    it for every thread that has a number.
 */
constinit std::atomic<bool> numbersHold{false};

void watchForks() {
    numbersHold.store(pthread_atfork(nullptr, nullptr, [] { knownNumber = 0; }) == 0, std::memory_order_relaxed);
}

/** Emulators and kernels without an atomic exchange of their own do without these calls. */
bool isOffered() {
    enum : int { unknown, offered, missing };
    static constinit std::atomic<int> known{unknown}; // relaxed: every thread that tries finds the same
    if (known.load(std::memory_order_relaxed) == unknown) {
        Word trial{0};
        const bool works = futex(trial, FUTEX_LOCK_PI, 0) == 0 && trial.load() == threadNumber() &&
                           futex(trial, FUTEX_UNLOCK_PI, 0) == 0 && trial.load() == 0;
        known.store(works && numbersHold.load(std::memory_order_relaxed) ? offered : missing,
                    std::memory_order_relaxed);
    }
    return known.load(std::memory_order_relaxed) == offered;
}
} // namespace

std::uint32_t findThreadNumber() {
    pthread_once(&forkOnce, watchForks);
    knownNumber = static_cast<std::uint32_t>(syscall(SYS_gettid));
    return knownNumber;
}

bool waitsInherit() {
    constexpr long deadlinePolicy = 6; // SCHED_DEADLINE, which headers may not have
    const long policy = syscall(SYS_sched_getscheduler, 0) & ~long{SCHED_RESET_ON_FORK};
    return (policy == SCHED_FIFO || policy == SCHED_RR || policy == deadlinePolicy) && isOffered();
}

bool lockInheriting(Word& word) {
    long result = 0;
    do {
        result = futex(word, FUTEX_LOCK_PI, 0);
    } while (result != 0 && (errno == EAGAIN || errno == EINTR));
    return result == 0;
}

void unlockInheriting(Word& word) {
    while (futex(word, FUTEX_UNLOCK_PI, 0) != 0 && (errno == EAGAIN || errno == EINTR)) {}
}

} // namespace mpr::os
