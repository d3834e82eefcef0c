// SPDX-License-Identifier: MIT
/*
    test/os/check.cpp - Assertions fire. Core is compiled with MPR_CHECKED for this program, whatever the build.
 */
#include "mpr/os/check.hpp"
#include "mpr/os/lock.hpp"
#include "test/catch.hpp"
#include "test/support/dies.hpp"

#include <thread>

using namespace mpr;
using test::failsWith;

static_assert(os::checked, "this program tests assertions");

namespace {
os::Lock lock;
int two = 2;
} // namespace

TEST_CASE("an assertion that holds says nothing", "[os][check]") {
    MPR_ASSERT(two == 2);
    os::Locked locked(lock);
    os::assertHeld(lock);
}

TEST_CASE("an assertion that fails names expression, file, line and thread, and aborts", "[os][check]") {
    CHECK(failsWith("mpr error: assertion failed: two == 3 (", [] { MPR_ASSERT(two == 3); }));
    CHECK(failsWith("test/os/check.cpp:", [] { MPR_ASSERT(two == 3); }));
    CHECK(failsWith(", thread ", [] { MPR_ASSERT(two == 3); }));
}

TEST_CASE("an assertion may have commas", "[os][check]") {
    CHECK(failsWith("std::pair<int, int>(1, two).second == 1",
                    [] { MPR_ASSERT(std::pair<int, int>(1, two).second == 1); }));
}

TEST_CASE("assertHeld fires when nobody holds the lock", "[os][check]") {
    CHECK(failsWith("test/os/check.cpp:", [] { os::assertHeld(lock); }));
}

TEST_CASE("assertHeld fires when another thread holds the lock", "[os][check]") {
    CHECK(failsWith("the lock is held by this thread", [] {
        std::thread([] { lock.lock(); }).join();
        os::assertHeld(lock);
    }));
}

TEST_CASE("to lock what this thread holds is an assertion, not a wait for ever", "[os][check]") {
    CHECK(failsWith("!isHeld() (", [] {
        lock.lock();
        lock.lock();
    }));
    CHECK(failsWith("!isHeld()", [] {
        lock.lock();
        static_cast<void>(lock.tryLock());
    }));
}

TEST_CASE("to unlock what this thread does not hold is an assertion", "[os][check]") {
    CHECK(failsWith(": isHeld() (", [] { lock.unlock(); }));
    CHECK(failsWith("isHeld()", [] {
        std::thread([] { lock.lock(); }).join();
        lock.unlock();
    }));
}

TEST_CASE("where there is one thread locks are checked, too", "[os][check]") {
    static os::NoLock only;
    only.lock();
    CHECK(only.isHeld());
    only.unlock();
    CHECK_FALSE(only.isHeld());
    CHECK(failsWith("!isHeld()", [] {
        only.lock();
        only.lock();
    }));
    CHECK(failsWith("isHeld()", [] { only.unlock(); }));
}
