// SPDX-License-Identifier: MIT
/*
    test/cpp/runtime.cpp - mpr::Runtime: one at a time, over the system's memory or a buffer.
 */
#include "test/cpp/setting.hpp"

#include <array>
#include <cstddef>
#include <future>
#include <memory>
#include <span>
#include <thread>
#include <type_traits>

using test::Counted;
using test::Node;

namespace {

static_assert(!std::is_copy_constructible_v<mpr::Runtime> && !std::is_move_constructible_v<mpr::Runtime>);
static_assert(!std::is_copy_assignable_v<mpr::Runtime> && !std::is_move_assignable_v<mpr::Runtime>);
static_assert(std::is_same_v<decltype(std::declval<const mpr::Runtime&>().get()), Mpr*>);

TEST_CASE("cpp runtime: one at a time, again and again") {
    test::Log log;
    test::Watchdog watchdog(60);
    for (int i = 0; i < 3; i++) {
        Counted::reset();
        {
            mpr::Runtime runtime;
            REQUIRE(runtime);
            CHECK(runtime.get() != nullptr);
            {
                mpr::Runtime second;
                CHECK(!second);
                CHECK(second.get() == nullptr);
                CHECK(!second.destroy());
            }
            // The second one's end was not the first one's.
            CHECK(mpr::make<Node>(1) != nullptr);
            CHECK(Counted::destroyed == 0);
        }
        CHECK(Counted::destroyed == 1);
    }
}

TEST_CASE("cpp runtime: destroy ends it once") {
    test::Log log;
    test::Watchdog watchdog(60);
    char name[] = "program";
    char* argv[] = {name, nullptr};
    mpr::Runtime runtime(1, argv);
    REQUIRE(runtime);
    CHECK(runtime.destroy());
    CHECK(!runtime);
    CHECK(!runtime.destroy());
    mpr::Runtime next(0, nullptr, MPR_DISABLE_GC);
    REQUIRE(next);
    CHECK(!mprEnableGC(true));
    CHECK(!runtime.destroy()); // not the next one's end
    CHECK(mpr::make<int>(1) != nullptr);
}

TEST_CASE("cpp runtime: is not destroyed under another thread") {
    test::Log log;
    test::Watchdog watchdog(60);
    mpr::Runtime runtime;
    REQUIRE(runtime);
    std::promise<void> attached, leave;
    std::thread thread([&] {
        mpr::AttachedThread here("other");
        mpr::BlockingRegion blocking;
        attached.set_value();
        leave.get_future().wait();
    });
    {
        mpr::BlockingRegion blocking;
        attached.get_future().wait();
    }
    CHECK(!runtime.destroy());
    CHECK(runtime);
    CHECK(mpr::make<int>(1) != nullptr);
    leave.set_value();
    {
        mpr::BlockingRegion blocking;
        thread.join();
    }
    CHECK(runtime.destroy());
}

TEST_CASE("cpp runtime: over a buffer all objects lie in it") {
    test::Log log;
    test::Watchdog watchdog(60);
    Counted::reset();
    static std::array<std::byte, 1 << 20> buffer;
    {
        mpr::Runtime runtime(buffer);
        REQUIRE(runtime);
        {
            mpr::Root<Node> list;
            for (int i = 0; i < 1000; i++) {
                list = mpr::make<Node>(i, list);
                const auto* at = reinterpret_cast<const std::byte*>(list.get());
                REQUIRE((at >= buffer.data() && at + sizeof(Node) <= buffer.data() + buffer.size()));
            }
            mpr::collect();
            CHECK(Counted::destroyed == 0);
        }
        mpr::collect();
        CHECK(Counted::destroyed == 1000);
        CHECK(mpr::make<Node>(1) != nullptr);
    }
    CHECK(Counted::destroyed == 1001);
    CHECK(!mpr::Runtime(std::span(buffer).first(1000)));
}

} // namespace
