// SPDX-License-Identifier: MIT
/*
    test/heap/queues.cpp - Free queues: a search finds what fits, a hole leaves from any place, damage is noticed.
 */
#include "mpr/heap/queues.hpp"

#include "test/catch.hpp"
#include "test/support/pattern.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

using namespace mpr::heap;
using test::Random;

namespace {

constexpr auto anywhere = [](const void *) { return true; };

/* Queues, and a row of holes that may stand in them. */
struct Queued {
    Queued() { queues.open(Link{0x5A5A'1234u}); }
    Hole *hole(size_t i) { return reinterpret_cast<Hole *>(places.get() + 2 * i); }
    void push(size_t i, size_t n, bool warm = true) {
        queues.push(hole(i), n, warm);
        sizes[hole(i)] = n;
    }
    bool remove(Hole *hole) {
        sizes.erase(hole);
        return queues.remove(hole, anywhere);
    }
    /* Every hole of a queue has so many granules. */
    bool allHave(unsigned queue, size_t n) {
        for (const Hole *hole = queues.front(queue); hole; hole = queues.next(hole, anywhere)) {
            if (sizes.at(hole) < n) {
                return false;
            }
        }
        return true;
    }
    size_t count() {
        size_t found = 0;
        CHECK(queues.forEach(
            [&](const Hole *hole, unsigned queue) {
                found++;
                CHECK(FreeQueues::inRange(sizes.at(hole), queue));
            },
            anywhere));
        return found;
    }

    static constexpr size_t most = 64;
    struct alignas(granuleSize) Granule {
        char bytes[granuleSize];
    };
    std::unique_ptr<Granule[]> places{new Granule[2 * most]};
    FreeQueues queues;
    std::map<const Hole *, size_t> sizes;
};

size_t someSize(Random &random) {
    return 1 + random.below(size_t(1) << random.below(16));
}

} // namespace

TEST_CASE("a search finds a hole that fits, and misses only holes of the request's own range", "[heap][queues][port]") {
    const bool warm = GENERATE(true, false);
    Random random(1);
    for (int round = 0; round < 2000; round++) {
        Queued q;
        for (size_t i = random.below(12); i > 0; i--) {
            q.push(i, someSize(random), warm);
        }
        const size_t n = someSize(random);
        const unsigned queue = warm ? q.queues.findWarm(n) : q.queues.findCold(n);
        if (queue != FreeQueues::none) {
            REQUIRE(q.queues.front(queue));
            REQUIRE(q.allHave(queue, n));
        }
        // A range ends a sixteenth beyond where it begins.
        size_t least = ~size_t(0);
        for (const auto &[hole, size] : q.sizes) {
            if (size >= n + n / 16 + 1 || (n < 16 && size >= n)) {
                least = std::min(least, size);
            }
        }
        INFO("for " << n << " granules, where one of " << least << " fits");
        if (least != ~size_t(0)) {
            REQUIRE(queue != FreeQueues::none);
            REQUIRE(q.sizes.at(q.queues.front(queue)) <= least + least / 16);
        }
    }
}

TEST_CASE("small holes have a queue for each size", "[heap][queues][port]") {
    for (size_t n = 1; n < 16; n++) {
        Queued q;
        q.push(0, n);
        CHECK(q.queues.findWarm(n) != FreeQueues::none);
        CHECK(q.queues.findWarm(n + 1) == FreeQueues::none);
        CHECK(FreeQueues::isOfSingles(q.queues.findWarm(1)) == (n == 1));
        CHECK(q.queues.frontFor(n) == q.hole(0));
    }
}

TEST_CASE("the largest hole is found within its range, the warm and the cold one apart", "[heap][queues][port]") {
    Queued q;
    CHECK(q.queues.largest(true) == nullptr);
    q.push(0, 5);
    q.push(1, 1000);
    q.push(2, 4000, false);
    q.push(3, 30, false);
    CHECK(q.queues.largest(true) == q.hole(1));
    CHECK(q.queues.largest(false) == q.hole(2));
}

TEST_CASE("warm and cold holes do not mix", "[heap][queues][port]") {
    Queued q;
    q.push(0, 100, false);
    CHECK(q.queues.findWarm(100) == FreeQueues::none);
    const unsigned queue = q.queues.findCold(100);
    REQUIRE(queue != FreeQueues::none);
    CHECK_FALSE(FreeQueues::isWarm(queue));
    CHECK(q.queues.find(FreeQueues::coldWordsFrom(60)) == queue);
    CHECK(q.queues.find(FreeQueues::warmWordsFrom(1)) == FreeQueues::none);
    CHECK(q.queues.findCold(200) == FreeQueues::none);
    q.push(1, 100);
    CHECK(FreeQueues::isWarm(q.queues.findWarm(100)));
}

TEST_CASE("the words from a size on have holes of as much and more only", "[heap][queues][port]") {
    for (size_t n = 1; n < 3000; n++) {
        Queued q;
        q.push(0, n);
        for (const size_t asked : {n + 1, 2 * n, 4 * n}) {
            CHECK(q.queues.find(FreeQueues::warmWordsFrom(asked)) == FreeQueues::none);
        }
        CHECK(q.queues.find(FreeQueues::warmWordsFrom(std::max<size_t>(n / 2, 1))) ==
              (n / 2 > 0 || n == 1 ? q.queues.find(FreeQueues::warmWordsFrom(1)) : FreeQueues::none));
    }
}

TEST_CASE("a hole leaves its queue from the front, the middle and the end", "[heap][queues][port]") {
    std::vector<size_t> order = {0, 1, 2};
    do {
        Queued q;
        for (size_t i = 0; i < 3; i++) {
            q.push(i, 20);
        }
        const unsigned queue = q.queues.findWarm(20);
        for (size_t left = 3; left > 0; left--) {
            REQUIRE(q.count() == left);
            REQUIRE(q.remove(q.hole(order[3 - left])));
            REQUIRE(q.queues.bitsAgree());
        }
        CHECK(q.queues.front(queue) == nullptr);
        CHECK(q.queues.findWarm(20) == FreeQueues::none);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("the last hole that came is the first to go", "[heap][queues][port]") {
    Queued q;
    for (size_t i = 0; i < 3; i++) {
        q.push(i, 7);
    }
    const unsigned queue = q.queues.findWarm(7);
    for (size_t i = 3; i > 0; i--) {
        CHECK(q.queues.front(queue) == q.hole(i - 1));
        CHECK(q.queues.removeFront(queue, anywhere));
        CHECK(q.queues.bitsAgree());
    }
    CHECK(q.queues.front(queue) == nullptr);
}

TEST_CASE("queues hold what was put there, whatever comes and goes", "[heap][queues][port]") {
    Random random(2);
    Queued q;
    std::vector<bool> in(Queued::most);
    for (int step = 0; step < 20000; step++) {
        const size_t i = random.below(Queued::most);
        if (in[i]) {
            REQUIRE(q.remove(q.hole(i)));
        } else {
            q.push(i, someSize(random), random.chance(50));
        }
        in[i] = !in[i];
        REQUIRE(q.queues.bitsAgree());
        if (step % 100 == 0) {
            REQUIRE(q.count() == static_cast<size_t>(std::count(in.begin(), in.end(), true)));
        }
    }
}

TEST_CASE("a hole whose links were overwritten is not taken out, and its queue stays as it was",
          "[heap][queues][port]") {
    if (!FreeQueues::checksLinks) {
        return;
    }
    const size_t damaged = GENERATE(0, 1, 2);
    const bool next = GENERATE(true, false);
    CAPTURE(damaged, next);
    Queued q;
    for (size_t i = 0; i < 3; i++) {
        q.push(i, 20); // 2 is the front one, 0 the last
    }
    Hole *const hole = q.hole(damaged);
    Link &link = next ? hole->next : hole->back;
    const Link was = link;
    // Of the last one, whose `next` leads nowhere, the link of a live hole.
    link = next && damaged == 0 ? q.hole(1)->next : Link{0x4141'4141u};
    const auto inPlaces = [&](const void *address) {
        const auto at = static_cast<const Queued::Granule *>(address);
        return at >= q.places.get() && at < q.places.get() + 2 * Queued::most;
    };
    CHECK_FALSE(q.queues.remove(hole, inPlaces));
    CHECK(q.queues.linksLead(hole, inPlaces) == (next && damaged == 0));
    CHECK(q.queues.bitsAgree());
    CHECK_FALSE(q.queues.forEach([](const Hole *, unsigned) {}, inPlaces));
    if (damaged == 2) {
        CHECK_FALSE(q.queues.removeFront(q.queues.findWarm(20), inPlaces));
    }
    link = was;
    CHECK(q.queues.linksLead(hole, inPlaces));
    CHECK(q.count() == 3);
    CHECK(q.queues.remove(hole, inPlaces));
    CHECK(q.count() == 2);
}

TEST_CASE("a hole whose neighbour was overwritten is not taken out", "[heap][queues][port]") {
    if (!FreeQueues::checksLinks) {
        return;
    }
    Queued q;
    for (size_t i = 0; i < 3; i++) {
        q.push(i, 20);
    }
    Link &link = GENERATE(false, true) ? q.hole(0)->back : q.hole(2)->next;
    const Link was = link;
    link = 0;
    CHECK_FALSE(q.queues.remove(q.hole(1), anywhere));
    CHECK((q.queues.next(q.hole(1), anywhere) == nullptr) == (&link == &q.hole(0)->back));
    link = was;
    CHECK(q.queues.next(q.hole(1), anywhere) == q.hole(0));
    CHECK(q.count() == 3);
}

TEST_CASE("links differ from the addresses that they lead to", "[heap][queues][port]") {
    if (!FreeQueues::checksLinks) {
        return;
    }
    Queued q;
    q.push(0, 20);
    q.push(1, 20);
    CHECK(q.hole(1)->next != reinterpret_cast<Link>(q.hole(0)));
    Queued other;
    other.queues.open(Link{0x1111u});
    other.push(0, 20);
    CHECK(other.hole(0)->next != q.hole(0)->next); // both lead nowhere
}

TEST_CASE("a range of links holds addresses of granules between its ends", "[heap][queues][port]") {
    LinkRange range;
    const auto at = [](uintptr_t address) { return reinterpret_cast<const void *>(address); };
    CHECK_FALSE(range.holds(at(0x100000)));
    range.include(at(0x200000), 0x10000);
    range.include(at(0x100000), 0x10000);
    CHECK(range.holds(at(0x100000)));
    CHECK(range.holds(at(0x180000)));
    CHECK(range.holds(at(0x210000 - granuleSize)));
    CHECK_FALSE(range.holds(at(0x210000)));
    CHECK_FALSE(range.holds(at(0x100000 - granuleSize)));
    for (uintptr_t i = 1; i < granuleSize; i++) {
        CHECK_FALSE(range.holds(at(0x180000 + i)));
    }
    range.include(at(0x120000), 0x1000);
    CHECK(range.holds(at(0x200000)));
}
