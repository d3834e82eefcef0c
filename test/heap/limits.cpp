// SPDX-License-Identifier: MIT
/*
    test/heap/limits.cpp - Redline, hard limit and reserve: the arithmetic. What a program sees of them is in test/gc/limits.cpp.
 */
#include "mpr/heap/limits.hpp"

#include "test/catch.hpp"

using mpr::heap::Limits;

namespace {
constexpr size_t KB = 1024, MB = 1024 * KB;
}

TEST_CASE("without limits everything is allowed", "[heap][limits][port]") {
    Limits limits;
    CHECK(limits.allows(Limits::none, false));
    limits.commit(100 * MB);
    CHECK(limits.allows(Limits::none - 100 * MB, false));
    CHECK_FALSE(limits.isFull());
    CHECK_FALSE(limits.warned());
    CHECK(limits.crossings() == 0);
}

TEST_CASE("the last part below the hard limit is for the privileged", "[heap][limits][port]") {
    Limits limits;
    limits.set(Limits::none, 32 * MB);
    CHECK(limits.ceiling() == 31 * MB);
    limits.commit(30 * MB);
    CHECK(limits.allows(MB, false));
    CHECK_FALSE(limits.allows(MB + 1, false));
    CHECK(limits.allows(2 * MB, true));
    CHECK_FALSE(limits.allows(2 * MB + 1, true));
    limits.commit(2 * MB);
    CHECK_FALSE(limits.allows(0, false));
    CHECK(limits.allows(0, true));
}

TEST_CASE("the reserve is 64 KiB at least, and a quarter of the limit at most", "[heap][limits][port]") {
    Limits limits;
    limits.set(Limits::none, MB);
    CHECK(limits.ceiling() == MB - 64 * KB);
    limits.set(Limits::none, 100 * KB);
    CHECK(limits.ceiling() == 75 * KB);
}

TEST_CASE("bytes are taken or refused as a whole", "[heap][limits][port]") {
    Limits limits;
    limits.set(Limits::none, 32 * MB);
    CHECK(limits.take(31 * MB, false));
    CHECK_FALSE(limits.take(1, false));
    CHECK(limits.committed() == 31 * MB);
    CHECK(limits.take(MB, true));
    CHECK_FALSE(limits.take(1, true));
    CHECK(limits.committed() == 32 * MB);
}

TEST_CASE("memory is full when next to nothing may be committed", "[heap][limits][port]") {
    Limits limits;
    limits.set(Limits::none, 32 * MB);
    limits.commit(30 * MB);
    CHECK_FALSE(limits.isFull());
    limits.commit(MB);
    CHECK(limits.isFull());
}

TEST_CASE("the redline is crossed once, and again only after use has fallen well below", "[heap][limits][port]") {
    Limits limits;
    limits.set(16 * MB, Limits::none);
    limits.commit(16 * MB);
    CHECK_FALSE(limits.warned());
    limits.commit(1);
    CHECK(limits.warned());
    CHECK(limits.crossings() == 1);
    CHECK_FALSE(limits.crosses());
    limits.setWarned(false);
    limits.commit(MB);
    CHECK_FALSE(limits.warned());
    limits.uncommit(MB + 2);
    limits.commit(2);
    CHECK(limits.crossings() == 1);
    limits.uncommit(MB + 1); // a sixteenth
    limits.commit(MB + 1);
    CHECK(limits.crossings() == 2);
    CHECK(limits.warned());
}

TEST_CASE("nobody is told of a redline that is not crossed any more", "[heap][limits][port]") {
    Limits limits;
    limits.set(16 * MB, Limits::none);
    limits.commit(17 * MB);
    limits.uncommit(10 * MB);
    CHECK_FALSE(limits.warned());
    limits.setWarned(true);
    CHECK_FALSE(limits.warned());
    limits.commit(10 * MB);
    limits.setWarned(false);
    limits.setWarned(true);
    CHECK(limits.warned());
}

TEST_CASE("a redline set below what is in use is crossed at once", "[heap][limits][port]") {
    Limits limits;
    limits.commit(20 * MB);
    limits.set(16 * MB, Limits::none);
    CHECK(limits.warned());
    CHECK(limits.crossings() == 1);
}

TEST_CASE("the peak is the most that was ever committed", "[heap][limits][port]") {
    Limits limits;
    limits.commit(10 * MB);
    CHECK(limits.peak() == 10 * MB);
    limits.uncommit(4 * MB);
    CHECK(limits.peak() == 10 * MB);
    limits.commit(MB);
    limits.uncommit(MB);
    CHECK(limits.peak() == 10 * MB);
    limits.commit(5 * MB);
    CHECK(limits.peak() == 11 * MB);
    CHECK(limits.committed() == 11 * MB);
}
