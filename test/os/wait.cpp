// SPDX-License-Identifier: MIT
/*
    test/os/wait.cpp - Waiting on a word: what a timeout means to the kernel.

    On 32-bit systems these run twice, once with the C library's times of 32 bits: the program test_os_time32.
 */
#include "mpr/os/os.hpp"
#include "test/catch.hpp"

using namespace mpr;

namespace {
/** Wait until the time is up; a wait may end early by itself. @return Nanoseconds that it took. */
std::uint64_t waitOut(std::uint64_t timeout) {
    os::Word nobodyWakes{0};
    const std::uint64_t begin = os::now();
    while (os::wait(nobodyWakes, 0, timeout)) {}
    return os::now() - begin;
}
} // namespace

TEST_CASE("a wait for a fraction of a second lasts as long", "[os][wait]") {
    CHECK(waitOut(20'000'000) >= 20'000'000);
    CHECK(waitOut(300'000'000) >= 300'000'000);
}

TEST_CASE("a wait for seconds and a fraction lasts as long", "[os][wait]") {
    CHECK(waitOut(1'020'000'000) >= 1'020'000'000);
}

TEST_CASE("a wait for another value returns at once, whatever the timeout", "[os][wait]") {
    os::Word word{1};
    CHECK(os::wait(word, 0));
    CHECK(os::wait(word, 0, 1'000'000));
    CHECK(os::wait(word, 0, os::forever - 1)); // more seconds than some layouts hold
}
