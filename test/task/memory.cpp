// SPDX-License-Identifier: MIT
/*
    test/task/memory.cpp - Where libuv takes its memory: the runtime's loop from the heap, the application's from malloc.
*/
#include "test/support/hoard.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>
#include <vector>

#include "mpr/task/events.hpp"

using namespace test;
using mpr::task::events;
using mpr::task::Loop;

TEST_CASE("the memory of the runtime's loop is in the heap, and is freed with it", "[task][uv]") {
    Runtime runtime;
    REQUIRE(mprGetDispatcher());
    {
        const Loop::Using loop(events().loop());
        CHECK(mprIsValid((*loop)->internal_fields));
        CHECK(mprIsValid((*loop)->watchers));
    }
}

TEST_CASE("what libuv allocates later counts against the limits, too", "[task][uv]") {
    Runtime runtime;
    REQUIRE(mprGetDispatcher());
    // libuv has a table of as many entries as the greatest descriptor says.
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const int end = fcntl(ends[0], F_DUPFD, 901);
    REQUIRE(end >= 901);
    uv_poll_t poll;
    {
        const Loop::Using loop(events().loop());
        const size_t small = psize((*loop)->watchers);
        REQUIRE(small < 901 * sizeof(void *));
        REQUIRE(uv_poll_init(*loop, &poll, end) == 0);
        REQUIRE(uv_poll_start(&poll, UV_READABLE, [](uv_poll_t *, int, int) {}) == 0);
        CHECK(mprIsValid((*loop)->watchers));
        CHECK(psize((*loop)->watchers) > 901 * sizeof(void *));
        uv_close(reinterpret_cast<uv_handle_t *>(&poll), nullptr);
        uv_run(*loop, UV_RUN_NOWAIT);
    }
    for (int descriptor : {end, ends[0], ends[1]}) {
        close(descriptor);
    }
}

namespace {

/* What a notifier gives up when memory runs short: a handler, for which it needs the loop. */
MprWaitHandler *spare;
std::atomic<int> told;

void giveUp(int, int, size_t, size_t) {
    told++;
    mprDestroyWaitHandler(spare);
}
} // namespace

TEST_CASE("the notifier may use the loop: it is not called while libuv allocates", "[task][uv]") {
    Runtime runtime;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const int high = fcntl(ends[0], F_DUPFD, 901);
    const auto ignore = reinterpret_cast<void *>(+[](void *, MprEvent *) {});
    spare = mprCreateWaitHandler(ends[0], MPR_READABLE, nullptr, ignore, nullptr, 0);
    MprWaitHandler *handler = mprCreateWaitHandler(high, 0, nullptr, ignore, nullptr, 0);
    REQUIRE((spare && handler));
    Root first(spare), second(handler);
    told = 0;
    SECTION("of the hard limit, where malloc serves") {
        Hoard hoard;
        mprSetMemLimits(0, static_cast<ssize>(stats().heap) + 1'000'000, -1);
        while (hoard.grow(100'000) || hoard.grow(4000) || hoard.grow(64)) {}
        mprSetMemNotifier(giveUp);
        mprWaitOn(handler, MPR_READABLE); // libuv's table grows
        CHECK(told == 0);
        mprSetMemNotifier(nullptr);
        mprSetMemLimits(0, 0, -1);
        const Loop::Using loop(events().loop());
        CHECK_FALSE(mprIsValid((*loop)->watchers));
    }
    SECTION("of the redline, which is told by the next allocation") {
        mprSetMemNotifier(giveUp);
        mprSetMemLimits(static_cast<ssize>(stats().heap) + 1, 0, -1);
        void *large = nullptr;
        {
            const Loop::Using loop(events().loop());
            large = palloc(16u << 20);
            CHECK(told == 0);
        }
        mprAlloc(100'000);
        CHECK(told == 1);
        mprSetMemNotifier(nullptr);
        pfree(large);
    }
    mprDestroyWaitHandler(spare);
    mprDestroyWaitHandler(handler);
    mprServiceEvents(0, 0);
    for (int descriptor : {high, ends[0], ends[1]}) {
        close(descriptor);
    }
}

TEST_CASE("libuv's tables may grow, and move, while the loop is being made", "[task][uv]") {
    // They grow at powers of two of the greatest descriptor. So the loop's own begin at each number up to 64 in turn.
    std::vector<int> taken;
    while (taken.empty() || taken.back() < 64) {
        taken.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
        REQUIRE(taken.back() >= 0);
        Runtime runtime;
        REQUIRE(mprGetDispatcher());
    }
    for (int descriptor : taken) {
        close(descriptor);
    }
}

namespace {

bool madeInHandler = true;

void makeEvents(const char *, int, const char *) {
    madeInHandler = mprGetDispatcher() != nullptr;
}

} // namespace

TEST_CASE("events are not made inside the log's handler, which may be called while they are", "[task][uv]") {
    Runtime runtime;
    MprLogHandler before = mprSetLogHandler(makeEvents);
    madeInHandler = true;
    CHECK(mprFree(&runtime) == MPR_ERR_BAD_ARGS); // named
    CHECK_FALSE(madeInHandler);
    mprSetLogHandler(before);
    CHECK(mprGetDispatcher());
}

TEST_CASE("child: no descriptors", "[.]") {
    REQUIRE(mprCreate(0, nullptr, MPR_USER_EVENTS_THREAD));
    rlimit before;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    int refused = 0;
    for (rlim_t most = 3; refused < 50; most++) { // one after the other, from the standard streams on
        rlimit few = before;
        few.rlim_cur = most;
        REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
        if (mprGetDispatcher()) {
            break;
        }
        refused++;
    }
    mark(refused >= 3 && refused < 50 ? "made when there are enough" : "refused wrongly");
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    mark(mprDestroy() ? "destroyed" : "not destroyed");
}

TEST_CASE("without descriptors there are no events, and an error says so, where libuv would end the process",
          "[task][uv]") {
    const Ended ended = runChild("child: no descriptors");
    INFO(ended.output);
    CHECK(ended.exited(0));
    CHECK(ended.wrote("libuv's loop cannot be made: too many open files"));
    CHECK(ended.wrote("made when there are enough\n"));
    CHECK(ended.wrote("destroyed\n"));
}

TEST_CASE("the application's loops take malloc's memory, and outlive the runtime", "[task][uv]") {
    uv_loop_t mine, older;
    REQUIRE(uv_loop_init(&older) == 0); // perhaps before libuv was told
    {
        Runtime runtime;
        REQUIRE(mprGetDispatcher());
        REQUIRE(uv_loop_init(&mine) == 0);
        CHECK_FALSE(mprIsValid(mine.internal_fields));
        REQUIRE(uv_loop_close(&older) == 0);
        REQUIRE(uv_loop_init(&older) == 0);
    }
    uv_timer_t timer;
    REQUIRE(uv_timer_init(&mine, &timer) == 0);
    uv_timer_start(
        &timer, [](uv_timer_t *t) { uv_close(reinterpret_cast<uv_handle_t *>(t), nullptr); }, 1, 0);
    uv_run(&mine, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&mine) == 0);
    CHECK(uv_loop_close(&older) == 0);
}
