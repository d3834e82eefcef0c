// SPDX-License-Identifier: MIT
/*
    test/task/loop.cpp - The loop's own life: it is woken, gives up closed handles, and says what happened when libuv has returned.
 */
#include "mpr/task/loop.hpp"

#include "mpr/memory.h"
#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"

#include <unistd.h>

#include <string>

using namespace test;
using mpr::task::Loop;

namespace {

struct Opened {
    Opened() { REQUIRE(loop.open() == 0); }
    ~Opened() { loop.close(); }
    Runtime runtime;
    Loop loop;
};

} // namespace

TEST_CASE("a wait ends when somebody wakes the loop, before it or during it", "[task][loop]") {
    Opened opened;
    CHECK_FALSE(opened.loop.wait(0, nullptr));
    opened.loop.wake();
    CHECK(opened.loop.wait(-1, nullptr));
    opened.loop.turn();
    CHECK_FALSE(opened.loop.wait(0, nullptr));
    std::thread other([&] {
        pause(10);
        opened.loop.wake();
    });
    CHECK(opened.loop.wait(-1, nullptr));
    other.join();
    opened.loop.turn();
    CHECK_FALSE(opened.loop.wait(0, nullptr));
}

TEST_CASE("a descriptor may be enrolled twice, and none that is not open", "[task][loop]") {
    Opened opened;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    {
        const Loop::Using loop(opened.loop);
        CHECK(Loop::enroll(*loop, ends[0]) == 0);
        CHECK(Loop::enroll(*loop, ends[0]) == 0);
        CHECK(Loop::enroll(*loop, 1023) == UV_EBADF);
    }
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("the memory of a closed handle is there until everything fired was queued", "[task][loop]") {
    Opened opened;
    auto timer = static_cast<uv_timer_t *>(palloc(sizeof(uv_timer_t)));
    {
        const Loop::Using loop(opened.loop);
        REQUIRE(uv_timer_init(*loop, timer) == 0);
        Loop::discard(reinterpret_cast<uv_handle_t *>(timer));
    }
    opened.loop.turn();
    CHECK(mprIsValid(timer));
    opened.loop.freeClosed();
    CHECK_FALSE(mprIsValid(timer));
}

TEST_CASE("what callbacks have to say is said after them, some of it, and shortened", "[task][loop]") {
    Opened opened;
    auto timer = static_cast<uv_timer_t *>(palloc(sizeof(uv_timer_t)));
    static int seenDuring;
    {
        const Loop::Using loop(opened.loop);
        REQUIRE(uv_timer_init(*loop, timer) == 0);
        uv_timer_start(
            timer,
            [](uv_timer_t *handle) {
                for (int i = 0; i < 6; i++) {
                    mpr::os::Message message;
                    message << "word " << static_cast<uint64_t>(i) << " " << std::string(300, 'x').c_str() << "end";
                    Loop::sayLater(handle->loop, message);
                }
                seenDuring = Log::count("word ");
            },
            0, 0);
    }
    opened.loop.turn();
    CHECK(seenDuring == 0);
    CHECK(Log::count("word ") == 4);
    INFO(Log::text());
    CHECK(Log::has("word 0 xxx"));
    CHECK_FALSE(Log::has("word 4"));
    CHECK_FALSE(Log::has("xend"));
    opened.loop.turn();
    CHECK(Log::count("word ") == 4);
    {
        const Loop::Using loop(opened.loop);
        Loop::discard(reinterpret_cast<uv_handle_t *>(timer));
    }
}
