// SPDX-License-Identifier: MIT
/*
    test/task/unserviced.cpp - Events that nobody runs are named by a thread that waits for long; others are not.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/service.hpp"

#include "mpr/task/events.hpp"

using namespace test;

namespace {

/* Little patience. */
class Impatient {
public:
    Impatient() { mpr::task::Events::patience = 1'000'000; }
    ~Impatient() { mpr::task::Events::patience = before_; }
    Impatient(const Impatient &) = delete;
    Impatient &operator=(const Impatient &) = delete;

private:
    std::uint64_t before_ = mpr::task::Events::patience;
};

void nothing(void *, MprEvent *) {}

MprEvent *makeEvent(MprDispatcher *dispatcher, cchar *name, MprTicks period = 0) {
    return mprCreateEvent(dispatcher, name, period, nothing, nullptr, 0);
}

/* A thread that waits until it is told, or until the case ends. */
class Waiter {
public:
    explicit Waiter(MprDispatcher *claims = nullptr)
        : cond_(mprCreateCond()), root_(cond_), thread_("waiter", [this, claims](Mutator &) {
              if (claims) {
                  mprStartDispatcher(claims);
                  makeEvent(claims, "mine");
              }
              mprWaitForCond(cond_, -1);
          }) {}
    ~Waiter() { mprSignalMultiCond(cond_); }
    Waiter(const Waiter &) = delete;
    Waiter &operator=(const Waiter &) = delete;

private:
    MprCond *cond_;
    Root root_;
    Mutator thread_;
};
} // namespace

TEST_CASE("an event that nobody services is named by a thread that waits", "[task][unserviced]") {
    const Impatient impatient;
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    REQUIRE(makeEvent(nullptr, "tick"));
    {
        Waiter waiter;
        REQUIRE(until([] { return Log::has("no thread services events"); }));
    }
    CHECK(Log::has("dispatcher \"main\" has run no event"));
    CHECK(Log::has("though \"tick\" is due"));
    Log::clear();
}

TEST_CASE("timers that nobody looks at are named by a thread that waits", "[task][unserviced]") {
    const Impatient impatient;
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    REQUIRE(makeEvent(nullptr, "later", 1));
    sleepYielded(30);
    {
        Waiter waiter;
        REQUIRE(until([] { return Log::has("no timer has been looked at"); }));
    }
    Log::clear();
}

TEST_CASE("events of a dispatcher whose thread waits for something else are named", "[task][unserviced]") {
    const Impatient impatient;
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    MprDispatcher *dispatcher = mprCreateDispatcher("claimed", 0);
    Root root(dispatcher);
    {
        Waiter waiter(dispatcher);
        REQUIRE(until([] { return Log::has("has claimed its dispatcher waits for something else"); }));
    }
    CHECK(Log::has("dispatcher \"claimed\" has run no event"));
    CHECK(Log::has("though \"mine\" is due"));
    Log::clear();
}

TEST_CASE("an event that waits, where others wait for its thread, is named", "[task][unserviced]") {
    const Impatient impatient;
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    static MprCond *cond;
    cond = mprCreateCond();
    Root root(cond);
    const auto waits = [](void *, MprEvent *) { mprWaitForCond(cond, 100); };
    REQUIRE(mprCreateEvent(nullptr, "waits", 0, +waits, nullptr, 0));
    REQUIRE(makeEvent(nullptr, "behind"));
    mprServiceEvents(0, 0);
    CHECK(Log::has("though \"behind\" is due: the thread that services events waits for something else"));
    Log::clear();
}

TEST_CASE("nothing is said while a thread services, however long an event takes", "[task][unserviced]") {
    const Impatient impatient;
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    const auto takesLong = [](void *, MprEvent *) {
        REQUIRE(makeEvent(nullptr, "behind"));
        REQUIRE(makeEvent(nullptr, "timed", 1));
        Waiter waiter; // and looks while this runs
        sleepYielded(30);
    };
    REQUIRE(mprCreateEvent(nullptr, "long", 0, +takesLong, nullptr, 0));
    mprServiceEvents(0, 0);
    CHECK(Log::size() == 0);
}
