// SPDX-License-Identifier: MIT
/*
    test/heap/limits.cpp - Redline, hard limit and reserve: the arithmetic. What a program sees of them is in test/gc/limits.cpp.
 */
#include "mpr/heap/limits.hpp"

#include "test/catch.hpp"

using mpr::heap::Limits;

namespace {
constexpr size_t KB = 1024, MB = 1024 * KB;

/* Commit, and use what was committed at once. */
void use(Limits &limits, size_t bytes, size_t free = 0) {
    limits.commit(bytes);
    limits.crosses(free);
}

bool warned(const Limits &limits) {
    return limits.hasNews() && limits.state() == Limits::State::warned;
}
bool eased(const Limits &limits) {
    return limits.hasNews() && limits.state() == Limits::State::well;
}
} // namespace

TEST_CASE("without limits everything is allowed", "[heap][limits][port]") {
    Limits limits;
    CHECK(limits.allows(Limits::none, false));
    limits.commit(100 * MB);
    CHECK(limits.allows(Limits::none - 100 * MB, false));
    CHECK_FALSE(limits.isFull());
    CHECK_FALSE(warned(limits));
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
    use(limits, 16 * MB);
    CHECK_FALSE(warned(limits));
    use(limits, 1);
    CHECK(warned(limits));
    CHECK(limits.crossings() == 1);
    CHECK_FALSE(limits.crosses());
    limits.takeNews();
    use(limits, MB);
    CHECK_FALSE(warned(limits));
    limits.uncommit(MB + 2);
    use(limits, 2);
    CHECK(limits.crossings() == 1);
    limits.uncommit(MB + 1); // a sixteenth
    CHECK(eased(limits));
    use(limits, MB + 1);
    CHECK(limits.crossings() == 1); // that it was well meanwhile nobody has been told
    CHECK_FALSE(limits.hasNews());
    limits.uncommit(MB + 1);
    limits.takeNews();
    use(limits, MB + 1);
    CHECK(limits.crossings() == 2);
    CHECK(warned(limits));
}

TEST_CASE("nobody is told of a redline that is not crossed any more", "[heap][limits][port]") {
    Limits limits;
    limits.set(16 * MB, Limits::none);
    use(limits, 17 * MB);
    limits.uncommit(10 * MB);
    CHECK_FALSE(limits.hasNews());
    CHECK(limits.crossings() == 0); // as if it had not been
    use(limits, 10 * MB);
    CHECK(limits.crossings() == 1);
    limits.takeNews();
    CHECK_FALSE(limits.hasNews());
}

TEST_CASE("that memory is well again is told once", "[heap][limits][port]") {
    Limits limits;
    limits.set(16 * MB, Limits::none);
    use(limits, 17 * MB);
    limits.takeNews();
    limits.uncommit(MB);
    CHECK(limits.state() == Limits::State::warned);
    limits.uncommit(MB);
    CHECK(limits.state() == Limits::State::well);
    CHECK(eased(limits));
    limits.set(16 * MB, 32 * MB);
    CHECK(eased(limits));
    limits.takeNews();
    CHECK_FALSE(limits.hasNews());
}

TEST_CASE("memory that is refused is full until a sixteenth is free", "[heap][limits][port]") {
    Limits limits;
    limits.set(16 * MB, 32 * MB);
    use(limits, 31 * MB);
    limits.takeNews();
    limits.refuse(3 * MB, 0); // no wonder
    CHECK(limits.state() == Limits::State::warned);
    limits.refuse(100, 0);
    CHECK(limits.state() == Limits::State::full);
    CHECK_FALSE(limits.hasNews());
    limits.uncommit(MB);
    CHECK(limits.state() == Limits::State::full);
    limits.uncommit(MB);
    CHECK(limits.state() == Limits::State::warned);
    CHECK_FALSE(limits.hasNews());
    limits.uncommit(20 * MB);
    CHECK(eased(limits));
    limits.takeNews();
    CHECK(limits.crossings() == 1);
    use(limits, 20 * MB);
    CHECK(limits.crossings() == 2);
    limits.refuse(100, 0); // before the crossing is told: who asked knows worse
    CHECK_FALSE(limits.hasNews());
    CHECK(limits.crossings() == 1);
}

TEST_CASE("free memory that the heap keeps lifts the redline, and is not held against it", "[heap][limits]") {
    Limits limits;
    limits.set(16 * MB, 32 * MB);
    use(limits, 17 * MB, 2 * MB);
    CHECK(limits.state() == Limits::State::well);
    use(limits, 2 * MB, 2 * MB);
    CHECK(limits.state() == Limits::State::warned);
    limits.takeNews();
    limits.swept(3 * MB, true);
    CHECK(limits.state() == Limits::State::warned);
    limits.swept(4 * MB, false);
    CHECK(eased(limits));
    limits.takeNews();
    // A sweep of everything says what lives; before it only what is in use halfway to the limit counts.
    CHECK(limits.wellPast() == 16 * MB + 15 * MB / 2);
    limits.swept(2 * MB, false);
    CHECK(limits.state() == Limits::State::well);
    limits.swept(2 * MB, true);
    CHECK(warned(limits));
    CHECK(limits.wellPast() == Limits::none);
}

TEST_CASE("free memory beside which an allocation was refused is believed in again by and by", "[heap][limits]") {
    Limits limits;
    limits.set(16 * MB, 32 * MB);
    use(limits, 31 * MB);
    limits.refuse(4096, 20 * MB); // in pieces
    int sweeps = 0;
    while (limits.state() != Limits::State::well && sweeps < 100) {
        limits.swept(20 * MB, true);
        ++sweeps;
    }
    CHECK(sweeps == 6); // of 20 MB a quarter less each time, until less than four are held against it
    use(limits, 0, 20 * MB);
    CHECK(limits.state() == Limits::State::well);
}

TEST_CASE("a redline set below what is in use is crossed at once", "[heap][limits][port]") {
    Limits limits;
    use(limits, 20 * MB);
    limits.set(16 * MB, Limits::none);
    CHECK(warned(limits));
    CHECK(limits.crossings() == 1);
    limits.takeNews();
    limits.set(15 * MB, Limits::none); // another redline
    CHECK(warned(limits));
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
