// SPDX-License-Identifier: MIT
/*
    test/cpp/memory_pressure.cpp - mpr::MemoryPressure: what the collector is told of memory outside the heap.

    Rooms: host
 */
#include "test/cpp/setting.hpp"

#include <utility>

using test::Setting;

TEST_CASE("cpp memory pressure: grows, shrinks, moves and ends with its object") {
    Setting setting;
    {
        mpr::MemoryPressure pressure(1000), more(2000);
        CHECK(mprGetMemoryPressure() == 3000);
        pressure.set(1500);
        CHECK(mprGetMemoryPressure() == 3500);
        pressure = std::move(more);
        CHECK(pressure.get() == 2000);
        CHECK(more.get() == 0);
        CHECK(mprGetMemoryPressure() == 2000);
        pressure.set(100);
        CHECK(mprGetMemoryPressure() == 100);
        const mpr::MemoryPressure moved(std::move(pressure));
        CHECK(pressure.get() == 0);
        CHECK(moved.get() == 100);
        CHECK(mprGetMemoryPressure() == 100);
    }
    CHECK(mprGetMemoryPressure() == 0);
}
