// SPDX-License-Identifier: MIT
/*
    test/os/thread_use.cpp - What the system says of other threads.
 */
#include "mpr/os/os.hpp"

#include "test/catch.hpp"
#include "test/support/mutator.hpp"

using mpr::os::isReady;
using mpr::os::usedBy;

TEST_CASE("a thread that runs is ready, and uses a processor's time", "[os]") {
    const uint32_t self = mpr::os::threadNumber();
    CHECK(isReady(self));
    const uint64_t before = usedBy(self), begin = mpr::os::now();
    while (usedBy(self) < before + 1'000'000) { // nanoseconds
        REQUIRE(mpr::os::now() - begin < 60'000'000'000);
    }
}

TEST_CASE("a thread that is blocked is not ready, nor is one that there is not", "[os]") {
    std::atomic<uint32_t> number{0};
    test::Gate end;
    std::thread blocks([&] {
        number = mpr::os::threadNumber();
        test::untilUnyielded([&] { return end.isOpen(); });
    });
    CHECK(test::untilUnyielded([&] { return number != 0 && !isReady(number); }));
    CHECK(usedBy(number) > 0);
    end.open();
    blocks.join();
    constexpr uint32_t nobody = (1 << 22) + 1; // above what the kernel gives
    CHECK_FALSE(isReady(nobody));
    CHECK(usedBy(nobody) == 0);
}
