// SPDX-License-Identifier: MIT
/*
    test/task/waiting.cpp - A call that waits yields meanwhile, unless its caller has already; and when it gives up.
 */
#include "mpr/task/waiting.hpp"

#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"

#include <limits>
#include <thread>

using namespace test;
using mpr::task::Waiting;
namespace os = mpr::os;

TEST_CASE("a thread is yielded while it waits, and runs again afterwards", "[task][waiting]") {
    Runtime runtime("everyyield=0");
    const uint32_t ended = Waiting::ended();
    {
        Waiting waiting(nullptr);
        CHECK(Waiting::threads() == 1);
        CHECK(mpr::gc::current == nullptr);
        CHECK(Waiting::ended() == ended);
    }
    CHECK(Waiting::threads() == 0);
    CHECK(mpr::gc::current != nullptr);
    CHECK(Waiting::ended() != ended);
}

TEST_CASE("a thread that has yielded stickily stays so after a wait", "[task][waiting]") {
    Runtime runtime;
    mprYield(MPR_YIELD_STICKY);
    {
        Waiting waiting(nullptr);
        CHECK(Waiting::threads() == 0);
    }
    CHECK(mpr::gc::current == nullptr);
    mprResetYield();
    CHECK(mpr::gc::current != nullptr);
}

TEST_CASE("a foreign thread waits as it is", "[task][waiting]") {
    Runtime runtime;
    const uint32_t ended = Waiting::ended();
    std::thread([] { Waiting waiting(nullptr); }).join();
    CHECK(Waiting::ended() == ended);
    CHECK(Log::size() == 0);
}

TEST_CASE("a deadline is so many milliseconds away, or never comes", "[task][waiting]") {
    const uint64_t before = os::now();
    const uint64_t deadline = mpr::task::deadlineIn(1500);
    CHECK(deadline >= before + 1'500'000'000);
    CHECK(deadline <= os::now() + 1'500'000'000);
    const uint64_t now = mpr::task::deadlineIn(0);
    CHECK(now <= os::now());
    CHECK(mpr::task::deadlineIn(-1) == os::forever);
    CHECK(mpr::task::deadlineIn(std::numeric_limits<MprTicks>::max()) == os::forever);
}

TEST_CASE("what is left until a deadline is never less than nothing", "[task][waiting]") {
    CHECK(mpr::task::leftUntil(os::forever) == os::forever);
    CHECK(mpr::task::leftUntil(os::now() - 1) == 0);
    CHECK(mpr::task::leftUntil(0) == 0);
    const uint64_t hour = 3'600'000'000'000;
    const uint64_t left = mpr::task::leftUntil(os::now() + hour);
    CHECK(left <= hour);
    CHECK(left > hour / 2);
}
