// SPDX-License-Identifier: MIT
/*
    test/heap/context.cpp - A thread's allocation context: blocks side by side, and what is left over is not lost.
 */
#include "mpr/heap/context.hpp"

#include "test/support/stepped_heap.hpp"

using namespace mpr::heap;
using test::SteppedHeap;

namespace {

const AllocationContext &contextOf(const SteppedHeap &stepped) {
    return stepped.local.contexts[static_cast<unsigned>(Lane::passing)];
}

char *address(void *block) {
    return static_cast<char *>(block);
}

} // namespace

TEST_CASE("blocks from one context lie side by side", "[heap][context][port]") {
    SteppedHeap stepped;
    CHECK(stepped.heap().allocateFast(stepped.local, 3, 0) == nullptr); // there is none yet
    char *const first = address(stepped.make(3));
    CHECK(address(stepped.make(5)) == first + 3 * granuleSize);
    CHECK(address(stepped.make(1)) == first + 8 * granuleSize);
    CHECK(stepped.isBlock(first));
    CHECK(stepped.isBlock(first + 3 * granuleSize));
    CHECK_FALSE(stepped.isBlock(first + 9 * granuleSize));
}

TEST_CASE("a context is closed at a rendezvous, and what was not used of it is a hole again", "[heap][context][port]") {
    SteppedHeap stepped;
    stepped.make(1);
    const auto inUse = [&] { return stepped.heap().granulesInUse(); };
    const uint64_t with = inUse();
    const size_t rest = contextOf(stepped).rest();
    CHECK(rest > 0);
    stepped.unmark(false);
    CHECK(contextOf(stepped).begin == nullptr);
    CHECK(stepped.heap().allocateFast(stepped.local, 1, 0) == nullptr);
    CHECK(inUse() == with - rest);
    CHECK(stepped.heap().verify() == 0);
}

TEST_CASE("what is left of a context that was replaced becomes a hole with a later allocation",
          "[heap][context][port]") {
    SteppedHeap stepped;
    stepped.make(1);
    const size_t rest = contextOf(stepped).rest();
    REQUIRE(rest > 8);
    // Leave two granules, which the next block does not fit.
    for (size_t left = rest; left > 2;) {
        const size_t n = std::min<size_t>(left - 2, greatestSmall);
        stepped.make(n);
        left -= n;
    }
    Region *const region = contextOf(stepped).region;
    const size_t g = region->granuleOf(contextOf(stepped).bump);
    const bool inSpan = contextOf(stepped).span != nullptr;
    CHECK(contextOf(stepped).rest() == 2);
    char *const behind = address(stepped.make(8));
    REQUIRE_FALSE(inSpan); // whose rest would stay with it
    CHECK(stepped.local.remainderCount == 1);
    CHECK(region->map().get(g) == 0);
    CHECK(contextOf(stepped).limit == contextOf(stepped).bump); // held up
    CHECK(stepped.heap().allocateFast(stepped.local, 8, 0) == nullptr);
    CHECK(address(stepped.make(8)) == behind + 8 * granuleSize);
    CHECK(stepped.local.remainderCount == 0);
    CHECK(region->map().get(g) == mark::hole);
    CHECK(region->holeSize(g) == 2);
    CHECK(stepped.heap().allocateFast(stepped.local, 8, 0));
}

TEST_CASE("a block that would use up much of a context comes from a hole, and the context stays",
          "[heap][context][port]") {
    SteppedHeap stepped(22);
    stepped.make(100);
    const AllocationContext &context = stepped.local.contexts[static_cast<unsigned>(Lane::big)];
    Byte *const bump = context.bump;
    REQUIRE(bump);
    const size_t n = context.rest() + 1;
    stepped.make(n);
    CHECK(context.bump == bump);
    stepped.make(100);
    CHECK(context.bump == bump + 100 * granuleSize);
}

TEST_CASE("small blocks and large ones have contexts apart", "[heap][context][port]") {
    SteppedHeap stepped;
    char *const small = address(stepped.make(2));
    stepped.make(greatestSmall + 1);
    CHECK(address(stepped.make(2)) == small + 2 * granuleSize);
    CHECK(stepped.regionOf(small)->sort == Sort::small);
    CHECK(stepped.regionOf(stepped.make(greatestSmall + 1))->sort == Sort::big);
}

TEST_CASE("a context that is a whole aligned piece is a span, with a fence in front", "[heap][context][port]") {
    SteppedHeap stepped;
    while (!contextOf(stepped).span) {
        stepped.make(16);
    }
    const AllocationContext &context = contextOf(stepped);
    const size_t begin = context.region->spans.beginOf(context.span);
    CHECK(context.region->map().get(begin) == mark::opaque);
    CHECK(context.region->granuleOf(context.begin) == begin + 1);
    CHECK(context.span->owner == &stepped.local);
    CHECK(context.region->spans.isWalked(begin));
}

TEST_CASE("a span in which nothing lives is filled once more by its thread", "[heap][context][port]") {
    SteppedHeap stepped;
    while (!contextOf(stepped).span) {
        stepped.make(16);
    }
    char *const dead = address(stepped.make(16));
    Region *const region = stepped.regionOf(dead);
    const size_t begin = region->spans.beginOf(region->granuleOf(dead));
    stepped.unmark(false);
    CHECK(stepped.sweep(Sweep::young) > 0);
    CHECK_FALSE(stepped.isBlock(dead));
    CHECK(address(stepped.make(16)) == address(region->address(begin + 1)));
    CHECK(contextOf(stepped).region == region);
}

TEST_CASE("what lives in a span stays, and the gaps beside it are filled", "[heap][context][port]") {
    SteppedHeap stepped;
    while (!contextOf(stepped).span) {
        stepped.make(16);
    }
    stepped.make(16);
    char *const kept = address(stepped.make(16));
    char *const dead = address(stepped.make(16));
    stepped.unmark(false);
    stepped.mark(kept);
    stepped.sweep(Sweep::young);
    CHECK(stepped.isBlock(kept));
    CHECK_FALSE(stepped.isBlock(dead));
    const Region *const region = stepped.regionOf(kept);
    for (int i = 0; i < 3; i++) {
        char *const block = address(stepped.make(16));
        CHECK(stepped.regionOf(block) == region);
        CHECK((block + 16 * granuleSize <= kept || block >= dead));
    }
}
