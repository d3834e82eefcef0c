// SPDX-License-Identifier: MIT
/*
    test/heap/large.cpp - Large regions that wait for another block.
 */
#include "mpr/heap/large.hpp"

#include "test/catch.hpp"

using namespace mpr::heap;
using mpr::os::Lock;
using mpr::os::Locked;

namespace {

struct LargeRegion : Region {
    explicit LargeRegion(size_t bytes) {
        origin = Origin::large;
        span = bytes;
    }
};

/* The heap's lock, and those that wait. */
struct Waiting {
    Lock lock;
    Locked locked{lock};
    RetiredRegions retired{lock};
};
} // namespace

TEST_CASE("retired regions: a block gets one that is large enough, and at most a quarter larger", "[heap][large]") {
    Waiting waiting;
    LargeRegion small(1000), large(1251);
    waiting.retired.add(&large);
    CHECK(waiting.retired.take(1000) == nullptr);
    waiting.retired.add(&small);
    CHECK(waiting.retired.bytes() == 2251);
    CHECK(waiting.retired.take(1001) == &large);
    CHECK(waiting.retired.take(1001) == nullptr);
    CHECK(waiting.retired.take(1000) == &small);
    CHECK(waiting.retired.take(1000) == nullptr);
    CHECK(waiting.retired.bytes() == 0);
}

TEST_CASE("retired regions: one whose memory has gone is given to nobody", "[heap][large]") {
    Waiting waiting;
    LargeRegion first(1000), second(1000);
    waiting.retired.add(&first);
    waiting.retired.add(&second);
    waiting.retired.remove(&first);
    CHECK(waiting.retired.bytes() == 1000);
    CHECK(waiting.retired.take(1000) == &second);
    CHECK(waiting.retired.take(1000) == nullptr);
}

TEST_CASE("retired regions: those that are not remembered are counted all the same", "[heap][large]") {
    Waiting waiting;
    LargeRegion regions[] = {LargeRegion(100), LargeRegion(100), LargeRegion(100), LargeRegion(100), LargeRegion(700)};
    for (LargeRegion &region : regions) {
        waiting.retired.add(&region);
    }
    CHECK(waiting.retired.bytes() == 1100);
    CHECK(waiting.retired.take(700) == nullptr);
    waiting.retired.remove(&regions[4]);
    CHECK(waiting.retired.bytes() == 400);
}
