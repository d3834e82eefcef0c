// SPDX-License-Identifier: MIT
/*
    test/task/wheel.cpp - The timing wheel: events come out in the order of their times, none early, none late.
 */
#include "mpr/task/wheel.hpp"

#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"

#include "mpr/base/references.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

using mpr::task::Event;
using mpr::task::EventState;
using mpr::task::Wheel;
using test::Random;
using test::Runtime;

namespace {

void manageNothing(void *, int) {}

/* A wheel, and events that are in it or not. No collection comes meanwhile. */
struct Turning {
    explicit Turning(uint64_t now) {
        wheel.open(mpr::base::makeReferring<Wheel::Heads>(manageNothing), now);
        REQUIRE(wheel.heads());
    }
    Event *make() {
        auto event = mpr::base::makeReferring<Event>(manageNothing);
        REQUIRE(event);
        event->put(EventState::nowhere);
        return event;
    }
    void insert(Event *event, uint64_t due) {
        event->due = static_cast<MprTicks>(due);
        wheel.insert(event);
        in.emplace(due, event);
    }
    Event *add(uint64_t due) {
        Event *const event = make();
        insert(event, due);
        return event;
    }
    void remove(Event *event) {
        wheel.remove(event);
        const auto [first, last] = in.equal_range(static_cast<uint64_t>(event->due));
        in.erase(std::find_if(first, last, [&](const auto &one) { return one.second == event; }));
    }
    /* Go to a time: whatever is due until then comes out, in the order of its times. */
    void turn(uint64_t to) {
        uint64_t last = 0;
        while (Event *event = wheel.pop(to)) {
            const auto due = static_cast<uint64_t>(event->due);
            REQUIRE(due <= to);
            REQUIRE(due >= last);
            REQUIRE(wheel.now() == due);
            last = due;
            const auto [first, end] = in.equal_range(due);
            const auto found = std::find_if(first, end, [&](const auto &one) { return one.second == event; });
            REQUIRE(found != end);
            in.erase(found);
            wheel.check();
        }
        REQUIRE(wheel.now() == to);
        REQUIRE((in.empty() || in.begin()->first > to));
    }

    Runtime runtime{"", MPR_DISABLE_GC};
    Wheel wheel;
    std::multimap<uint64_t, Event *> in;
};

} // namespace

TEST_CASE("an empty wheel has nothing to wait for", "[task][wheel]") {
    Turning t(1000);
    CHECK(t.wheel.next() == ~uint64_t(0));
    CHECK(t.wheel.pop(5000) == nullptr);
    CHECK(t.wheel.now() == 5000);
    CHECK(t.wheel.pop(4000) == nullptr);
    CHECK(t.wheel.now() == 5000); // time does not go back
}

TEST_CASE("an event comes out at its time and not before, however far that is", "[task][wheel]") {
    const uint64_t now = GENERATE(uint64_t(0), uint64_t(63), uint64_t(123'456'789'012));
    for (const uint64_t delay :
         {0ull, 1ull, 63ull, 64ull, 65ull, 4095ull, 4096ull, 262'144ull, 1ull << 30, 1ull << 40}) {
        Turning t(now);
        Event *const event = t.add(now + delay);
        CAPTURE(now, delay);
        CHECK(t.wheel.next() <= now + delay);
        if (delay > 0) {
            CHECK(t.wheel.pop(now + delay - 1) == nullptr);
        }
        CHECK(t.wheel.pop(now + delay) == event);
        CHECK(event->state().place != EventState::inQueue);
        CHECK(t.wheel.pop(now + delay) == nullptr);
        CHECK(t.wheel.next() == ~uint64_t(0));
    }
}

TEST_CASE("events of one time come out in the order in which they came", "[task][wheel]") {
    Turning t(10);
    Event *const first = t.add(10'000), *const second = t.add(10'000);
    t.turn(9'999); // both have moved down
    Event *const third = t.add(10'000);
    CHECK(t.wheel.pop(20'000) == first);
    CHECK(t.wheel.pop(20'000) == second);
    CHECK(t.wheel.pop(20'000) == third);
}

TEST_CASE("a removed event does not come out, and its neighbours in the slot do", "[task][wheel]") {
    for (size_t which = 0; which < 3; which++) {
        Turning t(10);
        std::vector<Event *> events = {t.add(500), t.add(500), t.add(500)};
        t.remove(events[which]);
        events.erase(events.begin() + static_cast<std::ptrdiff_t>(which));
        for (Event *event : events) {
            CHECK(t.wheel.pop(1000) == event);
        }
        CHECK(t.wheel.pop(1000) == nullptr);
    }
    Turning t(10);
    t.remove(t.add(500));
    CHECK(t.wheel.next() == ~uint64_t(0));
}

TEST_CASE("a look for the next event is never later than that is due", "[task][wheel]") {
    Turning t(77);
    Random random(1);
    for (int i = 0; i < 200; i++) {
        t.add(77 + random.below(size_t(1) << random.below(30)));
        REQUIRE(t.wheel.next() <= t.in.begin()->first);
        REQUIRE(t.wheel.next() >= t.wheel.now());
    }
}

TEST_CASE("a walk meets every event, and may remove it", "[task][wheel]") {
    Turning t(5);
    std::set<Event *> all, met;
    for (uint64_t i = 0; i < 100; i++) {
        all.insert(t.add(5 + i * i * i));
    }
    t.wheel.forEach([&](Event &event) {
        met.insert(&event);
        t.wheel.remove(&event);
    });
    CHECK(met == all);
    CHECK(t.wheel.next() == ~uint64_t(0));
}

TEST_CASE("random events come and go as in a sorted list", "[task][wheel]") {
    for (uint64_t seed = 1; seed <= 5; seed++) {
        Random random(seed);
        Turning t(random.below(1u << 30));
        std::vector<Event *> spare;
        for (int i = 0; i < 300; i++) {
            spare.push_back(t.make());
        }
        for (int step = 0; step < 3000; step++) {
            const size_t what = random.below(100);
            if (what < 60 && t.in.size() < spare.size()) {
                // One that is not in: those in are few against all.
                std::set<Event *> in;
                for (const auto &[due, event] : t.in) {
                    in.insert(event);
                }
                Event *event = nullptr;
                do {
                    event = spare[random.below(spare.size())];
                } while (in.count(event));
                t.insert(event, t.wheel.now() + random.below(size_t(1) << random.below(24)));
            } else if (what < 80 && !t.in.empty()) {
                t.remove(std::next(t.in.begin(), static_cast<std::ptrdiff_t>(random.below(t.in.size())))->second);
            } else {
                t.turn(t.wheel.now() + random.below(size_t(1) << random.below(20)));
            }
        }
    }
}
