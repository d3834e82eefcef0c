// SPDX-License-Identifier: MIT
/*
    test/os/lock.cpp - The lock: one holder at a time, whoever waits and however; and whose priority is inherited.
 */
#include "mpr/os/lock.hpp"
#include "test/catch.hpp"
#include "test/support/realtime.hpp"
#include "test/support/sanitizer.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

using namespace mpr;
using namespace test;

namespace {

/* Wait for what another thread brings about. @return false after a minute. */
template <class Condition>
bool comesTrue(Condition condition) {
    for (int ms = 0; ms < 60'000 && !condition(); ms++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return condition();
}

/* Threads, some of real time if they may be, count under one lock. @return Whether none got lost. */
bool countTogether(int threads, int realtime, int rounds, bool fairly) {
    os::Lock lock;
    long count = 0;
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++) {
        all.emplace_back([&, i] {
            if (i < realtime) {
                becomeRealtime(1 + i);
            }
            for (int round = 0; round < rounds; round++) {
                lock.lock();
                const long before = count;
                if (round % 64 == i) {
                    sched_yield(); // others come to sleep for it
                }
                count = before + 1;
                fairly ? lock.unlockFairly() : lock.unlock();
                if (i < realtime && round % 16 == 0) {
                    usleep(50); // those of normal priority are to run, too
                }
            }
        });
    }
    for (auto &thread : all) {
        thread.join();
    }
    return count == static_cast<long>(threads) * rounds && lock.tryLock();
}

} // namespace

TEST_CASE("a lock is held by one thread at a time", "[os][lock]") {
    const int rounds = static_cast<int>(test::heavy(20000));
    CHECK(countTogether(2, 0, rounds, false));
    CHECK(countTogether(8, 0, rounds, false));
    CHECK(countTogether(8, 0, rounds, true));
}

TEST_CASE("threads of real time and others meet at a lock", "[os][lock]") {
    const int rounds = static_cast<int>(test::heavy(4000));
    CHECK(countTogether(2, 1, rounds, false));
    CHECK(countTogether(8, 4, rounds, false));
    CHECK(countTogether(8, 4, rounds, true));
}

TEST_CASE("tryLock takes what is free and never waits", "[os][lock]") {
    os::Lock lock;
    REQUIRE(lock.tryLock());
    CHECK(lock.isHeld());
    bool got = true;
    std::thread([&] { got = lock.tryLock(); }).join();
    CHECK_FALSE(got);
    lock.unlock();
    CHECK_FALSE(lock.isHeld());
}

TEST_CASE("the owner of a lock runs at the priority of a real-time thread that waits for it", "[os][lock]") {
    std::atomic<bool> allowed{true}, waits{false}, got{false};
    os::Lock lock;
    lock.lock();
    const std::uint32_t self = os::threadNumber();
    const long before = priorityOf(self);
    std::thread waiter([&] {
        allowed = becomeRealtime(50) && os::waitsInherit();
        waits = true;
        if (allowed) {
            lock.lock();
            got = true;
            lock.unlock();
        }
    });
    CHECK(comesTrue([&] { return waits.load(); }));
    if (allowed && !test::emulator()) {
        CHECK(before >= 0);
        CHECK(comesTrue([&] { return priorityOf(self) == -51; }));
        CHECK_FALSE(got);
    } else {
        WARN("priorities not looked at: no right to real time, or a kernel or emulator without inheritance");
    }
    lock.unlock();
    waiter.join();
    CHECK(got == allowed);
    CHECK(priorityOf(self) == before);
    CHECK(lock.tryLock());
}

TEST_CASE("a thread has one number, another another, and a forked child its own", "[os][lock]") {
    const std::uint32_t self = os::threadNumber();
    CHECK(self == static_cast<std::uint32_t>(syscall(SYS_gettid)));
    CHECK(os::threadNumber() == self);
    std::uint32_t other = 0;
    std::thread([&] { other = os::threadNumber(); }).join();
    CHECK((other != 0 && other != self));
    const pid_t child = fork();
    if (child == 0) {
        _exit(os::threadNumber() == static_cast<std::uint32_t>(syscall(SYS_gettid)) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
}
