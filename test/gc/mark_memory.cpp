// SPDX-License-Identifier: MIT
/*
    test/gc/mark_memory.cpp - Where mark stacks lie: in the heap under a limit, else in an area of the system's.
 */
#include "mpr/gc/mark_memory.hpp"

#include "test/support/stepped_heap.hpp"

using mpr::gc::MarkEntry;
using mpr::gc::Marker;
using mpr::gc::Marking;
using mpr::gc::MarkMemory;
using mpr::gc::MarkStack;
using mpr::heap::Limits;
using test::SteppedHeap;

namespace {

struct Lent {
    explicit Lent(size_t asked = 0, size_t fixedHeap = 0) { REQUIRE(memory.open(stepped.heap(), asked, fixedHeap)); }
    ~Lent() { memory.close(); }
    /* Entries that a marker's stack for what is traced now can take. */
    static size_t room(Marker &marker) { return marker.stackNow().room() + marker.stackNow().size(); }
    size_t lend(size_t maximum, unsigned index = 0, unsigned markers = 1) {
        Limits limits;
        limits.set(Limits::none, maximum);
        memory.choose(limits);
        memory.lend(marker, index, markers);
        return room(marker);
    }

    SteppedHeap stepped;
    MarkMemory memory;
    Marker marker{stepped.heap()};
};

} // namespace

TEST_CASE("under a hard limit mark stacks take a block of the heap, else more", "[gc][marks]") {
    Lent lent;
    const size_t limited = lent.lend(64 << 20), unlimited = lent.lend(Limits::none);
    CHECK(limited <= 64 * 1024 / sizeof(MarkEntry));
    CHECK(limited > 64 * 1024 / sizeof(MarkEntry) / 8);
    if (sizeof(void *) == 8) {
        CHECK(unlimited > 100 * limited);
    } else {
        CHECK(unlimited == limited);
    }
}

TEST_CASE("a size of mark stacks that was asked for is kept to", "[gc][marks]") {
    Lent lent(4096);
    const size_t room = lent.lend(Limits::none);
    CHECK(room <= 4096 / sizeof(MarkEntry));
    CHECK(lent.lend(64 << 20) == room);
}

TEST_CASE("a small heap spares a small part for mark stacks", "[gc][marks]") {
    Lent lent(0, 64 * 1024);
    CHECK(lent.lend(Limits::none) <= 64 * 1024 / 32 / sizeof(MarkEntry));
}

TEST_CASE("several markers share the memory, and none writes where another does", "[gc][marks]") {
    Lent lent;
    Marker others[] = {Marker(lent.stepped.heap()), Marker(lent.stepped.heap()), Marker(lent.stepped.heap())};
    const size_t alone = lent.lend(64 << 20);
    const size_t first = lent.lend(64 << 20, 0, 4);
    CHECK(first <= alone / 2 + 1);
    size_t all = first;
    for (unsigned i = 0; i < 3; i++) {
        lent.memory.lend(others[i], i + 1, 4);
        all += Lent::room(others[i]);
        CHECK(Lent::room(others[i]) >= first / 4);
    }
    CHECK(all <= alone);
    // Each fills its own, those for what waits, too, and finds that.
    Marker *const markers[] = {&lent.marker, &others[0], &others[1], &others[2]};
    const Marking markings[] = {Marking::all, Marking::slice, Marking::concurrent};
    const auto forStacks = [&](auto f) {
        for (size_t i = 0; i < 12; i++) {
            markers[i / 3]->begin(markings[i % 3]);
            f(markers[i / 3]->stackNow(), i);
            markers[i / 3]->end();
        }
    };
    forStacks([](MarkStack &stack, size_t i) {
        while (stack.push(MarkEntry(nullptr, i + 2))) {}
    });
    forStacks([](MarkStack &stack, size_t i) {
        while (!stack.empty()) {
            REQUIRE(stack.pop().bits() == i + 2);
        }
    });
}
