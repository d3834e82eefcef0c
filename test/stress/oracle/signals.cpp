// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/signals.cpp - Who takes signals, and what becomes of them.
 */
#include "test/stress/oracle/signals.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <unistd.h>
#include <vector>

namespace oracle {

namespace {

constexpr int signals[] = {SIGUSR1, SIGUSR2};

thread_local bool isOurs;
std::atomic<bool> stray;
std::atomic<uint64_t> taken;

/* Never destroyed: threads may still run while the process ends. */
struct Threads {
    std::mutex mutex;
    std::vector<pthread_t> all;
};
Threads &threads() {
    static Threads &one = *new Threads;
    return one;
}

sigset_t all() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : signals) {
        sigaddset(&set, signal);
    }
    return set;
}

void handle(int) {
    const int before = errno;
    if (!isOurs) {
        stray = true;
    }
    if (++taken % 16 == 0) {
        const timespec moment{0, 200000};
        nanosleep(&moment, nullptr);
    }
    errno = before;
}

} // namespace

ProgramThread::ProgramThread() {
    isOurs = true;
    {
        std::lock_guard guard(threads().mutex);
        threads().all.push_back(pthread_self());
    }
    const sigset_t set = all();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

ProgramThread::~ProgramThread() {
    const sigset_t set = all();
    pthread_sigmask(SIG_BLOCK, &set, nullptr); // the thread may live on a while
    isOurs = false;
    std::lock_guard guard(threads().mutex);
    auto &list = threads().all;
    list.erase(
        std::find_if(list.begin(), list.end(), [](pthread_t one) { return pthread_equal(one, pthread_self()); }));
}

bool isProgramThread() {
    return isOurs;
}

Quiet::Quiet() {
    const sigset_t set = all();
    pthread_sigmask(SIG_BLOCK, &set, &before);
}

Quiet::~Quiet() {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void openSignals() {
    struct sigaction action {};
    action.sa_handler = handle; // without SA_RESTART
    for (const int signal : signals) {
        sigaction(signal, &action, nullptr);
    }
}

void sendSignal(test::Random &random) {
    const int signal = signals[random.below(std::size(signals))];
    if (random.chance(20)) {
        kill(getpid(), signal);
        return;
    }
    std::lock_guard guard(threads().mutex);
    const auto &list = threads().all;
    if (!list.empty()) {
        pthread_kill(list[random.below(list.size())], signal);
    }
}

bool strayed() {
    return stray;
}

uint64_t signalsTaken() {
    return taken;
}

} // namespace oracle
